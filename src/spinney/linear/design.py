"""`Design`: the numeric feature matrix of linear models, dense or sparse, and the products solvers need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.data.coding import (
    Categorical,
    ColumnCoding,
    Missing,
    Values,
    learn_coding,
    raise_missing,
)
from spinney.data.columns import default_names
from spinney.data.features import Feature
from spinney.data.schema import Schema, Table, read_table
from spinney.data.sparse import canonical, checked_sparse
from spinney.native import core

# Rows whose mean the Gram matrix is computed around, which avoids cancellation without a pass for the mean.
_N_SHIFT_ROWS = 256
# Rows that are squared at a time.
_BLOCK = 4096
# A column whose deviations from its mean are a smaller share of the mean is constant but for rounding.
ROUNDING = 1e-14


@dataclass(frozen=True)
class Design:
    """The feature matrix of a fit.

    Attributes
    ----------
    values : ndarray or csr_array of shape (n_rows, n_columns)
        The features.
    n_threads : int
        Number of threads; it does not change a bit of any result.

    Examples
    --------
    >>> Design(np.eye(2)).product(np.array([[3.0, 4.0]])).ravel().tolist()
    [3.0, 4.0]
    """

    values: Values
    n_threads: int = 1

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix is sparse."""
        return sparse.issparse(self.values)

    @property
    def dense(self) -> NDArray[np.floating[Any]]:
        """The values of a dense matrix."""
        return cast("NDArray[np.floating[Any]]", self.values)

    @property
    def csr(self) -> Any:
        """The values of a sparse matrix."""
        return self.values

    @cached_property
    def native(self) -> core.SparseMatrix:
        """The sparse matrix as the core reads it."""
        csr = self.csr
        rows = (csr.data, csr.indices.astype(np.int32, copy=False), csr.indptr.astype(np.int64, copy=False))
        return core.SparseMatrix(rows, self.n_columns)

    def shift(self) -> Floats:
        """Return a vector near the column means; zeros for a sparse matrix.  -> (n_columns,)"""
        if self.is_sparse:
            return np.zeros(self.n_columns)
        rows = np.linspace(0, self.n_rows - 1, min(self.n_rows, _N_SHIFT_ROWS)).astype(np.intp)
        return np.asarray(self.dense[rows].mean(axis=0, dtype=np.float64))

    def product(self, coefficients: Floats, intercept: Floats | None = None) -> Floats:
        """Return X Wᵀ + b.  coefficients (k, n_columns), intercept (k,) -> (n_rows, k)"""
        added = np.zeros(len(coefficients)) if intercept is None else intercept
        if self.is_sparse and len(coefficients) == 1:
            scores = self.native.product(np.ascontiguousarray(coefficients[0]), added[0], self.n_threads)
            return scores[:, None]
        if self.is_sparse:
            return np.asarray(self.csr @ coefficients.T + added)
        return core.matrix_product(self.dense, np.ascontiguousarray(coefficients), added, self.n_threads)

    def gram(self, weights: Floats | None, residuals: Floats | None, shift: Floats) -> tuple[Floats, Floats]:
        """Return Σ w z zᵀ with z = (x − shift, 1), and Σ r zᵀ for residuals r.

        weights (n_rows,), residuals (n_rows, k), shift (n_columns,); shift is 0 for a sparse matrix.
        -> (n_columns + 1, n_columns + 1), (k, n_columns + 1)
        """
        rest = None if residuals is None else np.ascontiguousarray(residuals)
        if not self.is_sparse:
            return core.gram_matrix(self.dense, shift, weights, rest, self.n_threads)
        p = self.n_columns
        weight = np.ones(self.n_rows) if weights is None else weights
        weighted = self.csr.multiply(weight[:, None]).tocsr()
        gram = np.empty((p + 1, p + 1))
        gram[:p, :p] = (self.csr.T @ weighted).toarray()
        gram[p, :p] = gram[:p, p] = self.csr.T @ weight
        gram[p, p] = weight.sum()
        return gram, self.cross(np.zeros((self.n_rows, 0)) if rest is None else rest)

    def cross(self, residuals: Floats, shift: Floats | None = None) -> Floats:
        """Return Σ r zᵀ with z = (x − shift, 1).  residuals (n_rows, k) -> (k, n_columns + 1)"""
        if self.is_sparse and residuals.shape[1] == 1:
            return self.native.cross(np.ascontiguousarray(residuals[:, 0]), False, self.n_threads)[None]
        if self.is_sparse:
            return np.hstack([(self.csr.T @ residuals).T, residuals.sum(axis=0)[:, None]])
        shift = np.zeros(self.n_columns) if shift is None else shift
        return core.cross_products(self.dense, shift, np.ascontiguousarray(residuals), self.n_threads)

    def square_cross(self, residuals: Floats, shift: Floats) -> Floats:
        """Return Σ r z² with z = (x − shift, 1), squared entry by entry.  -> (k, n_columns + 1)"""
        if self.is_sparse and residuals.shape[1] == 1:
            return self.native.cross(np.ascontiguousarray(residuals[:, 0]), True, self.n_threads)[None]
        if self.is_sparse:
            squares = self.csr.multiply(self.csr).tocsr()
            return np.hstack([(squares.T @ residuals).T, residuals.sum(axis=0)[:, None]])
        sums = np.zeros((residuals.shape[1], self.n_columns + 1))
        for begin in range(0, self.n_rows, _BLOCK):
            rows = slice(begin, begin + _BLOCK)
            squares = np.square(self.dense[rows] - shift)
            part = np.ascontiguousarray(residuals[rows])
            sums += core.cross_products(squares, np.zeros(self.n_columns), part, self.n_threads)
        return sums

    def curvature_product(self, curvatures: Floats, direction: Floats) -> tuple[Floats, Floats]:
        """Return Σ c z zᵀ v with z = (x, 1), and the scores zᵀ v; sparse only.

        curvatures (n_rows,), direction (n_columns + 1,)  -> (n_columns + 1,), (n_rows,)
        """
        return self.native.curvature_product(curvatures, direction, self.n_threads)

    def columns(self, chosen: NDArray[np.intp]) -> Design:
        """Return the matrix of some columns."""
        return Design(self.values[:, chosen], self.n_threads)

    def column_products(
        self, left: NDArray[np.intp], right: NDArray[np.intp], weights: Floats, mean: Floats
    ) -> Floats:
        """Return Σ w (x_l − mean_l)(x_r − mean_r) for chosen columns l and r.  -> (len(left), len(right))

        weights (n_rows,), mean (n_columns,): weighted means, or zeros.
        """
        if self.is_sparse:
            other = self.csr[:, right].multiply(weights[:, None]).tocsr()
            total = weights.sum() * np.outer(mean[left], mean[right])
            return np.asarray((self.csr[:, left].T @ other).toarray() - total)
        other = (self.dense[:, right] - mean[right]) * weights[:, None]
        columns = np.ascontiguousarray(self.dense[:, left])
        shift = np.ascontiguousarray(mean[left])
        products = core.cross_products(columns, shift, np.ascontiguousarray(other), self.n_threads)
        return np.ascontiguousarray(products[:, :-1].T)

    def rows(self, chosen: NDArray[Any]) -> Design:
        """Return the matrix of some rows."""
        return Design(self.values[chosen], self.n_threads)


@dataclass(frozen=True)
class Moments:
    """Weighted means and centered products of features and targets: all that least squares needs.

    Attributes
    ----------
    gram : ndarray of shape (n_columns, n_columns)
        Σ w (x − x̄)(x − x̄)ᵀ.
    cross : ndarray of shape (n_targets, n_columns)
        Σ w (y − ȳ)(x − x̄)ᵀ.
    x_mean, y_mean : ndarray of shape (n_columns,), (n_targets,)
        Weighted means; zeros without an intercept.
    y_squares : ndarray of shape (n_targets,)
        Σ w (y − ȳ)².
    total : float
        Sum of the weights.

    Examples
    --------
    >>> Moments.of(Design(np.array([[1.0], [3.0]])), np.array([[2.0], [4.0]]), None, True).cross.tolist()
    [[2.0]]
    """

    gram: Floats
    cross: Floats
    x_mean: Floats
    y_mean: Floats
    y_squares: Floats
    total: float

    @classmethod
    def of(cls, design: Design, y: Floats, weights: Floats | None, intercept: bool) -> Moments:
        """Compute the moments of rows; y (n_rows, n_targets)."""
        y_mean = weighted_mean(y, weights) if intercept else np.zeros(y.shape[1])
        centered = y - y_mean
        weighted = centered if weights is None else centered * weights[:, None]
        shift = design.shift() if intercept else np.zeros(design.n_columns)
        gram, cross = design.gram(weights, weighted, shift)
        y_squares = np.einsum("ij,ij->j", weighted, centered)
        return cls.from_sums(gram, cross, shift, y_mean, y_squares, intercept)

    @classmethod
    def from_sums(
        cls, gram: Floats, cross: Floats, shift: Floats, y_mean: Floats, y_squares: Floats, intercept: bool
    ) -> Moments:
        """Center what `Design.gram` returned for targets minus ``y_mean``."""
        p, total = len(shift), float(gram[-1, -1])
        check_finite(gram, cross)
        if not intercept:
            zeros = np.zeros(p)
            return cls(gram[:p, :p].copy(), cross[:, :p].copy(), zeros, y_mean, y_squares, total)
        rest = gram[p, :p] / total
        centered = gram[:p, :p] - total * np.outer(rest, rest)
        y_rest = cross[:, p] / total
        cross = cross[:, :p] - cross[:, p:] * rest
        y_mean, y_squares = y_mean + y_rest, y_squares - total * y_rest**2
        mean = shift + rest
        constant = np.diag(centered) <= total * (ROUNDING * mean) ** 2
        if constant.any():
            centered[constant], centered[:, constant], cross[:, constant] = 0.0, 0.0, 0.0
        return cls(centered, cross, mean, y_mean, y_squares, total)


def weighted_mean(y: Floats, weights: Floats | None) -> Floats:
    """Return the mean of each column.  y (n_rows, n_targets), weights (n_rows,) -> (n_targets,)"""
    mean = y.mean(axis=0) if weights is None else (weights[:, None] * y).sum(axis=0) / weights.sum()
    return np.asarray(mean, np.float64)


def check_finite(*arrays: Floats) -> None:
    """Raise InputError if a sum of products has overflowed."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise InputError(
            "The values of X or y are too large: their products overflow",
            fix="Divide the columns by a large number, for example make_pipeline(StandardScaler(), ...).",
        )


# ---- reading ----


def read_design_table(X: Any) -> Table:
    """Read any input as a table; a plain finite array is taken as it is, after one fast pass over it."""
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float64, np.float32) and X.size:
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(np.add.reduce(X, axis=None))
        if finite and X.dtype.isnative and X.flags.aligned:
            return Table(_numeric_schema(X.shape[1]), X.shape[0], X)
    shape: tuple[int, ...] = getattr(X, "shape", ())
    kind: str = getattr(getattr(X, "dtype", None), "kind", "O")
    plain = sparse.issparse(X) and kind in "fiub" and len(shape) == 2 and all(shape)
    # Not X.sum(), which fails for a matrix of blocks.
    if plain and np.isfinite(checked_sparse(X).tocsr().data.sum()):
        return Table(_numeric_schema(shape[1]), shape[0], None, ())
    return read_table(X)


@lru_cache(maxsize=4)
def _numeric_schema(n_columns: int) -> Schema:
    """Return the schema of columns without names; text has ten thousands of them, so it is kept."""
    features = []
    for name in default_names(n_columns):
        feature = object.__new__(Feature)
        # As Feature(name, "numeric", (), "float64"), several times as fast.
        vars(feature).update(name=name, kind="numeric", categories=(), dtype="float64", has_missing=False)
        features.append(feature)
    return Schema(tuple(features), False)


def fit_values(
    X: Any, table: Table, weights: Floats | None, categorical: Categorical, missing: Missing, owner: str
) -> tuple[Values, ColumnCoding | None]:
    """Return the feature matrix of training data, and its coding; None if every column is taken as it is."""
    if sparse.issparse(X):
        return _sparse_values(X, table.schema, owner), None
    if table.block is not None and missing is None:
        check_complete(table, owner)
        return table.block, None
    coding = learn_coding(table, weights, categorical, missing, owner)
    return coding.apply(table, owner), coding


def read_values(X: Any, table: Table, coding: ColumnCoding | None, owner: str) -> Values:
    """Return the feature matrix of new data that was read as a table."""
    if sparse.issparse(X) and coding is None:
        return _sparse_values(X, table.schema, owner)
    if coding is not None:
        return coding.apply(table, owner)
    if table.block is None:
        identity = ColumnCoding(np.ones(table.n_features, np.int64), np.full(table.n_features, np.nan))
        return identity.apply(table, owner)
    check_complete(table, owner)
    return table.block


def check_complete(table: Table, owner: str) -> None:
    """Raise the error that names the first missing value of a numeric block."""
    block = table.block
    if block is None or not np.isnan(np.add.reduce(block, axis=None)):
        return
    places = np.argwhere(np.isnan(block))
    if len(places):
        raise_missing(table.schema, int(places[0][1]), int(places[0][0]), owner)


def _sparse_values(X: Any, schema: Schema, owner: str) -> sparse.csr_array:
    csr: sparse.csr_array = canonical(sparse.csr_array(X, dtype=np.float64))
    gaps = np.isnan(csr.data)
    if gaps.any():
        position = int(np.argmax(gaps))
        row = int(np.searchsorted(csr.indptr, position, "right")) - 1
        raise_missing(schema, int(csr.indices[position]), row, owner)
    return csr
