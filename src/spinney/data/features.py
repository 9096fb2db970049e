"""Features: the description of a column, and lists of them as plain data that is checked when it is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spinney.core.cached_attribute import cached_attribute
from spinney.core.errors import show_value
from spinney.data.columns import Category, Codes, default_names
from spinney.io.errors import require

# The order is part of the file format: a dtype is stored as its position here. int32 means categorical.
_DTYPES = ("float32", "float64", "int32")
_KEYS = frozenset({"n_features", "names", "dtypes", "categories", "has_missing"})
_CATEGORY_TYPES = frozenset({str, bytes, bool, int, float})


@dataclass(frozen=True)
class Feature:
    """Name, kind and categories of one column.

    Attributes
    ----------
    name : str
        Name of the column; "x0", "x1", … if the input has no names.
    kind : {"numeric", "categorical"}
        Kind of the column.
    categories : tuple
        Values that the codes 0, 1, 2, … stand for; empty for a numeric feature.
    dtype : str
        "float64" for a numeric feature, whatever the type of the input, so that equal values give equal
        models; "int32" for a categorical one. Files of older versions may say "float32".
    has_missing : bool
        Whether there were missing values in training; set by a fit.

    Examples
    --------
    >>> Feature("color", "categorical", ("black", "green"), "int32").code_of["green"]
    1
    """

    name: str
    kind: Literal["numeric", "categorical"]
    categories: tuple[Category, ...]
    dtype: str
    has_missing: bool = False

    @cached_attribute
    def with_other_missing(self) -> Feature:
        """The feature with the other value of `has_missing`."""
        return Feature(self.name, self.kind, self.categories, self.dtype, not self.has_missing)

    @cached_attribute
    def code_of(self) -> Mapping[Category, int]:
        """The code of each category; equal numbers are one key, so 1, 1.0 and True have the same code."""
        return {category: code for code, category in enumerate(self.categories)}

    @cached_attribute
    def last_dictionary(self) -> tuple[object, Codes]:
        """The dictionary of the column that was coded last, and the code of each entry; −1 follows."""
        return None, np.empty(0, np.int32)

    def keep_dictionary(self, dictionary: object, codes: Codes) -> None:
        """Set `last_dictionary`.

        Parameters
        ----------
        dictionary : object
            The coded values of a column.
        codes : ndarray of shape (n_values + 1,), int32
            The code of each of them among the categories, −1 if it is none, and −1 at the end.
        """
        self.__dict__["last_dictionary"] = (dictionary, codes)


def features_to_state(features: Sequence[Feature], has_names: bool) -> dict[str, Any]:
    """Return features as plain data; only categorical ones have an entry among the categories."""
    return {
        "n_features": len(features),
        "names": [feature.name for feature in features] if has_names else None,
        "dtypes": np.array([_DTYPES.index(feature.dtype) for feature in features], np.uint8),
        "categories": [_categories_to_state(one.categories) for one in features if one.dtype == "int32"],
        "has_missing": np.array([feature.has_missing for feature in features], np.bool_),
    }


def features_from_state(state: Any) -> tuple[tuple[Feature, ...], bool]:
    """Return the features of unchecked plain data, and whether they have names of their own."""
    require(isinstance(state, dict) and set(state) == _KEYS, "a schema does not have the parts of one")
    n_features, names, positions = state["n_features"], state["names"], state["dtypes"]
    stored, has_missing = state["categories"], state["has_missing"]
    valid = type(n_features) is int and n_features >= 1
    require(valid, f"the number of features is {show_value(n_features)}")
    valid = isinstance(positions, np.ndarray) and positions.dtype == np.uint8
    valid = valid and positions.shape == (n_features,) and positions.max() < len(_DTYPES)
    require(valid, f"the types do not describe {n_features} features")
    if names is not None:
        valid = isinstance(names, list) and all(type(name) is str for name in names)
        require(valid and len(names) == n_features, f"the names are not {n_features} texts")
        require(len(set(names)) == n_features, "two features have the same name")
    valid = isinstance(has_missing, np.ndarray) and has_missing.dtype == np.bool_
    valid = valid and has_missing.shape == (n_features,)
    require(valid, f"which features had missing values is no array of {n_features} truth values")
    dtypes = [_DTYPES[position] for position in positions]
    valid = isinstance(stored, list) and len(stored) == dtypes.count("int32")
    require(valid, "the lists of categories are not one for each categorical feature")
    categories = map(_categories_from_state, stored)
    features = [
        Feature(name, "categorical", next(categories), dtype, has)
        if dtype == "int32"
        else Feature(name, "numeric", (), dtype, has)
        for name, dtype, has in zip(
            names or default_names(n_features), dtypes, has_missing.tolist(), strict=True
        )
    ]
    return tuple(features), names is not None


def _categories_to_state(values: Sequence[Category]) -> NDArray[Any] | list[Category]:
    """Return numbers of one type as an array, which takes little space in a file, else a list."""
    kinds = {type(value) for value in values}
    if kinds == {float}:
        return np.array(values, np.float64)
    if kinds == {int}:
        try:
            return np.array(values, np.int64)
        except OverflowError:
            pass
    return list(values)


def _categories_from_state(stored: Any) -> tuple[Category, ...]:
    if isinstance(stored, np.ndarray):
        valid = stored.dtype in (np.dtype(np.int64), np.dtype(np.float64)) and stored.ndim == 1
        require(valid, "an array of categories holds neither int64 nor float64 numbers")
        stored = stored.tolist()
    valid = isinstance(stored, list) and all(type(value) in _CATEGORY_TYPES for value in stored)
    require(valid, "a list of categories holds something that is no category")
    finite = all(math.isfinite(value) for value in stored if type(value) is float)
    require(finite, "a category is not a finite number")
    require(len(set(stored)) == len(stored), "a category is listed twice")
    return tuple(stored)
