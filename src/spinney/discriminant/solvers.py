"""Solvers of linear discriminant analysis: from class means and scatter matrices to discriminants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from spinney.core.arrays import Floats
from spinney.core.elementary import log
from spinney.core.errors import InputError
from spinney.native import core

# Eigenvalues of the scatter matrix below this share of the largest are less exact than singular values of X.
_MIN_EIGENVALUE = 1e-9


@dataclass(frozen=True)
class ClassedRows:
    """Training rows with their class codes, weights, class means and priors."""

    x: Floats
    codes: NDArray[np.int32]
    weights: Floats | None
    count: Floats
    means: Floats
    priors: Floats
    n_threads: int

    @classmethod
    def read(
        cls,
        x: Floats,
        codes: NDArray[np.int32],
        weights: Floats | None,
        priors: Floats | None,
        n_threads: int,
    ) -> ClassedRows:
        """Compute class weights and means; None for priors takes the shares of the classes."""
        n_classes = int(codes.max()) + 1
        if weights is not None and not 1e-200 < weights.max() < 1e200:
            # Only ratios of weights count: without this, sums of squares and quotients leave the range.
            weights = np.ldexp(weights, -int(np.frexp(weights.max())[1]))
        count = np.bincount(codes, weights, minlength=n_classes).astype(np.float64)
        _, means, _ = core.class_moments(x, codes, n_classes, weights, n_threads)
        return cls(
            x, codes, weights, count, means, count / count.sum() if priors is None else priors, n_threads
        )

    @property
    def total(self) -> float:
        """Return the weight of all rows."""
        return float(self.count.sum())

    def scatter(self, scale: Floats) -> Floats:
        """Return the scatter matrix within classes, each class times its scale."""
        return core.within_scatter(
            self.x, self.codes, self.means, np.ascontiguousarray(scale), self.weights, self.n_threads
        )

    def covariance(self) -> Floats:
        """Return the mean of the class covariances, weighted by the priors."""
        share = np.divide(self.priors, self.count, out=np.zeros_like(self.priors), where=self.count > 0)
        return self.scatter(share)

    def total_covariance(self) -> Floats:
        """Return the covariance of all rows."""
        overall = (self.count @ self.means) / self.total
        centred = self.means - overall
        between = (centred * (self.count / self.total)[:, None]).T @ centred
        return np.asarray(self.scatter(np.full(len(self.count), 1.0 / self.total)) + between)

    def class_rows(self, k: int) -> Floats:
        """Return the rows of one class."""
        return np.asarray(self.x[self.codes == k])


@dataclass(frozen=True)
class Discriminants:
    """The linear functions of the classes, and the projection that separates them."""

    coef: Floats
    intercept: Floats
    covariance: Floats | None = None
    scalings: Floats | None = None
    xbar: Floats | None = None
    explained: Floats | None = None


# ---- covariance estimates ----


def estimate_covariance(rows: ClassedRows, shrinkage: Any, estimator: Any) -> Floats:
    """Return the mean of the class covariances, shrunk or by another estimator as scikit-learn does."""
    if estimator is None and shrinkage is None:
        return rows.covariance()
    if rows.weights is not None and (estimator is not None or shrinkage == "auto"):
        raise InputError(
            "sample_weight is not supported with shrinkage='auto' or a covariance_estimator",
            fix="Set shrinkage to None or a number, or leave sample_weight out.",
        )
    if estimator is not None:
        return _pool(rows, lambda x: _estimated(estimator, x))
    if shrinkage == "auto":
        return _pool(rows, _ledoit_wolf)
    from sklearn.covariance import shrunk_covariance

    one_class = np.zeros((len(rows.count), *([rows.x.shape[1]] * 2)))
    for k, count in enumerate(rows.count):
        scale = np.zeros(len(rows.count))
        scale[k] = 1.0 / count if count > 0 else 0.0
        one_class[k] = shrunk_covariance(rows.scatter(scale), shrinkage)
    return np.asarray(np.tensordot(rows.priors, one_class, axes=1))


def _pool(rows: ClassedRows, estimate: Callable[[Floats], Floats]) -> Floats:
    parts = [prior * np.atleast_2d(estimate(rows.class_rows(k))) for k, prior in enumerate(rows.priors)]
    return np.asarray(sum(parts[1:], start=parts[0]))


def _ledoit_wolf(x: Floats) -> Floats:
    """Return the covariance by Ledoit and Wolf (2004), of standardized features."""
    from sklearn.covariance import ledoit_wolf
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler()
    shrunk = ledoit_wolf(scaler.fit_transform(x))[0]
    return np.asarray(scaler.scale_[:, None] * shrunk * scaler.scale_[None, :])


def _estimated(estimator: Any, x: Floats) -> Floats:
    estimator.fit(x)
    if not hasattr(estimator, "covariance_"):
        raise InputError(f"{type(estimator).__name__} does not have a covariance_ attribute.")
    return np.asarray(estimator.covariance_)


# ---- solvers ----


def solve_svd(rows: ClassedRows, tol: float, n_components: int) -> Discriminants:
    """Whiten within classes, then find the directions between class means.

    The singular values and vectors of the centred rows are those of the scatter matrix, which is much
    smaller; where its eigenvalues are not exact enough, or features outnumber rows, the rows are decomposed.
    """
    n_classes = len(rows.count)
    xbar = rows.priors @ rows.means
    within = _within_directions(rows, tol)
    factor = 1.0 / (n_classes - 1) if n_classes > 1 else 1.0
    between = (np.sqrt(rows.total * rows.priors * factor) * (rows.means - xbar).T).T @ within
    _, values, directions = linalg.svd(between, full_matrices=False)
    squares = values**2
    total = squares.sum()
    explained = (squares / total if total > 0 else squares)[:n_components]
    kept = int((values > tol * values[0]).sum()) if len(values) else 0
    scalings = within @ directions.T[:, :kept]
    projected = (rows.means - xbar) @ scalings
    with np.errstate(divide="ignore"):
        intercept = -0.5 * (projected**2).sum(axis=1) + log(rows.priors)
    coef = projected @ scalings.T
    return Discriminants(coef, intercept - xbar @ coef.T, None, scalings, xbar, explained)


def _within_directions(rows: ClassedRows, tol: float) -> Floats:
    """Return directions (n_features, rank) in which the variance within classes is 1."""
    n_rows, d = rows.x.shape
    deviation = None
    if d <= n_rows:
        scatter = rows.scatter(np.ones(len(rows.count)))
        deviation = np.sqrt(np.diag(scatter) / rows.total)
        deviation[deviation == 0] = 1.0
        values, vectors = linalg.eigh(scatter / rows.total / np.outer(deviation, deviation))
        values, vectors = values[::-1], vectors[:, ::-1]
        kept = values > tol**2
        if not kept.any() or values[kept][-1] >= _MIN_EIGENVALUE * values[0]:
            return np.asarray((vectors[:, kept] / deviation[:, None]) / np.sqrt(values[kept]))
    centred = rows.x - rows.means[rows.codes]
    weights = np.ones(n_rows) if rows.weights is None else rows.weights
    if deviation is None:
        deviation = np.sqrt((weights[:, None] * centred**2).sum(axis=0) / rows.total)
        deviation[deviation == 0] = 1.0
    scaled = np.sqrt(weights / rows.total)[:, None] * (centred / deviation)
    _, singular, directions = linalg.svd(scaled, full_matrices=False)
    rank = int((singular > tol).sum())
    return np.asarray((directions[:rank] / deviation).T / singular[:rank])


def solve_lsqr(rows: ClassedRows, shrinkage: Any, estimator: Any) -> Discriminants:
    """Solve covariance · coef = means by least squares; classification only."""
    covariance = estimate_covariance(rows, shrinkage, estimator)
    coef = linalg.lstsq(covariance, rows.means.T)[0].T
    return Discriminants(coef, _intercept(rows, coef), covariance)


def solve_eigen(rows: ClassedRows, shrinkage: Any, estimator: Any, n_components: int) -> Discriminants:
    """Maximize the ratio of variance between and within classes: a generalized eigenvalue problem."""
    covariance = estimate_covariance(rows, shrinkage, estimator)
    total = rows.total_covariance()
    if shrinkage is not None or estimator is not None:
        whole = ClassedRows(
            rows.x,
            np.zeros_like(rows.codes),
            rows.weights,
            np.array([rows.total]),
            ((rows.count @ rows.means) / rows.total)[None, :],
            np.ones(1),
            rows.n_threads,
        )
        total = estimate_covariance(whole, shrinkage, estimator)
    try:
        values, vectors = linalg.eigh(total - covariance, covariance)
    except linalg.LinAlgError as error:
        raise InputError(
            "The covariance matrix within classes is singular: a feature is constant in every class, or a "
            f"sum of others ({error})",
            fix="Set shrinkage='auto' or a number, or solver='svd'.",
        ) from None
    total_values = values.sum()
    explained = np.sort(values / total_values if total_values else values)[::-1][:n_components]
    scalings = vectors[:, np.argsort(values)[::-1]]
    coef = rows.means @ scalings @ scalings.T
    return Discriminants(coef, _intercept(rows, coef), covariance, scalings, None, explained)


def _intercept(rows: ClassedRows, coef: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(-0.5 * np.einsum("kj,kj->k", rows.means, coef) + log(rows.priors))
