"""Non-pairwise diversity measures: one number for all members together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.diversity.votes import Votes, read_votes, votes_by_class

Values = NDArray[np.float64]

_BLOCK = 1 << 20  # votes, or counts of them, per block


def entropy(predictions: Any, y: Any = None, *, X: Any = None, sample_weight: Any = None) -> float:
    """Compute the entropy of the members' predictions, averaged over rows; higher is more diverse.

    With y, the measure of Kuncheva and Whitaker [1]_, from 0 to 1: the mean of min(l, T − l) / (T − ⌈T/2⌉),
    where l of T members are correct. Without y, that of Cunningham and Carney [2]_: the mean of
    −Σ p_k log2 p_k in bits, where p_k is the proportion of members that vote for class k. It is 0 for a
    single member.

    Parameters
    ----------
    predictions : array-like of shape (n_rows, n_members), or fitted ensemble
        Predicted labels, or an ensemble that predicts them for `X`.
    y : array-like of shape (n_rows,), optional
        True labels. If given, the entropy is that of correct and wrong predictions, otherwise of labels.
    X : table, optional
        Rows to predict, if `predictions` is an ensemble.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    float
        The mean entropy.

    References
    ----------
    .. [1] L. I. Kuncheva and C. J. Whitaker, "Measures of diversity in classifier ensembles and their
       relationship with the ensemble accuracy", Machine Learning 51, 2003.
    .. [2] P. Cunningham and J. Carney, "Diversity versus quality in classification ensembles based on feature
       selection", ECML 2000.

    Examples
    --------
    >>> entropy([["a", "a", "b"], ["b", "b", "b"]], ["a", "b"])
    0.5
    >>> round(entropy([["a", "a", "b"], ["b", "b", "b"]]), 4)
    0.4591
    """
    votes = read_votes(predictions, y, X, sample_weight)
    return _entropy_of_labels(votes) if y is None else MEASURES["entropy"](votes.correctness())


def kohavi_wolpert(predictions: Any, y: Any = None, *, X: Any = None, sample_weight: Any = None) -> float:
    """Compute the variance of Kohavi and Wolpert: the mean over rows of (1 − Σ p_k²) / 2.

    p_k is the proportion of members that predict k. With y this is the mean of l (T − l) / T², where l of T
    members are correct. Higher is more diverse.

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
    float
        The variance.

    Examples
    --------
    >>> round(kohavi_wolpert([[1, 1, 0], [0, 0, 0]], [1, 0]), 4)
    0.1111
    """
    votes = read_votes(predictions, y, X, sample_weight)
    return _kohavi_wolpert(votes if y is None else votes.correctness())


def interrater(predictions: Any, y: Any = None, *, X: Any = None, sample_weight: Any = None) -> float:
    """Compute Fleiss' κ, the interrater agreement of all members beyond chance; lower is more diverse.

    1 is full agreement, 0 as much as by chance, below 0 less. With y it is
    1 − Σ l (T − l) / (m T (T − 1) p (1 − p)), where l of T members are correct in a row and p is their mean
    accuracy over m rows. It is 1 if all members predict one and the same class for every row.

    Parameters
    ----------
    predictions : array-like of shape (n_rows, n_members), or fitted ensemble
        Predicted labels of any number of classes, or an ensemble that predicts them for `X`; at least two
        members.
    y : array-like of shape (n_rows,), optional
        True labels. If given, predictions are compared as correct or wrong, otherwise as labels.
    X : table, optional
        Rows to predict, if `predictions` is an ensemble.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    float
        Fleiss' κ.

    Examples
    --------
    >>> round(interrater([[1, 1, 0], [0, 0, 0]]), 4)
    0.25
    """
    votes = read_votes(predictions, y, X, sample_weight, min_members=2)
    return _interrater(votes if y is None else votes.correctness())


def difficulty(predictions: Any, y: Any, *, X: Any = None, sample_weight: Any = None) -> float:
    """Compute the difficulty θ: the variance over rows of the proportion of members that are correct.

    Members that are wrong on the same rows make some rows hard and the others easy. From 0 to 1/4; lower is
    more diverse.

    Parameters
    ----------
    predictions : array-like of shape (n_rows, n_members), or fitted ensemble
        Predicted labels, or an ensemble that predicts them for `X`.
    y : array-like of shape (n_rows,)
        True labels.
    X : table, optional
        Rows to predict, if `predictions` is an ensemble.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    float
        The variance θ.

    Examples
    --------
    >>> difficulty([[1, 1], [0, 0]], [1, 1])
    0.25
    """
    return _difficulty(read_votes(predictions, y, X, sample_weight).correctness())


def generalized_diversity(predictions: Any, y: Any, *, X: Any = None, sample_weight: Any = None) -> float:
    """Compute the generalized diversity of Partridge and Krzanowski.

    It is the probability that a second random member is correct where a first one is wrong:
    1 − p(2) / p(1), where p(1) = Σ i p_i / T, p(2) = Σ i (i − 1) p_i / (T (T − 1)), and p_i is the proportion
    of rows on which exactly i of T members are wrong. From 0 to 1; higher is more diverse. It is 0 if no
    member is ever wrong.

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
    float
        The generalized diversity.

    Examples
    --------
    >>> generalized_diversity([[1, 0], [0, 1], [0, 0]], [1, 1, 1])
    0.5
    """
    votes = read_votes(predictions, y, X, sample_weight, min_members=2)
    return _generalized_diversity(votes.correctness())


def coincident_failure(predictions: Any, y: Any, *, X: Any = None, sample_weight: Any = None) -> float:
    """Compute the coincident failure diversity.

    Over the rows on which at least one member is wrong, it is the mean proportion of the other members that
    are correct: Σ_{i≥1} p_i (T − i) / (T − 1) / (1 − p_0), with p_i as in :func:`generalized_diversity`. From
    0 to 1; higher is more diverse. It is 0 if no member is ever wrong.

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
    float
        The coincident failure diversity.

    Examples
    --------
    >>> coincident_failure([[1, 0], [0, 1], [0, 0], [1, 1]], [1, 1, 1, 1])
    0.6666666666666666
    """
    votes = read_votes(predictions, y, X, sample_weight, min_members=2)
    return _coincident_failure(votes.correctness())


# ---- from votes ----


def proportion_blocks(votes: Votes) -> Iterator[tuple[slice, Values]]:
    """Yield the proportion of votes per class for blocks of rows: (rows, (n_rows of them, n_classes))."""
    n_classes = len(votes.classes)
    for rows in votes.blocks(_BLOCK * votes.n_members // max(votes.n_members, n_classes)):
        n_rows = rows.stop - rows.start
        cells = votes.codes[:, rows] + np.arange(0, n_rows * n_classes, n_classes)
        counts = np.bincount(cells.ravel(), minlength=n_rows * n_classes)
        yield rows, counts.reshape(n_rows, n_classes) / votes.n_members


def by_row(votes: Votes, measure: Callable[[Values], Values]) -> Values:
    """Apply a function to the proportions of votes (n_rows, n_classes), block by block.  -> (n_rows,)"""
    return np.concatenate([measure(proportions) for _, proportions in proportion_blocks(votes)])


def _count_correct(correct: Votes) -> NDArray[np.int64]:
    """Count the members that are correct.  -> (n_rows,)"""
    return np.concatenate([correct.codes[:, rows].sum(axis=0, dtype=np.int64) for rows in correct.blocks()])


def _bits(proportions: Values) -> Values:
    logs = np.log2(proportions, where=proportions > 0, out=np.zeros_like(proportions))
    return np.asarray(np.abs(np.einsum("ij,ij->i", proportions, logs)))  # not −0.0 where all agree


def _entropy_of_labels(votes: Votes) -> float:
    return votes.mean(by_row(votes, _bits))


def _entropy_of_correct(correct: Votes) -> float:
    right, half = _count_correct(correct), correct.n_members // 2  # T − ⌈T/2⌉
    return correct.mean(np.minimum(right, correct.n_members - right)) / half if half else 0.0


def half_gini(proportions: Values) -> Values:
    """Half the probability that two votes, drawn with replacement, differ.  -> (n_rows,)"""
    return np.asarray((1.0 - np.einsum("ij,ij->i", proportions, proportions)) / 2)


def _kohavi_wolpert(votes: Votes) -> float:
    return votes.mean(by_row(votes, half_gini))


def _interrater(votes: Votes) -> float:
    of_all = votes_by_class(votes).sum(axis=0)
    if np.count_nonzero(of_all) == 1:
        return 1.0
    proportions = of_all / of_all.sum()
    differ_by_chance = 1.0 - float(proportions @ proportions)
    # Two different members: drawn without replacement.
    differ = 2.0 * _kohavi_wolpert(votes) * votes.n_members / (votes.n_members - 1)
    return 1.0 - differ / differ_by_chance


def _difficulty(correct: Votes) -> float:
    proportion = _count_correct(correct) / correct.n_members
    return correct.mean((proportion - correct.mean(proportion)) ** 2)


def _generalized_diversity(correct: Votes) -> float:
    n_members = correct.n_members
    wrong = n_members - _count_correct(correct)
    one = correct.mean(wrong) / n_members
    two = correct.mean(wrong * (wrong - 1)) / (n_members * (n_members - 1))
    return 1.0 - two / one if one else 0.0


def _coincident_failure(correct: Votes) -> float:
    right = _count_correct(correct)
    failed = right < correct.n_members
    others = np.where(failed, right / (correct.n_members - 1), 0.0)
    return correct.mean(others) / correct.mean(failed) if failed.any() else 0.0


MEASURES: dict[str, Callable[[Votes], float]] = {
    "entropy": _entropy_of_correct,
    "kohavi_wolpert": _kohavi_wolpert,
    "interrater": _interrater,
    "difficulty": _difficulty,
    "generalized_diversity": _generalized_diversity,
    "coincident_failure": _coincident_failure,
}
"""Formula of each measure, from votes for correct and wrong."""
