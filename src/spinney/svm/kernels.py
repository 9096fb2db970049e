"""Kernel functions, and the rows that they are evaluated on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.parameters import Use
from spinney.data.matrix import Matrix
from spinney.native import core

KERNELS = ("linear", "poly", "rbf", "laplacian", "sigmoid", "precomputed")
"""Names in the order of the core's kernel types."""
KERNEL_USES = (
    Use(("degree",), "kernel", values=("poly",)),
    Use(("coef0",), "kernel", values=("poly", "sigmoid")),
    Use(("gamma",), "kernel", values=("poly", "rbf", "laplacian", "sigmoid")),
)
PRECOMPUTED = KERNELS.index("precomputed")


def resolve_gamma(gamma: Any, matrix: Matrix, weights: Floats | None) -> float:
    """Return γ as a number: "scale" is 1 / (n_features · variance of X), "auto" 1 / n_features.

    >>> resolve_gamma("scale", np.array([[0.0, 2.0], [0.0, 2.0]]), None)
    0.5
    """
    if gamma == "auto":
        return 1.0 / int(matrix.shape[1])
    if gamma != "scale":
        return float(gamma)
    variance = float(_variance(matrix, weights))
    return float(1.0 / (matrix.shape[1] * variance)) if variance > 0 else 1.0


def _variance(matrix: Matrix, weights: Floats | None) -> float:
    """Return the variance of all values together; rows count by their weight."""
    if sparse.issparse(matrix):
        by_row = (
            np.asarray(matrix.sum(axis=1)).ravel(),
            np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel(),
        )
        first, second = (float(np.average(part, weights=weights)) / matrix.shape[1] for part in by_row)
        return second - first * first
    if weights is None:
        return float(np.asarray(matrix).var())
    mean = np.average(np.asarray(matrix).mean(axis=1), weights=weights)
    return float(np.average(((matrix - mean) ** 2).mean(axis=1), weights=weights))


@dataclass(frozen=True)
class KernelFunction:
    """A kernel and its parameters; a function of the user's gives the kernel values of two matrices."""

    kind: int
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    function: Callable[[Any, Any], Any] | None = None

    def native(self) -> core.Kernel:
        """Return the kernel as the core takes it."""
        return core.Kernel(self.kind, self.gamma, self.coef0, self.degree)

    def values(self, X: Any, Z: Any) -> Floats:
        """Return the values of the user's function.  -> (n_rows of X, n_rows of Z)"""
        assert self.function is not None
        given = self.function(X, Z)
        if sparse.issparse(given):
            given = cast("Any", given).toarray()
        found = np.ascontiguousarray(given, dtype=np.float64)
        if found.shape != (X.shape[0], Z.shape[0]):
            raise InputError(
                f"The kernel function gave an array of shape {found.shape}, expected "
                f"{(X.shape[0], Z.shape[0])}: one value per pair of rows."
            )
        return found


def native_rows(matrix: Matrix) -> core.SvmRows:
    """Return rows as the core reads them."""
    if sparse.issparse(matrix):
        indices, begin = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int64)
        return core.SvmRows(matrix.data, indices, begin, matrix.shape[1])
    return core.SvmRows(np.ascontiguousarray(matrix), None, None, matrix.shape[1])


def like(matrix: Matrix, other: Matrix) -> Matrix:
    """Return a matrix as sparse or dense as another.

    >>> like(np.eye(2), sparse.csr_matrix((2, 2))).nnz
    2
    """
    if sparse.issparse(matrix) == sparse.issparse(other):
        return matrix
    return matrix.toarray() if sparse.issparse(matrix) else sparse.csr_matrix(matrix)


@dataclass(frozen=True)
class KernelRows:
    """Rows of features with a kernel; or, of a precomputed kernel, the matrix of their kernel values."""

    matrix: Any
    kernel: KernelFunction

    @classmethod
    def of(cls, matrix: Matrix, kernel: KernelFunction) -> KernelRows:
        """Return the rows; those of a user's function as the values between all of them."""
        if kernel.function is None:
            return cls(matrix, kernel)
        return cls(kernel.values(matrix, matrix), kernel)

    def take(self, rows: NDArray[np.integer[Any]]) -> KernelRows:
        """Return some of the rows."""
        if self.kernel.kind == PRECOMPUTED:
            return KernelRows(np.ascontiguousarray(self.matrix[np.ix_(rows, rows)]), self.kernel)
        return KernelRows(self.matrix[rows], self.kernel)

    def sums(
        self,
        rows: NDArray[np.integer[Any]],
        support: NDArray[np.integer[Any]],
        coef: Floats,
        intercept: float,
    ) -> Floats:
        """Return Σ coef K(row, support vector) + intercept of some rows.  -> (len(rows),)"""
        terms, at = one_term(len(support)), np.array([intercept])
        if self.kernel.kind == PRECOMPUTED:
            block = self.matrix[np.ix_(rows, support)]
            return kernel_sums(self.kernel, block, None, terms, coef, at, 1)[:, 0]
        return kernel_sums(self.kernel, self.matrix[rows], self.matrix[support], terms, coef, at, 1)[:, 0]


def one_term(n_support: int) -> NDArray[np.int64]:
    """Return the terms of a single sum over all support vectors."""
    return np.array([[0, 0, n_support, 0]], dtype=np.int64)


def kernel_sums(
    kernel: KernelFunction,
    rows: Matrix,
    support: Matrix | None,
    terms: NDArray[np.int64],
    coef: Floats,
    intercept: Floats,
    n_threads: int,
) -> Floats:
    """Return sums of coefficients times kernel values; terms are (output, begin, end, first coefficient).

    Rows and support vectors are made dense or sparse alike. Without support vectors, rows hold the values of
    a precomputed kernel.
    """
    if support is None:
        support, rows = np.zeros((1, rows.shape[1])), np.ascontiguousarray(rows)
    elif sparse.issparse(rows) != sparse.issparse(support):
        if sparse.issparse(support):
            rows = sparse.csr_matrix(rows)
        else:
            support = sparse.csr_matrix(support)
    return core.kernel_sums(
        native_rows(rows),
        native_rows(support),
        kernel.native(),
        np.ascontiguousarray(terms),
        np.ascontiguousarray(coef),
        np.ascontiguousarray(intercept),
        n_threads,
    )
