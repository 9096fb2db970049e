"""The bag of each member: which rows and columns it is given, drawn as a function of (seed, member)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError
from spinney.core.parameters import Whole
from spinney.core.seeds import draw_seeds, draw_word, draw_words, stream
from spinney.io import Persistent
from spinney.native import core

Counts = NDArray[np.int64]
Weights = NDArray[np.float64]

# What a member's seed is used for; each use has a stream of its own.
_ROWS, _COLUMNS, _ESTIMATOR, _PARAMETERS = range(4)
_MOST_DRAWS = 10**9
# Whole weights that add up to more are too large to be meant as counts of rows.
_MOST_COPIES = 10**7


def member_seed(seed: int, t: int) -> int:
    """Give the seed of member t, from which its rows, its columns and its own randomness are drawn.

    >>> member_seed(7, 0) == member_seed(7, 0), member_seed(7, 0) == member_seed(7, 1)
    (True, False)
    """
    return draw_word(seed, t)


def are_counts(weights: Weights | None) -> bool:
    """Tell whether row weights are whole, with a sum of at most 10⁷: a row of weight k is then k rows.

    >>> are_counts(np.array([2.0, 0.0])), are_counts(np.array([0.5, 1.0]))
    (True, False)
    """
    if weights is None:
        return True
    return bool((weights == np.floor(weights)).all()) and float(weights.sum()) <= _MOST_COPIES


def bag_size(max_samples: int | float | None, bootstrap: bool, n_rows: int, weights: Weights | None) -> int:
    """Give how many rows are drawn: a number, or a share of the rows there are, None being all.

    Whole weights count rows: there are as many as their sum. Of other weights, those above 0 are counted.

    >>> bag_size(0.5, True, 8, None), bag_size(None, True, 3, np.array([2.0, 0.0, 5.0]))
    (4, 7)
    """
    if weights is None:
        there_are = n_rows
    else:
        there_are = int(weights.sum()) if are_counts(weights) else int(np.count_nonzero(weights))
    if max_samples is not None and Whole(1).allows(max_samples):
        n_draw = int(max_samples)
    else:
        n_draw = max(1, int((1.0 if max_samples is None else max_samples) * there_are))
    if not bootstrap and n_draw > there_are:
        raise InputError(
            f"max_samples is {n_draw}, but there are {there_are} rows to draw without replacement",
            fix="Set max_samples to a smaller number or a share, or bootstrap=True.",
        )
    if n_draw > max(there_are, _MOST_DRAWS):
        raise InputError(f"max_samples is {n_draw}; it can be no more than {_MOST_DRAWS}.")
    return n_draw


def row_seed(seed: int, t: int) -> int:
    """Give the seed by which the rows of member t are drawn.

    >>> row_seed(7, 0) == member_seed(7, 0)
    False
    """
    return draw_word(member_seed(seed, t), _ROWS)


def make_bag(
    n_rows: int,
    n_draw: int,
    bootstrap: bool,
    *,
    weights: Weights | None = None,
    order: NDArray[np.int64] | None = None,
) -> core.Bag:
    """Say what rows are drawn from: ``bag.draw(seed)`` then gives how often each is drawn.

    Of whole weights each counts copies of its row: with replacement a copy may be drawn again, without it
    may not. By other weights rows are drawn in proportion with replacement, and evenly among those above 0
    without. ``order`` (n_rows,) is that of ``row_order``: by it the draws follow the rows wherever they are.

    >>> int(make_bag(10, n_draw=10, bootstrap=True).draw(0).sum())
    10
    """
    copies, chances = None, None
    if weights is not None and are_counts(weights):
        copies = weights.astype(np.int64)
    elif weights is not None and bootstrap:
        chances = weights
    elif weights is not None:
        copies = (weights > 0).astype(np.int64)
    return core.Bag(n_rows, n_draw, bootstrap, order, copies, chances)


def draw_columns(seed: int, t: int, n_columns: int, n_draw: int, bootstrap: bool) -> NDArray[np.int64]:
    """Draw the columns of member t, ascending; with replacement one may be there twice.  -> (n_draw,)

    >>> draw_columns(0, 0, n_columns=3, n_draw=3, bootstrap=False).tolist()
    [0, 1, 2]
    """
    rng = stream(member_seed(seed, t), _COLUMNS)
    drawn = rng.integers(n_columns, size=n_draw) if bootstrap else rng.permutation(n_columns)[:n_draw]
    return np.sort(drawn).astype(np.int64, copy=False)


@dataclass(frozen=True, eq=False)
class Bags(Persistent):
    """Hold what the bags of all members are drawn from, so that each can be drawn again when it is asked for.

    weights (n_rows,) are those of the user, None if all are 1; order (n_rows,) that of ``row_order``.

    >>> bags = Bags(seed=0, n_rows=4, n_draw=2, bootstrap=False, n_columns=3, n_columns_drawn=2)
    >>> bags.rows(0).shape, bags.columns(0).shape
    ((2,), (2,))
    """

    seed: int
    n_rows: int
    n_draw: int
    bootstrap: bool
    n_columns: int
    n_columns_drawn: int
    bootstrap_columns: bool = False
    weights: Weights | None = None
    order: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        wholes = (self.seed, self.n_rows, self.n_draw, self.n_columns, self.n_columns_drawn)
        valid = all(type(number) is int and number >= 0 for number in wholes)
        valid = valid and self.seed < 2**64 and self.n_rows >= 1
        valid = valid and 1 <= self.n_draw <= max(self.n_rows, _MOST_DRAWS)
        valid = valid and type(self.bootstrap) is bool and type(self.bootstrap_columns) is bool
        valid = valid and (self.bootstrap_columns or self.n_columns_drawn <= self.n_columns)
        if not valid:
            raise ValueError("the numbers of rows and columns to draw are not possible")
        if self.order is not None and not _is_permutation(self.order, self.n_rows):
            raise ValueError("the order of the rows does not name each of them once")
        if self.weights is not None and not _are_weights(self.weights, self.n_rows):
            raise ValueError("the weights of the rows are not finite numbers of at least 0")
        if not self.bootstrap and self.n_draw > bag_size(None, True, self.n_rows, self.weights):
            raise ValueError("more rows are to be drawn than there are")

    @cached_property
    def bag(self) -> core.Bag:
        """Give what rows are drawn from, as the core has it."""
        return make_bag(self.n_rows, self.n_draw, self.bootstrap, weights=self.weights, order=self.order)

    def counts(self, t: int) -> Counts:
        """Give how often member t drew each row.  -> (n_rows,)"""
        return self.bag.draw(row_seed(self.seed, t))

    def expected_counts(self) -> Weights:
        """Give how often a member draws each row on average.  -> (n_rows,)"""
        if self.weights is None:
            chances = np.ones(self.n_rows)
        else:
            # Rows that keep their weights are drawn evenly among those that have any.
            chances = (self.weights > 0).astype(np.float64) if self.carries_weights else self.weights
        scaled = chances / chances.max()  # the sum of large weights may be more than a number can hold
        return np.asarray(scaled * (self.n_draw / scaled.sum()))

    def rows(self, t: int) -> NDArray[np.int64]:
        """Give the rows that member t drew, ascending, one as often as it was drawn.  -> (n_draw,)"""
        return np.repeat(np.arange(self.n_rows), self.counts(t))

    @property
    def carries_weights(self) -> bool:
        """Tell whether drawn rows keep their weights, which then were no chances of being drawn."""
        return not self.bootstrap and not are_counts(self.weights)

    def left_out(self, t: int) -> NDArray[np.int64]:
        """Give the rows with weight that member t did not draw, ascending."""
        unseen = self.counts(t) == 0
        return np.flatnonzero(unseen if self.weights is None else unseen & (self.weights > 0))

    def columns(self, t: int) -> NDArray[np.int64]:
        """Give the columns that member t drew, ascending.  -> (n_columns_drawn,)"""
        return draw_columns(self.seed, t, self.n_columns, self.n_columns_drawn, self.bootstrap_columns)

    def estimator_seed(self, t: int) -> int:
        """Give the seed of what member t itself draws."""
        return draw_word(member_seed(self.seed, t), _ESTIMATOR)

    def forest_seeds(self, numbers: range) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Give for these members the seeds of their rows, and those that their random_state would make."""
        members = draw_words(self.seed, numbers)
        return draw_words(members, _ROWS), draw_seeds(draw_words(members, _ESTIMATOR))

    def parameter_seed(self, t: int) -> int:
        """Give the seed of the random hyper-parameters of member t."""
        return draw_word(member_seed(self.seed, t), _PARAMETERS)

    def same_draws(self, other: Bags) -> bool:
        """Tell whether the other bags are drawn in the same way from the same rows."""
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))


def _is_permutation(order: Any, n_rows: int) -> bool:
    if not isinstance(order, np.ndarray) or order.dtype != np.int64 or order.shape != (n_rows,):
        return False
    inside = bool(((order >= 0) & (order < n_rows)).all())
    return inside and bool((np.bincount(order, minlength=n_rows) == 1).all())


def _are_weights(weights: Any, n_rows: int) -> bool:
    if not isinstance(weights, np.ndarray) or weights.dtype != np.float64 or weights.shape != (n_rows,):
        return False
    return bool((np.isfinite(weights) & (weights >= 0)).all() and weights.any())
