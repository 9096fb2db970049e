"""Measures of all members together: each gives one number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.diversity.counting import votes_by_class
from spinney.diversity.pairwise import judge
from spinney.diversity.votes import Votes, read_votes

Values = NDArray[np.float64]

_BLOCK = 1 << 20  # votes, or counts of them, made at a time


def entropy(predictions: Any, y: Any = None, *, X: Any = None, sample_weight: Any = None) -> float:
    """Give how evenly the answers to a row are spread over the members, on average; more is more diverse.

    With y, the measure of Kuncheva and Whitaker, from 0 to 1: the mean of min(l, T − l) / (T − ⌈T/2⌉), where
    l of T members are right. Without y, that of Cunningham and Carney: the mean of −Σ p_k log2 p_k in bits,
    where p_k is the share of members that vote for class k. A single member has none, 0.

    >>> entropy([["a", "a", "b"], ["b", "b", "b"]], ["a", "b"])
    0.5
    >>> round(entropy([["a", "a", "b"], ["b", "b", "b"]]), 4)
    0.4591
    """
    votes = read_votes(predictions, y, X, sample_weight)
    return entropy_of_labels(votes) if y is None else entropy_of_judged(votes.judged())


def kohavi_wolpert(predictions: Any, y: Any = None, *, X: Any = None, sample_weight: Any = None) -> float:
    """Give the variance of Kohavi and Wolpert: the mean over rows of (1 − Σ p_k²) / 2; more is more diverse.

    p_k is the share of members that answer k. With y the answers are right or wrong, and this is the mean of
    l (T − l) / T², where l of T members are right; without y they are labels, of any number of classes.

    >>> round(kohavi_wolpert([[1, 1, 0], [0, 0, 0]], [1, 0]), 4)
    0.1111
    """
    votes = read_votes(predictions, y, X, sample_weight)
    return kohavi_wolpert_of(votes if y is None else votes.judged())


def interrater(predictions: Any, y: Any = None, *, X: Any = None, sample_weight: Any = None) -> float:
    """Give Fleiss' κ: the agreement of all members beyond that by chance; less is more diverse.

    1 is full agreement, 0 no more than by chance, below 0 less. With y the answers are right or wrong:
    1 − Σ l (T − l) / (m T (T − 1) p (1 − p)), where l of T members are right in a row and p is their mean
    accuracy; without y they are labels, of any number of classes. Where all members give one and the same
    answer to every row it is 1. There must be at least two members.

    >>> round(interrater([[1, 1, 0], [0, 0, 0]]), 4)
    0.25
    """
    votes = read_votes(predictions, y, X, sample_weight, min_members=2)
    return interrater_of(votes if y is None else votes.judged())


def difficulty(predictions: Any, y: Any, *, X: Any = None, sample_weight: Any = None) -> float:
    """Give θ, the variance over rows of the share of members that are right; less is more diverse.

    Members that fail on the same rows make some rows hard and the others easy; up to 1/4.

    >>> difficulty([[1, 1], [0, 0]], [1, 1])
    0.25
    """
    return difficulty_of(judge(read_votes(predictions, y, X, sample_weight), y))


def generalized_diversity(predictions: Any, y: Any, *, X: Any = None, sample_weight: Any = None) -> float:
    """Give the generalized diversity of Partridge and Krzanowski: the chance that a second member is right
    where a first one, both drawn at random, is wrong; 0 to 1, more is more diverse.

    It is 1 − p(2) / p(1), where p(1) = Σ i p_i / T, p(2) = Σ i (i − 1) p_i / (T (T − 1)), and p_i is the
    share of rows on which exactly i of T members fail. 0 where none ever fails. There must be at least two
    members.

    >>> generalized_diversity([[1, 0], [0, 1], [0, 0]], [1, 1, 1])
    0.5
    """
    votes = read_votes(predictions, y, X, sample_weight, min_members=2)
    return generalized_diversity_of(judge(votes, y))


def coincident_failure(predictions: Any, y: Any, *, X: Any = None, sample_weight: Any = None) -> float:
    """Give the coincident failure diversity: of the rows on which a member fails, the mean share of the other
    members that do not; 0 to 1, more is more diverse.

    It is Σ_{i≥1} p_i (T − i) / (T − 1) / (1 − p_0), with p_i as in :func:`generalized_diversity`. 0 where no
    member ever fails. There must be at least two members.

    >>> coincident_failure([[1, 0], [0, 1], [0, 0], [1, 1]], [1, 1, 1, 1])
    0.6666666666666666
    """
    votes = read_votes(predictions, y, X, sample_weight, min_members=2)
    return coincident_failure_of(judge(votes, y))


# ---- from votes ----


def share_blocks(votes: Votes) -> Iterator[tuple[slice, Values]]:
    """Give the share of votes that each class gets, some rows at a time: (rows, (n_of_them, n_classes))."""
    n_classes = len(votes.classes)
    for rows in votes.blocks(_BLOCK * votes.n_members // max(votes.n_members, n_classes)):
        n_rows = rows.stop - rows.start
        cells = votes.codes[:, rows] + np.arange(0, n_rows * n_classes, n_classes)
        counts = np.bincount(cells.ravel(), minlength=n_rows * n_classes)
        yield rows, counts.reshape(n_rows, n_classes) / votes.n_members


def by_row(votes: Votes, measure: Callable[[Values], Values]) -> Values:
    """Apply a function of the shares of votes (n_rows, n_classes), some rows at a time.  -> (n_rows,)"""
    return np.concatenate([measure(shares) for _, shares in share_blocks(votes)])


def count_right(judged: Votes) -> NDArray[np.int64]:
    """Count the members that are right.  -> (n_rows,)"""
    return np.concatenate([judged.codes[:, rows].sum(axis=0, dtype=np.int64) for rows in judged.blocks()])


def entropy_of_labels(votes: Votes) -> float:
    """Give the mean entropy of the labels in bits."""
    return votes.mean(by_row(votes, _bits))


def _bits(shares: Values) -> Values:
    logs = np.log2(shares, where=shares > 0, out=np.zeros_like(shares))
    bits: Values = np.abs(np.einsum("ij,ij->i", shares, logs))  # not −0.0 where all agree
    return bits


def entropy_of_judged(judged: Votes) -> float:
    """Give the entropy measure of right and wrong answers."""
    right, most = count_right(judged), judged.n_members // 2  # T − ⌈T/2⌉
    return judged.mean(np.minimum(right, judged.n_members - right)) / most if most else 0.0


def kohavi_wolpert_of(votes: Votes) -> float:
    """Give the variance of Kohavi and Wolpert."""
    return votes.mean(by_row(votes, unlike_votes))


def unlike_votes(shares: Values) -> Values:
    """Give half the chance that two votes, drawn with replacement, differ.  -> (n_rows,)"""
    half: Values = (1.0 - np.einsum("ij,ij->i", shares, shares)) / 2
    return half


def interrater_of(votes: Votes) -> float:
    """Give Fleiss' κ."""
    n_members = votes.n_members
    of_all = votes_by_class(votes).sum(axis=0)
    if np.count_nonzero(of_all) == 1:
        return 1.0
    shares = of_all / of_all.sum()
    differ_by_chance = 1.0 - float(shares @ shares)
    # Two different members: drawn without replacement.
    differ = 2.0 * kohavi_wolpert_of(votes) * n_members / (n_members - 1)
    return 1.0 - differ / differ_by_chance


def difficulty_of(judged: Votes) -> float:
    """Give the variance of the share of members that are right."""
    share = count_right(judged) / judged.n_members
    return judged.mean((share - judged.mean(share)) ** 2)


def generalized_diversity_of(judged: Votes) -> float:
    """Give the generalized diversity."""
    n_members = judged.n_members
    wrong = n_members - count_right(judged)
    one = judged.mean(wrong) / n_members
    two = judged.mean(wrong * (wrong - 1)) / (n_members * (n_members - 1))
    return 1.0 - two / one if one else 0.0


def coincident_failure_of(judged: Votes) -> float:
    """Give the coincident failure diversity."""
    wrong = judged.n_members - count_right(judged)
    failed = judged.mean(wrong > 0)
    others_right = np.where(wrong > 0, (judged.n_members - wrong) / (judged.n_members - 1), 0.0)
    return judged.mean(others_right) / failed if failed else 0.0
