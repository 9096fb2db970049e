"""Losses: what gradient boosting lowers; for each its gradient, hessian, best constant, link and targets."""

# ruff: noqa: D102  (what the methods do is said once, in Loss)

from __future__ import annotations

from dataclasses import dataclass, is_dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from spinney.core.errors import InputError, ModelFileError, show_value
from spinney.io import Persistent
from spinney.losses.links import HALF_LOGIT, IDENTITY, LOG, LOGIT, MULTI_LOGIT, Floats, Link

# The best constant is looked for up to 2 to this power, and to its negative.
_DOUBLINGS = 60
_HUBER_STEPS = 100
_HUBER_TOLERANCE = 1e-12


class Loss(Persistent):
    """Be the base of every loss; a loss of your own needs ``gradient`` and ``hessian``, the rest is optional.

    ``y`` (n_rows,) are the targets, in classification the numbers 0, 1, … of the sorted classes. ``score``
    is what the trees add up to: (n_rows,) in regression and for two classes, (n_rows, n_classes) for more.
    Both methods give an array of the shape of ``score``: the first and second derivative of a row's loss by
    its score. Row weights are applied outside.

    >>> class LogCosh(Loss):
    ...     def gradient(self, y, score):
    ...         return np.tanh(score - y)
    ...     def hessian(self, y, score):
    ...         return 1 - np.tanh(score - y) ** 2
    >>> LogCosh().constant(np.array([1.0, 1.0]), None).round(6).tolist()
    [1.0]

    Optional: ``value`` (a row's loss, for early stopping and ``train_score_``), ``constant`` (the score to
    start from), ``link`` (from score to mean) and ``check_target``. A loss that is a dataclass, or whose
    attributes are plain, can be saved in a model file.
    """

    core_name: ClassVar[str] = ""
    """The name under which the compiled core knows the loss; empty for a loss of your own."""
    link: ClassVar[Link | None] = None
    """From score to mean. None is the identity in regression, the logistic function in classification."""

    @property
    def parameter(self) -> float:
        """Give the one number that the loss depends on, 0 where there is none."""
        return 0.0

    def gradient(self, y: Floats, score: Floats) -> Floats:
        """Give the derivative of each row's loss by its score."""
        raise NotImplementedError(f"{type(self).__name__} must define gradient(y, score).")

    def hessian(self, y: Floats, score: Floats) -> Floats:
        """Give the second derivative of each row's loss by its score, at least 0."""
        raise NotImplementedError(f"{type(self).__name__} must define hessian(y, score).")

    def value(self, y: Floats, score: Floats) -> Floats:
        """Give the loss of each row.  -> (n_rows,)"""
        raise NotImplementedError(f"{type(self).__name__} does not define value(y, score).")

    @property
    def has_value(self) -> bool:
        """Tell whether the loss of a row can be computed, or only its derivatives."""
        return type(self).value is not Loss.value

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        """Give the score that is best for all rows together: where their gradients add up to 0.

        -> (n_scores,). A loss whose gradients never do starts from 0.
        """

        def slope(score: float) -> float:
            return float(np.average(self.gradient(y, np.full(len(y), score)), weights=weights))

        at_zero = slope(0.0)
        for exponent in range(-_DOUBLINGS, _DOUBLINGS):
            end = -np.sign(at_zero) * 2.0**exponent
            if slope(end) * at_zero <= 0:
                return np.array([brentq(slope, min(0.0, end), max(0.0, end))])
        return np.zeros(1)

    def check_target(self, y: Floats, weights: Floats | None) -> None:
        """Raise InputError for targets that the loss does not take."""

    def mean_value(self, y: Floats, score: Floats, weights: Floats | None) -> float:
        """Give the weighted mean of the rows' losses."""
        return float(np.average(self.value(y, score), weights=weights))

    def _get_state(self) -> dict[str, Any]:
        return super()._get_state() if is_dataclass(self) else dict(vars(self))

    def _set_state(self, state: dict[str, Any]) -> None:
        if is_dataclass(self):
            super()._set_state(state)
        else:
            self.__dict__.update(state)


# ---- regression ----


@dataclass(frozen=True)
class SquaredLoss(Loss):
    """Lower ½ (y − score)²; the best answer is the mean.

    >>> SquaredLoss().gradient(np.array([1.0]), np.array([3.0])).tolist()
    [2.0]
    """

    core_name = "squared"
    link = IDENTITY

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return score - y

    def hessian(self, y: Floats, score: Floats) -> Floats:
        return np.ones_like(score)

    def value(self, y: Floats, score: Floats) -> Floats:
        return 0.5 * (y - score) ** 2

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        return np.array([np.average(y, weights=weights)])


@dataclass(frozen=True)
class AbsoluteLoss(Loss):
    """Lower |y − score|; the best answer is the median.

    >>> AbsoluteLoss().constant(np.array([1.0, 2.0, 90.0]), None).tolist()
    [2.0]
    """

    core_name = "absolute"
    link = IDENTITY

    def gradient(self, y: Floats, score: Floats) -> Floats:
        gradient: Floats = np.sign(score - y)
        return gradient

    def hessian(self, y: Floats, score: Floats) -> Floats:
        return np.ones_like(score)

    def value(self, y: Floats, score: Floats) -> Floats:
        return np.abs(y - score)

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        return np.array([weighted_quantile(y, weights, 0.5)])


@dataclass(frozen=True)
class HuberLoss(Loss):
    """Lower ½ (y − score)² where they are at most ``delta`` apart, and delta·(|y − score| − ½ delta) beyond.

    >>> HuberLoss(delta=1.0).value(np.array([0.0, 0.0]), np.array([1.0, 3.0])).tolist()
    [0.5, 2.5]
    """

    core_name = "huber"
    link = IDENTITY
    delta: float

    def __post_init__(self) -> None:
        _require(0 < self.delta < np.inf, "delta", self.delta, "a number above 0")

    @property
    def parameter(self) -> float:
        """Give the distance from which on the loss is linear."""
        return self.delta

    def gradient(self, y: Floats, score: Floats) -> Floats:
        gradient: Floats = np.clip(score - y, -self.delta, self.delta)
        return gradient

    def hessian(self, y: Floats, score: Floats) -> Floats:
        return np.ones_like(score)

    def value(self, y: Floats, score: Floats) -> Floats:
        distance = np.abs(y - score)
        near = np.minimum(distance, self.delta)
        return near * (distance - 0.5 * near)

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        # From the median on, each step is the mean of what is left once far rows are drawn near.
        best = weighted_quantile(y, weights, 0.5)
        for _ in range(_HUBER_STEPS):
            step = float(np.average(np.clip(y - best, -self.delta, self.delta), weights=weights))
            best += step
            if abs(step) <= _HUBER_TOLERANCE * self.delta:
                break
        return np.array([best])

    @classmethod
    def for_target(cls, y: Floats, weights: Floats | None, share: float = 0.9) -> HuberLoss:
        """Choose delta such that the given share of rows lies within it of the median.

        >>> HuberLoss.for_target(np.arange(11.0), None, share=0.5).delta
        3.0
        """
        distance = np.abs(y - weighted_quantile(y, weights, 0.5))
        delta = weighted_quantile(distance, weights, share) or float(distance.max())
        return cls(delta or 1.0)


@dataclass(frozen=True)
class QuantileLoss(Loss):
    """Lower the pinball loss: quantile·(y − score) above the score, (1 − quantile)·(score − y) below it.

    >>> QuantileLoss(0.9).constant(np.arange(11.0), None).tolist()
    [9.0]
    """

    core_name = "quantile"
    link = IDENTITY
    quantile: float = 0.5

    def __post_init__(self) -> None:
        _require(0 < self.quantile < 1, "quantile", self.quantile, "a number between 0 and 1")

    @property
    def parameter(self) -> float:
        """Give the share of targets that are to lie below the answer."""
        return self.quantile

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return np.where(y > score, -self.quantile, np.where(y < score, 1.0 - self.quantile, 0.0))

    def hessian(self, y: Floats, score: Floats) -> Floats:
        return np.ones_like(score)

    def value(self, y: Floats, score: Floats) -> Floats:
        return np.where(y > score, self.quantile, self.quantile - 1.0) * (y - score)

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        return np.array([weighted_quantile(y, weights, self.quantile)])


class _LogMeanLoss(Loss):
    """Share what losses of positive means have in common: the logarithm as link, the mean as best answer."""

    link = LOG

    @property
    def _word(self) -> str:
        return type(self).core_name.capitalize()

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        return np.log([np.average(y, weights=weights)])

    def check_target(self, y: Floats, weights: Floats | None) -> None:
        _check_least(y, 0.0, True, self._word)
        if np.average(y, weights=weights) <= 0:
            raise InputError(f"Every y is 0, and the {self._word} loss needs some above 0.")


@dataclass(frozen=True)
class PoissonLoss(_LogMeanLoss):
    """Lower the Poisson deviance of counts: exp(score) − y·score.

    >>> PoissonLoss().gradient(np.array([3.0]), np.array([0.0])).tolist()
    [-2.0]
    """

    core_name = "poisson"

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return LOG.mean(score) - y

    def hessian(self, y: Floats, score: Floats) -> Floats:
        return LOG.mean(score)

    def value(self, y: Floats, score: Floats) -> Floats:
        return LOG.mean(score) - y * score


@dataclass(frozen=True)
class GammaLoss(_LogMeanLoss):
    """Lower the gamma deviance of positive targets: score + y·exp(−score).

    >>> GammaLoss().gradient(np.array([2.0]), np.array([0.0])).tolist()
    [-1.0]
    """

    core_name = "gamma"

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return 1.0 - y * LOG.mean(-score)

    def hessian(self, y: Floats, score: Floats) -> Floats:
        return y * LOG.mean(-score)

    def value(self, y: Floats, score: Floats) -> Floats:
        return score + y * LOG.mean(-score)

    def check_target(self, y: Floats, weights: Floats | None) -> None:
        _check_least(y, 0.0, False, self._word)


@dataclass(frozen=True)
class TweedieLoss(_LogMeanLoss):
    """Lower the Tweedie deviance of targets with many zeros; ``power`` is between 1 (Poisson) and 2 (gamma).

    >>> TweedieLoss(1.5).constant(np.array([0.0, 2.0]), None).tolist()
    [0.0]
    """

    core_name = "tweedie"
    power: float = 1.5

    def __post_init__(self) -> None:
        _require(1 < self.power < 2, "power", self.power, "a number between 1 and 2")

    @property
    def parameter(self) -> float:
        """Give the power of the mean to which the variance is proportional."""
        return self.power

    def _parts(self, y: Floats, score: Floats) -> tuple[Floats, Floats]:
        return LOG.mean((2 - self.power) * score), y * LOG.mean((1 - self.power) * score)

    def gradient(self, y: Floats, score: Floats) -> Floats:
        rising, falling = self._parts(y, score)
        return rising - falling

    def hessian(self, y: Floats, score: Floats) -> Floats:
        rising, falling = self._parts(y, score)
        return (2 - self.power) * rising + (self.power - 1) * falling

    def value(self, y: Floats, score: Floats) -> Floats:
        rising, falling = self._parts(y, score)
        return rising / (2 - self.power) + falling / (self.power - 1)


# ---- classification; y are the codes of the classes ----


@dataclass(frozen=True)
class LogLoss(Loss):
    """Lower −log of the probability given to the right one of two classes.

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
        return np.logaddexp(0.0, score) - y * score

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        return LOGIT.score(np.array([np.average(y, weights=weights)]))


@dataclass(frozen=True)
class SoftmaxLoss(Loss):
    """Lower −log of the probability given to the right one of ``n_classes`` classes, a score for each.

    >>> SoftmaxLoss(3).value(np.array([2]), np.zeros((1, 3))).round(4).tolist()
    [1.0986]
    """

    core_name = "softmax"
    link = MULTI_LOGIT
    n_classes: int

    def __post_init__(self) -> None:
        _require(type(self.n_classes) is int and self.n_classes >= 1, "n_classes", self.n_classes, "a count")

    def gradient(self, y: Floats, score: Floats) -> Floats:
        gradient = MULTI_LOGIT.mean(score)
        gradient[np.arange(len(y)), y.astype(np.intp)] -= 1.0
        return gradient

    def hessian(self, y: Floats, score: Floats) -> Floats:
        probability = MULTI_LOGIT.mean(score)
        return probability * (1.0 - probability)

    def value(self, y: Floats, score: Floats) -> Floats:
        loss: Floats = logsumexp(score, axis=1) - score[np.arange(len(y)), y.astype(np.intp)]
        return loss

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        total = np.bincount(y.astype(np.intp), weights=weights, minlength=self.n_classes)
        return MULTI_LOGIT.score(total / total.sum())


@dataclass(frozen=True)
class ExponentialLoss(Loss):
    """Lower exp(−score) for the second of two classes and exp(score) for the first, as AdaBoost does.

    >>> ExponentialLoss().value(np.array([1, 0]), np.array([0.0, 0.0])).tolist()
    [1.0, 1.0]
    """

    core_name = "exponential"
    link = HALF_LOGIT

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return _sign(y) * self.value(y, score) * -1.0

    def hessian(self, y: Floats, score: Floats) -> Floats:
        return self.value(y, score)

    def value(self, y: Floats, score: Floats) -> Floats:
        return LOG.mean(-_sign(y) * score)

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        return HALF_LOGIT.score(np.array([np.average(y, weights=weights)]))


# ---- what several losses use ----


def weighted_quantile(values: Floats, weights: Floats | None, share: float) -> float:
    """Give the value below which the given share of the weight lies; the middle of two if both are.

    >>> weighted_quantile(np.array([4.0, 1.0, 3.0]), np.array([1.0, 1.0, 2.0]), 0.5)
    3.0
    """
    order = np.argsort(values, kind="stable")
    if weights is not None:
        order = order[weights[order] > 0]
    below = np.arange(1.0, len(order) + 1) if weights is None else np.cumsum(weights[order])
    place = int(np.searchsorted(below, share * below[-1]))
    first = float(values[order[min(place, len(order) - 1)]])
    if place + 1 < len(order) and below[place] == share * below[-1]:
        return 0.5 * first + 0.5 * float(values[order[place + 1]])
    return first


def _sign(y: Floats) -> Floats:
    return np.where(y > 0, 1.0, -1.0)


def _check_least(y: Floats, least: float, included: bool, loss: str) -> None:
    bad = (y < least) if included else (y <= least)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"y is {show_value(float(y[row]))}, but the {loss} loss takes targets "
            f"{'of at least' if included else 'above'} {least:g} only,",
            row=row,
            fix='Use loss="squared_error", or correct the target.',
        )


def _require(condition: Any, name: str, value: object, takes: str) -> None:
    if not condition:
        raise ModelFileError(f"{name} is {show_value(value)}; it takes {takes}.")
