"""Metrics of rankings: NDCG and mean average precision over queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.core.errors import InputError
from spinney.core.parameters import thread_count
from spinney.data.queries import Queries
from spinney.data.target import encode_single
from spinney.data.weights import check_weights
from spinney.losses.ranking import GAINS, RankingLoss, check_relevance, gains
from spinney.native import core

Floats = NDArray[np.float64]
Metric = Literal["ndcg", "map"]

__all__ = ["mean_average_precision", "ndcg"]


@dataclass(frozen=True, eq=False)
class RankedQueries:
    """Queries with the gains of their rows.

    Attributes
    ----------
    queries : QuerySet
        The rows of each query.
    weights : ndarray of shape (n_queries,)
        Weight of each query.
    n_threads : int
        Number of threads.
    """

    queries: core.QuerySet
    weights: Floats
    n_threads: int

    @classmethod
    def make(
        cls, queries: Queries, y: Floats, gain: str, weights: Floats | None, n_threads: int
    ) -> RankedQueries:
        """Take the rows with a weight above 0; a query weighs the mean of its rows."""
        if weights is not None:
            queries = queries.where(weights > 0)
        weight = np.ones(queries.n_queries) if weights is None else queries.mean(weights)
        return cls(core.QuerySet(queries.rows, queries.begin, gains(y, gain)), weight, n_threads)

    def mean(self, metric: Metric, score: Floats, k: int | None) -> float:
        """Return the weighted mean of a metric over the queries."""
        compute = self.queries.ndcg if metric == "ndcg" else self.queries.average_precision
        values = compute(np.ascontiguousarray(score), k or 0, self.n_threads)
        return float(np.average(values, weights=self.weights))

    def derivatives(self, loss: RankingLoss, score: Floats, address: int) -> tuple[Floats, Floats]:
        """Return gradient and hessian of each row, 0 for rows in no query."""
        return loss.derivatives_of(self.queries, score, address, self.n_threads)


def ndcg(
    y: ArrayLike,
    score: ArrayLike,
    *,
    group: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    k: int | None = None,
    gain: Literal["exponential", "linear"] = "exponential",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the mean normalized discounted cumulative gain (NDCG) of rankings.

    DCG@k = Σ gain(y_i) / log2(i + 1) over the first k rows by score; NDCG@k divides it by the DCG@k of the
    ideal order. Rows with equal scores have the mean of their gains, as in scikit-learn. A query without
    relevant rows has an NDCG of 1, as in LightGBM.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Relevance, at least 0.
    score : array-like of shape (n_rows,)
        Scores; higher ones are ranked first.
    group : array-like of shape (n_queries,) or None, default=None
        Number of rows of each query; rows of a query are consecutive.
    qid : array-like of shape (n_rows,) or None, default=None
        Query of each row, in any order. Without `group` and `qid` all rows are one query.
    k : int or None, default=None
        Number of first rows that count; None is all.
    gain : {"exponential", "linear"}, default="exponential"
        Gain of relevance y: 2^y − 1 for integers, or y.
    sample_weight : array-like of shape (n_rows,) or None, default=None
        Row weights: a query weighs the mean of its rows, and rows of weight 0 are left out.

    Returns
    -------
    float
        The mean over the queries.

    Examples
    --------
    >>> from spinney.metrics import ndcg
    >>> round(ndcg([0, 2, 1, 0, 1], [0.1, 0.9, 0.4, 0.8, 0.3], group=[3, 2]), 4)
    0.8155
    """
    return _mean("ndcg", y, score, group, qid, k, gain, sample_weight)


def mean_average_precision(
    y: ArrayLike,
    score: ArrayLike,
    *,
    group: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the mean average precision (MAP) of rankings.

    The average precision at k of a query is the sum of the precisions at the positions of its relevant rows
    among the first k, divided by the smaller of k and the number of relevant rows. Rows with equal scores
    share their relevance. A query without relevant rows has an average precision of 1, as in LightGBM.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Relevance; rows above 0 are relevant.
    score : array-like of shape (n_rows,)
        Scores; higher ones are ranked first.
    group : array-like of shape (n_queries,) or None, default=None
        Number of rows of each query; rows of a query are consecutive.
    qid : array-like of shape (n_rows,) or None, default=None
        Query of each row, in any order. Without `group` and `qid` all rows are one query.
    k : int or None, default=None
        Number of first rows that count; None is all.
    sample_weight : array-like of shape (n_rows,) or None, default=None
        Row weights: a query weighs the mean of its rows, and rows of weight 0 are left out.

    Returns
    -------
    float
        The mean over the queries.

    Examples
    --------
    >>> from spinney.metrics import mean_average_precision
    >>> mean_average_precision([0, 1, 1, 0, 1], [0.1, 0.9, 0.4, 0.8, 0.3], group=[3, 2])
    0.75
    """
    return _mean("map", y, score, group, qid, k, "linear", sample_weight)


def _mean(
    metric: Metric,
    y: ArrayLike,
    score: ArrayLike,
    group: ArrayLike | None,
    qid: ArrayLike | None,
    k: int | None,
    gain: str,
    sample_weight: ArrayLike | None,
) -> float:
    scores = encode_single(score, len(np.asarray(score)), "a ranking")
    n_rows = len(scores)
    relevance = encode_single(y, n_rows, "a ranking")
    if gain not in GAINS:
        raise InputError(f'gain must be "exponential" or "linear", not {gain!r}.')
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise InputError(f"k must be a positive integer or None, not {k!r}.")
    check_relevance(relevance, gain)
    weights = None if sample_weight is None else check_weights(sample_weight, n_rows)
    queries = Queries.read(n_rows, group, qid)
    return RankedQueries.make(queries, relevance, gain, weights, thread_count(None)).mean(metric, scores, k)
