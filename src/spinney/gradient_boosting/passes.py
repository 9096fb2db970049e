"""The passes of one fit: a search for the number of rounds, a second fit on all rows, and several members."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import mean_of_scaled, sum_scale
from spinney.core.cached_attribute import cached_attribute
from spinney.core.early_stopping import EarlyStopping
from spinney.core.errors import InputError, ModelFileError
from spinney.core.seeds import draw_word
from spinney.data.schema import Table
from spinney.gradient_boosting.blocks import BlockBooster
from spinney.gradient_boosting.categories import TargetStatistics, features_to_encode
from spinney.gradient_boosting.defaults import MemberPlan, Value, refit_rounds
from spinney.gradient_boosting.evaluation import EvalsResult, Evaluation, is_evals_result
from spinney.gradient_boosting.ledger import GradientLedger, LedgerBuilder, join_ledgers
from spinney.gradient_boosting.rounds import (
    BoostingLoop,
    Callbacks,
    EvalSetRows,
    LossScorer,
    Phase,
    Scorer,
    best_round,
    booster_options,
)
from spinney.gradient_boosting.training_set import BoostingSet, ValidationRows, start_scores
from spinney.io import Persistent, require
from spinney.members.tables import is_array
from spinney.native import core
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.predictor import Predictor

Floats = NDArray[np.float64]
Fitted: TypeAlias = dict[str, Any]
"""Fitted attributes of an estimator by name."""

_MEMBER_STREAM = 103
_NO_SCORES: Floats = np.empty(0)


@dataclass(frozen=True, eq=False)
class TrainedRounds(Persistent):
    """Rounds that are done: those that a pass continues, or those of a finished member.

    Attributes
    ----------
    ensemble : TreeEnsemble
        The trees.
    base_score : ndarray of shape (n_scores,)
        The constant.
    statistics : TargetStatistics or None
        Target statistics of encoded features.
    train_score, validation_score : ndarray
        Scores of the rounds, or of the search before them; may be empty.
    ledger : GradientLedger or None
        Record of the rounds.
    refit_rounds : int
        Number of rounds that were fitted on all rows after a search, 0 without one.
    evals_result : dict
        Metrics of every ``eval_set`` after every round.
    """

    ensemble: TreeEnsemble
    base_score: Floats
    statistics: TargetStatistics | None = None
    train_score: Floats = field(default_factory=lambda: _NO_SCORES)
    validation_score: Floats = field(default_factory=lambda: _NO_SCORES)
    ledger: GradientLedger | None = None
    refit_rounds: int = 0
    evals_result: EvalsResult = field(default_factory=dict)

    def __post_init__(self) -> None:
        valid = isinstance(self.ensemble, TreeEnsemble) and isinstance(self.ledger, GradientLedger | None)
        valid = valid and isinstance(self.statistics, TargetStatistics | None)
        arrays = (self.base_score, self.train_score, self.validation_score)
        valid = valid and all(
            isinstance(a, np.ndarray) and a.dtype == np.float64 and a.ndim == 1 for a in arrays
        )
        valid = valid and (self.evals_result == {} or is_evals_result(self.evals_result))
        if not valid or type(self.refit_rounds) is not int:
            raise ModelFileError("The rounds of a member are not sound.")

    def left_out(self) -> TrainedRounds:
        """Return what takes the place of a further member with the same settings, which is not fitted."""
        return replace(self, train_score=_NO_SCORES, validation_score=_NO_SCORES)

    @classmethod
    def of(cls, fitted: Mapping[str, Any]) -> TrainedRounds:
        """Take the rounds from fitted attributes, those after the best one included."""
        return cls(
            fitted["ensemble_"],
            fitted["base_score_"],
            fitted.get("statistics_"),
            fitted["train_score_"],
            fitted["validation_score_"],
            fitted.get("ledger_"),
            fitted.get("chosen_", {}).get("refit_rounds", 0),
            fitted.get("evals_result_", {}),
        )


@dataclass(frozen=True, eq=False)
class Position(Persistent):
    """Where a fit is: saved in checkpoints, so that it can be resumed in any pass of any member.

    Attributes
    ----------
    phase : {"fit", "search", "refit"}
        The pass.
    member : int
        Index of the member.
    n_rounds : int
        Number of rounds of the pass, at most.
    finished : tuple of TrainedRounds
        Members that are finished.
    """

    phase: str = "fit"
    member: int = 0
    n_rounds: int = 1
    finished: tuple[TrainedRounds, ...] = ()

    def __post_init__(self) -> None:
        valid = self.phase in ("fit", "search", "refit") and isinstance(self.finished, tuple)
        valid = valid and all(isinstance(one, TrainedRounds) for one in self.finished)
        valid = valid and type(self.n_rounds) is int and self.n_rounds >= 1
        if not valid or type(self.member) is not int or self.member != len(self.finished):
            raise ModelFileError("The position of a checkpoint is not sound.")


class BoostingPass:
    """Rounds on one set of rows.

    ``training`` are all rows; some of them are held out if ``stops_early`` and there are no ``validation``
    rows. ``earlier`` are rounds to continue.
    """

    def __init__(
        self,
        training: BoostingSet,
        settings: Mapping[str, Any],
        earlier: TrainedRounds | None,
        *,
        stops_early: bool = False,
        scorer: Scorer | None = None,
        evaluation: Evaluation | None = None,
    ) -> None:
        validation = None if evaluation is None else evaluation.sets[-1]
        if stops_early and validation is None and settings["validation_fraction"] is not None:
            training = training.hold_out_rows(settings["validation_fraction"])
        features, statistics = _features_to_encode(training.table, settings, earlier)
        if features:
            training = training.encode_categories(features, statistics)
        self.training = training.coded_columns(settings["max_bins"], settings["categorical_smoothing"])
        self.settings, self.earlier, self.stops_early = settings, earlier, stops_early
        self.base_score = self.training.optimal_constant() if earlier is None else earlier.base_score
        self.loop = self._make_loop(scorer, evaluation)

    @property
    def n_done(self) -> int:
        """Number of rounds that are continued."""
        return 0 if self.earlier is None else self.earlier.ensemble.n_trees // self.training.n_scores

    def _make_booster(self) -> core.Booster | BlockBooster:
        """Return the booster, with rows, raw scores and parameters."""
        training = self.training
        options = booster_options(
            self.settings,
            training.table.schema,
            training.statistics,
            training.n_weighted,
            len(training.classes[0]) if training.classes else 0,
        )
        options = options.replace(n_threads=training.n_threads, seed=training.seed, first_round=self.n_done)
        if training.blocks is not None and training.init_score is None and self.earlier is None:
            scores = np.broadcast_to(self.base_score, (training.n_rows, training.n_scores))  # no memory
        else:
            scores = start_scores(self.base_score, training.init_score, training.n_rows)
        targets = np.ravel(training.core_targets, order="F")  # one output after the other
        scores = self._add_earlier(training.columns, scores)
        if training.blocks is not None:
            rows = targets.reshape(-1, training.n_rows), training.weights, scores
            return BlockBooster(training.codes, options, training.blocks, *rows, training.traffic)
        booster = core.Booster(training.codes, options)
        booster.set_rows(targets, training.weights, scores)
        return booster

    def _add_earlier(self, columns: Table, scores: Floats) -> Floats:
        """Add the earlier trees to raw scores."""
        if self.earlier is None:
            return scores
        predictor = Predictor(self.earlier.ensemble, self.training.n_scores)
        blocks, n_threads = self.training.blocks, self.training.n_threads
        if blocks is None or columns is not self.training.columns:
            return predictor.sum(columns, n_threads, start=scores)
        return blocks.add_trees(predictor, scores, n_threads)

    def _make_loop(self, scorer: Scorer | None, evaluation: Evaluation | None) -> BoostingLoop:
        """Put together which rows are scored and how, and what stops training."""
        training, earlier, ledger = self.training, self.earlier, self.settings["ledger"]
        booster = self._make_booster()
        loss = training.round_loss(booster)
        loop = BoostingLoop(booster, loss, training.targets, training.weights, scorer)
        if scorer is not None and earlier is not None:
            loop.train_scores = earlier.train_score.tolist()
            loop.validation_scores = earlier.validation_score.tolist()
        if scorer is not None or ledger:
            loop.train = training.scored_rows(booster, training.full_weights)
        if evaluation is not None:
            rows = [self._scored(one) for one in evaluation.sets]
            loop.validation = rows[-1]
            before = None if earlier is None else earlier.evals_result
            loop.evals = evaluation.recorder(rows, before, self.n_done)
        elif training.validation_weights is not None:
            loop.validation = training.scored_rows(booster, training.validation_weights)
        if self.stops_early:
            loop.stopping = EarlyStopping(self.settings["n_iter_no_change"], self.settings["tol"])
        if ledger:
            loop.ledger = LedgerBuilder(training.columns.schema.names, earlier.ledger if earlier else None)
        return loop

    def _scored(self, rows: ValidationRows) -> EvalSetRows:
        """Return the rows of an eval_set with the raw scores of the rounds so far."""
        table, statistics = rows.table, self.training.statistics
        scores = start_scores(self.base_score, rows.init_score, table.n_rows)
        table = table if statistics is None else statistics.encode(table)
        scores = self._add_earlier(table, scores)
        return rows.scored(table, scores, self.training.n_threads)

    @property
    def best_iteration(self) -> int:
        """The best round of early stopping."""
        return best_round(self.loop.stopping_scores)

    @property
    def scores(self) -> tuple[Floats, Floats]:
        """Scores of the training and of the validation rows."""
        loop = self.loop
        return np.array(loop.train_scores, dtype=np.float64), np.array(
            loop.validation_scores, dtype=np.float64
        )

    def fitted(self, chosen: Mapping[str, Value]) -> Fitted:
        """Return the fitted attributes after the rounds so far."""
        loop, training = self.loop, self.training
        ensemble = TreeEnsemble.from_grown(loop.trees) if loop.trees else None
        if self.earlier is not None:
            before = self.earlier.ensemble
            ensemble = before if ensemble is None else before.extend(ensemble)
        assert ensemble is not None
        if not np.isfinite(ensemble.value).all():
            raise InputError(
                "The values of the leaves are not finite: the targets or the weights are too large",
                fix="Divide them by a large number.",
            )
        n_rounds = ensemble.n_trees // training.n_scores
        return {
            "schema_": training.table.schema,
            "ensemble_": ensemble,
            "loss_": training.loss,
            "base_score_": self.base_score,
            "classes_": training.class_labels,
            "statistics_": training.statistics,
            "best_iteration_": self.best_iteration if self.stops_early else n_rounds,
            "train_score_": self.scores[0],
            "validation_score_": self.scores[1],
            "do_early_stopping_": self.stops_early,
            "evals_result_": {} if loop.evals is None else loop.evals.copy_result(),
            "ledger_": None if loop.ledger is None else loop.ledger.finish(chosen),
            "chosen_": dict(chosen),
            "traffic_": None if training.blocks is None else training.traffic,
        }


def _features_to_encode(
    table: Table, settings: Mapping[str, Any], earlier: TrainedRounds | None
) -> tuple[Sequence[int], TargetStatistics | None]:
    """Return the features to encode by target statistics, and the statistics of earlier rounds."""
    if earlier is not None:
        return (() if earlier.statistics is None else earlier.statistics.features), earlier.statistics
    encoding = settings["categorical_encoding"]
    if encoding == "subset" or not table.schema.categorical.any():
        return (), None
    return features_to_encode(table, encoding), None


@dataclass
class BoostingFit:
    """One call to ``fit``: the passes of every member.

    Attributes
    ----------
    training : BoostingSet
        All rows; none are held out yet.
    settings : mapping
        Parameters of the estimator, with the chosen ones instead of "auto".
    chosen : dict
        The chosen ones.
    scorer : Scorer or None
        Score of every round of the first pass.
    evaluation : Evaluation or None
        Sets of an ``eval_set`` and their metrics.
    stops_early, refits : bool
        Whether the first pass stops early, and whether a second one on all rows follows.
    call : Callbacks
        The callbacks.
    snapshot : callable
        Makes a model of fitted attributes and a position.
    """

    training: BoostingSet
    settings: Mapping[str, Any]
    chosen: dict[str, Value]
    scorer: Scorer | None
    evaluation: Evaluation | None
    stops_early: bool
    refits: bool
    call: Callbacks
    snapshot: Callable[[Fitted, Position], Any]

    def run(self, earlier: TrainedRounds | None, start: Position) -> Fitted:
        """Train from a position on, and return the fitted attributes."""
        n_members, finished, fitted = self.settings["n_members"], list(start.finished), {}
        for member in range(start.member, n_members):
            if not self._plan.is_tried(member, self._losses(finished)):
                finished.append(finished[member - len(self._plan.variants)].left_out())
                continue
            phase = start.phase if member == start.member else "fit"
            position = Position(phase, member, start.n_rounds, tuple(finished))
            one, stopped = self._fit_member(position, earlier)
            earlier = None
            if stopped and finished:  # a member that a callback stopped would spoil the average
                break
            fitted = one
            if n_members > 1:
                finished.append(_up_to_best(one))
            if stopped:
                break
        return fitted if n_members == 1 else self._average(fitted, finished)

    def _fit_member(self, at: Position, earlier: TrainedRounds | None) -> tuple[Fitted, bool]:
        """Run the passes of one member; return its fitted attributes, and whether a callback stopped it."""
        training, settings, n_rounds = self._seeded(at.member), self._plan.settings_of(at.member), at.n_rounds
        if at.phase == "refit" and earlier is not None:
            scores = earlier.train_score, earlier.validation_score
        else:
            search = BoostingPass(
                training,
                settings,
                earlier,
                stops_early=self.stops_early,
                scorer=self.scorer,
                evaluation=self.evaluation,
            )
            at = replace(at, phase="search" if self.refits else "fit", n_rounds=self.settings["n_estimators"])
            stopped = self._run(search, at, lambda: search.fitted(self.chosen))
            if stopped or not self.refits:
                return search.fitted(self.chosen), stopped
            losses = self._losses(at.finished, search.scores[1])
            if not self._plan.is_kept(at.member, losses):
                return search.fitted(self.chosen), False
            scores, earlier = search.scores, None
            n_trained = search.training.n_weighted
            n_rounds = refit_rounds(search.best_iteration, training.n_weighted, n_trained)
            if "n_estimators" not in self.chosen:
                n_rounds = min(n_rounds, at.n_rounds)
        again = BoostingPass(training, settings, earlier)
        chosen = self.chosen | {"refit_rounds": n_rounds}

        def fitted() -> Fitted:
            known = {"train_score_": scores[0], "validation_score_": scores[1], "do_early_stopping_": True}
            return again.fitted(chosen) | known

        stopped = self._run(again, replace(at, phase="refit", n_rounds=n_rounds), fitted)
        return fitted(), stopped

    def _run(self, one: BoostingPass, at: Position, fitted: Callable[[], Fitted]) -> bool:
        """Run the rounds of a pass; return whether a callback stopped it."""
        phase: Phase = at.phase  # type: ignore[assignment]
        return one.loop.run(
            one.n_done, at.n_rounds, self.call, lambda: self.snapshot(fitted(), at), phase, at.member
        )

    @cached_attribute
    def _plan(self) -> MemberPlan:
        return MemberPlan.of(self.settings, self.chosen, self.training.kind, self.training.n_weighted)

    def _seeded(self, member: int) -> BoostingSet:
        """Return the training rows with the seed of a member, which chooses its validation rows."""
        turn = self._plan.turn(member)
        if turn == 0:
            return self.training
        return replace(self.training, seed=draw_word(draw_word(self.training.seed, _MEMBER_STREAM), turn))

    def _losses(self, members: Sequence[TrainedRounds], *scores: Floats) -> list[float]:
        """Return the least validation loss of each member and of further scores, NaN where unknown."""
        if not isinstance(self.scorer, LossScorer):
            return [np.nan] * (len(members) + len(scores))
        return [_least_loss(one) for one in (*(member.validation_score for member in members), *scores)]

    def _average(self, last: Fitted, members: Sequence[TrainedRounds]) -> Fitted:
        """Return one model whose raw scores are the mean of those of the members."""
        losses = self._losses(members)
        kept = [
            i for i in range(len(members)) if self._plan.is_kept(i, losses) and self._plan.is_tried(i, losses)
        ]
        names = tuple(self._plan.name(i) for i in kept)
        members = [members[i] for i in kept]
        first, n = members[0], len(members)
        for one in members:
            same = one.statistics is first.statistics is None or (
                one.statistics is not None
                and first.statistics is not None
                and one.statistics.equals(first.statistics)
            )
            if not same:
                raise InputError(
                    "The members were trained on different rows, so their target statistics differ",
                    fix='Set refit=True, n_members=1 or categorical_encoding="subset".',
                )
        ensemble = reduce(TreeEnsemble.extend, [one.ensemble for one in members])
        rounds = tuple(one.refit_rounds for one in members)
        chosen = self.chosen | ({"refit_rounds": rounds} if any(rounds) else {})
        chosen |= {"members": names} if len(self._plan.variants) > 1 else {}
        ledgers = [one.ledger for one in members if one.ledger is not None]
        return last | {
            "statistics_": first.statistics,
            "ensemble_": replace(ensemble, value=ensemble.value / n),
            "base_score_": _mean_constant([one.base_score for one in members]),
            "best_iteration_": ensemble.n_trees // self.training.n_scores,
            "train_score_": first.train_score,
            "validation_score_": first.validation_score,
            "evals_result_": first.evals_result,
            "ledger_": replace(join_ledgers(ledgers), chosen_parameters=chosen) if ledgers else None,
            "chosen_": chosen,
            "_n_members": n,
        }


def _mean_constant(constants: Sequence[Floats]) -> Floats:
    """Return the mean of the constants that members start from; the sum of large ones may overflow."""
    with np.errstate(over="ignore"):
        mean = np.asarray(np.mean(constants, axis=0))
    if np.isfinite(mean).all():
        return mean
    scale = sum_scale(len(constants))
    return mean_of_scaled(np.sum(np.multiply(constants, scale), axis=0), len(constants), scale)


def _least_loss(scores: Floats) -> float:
    """Return the least loss of some rounds whose scores are losses, without the constant; NaN if none."""
    rounds = scores[1:]
    return -float(np.nanmax(rounds)) if np.isfinite(rounds).any() else np.nan


def _up_to_best(fitted: Fitted) -> TrainedRounds:
    """Return the rounds of a member that predictions use."""
    n_trees = fitted["best_iteration_"] * len(fitted["base_score_"])
    rounds = TrainedRounds.of(fitted)
    ledger = rounds.ledger
    if ledger is not None:
        ledger = ledger.first_rounds(fitted["best_iteration_"], len(fitted["base_score_"]))
    return replace(rounds, ensemble=rounds.ensemble[:n_trees], ledger=ledger)


def check_members(fitted: Mapping[str, Any], n_categories: Sequence[int], n_scores: int) -> None:
    """Raise ModelFileError unless members, position and scores of a model file agree with its trees.

    n_categories (n_columns,): of the columns that trees are grown on
    """
    n_members, position = fitted.get("_n_members", 1), fitted.get("_position")
    require(type(n_members) is int and n_members >= 1, "the number of members is not a number")
    require(isinstance(position, Position | None), "the position of the checkpoint is not one")
    for member in position.finished if position is not None else ():
        require(member.ensemble.n_features == len(n_categories), "a member has other features")
        member.ensemble.validate(n_categories)
        require(is_array(member.base_score, np.float64, n_scores), "a member has no constant")
    is_search = n_members > 1 or "refit_rounds" in fitted.get("chosen_", {})
    n_rounds = fitted["ensemble_"].n_trees // n_scores
    for name in ("train_score_", "validation_score_"):
        lengths = [len(np.atleast_1d(fitted[name]))] if is_search else [0, n_rounds + 1]
        valid = any(is_array(fitted[name], np.float64, n) for n in lengths)
        require(valid, f"{name} is not one number per round")
