"""Losses of gradient boosting: value, gradient, hessian, optimal constant and link of each."""

# ruff: noqa: D102  (the methods of the losses are documented in Loss)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from spinney.core.arrays import chunk_bincount, chunk_mean
from spinney.core.elementary import exp, expit, log, logaddexp, logit, logsumexp, softmax
from spinney.core.errors import InputError, ModelFileError, show_value
from spinney.io import Persistent

Floats = NDArray[np.float64]

# Exponents are clipped here, so that exp(score) times any sensible target is finite.
_MAX_EXPONENT = 500.0
_MIN_PROBABILITY = float(np.finfo(np.float64).eps)
# The optimal constant is searched for in ±2^_MAX_DOUBLINGS.
_MAX_DOUBLINGS = 60
_HUBER_STEPS = 100
_HUBER_TOLERANCE = 1e-12
_MAX_MEDIANS_OF_DELTA = 3.0


# ---- links ----


@dataclass(frozen=True)
class Link:
    """Link function: the relation between the mean of the target and the raw score.

    Parameters
    ----------
    score : callable
        Maps means to raw scores; the shape is kept.
    mean : callable
        Maps raw scores to means. The result is always finite.

    Examples
    --------
    >>> LOG.mean(LOG.score(np.array([1.0]))).tolist(), LOGIT.mean(np.array([0.0])).tolist()
    ([1.0], [0.5])
    >>> MULTI_LOGIT.mean(np.zeros((1, 4))).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """

    score: Callable[[Floats], Floats]
    mean: Callable[[Floats], Floats]


def _exp(score: Floats) -> Floats:
    return np.asarray(exp(np.clip(score, -_MAX_EXPONENT, _MAX_EXPONENT)))


def _logit(mean: Floats) -> Floats:
    log_odds: Floats = logit(np.clip(mean, _MIN_PROBABILITY, 1.0 - _MIN_PROBABILITY))
    return log_odds


def _centred_log(mean: Floats) -> Floats:
    logarithms = log(np.maximum(mean, _MIN_PROBABILITY))
    centred: Floats = logarithms - logarithms.mean(axis=-1, keepdims=True)
    return centred


IDENTITY = Link(lambda mean: mean, lambda score: score)
LOG = Link(log, _exp)
LOGIT = Link(_logit, expit)
HALF_LOGIT = Link(lambda mean: 0.5 * _logit(mean), lambda score: expit(score / 0.5))
MULTI_LOGIT = Link(_centred_log, softmax)


# ---- losses ----


class Loss(Persistent):
    """Base class of the losses of gradient boosting.

    A loss of your own defines ``gradient`` and ``hessian``. Optional are ``value`` (for early stopping by the
    loss, ``train_score_`` and the ledger), ``constant`` (the initial raw score), ``link`` and
    ``check_target``. Sample weights are applied by the caller. A loss that is a dataclass, or whose
    attributes are plain values, can be saved in a model file.

    Attributes
    ----------
    core_name : str
        Name of the loss in the compiled core; empty for a loss of your own.
    link : Link or None
        Link function. None is the identity in regression and the logistic function in classification.
    parameter : float
        The parameter of the loss (delta, quantile, power), 0 for losses without one.
    bounds_steps : bool
        Whether no leaf of a loss of your own moves a raw score by more than 4 times the learning rate. That
        is for losses whose hessian comes near 0, as that of the log loss, on the scale of a link.
    has_value : bool
        Whether the loss defines ``value``.
    changes : bool
        Whether rounds differ in their loss.

    Examples
    --------
    >>> class LogCosh(Loss):
    ...     def gradient(self, y, score):
    ...         return np.tanh(score - y)
    ...     def hessian(self, y, score):
    ...         return 1 - np.tanh(score - y) ** 2
    >>> LogCosh().constant(np.array([1.0, 1.0]), None).round(6).tolist()
    [1.0]
    """

    core_name: ClassVar[str] = ""
    link: ClassVar[Link | None] = None
    bounds_steps: ClassVar[bool] = False

    _parameter_name: ClassVar[str] = ""

    @property
    def parameter(self) -> float:
        """The parameter of the loss, 0 for losses without one."""
        return float(getattr(self, self._parameter_name)) if self._parameter_name else 0.0

    @property
    def parameters(self) -> tuple[float, ...]:
        """The parameter as the core takes it: one for all raw scores, or one per raw score."""
        return (self.parameter,)

    def gradient(self, y: Floats, score: Floats) -> Floats:
        """First derivative of the loss of each row with respect to its raw score.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
            Targets; in classification the class codes 0, 1, … as floats.
        score : ndarray of shape (n_rows,) or (n_rows, n_classes)
            Raw scores; one per class where there are more than two classes.

        Returns
        -------
        ndarray of the shape of score
        """
        raise NotImplementedError(f"{type(self).__name__} must define gradient(y, score).")

    def hessian(self, y: Floats, score: Floats) -> Floats:
        """Second derivative of the loss of each row with respect to its raw score, at least 0.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
            Targets.
        score : ndarray of shape (n_rows,) or (n_rows, n_classes)
            Raw scores.

        Returns
        -------
        ndarray of the shape of score
        """
        raise NotImplementedError(f"{type(self).__name__} must define hessian(y, score).")

    def derivatives(self, y: Floats, score: Floats) -> tuple[Floats, Floats]:
        """Gradient and hessian; a loss that computes both at once overrides this.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
            Targets.
        score : ndarray of shape (n_rows,) or (n_rows, n_classes)
            Raw scores.

        Returns
        -------
        tuple of two ndarrays of the shape of score
        """
        return self.gradient(y, score), self.hessian(y, score)

    def value(self, y: Floats, score: Floats) -> Floats:
        """Loss of each row.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
            Targets.
        score : ndarray of shape (n_rows,) or (n_rows, n_classes)
            Raw scores.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        raise NotImplementedError(f"{type(self).__name__} does not define value(y, score).")

    @property
    def has_value(self) -> bool:
        """Whether the loss defines ``value``, or only its derivatives."""
        return type(self).value is not Loss.value

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        """Constant raw score with the smallest loss: the root of the sum of the gradients.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
            Targets.
        weights : ndarray of shape (n_rows,) or None
            Sample weights.

        Returns
        -------
        ndarray of shape (n_scores,)
            Zero where the gradients have no root.
        """

        def slope(score: float) -> float:
            return float(chunk_mean(self.gradient(y, np.full(len(y), score)), weights))

        at_zero = slope(0.0)
        for exponent in range(-_MAX_DOUBLINGS, _MAX_DOUBLINGS):
            end = -np.sign(at_zero) * 2.0**exponent
            if slope(end) * at_zero <= 0:
                return np.array([brentq(slope, min(0.0, end), max(0.0, end))])
        return np.zeros(1)

    def for_round(self, y: Floats, score: Floats, weights: Floats | None) -> Loss:
        """Return the loss whose derivatives the next round uses: this one, or one with another parameter.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
            Targets.
        score : ndarray of shape (n_rows,) or (n_rows, n_classes)
            Raw scores before the round.
        weights : ndarray of shape (n_rows,) or None
            Sample weights.

        Returns
        -------
        Loss
        """
        return self

    @property
    def changes(self) -> bool:
        """Whether rounds differ in their loss, see `for_round`."""
        return type(self).for_round is not Loss.for_round

    def check_target(self, y: Floats, weights: Floats | None) -> None:
        """Raise InputError for targets that the loss is not defined for.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
            Targets.
        weights : ndarray of shape (n_rows,) or None
            Sample weights.
        """

    def mean_value(self, y: Floats, score: Floats, weights: Floats | None) -> float:
        """Weighted mean of the losses of the rows.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
            Targets.
        score : ndarray of shape (n_rows,) or (n_rows, n_classes)
            Raw scores.
        weights : ndarray of shape (n_rows,) or None
            Sample weights.

        Returns
        -------
        float
        """
        return float(chunk_mean(self.value(y, score), weights))

    def _get_state(self) -> dict[str, Any]:
        return super()._get_state() if is_dataclass(self) else dict(vars(self))

    def _set_state(self, state: dict[str, Any]) -> None:
        if is_dataclass(self):
            super()._set_state(state)
        else:
            self.__dict__.update(state)


class _MeanLoss(Loss, persistent_name=""):
    """Base of the losses whose optimal constant is the raw score of the mean."""

    link: ClassVar[Link]

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        return self.link.score(np.array([chunk_mean(y, weights)]))


class _ResidualLoss(Loss, persistent_name=""):
    """Base of the losses of the residual y − score, with hessian 1."""

    link = IDENTITY

    def hessian(self, y: Floats, score: Floats) -> Floats:
        return np.ones_like(score)


# ---- regression ----


@dataclass(frozen=True)
class SquaredLoss(_ResidualLoss, _MeanLoss):
    """Squared error ½ (y − score)²; the optimal constant is the mean.

    >>> SquaredLoss().gradient(np.array([1.0]), np.array([3.0])).tolist()
    [2.0]
    """

    core_name = "squared"

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return score - y

    def value(self, y: Floats, score: Floats) -> Floats:
        return 0.5 * (y - score) ** 2


@dataclass(frozen=True)
class AbsoluteLoss(_ResidualLoss):
    """Absolute error |y − score|; the optimal constant is the median.

    >>> AbsoluteLoss().constant(np.array([1.0, 2.0, 90.0]), None).tolist()
    [2.0]
    """

    core_name = "absolute"

    def gradient(self, y: Floats, score: Floats) -> Floats:
        gradient: Floats = np.sign(score - y)
        return gradient

    def value(self, y: Floats, score: Floats) -> Floats:
        return np.abs(y - score)

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        return np.array([weighted_quantile(y, weights, 0.5)])


@dataclass(frozen=True)
class HuberLoss(_ResidualLoss):
    """Huber loss: ½ r² for residuals |r| ≤ ``delta``, and delta·(|r| − ½ delta) beyond.

    >>> HuberLoss(delta=1.0).value(np.array([0.0, 0.0]), np.array([1.0, 3.0])).tolist()
    [0.5, 2.5]
    """

    core_name = "huber"
    _parameter_name = "delta"
    delta: float

    def __post_init__(self) -> None:
        _check_parameter(0 < self.delta < np.inf, "delta", self.delta, "a positive number")

    def gradient(self, y: Floats, score: Floats) -> Floats:
        gradient: Floats = np.clip(score - y, -self.delta, self.delta)
        return gradient

    def value(self, y: Floats, score: Floats) -> Floats:
        distance = np.abs(y - score)
        near = np.minimum(distance, self.delta)
        return near * (distance - 0.5 * near)

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        # Fixed-point iteration from the median: each step is the mean of the clipped residuals.
        best = weighted_quantile(y, weights, 0.5)
        for _ in range(_HUBER_STEPS):
            step = float(chunk_mean(np.clip(y - best, -self.delta, self.delta), weights))
            best += step
            if abs(step) <= _HUBER_TOLERANCE * self.delta:
                break
        return np.array([best])


@dataclass(frozen=True)
class AdaptiveHuberLoss(HuberLoss):
    """Huber loss whose delta follows the residuals (Friedman 2001): the quantile ``fraction`` of their size.

    It is at most three times their median, so that a greater share of outliers does not decide about it.
    A leaf moves by at most three times delta per round, also where most of its rows are outliers.

    ``delta`` is that of the constant. The value of the loss refers to it, so that rounds can be compared.

    >>> AdaptiveHuberLoss.for_target(np.arange(11.0), None, fraction=0.5).delta
    3.0
    """

    core_name = "adaptive_huber"
    fraction: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_parameter(0 < self.fraction < 1, "fraction", self.fraction, "a number between 0 and 1")

    @classmethod
    def for_target(cls, y: Floats, weights: Floats | None, fraction: float = 0.9) -> AdaptiveHuberLoss:
        """Take delta from the residuals of the median."""
        return cls(
            _outlier_distance(y - weighted_quantile(y, weights, 0.5), weights, fraction) or 1.0, fraction
        )

    def for_round(self, y: Floats, score: Floats, weights: Floats | None) -> AdaptiveHuberLoss:
        delta = _outlier_distance(y - score, weights, self.fraction) or self.delta
        return AdaptiveHuberLoss(delta, self.fraction)


def _outlier_distance(residual: Floats, weights: Floats | None, fraction: float) -> float:
    """Return the quantile of the absolute residuals, at most 3 times their median, or where 0 their maximum.

    The quantile alone breaks down where more than ``1 - fraction`` of the rows are outliers, and the loss is
    then that of squares; the median does not. In normal residuals the quantile 0.9 is 2.4 medians.
    """
    distance = np.abs(residual)
    quantile = weighted_quantile(distance, weights, fraction)
    most = _MAX_MEDIANS_OF_DELTA * weighted_quantile(distance, weights, 0.5)
    return (min(quantile, most) if most > 0 else quantile) or float(distance.max())


@dataclass(frozen=True)
class QuantileLoss(_ResidualLoss):
    """Pinball loss: quantile·(y − score) above the score, (1 − quantile)·(score − y) below it.

    >>> QuantileLoss(0.9).constant(np.arange(11.0), None).tolist()
    [9.0]
    """

    core_name = "quantile"
    _parameter_name = "quantile"
    quantile: float = 0.5

    def __post_init__(self) -> None:
        _check_parameter(0 < self.quantile < 1, "quantile", self.quantile, "a number between 0 and 1")

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return np.where(y > score, -self.quantile, np.where(y < score, 1.0 - self.quantile, 0.0))

    def value(self, y: Floats, score: Floats) -> Floats:
        return np.where(y > score, self.quantile, self.quantile - 1.0) * (y - score)

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        return np.array([weighted_quantile(y, weights, self.quantile)])


@dataclass(frozen=True)
class MultiQuantileLoss(_ResidualLoss):
    """Mean of the pinball losses of several quantiles, each with its own raw score.

    >>> MultiQuantileLoss((0.1, 0.9)).constant(np.arange(11.0), None).tolist()
    [1.0, 9.0]
    """

    core_name = "quantile"
    quantiles: tuple[float, ...]

    def __post_init__(self) -> None:
        levels = self.quantiles
        valid = type(levels) is tuple and len(levels) > 1 and list(levels) == sorted(set(levels))
        valid = valid and all(type(level) is float and 0 < level < 1 for level in levels)
        _check_parameter(valid, "quantiles", levels, "several increasing numbers between 0 and 1")

    @property
    def parameters(self) -> tuple[float, ...]:
        return self.quantiles

    def gradient(self, y: Floats, score: Floats) -> Floats:
        levels, y = np.array(self.quantiles), y[:, None]
        return np.where(y > score, -levels, np.where(y < score, 1.0 - levels, 0.0))

    def value(self, y: Floats, score: Floats) -> Floats:
        levels, y = np.array(self.quantiles), y[:, None]
        mean: Floats = (np.where(y > score, levels, levels - 1.0) * (y - score)).mean(axis=1)
        return mean

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        return np.array([weighted_quantile(y, weights, level) for level in self.quantiles])


class _LogLinkLoss(_MeanLoss, persistent_name=""):
    """Base of the losses with a log link, whose optimal constant is the logarithm of the mean."""

    link = LOG
    _min_included: ClassVar[bool] = True

    def check_target(self, y: Floats, weights: Floats | None) -> None:
        name = self.core_name.capitalize()
        bad = (y < 0) if self._min_included else (y <= 0)
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                f"y is {show_value(float(y[row]))}, but the {name} loss needs targets "
                f"{'of at least' if self._min_included else 'above'} 0",
                row=row,
                fix='Use loss="squared_error", or correct the target.',
            )
        if chunk_mean(y, weights) <= 0:
            raise InputError(f"Every y is 0, but the {name} loss needs some targets above 0.")


@dataclass(frozen=True)
class PoissonLoss(_LogLinkLoss):
    """Poisson deviance of counts: exp(score) − y·score.

    >>> PoissonLoss().gradient(np.array([3.0]), np.array([0.0])).tolist()
    [-2.0]
    """

    core_name = "poisson"

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return _exp(score) - y

    def hessian(self, y: Floats, score: Floats) -> Floats:
        return _exp(score)

    def value(self, y: Floats, score: Floats) -> Floats:
        return _exp(score) - y * score


@dataclass(frozen=True)
class GammaLoss(_LogLinkLoss):
    """Gamma deviance of positive targets: score + y·exp(−score).

    >>> GammaLoss().gradient(np.array([2.0]), np.array([0.0])).tolist()
    [-1.0]
    """

    core_name = "gamma"
    _min_included = False

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return 1.0 - y * _exp(-score)

    def hessian(self, y: Floats, score: Floats) -> Floats:
        return y * _exp(-score)

    def value(self, y: Floats, score: Floats) -> Floats:
        return score + y * _exp(-score)


@dataclass(frozen=True)
class TweedieLoss(_LogLinkLoss):
    """Tweedie deviance of non-negative targets with many zeros; ``power`` in (1, 2), Poisson to gamma.

    >>> TweedieLoss(1.5).constant(np.array([0.0, 2.0]), None).tolist()
    [0.0]
    """

    core_name = "tweedie"
    _parameter_name = "power"
    power: float = 1.5

    def __post_init__(self) -> None:
        _check_parameter(1 < self.power < 2, "power", self.power, "a number between 1 and 2")

    def _parts(self, y: Floats, score: Floats) -> tuple[Floats, Floats]:
        return _exp((2 - self.power) * score), y * _exp((1 - self.power) * score)

    def gradient(self, y: Floats, score: Floats) -> Floats:
        rising, falling = self._parts(y, score)
        return rising - falling

    def hessian(self, y: Floats, score: Floats) -> Floats:
        rising, falling = self._parts(y, score)
        return (2 - self.power) * rising + (self.power - 1) * falling

    def value(self, y: Floats, score: Floats) -> Floats:
        rising, falling = self._parts(y, score)
        return rising / (2 - self.power) + falling / (self.power - 1)


# ---- classification; y are class codes ----


@dataclass(frozen=True)
class LogLoss(_MeanLoss):
    """Binary log loss: −log of the probability of the correct class.

    >>> LogLoss().gradient(np.array([1]), np.array([0.0])).tolist()
    [-0.5]
    """

    core_name = "log"
    link = LOGIT

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return LOGIT.mean(score) - y

    def hessian(self, y: Floats, score: Floats) -> Floats:
        return LOGIT.mean(score) * LOGIT.mean(-score)

    def value(self, y: Floats, score: Floats) -> Floats:
        return np.asarray(logaddexp(0.0, score) - y * score)


@dataclass(frozen=True)
class SoftmaxLoss(Loss):
    """Multiclass log loss: −log of the softmax probability of the correct class; one raw score per class.

    >>> SoftmaxLoss(3).value(np.array([2]), np.zeros((1, 3))).round(4).tolist()
    [1.0986]
    """

    core_name = "softmax"
    link = MULTI_LOGIT
    n_classes: int

    def __post_init__(self) -> None:
        valid = type(self.n_classes) is int and self.n_classes >= 1
        _check_parameter(valid, "n_classes", self.n_classes, "a positive integer")

    def gradient(self, y: Floats, score: Floats) -> Floats:
        gradient = MULTI_LOGIT.mean(score)
        gradient[np.arange(len(y)), y.astype(np.intp)] -= 1.0
        return gradient

    def hessian(self, y: Floats, score: Floats) -> Floats:
        probability = MULTI_LOGIT.mean(score)
        return probability * (1.0 - probability)

    def value(self, y: Floats, score: Floats) -> Floats:
        loss: Floats = logsumexp(score) - score[np.arange(len(y)), y.astype(np.intp)]
        return loss

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        total = chunk_bincount(y.astype(np.intp), weights, self.n_classes)
        return MULTI_LOGIT.score(total / total.sum())


@dataclass(frozen=True)
class ExponentialLoss(_MeanLoss):
    """Exponential loss of AdaBoost for two classes: exp(−score) for the second class, exp(score) else.

    >>> ExponentialLoss().value(np.array([1, 0]), np.array([0.0, 0.0])).tolist()
    [1.0, 1.0]
    """

    core_name = "exponential"
    link = HALF_LOGIT

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return np.where(y > 0, 1.0, -1.0) * self.value(y, score) * -1.0

    def hessian(self, y: Floats, score: Floats) -> Floats:
        return self.value(y, score)

    def value(self, y: Floats, score: Floats) -> Floats:
        return _exp(-np.where(y > 0, 1.0, -1.0) * score)


def weighted_quantile(values: Floats, weights: Floats | None, fraction: float) -> float:
    """Value below which the given fraction of the weight lies; the midpoint of two if both qualify.

    >>> weighted_quantile(np.array([4.0, 1.0, 3.0]), np.array([1.0, 1.0, 2.0]), 0.5)
    3.0
    """
    order = np.argsort(values, kind="stable")
    if weights is not None:
        order = order[weights[order] > 0]
    below = np.arange(1.0, len(order) + 1) if weights is None else np.cumsum(weights[order])
    position = int(np.searchsorted(below, fraction * below[-1]))
    first = float(values[order[min(position, len(order) - 1)]])
    if position + 1 < len(order) and below[position] == fraction * below[-1]:
        return 0.5 * first + 0.5 * float(values[order[position + 1]])
    return first


def _check_parameter(valid: bool, name: str, value: object, expected: str) -> None:
    if not valid:
        raise ModelFileError(f"{name} is {show_value(value)}; it must be {expected}.")
