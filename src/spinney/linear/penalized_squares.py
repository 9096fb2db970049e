"""Paths of the lasso, the elastic net and their multi-task forms, by coordinate descent on Gram matrices.

The objective is (1/2W) Σ w ‖y − Xᵀb‖² + α ρ Σ_j ‖b_j‖₂ + ½ α (1 − ρ) ‖b‖², W = Σ w; with one target the norm
of a row b_j is its absolute value. Solutions are certified by the duality gap.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats, inner_product
from spinney.core.elementary import exp, log
from spinney.linear.design import Design, Moments, weighted_mean
from spinney.native import core

# Up to this many columns, the Gram matrix of all of them is formed.
_MAX_GRAM = 500
_FIRST_COLUMNS = 50
_MAX_ROUNDS = 60


class Settings(NamedTuple):
    """Share of L1, sign constraint, tolerance of the gap relative to Σ w y² / W, and sweeps per alpha."""

    l1_ratio: float
    positive: bool
    tol: float
    max_iter: int


class Path(NamedTuple):
    """Coefficients (n_alphas, n_columns, n_targets), duality gaps (n_alphas,) and sweeps (n_alphas,)."""

    coef: Floats
    gaps: Floats
    n_iter: NDArray[np.int64]


class Certificate(NamedTuple):
    """Duality gap, and |x_jᵀθ| of the dual point θ relative to its bound of 1, per column."""

    gap: float
    slack: Floats


def row_norms(rows: Floats, positive: bool) -> Floats:
    """Return the length of each row (n, n_targets), of its positive part with a sign constraint."""
    kept = np.maximum(rows, 0.0) if positive else rows
    return np.asarray(np.sqrt(np.einsum("jt,jt->j", kept, kept)))


def certify(
    slope: Floats, coef: Floats, residual_squares: float, residual_y: float, alpha: float, settings: Settings
) -> Certificate:
    """Return the duality gap of coefficients.

    slope (p, n_targets): Xᵀ residual / W minus α (1 − ρ) coef; coef (p, n_targets); residual_squares and
    residual_y: Σ w r² / W and Σ w r y / W.
    """
    l1, l2 = alpha * settings.l1_ratio, alpha * (1 - settings.l1_ratio)
    norms = row_norms(slope, settings.positive)
    largest = float(norms.max(initial=0.0))
    scale = min(1.0, l1 / largest) if largest > 0 else 1.0
    squares = inner_product(coef, coef)
    lengths = float(row_norms(coef, False).sum())
    gap = 0.5 * (1 + scale**2) * residual_squares + l1 * lengths - scale * residual_y
    gap += 0.5 * l2 * (1 + scale**2) * squares
    return Certificate(gap, scale * norms / l1 if l1 > 0 else norms)


@dataclass
class GramProblem:
    """Least squares by its Gram matrix, the same for every alpha.

    Attributes
    ----------
    gram : ndarray of shape (p, p)
        Σ w x xᵀ / W, centered.
    linear : ndarray of shape (p, n_targets)
        Σ w x y / W, centered.
    y_squares : float
        Σ w y² / W over all targets, centered.
    """

    gram: Floats
    linear: Floats
    y_squares: float
    size: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Scale the columns to length 1, so that one tolerance fits all of them."""
        variance = np.diag(self.gram)
        self.size = np.where(variance > 0, np.sqrt(np.maximum(variance, 0.0)), 1.0)

    @classmethod
    def of(cls, moments: Moments) -> GramProblem:
        """Return the problem of centered sums."""
        total = moments.total
        linear = np.ascontiguousarray(moments.cross.T / total)
        return cls(moments.gram / total, linear, float(moments.y_squares.sum()) / total)

    def descend(
        self, alphas: Floats, settings: Settings, start: Floats, tolerance: float
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Return the coefficients of every alpha, each started from the one before, and sweeps."""
        size, ratio = self.size, settings.l1_ratio
        gram = np.ascontiguousarray(self.gram / np.outer(size, size))
        linear = np.ascontiguousarray(self.linear / size[:, None])
        l1 = alphas[:, None] * ratio / size
        l2 = alphas[:, None] * (1 - ratio) / size**2
        bounds = np.full(len(alphas), tolerance * np.sqrt(max(self.y_squares, np.finfo(np.float64).tiny)))
        first = np.ascontiguousarray(start * size[:, None])
        found, sweeps = core.coordinate_descent(
            gram, linear, l1, l2, first, bounds, settings.max_iter, bool(settings.positive)
        )
        return found / size[:, None], sweeps

    def gaps(self, coef: Floats, alphas: Floats, settings: Settings) -> Floats:
        """Return the duality gaps of coefficients (n_alphas, p, n_targets); see `certify`."""
        l1, l2 = alphas * settings.l1_ratio, alphas * (1 - settings.l1_ratio)
        fitted = self.gram @ coef
        slope = self.linear - fitted - l2[:, None, None] * coef
        if settings.positive:
            slope = np.maximum(slope, 0.0)
        largest = np.sqrt((slope**2).sum(axis=2)).max(axis=1, initial=0.0)
        scale = np.minimum(1.0, l1 / np.maximum(largest, np.finfo(np.float64).tiny))
        along = (coef * self.linear).sum(axis=(1, 2))
        squares = np.maximum(self.y_squares - 2 * along + (coef * fitted).sum(axis=(1, 2)), 0.0)
        lengths = np.sqrt((coef**2).sum(axis=2)).sum(axis=1)
        gaps = 0.5 * (1 + scale**2) * (squares + l2 * (coef**2).sum(axis=(1, 2)))
        return np.asarray(gaps + l1 * lengths - scale * (self.y_squares - along))

    def path(self, alphas: Floats, settings: Settings, start: Floats | None = None) -> Path:
        """Return the path over decreasing alphas."""
        first = np.zeros_like(self.linear) if start is None else start
        tolerance = 0.1 * settings.tol
        coef, sweeps = self.descend(alphas, settings, first, tolerance)
        gaps = self.gaps(coef, alphas, settings)
        goal = settings.tol * self.y_squares
        for a in np.flatnonzero(gaps > goal) if settings.l1_ratio > 0 else ():
            tighter = tolerance
            # The gap follows the violation of the optimality conditions: tighten it until the gap is met.
            while gaps[a] > goal and tighter > 1e-15 and sweeps[a] < settings.max_iter:
                tighter *= 0.1
                more, extra = self.descend(alphas[a : a + 1], settings, coef[a], tighter)
                coef[a], sweeps[a] = more[0], sweeps[a] + extra[0]
                gaps[a] = self.gaps(more, alphas[a : a + 1], settings)[0]
        return Path(coef, gaps, sweeps)


class ColumnProblem:
    """Least squares with many columns: only those of a working set enter a Gram matrix.

    Columns that the sequential strong rule keeps (Tibshirani et al., 2012) and those nearest to their bound
    form the working set; gap-safe screening (Ndiaye et al., 2017) leaves out columns that are 0 for certain.

    Parameters
    ----------
    design : Design
        Features.
    y : ndarray of shape (n_rows, n_targets)
        Targets.
    weights : ndarray of shape (n_rows,) or None
        Row weights.
    intercept : bool
        Center features and targets.
    """

    def __init__(self, design: Design, y: Floats, weights: Floats | None, intercept: bool) -> None:
        self.design = design
        weight = np.ones(design.n_rows) if weights is None else weights
        self.weights = weight / weight.sum()
        self.y_mean = weighted_mean(y, weights) if intercept else np.zeros(y.shape[1])
        sums = design.cross(self.weights[:, None])[0]
        self.x_mean = sums[:-1] if intercept else np.zeros(design.n_columns)
        self.y = y - self.y_mean
        self.y_squares = float(np.einsum("r,rt,rt->", self.weights, self.y, self.y))
        squares = design.square_cross(self.weights[:, None], self.x_mean)[0, :-1]
        if design.is_sparse:  # which is not shifted
            squares = squares - self.x_mean**2
        self.sizes = np.sqrt(np.maximum(squares, 0.0))
        self.slope = self._slope(self.y)
        self.known = np.zeros(0, np.intp)
        self.gram = np.zeros((0, 0))

    def _slope(self, residual: Floats) -> Floats:
        """Return Xᵀ W residual.  -> (n_columns, n_targets)"""
        sums = self.design.cross(residual * self.weights[:, None])
        return np.ascontiguousarray((sums[:, :-1] - sums[:, -1:] * self.x_mean).T)

    def _gram_of(self, chosen: NDArray[np.intp]) -> Floats:
        """Return the Gram matrix of columns; entries computed once are kept."""
        new = np.setdiff1d(chosen, self.known)
        if len(new):
            grown = np.concatenate([self.known, new])
            block = self.design.column_products(grown, new, self.weights, self.x_mean)
            n = len(self.known)
            gram = np.empty((len(grown), len(grown)))
            gram[:n, :n], gram[:, n:], gram[n:, :n] = self.gram, block, block[:n].T
            self.known, self.gram = grown, gram
        order = np.argsort(self.known)
        places = order[np.searchsorted(self.known[order], chosen)]
        return np.ascontiguousarray(self.gram[np.ix_(places, places)])

    def path(self, alphas: Floats, settings: Settings, start: Floats | None = None) -> Path:
        """Return the path over decreasing alphas."""
        coef = np.zeros((self.design.n_columns, self.y.shape[1])) if start is None else start.copy()
        coefs, gaps = np.empty((len(alphas), *coef.shape)), np.empty(len(alphas))
        n_iter = np.zeros(len(alphas), np.int64)
        slope = self.slope if start is None else self._slope(self._residual(coef))
        before = float(row_norms(slope, settings.positive).max(initial=0.0)) / max(settings.l1_ratio, 1e-3)
        for a, alpha in enumerate(alphas.tolist()):
            bound = settings.l1_ratio * (2 * alpha - before)
            strong = row_norms(slope, settings.positive) >= bound
            coef, slope, gaps[a], n_iter[a] = self._solve(coef, slope, strong, alpha, settings)
            coefs[a], before = coef, alpha
        return Path(coefs, gaps, n_iter)

    def _residual(self, coef: Floats) -> Floats:
        used = np.flatnonzero(coef.any(axis=1))
        part = np.ascontiguousarray(coef[used].T)
        return self.y - self.design.columns(used).product(part, -part @ self.x_mean[used])

    def _solve(
        self, coef: Floats, slope: Floats, strong: NDArray[np.bool_], alpha: float, settings: Settings
    ) -> tuple[Floats, Floats, float, int]:
        """Return coefficients, slopes, gap and sweeps of one alpha."""
        goal, sweeps, tolerance = settings.tol * self.y_squares, 0, 0.1 * settings.tol
        limit = max(_FIRST_COLUMNS, 2 * int(coef.any(axis=1).sum()))
        chosen = self._first_set(coef, slope, strong, limit)
        gap = np.inf
        for _ in range(_MAX_ROUNDS):
            problem = GramProblem(self._gram_of(chosen), self.slope[chosen], self.y_squares)
            found, extra = problem.descend(np.array([alpha]), settings, coef[chosen], tolerance)
            sweeps += int(extra[0])
            coef = np.zeros_like(coef)
            coef[chosen] = found[0]
            residual = self._residual(coef)
            slope = self._slope(residual)
            weighted = residual * self.weights[:, None]
            squares, along = inner_product(weighted, residual), inner_product(weighted, self.y)
            penalized = slope - alpha * (1 - settings.l1_ratio) * coef
            gap, slack = certify(penalized, coef, squares, along, alpha, settings)
            if gap <= goal or sweeps >= settings.max_iter:
                break
            limit *= 2
            grown = self._next_set(coef, chosen, slack, gap, alpha, settings, limit)
            if len(grown) == len(chosen):
                tolerance = max(0.1 * tolerance, 1e-15)
            chosen = grown
        return coef, slope, gap, sweeps

    def _first_set(
        self, coef: Floats, slope: Floats, strong: NDArray[np.bool_], limit: int
    ) -> NDArray[np.intp]:
        """Return columns with coefficients, and the strong ones with the largest slopes."""
        norms = np.where(coef.any(axis=1), np.inf, np.where(strong, row_norms(slope, False), 0.0))
        order = np.argsort(-norms, kind="stable")[:limit]
        return np.sort(order[norms[order] > 0] if (norms > 0).any() else order[:1])

    def _next_set(
        self,
        coef: Floats,
        chosen: NDArray[np.intp],
        slack: Floats,
        gap: float,
        alpha: float,
        settings: Settings,
        limit: int,
    ) -> NDArray[np.intp]:
        """Return a larger working set: the columns nearest to their bound that may have a coefficient."""
        l1 = alpha * settings.l1_ratio
        if l1 <= 0:
            return np.arange(len(coef))
        radius = np.sqrt(max(2 * gap, 0.0)) / l1
        size = np.sqrt(self.sizes**2 + alpha * (1 - settings.l1_ratio))
        distance = np.where(size > 0, (1.0 - slack) / np.maximum(size, np.finfo(np.float64).tiny), np.inf)
        distance[chosen] = -np.inf
        order = np.argsort(distance, kind="stable")[: max(limit, len(chosen) + 1)]
        return np.sort(order[distance[order] <= radius])


def fits_gram(design: Design) -> bool:
    """Whether the Gram matrix of all columns is formed."""
    return design.n_columns <= _MAX_GRAM and design.n_columns <= max(design.n_rows, 50)


def problem_of(
    design: Design, y: Floats, weights: Floats | None, intercept: bool
) -> tuple[GramProblem | ColumnProblem, Floats, Floats]:
    """Return the problem, and the means of features and targets."""
    if fits_gram(design):
        moments = Moments.of(design, y, weights, intercept)
        return GramProblem.of(moments), moments.x_mean, moments.y_mean
    columns = ColumnProblem(design, y, weights, intercept)
    return columns, columns.x_mean, columns.y_mean


def alpha_grid(linear: Floats, l1_ratio: float, eps: float, n_alphas: int, positive: bool) -> Floats:
    """Return alphas on a logarithmic scale, from the least with no coefficient down to eps times it.

    linear (n_columns, n_targets): Σ w x y / W.

    >>> alpha_grid(np.array([[2.0]]), 1.0, 0.01, 3, False).round(6).tolist()
    [2.0, 0.2, 0.02]
    """
    largest = float(row_norms(linear, positive).max(initial=0.0)) / max(l1_ratio, 1e-3)
    resolution = np.finfo(np.float64).resolution
    if largest <= resolution:
        return np.full(n_alphas, resolution)
    steps = np.linspace(0.0, 1.0, n_alphas)
    return np.asarray(largest * exp(log(eps) * steps))
