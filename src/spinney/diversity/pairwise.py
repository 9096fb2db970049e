"""Pairwise diversity measures: symmetric matrices (n_members, n_members), and the κ–error diagram."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.core.errors import InputError, show_values
from spinney.core.frames import to_frame
from spinney.diversity.votes import PairCounts, count_pairs, read_votes

Matrix = NDArray[np.float64]


def disagreement(predictions: Any, y: Any = None, *, X: Any = None, sample_weight: Any = None) -> Matrix:
    """Compute the disagreement of each two members: the proportion of rows they predict differently.

    It is (b + c) / m for m rows, where b and c count the rows that only one of the two predicts as the second
    class (without y) or correctly (with y). From 0 to 1; higher is more diverse.

    Parameters
    ----------
    predictions : array-like of shape (n_rows, n_members), or fitted ensemble
        Predicted labels of any number of classes, or an ensemble that predicts them for `X`.
    y : array-like of shape (n_rows,), optional
        True labels. If given, predictions are compared as correct or wrong, otherwise as labels. For two
        classes both are the same.
    X : table, optional
        Rows to predict, if `predictions` is an ensemble.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_members, n_members)
        The disagreement, 0 on the diagonal.

    Examples
    --------
    >>> disagreement([["a", "a"], ["a", "b"], ["c", "c"], ["b", "c"]]).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    return MEASURES["disagreement"](_count(predictions, y, X, sample_weight))


def kappa(predictions: Any, y: Any = None, *, X: Any = None, sample_weight: Any = None) -> Matrix:
    """Compute Cohen's κ = (p1 − p2) / (1 − p2) of each two members.

    p1 is the observed agreement and p2 the agreement expected by chance: the sum over classes of the product
    of both members' proportions of votes. 1 is full agreement, 0 as much as by chance, below 0 less; lower is
    more diverse. κ is 1 where p2 = 1, that is where both always predict one and the same class.

    Parameters
    ----------
    predictions : array-like of shape (n_rows, n_members), or fitted ensemble
        Predicted labels of any number of classes, or an ensemble that predicts them for `X`.
    y : array-like of shape (n_rows,), optional
        True labels. If given, predictions are compared as correct or wrong, otherwise as labels.
    X : table, optional
        Rows to predict, if `predictions` is an ensemble.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_members, n_members)
        κ of each pair, 1 on the diagonal.

    Examples
    --------
    >>> kappa([[1, 1], [1, 1], [0, 0], [1, 0]]).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    return MEASURES["kappa"](_count(predictions, y, X, sample_weight))


def correlation(predictions: Any, y: Any = None, *, X: Any = None, sample_weight: Any = None) -> Matrix:
    """Compute the correlation ρ = (ad − bc) / √((a+b)(a+c)(c+d)(b+d)) of each two members.

    a, b, c and d are the cells of the 2×2 table of the two members. Lower is more diverse. A member that
    always predicts the same has no correlation: ρ is then 1 where both always agree, −1 where they never do,
    and 0 otherwise.

    Parameters
    ----------
    predictions : array-like of shape (n_rows, n_members), or fitted ensemble
        Predicted labels, or an ensemble that predicts them for `X`.
    y : array-like of shape (n_rows,), optional
        True labels. If given, the table counts who is correct; otherwise it counts labels, of which there
        must be two (either may be the positive one).
    X : table, optional
        Rows to predict, if `predictions` is an ensemble.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_members, n_members)
        ρ of each pair, from −1 to 1.

    Examples
    --------
    >>> correlation([[1, 1], [1, 0], [0, 1], [0, 0]]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return MEASURES["correlation"](_count(predictions, y, X, sample_weight, two_classes=True))


def q_statistic(predictions: Any, y: Any = None, *, X: Any = None, sample_weight: Any = None) -> Matrix:
    """Compute Yule's Q = (ad − bc) / (ad + bc) of each two members.

    It has the sign of :func:`correlation`, and its absolute value is at least that of ρ. Lower is more
    diverse. Where ad + bc = 0, a member always predicts the same, and Q is as ρ is there.

    Parameters
    ----------
    predictions : array-like of shape (n_rows, n_members), or fitted ensemble
        Predicted labels, or an ensemble that predicts them for `X`.
    y : array-like of shape (n_rows,), optional
        True labels. If given, the table counts who is correct; otherwise it counts labels, of which there
        must be two.
    X : table, optional
        Rows to predict, if `predictions` is an ensemble.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_members, n_members)
        Q of each pair, from −1 to 1.

    Examples
    --------
    >>> q_statistic([[1, 1], [1, 1], [1, 1], [1, 0], [0, 1], [0, 0]]).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    return MEASURES["q_statistic"](_count(predictions, y, X, sample_weight, two_classes=True))


def double_fault(predictions: Any, y: Any, *, X: Any = None, sample_weight: Any = None) -> Matrix:
    """Compute the proportion of rows that both of two members predict wrongly; lower is better.

    Parameters
    ----------
    predictions : array-like of shape (n_rows, n_members), or fitted ensemble
        Predicted labels of any number of classes, or an ensemble that predicts them for `X`.
    y : array-like of shape (n_rows,)
        True labels.
    X : table, optional
        Rows to predict, if `predictions` is an ensemble.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_members, n_members)
        The double fault of each pair; the errors of the members on the diagonal.

    Examples
    --------
    >>> double_fault([["a", "a"], ["b", "b"], ["b", "c"], ["a", "c"]], ["a", "a", "a", "a"]).tolist()
    [[0.5, 0.5], [0.5, 0.75]]
    """
    return MEASURES["double_fault"](count_pairs(read_votes(predictions, y, X, sample_weight).correctness()))


def pair_mean(matrix: ArrayLike) -> float:
    """Average a pairwise measure over the pairs of different members.

    Parameters
    ----------
    matrix : array-like of shape (n_members, n_members)
        A symmetric matrix, as :func:`kappa` and the other pairwise measures return.

    Returns
    -------
    float
        The mean of the entries above the diagonal.

    Examples
    --------
    >>> pair_mean([[1.0, 0.25, 0.5], [0.25, 1.0, 0.75], [0.5, 0.75, 1.0]])
    0.5
    """
    square = np.asarray(matrix, dtype=np.float64)
    if square.ndim != 2 or square.shape[0] != square.shape[1]:
        raise InputError(f"A pairwise measure is a square matrix; this one has the shape {square.shape}.")
    if len(square) < 2:
        raise InputError("There are no pairs to average over: the ensemble has fewer than two members.")
    return float(square[np.triu_indices(len(square), 1)].mean())


@dataclass(frozen=True, eq=False)
class KappaErrorPoints:
    """Points of the κ–error diagram, one per pair of members.

    Attributes
    ----------
    first : ndarray of shape (n_pairs,)
        Index of the first member of each pair.
    second : ndarray of shape (n_pairs,)
        Index of the second member; larger than `first`.
    kappa : ndarray of shape (n_pairs,)
        κ of the two members' labels.
    error : ndarray of shape (n_pairs,)
        Mean of the two members' error rates.
    mean_kappa : float
        Mean of `kappa` over the pairs.
    mean_error : float
        Mean of `error` over the pairs, which is the mean error of the members.

    Examples
    --------
    >>> kappa_error([[1, 1], [1, 0], [0, 0]], [1, 1, 0]).to_frame().shape
    (1, 4)
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    kappa: NDArray[np.float64]
    error: NDArray[np.float64]

    @property
    def mean_kappa(self) -> float:
        """Mean of κ over the pairs."""
        return float(self.kappa.mean())

    @property
    def mean_error(self) -> float:
        """Mean of the error over the pairs, which is that over the members."""
        return float(self.error.mean())

    def to_frame(self) -> Any:
        """Return the points as a data frame.

        Returns
        -------
        DataFrame
            One row per pair, with the columns first, second, kappa, error.
        """
        return to_frame(vars(self))


def kappa_error(predictions: Any, y: Any, *, X: Any = None, sample_weight: Any = None) -> KappaErrorPoints:
    """Compute the points of the κ–error diagram [1]_: κ and mean error of each pair of members.

    Points further left belong to more diverse members, lower ones to more accurate members.
    :func:`spinney.plotting.plot_kappa_error` draws them.

    Parameters
    ----------
    predictions : array-like of shape (n_rows, n_members), or fitted ensemble
        Predicted labels, or an ensemble that predicts them for `X`; at least two members.
    y : array-like of shape (n_rows,)
        True labels.
    X : table, optional
        Rows to predict, if `predictions` is an ensemble.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    KappaErrorPoints
        One point per pair.

    References
    ----------
    .. [1] D. D. Margineantu and T. G. Dietterich, "Pruning adaptive boosting", ICML 1997.

    Examples
    --------
    >>> points = kappa_error([[1, 1], [1, 1], [0, 0], [1, 0]], [1, 1, 0, 0])
    >>> points.kappa.tolist(), points.error.tolist()
    ([0.5], [0.125])
    """
    votes = read_votes(predictions, y, X, sample_weight, min_members=2)
    return points_of(count_pairs(votes), errors_of(count_pairs(votes.correctness())))


# ---- from counts ----


def errors_of(correct: PairCounts) -> NDArray[np.float64]:
    """Error rate of each member, from counts of correct and wrong predictions.  -> (n_members,)"""
    return correct.by_class[:, 0] / correct.total


def points_of(labels: PairCounts, errors: NDArray[np.float64]) -> KappaErrorPoints:
    """Points of the κ–error diagram, from counts of labels and the members' errors (n_members,)."""
    first, second = np.triu_indices(len(errors), 1)
    return KappaErrorPoints(
        first, second, _kappa(labels)[first, second], (errors[first] + errors[second]) / 2
    )


def _kappa(counts: PairCounts) -> Matrix:
    proportions = counts.by_class / counts.total
    observed, by_chance = counts.agree / counts.total, proportions @ proportions.T
    # By counts, not by the rounded 1 − p2: a constant member has all its votes in one class.
    constant = (counts.by_class == counts.total).astype(np.float64)
    both_constant = constant @ constant.T > 0
    below = np.where(both_constant, 1.0, 1.0 - by_chance)
    return np.where(both_constant, 1.0, (observed - by_chance) / below)


def _correlation(counts: PairCounts) -> Matrix:
    a, b, c, d = counts.table
    # Two roots of two factors: the product of four counts could overflow.
    spread = np.sqrt((a + b) * (c + d)) * np.sqrt((a + c) * (b + d))
    return _ratio(a * d - b * c, spread, counts)


def _q_statistic(counts: PairCounts) -> Matrix:
    a, b, c, d = counts.table
    return _ratio(a * d - b * c, a * d + b * c, counts)


def _ratio(above: Matrix, below: Matrix, counts: PairCounts) -> Matrix:
    """Divide; where a member is constant, 1 if the two never differ, −1 if they always do, else 0."""
    a, b, c, d = counts.table
    otherwise = np.where(b + c == 0, 1.0, np.where(a + d == 0, -1.0, 0.0))
    return np.where(below > 0, above / np.where(below > 0, below, 1.0), otherwise)


MEASURES: dict[str, Callable[[PairCounts], Matrix]] = {
    "disagreement": lambda counts: (counts.total - counts.agree) / counts.total,
    "kappa": _kappa,
    "correlation": _correlation,
    "q_statistic": _q_statistic,
    "double_fault": lambda counts: counts.table[3] / counts.total,
}
"""Formula of each measure, from counts of labels or of correct and wrong predictions."""


def _count(predictions: Any, y: Any, X: Any, sample_weight: Any, *, two_classes: bool = False) -> PairCounts:
    """Count labels or, with y, correct and wrong predictions."""
    votes = read_votes(predictions, y, X, sample_weight)
    votes = votes if y is None else votes.correctness()
    if two_classes and len(votes.classes) > 2:
        raise InputError(
            f"This measure is for two classes, and the predictions have {len(votes.classes)} labels: "
            f"{show_values(votes.classes.tolist())}",
            fix="Give the true labels as y, to compare which predictions are correct.",
        )
    return count_pairs(votes)
