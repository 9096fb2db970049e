"""Least squares and ridge regression by Cholesky factors, and leave-one-out errors by one eigendecomposition.

The Gram matrix and its Cholesky factor come from the core; eigenvalues and singular values are LAPACK's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, cg, lsqr

from spinney.core.arrays import Floats
from spinney.linear.design import ROUNDING, Design, Moments, check_finite, weighted_mean
from spinney.native import core

# A pivot of the scaled Gram matrix below this is collinearity that would cost more than half of the digits.
_MIN_PIVOT = 1e-8
# With variances further apart than this, eigenvalues of the Gram matrix lose too many digits.
_MAX_SPREAD = 1e8
# Above this many columns (sparse) the Gram matrix is not formed.
_MAX_SPARSE_GRAM = 4000


class Solution(NamedTuple):
    """Coefficients (n_targets, n_columns) and intercepts (n_targets,)."""

    coef: Floats
    intercept: Floats


def _solution(coef: Floats, x_mean: Floats, y_mean: Floats) -> Solution:
    return Solution(coef, y_mean - coef @ x_mean)


def is_narrow(design: Design) -> bool:
    """Whether the Gram matrix of the columns is the cheaper of the two."""
    return design.n_columns <= design.n_rows and not (
        design.is_sparse and design.n_columns > _MAX_SPARSE_GRAM
    )


# ---- least squares ----


def least_squares(
    design: Design, y: Floats, weights: Floats | None, intercept: bool, tol: float
) -> tuple[Solution, Floats | None]:
    """Return the least-squares solution of least norm, and the singular values if they are known.

    Cholesky on the Gram matrix with unit diagonal; collinear columns fall back to the singular value
    decomposition (dense) or LSQR (sparse). y (n_rows, n_targets).
    """
    if is_narrow(design):
        moments = Moments.of(design, y, weights, intercept)
        coef = _solve_scaled(moments.gram, moments.cross)
        if coef is not None:
            singular = np.sqrt(np.maximum(linalg.eigvalsh(moments.gram)[::-1], 0.0))
            return _solution(coef, moments.x_mean, moments.y_mean), singular
    return _by_data(design, y, weights, intercept, tol)


def _solve_scaled(gram: Floats, cross: Floats) -> Floats | None:
    """Solve by Cholesky after scaling the columns to length 1; None if they are nearly collinear."""
    size = np.sqrt(np.diag(gram))
    varies = size > 0  # a constant column has the coefficient 0
    if not varies.all():
        coef = np.zeros_like(cross)
        if not varies.any():
            return coef
        found = _solve_scaled(np.ascontiguousarray(gram[np.ix_(varies, varies)]), cross[:, varies])
        if found is None:
            return None
        coef[:, varies] = found
        return coef
    scaled, pivot = core.cholesky_solve(gram / np.outer(size, size), np.ascontiguousarray(cross / size))
    return scaled / size if pivot >= _MIN_PIVOT else None


def _by_data(
    design: Design, y: Floats, weights: Floats | None, intercept: bool, tol: float
) -> tuple[Solution, Floats | None]:
    """Least squares of least norm from the rows themselves."""
    roots = np.ones(design.n_rows) if weights is None else np.sqrt(weights)
    y_mean = weighted_mean(y, weights) if intercept else np.zeros(y.shape[1])
    right = (y - y_mean) * roots[:, None]
    x_mean = _x_mean(design, weights) if intercept else np.zeros(design.n_columns)
    if design.is_sparse:
        operator = _centered_operator(design, x_mean, roots)
        # lsqr's own tolerances are relative; tol of the user is a bound on both.
        coef = np.stack([lsqr(operator, column, atol=tol, btol=tol)[0] for column in right.T])
        return _solution(coef, x_mean, y_mean), None
    centered = (design.dense - x_mean) * roots[:, None]
    check_finite(centered, right)
    if intercept:
        centered[:, np.abs(centered).max(axis=0) <= ROUNDING * np.abs(x_mean)] = 0.0
    cond = max(centered.shape) * np.finfo(np.float64).eps
    coef, _, _, singular = linalg.lstsq(centered, right, cond=cond, check_finite=False)
    return _solution(np.ascontiguousarray(coef.T), x_mean, y_mean), singular


def _x_mean(design: Design, weights: Floats | None) -> Floats:
    weight = np.ones((design.n_rows, 1)) if weights is None else weights[:, None]
    sums = design.cross(weight)[0]
    return np.asarray(sums[:-1] / sums[-1])


def _centered_operator(design: Design, x_mean: Floats, roots: Floats) -> LinearOperator:
    """Return diag(√w)(X − 1 x̄ᵀ) without forming it."""
    values = design.csr

    def forward(v: Floats) -> Floats:
        return np.asarray(roots * (values @ np.ravel(v) - x_mean @ np.ravel(v)))

    def backward(v: Floats) -> Floats:
        scaled = roots * np.ravel(v)
        return np.asarray(values.T @ scaled - x_mean * scaled.sum())

    return LinearOperator(values.shape, forward, backward, dtype=np.float64)


def non_negative(moments: Moments, tol: float, max_iter: int | None, alpha: float = 0.0) -> Solution:
    """Least squares, plus alpha times the squared length, over coefficients of at least 0."""
    scale = np.sqrt(np.maximum(np.diag(moments.gram) + alpha, np.finfo(float).tiny))
    gram = (moments.gram + alpha * np.eye(len(scale))) / np.outer(scale, scale)
    zeros = np.zeros((1, len(scale)))
    coef = []
    for row in moments.cross:
        linear = np.ascontiguousarray((row / scale)[:, None])
        bound = np.array([min(tol, 1e-9) * max(float(np.abs(linear).max()), np.finfo(float).tiny)])
        found, _ = core.coordinate_descent(
            gram, linear, zeros, zeros, zeros.T, bound, max_iter or 100_000, True
        )
        coef.append(found[0, :, 0] / scale)
    return _solution(np.stack(coef), moments.x_mean, moments.y_mean)


# ---- ridge ----


def ridge(
    design: Design,
    y: Floats,
    weights: Floats | None,
    alphas: Floats,
    intercept: bool,
    moments: Moments | None = None,
) -> Solution:
    """Return the ridge solution; alphas (n_targets,) penalize ½ α ‖w‖² beside ½ Σ w (y − ŷ)².

    Moments are computed if they are not given and the Gram matrix is the way.
    """
    if is_narrow(design):
        moments = moments or Moments.of(design, y, weights, intercept)
        coef = ridge_from_moments(moments, alphas)
        if coef is not None:
            return _solution(coef, moments.x_mean, moments.y_mean)
    if (alphas == 0).any():
        return least_squares(design, y, weights, intercept, 1e-10)[0]
    if uses_gradients(design):
        return _ridge_by_gradients(design, y, weights, alphas, intercept)
    dual = Dual.of(design, y, weights, intercept)
    coef = np.empty((y.shape[1], design.n_columns))
    for t, alpha in enumerate(alphas.tolist()):
        found, pivot = core.cholesky_solve(
            dual.kernel + alpha * np.eye(design.n_rows), dual.y[:, t][None].copy()
        )
        if not pivot > 0:
            return least_squares(design, y, weights, intercept, 1e-10)[0]
        coef[t] = dual.primal(found[0])
    return _solution(coef, dual.x_mean, dual.y_mean)


def uses_gradients(design: Design) -> bool:
    """Whether ridge is solved by conjugate gradients: a sparse matrix of many rows and columns."""
    return bool(design.is_sparse and min(design.n_rows, design.n_columns) > _MAX_SPARSE_GRAM)


def ridge_from_moments(moments: Moments, alphas: Floats) -> Floats | None:
    """Return the coefficients of each target; None if the matrix cannot be factorized.  -> (n_targets, p)"""
    coef = np.empty_like(moments.cross)
    for alpha in np.unique(alphas):
        chosen = alphas == alpha
        shifted = moments.gram + alpha * np.eye(len(moments.gram))
        found = _solve_scaled(shifted, moments.cross[chosen])
        if found is None:
            return None
        coef[chosen] = found
    return coef


class Dual(NamedTuple):
    """The kernel matrix of centered rows times √w: what ridge needs with more columns than rows."""

    kernel: Floats
    y: Floats
    roots: Floats
    x_mean: Floats
    y_mean: Floats
    design: Design

    @classmethod
    def of(cls, design: Design, y: Floats, weights: Floats | None, intercept: bool) -> Dual:
        """Compute the kernel matrix; y (n_rows, n_targets)."""
        roots = np.ones(design.n_rows) if weights is None else np.sqrt(weights)
        y_mean = weighted_mean(y, weights) if intercept else np.zeros(y.shape[1])
        x_mean = _x_mean(design, weights) if intercept else np.zeros(design.n_columns)
        if design.is_sparse:
            inner = (design.csr @ design.csr.T).toarray()
            along = design.csr @ x_mean
            inner += x_mean @ x_mean - along[:, None] - along
        else:
            rows = np.ascontiguousarray((design.dense - x_mean).T)
            inner = core.gram_matrix(rows, np.zeros(design.n_rows), None, None, design.n_threads)[0]
            inner = inner[:-1, :-1]
        check_finite(inner)
        right = (y - y_mean) * roots[:, None]
        return cls(inner * np.outer(roots, roots), right, roots, x_mean, y_mean, design)

    def primal(self, dual: Floats) -> Floats:
        """Return the coefficients Xᵀ c of dual coefficients c (n_rows,)."""
        scaled = (self.roots * dual)[:, None]
        sums = self.design.cross(scaled)[0]
        return np.asarray(sums[:-1] - self.x_mean * sums[-1])


def _ridge_by_gradients(
    design: Design, y: Floats, weights: Floats | None, alphas: Floats, intercept: bool
) -> Solution:
    """Conjugate gradients on the normal equations, for large sparse matrices."""
    roots = np.ones(design.n_rows) if weights is None else np.sqrt(weights)
    y_mean = weighted_mean(y, weights) if intercept else np.zeros(y.shape[1])
    x_mean = _x_mean(design, weights) if intercept else np.zeros(design.n_columns)
    rows = _centered_operator(design, x_mean, roots)
    coef = []
    for alpha, column in zip(alphas.tolist(), (y - y_mean).T, strict=True):

        def multiply(v: Floats, alpha: float = alpha) -> Floats:
            return np.asarray(rows.rmatvec(rows.matvec(v)) + alpha * np.ravel(v))

        normal = LinearOperator((design.n_columns,) * 2, multiply, dtype=np.float64)
        coef.append(cg(normal, rows.rmatvec(roots * column), rtol=1e-12, maxiter=10_000)[0])
    return _solution(np.stack(coef), x_mean, y_mean)


# ---- leave one out ----


class LeftOut(NamedTuple):
    """Squared leave-one-out errors: sums (n_alphas, n_targets), and errors (n_rows, n_alphas, n_targets)."""

    sums: Floats
    errors: Floats


def leave_one_out(
    design: Design,
    y: Floats,
    weights: Floats | None,
    alphas: Floats,
    intercept: bool,
    keep: bool,
    moments: Moments | None = None,
) -> LeftOut:
    """Leave-one-out errors of ridge regression for several alphas, from one eigendecomposition.

    The error of a row left out is its residual divided by 1 − h, h its leverage. ``keep`` returns the errors
    of every row. Sums are weighted.
    """
    if is_narrow(design):
        moments = moments or Moments.of(design, y, weights, intercept)
        return _left_out_narrow(design, y, weights, moments, alphas, intercept, keep)
    dual = Dual.of(design, y, weights, intercept)
    values, vectors = linalg.eigh(dual.kernel, check_finite=False)
    values = np.maximum(values, 0.0)
    projected = vectors.T @ dual.y
    constant = vectors.T @ dual.roots
    errors = np.empty((design.n_rows, len(alphas), y.shape[1]))
    for a, alpha in enumerate(alphas.tolist()):
        inverse = 1.0 / np.maximum(values + alpha, np.finfo(float).tiny)
        rest = (vectors**2) @ inverse
        if intercept:
            rest = rest - (vectors @ (inverse * constant)) * dual.roots / (dual.roots @ dual.roots)
        scaled = (vectors @ (inverse[:, None] * projected)) / rest[:, None]
        errors[:, a] = np.divide(scaled, dual.roots[:, None], where=dual.roots[:, None] > 0, out=scaled)
    sums = np.einsum("r,rat->at", dual.roots**2, errors**2)
    return LeftOut(sums, errors)


def _left_out_narrow(
    design: Design,
    y: Floats,
    weights: Floats | None,
    moments: Moments,
    alphas: Floats,
    intercept: bool,
    keep: bool,
) -> LeftOut:
    if _is_badly_scaled(moments.gram):
        # The small eigenvalues would be rounding of the large ones: a factor per alpha, with unit diagonal.
        parts = [
            _errors_by_vectors(design, y, weights, moments, *_whitening(moments.gram, alpha), intercept, keep)
            for alpha in alphas.tolist()
        ]
        sums, errors = (np.concatenate(part, axis) for axis, part in enumerate(zip(*parts, strict=True)))
        return LeftOut(sums, errors)
    values, vectors = linalg.eigh(moments.gram, check_finite=False)
    values = np.maximum(values, 0.0)
    shrink = 1.0 / np.maximum(values + alphas[:, None], np.finfo(float).tiny)
    # Directions without variance carry no signal, only rounding.
    shrink[:, values <= np.finfo(float).eps * max(float(values.max()), 1e-300) * len(values)] = 0.0
    return _errors_by_vectors(design, y, weights, moments, vectors, shrink, intercept, keep)


def _is_badly_scaled(gram: Floats) -> bool:
    sizes = np.diag(gram)[np.diag(gram) > 0]
    return len(sizes) > 1 and sizes.max() > _MAX_SPREAD * sizes.min()


def _whitening(gram: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return V with V Vᵀ = (G + αI)⁻¹ as vectors and factors of 1; see `_errors_by_vectors`."""
    shifted = gram + alpha * np.eye(len(gram))
    size = np.sqrt(np.diag(shifted))
    lower = linalg.cholesky(shifted / np.outer(size, size), lower=True, check_finite=False)
    inverse = linalg.solve_triangular(lower, np.diag(1.0 / size), lower=True, check_finite=False)
    return inverse.T, np.ones((1, len(gram)))


def _errors_by_vectors(
    design: Design,
    y: Floats,
    weights: Floats | None,
    moments: Moments,
    vectors: Floats,
    shrink: Floats,
    intercept: bool,
    keep: bool,
) -> LeftOut:
    """Leave-one-out errors, given (G + αI)⁻¹ = V diag(shrink) Vᵀ; vectors (p, p), shrink (n_alphas, p)."""
    responses = moments.cross @ vectors
    base = None
    if intercept:
        base = np.full(design.n_rows, 1.0 / moments.total) if weights is None else weights / moments.total
    centered = y - moments.y_mean
    if not design.is_sparse:
        inputs = (np.ascontiguousarray(vectors), shrink, np.ascontiguousarray(responses), centered)
        threads = design.n_threads
        return LeftOut(
            *core.leave_one_out(design.dense, moments.x_mean, *inputs, base, weights, keep, threads)
        )
    projected = np.asarray(design.csr @ vectors - moments.x_mean @ vectors)
    weight = np.ones(design.n_rows) if weights is None else weights
    leverage = (projected**2 @ shrink.T) * weight[:, None] + (0.0 if base is None else base[:, None])
    predicted = np.einsum("rp,ap,tp->rat", projected, shrink, responses, optimize=True)
    errors = (centered[:, None, :] - predicted) / np.maximum(1.0 - leverage, 1e-12)[:, :, None]
    return LeftOut(np.einsum("r,rat->at", weight, errors**2), errors)
