"""Schema: what the columns of a table were when it was first read, and how new data is read the same way."""

from __future__ import annotations

import difflib
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, InputTypeError, UnseenCategoryError, show_value, show_values
from spinney.data.columns import Category, Codes, RawColumn, has_infinity
from spinney.data.readers import Source, column_label, open_source
from spinney.data.schema_state import schema_from_state, schema_to_state
from spinney.data.table import Column, LazyColumns, Table

Kind = Literal["numeric", "categorical"]

_PLAIN_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))
# How a column is made to hold again what it held at first.
_CONVERSIONS = {
    "text": "Convert the column to text with astype(str), or read the file with dtype=str for it.",
    "bytes": "Convert the column to bytes.",
    "numbers": "Convert the column to numbers, such as with astype(int).",
    "booleans": 'Convert the column to booleans, such as with map({"true": True, "false": False}).',
}


@dataclass(frozen=True)
class Feature:
    """Describe one column: ``kind`` is "numeric" or "categorical", ``dtype`` the type of its array.

    ``categories`` are the values that the codes 0, 1, 2, … stand for; a numeric feature has none.
    ``has_missing`` tells whether a model that keeps the schema met missing values of it in training.

    >>> Feature("color", "categorical", ("black", "green"), "int32").code_of["green"]
    1
    """

    name: str
    kind: Kind
    categories: tuple[Category, ...]
    dtype: str
    has_missing: bool = False

    @cached_property
    def code_of(self) -> Mapping[Category, int]:
        """Return the code of each category; equal numbers are one key, so 1, 1.0 and True are found alike."""
        return {category: code for code, category in enumerate(self.categories)}


@dataclass(frozen=True)
class Schema:
    """Describe all columns of a table; ``has_names`` tells whether the input named them.

    >>> schema = read_table([["red", 1.0], ["blue", 2.0]]).schema
    >>> schema.names, schema.categorical.tolist()
    (('x0', 'x1'), [True, False])
    >>> schema.read([["blue", 7.0]]).column(0).tolist()
    [0]
    """

    features: tuple[Feature, ...]
    has_names: bool

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.features)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns; "x0", "x1", … where the input had none."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def categorical(self) -> NDArray[np.bool_]:
        """Return a mask (n_features,) of the categorical columns."""
        return np.array([feature.kind == "categorical" for feature in self.features])

    @cached_property
    def has_missing(self) -> bool:
        """Tell whether any feature had missing values."""
        return any(feature.has_missing for feature in self.features)

    @cached_property
    def _all_numeric(self) -> bool:
        return not self.categorical.any()

    @cached_property
    def _plain_width(self) -> int:
        """Return the width that a plain array must have to be taken as it is, -1 if none may."""
        return -1 if self.has_names or not self._all_numeric else self.n_features

    def read(
        self, X: Any, unseen: Literal["missing", "error"] = "missing", estimator_name: str = "Schema"
    ) -> Table:
        """Read new data as a Table with these columns.

        A category that was not there at first becomes missing; if ``unseen`` is "error" it raises
        UnseenCategoryError. Numbers in a column that held text, or the reverse, are an error in any case.

        >>> read_table([["red"], ["blue"]]).schema.read([["green"], ["red"]]).column(0).tolist()
        [-1, 1]
        """
        # One row of a plain array is the case where a microsecond counts.
        if type(X) is np.ndarray and X.ndim == 2 and X.dtype in _PLAIN_DTYPES:
            n_rows, width = X.shape
            if width == self._plain_width and n_rows and X.flags.aligned and not has_infinity(X):
                return Table(self, n_rows, X)
        if unseen not in ("missing", "error"):
            raise InputError(f'unseen must be "missing" or "error", not {show_value(unseen)}')
        source = open_source(X, known=True)
        self._check_names(source.names, estimator_name)
        _check_not_empty(source)
        if source.shape[1] != self.n_features:
            raise InputError(
                f"X has {source.shape[1]} features, but {estimator_name} is expecting {self.n_features} "
                "features as input."
            )
        return self._tabulate(source, unseen)

    def _tabulate(self, source: Source, unseen: str) -> Table:
        n_rows = source.shape[0]
        if self._all_numeric and source.block is not None:
            return Table(self, n_rows, source.block())

        def column(j: int) -> Column:
            feature, raw = self.features[j], source.column(j)
            if feature.kind == "numeric":
                return raw.numbers()
            return _code(raw, feature, column_label(source.names, j), unseen)

        columns: Sequence[Column] = LazyColumns(self.n_features, column)
        if not source.lazy:
            return Table(self, n_rows, None, list(columns))
        if unseen == "error":  # now, rather than when the column is first used
            for j in np.flatnonzero(self.categorical):
                columns[int(j)]
        return Table(self, n_rows, None, columns)

    def _check_names(self, names: tuple[str, ...] | None, estimator_name: str) -> None:
        """Compare the names as scikit-learn does: the same names in the same order, else an error."""
        if names is None and self.has_names:
            warnings.warn(
                f"X does not have valid feature names, but {estimator_name} was fitted with feature names",
                UserWarning,
                stacklevel=4,
            )
        elif names is not None and not self.has_names:
            warnings.warn(
                f"X has feature names, but {estimator_name} was fitted without feature names",
                UserWarning,
                stacklevel=4,
            )
        elif names is not None and names != self.names:
            _raise_name_mismatch(names, self.names)

    def with_missing(self, has_missing: Sequence[bool]) -> Schema:
        """Return the schema that tells which features (n_features,) had missing values.

        >>> read_table([[1.0]]).schema.with_missing([True]).features[0].has_missing
        True
        """
        features = [
            feature if feature.has_missing == has else replace(feature, has_missing=has)
            for feature, has in zip(self.features, has_missing, strict=True)
        ]
        return Schema(tuple(features), self.has_names)

    def select(self, columns: Sequence[int]) -> Schema:
        """Return the schema of some columns, in the order in which they are named; one may be there twice.

        >>> read_table([[1.0, "red"]]).schema.select([1]).categorical.tolist()
        [True]
        """
        chosen = [self.features[j] for j in columns]
        names = name_copies(self.names, columns) if self.has_names else default_names(len(columns))
        return Schema(
            tuple(replace(feature, name=name) for feature, name in zip(chosen, names, strict=True)),
            self.has_names,
        )

    def to_state(self) -> dict[str, Any]:
        """Return the schema as plain data: numbers, text, lists, dicts and arrays.

        >>> schema = read_table([[1.0]]).schema
        >>> Schema.from_state(schema.to_state()) == schema
        True
        """
        names = list(self.names) if self.has_names else None
        return schema_to_state(
            names,
            [feature.dtype for feature in self.features],
            [feature.categories for feature in self.features],
            [feature.has_missing for feature in self.features],
        )

    @classmethod
    def from_state(cls, state: object) -> Schema:
        """Make a schema of plain data that may come from anyone; what is wrong in it raises ModelFileError.

        >>> Schema.from_state({"n_features": -1})
        Traceback (most recent call last):
        spinney.core.errors.ModelFileError: The schema in the model file is damaged: ...
        """
        names, dtypes, categories, has_missing = schema_from_state(state)
        features = [
            Feature(name, "categorical" if dtype == "int32" else "numeric", values, dtype, has)
            for name, dtype, values, has in zip(
                names or default_names(len(dtypes)), dtypes, categories, has_missing, strict=True
            )
        ]
        return cls(tuple(features), names is not None)


def pack_schema(fitted: dict[str, Any]) -> dict[str, Any]:
    """Give the fitted attributes of a model with ``schema_``, if it is among them, as plain data.

    >>> pack_schema({})
    {}
    """
    return {**fitted, "schema_": fitted["schema_"].to_state()} if "schema_" in fitted else fitted


def unpack_schema(fitted: Any) -> Any:
    """Undo ``pack_schema`` on data that may come from anyone; what is wrong in it raises ModelFileError.

    >>> unpack_schema({})
    {}
    """
    if type(fitted) is not dict or "schema_" not in fitted:
        return fitted
    return {**fitted, "schema_": Schema.from_state(fitted["schema_"])}


def default_names(n_features: int) -> list[str]:
    """Return the names of columns that have none.

    >>> default_names(2)
    ['x0', 'x1']
    """
    return [f"x{j}" for j in range(n_features)]


def name_copies(names: Sequence[str], columns: Sequence[int]) -> list[str]:
    """Return the names of chosen columns; one that was chosen before has a number behind its name.

    >>> name_copies(["age", "size"], [0, 0, 1])
    ['age', 'age (2)', 'size']
    """
    drawn: Counter[int] = Counter()
    out = []
    for j in columns:
        drawn[j] += 1
        out.append(names[j] if drawn[j] == 1 else f"{names[j]} ({drawn[j]})")
    return out


def read_table(X: Any, categorical_features: Any = None) -> Table:
    """Read any supported input as a Table, and learn its schema.

    Columns of text, booleans and categorical types are categorical; ``categorical_features`` (a list of names
    or positions, or a boolean mask) adds columns of numbers whose values are categories.

    >>> table = read_table(np.array([[3, 1.5], [7, 2.5]]), categorical_features=[0])
    >>> table.schema.features[0].categories, table.column(0).tolist()
    ((3, 7), [0, 1])
    """
    source = open_source(X)
    _check_not_empty(source)
    n_rows, n_features = source.shape
    forced = _chosen_columns(categorical_features, source)
    names = source.names or default_names(n_features)
    if source.number_dtype is not None and not forced:
        dtype = source.number_dtype.name
        features = tuple(Feature(name, "numeric", (), dtype) for name in names)
        return Schema(features, source.names is not None)._tabulate(source, "missing")
    learned, columns = [], []
    for j, name in enumerate(names):
        if source.lazy and source.number_dtype is not None and j not in forced:
            learned.append(Feature(name, "numeric", (), source.number_dtype.name))
            continue
        raw = source.column(j)
        feature, column = _learn(raw, name, column_label(source.names, j), j in forced)
        learned.append(feature)
        if not source.lazy:
            columns.append(column)
    schema = Schema(tuple(learned), source.names is not None)
    return schema._tabulate(source, "missing") if source.lazy else Table(schema, n_rows, None, columns)


def _learn(raw: RawColumn, name: str, column: str | int, forced: bool) -> tuple[Feature, Column]:
    if not forced and not raw.categorical:
        numbers = raw.numbers()
        return Feature(name, "numeric", (), numbers.dtype.name), numbers
    levels, codes = raw.levels()
    occurring = np.bincount(codes + 1, minlength=len(levels) + 1)[1:]
    # Levels that no row has are unknown to a model, like any other value it never saw.
    present = dict.fromkeys(level for level, count in zip(levels, occurring, strict=True) if count)
    ordered = list(present) if raw.declared else _sorted(present, column)
    feature = Feature(name, "categorical", tuple(ordered), "int32")
    return feature, _recode(levels, codes, feature)


def _sorted(values: Mapping[Category, None], column: str | int) -> list[Category]:
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


def _recode(levels: Sequence[Category], codes: Codes, feature: Feature) -> Codes:
    """Return for each row the feature's own code of its value, -1 where missing or unknown."""
    code_of = feature.code_of
    own = np.fromiter((code_of.get(level, -1) for level in levels), np.int32, len(levels))
    return np.append(own, np.int32(-1))[codes]


def _code(raw: RawColumn, feature: Feature, column: str | int, unseen: str) -> Codes:
    levels, codes = raw.levels()
    coded = _recode(levels, codes, feature)
    if coded.max(initial=-1) < 0:
        _check_same_kind(levels, codes, feature, column)
    if unseen == "error":
        unknown = (coded < 0) & (codes >= 0)
        if unknown.any():
            row = int(np.argmax(unknown))
            raise UnseenCategoryError(column, row, levels[codes[row]], feature.categories)
    return coded


def _check_same_kind(levels: Sequence[Category], codes: Codes, feature: Feature, column: str | int) -> None:
    """Raise if no value is of a kind that the categories have: then all would count as missing unnoticed."""
    fitted = {_matching_kind(category) for category in feature.categories}
    occurring = np.unique(codes[codes >= 0]).tolist()
    if not fitted or not occurring or any(_matching_kind(levels[code]) in fitted for code in occurring):
        return
    before, now = feature.categories[0], levels[occurring[0]]
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


def _check_not_empty(source: Source) -> None:
    n_rows, n_features = source.shape
    if n_rows == 0:
        raise InputError(
            f"Found array with 0 sample(s) (shape={source.shape}) while a minimum of 1 is required."
        )
    if n_features == 0:
        raise InputError(
            f"Found array with 0 feature(s) (shape={source.shape}) while a minimum of 1 is required."
        )


def _raise_name_mismatch(names: Sequence[str], fitted: Sequence[str]) -> NoReturn:
    message = "The feature names should match those that were passed during fit.\n"
    unexpected, absent = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    for title, group in (
        ("Feature names unseen at fit time:\n", unexpected),
        ("Feature names seen at fit time, yet now missing:\n", absent),
    ):
        if group:
            shown = [name if name.isprintable() else repr(name) for name in group[:5]]
            shown += ["..."] if len(group) > 5 else []
            message += title + "".join(f"- {name}\n" for name in shown)
    if not unexpected and not absent:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise InputError(message)


def _chosen_columns(chosen: Any, source: Source) -> frozenset[int]:
    """Return the positions that ``categorical_features`` names."""
    if chosen is None or (isinstance(chosen, str) and chosen == "from_dtype"):
        return frozenset()
    n_features = source.shape[1]
    if isinstance(chosen, str | bytes) or not isinstance(
        chosen, Sequence | np.ndarray | set | frozenset | range
    ):
        if not hasattr(chosen, "__array__"):
            raise InputTypeError(
                "categorical_features must be a list of names or positions, or a mask, "
                f"not {show_value(chosen)}"
            )
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
        near = difflib.get_close_matches(item, names, n=3)
        raise InputError(
            f"categorical_features names {show_value(item)}, which is no column of X",
            fix=f"Did you mean {show_values(near)}?" if near else f"Columns: {show_values(names)}.",
        )
    if isinstance(item, int | np.integer) and not isinstance(item, bool | np.bool_):
        if 0 <= item < n_features:
            return int(item)
        raise InputError(
            f"categorical_features has the position {item}, but X has {n_features} features",
            fix=f"Positions go from 0 to {n_features - 1}.",
        )
    raise InputTypeError(f"categorical_features must hold names or positions, not {show_value(item)}")
