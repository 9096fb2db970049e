"""Tables as numeric columns: one-hot categories and means for missing values, if the user asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.parameters import OneOf, Rule
from spinney.data.features import Feature
from spinney.data.schema import Schema, Table
from spinney.io import Persistent, require

Values: TypeAlias = NDArray[np.floating[Any]] | sparse.csr_array
Categorical: TypeAlias = Literal["one-hot"] | None
Missing: TypeAlias = Literal["mean"] | None

CODING_RULES: Mapping[str, tuple[Rule, ...]] = {
    "categorical": (OneOf(None, "one-hot"),),
    "missing": (OneOf(None, "mean"),),
}
"""Rules of the parameters of estimators that code columns."""

# With more coded columns than this, nearly all entries are 0 and the matrix is sparse.
_MAX_DENSE = 200


@dataclass(frozen=True, eq=False)
class ColumnCoding(Persistent):
    """How the features of a table become numeric columns.

    A categorical feature has one 0/1 column per category, and a numeric feature is its own column. A missing
    value takes the mean of each of its columns, an unseen category likewise.

    Attributes
    ----------
    widths : ndarray of shape (n_features,), int64
        Number of columns of each feature.
    fill : ndarray of shape (n_columns,), float64
        Means that stand for missing values; NaN where missing values are an error.

    Examples
    --------
    >>> from spinney.data import read_table
    >>> table = read_table([["red", 1.0], ["blue", None], ["red", 3.0]])
    >>> learn_coding(table, None, "one-hot", "mean", "Ridge").apply(table, "Ridge").tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 2.0], [0.0, 1.0, 3.0]]
    """

    widths: NDArray[np.int64]
    fill: Floats

    def __post_init__(self) -> None:
        """Check the arrays, which may come from a model file."""
        arrays: list[Any] = [self.widths, self.fill]
        kinds = [np.dtype(np.int64), np.dtype(np.float64)]
        valid = all(
            isinstance(a, np.ndarray) and a.ndim == 1 and a.dtype == kind
            for a, kind in zip(arrays, kinds, strict=True)
        )
        valid = valid and bool((self.widths >= 0).all()) and int(self.widths.sum()) == len(self.fill)
        require(valid and not np.isinf(self.fill).any(), "the coding of the columns is not valid")

    @property
    def n_columns(self) -> int:
        """Number of numeric columns."""
        return len(self.fill)

    def check_schema(self, schema: Schema) -> None:
        """Raise ModelFileError unless the coding is one of these features."""
        counts = [len(one.categories) if one.kind == "categorical" else 1 for one in schema.features]
        require(self.widths.tolist() == counts, "the coding does not fit the features")

    def names(self, schema: Schema) -> list[str]:
        """Return the names of the columns, such as ``color=red``.

        Parameters
        ----------
        schema : Schema
            The features.

        Returns
        -------
        list of str
            One name per column.
        """
        names: list[str] = []
        for feature in schema.features:
            levels = [f"{feature.name}={category!s}" for category in feature.categories]
            names += levels if feature.kind == "categorical" else [feature.name]
        return names

    def apply(self, table: Table, owner: str) -> Values:
        """Return the numeric columns of a table.

        Parameters
        ----------
        table : Table
            Rows with the features of the fit.
        owner : str
            Name of the estimator for messages.

        Returns
        -------
        ndarray or csr_array of shape (n_rows, n_columns)
            The columns; sparse if there are many.
        """
        dense = self.n_columns <= _MAX_DENSE
        out = np.zeros((table.n_rows, self.n_columns)) if dense else None
        blocks: list[sparse.csc_array] = []
        begin = 0
        for j, width in enumerate(self.widths.tolist()):
            fill = self.fill[begin : begin + width]
            if out is not None:
                out[:, begin : begin + width] = _dense_columns(table, j, width, fill, owner)
            else:
                blocks.append(_sparse_columns(table, j, width, fill, owner))
            begin += width
        return sparse.csr_array(sparse.hstack(blocks, "csr")) if out is None else out


def _missing_rows(table: Table, j: int) -> NDArray[np.bool_]:
    column = table.column(j)
    return column < 0 if table.schema.features[j].kind == "categorical" else np.isnan(column)


def _dense_columns(table: Table, j: int, width: int, fill: Floats, owner: str) -> Floats:
    """Return the columns of one feature.  -> (n_rows, width)"""
    column, missing = table.column(j), _missing_rows(table, j)
    if table.schema.features[j].kind == "categorical":
        coded = np.zeros((table.n_rows, width))
        known = np.flatnonzero(~missing)
        coded[known, column[known]] = 1.0
    else:
        coded = column.astype(np.float64).reshape(-1, 1)
    if missing.any():
        _require_fill(table.schema, j, fill, missing, owner)
        coded[missing] = fill
    return coded


def _sparse_columns(table: Table, j: int, width: int, fill: Floats, owner: str) -> sparse.csc_array:
    column, missing = table.column(j), _missing_rows(table, j)
    if table.schema.features[j].kind != "categorical" or missing.any():
        return sparse.csc_array(_dense_columns(table, j, width, fill, owner))
    rows = np.arange(table.n_rows)
    return sparse.csc_array((np.ones(table.n_rows), (rows, column)), shape=(table.n_rows, width))


def _require_fill(schema: Schema, j: int, fill: Floats, missing: NDArray[np.bool_], owner: str) -> None:
    if np.isnan(fill).any():
        raise_missing(schema, j, int(np.argmax(missing)), owner)


def raise_missing(schema: Schema, j: int, row: int, owner: str) -> None:
    """Raise the error for a missing value that no option handles.

    >>> from spinney.data import read_table
    >>> raise_missing(read_table([[float("nan")]]).schema, 0, 0, "Ridge")
    Traceback (most recent call last):
    spinney.core.errors.InputError: Input X contains NaN in column 0, row 0. Set missing="mean", ...
    """
    column = schema.names[j] if schema.has_names else j
    raise InputError(
        "Input X contains NaN",
        column=column,
        row=row,
        fix=f'Set missing="mean", or fill it in: make_pipeline(SimpleImputer(), {owner}()).',
    )


def raise_categorical(schema: Schema, j: int, owner: str) -> None:
    """Raise the error for a categorical column that no option handles.

    >>> from spinney.data import read_table
    >>> raise_categorical(read_table([["red"]]).schema, 0, "Ridge")
    Traceback (most recent call last):
    spinney.core.errors.InputError: could not convert string to float: a categorical feature in column 0...
    """
    column = schema.names[j] if schema.has_names else j
    raise InputError(
        "could not convert string to float: a categorical feature",
        column=column,
        fix='Set categorical="one-hot", or code it: make_pipeline(make_column_transformer('
        f'(OneHotEncoder(), [{column!r}]), remainder="passthrough"), {owner}()).',
    )


def numbers_of_categories(table: Table) -> Table:
    """Return the table with numbers in the place of categories that are numbers or booleans.

    scikit-learn reads such columns so, and so do models without one-hot coding.

    >>> from spinney.data import read_table
    >>> table = numbers_of_categories(read_table([[True, 1.5], [False, 2.5]]))
    >>> table.schema.features[0].kind, table.column(0).tolist()
    ('numeric', [1.0, 0.0])
    """
    schema = table.schema
    numbers = {
        j
        for j, one in enumerate(schema.features)
        if one.categories and set(map(type, one.categories)) <= {bool, int, float}
    }
    if not numbers:
        return table
    features = [
        Feature(one.name, "numeric", (), "float64", one.has_missing) if j in numbers else one
        for j, one in enumerate(schema.features)
    ]

    def make(j: int) -> Any:
        values = np.array([*schema.features[j].categories, np.nan], np.float64)
        return values[table.column(j)] if j in numbers else table.column(j)

    return table.replace(Schema(tuple(features), schema.has_names), make, numbers)


def learn_coding(
    table: Table, weights: Floats | None, categorical: Categorical, missing: Missing, owner: str
) -> ColumnCoding:
    """Learn the coding of a table; an error names the first column that needs an option not given.

    >>> from spinney.data import read_table
    >>> learn_coding(read_table([[1.0], [None]]), None, None, "mean", "Ridge").fill.tolist()
    [1.0]
    """
    fill: list[Floats] = []
    widths: list[int] = []
    for j, feature in enumerate(table.schema.features):
        if feature.kind == "categorical" and categorical is None:
            raise_categorical(table.schema, j, owner)
        width = len(feature.categories) if feature.kind == "categorical" else 1
        widths.append(width)
        gaps = _missing_rows(table, j)
        if missing is None and gaps.any():
            raise_missing(table.schema, j, int(np.argmax(gaps)), owner)
        fill.append(_means(table, j, width, weights, gaps) if missing else np.full(width, np.nan))
    return ColumnCoding(np.array(widths, np.int64), np.concatenate(fill) if fill else np.zeros(0))


def _means(table: Table, j: int, width: int, weights: Floats | None, gaps: NDArray[np.bool_]) -> Floats:
    """Return the mean of each column of a feature over the rows that have a value, 0 without any."""
    column = table.column(j)[~gaps]
    known = np.ones(len(column)) if weights is None else weights[~gaps]
    total = float(known.sum())
    if total <= 0:
        return np.zeros(width)
    if table.schema.features[j].kind == "categorical":
        return np.asarray(np.bincount(column, known, width) / total, np.float64)
    shares = known / total
    return np.array([float((shares * column.astype(np.float64)).sum())])
