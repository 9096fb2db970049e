"""The algorithms of AdaBoost: what a member is asked for, what it adds to the score, and how weights follow.

All share one score a row. With two classes it is F, half the log-odds of the second; with more it is one
number a class, of which softmax gives the probabilities. Every addition to it is rounded to a multiple of
2^-40, so that scores are sums without rounding, the same in any order.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from spinney.adaboost.row_weights import RowWeights
from spinney.core.errors import InputError

Scores = NDArray[np.float64]  # (n_rows,) for two classes, else (n_rows, n_classes)

_GRID = 2.0**40
_LEAST_ERROR = float(np.finfo(np.float64).eps)
# A probability of 0 would have the last word on a row for ever; so a round is held to about ±7.
_LEAST_PROBABILITY = 2.0**-20
# LogitBoost's steps are held within ±4, and its weights above a least one. To hold the responses themselves
# within limits, as is often done, would drive the score of noisy rows away from their log-odds.
_LONGEST_STEP, _LEAST_CURVATURE = 4.0, 1e-10
# An edge below this is what rounding leaves of none.
_LEAST_EDGE = 1e-10


def on_grid(numbers: Any) -> Any:
    """Round numbers to multiples of 2^-40.

    >>> float(on_grid(0.5 + 2.0**-60))
    0.5
    """
    return np.rint(numbers * _GRID) / _GRID


def log_odds(error: float, n_classes: int, learning_rate: float) -> float:
    """Give ν (ln((1 − ε)/ε) + ln(K − 1)); an error of 0 counts as the least that there is.

    >>> log_odds(0.5, 2, 1.0)
    0.0
    """
    error = max(error, _LEAST_ERROR)
    return learning_rate * (math.log((1.0 - error) / error) + math.log(max(n_classes - 1, 1)))


@dataclass(frozen=True)
class Algorithm:
    """Say how one kind of AdaBoost makes a round, for a number of classes and a learning rate ν.

    ``needs`` is what it asks of a member: classes, probabilities, or values of a regression.
    """

    n_classes: int
    learning_rate: float
    needs: ClassVar[Literal["classes", "probabilities", "values"]]
    # Whether the errors bound the exponential loss, whether no error ends the ensemble.
    has_bounds: ClassVar[bool] = True
    ends_when_perfect: ClassVar[bool] = True

    @property
    def chance(self) -> float:
        """Give the error of a guess; a member must do better."""
        return 1.0 - 1.0 / self.n_classes

    def weight(self, error: float) -> float:
        """Give the weight of a member's answers in the score."""
        return self.learning_rate

    def most(self, weight: float) -> float:
        """Give the most that a member of this weight can add to a margin; 0 where there is no such limit."""
        return 0.0

    def is_useless(self, error: float, contribution: Scores | None = None) -> bool:
        """Tell whether a member does no better than a guess."""
        return error >= self.chance - _LEAST_EDGE

    @abstractmethod
    def contribution(self, output: NDArray[Any], weight: float) -> Scores:
        """Give what a member with this output adds to the score of each row."""

    @abstractmethod
    def wrong(self, output: NDArray[Any], codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Mark the rows whose class is not the one the output is for."""

    def reweight(
        self,
        weights: RowWeights,
        contribution: Scores,
        wrong: NDArray[np.bool_],
        weight: float,
        codes: NDArray[np.int32],
    ) -> None:
        """Shift weight to the rows that a member got wrong: each is divided by exp of what its class got."""
        weights.multiply(np.exp(-own_score(contribution, codes)))


class Vote(Algorithm):
    """Let members vote for a class, each with a weight of its own."""

    needs: ClassVar[Literal["classes", "probabilities", "values"]] = "classes"

    def most(self, weight: float) -> float:
        """Give the most that a vote can add to a margin."""
        return weight / 2 if self.n_classes <= 2 else weight

    def factor(self, weight: float) -> float:
        """Give the factor by which the weight of a wrong row grows relative to that of a right one."""
        return float(np.exp(weight))

    def contribution(self, output: NDArray[Any], weight: float) -> Scores:
        """Give the weight to the class that the vote is for: with two classes ±α/2."""
        if self.n_classes <= 2:
            return np.where(output > 0, weight / 2, -weight / 2)
        return np.asarray(weight * (output[:, None] == np.arange(self.n_classes)), np.float64)

    def wrong(self, output: NDArray[Any], codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Mark the rows whose class did not get the vote."""
        return np.asarray(output != codes)

    def reweight(
        self,
        weights: RowWeights,
        contribution: Scores,
        wrong: NDArray[np.bool_],
        weight: float,
        codes: NDArray[np.int32],
    ) -> None:
        """Shift weight to the rows that the vote was wrong for."""
        weights.multiply_where(wrong, self.factor(weight))


class Samme(Vote):
    """SAMME, Zhu et al. 2009: α = ν (ln((1 − ε)/ε) + ln(K − 1))."""

    def weight(self, error: float) -> float:
        """Give α."""
        return float(on_grid(log_odds(error, self.n_classes, self.learning_rate)))


class Discrete(Vote):
    """Discrete AdaBoost of two classes, Freund and Schapire 1997: α = ½ ν ln((1 − ε)/ε)."""

    def weight(self, error: float) -> float:
        """Give α."""
        return float(on_grid(0.5 * log_odds(error, self.n_classes, self.learning_rate)))

    def most(self, weight: float) -> float:
        """Give the most that a vote can add to a margin."""
        return weight

    def factor(self, weight: float) -> float:
        """Give exp(2α)."""
        return float(np.exp(2.0 * weight))

    def contribution(self, output: NDArray[Any], weight: float) -> Scores:
        """Give ±α."""
        return np.where(output > 0, weight, -weight)


class _Real(Algorithm):
    """Let members add a real number a class, worked out from their probabilities."""

    needs: ClassVar[Literal["classes", "probabilities", "values"]] = "probabilities"

    def wrong(self, output: NDArray[Any], codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        return np.asarray(output.argmax(axis=1) != codes)


class SammeR(_Real):
    """SAMME.R: each class gets ν (ln p_k − mean of ln p); with two classes this is Real AdaBoost."""

    def contribution(self, output: NDArray[Any], weight: float) -> Scores:
        """Give the centred logarithms of the probabilities."""
        logs = np.log(np.clip(output, _LEAST_PROBABILITY, None))
        if self.n_classes <= 2:
            return np.asarray(on_grid(weight * 0.5 * (logs[:, -1] - logs[:, 0])))
        return np.asarray(on_grid(weight * (logs - logs.mean(axis=1, keepdims=True))))


class Gentle(_Real):
    """Gentle AdaBoost of two classes: F grows by ν (P(+) − P(−)), the weighted mean of y = ±1."""

    has_bounds = False
    ends_when_perfect = False

    def contribution(self, output: NDArray[Any], weight: float) -> Scores:
        """Give the difference of the probabilities."""
        return np.asarray(on_grid(weight * (output[:, -1] - output[:, 0])))


class Logit(Algorithm):
    """LogitBoost, Friedman, Hastie and Tibshirani 2000: Newton steps on the logistic loss.

    With two classes one regression a round, of z = (y − p)/(p(1 − p)) with weights p(1 − p); with K classes
    one for each of them.
    """

    needs: ClassVar[Literal["classes", "probabilities", "values"]] = "values"
    has_bounds = False
    ends_when_perfect = False

    @property
    def n_regressions(self) -> int:
        """Count the regressions of a round."""
        return 1 if self.n_classes <= 2 else self.n_classes

    def responses(
        self, scores: Scores, codes: NDArray[np.int32]
    ) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Give the responses z and the weights of each regression of the round, (n_rows,) each."""
        p = probabilities(scores, self.n_classes)
        found = []
        for k in range(self.n_classes - self.n_regressions, self.n_classes):
            curvature = np.maximum(p[:, k] * (1.0 - p[:, k]), _LEAST_CURVATURE)
            found.append((((codes == k) - p[:, k]) / curvature, curvature))
        return found

    def contribution(self, output: NDArray[Any], weight: float) -> Scores:
        """Take the fitted responses (n_rows, n_regressions); those of K classes are made to add up to 0."""
        step, k = np.clip(output, -_LONGEST_STEP, _LONGEST_STEP), self.n_classes
        if self.n_regressions == 1:
            return np.asarray(on_grid(weight * 0.5 * step[:, 0]))
        return np.asarray(on_grid(weight * (k - 1) / k * (step - step.mean(axis=1, keepdims=True))))

    def is_useless(self, error: float, contribution: Scores | None = None) -> bool:
        """Tell whether the regressions found nothing."""
        return contribution is not None and not contribution.any()

    def wrong(self, output: NDArray[Any], codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Mark the rows whose class the regressions speak against."""
        answer = output[:, 0] > 0 if self.n_regressions == 1 else output.argmax(axis=1)
        return np.asarray(answer != codes)


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
    """Look an algorithm up by its name; an error if it is one for two classes and there are more.

    >>> find_algorithm("samme", 3, 1.0).chance
    0.6666666666666667
    """
    if n_classes > 2 and name in _TWO_CLASSES:
        raise InputError(
            f"algorithm={name!r} is for two classes, and y has {n_classes}",
            fix=f"Its counterpart for many is '{_TWO_CLASSES[name]}'.",
        )
    return _ALGORITHMS[name](n_classes, learning_rate)


# ---- reading a score ----


def no_score(n_rows: int, n_classes: int) -> Scores:
    """Give the score before the first round."""
    return np.zeros(n_rows) if n_classes <= 2 else np.zeros((n_rows, n_classes))


def own_score(scores: Scores, codes: NDArray[np.int32]) -> NDArray[np.float64]:
    """Give the score of each row's own class, those of all classes adding up to 0.  -> (n_rows,)"""
    if scores.ndim == 1:
        return np.where(codes == 1, scores, -scores)
    return np.asarray(scores[np.arange(len(codes)), codes] - scores.mean(axis=1))


def score_margin(scores: Scores, codes: NDArray[np.int32]) -> NDArray[np.float64]:
    """Give by how much each row's own class leads the best other, y·F for two classes.  -> (n_rows,)"""
    if scores.ndim == 1:
        return np.where(codes == 1, scores, -scores)
    rows = np.arange(len(codes))
    others = scores.copy()
    others[rows, codes] = -np.inf
    return np.asarray(scores[rows, codes] - others.max(axis=1))


def choose_class(scores: Scores) -> NDArray[np.intp]:
    """Give the code of the class that leads, the first if several do.  -> (n_rows,)"""
    return np.asarray(scores > 0, np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


def probabilities(scores: Scores, n_classes: int) -> NDArray[np.float64]:
    """Give the probability of each class.  -> (n_rows, n_classes)

    >>> probabilities(np.array([0.0]), 2).tolist()
    [[0.5, 0.5]]
    """
    if n_classes == 1:
        return np.ones((len(scores), 1))
    if scores.ndim == 1:
        return np.stack([expit(-2.0 * scores), expit(2.0 * scores)], axis=1)
    return np.asarray(softmax(scores, axis=1))
