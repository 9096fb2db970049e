"""Rows as units to draw for: a row of weight 3 is three units, and where a row stands does not matter.

Noise is drawn unit by unit in an order that follows from what the rows hold. So a row of weight 3 gets the
same noise as three equal rows, a row of weight 0 the same as none, and shuffling the table changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.bagging.sampling import row_order
from spinney.core.errors import InputError
from spinney.members.tables import take_rows

# Beyond so many units the noise of a row has all but averaged out, and a table of them would grow large.
MOST_UNITS = 16


@dataclass(frozen=True)
class Units:
    """Hold the row of each unit, its weight (None: all 1), and the order in which to draw for them.

    All three are (n_units,); units stand in the order of their rows, and ``order`` lists their positions.
    """

    rows: NDArray[np.intp]
    weights: NDArray[np.float64] | None
    order: NDArray[np.intp]
    n_rows: int

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, X: Any) -> Any:
        """Give the table of the units: X itself where each row is one unit."""
        everything = len(self.rows) == self.n_rows and bool((self.rows == np.arange(self.n_rows)).all())
        return X if everything else take_rows(X, self.rows)

    def spread(self, drawn: NDArray[Any]) -> NDArray[Any]:
        """Give what was drawn in ``order`` to the units it was drawn for.  drawn (n_units, …)"""
        spread = np.empty_like(drawn)
        spread[self.order] = drawn
        return spread


def make_units(X: Any, target: NDArray[Any], weights: NDArray[np.float64] | None) -> Units:
    """Divide each row into as many units as its weight says, rounded up, all of one weight.

    target (n_rows,) or (n_rows, n_outputs); weights (n_rows,).

    >>> units = make_units([[1.0], [2.0]], np.array([0, 1]), np.array([2.0, 0.5]))
    >>> units.rows.tolist(), units.weights.tolist()
    ([0, 0, 1], [1.0, 1.0, 0.5])
    """
    n_rows = len(target)
    try:
        order = row_order(X, target)
    except InputError:
        # Texts for a vectorizer and the like: members may take what is no table to us.
        order = np.arange(n_rows)
    if weights is None:
        return Units(np.arange(n_rows), None, order, n_rows)
    counts = np.minimum(np.ceil(weights), MOST_UNITS).astype(np.intp)
    rows = np.repeat(np.arange(n_rows), counts)
    each = (weights / np.maximum(counts, 1))[rows]
    rank = np.empty(n_rows, np.intp)
    rank[order] = np.arange(n_rows)
    by_rank = np.argsort(rank[rows], kind="stable")
    return Units(rows, None if (each == 1.0).all() else each, by_rank, n_rows)
