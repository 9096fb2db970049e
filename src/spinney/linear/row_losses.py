"""Losses of raw scores, row by row, with their first and second derivatives, for the solvers to minimize."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats, inner_product
from spinney.core.elementary import log
from spinney.native import core


class Derivatives(NamedTuple):
    """Loss summed over rows, its gradient (n_rows, n_outputs), and its second derivatives.

    ``curvature(k, m)`` returns the second derivative of every row in the scores k and m.  (n_rows,)
    """

    value: float
    gradient: Floats
    curvature: Curvature


class Curvature(ABC):
    """Second derivatives of a loss in the scores of a row."""

    @abstractmethod
    def __call__(self, k: int, m: int) -> Floats:
        """Return the second derivative in the scores k and m of every row."""


@dataclass(frozen=True)
class OneScore(Curvature):
    """Second derivatives (n_rows,) of a loss of one score."""

    values: Floats

    def __call__(self, k: int, m: int) -> Floats:
        """Return the second derivatives; there is one score."""
        return self.values


@dataclass(frozen=True)
class _Softmax(Curvature):
    probabilities: Floats
    weights: Floats | None

    def __call__(self, k: int, m: int) -> Floats:
        p = self.probabilities
        values = p[:, k] * ((1.0 - p[:, k]) if k == m else -p[:, m])
        return values if self.weights is None else values * self.weights


@dataclass(frozen=True)
class RowLoss(ABC):
    """Loss of raw scores (n_rows, n_outputs).

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        Targets.
    weights : ndarray of shape (n_rows,) or None
        Row weights.
    offset : ndarray of shape (n_rows,) or None
        Added to the scores.
    n_threads : int
        Number of threads; it does not change a bit of any result.
    """

    y: NDArray[Any]
    weights: Floats | None = None
    offset: Floats | None = None
    n_threads: int = 1

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return 1

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(len(self.y)) if self.weights is None else float(self.weights.sum())

    def every(self, step: int) -> Self:
        """Return the loss of every ``step``-th row."""
        parts: dict[str, Any] = {
            name: value[::step] for name, value in vars(self).items() if isinstance(value, np.ndarray)
        }
        return replace(self, **parts)

    def start(self) -> Floats:
        """Return scores of a constant model.  -> (n_outputs,)"""
        return np.zeros(self.n_outputs)

    @abstractmethod
    def __call__(self, scores: Floats) -> Derivatives:
        """Return the derivatives at scores (n_rows, n_outputs)."""

    def _sum(self, losses: Floats) -> float:
        return float(losses.sum() if self.weights is None else inner_product(self.weights, losses))

    def _weigh(self, values: Floats) -> Floats:
        return values if self.weights is None else values * self.weights

    def _added(self, scores: Floats) -> Floats:
        one = np.ascontiguousarray(scores[:, 0])
        return one if self.offset is None else one + self.offset


@dataclass(frozen=True)
class LogisticLoss(RowLoss):
    """log(1 + exp(−s)) of the class 1, log(1 + exp(s)) of the class 0; y holds 0 and 1."""

    def __call__(self, scores: Floats) -> Derivatives:
        """Return the derivatives at scores (n_rows, n_outputs)."""
        y = np.ascontiguousarray(self.y, np.float64)
        weights = None if self.weights is None else np.ascontiguousarray(self.weights)
        value, gradient, curvature = core.logistic_loss(self._added(scores), y, weights, self.n_threads)
        return Derivatives(value, gradient[:, None], OneScore(curvature))

    def start(self) -> Floats:
        """Return the best constant score."""
        mean = float(self.y.mean() if self.weights is None else np.average(self.y, weights=self.weights))
        mean = min(max(mean, 1e-10), 1 - 1e-10)
        return np.array([log(mean / (1.0 - mean))])


@dataclass(frozen=True)
class MultinomialLoss(RowLoss):
    """Cross-entropy of the softmax; y holds class codes."""

    n_classes: int = 2

    @property
    def n_outputs(self) -> int:
        """Number of classes."""
        return self.n_classes

    def __call__(self, scores: Floats) -> Derivatives:
        """Return the derivatives at scores (n_rows, n_outputs)."""
        codes = np.ascontiguousarray(self.y, np.int32)
        weights = None if self.weights is None else np.ascontiguousarray(self.weights)
        value, probabilities, gradient = core.softmax_loss(scores, codes, weights, self.n_threads)
        return Derivatives(value, gradient, _Softmax(probabilities, weights))


@dataclass(frozen=True)
class SquaredHingeLoss(RowLoss):
    """max(0, 1 − y s)²; y holds −1 and 1."""

    def __call__(self, scores: Floats) -> Derivatives:
        """Return the derivatives at scores (n_rows, n_outputs)."""
        gap: Floats = np.maximum(1.0 - self.y * scores[:, 0], 0.0)
        gradient = self._weigh(np.asarray(-2.0 * self.y * gap, np.float64))
        return Derivatives(
            self._sum(gap * gap), gradient[:, None], OneScore(self._weigh(np.where(gap > 0, 2.0, 0.0)))
        )


@dataclass(frozen=True)
class SquaredTubeLoss(RowLoss):
    """max(0, |y − s| − ε)²."""

    epsilon: float = 0.0

    def __call__(self, scores: Floats) -> Derivatives:
        """Return the derivatives at scores (n_rows, n_outputs)."""
        rest = scores[:, 0] - self.y
        gap = np.maximum(np.abs(rest) - self.epsilon, 0.0)
        gradient = self._weigh(2.0 * np.sign(rest) * gap)
        return Derivatives(
            self._sum(gap * gap), gradient[:, None], OneScore(self._weigh(np.where(gap > 0, 2.0, 0.0)))
        )

    def start(self) -> Floats:
        """Return the best constant score."""
        return np.array([np.average(self.y, weights=self.weights)])


def output_pairs(n_outputs: int) -> Iterator[tuple[int, int]]:
    """Yield the pairs (k, m) with m ≤ k.

    >>> list(output_pairs(2))
    [(0, 0), (1, 0), (1, 1)]
    """
    return ((k, m) for k in range(n_outputs) for m in range(k + 1))
