"""A schema as plain data, and back, with everything checked that a hostile file could get wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

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
    state: object,
) -> tuple[list[str] | None, list[str], list[tuple[Category, ...]], list[bool]]:
    """Return names, dtypes, categories and has_missing of a state that may come from anyone.

    >>> schema_from_state(schema_to_state(None, ["float64"], [()], [True]))
    (None, ['float64'], [()], [True])
    """
    if not isinstance(state, dict) or set(state) != _KEYS:
        _damaged("it does not have the parts of a schema")
    n_features = state["n_features"]
    if type(n_features) is not int or n_features < 1:
        _damaged(f"the number of features is {show_value(n_features)}")
    positions = state["dtypes"]
    if not isinstance(positions, np.ndarray) or positions.dtype != np.uint8:
        _damaged("the types are not an array of small numbers")
    if positions.shape != (n_features,) or positions.max() >= len(_DTYPES):
        _damaged(f"the types do not describe {n_features} features")
    dtypes = [_DTYPES[position] for position in positions]
    names = _names_from_state(state["names"], n_features)
    stored = state["categories"]
    if not isinstance(stored, list) or len(stored) != dtypes.count("int32"):
        _damaged("the lists of categories are not one for each categorical feature")
    following = iter(stored)
    categories = [_categories_from_state(next(following)) if dtype == "int32" else () for dtype in dtypes]
    has_missing = state["has_missing"]
    if not isinstance(has_missing, np.ndarray) or has_missing.dtype != np.bool_:
        _damaged("which features had missing values is no array of truth values")
    if has_missing.shape != (n_features,):
        _damaged(f"which features had missing values is not told for {n_features} features")
    return names, dtypes, categories, has_missing.tolist()


def _names_from_state(names: object, n_features: int) -> list[str] | None:
    if names is None:
        return None
    if (
        not isinstance(names, list)
        or len(names) != n_features
        or not all(type(name) is str for name in names)
    ):
        _damaged(f"the names are not {n_features} texts")
    if len(set(names)) != n_features:
        _damaged("two features have the same name")
    return names


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


def _categories_from_state(stored: object) -> tuple[Category, ...]:
    if isinstance(stored, np.ndarray):
        if stored.dtype not in (np.dtype(np.int64), np.dtype(np.float64)) or stored.ndim != 1:
            _damaged("an array of categories holds neither int64 nor float64 numbers")
        stored = stored.tolist()
    if not isinstance(stored, list) or not all(type(value) in _CATEGORY_TYPES for value in stored):
        _damaged("a list of categories holds something that is no category")
    if not all(math.isfinite(value) for value in stored if type(value) is float):
        _damaged("a category is not a finite number")
    if len(set(stored)) != len(stored):
        _damaged("a category is listed twice")
    return tuple(stored)


def _damaged(reason: str) -> NoReturn:
    raise ModelFileError(f"The schema in the model file is damaged: {reason}", fix="Save the model again.")
