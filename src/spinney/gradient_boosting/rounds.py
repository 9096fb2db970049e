"""The boosting loop: options of the booster, growing trees, scores, callbacks and early stopping."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from spinney.core.cached_attribute import cached_attribute
from spinney.core.early_stopping import EarlyStopping
from spinney.core.errors import InputError
from spinney.core.parameters import features_to_try, rows_or_share
from spinney.core.seeds import stream
from spinney.data.schema import Schema, Table
from spinney.data.target import decode_classes
from spinney.gradient_boosting.blocks import BlockBooster
from spinney.gradient_boosting.callbacks import Callback, Round
from spinney.gradient_boosting.categories import TargetStatistics
from spinney.gradient_boosting.defaults import SYMMETRIC_DEPTH
from spinney.gradient_boosting.ledger import LedgerBuilder
from spinney.gradient_boosting.parameters import read_interactions
from spinney.losses.losses import Loss
from spinney.members.tables import take_rows
from spinney.native import core
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.grower import Grown
from spinney.tree.predictor import Predictor
from spinney.tree.tree_arrays import TreeArrays
from spinney.trees.parameters import read_monotone

Floats = NDArray[np.float64]

_MAX_SCORED_ROWS = 10_000
"""A scikit-learn scorer is called with at most this many training rows per round."""
_SCORED_ROWS_STREAM = 102
_MAX_LOSS_RISE = 0.5
"""A warning is given if the last rounds lose more than this part of what the rounds before have gained."""

Phase = Literal["fit", "search", "refit"]


class TrainingLossWarning(UserWarning):
    """Warning that the training loss rose in the last rounds."""


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
    classes: NDArray[Any] | list[NDArray[Any]] | None

    def __call__(self, X: Any, y: Floats, raw_scores: Floats, weights: Floats | None) -> float:
        """Return the score of an estimator with these raw scores."""
        labels = y if self.classes is None else decode_classes(y.astype(np.intp), self.classes)
        more = {} if weights is None else {"sample_weight": weights}
        return float(self.scorer(self.with_raw_scores(raw_scores), X, labels, **more))


def make_scorer(
    estimator: Any, loss: Loss, with_raw_scores: Callable[[Floats], Any], classes: Any
) -> LossScorer | SklearnScorer:
    """Make the scorer named by ``estimator.scoring``: "loss", a name, a callable, or None for ``score``."""
    scoring = estimator.scoring
    if not (isinstance(scoring, str) and scoring == "loss"):
        from sklearn.metrics import check_scoring

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

    def add(self, trees: Sequence[core.GrownTree]) -> None:
        """Add the trees of one round to the raw scores."""

    def score(self, scorer: Scorer) -> float:
        """Return the current score."""


class RoundRecorder(Protocol):
    """Records values of its own after every round."""

    def update(self, trees: Sequence[core.GrownTree]) -> None:
        """Record a round by its trees, which have been added to the validation rows."""

    def copy_result(self) -> dict[str, dict[str, list[float]]]:
        """Return the values so far."""


@dataclass
class BoosterRows:
    """Rows of the booster's own matrix; the booster keeps their raw scores.

    ``weights`` (n_rows,) is 0 for all other rows. Scikit-learn scorers get weights only if
    ``pass_weights`` is True.
    """

    booster: core.Booster | BlockBooster
    X: Any
    y: Floats
    weights: Floats
    pass_weights: bool
    seed: int

    def add(self, trees: Sequence[core.GrownTree]) -> None:
        """Do nothing: the booster has added the trees already."""

    def score(self, scorer: Scorer) -> float:
        """Return the current score."""
        by_loss = isinstance(scorer, LossScorer)
        if isinstance(scorer, LossScorer) and scorer.loss.core_name:
            return -float(self.booster.loss(scorer.loss.core_name, scorer.loss.parameters, self.weights))
        rows = self.weights > 0 if by_loss else self._subset
        return scorer(
            None if by_loss else take_rows(self.X, rows),
            self.y[rows],
            self.booster.scores[rows],
            self.weights[rows] if self.pass_weights else None,
        )

    @cached_attribute
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

    def add(self, trees: Sequence[core.GrownTree]) -> None:
        """Add the trees of one round to the raw scores."""
        predictor = Predictor(TreeEnsemble.from_grown(trees), len(trees))
        self.raw_scores = predictor.sum(self.table, self.n_threads, start=self.raw_scores)

    def score(self, scorer: Scorer) -> float:
        """Return the current score."""
        return scorer(self.X, self.y, self.raw_scores, self.weights)


# ---- options of the core ----

# The fraction of rows drawn per round where subsample is None: all rows, or the defaults of LightGBM (GOSS)
# and CatBoost (MVS).
_SUBSAMPLE = {"uniform": 1.0, "goss": 0.3, "mvs": 0.8}
# GOSS keeps the rows with the largest gradients; they are this fraction of all rows drawn.
_TOP_FRACTION = 2 / 3


def booster_options(
    params: Mapping[str, Any],
    schema: Schema,
    statistics: TargetStatistics | None,
    n_rows: int,
    n_classes: int,
) -> core.BoostOptions:
    """Return the options of the core's booster for a table with the given schema and target statistics.

    n_rows counts those with a weight above 0; n_classes is 0 in regression.
    """
    origin = np.arange(schema.n_features) if statistics is None else statistics.origin(schema.n_features)
    n_tried = features_to_try(params["max_features"], len(origin))
    monotone = None
    if params["monotonic_cst"] is not None:
        monotone = read_monotone(params["monotonic_cst"], schema, 1, (n_classes,) if n_classes else ())
    if monotone is not None:
        monotone = np.concatenate([monotone, np.zeros(len(origin) - len(monotone), dtype=np.int8)])
    interactions = params["interaction_cst"]
    if interactions is not None:
        interactions = read_interactions(interactions, schema, origin)
    sampling, subsample = params["sampling"], params["subsample"]
    fraction = _SUBSAMPLE[sampling] if subsample is None else float(subsample)
    growth, max_leaf_nodes, max_depth = (params[k] for k in ("growth", "max_leaf_nodes", "max_depth"))
    if growth == "symmetric":
        max_leaf_nodes = None  # a level is split as a whole
        max_depth = max_depth or SYMMETRIC_DEPTH["classification" if n_classes else "regression"]
    return core.BoostOptions(
        growth=growth,
        max_leaf_nodes=max_leaf_nodes,
        max_depth=max_depth,
        min_samples_leaf=float(rows_or_share(params["min_samples_leaf"], n_rows)),
        min_hessian=float(params["min_hessian"]),
        l2_regularization=float(params["l2_regularization"]),
        min_gain=float(params["min_gain"]),
        random_strength=float(params["random_strength"]) if growth == "symmetric" else 0.0,
        splitter=params["splitter"],
        learning_rate=float(params["learning_rate"]),
        colsample_bytree=float(params["colsample_bytree"]),
        max_features=None if n_tried >= len(origin) else n_tried,
        monotonic_cst=monotone,
        interaction_cst=interactions,
        categorical_split=params["categorical_split"],
        categorical_smoothing=float(params["categorical_smoothing"]),
        categorical_l2=float(params["categorical_l2"]),
        ledger=params["ledger"] == "full",
        sampling="none" if fraction == 1.0 else sampling,
        subsample=fraction,
        top_fraction=_TOP_FRACTION * fraction,
        other_fraction=(1 - _TOP_FRACTION) * fraction,
    )


# ---- the loop ----


class Callbacks:
    """Several callbacks as one; a context manager that calls their ``begin`` and ``end``.

    >>> with Callbacks([lambda round: round.number == 2], n_done=0, n_rounds=5) as call:
    ...     [call(Round(number, 5, None, None, lambda: None)) for number in (1, 2)]
    [False, True]
    """

    def __init__(self, callbacks: Sequence[Callback], n_done: int, n_rounds: int) -> None:
        self._callbacks, self._n_done, self._n_rounds = callbacks, n_done, n_rounds
        self._begun: list[Callback] = []

    def __enter__(self) -> Callbacks:
        try:
            for callback in self._callbacks:
                self._begun.append(callback)
                if hasattr(callback, "begin"):
                    callback.begin(self._n_done, self._n_rounds)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for callback in self._begun:
            if hasattr(callback, "end"):
                callback.end()

    def __len__(self) -> int:
        return len(self._callbacks)

    def __call__(self, round: Round) -> bool:
        """Call every callback; return True if any of them stops training."""
        # All are called first: a callback that stops must not keep the ones after it from being called.
        results = [callback(round) for callback in self._callbacks]
        return any(map(bool, results))


def best_round(scores: Sequence[float]) -> int:
    """Return the round with the best score, the first of equal ones; not round 0, which has no trees.

    >>> best_round([-3.0, -2.0, -1.0, -1.5])
    2
    """
    return 1 + int(np.nanargmax(scores[1:]))


@dataclass
class BoostingLoop:
    """State of one training run.

    ``train`` and ``validation`` are the rows that ``scorer`` scores after every round, None where no score is
    needed. ``train_scores`` and ``validation_scores`` begin with the score of the constant, round 0.
    ``stopping`` is None where training runs to the last round.
    """

    booster: core.Booster | BlockBooster
    loss: Loss
    y: Floats
    weights: Floats | None = None
    scorer: Scorer | None = None
    train: ScoredRows | None = None
    validation: ScoredRows | None = None
    stopping: EarlyStopping | None = None
    ledger: LedgerBuilder | None = None
    evals: RoundRecorder | None = None
    train_scores: list[float] = field(default_factory=list)
    validation_scores: list[float] = field(default_factory=list)
    trees: list[core.GrownTree] = field(default_factory=list)

    @property
    def stopping_scores(self) -> list[float]:
        """Scores that early stopping looks at: of the validation rows, else of the training rows."""
        return self.validation_scores or self.train_scores

    def run(
        self,
        n_done: int,
        n_rounds: int,
        call: Callbacks,
        snapshot: Callable[[], Any],
        phase: Phase = "fit",
        member: int = 0,
    ) -> bool:
        """Run the rounds after ``n_done`` up to ``n_rounds``; return whether a callback stopped them.

        ``snapshot`` returns the current model; callbacks get ``phase`` and ``member``.
        """
        if not (len(call) or self.scorer or self.ledger):
            self._grow(n_rounds - n_done)
            return False
        if n_done == 0:
            self._record([])
        else:
            self._resume(n_done)
        stop, number = False, n_done
        while number < n_rounds and not stop and not (self.stopping and self.stopping.should_stop):
            self._record(self._grow(1))
            number += 1
            train, validation = (
                scores[-1] if scores else None for scores in (self.train_scores, self.validation_scores)
            )
            by_loss = isinstance(self.scorer, LossScorer)
            stop = call(Round(number, n_rounds, train, validation, snapshot, phase, member, by_loss))
        self._check_training_loss()
        return stop

    def _check_training_loss(self) -> None:
        """Warn if the training loss, where it is known, has risen: the steps are too long."""
        if isinstance(self.scorer, LossScorer):
            losses = -np.array(self.train_scores)
        elif self.ledger is not None:
            losses = self.ledger.train_losses
        else:
            return
        losses = losses[~np.isnan(losses)]
        if len(losses) < 2:
            return
        limit = losses.min() + _MAX_LOSS_RISE * (losses[0] - losses.min()) + 1e-6 * abs(losses[0])
        if losses[-1] > limit:
            warnings.warn(
                f"The training loss rose from {losses.min():.6g} to {losses[-1]:.6g} in the last of "
                f"{len(losses) - 1} rounds; that of the constant is {losses[0]:.6g}. Lower learning_rate, or "
                "raise l2_regularization or min_samples_leaf.",
                TrainingLossWarning,
                stacklevel=2,
            )

    def _resume(self, n_done: int) -> None:
        """Continue the scores of earlier rounds; rounds that were not scored count as NaN."""
        for rows, scores in ((self.train, self.train_scores), (self.validation, self.validation_scores)):
            if rows is not None and self.scorer is not None and not scores:
                scores.extend([*[np.nan] * n_done, rows.score(self.scorer)])
        if self.stopping is not None:
            for score in self.stopping_scores:
                self.stopping.update(score)

    def _grow(self, n_rounds: int) -> list[core.GrownTree]:
        """Grow the trees of some rounds."""
        if n_rounds == 0:
            return []
        if self.loss.core_name and not self.loss.changes:
            grown = self._run(self.loss, n_rounds)
        else:
            grown = [tree for _ in range(n_rounds) for tree in self._step()]
        self.trees += grown
        return grown

    def _run(self, loss: Loss, n_rounds: int) -> list[core.GrownTree]:
        """Grow rounds of a loss of the core, which refuses gradients that are not finite."""
        try:
            return self.booster.run(loss.core_name, loss.parameters, n_rounds)
        except ValueError as error:
            raise InputError(str(error).removesuffix(".")) from error

    def _step(self) -> list[core.GrownTree]:
        """Grow one round of a loss that changes between rounds, or that is defined in Python."""
        scores = self.booster.scores
        given = scores[:, 0] if scores.shape[1] == 1 else scores
        loss = self.loss.for_round(self.y, given, self.weights)
        if loss.core_name:
            return self._run(loss, 1)
        derivatives = []
        for name, computed in zip(("gradient", "hessian"), loss.derivatives(self.y, given), strict=True):
            values = np.asarray(computed, dtype=np.float64)
            if values.shape != given.shape:
                raise InputError(
                    f"The {name} of {type(loss).__name__} has shape {values.shape}",
                    fix=f"It must have the shape of the scores, {given.shape}.",
                )
            if not np.isfinite(values).all():
                row = int(np.argwhere(~np.isfinite(values))[0][0])
                raise InputError(f"The {name} of {type(loss).__name__} is not finite", row=row)
            derivatives.append(np.ascontiguousarray(values.reshape(scores.shape)))
        gradient, hessian = derivatives
        if (hessian < 0).any():
            raise InputError(
                f"The hessian of {type(loss).__name__} is negative",
                row=int(np.argwhere(hessian < 0)[0][0]),
                fix="A Newton step needs a hessian of at least 0; clip it at 0 or return an upper bound.",
            )
        return self.booster.step(gradient, hessian, loss.bounds_steps)

    def _record(self, grown: Sequence[core.GrownTree]) -> None:
        """Update scores, ledger and early stopping after a round; an empty round is the constant."""
        losses: list[float] = []
        for rows, scores in ((self.train, self.train_scores), (self.validation, self.validation_scores)):
            losses.append(np.nan)
            if rows is None:
                continue
            if grown:
                rows.add(grown)
            if self.scorer is not None:
                scores.append(rows.score(self.scorer))
            if self.ledger is not None and self.loss.has_value:
                by_loss = isinstance(self.scorer, LossScorer)
                losses[-1] = -scores[-1] if by_loss else -rows.score(LossScorer(self.loss))
        if self.ledger is not None:
            trees = [Grown(TreeArrays.from_grown(tree), tree.candidates) for tree in grown]
            self.ledger.add(losses[0], losses[1], trees)
        if self.evals is not None and grown:
            self.evals.update(grown)
        if self.stopping is not None:
            self.stopping.update(self.stopping_scores[-1])
