"""Measures of two members, for all pairs at once: each gives a symmetric matrix (n_members, n_members)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.core.errors import InputError, show_values
from spinney.diversity.counting import PairCounts, PairTable, count_pairs, pair_table
from spinney.diversity.votes import Votes, read_votes

Matrix = NDArray[np.float64]


def disagreement(predictions: Any, y: Any = None, *, X: Any = None, sample_weight: Any = None) -> Matrix:
    """Give the share of rows that two members answer differently, (b + c) / m; 0 to 1, more is more diverse.

    Without y the answers are labels, of any number of classes; with y they are right or wrong, which is the
    same for two classes. ``predictions`` is a matrix (n_rows, n_members), or a fitted ensemble with ``X``.

    >>> disagreement([["a", "a"], ["a", "b"], ["c", "c"], ["b", "c"]]).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    return disagreement_of(_count(predictions, y, X, sample_weight))


def kappa(predictions: Any, y: Any = None, *, X: Any = None, sample_weight: Any = None) -> Matrix:
    """Give κ = (p1 − p2) / (1 − p2): the agreement p1 of two members beyond p2, that by chance alone.

    p2 is the sum over classes of the product of both members' shares of votes. 1 is full agreement, 0 no more
    than by chance, below 0 less; less is more diverse. Without y the answers are labels, of any number of
    classes; with y they are right or wrong. Where p2 = 1 (both always give one and the same answer) κ is 1.

    >>> kappa([[1, 1], [1, 1], [0, 0], [1, 0]]).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    return kappa_of(_count(predictions, y, X, sample_weight))


def correlation(predictions: Any, y: Any = None, *, X: Any = None, sample_weight: Any = None) -> Matrix:
    """Give ρ = (ad − bc) / √((a+b)(a+c)(c+d)(b+d)), the correlation of two members; less is more diverse.

    With y the table a, b, c, d counts who is right; without, it counts the labels, of which there must be two
    (either may be called "+"). A member that always gives the same answer has no correlation: ρ is then 1
    where both always agree, −1 where they never do, and 0 otherwise.

    >>> correlation([[1, 1], [1, 0], [0, 1], [0, 0]]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return correlation_of(_two_class_table(predictions, y, X, sample_weight))


def q_statistic(predictions: Any, y: Any = None, *, X: Any = None, sample_weight: Any = None) -> Matrix:
    """Give Yule's Q = (ad − bc) / (ad + bc) of two members; it has the sign of ρ, and |Q| ≥ |ρ|.

    The table is that of :func:`correlation`, and so are the values where ad + bc = 0, which is where a member
    always gives the same answer.

    >>> q_statistic([[1, 1], [1, 1], [1, 1], [1, 0], [0, 1], [0, 0]]).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    return q_statistic_of(_two_class_table(predictions, y, X, sample_weight))


def double_fault(predictions: Any, y: Any, *, X: Any = None, sample_weight: Any = None) -> Matrix:
    """Give the share of rows that both of two members get wrong; less is better. The diagonal is their error.

    >>> double_fault([["a", "a"], ["b", "b"], ["b", "c"], ["a", "c"]], ["a", "a", "a", "a"]).tolist()
    [[0.5, 0.5], [0.5, 0.75]]
    """
    counts = count_pairs(judge(read_votes(predictions, y, X, sample_weight), y))
    return double_fault_of(counts)


def pair_mean(matrix: ArrayLike) -> float:
    """Average a pairwise measure over the pairs of different members.

    >>> pair_mean([[1.0, 0.25, 0.5], [0.25, 1.0, 0.75], [0.5, 0.75, 1.0]])
    0.5
    """
    square = np.asarray(matrix, dtype=np.float64)
    if square.ndim != 2 or square.shape[0] != square.shape[1]:
        raise InputError(f"A pairwise measure is a square matrix; this one has the shape {square.shape}.")
    if len(square) < 2:
        raise InputError("There are no pairs to average over: the ensemble has fewer than two members.")
    return float(square[np.triu_indices(len(square), 1)].mean())


# ---- from counts ----


def judge(votes: Votes, y: Any) -> Votes:
    """Turn votes for classes into right and wrong ones, for measures that have no other meaning."""
    if y is None:
        raise InputError(
            "This measure is of right and wrong answers, and y is None", fix="Give the true labels as y."
        )
    return votes.judged()


def disagreement_of(counts: PairCounts) -> Matrix:
    """Give the disagreement from counts."""
    return (counts.total - counts.agree) / counts.total


def kappa_of(counts: PairCounts) -> Matrix:
    """Give κ from counts."""
    shares = counts.by_class / counts.total
    observed, by_chance = counts.agree / counts.total, shares @ shares.T
    # Told by counts, not by the rounded 1 − p2: a constant member has all its votes in one class.
    constant = (counts.by_class == counts.total).astype(np.float64)
    no_chance = constant @ constant.T > 0
    return np.where(no_chance, 1.0, (observed - by_chance) / np.where(no_chance, 1.0, 1.0 - by_chance))


def correlation_of(table: PairTable) -> Matrix:
    """Give ρ from the table of two answers."""
    a, b, c, d = table.a, table.b, table.c, table.d
    # Two roots of two factors: four counts multiplied could overflow.
    spread = np.sqrt((a + b) * (c + d)) * np.sqrt((a + c) * (b + d))
    return _ratio(a * d - b * c, spread, table)


def q_statistic_of(table: PairTable) -> Matrix:
    """Give Q from the table of two answers."""
    ad, bc = table.a * table.d, table.b * table.c
    return _ratio(ad - bc, ad + bc, table)


def double_fault_of(counts: PairCounts) -> Matrix:
    """Give the double fault from counts of right and wrong answers."""
    return pair_table(counts).d / counts.total


def _ratio(above: Matrix, below: Matrix, table: PairTable) -> Matrix:
    """Divide; where a member is constant, 1 if the two never differ, −1 if they always do, else 0."""
    defined = below > 0
    never_differ, always_differ = table.b + table.c == 0, table.a + table.d == 0
    otherwise = np.where(never_differ, 1.0, np.where(always_differ, -1.0, 0.0))
    return np.where(defined, above / np.where(defined, below, 1.0), otherwise)


def _count(predictions: Any, y: Any, X: Any, sample_weight: Any) -> PairCounts:
    votes = read_votes(predictions, y, X, sample_weight)
    return count_pairs(votes if y is None else votes.judged())


def _two_class_table(predictions: Any, y: Any, X: Any, sample_weight: Any) -> PairTable:
    votes = read_votes(predictions, y, X, sample_weight)
    if y is not None:
        votes = votes.judged()
    elif len(votes.classes) > 2:
        raise InputError(
            f"This measure is of two answers, and the predictions have {len(votes.classes)} labels: "
            f"{show_values(votes.classes.tolist())}",
            fix="Give the true labels as y, to measure which answers are right.",
        )
    return pair_table(count_pairs(votes))
