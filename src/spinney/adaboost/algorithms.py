"""The algorithms of AdaBoost: what members predict, what they add to the scores, and how rows are reweighted.

With two classes the score of a row is F, half the log-odds of the second class; with more there is one score
per class, and softmax of the scores gives the probabilities. Every term is rounded to a multiple of 2^-40, so
that sums of scores are exact in any order.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from spinney.core.elementary import exp, expit, log, softmax
from spinney.core.errors import InputError

Scores = NDArray[np.float64]  # (n_rows,) for two classes, else (n_rows, n_classes)

_GRID = 2.0**40
_MIN_ERROR = float(np.finfo(np.float64).eps)
# Probabilities are clipped, so that the term of a round is at most about ±7: a probability of 0 would decide
# a row for ever.
_MIN_PROBABILITY = 2.0**-20
# LogitBoost clips its steps to ±4 and its weights from below. Clipping the working responses, as is often
# done, would bias the scores of noisy rows.
_MAX_STEP, _MIN_CURVATURE = 4.0, 1e-10
# Edges below this are rounding noise.
_MIN_EDGE = 1e-10
# The total of RowWeights is rescaled to about 2^48 steps when it exceeds 2^53, above which floats round sums,
# or falls below 2^44.
RESCALED_EXPONENT, MAX_TOTAL, MIN_TOTAL = 48, 2.0**53, 2.0**44
_MIN_SIZE = 1e-300
_MAX_COPIES = 2.0**30


def on_grid(values: Any) -> Any:
    """Round values to multiples of 2^-40.

    >>> float(on_grid(0.5 + 2.0**-60))
    0.5
    """
    return np.rint(values * _GRID) / _GRID


def log_odds(error: float, n_classes: int, learning_rate: float) -> float:
    """Return ν (ln((1 − ε)/ε) + ln(K − 1)); errors are at least the machine epsilon away from 0 and 1.

    >>> log_odds(0.5, 2, 1.0)
    0.0
    """
    error = min(max(error, _MIN_ERROR), 1.0 - _MIN_ERROR)
    return learning_rate * float(log((1.0 - error) / error) + log(max(n_classes - 1, 1)))


# ---- row weights ----


class RowWeights:
    """Weights of the rows as integer numbers of steps, so that sums are exact in any order.

    A row of integer weight w is bit-equal to w copies of the row. ``size`` is the weight of one copy in
    steps, not rounded; a row with a weight never has fewer than one step.

    >>> weights = RowWeights(np.array([2.0, 1.0, 1.0]))
    >>> weights.fraction(np.array([True, False, False]))
    0.5
    >>> weights.multiply_where(np.array([True, False, False]), 3.0)
    >>> weights.fraction(np.array([True, False, False]))
    0.75
    """

    def __init__(self, initial: NDArray[np.float64]) -> None:
        is_integer = bool((initial == np.floor(initial)).all()) and float(initial.sum()) <= _MAX_COPIES
        self.copies = initial.astype(np.int64) if is_integer else (initial > 0).astype(np.int64)
        self.size = np.where(initial > 0, 1.0 if is_integer else initial, 0.0)
        self.initial_total = float(initial.sum())
        self._rescale(self.initial_total)

    def _rescale(self, total: float) -> None:
        """Scale a total of about ``total`` steps to about 2^48 by a power of two, which rounds no size."""
        shift = RESCALED_EXPONENT - math.frexp(total)[1]
        self.size = np.where(self.copies > 0, np.maximum(np.ldexp(self.size, shift), _MIN_SIZE), 0.0)
        self._count()

    def _count(self) -> None:
        self.steps: NDArray[np.int64] = self.copies * np.maximum(np.rint(self.size), 1.0).astype(np.int64)
        self.total = int(self.steps.sum())

    @property
    def values(self) -> NDArray[np.float64]:
        """Weights as floats with the same sum as the initial weights.  (n_rows,)"""
        return np.multiply(self.steps, self.initial_total / self.total, dtype=np.float64)

    def fraction(self, rows: NDArray[np.bool_]) -> float:
        """Return the fraction of the weight that the marked rows have."""
        return int(self.steps[rows].sum()) / self.total

    def mean(self, values: NDArray[np.float64]) -> float:
        """Return the weighted mean of values (n_rows,)."""
        counted = self.copies > 0  # held-out rows must not change the rounding of the sum
        return float((self.steps[counted] * values[counted]).sum()) / self.total

    def multiply_where(self, rows: NDArray[np.bool_], factor: float) -> None:
        """Multiply the weight of the marked rows."""
        marked = int(self.steps[rows].sum())
        self.size[rows] *= factor
        self._settle((self.total - marked) + marked * factor)

    def multiply(self, factors: NDArray[np.float64]) -> None:
        """Multiply the weights by factors (n_rows,)."""
        self.size *= factors
        self._settle(float((self.copies * self.size).sum()))

    def __copy__(self) -> RowWeights:
        other = object.__new__(RowWeights)
        vars(other).update(vars(self), size=self.size.copy())  # the only array that is changed in place
        return other

    def scaled(self, factors: NDArray[np.float64]) -> RowWeights:
        """Return a copy with the weights multiplied by factors (n_rows,)."""
        other = copy(self)
        other.multiply(factors)
        return other

    def _settle(self, total: float) -> None:
        if MIN_TOTAL <= total < MAX_TOTAL:
            self._count()
        else:
            self._rescale(total)


# ---- algorithms ----


@dataclass(frozen=True)
class Algorithm:
    """Base class of the algorithms, for a number of classes and a learning rate ν.

    ``needs`` is what members predict: classes, probabilities, or values of a regression.
    """

    n_classes: int
    learning_rate: float
    needs: ClassVar[Literal["classes", "probabilities", "values"]]
    # Whether the errors bound the exponential loss, and whether a member without errors ends boosting.
    has_bounds: ClassVar[bool] = True
    ends_when_perfect: ClassVar[bool] = True

    @property
    def chance(self) -> float:
        """Error of random guessing; a member must have a smaller one."""
        return 1.0 - 1.0 / self.n_classes

    def weight(self, error: float) -> float:
        """Return the weight of a member with this error."""
        return self.learning_rate

    def max_margin(self, weight: float) -> float:
        """Return the largest margin that a member of this weight can add; 0 where there is no limit."""
        return 0.0

    def is_useless(self, error: float, contribution: Scores | None = None) -> bool:
        """Return True if a member is no better than chance."""
        return error >= self.chance - _MIN_EDGE

    def decision_scale(self, weights: NDArray[np.float64]) -> float:
        """Return the ratio of ``decision_function`` to the centred scores, given the members' weights."""
        return 1.0

    def decisions(self, scores: Scores, weights: NDArray[np.float64]) -> Scores:
        """Return ``decision_function`` for scores, the sums of members with these weights."""
        return scores if scores.ndim == 1 else scores - scores.mean(axis=1, keepdims=True)

    @abstractmethod
    def contribution(self, output: NDArray[Any], weight: Any) -> Scores:
        """Return what a member with this output adds to the score of each row.

        Where the output is of several members, ``weight`` has one number per row, in a column if the scores
        have columns.
        """

    @abstractmethod
    def wrong(self, output: NDArray[Any], codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return a mask of the rows that the output misclassifies."""

    def reweight(
        self,
        weights: RowWeights,
        contribution: Scores,
        wrong: NDArray[np.bool_],
        weight: float,
        codes: NDArray[np.int32],
    ) -> None:
        """Reweight the rows: each weight is divided by exp of what the row's class gained."""
        weights.multiply(exp(-own_score(contribution, codes)))


class Vote(Algorithm):
    """Base class of algorithms whose members vote for a class, each with its weight.

    The weight is a ``share`` of the log-odds.
    """

    needs: ClassVar[Literal["classes", "probabilities", "values"]] = "classes"
    share: ClassVar[float] = 1.0

    def weight(self, error: float) -> float:
        """Return α."""
        return float(on_grid(self.share * log_odds(error, self.n_classes, self.learning_rate)))

    def max_margin(self, weight: float) -> float:
        """Return the largest margin that a vote can add."""
        return weight / 2 if self.n_classes <= 2 else weight

    def factor(self, weight: float) -> float:
        """Return the factor of the weights of misclassified rows."""
        return float(exp(weight / self.share))

    def contribution(self, output: NDArray[Any], weight: Any) -> Scores:
        """Return the weight for the class that is voted for; ±α/2 with two classes."""
        if self.n_classes <= 2:
            return np.asarray(np.where(output > 0, weight / 2, -weight / 2))
        return np.asarray(weight * (output[:, None] == np.arange(self.n_classes)), np.float64)

    def wrong(self, output: NDArray[Any], codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return a mask of the rows whose class did not get the vote."""
        return np.asarray(output != codes)

    def reweight(
        self,
        weights: RowWeights,
        contribution: Scores,
        wrong: NDArray[np.bool_],
        weight: float,
        codes: NDArray[np.int32],
    ) -> None:
        """Multiply the weights of misclassified rows."""
        weights.multiply_where(wrong, self.factor(weight))


class Samme(Vote):
    """SAMME, Zhu et al. 2009: α = ν (ln((1 − ε)/ε) + ln(K − 1))."""

    def decision_scale(self, weights: NDArray[np.float64]) -> float:
        """Return 4/Σα, or K/((K − 1) Σα) with more than two classes."""
        total = self.total_vote(weights)
        return 4.0 / total if self.n_classes <= 2 else self.n_classes / (self.n_classes - 1) / total

    def decisions(self, scores: Scores, weights: NDArray[np.float64]) -> Scores:
        """Return scikit-learn's decision function: a class gets α or −α/(K − 1), divided by Σα."""
        total = self.total_vote(weights)
        if self.n_classes <= 2:
            return scores * 4.0 / total
        return np.asarray((scores * self.n_classes - total) / ((self.n_classes - 1) * total))

    def total_vote(self, weights: NDArray[np.float64]) -> float:
        """Return Σα; 1 if all members have weight 0."""
        return float(weights.sum()) or 1.0


class Discrete(Vote):
    """Discrete AdaBoost of two classes, Freund and Schapire 1997: α = ½ ν ln((1 − ε)/ε)."""

    share = 0.5

    def max_margin(self, weight: float) -> float:
        """Return the largest margin that a vote can add."""
        return weight

    def contribution(self, output: NDArray[Any], weight: Any) -> Scores:
        """Return ±α."""
        return np.asarray(np.where(output > 0, weight, -weight))


class _Real(Algorithm):
    """Base class of algorithms whose members add a real number per class, from their probabilities."""

    needs: ClassVar[Literal["classes", "probabilities", "values"]] = "probabilities"

    def wrong(self, output: NDArray[Any], codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        return np.asarray(output.argmax(axis=1) != codes)


class SammeR(_Real):
    """SAMME.R: each class gets ν (ln p_k − mean of ln p); with two classes this is Real AdaBoost."""

    def contribution(self, output: NDArray[Any], weight: Any) -> Scores:
        """Return the centred logarithms of the probabilities."""
        logs = log(np.clip(output, _MIN_PROBABILITY, None))
        if self.n_classes <= 2:
            return np.asarray(on_grid(weight * 0.5 * (logs[:, -1] - logs[:, 0])))
        return np.asarray(on_grid(weight * (logs - logs.mean(axis=1, keepdims=True))))


class Gentle(_Real):
    """Gentle AdaBoost of two classes: F grows by ν (P(+) − P(−)), the weighted mean of y = ±1."""

    has_bounds = False
    ends_when_perfect = False

    def contribution(self, output: NDArray[Any], weight: Any) -> Scores:
        """Return the difference of the probabilities."""
        return np.asarray(on_grid(weight * (output[:, -1] - output[:, 0])))


class Logit(Algorithm):
    """LogitBoost, Friedman, Hastie and Tibshirani 2000: Newton steps on the logistic loss.

    With two classes one regression per round, of z = (y − p)/(p(1 − p)) with weights p(1 − p); with K classes
    one for each of them.
    """

    needs: ClassVar[Literal["classes", "probabilities", "values"]] = "values"
    has_bounds = False
    ends_when_perfect = False

    @property
    def n_regressions(self) -> int:
        """Number of regressions per round."""
        return 1 if self.n_classes <= 2 else self.n_classes

    def responses(
        self, scores: Scores, codes: NDArray[np.int32]
    ) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Return working responses z and weights, (n_rows,) each, of every regression of the round."""
        p = probabilities(scores, self.n_classes)
        tasks = []
        for k in range(self.n_classes - self.n_regressions, self.n_classes):
            curvature = np.maximum(p[:, k] * (1.0 - p[:, k]), _MIN_CURVATURE)
            tasks.append((((codes == k) - p[:, k]) / curvature, curvature))
        return tasks

    def contribution(self, output: NDArray[Any], weight: Any) -> Scores:
        """Return the clipped fitted responses (n_rows, n_regressions); centred over more than two classes."""
        step, k = np.clip(output, -_MAX_STEP, _MAX_STEP), self.n_classes
        if self.n_regressions == 1:
            return np.asarray(on_grid(weight * 0.5 * step[:, 0]))
        return np.asarray(on_grid(weight * (k - 1) / k * (step - step.mean(axis=1, keepdims=True))))

    def is_useless(self, error: float, contribution: Scores | None = None) -> bool:
        """Return True if every regression is 0."""
        return contribution is not None and not contribution.any()

    def wrong(self, output: NDArray[Any], codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return a mask of the rows that the regressions misclassify."""
        predicted = output[:, 0] > 0 if self.n_regressions == 1 else output.argmax(axis=1)
        return np.asarray(predicted != codes)


_ALGORITHMS: dict[str, type[Algorithm]] = {
    "discrete": Discrete,
    "samme": Samme,
    "samme.r": SammeR,
    "real": SammeR,
    "gentle": Gentle,
    "logit": Logit,
}
NAMES = tuple(_ALGORITHMS)
_TWO_CLASSES = {"discrete": "samme", "real": "samme.r", "gentle": "samme.r' or 'logit"}


def find_algorithm(name: str, n_classes: int, learning_rate: float) -> Algorithm:
    """Return the algorithm of a name; raise InputError if it is for two classes and there are more.

    >>> find_algorithm("samme", 3, 1.0).chance
    0.6666666666666667
    """
    if n_classes > 2 and name in _TWO_CLASSES:
        raise InputError(
            f"algorithm={name!r} is for two classes, but y has {n_classes}",
            fix=f"Its counterpart for more classes is '{_TWO_CLASSES[name]}'.",
        )
    return _ALGORITHMS[name](n_classes, learning_rate)


# ---- scores ----


def zero_scores(n_rows: int, n_classes: int) -> Scores:
    """Return the scores before the first round."""
    return np.zeros(n_rows) if n_classes <= 2 else np.zeros((n_rows, n_classes))


def own_score(scores: Scores, codes: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the centred score of the true class of each row.  -> (n_rows,)"""
    if scores.ndim == 1:
        return np.where(codes == 1, scores, -scores)
    return np.asarray(scores[np.arange(len(codes)), codes] - scores.mean(axis=1))


def score_margin(scores: Scores, codes: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the score of the true class minus the best other; y·F for two classes.  -> (n_rows,)"""
    if scores.ndim == 1:
        return np.where(codes == 1, scores, -scores)
    rows = np.arange(len(codes))
    others = scores.copy()
    others[rows, codes] = -np.inf
    return np.asarray(scores[rows, codes] - others.max(axis=1))


def choose_class(scores: Scores) -> NDArray[np.intp]:
    """Return the code of the class with the largest score, the first of equal ones.  -> (n_rows,)"""
    return np.asarray(scores > 0, np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


def probabilities(scores: Scores, n_classes: int) -> NDArray[np.float64]:
    """Return class probabilities.  -> (n_rows, n_classes)

    >>> probabilities(np.array([0.0]), 2).tolist()
    [[0.5, 0.5]]
    """
    if n_classes == 1:
        return np.ones((len(scores), 1))
    if scores.ndim == 1:
        return np.stack([expit(-2.0 * scores), expit(2.0 * scores)], axis=1)
    return np.asarray(softmax(scores))
