"""Rows of rankings: whole queries are held out, and losses and scores are by query."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError
from spinney.core.seeds import draw_word
from spinney.data.queries import Queries
from spinney.data.schema import Table
from spinney.data.splits import hold_out
from spinney.data.weights import check_weights, row_weight
from spinney.gradient_boosting.blocks import BlockBooster
from spinney.gradient_boosting.callbacks import fingerprint
from spinney.gradient_boosting.rounds import BoosterRows, EvalSetRows, Scorer
from spinney.gradient_boosting.training_set import BoostingSet, ValidationRows
from spinney.losses.losses import Loss
from spinney.losses.ranking import RankingLoss
from spinney.metrics import Metric, RankedQueries
from spinney.native import core

Floats = NDArray[np.float64]

_DRAWS_STREAM = 104


@dataclass(frozen=True)
class RankingScorer:
    """Scorer that returns the mean of a metric over queries, which the scored rows know."""

    metric: Metric
    k: int | None

    def __call__(self, X: Any, y: Floats, raw_scores: Floats, weights: Floats | None) -> float:
        """Raise an error: rows without queries have no ranking."""
        raise TypeError("The rows have no queries.")

    def of_queries(self, queries: RankedQueries, raw_scores: Floats) -> float:
        """Return the score of rows with these raw scores (n_rows, 1)."""
        return queries.mean(self.metric, raw_scores[:, 0], self.k)


@dataclass
class RankedBoosterRows(BoosterRows):
    """Rows of the booster's own matrix, with their queries."""

    queries: RankedQueries

    def score(self, scorer: Scorer) -> float:
        """Return the current score."""
        assert isinstance(scorer, RankingScorer)
        return scorer.of_queries(self.queries, self.booster.scores)


@dataclass
class RankedEvalRows(EvalSetRows):
    """Rows of an ``eval_set``, with their queries."""

    queries: RankedQueries

    def score(self, scorer: Scorer) -> float:
        """Return the current score."""
        assert isinstance(scorer, RankingScorer)
        return scorer.of_queries(self.queries, self.raw_scores)


@dataclass(eq=False)
class QueryLoss(Loss, persistent_name=""):
    """A ranking loss of the queries that a booster learns from."""

    loss: RankingLoss
    queries: RankedQueries
    booster: core.Booster | BlockBooster
    seed: int

    def derivatives(self, y: Floats, score: Floats) -> tuple[Floats, Floats]:
        """Return gradient and hessian of each row; XE-NDCG draws other numbers in every round."""
        address = draw_word(self.seed, self.booster.round) if self.loss.name == "xendcg" else 0
        return self.queries.derivatives(self.loss, score, address)


@dataclass(frozen=True)
class RankingSet(BoostingSet):
    """Training set of a ranker.

    Attributes
    ----------
    queries : Queries
        The rows of each query.
    """

    queries: Queries = None  # type: ignore[assignment]  # always given, but fields before it have defaults

    @classmethod
    def make(cls, training: BoostingSet, queries: Queries, sample_weight: Any) -> RankingSet:
        """Add queries and weights, one per row or one per query, to a training set without weights."""
        if sample_weight is not None:
            n_weights = len(sample_weight) if hasattr(sample_weight, "__len__") else 0
            by_query = n_weights == queries.n_queries != training.n_rows
            weights = check_weights(sample_weight, n_weights if by_query else training.n_rows)
            assert weights is not None
            weights = queries.spread(weights) if by_query else weights
            training = training.with_weights(weights, row_weight(weights))
            training = replace(training, bin_weights=weights)
        known = {field.name: getattr(training, field.name) for field in fields(training)}
        return cls(**known, queries=queries)

    @property
    def _gain(self) -> str:
        assert isinstance(self.loss, RankingLoss)
        return self.loss.gain

    def _ranked(self, weights: Floats | None) -> RankedQueries:
        return RankedQueries.make(self.queries, self.targets, self._gain, weights, self.n_threads)

    def hold_out_rows(self, fraction: float) -> BoostingSet:
        """Return the training set with some queries, a fraction or a number of them, held out."""
        n_queries, weights = self.queries.n_queries, self.full_weights
        share = fraction if fraction < 1 else fraction / n_queries
        if n_queries < 2 or share >= 1:
            raise InputError(
                f"Early stopping cannot hold out {fraction} of the queries; their number is {n_queries}",
                fix="Set early_stopping=False, or pass an eval_set.",
            )
        held_out = self.queries.spread(hold_out(share, self.seed, n_queries))
        if not (weights[held_out] > 0).any() or not (weights[~held_out] > 0).any():
            raise InputError("Holding queries out leaves no weight on one side", fix="Pass an eval_set.")
        return replace(
            self,
            weights=np.where(held_out, 0.0, weights),
            validation_weights=np.where(held_out, weights, 0.0),
        )

    def round_loss(self, booster: core.Booster | BlockBooster) -> Loss:
        """Return the loss of the queries with weight."""
        assert isinstance(self.loss, RankingLoss)
        return QueryLoss(self.loss, self._ranked(self.weights), booster, draw_word(self.seed, _DRAWS_STREAM))

    def scored_rows(self, booster: core.Booster | BlockBooster, weights: Floats) -> BoosterRows:
        """Return the rows with a weight above 0, to be scored after every round of a booster."""
        known = vars(super().scored_rows(booster, weights))
        return RankedBoosterRows(**known, queries=self._ranked(weights))

    def fingerprint(self, validation: ValidationRows | None) -> str:
        """Return a hash that identifies the rows of a training run and their queries."""
        queries = [self.queries] + ([validation.queries] if isinstance(validation, RankedValidation) else [])
        parts = [part.astype(np.float64) for one in queries for part in (one.rows, one.begin)]
        return super().fingerprint(validation) + fingerprint(self.table.schema, *parts)


@dataclass(frozen=True, eq=False)
class RankedValidation(ValidationRows):
    """The rows of an ``eval_set`` of a ranker.

    Attributes
    ----------
    queries : Queries
        The rows of each query.
    gain : str
        Gain of the relevance.
    """

    queries: Queries
    gain: str

    @classmethod
    def make(cls, rows: ValidationRows, queries: Queries, loss: RankingLoss) -> RankedValidation:
        """Add the queries, and check the relevance."""
        loss.check_target(rows.y, rows.weights)
        known = {field.name: getattr(rows, field.name) for field in fields(rows)}
        return cls(**known, queries=queries, gain=loss.gain)

    def scored(self, table: Table, scores: Floats, n_threads: int) -> EvalSetRows:
        """Return the rows with encoded categories and raw scores, to be scored after every round."""
        ranked = RankedQueries.make(self.queries, self.y, self.gain, self.weights, n_threads)
        return RankedEvalRows(self.X, table, self.y, self.weights, scores, n_threads, ranked)
