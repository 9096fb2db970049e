"""A schema as plain data, and back, with everything checked that a hostile file could get wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import ModelFileError, show_value
from spinney.data.columns import Category

# The order is part of the file format: a dtype is stored as its position here. int32 means categorical.
_DTYPES = ("float32", "float64", "int32")
_KEYS = frozenset({"n_features", "names", "dtypes", "categories", "has_missing"})
_CATEGORY_TYPES = frozenset({str, bytes, bool, int, float})


def schema_to_state(
    names: list[str] | None,
    dtypes: Sequence[str],
    categories: Sequence[tuple[Category, ...]],
    has_missing: Sequence[bool],
) -> dict[str, Any]:
    """Return a schema's parts as plain data; only categorical columns have an entry among the categories.

    >>> schema_to_state(["a"], ["int32"], [("u", "v")], [False])["categories"]
    [['u', 'v']]
    """
    return {
        "n_features": len(dtypes),
        "names": names,
        "dtypes": np.array([_DTYPES.index(dtype) for dtype in dtypes], np.uint8),
        "categories": [
            _categories_to_state(values)
            for dtype, values in zip(dtypes, categories, strict=True)
            if dtype == "int32"
        ],
        "has_missing": np.array(has_missing, np.bool_),
    }


def schema_from_state(
    state: Any,
) -> tuple[list[str] | None, list[str], list[tuple[Category, ...]], list[bool]]:
    """Return names, dtypes, categories and has_missing of a state that may come from anyone.

    >>> schema_from_state(schema_to_state(None, ["float64"], [()], [True]))
    (None, ['float64'], [()], [True])
    """
    _require(isinstance(state, dict) and set(state) == _KEYS, "it does not have the parts of a schema")
    n_features, names, positions = state["n_features"], state["names"], state["dtypes"]
    stored, has_missing = state["categories"], state["has_missing"]
    valid = type(n_features) is int and n_features >= 1
    _require(valid, f"the number of features is {show_value(n_features)}")
    valid = isinstance(positions, np.ndarray) and positions.dtype == np.uint8
    valid = valid and positions.shape == (n_features,) and positions.max() < len(_DTYPES)
    _require(valid, f"the types do not describe {n_features} features")
    dtypes = [_DTYPES[position] for position in positions]
    if names is not None:
        valid = isinstance(names, list) and all(type(name) is str for name in names)
        _require(valid and len(names) == n_features, f"the names are not {n_features} texts")
        _require(len(set(names)) == n_features, "two features have the same name")
    valid = isinstance(stored, list) and len(stored) == dtypes.count("int32")
    _require(valid, "the lists of categories are not one for each categorical feature")
    following = iter(stored)
    categories = [_categories_from_state(next(following)) if dtype == "int32" else () for dtype in dtypes]
    valid = isinstance(has_missing, np.ndarray) and has_missing.dtype == np.bool_
    valid = valid and has_missing.shape == (n_features,)
    _require(valid, f"which features had missing values is no array of {n_features} truth values")
    return names, dtypes, categories, has_missing.tolist()


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
        _require(valid, "an array of categories holds neither int64 nor float64 numbers")
        stored = stored.tolist()
    valid = isinstance(stored, list) and all(type(value) in _CATEGORY_TYPES for value in stored)
    _require(valid, "a list of categories holds something that is no category")
    finite = all(math.isfinite(value) for value in stored if type(value) is float)
    _require(finite, "a category is not a finite number")
    _require(len(set(stored)) == len(stored), "a category is listed twice")
    return tuple(stored)


def _require(condition: object, reason: str) -> None:
    if not condition:
        raise ModelFileError(
            f"The schema in the model file is damaged: {reason}", fix="Save the model again."
        )
