"""Generalized linear models: families, links, and GeneralizedLinearRegressor."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from spinney.base import parameters
from spinney.core.arrays import Floats
from spinney.core.elementary import exp, log, log1p
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, Integer, OneOf, Real, Rule, Use
from spinney.io import require
from spinney.linear.base import INPUT_RULES, LinearRegressor, target_shaped
from spinney.linear.lbfgs import minimize
from spinney.linear.newton import Penalty
from spinney.linear.row_losses import Derivatives, OneScore, RowLoss

Family = Literal["normal", "poisson", "gamma", "tweedie", "binomial", "inverse-gaussian"]
Link = Literal["auto", "identity", "log", "logit", "inverse"]

_POWERS = {"normal": 0.0, "poisson": 1.0, "gamma": 2.0, "inverse-gaussian": 3.0}


def mean_of(score: Floats, link: str) -> tuple[Floats, Floats]:
    """Return the mean of each score, and its derivative.

    >>> [part.tolist() for part in mean_of(np.array([0.0]), "logit")]
    [[0.5], [0.25]]
    """
    if link == "identity":
        return score, np.ones_like(score)
    with np.errstate(over="ignore", divide="ignore"):
        if link == "log":
            mean = exp(score)
            return mean, mean
        if link == "inverse":
            mean = 1.0 / score
            return mean, -mean * mean
        decay = exp(-np.abs(score))
        mean = np.where(score >= 0, 1.0, decay) / (1.0 + decay)
        return mean, decay / (1.0 + decay) ** 2


def score_of(mean: float, link: str) -> float:
    """Return the score of a mean.

    >>> score_of(0.5, "logit"), score_of(4.0, "inverse")
    (0.0, 0.25)
    """
    if link == "identity":
        return mean
    if link == "log":
        return float(log(mean))
    return 1.0 / mean if link == "inverse" else float(log(mean / (1.0 - mean)))


def half_deviance(y: Floats, mean: Floats, power: float | None) -> Floats:
    """Return half the deviance of each row up to a term that depends on y only; power None is binomial."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if power is None:
            lost = np.where(y > 0, -y * log(mean), 0.0)
            return np.asarray(lost + np.where(y < 1, -(1 - y) * log1p(-mean), 0.0))
        if power == 0:
            return np.asarray(0.5 * (y - mean) ** 2)
        if power == 1:
            return np.asarray(mean - np.where(y > 0, y * log(mean), 0.0))
        if power == 2:
            return np.asarray(y / mean + log(mean))
        first = mean ** (2 - power) / (2 - power)
        return np.asarray(first - np.where(y != 0, y * mean ** (1 - power) / (1 - power), 0.0))


def saturated(y: Floats, power: float | None) -> Floats:
    """Return `half_deviance` of the perfect prediction, which y itself is."""
    if power is not None and power > 0:
        known = y > 0
        out = np.zeros_like(y)
        out[known] = half_deviance(y[known], y[known], power)
        return out
    return np.where((y > 0) & (y < 1), half_deviance(y, y, None), 0.0) if power is None else np.zeros_like(y)


@dataclass(frozen=True)
class FamilyLoss(RowLoss):
    """Half the deviance of a family, as a function of the score; curvatures are expected ones (Fisher).

    ``power`` is that of the variance function V(μ) = μ^power; None is the binomial V(μ) = μ (1 − μ).
    """

    power: float | None = 0.0
    link: str = "identity"

    def __call__(self, scores: Floats) -> Derivatives:
        """Return the derivatives at scores (n_rows, 1)."""
        mean, slope = mean_of(self._added(scores), self.link)
        valid = np.isfinite(mean)
        if self.power is None:
            valid &= (mean >= 0) & (mean <= 1)
        elif self.power > 0:
            valid &= mean > 0
        if not valid.all():
            zeros = np.zeros(len(mean))
            return Derivatives(np.inf, zeros[:, None], OneScore(zeros))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            variance = mean * (1 - mean) if self.power is None else mean**self.power
            # Of slope and variance, which may both be 0 in logistic regression.
            canonical = self.power is None and self.link == "logit"
            ratio = np.ones_like(mean) if canonical else slope / variance
            gradient = self._weigh(np.asarray((mean - self.y) * ratio))
            curvature = self._weigh(np.asarray(slope * ratio))
            value = self._sum(half_deviance(self.y, mean, self.power))
        if not (np.isfinite(value) and np.isfinite(gradient).all() and np.isfinite(curvature).all()):
            zeros = np.zeros(len(mean))
            return Derivatives(np.inf, zeros[:, None], OneScore(zeros))
        return Derivatives(value, gradient[:, None], OneScore(curvature))

    def start(self) -> Floats:
        """Return the score of the mean target, less the mean offset."""
        mean = float(np.average(self.y, weights=self.weights))
        if self.power is None:
            mean = min(max(mean, 1e-6), 1 - 1e-6)
        elif self.power > 0 or self.link == "log":
            mean = max(mean, 1e-6)
        if self.link == "inverse" and mean == 0:
            mean = 1e-6
        added = 0.0 if self.offset is None else float(np.average(self.offset, weights=self.weights))
        return np.array([score_of(mean, self.link) - added])


@parameters
class GeneralizedLinearRegressor(RegressorMixin, LinearRegressor):  # type: ignore[misc]
    """Generalized linear model: the mean of y is a function of a linear score.

    Minimizes (1 / 2W) Σ w deviance(y, μ) + α (ρ ‖coef‖₁ + ½ (1 − ρ) ‖coef‖²), W = Σ w, where the link of μ is
    X coef + intercept + offset. Iteratively reweighted least squares (Fisher scoring) with a line search;
    coordinate descent within every step handles an L1 penalty.

    Parameters
    ----------
    family : str, default="normal"
        Distribution of y: "normal", "poisson", "gamma", "tweedie", "binomial" or "inverse-gaussian".
    link : {"auto", "identity", "log", "logit", "inverse"}, default="auto"
        Link of the mean; "auto" is the identity for the normal family and Tweedie powers up to 0, the logit
        for the binomial family, else the logarithm.
    power : float, default=1.5
        Power of the variance function of the Tweedie family, V(μ) = μ^power; not between 0 and 1.
    alpha : float, default=1.0
        Strength of the penalty; 0 is maximum likelihood.
    l1_ratio : float in [0, 1], default=0.0
        Share ρ of the L1 penalty.
    fit_intercept : bool, default=True
        Fit an intercept, which is not penalized.
    max_iter : int, default=100
        Maximum number of steps.
    tol : float, default=1e-4
        Stop when the predicted decrease is below 0.1 tol² per unit of weight.
    n_jobs : int or None, default=None
        Number of threads, −1 for all cores. It does not change the model.
    categorical : {"one-hot"} or None, default=None
        How to code categorical columns; None: they are an error.
    missing : {"mean"} or None, default=None
        How to fill in missing values; None: they are an error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,)
        Coefficients.
    intercept_ : float
        Intercept.
    n_iter_ : int
        Steps.
    coef_names_ : list of str
        Names of the columns that the coefficients belong to.
    schema_ : Schema
        Names, kinds and categories of the features.
    coding_ : ColumnCoding
        How columns are coded, if ``categorical`` or ``missing`` is set or X is a data frame.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import GeneralizedLinearRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1, 2, 4, 8]
    >>> model = GeneralizedLinearRegressor("poisson", alpha=0.0).fit(X, y)
    >>> model.coef_.round(4).tolist(), model.predict([[4.0]]).round(2).tolist()
    ([0.6931], [16.0])
    """

    _required_attributes: ClassVar[tuple[str, ...]] = ("n_iter_",)
    _sum_space = "raw"
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "family": (OneOf("normal", "poisson", "gamma", "tweedie", "binomial", "inverse-gaussian"),),
        "link": (OneOf("auto", "identity", "log", "logit", "inverse"),),
        "power": (Real(-100.0, 0.0), Real(1.0, 100.0)),
        "alpha": (Real(0.0),),
        "l1_ratio": (Real(0.0, 1.0),),
        "fit_intercept": (FLAG,),
        "max_iter": (Integer(1),),
        "tol": (Real(0.0, open_ends="("),),
        **INPUT_RULES,
    }
    _parameter_uses = (Use(("power",), "family", values=("tweedie",)),)

    family: Family = field(default="normal", kw_only=False)
    link: Link = "auto"
    power: float = 1.5
    alpha: float = 1.0
    l1_ratio: float = 0.0
    fit_intercept: bool = True
    max_iter: int = 100
    tol: float = 1e-4
    n_jobs: int | None = None
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

    n_iter_: int = field(init=False)

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, offset: ArrayLike | None = None
    ) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Training data.
        y : array-like of shape (n_rows,)
            Target values; shares from 0 to 1 for the binomial family.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights.
        offset : array-like of shape (n_rows,), default=None
            Added to the scores, such as the logarithm of an exposure.

        Returns
        -------
        self
            The fitted model.
        """
        training = self._read_values(X, y, sample_weight)
        if not training.one_target:
            raise InputError(
                f"{type(self).__name__} supports one target; y has {training.y.shape[1]} columns."
            )
        values = np.ascontiguousarray(training.y[:, 0])
        self._check_domain(values)
        added = _read_offset(offset, len(values))
        threads = training.design.n_threads
        loss = FamilyLoss(values, training.weights, added, threads, self._power, self._link)
        strength = self.alpha * loss.total
        penalty = Penalty(strength * self.l1_ratio, strength * (1 - self.l1_ratio), self.fit_intercept)
        start = None
        if not self.fit_intercept and self._link == "inverse":
            raise InputError("link='inverse' needs an intercept: a score of 0 has no mean.")
        found = minimize(training.design, loss, penalty, self.tol, self.max_iter, start)
        if not (np.isfinite(found.coef).all() and np.isfinite(found.intercept).all()):
            raise InputError(
                "The coefficients are not finite: the target, a feature or a weight is too large",
                fix="Divide it by a large number.",
            )
        if not found.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in max_iter={self.max_iter} steps. Increase "
                "max_iter or tol, or use the link 'log', whose means are always valid.",
                ConvergenceWarning,
                stacklevel=2,
            )
        shaped = target_shaped(training, found.coef, found.intercept)
        return self._set_fitted(**shaped, n_iter_=found.n_iter, **training.read_as)

    @property
    def _power(self) -> float | None:
        """Power of the variance function, None for the binomial family."""
        return None if self.family == "binomial" else _POWERS.get(self.family, float(self.power))

    @property
    def _link(self) -> str:
        link: str = self.link
        if link != "auto":
            return link
        power = self._power
        return "logit" if power is None else "identity" if power <= 0 else "log"

    def _check_domain(self, y: Floats) -> None:
        """Raise InputError that names the first row whose target the family cannot have."""
        power = self._power
        if power is None:
            bad, takes = (y < 0) | (y > 1), "from 0 to 1"
        elif power >= 2:
            bad, takes = y <= 0, "above 0"
        else:
            bad, takes = (y < 0) & (power >= 1), "at least 0"
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                f"Some value(s) of y are out of the valid range of the family {self.family!r}: {y[row]}",
                row=row,
                fix=f"Values must be {takes}.",
            )

    def predict(self, X: Any, offset: ArrayLike | None = None) -> Floats:
        """Predict the mean.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows to predict.
        offset : array-like of shape (n_rows,), default=None
            Added to the scores.

        Returns
        -------
        ndarray of shape (n_rows,)
            Means.
        """
        scores = self._scores(X)[:, 0]
        added = _read_offset(offset, len(scores))
        return mean_of(scores if added is None else scores + added, self._link)[0]

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return D², the share of the deviance that the model explains.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows to predict.
        y : array-like of shape (n_rows,)
            Target values.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights.

        Returns
        -------
        float
            1 minus the deviance relative to that of the mean of y.
        """
        truth = np.asarray(y, np.float64)
        weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        base = saturated(truth, self._power)
        constant = np.full(len(truth), np.average(truth, weights=weights))
        left = np.average(half_deviance(truth, self.predict(X), self._power) - base, weights=weights)
        whole = np.average(half_deviance(truth, constant, self._power) - base, weights=weights)
        return float(1.0 - left / whole)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        require(type(vars(self).get("n_iter_")) is int, "n_iter_ is not valid")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self._power is not None and self._power > 0
        return tags


def _read_offset(offset: ArrayLike | None, n_rows: int) -> Floats | None:
    """Return the offset, checked; None if none is given."""
    if offset is None:
        return None
    added = np.asarray(offset, np.float64)
    if added.shape != (n_rows,) or not np.isfinite(added).all():
        raise InputError(
            f"offset must have {n_rows} finite numbers, one per row; its shape is {added.shape}."
        )
    return added
