"""The κ–error diagram as points: one for each pair of members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.frames import to_frame
from spinney.diversity.counting import PairCounts, count_pairs
from spinney.diversity.pairwise import judge, kappa_of
from spinney.diversity.votes import read_votes


@dataclass(frozen=True, eq=False)
class KappaErrorPoints:
    """Hold one point a pair of members: their κ on labels, and the mean of their two errors.

    ``first`` and ``second`` are the positions of the members, first < second; all are (n_pairs,).

    >>> kappa_error([[1, 1], [1, 0], [0, 0]], [1, 1, 0]).to_frame().shape
    (1, 4)
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    kappa: NDArray[np.float64]
    error: NDArray[np.float64]

    @property
    def mean_kappa(self) -> float:
        """Average κ over the pairs."""
        return float(self.kappa.mean())

    @property
    def mean_error(self) -> float:
        """Average the error over the pairs, which is that over the members."""
        return float(self.error.mean())

    def to_frame(self) -> Any:
        """Give a data frame of one row a pair: first, second, kappa, error."""
        return to_frame(vars(self))


def kappa_error(predictions: Any, y: Any, *, X: Any = None, sample_weight: Any = None) -> KappaErrorPoints:
    """Give the points of the κ–error diagram: a pair of members each, κ on labels against their mean error.

    A cloud further left is of more diverse members, a lower one of more accurate members. ``predictions`` is
    a matrix (n_rows, n_members), or a fitted ensemble with ``X``. ``plotting.plot_kappa_error`` draws them.

    >>> points = kappa_error([[1, 1], [1, 1], [0, 0], [1, 0]], [1, 1, 0, 0])
    >>> points.kappa.tolist(), points.error.tolist()
    ([0.5], [0.125])
    """
    votes = read_votes(predictions, y, X, sample_weight, min_members=2)
    return points_of(count_pairs(votes), errors_of(count_pairs(judge(votes, y))))


def errors_of(judged: PairCounts) -> NDArray[np.float64]:
    """Give each member's error from counts of right and wrong answers.  -> (n_members,)"""
    return judged.by_class[:, 0] / judged.total


def points_of(labels: PairCounts, errors: NDArray[np.float64]) -> KappaErrorPoints:
    """Give the points from counts of labels and the members' errors."""
    first, second = np.triu_indices(len(errors), 1)
    return KappaErrorPoints(
        first, second, kappa_of(labels)[first, second], (errors[first] + errors[second]) / 2
    )
