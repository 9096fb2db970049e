"""Scores of training and validation rows, computed after every round for early stopping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import check_scoring

from spinney.core.errors import InputError
from spinney.core.seeds import stream
from spinney.data.schema import Table
from spinney.losses.losses import Loss
from spinney.members.tables import take_rows
from spinney.native import core
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.predictor import Predictor
from spinney.tree.tree_arrays import TreeArrays

Floats = NDArray[np.float64]

_MAX_SCORED_ROWS = 10_000
"""A scikit-learn scorer is called with at most this many training rows per round."""
_SCORED_ROWS_STREAM = 102


# ---- scorers: raw scores to one number, greater is better ----


class Scorer(Protocol):
    """Function of rows X (None unless a scikit-learn scorer reads them), targets, raw scores and weights."""

    def __call__(self, X: Any, y: Floats, raw_scores: Floats, weights: Floats | None) -> float:
        """Return the score."""


@dataclass(frozen=True)
class LossScorer:
    """Scorer that returns the negative mean loss."""

    loss: Loss

    def __call__(self, X: Any, y: Floats, raw_scores: Floats, weights: Floats | None) -> float:
        """Return the negative mean loss."""
        return -self.loss.mean_value(y, raw_scores[:, 0] if raw_scores.shape[1] == 1 else raw_scores, weights)


@dataclass(frozen=True)
class SklearnScorer:
    """Scorer of scikit-learn; ``with_raw_scores`` makes an estimator that predicts from given raw scores."""

    scorer: Callable[..., float]
    with_raw_scores: Callable[[Floats], Any]
    classes: NDArray[Any] | None

    def __call__(self, X: Any, y: Floats, raw_scores: Floats, weights: Floats | None) -> float:
        """Return the score of an estimator with these raw scores."""
        labels = y if self.classes is None else self.classes[y.astype(np.intp)]
        more = {} if weights is None else {"sample_weight": weights}
        return float(self.scorer(self.with_raw_scores(raw_scores), X, labels, **more))


def make_scorer(
    estimator: Any, loss: Loss, with_raw_scores: Callable[[Floats], Any], classes: NDArray[Any] | None
) -> LossScorer | SklearnScorer:
    """Make the scorer named by ``estimator.scoring``: "loss", a name, a callable, or None for ``score``."""
    scoring = estimator.scoring
    if not (isinstance(scoring, str) and scoring == "loss"):
        return SklearnScorer(check_scoring(estimator, scoring), with_raw_scores, classes)
    if not loss.has_value:
        raise InputError(
            f"Early stopping by the loss needs its value, which {type(loss).__name__} does not define",
            fix="Define value(y, score) in it, or set scoring to the name of a scorer.",
        )
    return LossScorer(loss)


# ---- rows that are scored after every round ----


class ScoredRows(Protocol):
    """Rows whose raw scores follow the trees."""

    y: Floats

    def add(self, trees: Sequence[TreeArrays]) -> None:
        """Add the trees of one round to the raw scores."""

    def score(self, scorer: Scorer) -> float:
        """Return the current score."""


@dataclass
class BoosterRows:
    """Rows of the booster's own matrix; the booster keeps their raw scores.

    ``weights`` (n_rows,) is 0 for all other rows. Scikit-learn scorers get weights only if
    ``pass_weights`` is True.
    """

    booster: core.Booster
    X: Any
    y: Floats
    weights: Floats
    pass_weights: bool
    seed: int

    def add(self, trees: Sequence[TreeArrays]) -> None:
        """Do nothing: the booster has added the trees already."""

    def score(self, scorer: Scorer) -> float:
        """Return the current score."""
        by_loss = isinstance(scorer, LossScorer)
        if isinstance(scorer, LossScorer) and scorer.loss.core_name:
            return -float(self.booster.loss(scorer.loss.core_name, scorer.loss.parameter, self.weights))
        rows = self.weights > 0 if by_loss else self._subset
        return scorer(
            None if by_loss else take_rows(self.X, rows),
            self.y[rows],
            self.booster.scores[rows],
            self.weights[rows] if self.pass_weights else None,
        )

    @cached_property
    def _subset(self) -> NDArray[np.bool_]:
        """Mask of the rows that a scikit-learn scorer gets."""
        rows = np.flatnonzero(self.weights > 0)
        if len(rows) > _MAX_SCORED_ROWS:
            rows = stream(self.seed, _SCORED_ROWS_STREAM).choice(rows, _MAX_SCORED_ROWS, replace=False)
        return np.isin(np.arange(len(self.weights)), rows)


@dataclass
class EvalSetRows:
    """Rows of an ``eval_set``; ``raw_scores`` (n_rows, n_scores) are those of the trees so far."""

    X: Any
    table: Table
    y: Floats
    weights: Floats | None
    raw_scores: Floats
    n_threads: int

    def add(self, trees: Sequence[TreeArrays]) -> None:
        """Add the trees of one round to the raw scores."""
        predictor = Predictor(TreeEnsemble.from_trees(trees), len(trees))
        self.raw_scores = predictor.sum(self.table, self.n_threads, start=self.raw_scores)

    def score(self, scorer: Scorer) -> float:
        """Return the current score."""
        return scorer(self.X, self.y, self.raw_scores, self.weights)
