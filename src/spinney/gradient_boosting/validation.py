"""Validation: rows whose score is followed round by round, how they are scored, and when to stop for it."""

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
from spinney.data.splits import hold_out
from spinney.data.table import Table
from spinney.losses.losses import Loss
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.predictor import EnsemblePredictor
from spinney.tree.tree_arrays import TreeArrays

Floats = NDArray[np.float64]

AUTO_ROWS = 10_000
"""With ``early_stopping="auto"`` tables of more rows than this are stopped early, as in scikit-learn."""
_SCORED_ROWS = 10_000
_SUBSET = 102
"""The purpose of the draw of training rows that a scorer is shown."""


class Patience:
    """Say when to stop: after ``rounds`` rounds without a score better by more than ``tolerance``.

    >>> patience = Patience(2, 0.0)
    >>> patience.see(-3.0, -2.0, -2.5, -2.2)
    >>> patience.is_over
    True
    """

    def __init__(self, rounds: int, tolerance: float) -> None:
        self.rounds, self.tolerance = rounds, tolerance
        self._best, self._since = -np.inf, 0

    def see(self, *scores: float) -> None:
        """Take in the scores of further rounds, that of the constant first of all."""
        for score in scores:
            better = score > self._best + self.tolerance
            self._best, self._since = (score, 0) if better else (self._best, self._since + 1)

    @property
    def is_over(self) -> bool:
        """Tell whether it is time to stop."""
        return self._since >= self.rounds


def best_round(scores: Sequence[float]) -> int:
    """Give the round with the best score, of equals the first; not round 0, which has no tree.

    >>> best_round([-3.0, -2.0, -1.0, -1.5])
    2
    """
    return 1 + int(np.nanargmax(scores[1:]))


# ---- how rows are scored ----


@dataclass(frozen=True)
class Answers:
    """Hold what a score is computed of: rows X (None unless a scorer looks at them), targets, raw scores."""

    X: Any
    y: Floats
    scores: Floats
    weights: Floats | None


class Judge(Protocol):
    """Give a number to raw scores; greater is better."""

    def __call__(self, answers: Answers) -> float:
        """Score the answers."""


@dataclass(frozen=True)
class LossJudge:
    """Score by the loss itself, its sign turned."""

    loss: Loss

    def __call__(self, answers: Answers) -> float:
        """Score the answers."""
        scores = answers.scores[:, 0] if answers.scores.shape[1] == 1 else answers.scores
        return -self.loss.mean_value(answers.y, scores, answers.weights)


@dataclass(frozen=True)
class ScorerJudge:
    """Score by a scorer of scikit-learn; ``answering`` makes an estimator whose raw scores are known."""

    scorer: Callable[..., float]
    answering: Callable[[Floats], Any]
    classes: NDArray[Any] | None

    def __call__(self, answers: Answers) -> float:
        """Score the answers."""
        y = answers.y if self.classes is None else self.classes[answers.y.astype(np.intp)]
        weights = {} if answers.weights is None else {"sample_weight": answers.weights}
        return float(self.scorer(self.answering(answers.scores), answers.X, y, **weights))


def make_judge(
    scoring: Any,
    loss: Loss,
    estimator: Any,
    answering: Callable[[Floats], Any],
    classes: NDArray[Any] | None,
) -> Judge:
    """Make what ``scoring`` names: "loss", a scorer by its name, a callable, or None for ``score``."""
    if isinstance(scoring, str) and scoring == "loss":
        if not loss.has_value:
            raise InputError(
                f"Early stopping by the loss needs the value of the loss, and {type(loss).__name__} has none",
                fix="Define value(y, score) in it, or name a scorer by scoring.",
            )
        return LossJudge(loss)
    return ScorerJudge(check_scoring(estimator, scoring), answering, classes)


# ---- the rows that are followed ----


class Watched(Protocol):
    """Be some rows whose raw scores grow with the trees."""

    def add(self, trees: Sequence[TreeArrays]) -> None:
        """Take in the trees of one round."""

    def score(self, judge: Judge) -> float:
        """Give the score of the rows as they stand."""


@dataclass
class TrainedRows:
    """Follow rows that are in the booster's own matrix: it scores them while it trains.

    weights (n_rows,) are 0 for all others; ``given_weights`` tells whether a scorer is to see them.
    """

    booster: Any
    X: Callable[[NDArray[np.bool_]], Any]
    y: Floats
    weights: Floats
    given_weights: bool
    seed: int

    def add(self, trees: Sequence[TreeArrays]) -> None:
        """Take in the trees of one round, which the booster has done."""

    def score(self, judge: Judge) -> float:
        """Give the score of the rows as they stand."""
        if isinstance(judge, LossJudge) and judge.loss.core_name:
            return -float(self.booster.loss(judge.loss.core_name, judge.loss.parameter, self.weights))
        rows = self.weights > 0 if isinstance(judge, LossJudge) else self._some_rows
        return judge(
            Answers(
                None if isinstance(judge, LossJudge) else self.X(rows),
                self.y[rows],
                self.booster.scores[rows],
                self.weights[rows] if self.given_weights else None,
            )
        )

    @cached_property
    def _some_rows(self) -> NDArray[np.bool_]:
        """Mark the rows that a scorer is shown: not more than it can look at in each round."""
        rows = np.flatnonzero(self.weights > 0)
        if len(rows) > _SCORED_ROWS:
            rows = stream(self.seed, _SUBSET).choice(rows, _SCORED_ROWS, replace=False)
        return np.isin(np.arange(len(self.weights)), rows)


@dataclass
class OtherRows:
    """Follow rows of a table of their own; ``scores`` (n_rows, n_scores) are theirs so far."""

    X: Any
    table: Table
    y: Floats
    weights: Floats | None
    scores: Floats
    n_threads: int

    def add(self, trees: Sequence[TreeArrays]) -> None:
        """Take in the trees of one round."""
        predictor = EnsemblePredictor(TreeEnsemble.from_trees(trees), len(trees))
        self.scores = predictor.sum(self.table, self.n_threads, start=self.scores)

    def score(self, judge: Judge) -> float:
        """Give the score of the rows as they stand."""
        return judge(Answers(self.X, self.y, self.scores, self.weights))


def hold_rows(
    fraction: float, seed: int, weights: Floats, classes: NDArray[np.int32] | None
) -> NDArray[np.bool_]:
    """Mark the rows to hold out of training: a share below 1, or a number; the same share of each class."""
    n_rows = len(weights)
    share = fraction if fraction < 1 else fraction / n_rows
    if n_rows < 2 or share >= 1:
        raise InputError(
            f"Early stopping cannot hold out {fraction} of the rows; n_samples = {n_rows}",
            fix="Set early_stopping=False, or pass an eval_set.",
        )
    held = hold_out(share, seed, n_rows, classes)
    if not (weights[held] > 0).any() or not (weights[~held] > 0).any():
        raise InputError("Holding rows out leaves no weight on one side. Pass an eval_set instead.")
    return held
