"""Categorical features: categories learned from a column, the codes of values, and which columns to code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spinney.core.errors import InputError, InputTypeError, UnseenCategoryError, show_value, suggest_columns
from spinney.core.parameters import ArrayLike
from spinney.data.columns import Category, Codes, LevelColumn, RawColumn, Source
from spinney.data.features import Feature

# How to convert a column back to the type that it had during fit.
_CONVERSIONS = {
    "text": "Convert the column to text with astype(str), or read the file with dtype=str for it.",
    "bytes": "Convert the column to bytes.",
    "numbers": "Convert the column to numbers, such as with astype(int).",
    "booleans": 'Convert the column to booleans, such as with map({"true": True, "false": False}).',
}


def learn_categories(raw: RawColumn, column: str | int) -> tuple[tuple[Category, ...], Codes]:
    """Return the categories of a column, in ascending or declared order, and the code of each row."""
    levels, codes = raw.levels()
    occurring = np.bincount(codes + 1, minlength=len(levels) + 1)[1:]
    # Levels that no row has are unknown to a model, like any other value it never saw.
    present = dict.fromkeys(level for level, count in zip(levels, occurring, strict=True) if count)
    categories = tuple(present) if raw.declared else tuple(sort_categories(present, column))
    return categories, _recode(levels, codes, {category: code for code, category in enumerate(categories)})


def sort_categories(values: Mapping[Category, None], column: str | int) -> list[Category]:
    """Return categories in ascending order; raise InputError if text and numbers are mixed."""
    kinds: dict[str, Category] = {}
    for value in values:
        kinds.setdefault(type(value).__name__ if isinstance(value, str | bytes) else "number", value)
    if len(kinds) > 1:
        (first, one), (second, other) = list(kinds.items())[:2]
        raise InputError(
            f"Values of the types {first} ({show_value(one)}) and {second} ({show_value(other)}) are mixed",
            column=column,
            fix="Convert the column to one type.",
        )
    return sorted(values)


def _recode(levels: Sequence[Category], codes: Codes, code_of: Mapping[Category, int]) -> Codes:
    """Return the code of each row's value, −1 if it is missing or unknown.  -> (n_rows,)"""
    return _codes_of(levels, code_of)[codes]


def _codes_of(levels: Sequence[Category], code_of: Mapping[Category, int]) -> Codes:
    """Return the codes of some values, −1 where they are unknown, and −1 at the end, for missing ones."""
    own = np.fromiter((code_of.get(level, -1) for level in levels), np.int32, len(levels))
    return np.append(own, np.int32(-1))


def code_categories(raw: RawColumn, feature: Feature, column: str | int, unseen: str) -> Codes:
    """Return the code of each row's value by the categories of a feature, −1 if it is missing.  -> (n_rows,)

    An unseen category is missing as well, or with ``unseen="error"`` raises UnseenCategoryError.
    """
    coded = _code_levels(raw, feature) if isinstance(raw, LevelColumn) else None
    if coded is not None and unseen != "error" and coded.max(initial=-1) >= 0:
        return coded
    levels, codes = raw.levels()
    if coded is None:
        coded = _recode(levels, codes, feature.code_of)
    if coded.max(initial=-1) < 0:
        _check_same_kind(levels, codes, feature.categories, column)
    if unseen == "error":
        unknown = (coded < 0) & (codes >= 0)
        if unknown.any():
            row = int(np.argmax(unknown))
            raise UnseenCategoryError(column, row, levels[codes[row]], list(feature.code_of))
    return coded


def _code_levels(raw: LevelColumn, feature: Feature) -> Codes:
    """Code a column by its dictionary, whose own codes the feature keeps: batches often share one."""
    dictionary, of_entry = feature.last_dictionary
    if dictionary is not raw.dictionary:
        levels, codes = raw.own_levels()
        of_entry = np.append(_recode(levels, codes, feature.code_of), np.int32(-1))
        feature.keep_dictionary(raw.dictionary, of_entry)
    coded: Codes = of_entry[raw.codes]
    return coded


def _check_same_kind(
    levels: Sequence[Category], codes: Codes, categories: Sequence[Category], column: str | int
) -> None:
    """Raise if no value has the type of a category: all values would silently count as missing."""
    fitted = {_matching_kind(category) for category in categories}
    occurring = np.unique(codes[codes >= 0]).tolist()
    if not fitted or not occurring or any(_matching_kind(levels[code]) in fitted for code in occurring):
        return
    before, now = categories[0], levels[occurring[0]]
    held = _kind_name(before)
    raise InputError(
        f"Found only {_kind_name(now)}, such as {show_value(now)}, where the model was fitted on {held}, "
        f"such as {show_value(before)},",
        column=column,
        fix=_CONVERSIONS[held],
    )


def _matching_kind(value: Category) -> type:
    """Return str, bytes or float: values of different kinds are never equal."""
    return type(value) if isinstance(value, str | bytes) else float


def _kind_name(value: Category) -> str:
    names = {str: "text", bytes: "bytes", bool: "booleans"}
    return names.get(type(value), "numbers")


def chosen_columns(chosen: Any, source: Source) -> frozenset[int]:
    """Return the positions of the columns in ``categorical_features``."""
    if chosen is None or (isinstance(chosen, str) and chosen == "from_dtype"):
        return frozenset()
    n_features = source.shape[1]
    if not ArrayLike().allows(chosen):
        raise InputTypeError(
            f"categorical_features must be a list of names or positions, or a mask, not {show_value(chosen)}"
        )
    if hasattr(chosen, "__array__"):
        chosen = np.asarray(chosen)
    if isinstance(chosen, np.ndarray) and chosen.ndim != 1:
        raise InputError(f"categorical_features must have one dimension, not {chosen.ndim}")
    items = list(chosen.tolist() if isinstance(chosen, np.ndarray) else chosen)
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        if len(items) != n_features:
            raise InputError(
                f"categorical_features is a mask of {len(items)} values, but X has {n_features} features"
            )
        return frozenset(j for j, item in enumerate(items) if item)
    return frozenset(_position(item, source.names, n_features) for item in items)


def _position(item: Any, names: tuple[str, ...] | None, n_features: int) -> int:
    if isinstance(item, str):
        if names is None:
            raise InputError(
                f"categorical_features names {show_value(item)}, but the columns of X have no names",
                fix="Give positions instead.",
            )
        if item in names:
            return names.index(item)
        raise InputError(
            f"categorical_features names {show_value(item)}, which is not a column of X",
            fix=suggest_columns(item, names),
        )
    if isinstance(item, int | np.integer) and not isinstance(item, bool | np.bool_):
        if 0 <= item < n_features:
            return int(item)
        raise InputError(
            f"categorical_features has the position {item}, but X has {n_features} features",
            fix=f"Positions go from 0 to {n_features - 1}.",
        )
    raise InputTypeError(f"categorical_features must hold names or positions, not {show_value(item)}")
