"""The boosting loop: options of the booster, growing trees, scores, callbacks and early stopping."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.early_stopping import EarlyStopping
from spinney.core.errors import InputError
from spinney.data.schema import Schema
from spinney.gradient_boosting.callbacks import Callback, Callbacks, Round
from spinney.gradient_boosting.ledger import LedgerBuilder
from spinney.gradient_boosting.parameters import read_interactions
from spinney.gradient_boosting.target_statistics import TargetStatistics
from spinney.gradient_boosting.validation import LossScorer, ScoredRows, Scorer
from spinney.losses.losses import Loss
from spinney.native import core
from spinney.tree.grower import Grown
from spinney.tree.tree_arrays import TreeArrays
from spinney.trees.parameters import features_to_try, read_monotone, rows_or_share

Floats = NDArray[np.float64]

# The fraction of rows drawn per round where subsample is None: all rows, or the defaults of LightGBM (GOSS)
# and CatBoost (MVS).
_SUBSAMPLE = {"uniform": 1.0, "goss": 0.3, "mvs": 0.8}
# GOSS keeps the rows with the largest gradients; they are this fraction of all rows drawn.
_TOP_FRACTION = 2 / 3


def booster_options(
    params: Mapping[str, Any],
    schema: Schema,
    statistics: TargetStatistics | None,
    weights: Floats,
    n_classes: int,
) -> core.BoostOptions:
    """Return the options of the core's booster for a table with the given schema and target statistics.

    weights (n_rows,) is 0 for rows that are held out; n_classes is 0 in regression.
    """
    origin = np.arange(schema.n_features) if statistics is None else statistics.origin(schema.n_features)
    n_rows = int(np.count_nonzero(weights))
    # Weights of 1 or more are counts of rows. Smaller ones are proportions, so limits on numbers of rows are
    # taken relative to their mean.
    unit = min(1.0, float(weights.sum()) / n_rows)
    n_tried = features_to_try(params["max_features"], len(origin))
    monotone = read_monotone(params["monotonic_cst"], schema, 1, (n_classes,) if n_classes else ())
    if monotone is not None:
        monotone = np.concatenate([monotone, np.zeros(len(origin) - len(monotone), dtype=np.int8)])
    interactions = params["interaction_cst"]
    if interactions is not None:
        interactions = read_interactions(interactions, schema, origin)
    sampling, subsample = params["sampling"], params["subsample"]
    fraction = _SUBSAMPLE[sampling] if subsample is None else float(subsample)
    return core.BoostOptions(
        growth=params["growth"],
        max_leaf_nodes=params["max_leaf_nodes"],
        max_depth=params["max_depth"],
        min_samples_leaf=unit * rows_or_share(params["min_samples_leaf"], n_rows),
        min_hessian=unit * params["min_hessian"],
        l2_regularization=float(params["l2_regularization"]),
        min_gain=float(params["min_gain"]),
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

    booster: core.Booster
    loss: Loss
    y: Floats
    scorer: Scorer | None = None
    train: ScoredRows | None = None
    validation: ScoredRows | None = None
    stopping: EarlyStopping | None = None
    ledger: LedgerBuilder | None = None
    train_scores: list[float] = field(default_factory=list)
    validation_scores: list[float] = field(default_factory=list)
    trees: list[TreeArrays] = field(default_factory=list)

    @property
    def stopping_scores(self) -> list[float]:
        """Scores that early stopping looks at: of the validation rows, else of the training rows."""
        return self.validation_scores or self.train_scores

    def run(
        self, n_done: int, n_rounds: int, callbacks: Sequence[Callback], snapshot: Callable[[], Any]
    ) -> None:
        """Run the rounds after ``n_done`` up to ``n_rounds``; ``snapshot`` returns the current model."""
        if not (callbacks or self.scorer or self.ledger):
            self._grow(n_rounds - n_done)
            return
        if n_done == 0:
            self._record([])
        else:
            self._resume(n_done)
        with Callbacks(callbacks, n_done, n_rounds) as call:
            stop, number = False, n_done
            while number < n_rounds and not stop and not (self.stopping and self.stopping.should_stop):
                self._record(self._grow(1))
                number += 1
                train, validation = (
                    scores[-1] if scores else None for scores in (self.train_scores, self.validation_scores)
                )
                stop = call(Round(number, n_rounds, train, validation, snapshot))

    def _resume(self, n_done: int) -> None:
        """Continue the scores of earlier rounds; rounds that were not scored count as NaN."""
        for rows, scores in ((self.train, self.train_scores), (self.validation, self.validation_scores)):
            if rows is not None and self.scorer is not None and not scores:
                scores.extend([*[np.nan] * n_done, rows.score(self.scorer)])
        if self.stopping is not None:
            for score in self.stopping_scores:
                self.stopping.update(score)

    def _grow(self, n_rounds: int) -> list[Grown]:
        """Grow the trees of some rounds; return each with its split candidates."""
        if n_rounds == 0:
            return []
        if self.loss.core_name:
            raw = self.booster.run(self.loss.core_name, self.loss.parameter, n_rounds)
        else:
            raw = [tree for _ in range(n_rounds) for tree in self._step()]
        grown = [Grown(TreeArrays.from_grown(tree), tree.candidates) for tree in raw]
        self.trees += [one.tree for one in grown]
        return grown

    def _step(self) -> list[core.GrownTree]:
        """Grow one round of a loss that is defined in Python."""
        scores = self.booster.scores
        given = scores[:, 0] if scores.shape[1] == 1 else scores
        derivatives = []
        for name in ("gradient", "hessian"):
            values = np.asarray(getattr(self.loss, name)(self.y, given), dtype=np.float64)
            if values.shape != given.shape:
                raise InputError(
                    f"The {name} of {type(self.loss).__name__} has shape {values.shape}",
                    fix=f"It must have the shape of the scores, {given.shape}.",
                )
            if not np.isfinite(values).all():
                row = int(np.argwhere(~np.isfinite(values))[0][0])
                raise InputError(f"The {name} of {type(self.loss).__name__} is not finite", row=row)
            derivatives.append(np.ascontiguousarray(values.reshape(scores.shape)))
        gradient, hessian = derivatives
        return self.booster.step(gradient, hessian)

    def _record(self, grown: Sequence[Grown]) -> None:
        """Update scores, ledger and early stopping after a round; an empty round is the constant."""
        losses: list[float] = []
        for rows, scores in ((self.train, self.train_scores), (self.validation, self.validation_scores)):
            losses.append(np.nan)
            if rows is None:
                continue
            if grown:
                rows.add([one.tree for one in grown])
            if self.scorer is not None:
                scores.append(rows.score(self.scorer))
            if self.ledger is not None and self.loss.has_value:
                by_loss = isinstance(self.scorer, LossScorer)
                losses[-1] = -scores[-1] if by_loss else -rows.score(LossScorer(self.loss))
        if self.ledger is not None:
            self.ledger.add(losses[0], losses[1], grown)
        if self.stopping is not None:
            self.stopping.update(self.stopping_scores[-1])
