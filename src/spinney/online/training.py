"""Training of one online learner: epochs over the rows until the loss stops to improve."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from spinney.core.arrays import Floats
from spinney.core.ledger import Ledger
from spinney.core.seeds import draw_word
from spinney.data.matrix import Matrix
from spinney.io import Persistent
from spinney.native import core

EpochRecord: TypeAlias = tuple[float, int, int]
"""Sum of the losses, number of updates, and number of mistakes of one epoch."""

# Rule of updates in the core.
PERCEPTRON, PASSIVE, PASSIVE_SLACK = range(3)
# Purpose of the random streams of epochs; epoch e has _ORDER + e.
_ORDER = 16


@dataclass(frozen=True)
class UpdateRule:
    """How a row changes the weights."""

    rule: int
    step: float
    regression: bool = False
    epsilon: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    fit_intercept: bool = True
    average_from: int = -1


@dataclass(frozen=True)
class Schedule:
    """Order of the rows, and when to stop."""

    max_iter: int
    tol: float | None
    n_iter_no_change: int
    shuffle: bool
    seed: int


@dataclass(frozen=True)
class Learned:
    """Weights of one problem after training, and one record per epoch."""

    coef: Floats
    intercept: float
    epochs: list[EpochRecord]


@dataclass(frozen=True, eq=False, repr=False)
class MistakeLedger(Ledger, Persistent):
    """What every epoch of an online learner did, one row per problem and epoch.

    Parameters
    ----------
    problem : ndarray of shape (n_epochs,), int64
        Position of the class that was separated from the others; 0 for two classes and in regression.
    epoch : ndarray of shape (n_epochs,), int64
        Number of the epoch, from 1.
    n_mistakes : ndarray of shape (n_epochs,), int64
        Rows on the wrong side when they were visited; in regression, rows outside of the ε-tube.
    n_updates : ndarray of shape (n_epochs,), int64
        Rows that changed the weights.
    loss : ndarray of shape (n_epochs,), float64
        Sum of the losses, each before its update.

    Examples
    --------
    >>> from spinney import Perceptron
    >>> model = Perceptron(ledger=True, shuffle=False).fit([[-1.0], [1.0]], [0, 1])
    >>> model.ledger_.to_columns()["n_mistakes"]
    [2, 0, 0, 0, 0, 0, 0]
    """

    problem: NDArray[np.int64]
    epoch: NDArray[np.int64]
    n_mistakes: NDArray[np.int64]
    n_updates: NDArray[np.int64]
    loss: Floats

    row_name = "epochs"

    def __post_init__(self) -> None:
        self.check_columns()

    @classmethod
    def of(cls, learned: Sequence[Learned]) -> MistakeLedger:
        """Build the ledger of one or several problems.

        Parameters
        ----------
        learned : sequence of Learned
            What training returned, one per problem.

        Returns
        -------
        MistakeLedger
            The ledger.
        """
        rows = [
            (k, e, mistakes, updates, loss)
            for k, one in enumerate(learned)
            for e, (loss, updates, mistakes) in enumerate(one.epochs, start=1)
        ]
        problem, epoch, mistakes, updates, loss = zip(*rows, strict=True)
        counts = [np.array(part, dtype=np.int64) for part in (problem, epoch, mistakes, updates)]
        return cls(counts[0], counts[1], counts[2], counts[3], np.array(loss, dtype=np.float64))


class TrainingRows:
    """Rows as the core reads them, and which of them are held out to decide when to stop."""

    def __init__(self, matrix: Matrix, held_out: NDArray[np.bool_] | None) -> None:
        self.matrix: Any = matrix
        self.arrays: tuple[Floats, NDArray[np.int32] | None, NDArray[np.int64] | None]
        if sparse.issparse(matrix):
            self.arrays = (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int64))
        else:
            self.arrays = (matrix, None, None)
        rows = np.arange(matrix.shape[0], dtype=np.uint32)
        self.visited = rows if held_out is None else rows[~held_out]
        self.judged = None if held_out is None else np.flatnonzero(held_out)

    def score(self, coef: Floats, intercept: float, target: Floats, regression: bool) -> float:
        """Return accuracy or R² on the rows held out."""
        answers = np.asarray(self.matrix[self.judged] @ coef) + intercept
        truth = target[self.judged]
        if not regression:
            return float(np.mean((answers > 0) == (truth > 0)))
        spread = float(((truth - truth.mean()) ** 2).sum())
        return 1.0 - float(((truth - answers) ** 2).sum()) / spread if spread > 0 else 0.0


def train(
    rows: TrainingRows,
    target: Floats,
    weights: Floats | None,
    rule: UpdateRule,
    schedule: Schedule,
    start: tuple[Floats, float],
) -> Learned:
    """Train one binary (target ±1) or regression problem from a start.  target, weights (n_rows,)"""
    learner = core.OnlineLearner(
        rule.rule,
        rule.regression,
        rule.step,
        rule.epsilon,
        rule.l1,
        rule.l2,
        bool(rule.fit_intercept),
        rule.average_from,
        np.ascontiguousarray(start[0], dtype=np.float64),
        float(start[1]),
    )

    def visit(order: NDArray[np.uint32]) -> EpochRecord:
        return learner.run_epoch(*rows.arrays, target, weights, order)

    def held_out_cost() -> float:
        coef, intercept = learner.learned()
        return -rows.score(coef, intercept, target, rule.regression)

    epochs = run_epochs(visit, rows.visited, schedule, None if rows.judged is None else held_out_cost)
    coef, intercept = learner.learned()
    return Learned(coef, intercept, epochs)


def run_epochs(
    visit: Callable[[NDArray[np.uint32]], EpochRecord],
    rows: NDArray[np.uint32],
    schedule: Schedule,
    held_out_cost: Callable[[], float] | None,
) -> list[EpochRecord]:
    """Visit rows epoch by epoch until the loss, or the cost of rows held out, does not improve any more."""
    order, epochs = rows, []
    best, since_best = np.inf, 0
    for epoch in range(schedule.max_iter):
        if schedule.shuffle:
            order = core.shuffled_rows(order, draw_word(schedule.seed, _ORDER + epoch))
        epochs.append(visit(order))
        if schedule.tol is None:
            continue
        if held_out_cost is None:
            cost, slack = epochs[-1][0], schedule.tol * len(order)
        else:
            cost, slack = held_out_cost(), schedule.tol
        since_best = since_best + 1 if cost > best - slack else 0
        best = min(best, cost)
        if since_best >= schedule.n_iter_no_change:
            return epochs
    if schedule.tol is not None and schedule.max_iter > 1:
        warnings.warn(
            "Maximum number of iteration reached before convergence. Consider increasing max_iter to improve "
            "the fit.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return epochs


def sides(codes: NDArray[np.int32], n_classes: int) -> list[Floats]:
    """Return the target ±1 of each binary problem: one for two classes, else each class against the rest.

    >>> [side.tolist() for side in sides(np.array([0, 1], np.int32), 2)]
    [[-1.0, 1.0]]
    """
    chosen = [1] if n_classes == 2 else range(n_classes)
    return [np.where(codes == k, 1.0, -1.0) for k in chosen]


def learned_arrays(learned: Sequence[Learned]) -> dict[str, Any]:
    """Return ``coef_`` (n_problems, n_features), ``intercept_`` (n_problems,) and ``n_iter_`` as a dict."""
    return {
        "coef_": np.stack([one.coef for one in learned]),
        "intercept_": np.array([one.intercept for one in learned]),
        "n_iter_": max(len(one.epochs) for one in learned),
    }
