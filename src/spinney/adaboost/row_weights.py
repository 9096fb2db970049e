"""RowWeights: the distribution over the rows that boosting shifts, kept so that its sums are exact."""

from __future__ import annotations

import math
from copy import copy

import numpy as np
from numpy.typing import NDArray

# The total is brought to 2^48 steps when it has grown to 2^53, beyond which a float would round sums, or when
# it has shrunk below 2^44.
FRESH, MOST, LEAST = 48, 2.0**53, 2.0**44
_SMALLEST_SIZE = 1e-300
_MOST_COPIES = 2.0**30


class RowWeights:
    """Hold a weight for each row as a whole number of steps.

    A row of whole weight w counts as w copies of one row, to the last bit; any sum of steps is exact in any
    order. ``size`` is the weight of one copy as a real number, in steps; a row that counts never has fewer
    than one.

    >>> weights = RowWeights(np.array([2.0, 1.0, 1.0]))
    >>> weights.share(np.array([True, False, False]))
    0.5
    >>> weights.multiply_where(np.array([True, False, False]), 3.0)
    >>> weights.share(np.array([True, False, False]))
    0.75
    """

    def __init__(self, initial: NDArray[np.float64]) -> None:
        whole = bool((initial == np.floor(initial)).all()) and float(initial.sum()) <= _MOST_COPIES
        self.copies = initial.astype(np.int64) if whole else (initial > 0).astype(np.int64)
        self.size = np.where(initial > 0, 1.0 if whole else initial, 0.0)
        self.initial_total = float(initial.sum())
        self._rescale(self.initial_total)

    def _rescale(self, total: float) -> None:
        """Bring a total of about ``total`` steps to about 2^48, by a power of two: no size is rounded."""
        shift = FRESH - math.frexp(total)[1]
        self.size = np.where(self.copies > 0, np.maximum(np.ldexp(self.size, shift), _SMALLEST_SIZE), 0.0)
        self._count()

    def _count(self) -> None:
        self.steps: NDArray[np.int64] = self.copies * np.maximum(np.rint(self.size), 1.0).astype(np.int64)
        self.total = int(self.steps.sum())

    @property
    def values(self) -> NDArray[np.float64]:
        """Give the weights as numbers that add up to the sum of those given at first.  (n_rows,)"""
        return np.multiply(self.steps, self.initial_total / self.total, dtype=np.float64)

    def share(self, rows: NDArray[np.bool_]) -> float:
        """Give the part of all weight that lies on the marked rows."""
        return int(self.steps[rows].sum()) / self.total

    def mean(self, values: NDArray[np.float64]) -> float:
        """Give the weighted mean of a value of each row."""
        counted = self.copies > 0  # a sum of fewer numbers may round otherwise
        return float(self.steps[counted] @ values[counted]) / self.total

    def multiply_where(self, rows: NDArray[np.bool_], factor: float) -> None:
        """Multiply the weight of the marked rows."""
        marked = int(self.steps[rows].sum())
        self.size[rows] *= factor
        self._settle((self.total - marked) + marked * factor)

    def multiply(self, factors: NDArray[np.float64]) -> None:
        """Multiply the weight of each row by a factor of its own."""
        self.size *= factors
        self._settle(float(self.copies @ self.size))

    def scaled(self, factors: NDArray[np.float64]) -> RowWeights:
        """Give other weights of the same rows: these times a factor each."""
        other = copy(self)
        other.size = self.size.copy()
        other.multiply(factors)
        return other

    def _settle(self, total: float) -> None:
        if LEAST <= total < MOST:
            self._count()
        else:
            self._rescale(total)
