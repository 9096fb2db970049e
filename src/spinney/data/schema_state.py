"""A schema as plain data, and back, with everything checked that a hostile file could get wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from spinney.base.errors import ModelFileError, show_value
from spinney.data.columns import Category

# The order is part of the file format: a dtype is stored as its position here. int32 means categorical.
_DTYPES = ("float32", "float64", "int32")
_KEYS = frozenset({"n_features", "names", "dtypes", "categories"})
_ARRAYS: dict[str, type[np.generic]] = {"float": np.float64, "bool": np.uint8, "int": np.int64}


def schema_to_state(
    names: list[str] | None, dtypes: Sequence[str], categories: Sequence[tuple[Category, ...]]
) -> dict[str, Any]:
    """Return a schema's parts as plain data; only categorical columns have an entry among the categories.

    >>> schema_to_state(["a"], ["int32"], [("u", "v")])["categories"]
    [{'type': 'str', 'values': ['u', 'v']}]
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
    }


def schema_from_state(state: object) -> tuple[list[str] | None, list[str], list[tuple[Category, ...]]]:
    """Return names, dtypes and categories of a state that may come from anyone.

    >>> schema_from_state(schema_to_state(None, ["float64"], [()]))
    (None, ['float64'], [()])
    """
    if not isinstance(state, dict) or set(state) != _KEYS:
        _damaged("it does not have the parts of a schema")
    n_features = state["n_features"]
    if type(n_features) is not int or n_features < 1:
        _damaged(f"the number of features is {show_value(n_features)}")
    positions = _array(state["dtypes"], np.uint8, "dtypes")
    if len(positions) != n_features or positions.max(initial=0) >= len(_DTYPES):
        _damaged(f"the types do not describe {n_features} features")
    dtypes = [_DTYPES[position] for position in positions]
    names = _names_from_state(state["names"], n_features)
    stored = state["categories"]
    if not isinstance(stored, list) or len(stored) != dtypes.count("int32"):
        _damaged("the lists of categories are not one for each categorical feature")
    following = iter(stored)
    categories = [_categories_from_state(next(following)) if dtype == "int32" else () for dtype in dtypes]
    return names, dtypes, categories


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


def _categories_to_state(values: Sequence[Category]) -> dict[str, Any]:
    kinds = {type(value) for value in values}
    if len(kinds) > 1:
        return {"type": "mixed", "values": [_categories_to_state([value]) for value in values]}
    kind = kinds.pop().__name__ if kinds else "str"
    if kind == "int" and not all(-(2**63) <= value < 2**63 for value in values):  # type: ignore[operator]
        return {"type": "great int", "values": [hex(value) for value in values]}  # type: ignore[arg-type]
    if kind in _ARRAYS:
        return {"type": kind, "values": np.array(values, _ARRAYS[kind])}
    if kind == "bytes":  # every byte has a letter in latin-1, so nothing is lost
        return {"type": kind, "values": [value.decode("latin-1") for value in values]}  # type: ignore[union-attr]
    return {"type": kind, "values": list(values)}


def _categories_from_state(state: object) -> tuple[Category, ...]:
    if not isinstance(state, dict) or set(state) != {"type", "values"} or not isinstance(state["type"], str):
        _damaged("a list of categories has no type and values")
    kind, stored = state["type"], state["values"]
    if kind == "mixed":
        values = _mixed(stored)
    elif kind in _ARRAYS:
        values = _numbers(kind, stored)
    elif kind in ("str", "bytes", "great int"):
        values = _texts(kind, stored)
    else:
        _damaged(f"categories have the unknown type {show_value(kind)}")
    if len(set(values)) != len(values):
        _damaged("a category is listed twice")
    return tuple(values)


def _mixed(stored: object) -> list[Category]:
    if not isinstance(stored, list):
        _damaged("mixed categories are not a list")
    values: list[Category] = []
    for part in stored:
        if not isinstance(part, dict) or part.get("type") == "mixed":
            _damaged("mixed categories are nested")
        values.extend(_categories_from_state(part))
    return values


def _numbers(kind: str, stored: object) -> list[Category]:
    array = _array(stored, _ARRAYS[kind], "categories")
    if kind == "float" and not np.isfinite(array).all():
        _damaged("a category is not a finite number")
    if kind == "bool":
        if array.max(initial=0) > 1:
            _damaged("a boolean category is neither 0 nor 1")
        array = array.astype(bool)
    values: list[Category] = array.tolist()
    return values


def _texts(kind: str, stored: object) -> list[Category]:
    if not isinstance(stored, list) or not all(type(text) is str for text in stored):
        _damaged("categories of text are not a list of texts")
    if kind == "str":
        return list(stored)
    try:
        if kind == "bytes":
            return [text.encode("latin-1") for text in stored]
        return [int(text, 16) for text in stored]
    except ValueError:
        _damaged(f"a category is not of the type {kind}")


def _array(stored: object, dtype: type[np.generic], what: str) -> NDArray[Any]:
    if not isinstance(stored, np.ndarray) or stored.dtype != np.dtype(dtype) or stored.ndim != 1:
        _damaged(f"the {what} are not a list of {np.dtype(dtype).name} numbers")
    return stored


def _damaged(reason: str) -> NoReturn:
    raise ModelFileError(f"The schema in the model file is damaged: {reason}", fix="Save the model again.")
