"""Tables of typed columns, and schemas, which describe a table and read new data the same way."""

from __future__ import annotations

import operator
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, NoReturn, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.cached_attribute import cached_attribute
from spinney.core.errors import InputError, InputTypeError, show_value
from spinney.core.memory import memory_limit
from spinney.data.categories import chosen_columns, code_categories, learn_categories
from spinney.data.columns import (
    Source,
    check_not_empty,
    column_label,
    default_names,
    has_infinity,
    open_source,
)
from spinney.data.features import Feature, features_from_state, features_to_state
from spinney.native import core

# float32 or float64 with NaN for missing, or int32 category codes with -1 for missing.
Column: TypeAlias = NDArray[Any]

_PLAIN_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))


@dataclass(frozen=True)
class Schema:
    """Description of the columns of a table, which reads new data the same way.

    Attributes
    ----------
    features : tuple of Feature
        The columns.
    has_names : bool
        Whether the input named its columns.

    Examples
    --------
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
        """Number of columns."""
        return len(self.features)

    @cached_attribute
    def names(self) -> tuple[str, ...]:
        """Names of the columns; "x0", "x1", … if the input has no names."""
        return tuple(feature.name for feature in self.features)

    @cached_attribute
    def categorical(self) -> NDArray[np.bool_]:
        """Mask of the categorical columns.  (n_features,)"""
        return np.array([feature.kind == "categorical" for feature in self.features])

    @cached_attribute
    def has_missing(self) -> bool:
        """Whether any feature had missing values in training."""
        return any(feature.has_missing for feature in self.features)

    @cached_attribute
    def _all_numeric(self) -> bool:
        return not self.categorical.any()

    @cached_attribute
    def _plain_width(self) -> int:
        """Width of plain arrays that need no conversion, -1 if there are none."""
        return -1 if self.has_names or not self._all_numeric else self.n_features

    def read(
        self, X: Any, unseen: Literal["missing", "error"] = "missing", estimator_name: str = "Schema"
    ) -> Table:
        """Read new data as a table with these columns.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            New data. Numbers in a column that had text, or the reverse, are an error.
        unseen : {"missing", "error"}, default="missing"
            How to handle categories that the schema does not have.
        estimator_name : str, default="Schema"
            Name to use in messages.

        Returns
        -------
        Table
            The data.

        Raises
        ------
        UnseenCategoryError
            If there is an unseen category and `unseen` is "error".

        Examples
        --------
        >>> read_table([["red"], ["blue"]]).schema.read([["green"], ["red"]]).column(0).tolist()
        [-1, 1]
        """
        # A shortcut for one row of a plain array, where a microsecond counts.
        if _is_plain(X) and X.shape[1] == self._plain_width and not has_infinity(X):
            return Table(self, len(X), X)
        if isinstance(X, CodedRows):
            return _read_coded(self, X)
        if unseen not in ("missing", "error"):
            raise InputError(f'unseen must be "missing" or "error", not {show_value(unseen)}')
        source = open_source(X, known=True).in_order(self.names)
        self._check_names(source.names, estimator_name)
        check_not_empty((None, source.shape[1]))  # a batch without rows has no predictions
        if source.shape[1] != self.n_features:
            raise InputError(
                f"X has {source.shape[1]} features, but {estimator_name} is expecting {self.n_features} "
                "features as input."
            )
        return self.read_source(source, unseen)

    def read_source(self, source: Source, unseen: str) -> Table:
        """Read the columns of an opened input, which are as many as those of the schema.

        Parameters
        ----------
        source : Source
            The input.
        unseen : {"missing", "error"}
            How to handle categories that the schema does not have.

        Returns
        -------
        Table
            The data.
        """
        n_rows = source.shape[0]
        if self._all_numeric and source.block is not None:
            return Table(self, n_rows, source.block())

        def column(j: int) -> Column:
            feature, raw = self.features[j], source.column(j)
            if feature.kind == "numeric":
                return raw.numbers()
            return code_categories(raw, feature, column_label(source.names, j), unseen)

        columns = LazyColumns(self.n_features, column)
        if not source.lazy:
            return Table(self, n_rows, None, list(columns))
        if unseen == "error":  # now, rather than when the column is first used
            for j in np.flatnonzero(self.categorical):
                columns[int(j)]
        return Table(self, n_rows, None, columns)

    def _check_names(self, names: tuple[str, ...] | None, estimator_name: str) -> None:
        """Compare the names as scikit-learn does: the same names in the same order, else an error."""
        if (names is not None) != self.has_names:
            found = "does not have valid" if self.has_names else "has"
            fitted = "with" if self.has_names else "without"
            warnings.warn(
                f"X {found} feature names, but {estimator_name} was fitted {fitted} feature names",
                UserWarning,
                stacklevel=4,
            )
        elif names is not None:
            check_same_names(names, self.names)

    def with_missing(self, has_missing: Sequence[bool]) -> Schema:
        """Return the schema with other `has_missing` flags of its features.

        Parameters
        ----------
        has_missing : sequence of bool of length n_features
            Which features had missing values in training.

        Returns
        -------
        Schema
            The schema.

        Examples
        --------
        >>> read_table([[1.0]]).schema.with_missing([True]).features[0].has_missing
        True
        """
        features = [
            feature if feature.has_missing == has else feature.with_other_missing
            for feature, has in zip(self.features, has_missing, strict=True)
        ]
        unchanged = all(map(operator.is_, features, self.features))
        return self if unchanged else Schema(tuple(features), self.has_names)

    def select(self, columns: Sequence[int]) -> Schema:
        """Return the schema of some columns.

        Parameters
        ----------
        columns : sequence of int
            Positions, in the new order; one may be given twice.

        Returns
        -------
        Schema
            The schema.

        Examples
        --------
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
        """Return the schema as plain data for a model file.

        Returns
        -------
        dict
            Numbers, text, lists and arrays.

        Examples
        --------
        >>> schema = read_table([[1.0]]).schema
        >>> Schema.from_state(schema.to_state()) == schema
        True
        """
        return features_to_state(self.features, self.has_names)

    @classmethod
    def from_state(cls, state: object) -> Schema:
        """Build a schema from unchecked plain data.

        Parameters
        ----------
        state : object
            What `to_state` returned.

        Returns
        -------
        Schema
            The schema.

        Raises
        ------
        ModelFileError
            If the data does not describe a schema.

        Examples
        --------
        >>> Schema.from_state({"n_features": -1})
        Traceback (most recent call last):
        spinney.core.errors.ModelFileError: The schema in the model file is damaged: ...
        """
        return cls(*features_from_state(state))


_FILE_SHARE, _LEAST_FILE = 8, 1 << 16
"""Arrays of more than this part of the memory for codes are files in fits of datasets larger than memory."""


class CodedRows:
    """Base class of datasets whose rows are coded already, and have their own target and weights.

    Attributes
    ----------
    schema : Schema
        Description of the columns.
    target : ndarray or None
        Labels or values.
    weights : ndarray of shape (n_rows,) or None
        Row weights.
    group : ndarray of shape (n_rows,) or None
        Groups of rows.
    exceeds_memory : bool
        Whether a fit has to leave the codes where they are.
    memory_for_codes : int
        Bytes that codes may take in memory.
    """

    schema: Schema
    target: NDArray[Any] | None
    weights: Floats | None
    group: NDArray[np.int64] | None

    @property
    def memory_for_codes(self) -> int:
        """Bytes that codes may take in the memory of a fit."""
        return memory_limit()

    @property
    def exceeds_memory(self) -> bool:
        """Whether a fit has to leave the codes where they are."""
        return False

    def table(self) -> Table:
        """Return the rows as a table."""
        raise NotImplementedError

    def code(
        self, table: Table, weights: Floats | None, max_bins: int | None, n_threads: int
    ) -> core.CodeMatrix:
        """Return the codes of a table of these rows, some of whose columns may have been replaced."""
        raise NotImplementedError


def memory_for(X: Any) -> AbstractContextManager[None]:
    """Put large arrays that are made meanwhile into files if X is a dataset larger than memory.

    Parameters
    ----------
    X : object
        What is fitted.

    Returns
    -------
    context manager
        To be entered for the fit.
    """
    if not isinstance(X, CodedRows) or not X.exceeds_memory:
        return nullcontext()
    from spinney.data.spill import arrays_in_files

    return arrays_in_files(max(_LEAST_FILE, X.memory_for_codes // _FILE_SHARE))


def refuse_coded(X: Any) -> None:
    """Raise InputTypeError if X is a dataset; for estimators that need values, or draw rows themselves."""
    if isinstance(X, CodedRows):
        raise InputTypeError(
            f"X is the bins of a {type(X).__name__}, which this estimator cannot learn from",
            fix="Pass the table itself, or use a decision tree, a forest or gradient boosting.",
        )


class LazyColumns(Sequence[Column]):
    """Columns made at each use, so that a sparse matrix is never dense as a whole.

    >>> columns = LazyColumns(2, lambda j: np.full(3, float(j)))
    >>> len(columns), columns[1].tolist()
    (2, [1.0, 1.0, 1.0])
    """

    __slots__ = ("_length", "_make")

    def __init__(self, length: int, make: Callable[[int], Column]) -> None:
        self._length, self._make = length, make

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, j: int) -> Column:  # type: ignore[override]  # no slices
        return self._make(range(self._length)[j])


class Table:
    """Columns of an input, and the schema that describes them.

    Parameters
    ----------
    schema : Schema
        Description of the columns.
    n_rows : int
        Number of rows.
    block : ndarray of shape (n_rows, n_features) or None
        All columns as one array, if the input was a plain numeric matrix.
    columns : sequence of ndarray of shape (n_rows,) or None, default=None
        The columns; None takes them from `block`.

    Examples
    --------
    >>> from spinney.data import read_table
    >>> table = read_table([[1.0, "red"], [2.5, "blue"]])
    >>> [column.tolist() for column in table.columns]
    [[1.0, 2.5], [1, 0]]
    """

    __slots__ = ("_columns", "block", "n_rows", "schema")
    dataset: CodedRows | None = None
    """The dataset that the rows come from, with their target, weights and codes."""

    def __init__(
        self,
        schema: Schema,
        n_rows: int,
        block: NDArray[np.floating[Any]] | None,
        columns: Sequence[Column] | None = None,
    ) -> None:
        self.schema, self.n_rows, self.block, self._columns = schema, n_rows, block, columns

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.schema.n_features

    @property
    def columns(self) -> Sequence[Column]:
        """One array (n_rows,) per feature: floats with NaN, or int32 category codes with −1, for missing."""
        if self._columns is None:
            block = cast("NDArray[Any]", self.block)
            self._columns = LazyColumns(self.n_features, lambda j: block[:, j])
        return self._columns

    def column(self, j: int) -> Column:
        """Return one column.

        Parameters
        ----------
        j : int
            Position of the column.

        Returns
        -------
        ndarray of shape (n_rows,)
            The column.
        """
        return self.columns[j]

    def with_schema(self, schema: Schema) -> Table:
        """Return the same columns with another schema.

        Parameters
        ----------
        schema : Schema
            The schema.

        Returns
        -------
        Table
            The table.
        """
        return Table(schema, self.n_rows, self.block, self._columns)

    def select(self, columns: Sequence[int]) -> Table:
        """Return the table of some columns without copying them.

        Parameters
        ----------
        columns : sequence of int
            Positions, in the new order.

        Returns
        -------
        Table
            The table.
        """
        chosen, source = list(columns), self.columns
        lazy = LazyColumns(len(chosen), lambda i: source[chosen[i]])
        return Table(self.schema.select(chosen), self.n_rows, None, lazy)

    def take(self, rows: NDArray[np.integer[Any]]) -> Table:
        """Return the table of some rows; a column is copied when it is used.

        Parameters
        ----------
        rows : ndarray of int
            Positions of the rows.

        Returns
        -------
        Table
            The table.
        """
        if self.block is not None:
            return Table(self.schema, len(rows), self.block[rows])
        source = self.columns
        return Table(self.schema, len(rows), None, LazyColumns(self.n_features, lambda j: source[j][rows]))

    def replace(self, schema: Schema, make: Callable[[int], Column], changed: Collection[int]) -> Table:
        """Return other columns of the same rows, made at each use if the columns of this table are.

        Parameters
        ----------
        schema : Schema
            Description of the new columns.
        make : function of int
            Returns the column at a position.
        changed : collection of int
            Positions of the columns that are not those of this table; those beyond its width always are.

        Returns
        -------
        Table
            The table.
        """
        columns = LazyColumns(schema.n_features, make)
        lazy = isinstance(self.columns, LazyColumns)
        return Table(schema, self.n_rows, None, columns if lazy else list(columns))

    def __repr__(self) -> str:
        return f"Table(n_rows={self.n_rows}, n_features={self.n_features})"


def _is_plain(X: Any) -> bool:
    """Return whether X is an array of rows whose numbers are taken as they are."""
    plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype in _PLAIN_DTYPES
    return plain and len(X) > 0 and X.flags.aligned


@lru_cache(maxsize=16)
def _plain_schema(n_features: int) -> Schema:
    """Return the schema of a plain array without missing values."""
    names = default_names(n_features)
    return Schema(tuple(Feature(name, "numeric", (), "float64") for name in names), False)


def read_table(X: Any, categorical_features: Any = None) -> Table:
    """Read any supported input as a table, and learn its schema.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        The input. Columns of text, booleans and categorical types are categorical.
    categorical_features : array-like of str, int or bool, or None, default=None
        Names, positions or mask of numeric columns whose values are categories.

    Returns
    -------
    Table
        The data.

    Examples
    --------
    >>> table = read_table(np.array([[3, 1.5], [7, 2.5]]), categorical_features=[0])
    >>> table.schema.features[0].categories, table.column(0).tolist()
    ((3, 7), [0, 1])
    """
    # A shortcut for plain arrays: a tree on a small one is grown in less time than the steps below take.
    if categorical_features is None and _is_plain(X) and X.shape[1] and not has_infinity(X):
        return Table(_plain_schema(X.shape[1]), len(X), X)
    if isinstance(X, CodedRows):
        return _learn_coded(X, categorical_features)
    source = open_source(X)
    check_not_empty(source.shape)
    n_rows, n_features = source.shape
    forced = frozenset() if categorical_features is None else chosen_columns(categorical_features, source)
    names = source.names or default_names(n_features)
    numeric = source.number_dtype is not None
    features: list[Feature] = []
    columns: list[Column] = []
    for j, name in enumerate(names):
        if numeric and j not in forced and (source.lazy or not forced):
            features.append(Feature(name, "numeric", (), "float64"))
            continue
        raw = source.column(j)
        column: Column
        if j in forced or raw.categorical:
            categories, column = learn_categories(raw, column_label(source.names, j))
            features.append(Feature(name, "categorical", categories, "int32"))
        else:
            column = raw.numbers()
            features.append(Feature(name, "numeric", (), "float64"))
        if not source.lazy:
            columns.append(column)
    schema = Schema(tuple(features), source.names is not None)
    if source.lazy or (numeric and not forced):
        return schema.read_source(source, "missing")
    return Table(schema, n_rows, None, columns)


def _learn_coded(X: CodedRows, categorical_features: Any) -> Table:
    """Return the rows of a dataset; the columns that are categories were chosen when it was built."""
    table = X.table()
    if categorical_features is not None:
        names = X.schema.names if X.schema.has_names else None
        columns = Source((table.n_rows, table.n_features), names, _no_column)
        for j in chosen_columns(categorical_features, columns):
            if not X.schema.categorical[j]:
                raise InputError(
                    "The dataset was built with numbers, and categorical_features asks for categories",
                    column=column_label(names, j),
                    fix="Name the column in categorical_features when the dataset is built.",
                )
    return table


def _no_column(j: int) -> NoReturn:
    raise InputError("A dataset has no values to be read.")


def _read_coded(schema: Schema, X: CodedRows) -> Table:
    """Return the rows of a dataset with the columns of a schema."""
    for name, own, other in zip(schema.names, schema.features, X.schema.features, strict=False):
        if own.name != other.name or own.kind != other.kind or own.categories != other.categories:
            raise InputError(
                "The column of the dataset differs from that of the fit in its name, kind or categories",
                column=name,
            )
    if X.schema.n_features != schema.n_features:
        n_own, n_other = schema.n_features, X.schema.n_features
        raise InputError(f"The dataset has {n_other} features, and the fit had {n_own}.")
    return X.table()


def pack_schema(fitted: dict[str, Any]) -> dict[str, Any]:
    """Return fitted attributes with ``schema_``, if there is one, as plain data.

    >>> pack_schema({})
    {}
    """
    return {**fitted, "schema_": fitted["schema_"].to_state()} if "schema_" in fitted else fitted


def unpack_schema(fitted: Any) -> Any:
    """Undo ``pack_schema`` on unchecked data; ModelFileError if it does not describe a schema.

    >>> unpack_schema({})
    {}
    """
    if type(fitted) is not dict or "schema_" not in fitted:
        return fitted
    return {**fitted, "schema_": Schema.from_state(fitted["schema_"])}


def name_copies(names: Sequence[str], columns: Sequence[int]) -> list[str]:
    """Return the names of chosen columns, with a number after the name of a column chosen before.

    >>> name_copies(["age", "size"], [0, 0, 1])
    ['age', 'age (2)', 'size']
    """
    drawn: Counter[int] = Counter()
    out = []
    for j in columns:
        drawn[j] += 1
        out.append(names[j] if drawn[j] == 1 else f"{names[j]} ({drawn[j]})")
    return out


def check_same_names(names: Sequence[str], fitted: Sequence[str]) -> None:
    """Raise an error that says which names differ from those of the fit, if any does."""
    if tuple(names) == tuple(fitted):
        return
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
