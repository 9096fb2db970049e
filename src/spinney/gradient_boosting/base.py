"""What both gradient boosting estimators share: fitting as a row of steps, and going on from before."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.core.errors import InputError
from spinney.core.parameters import Rule, check_parameters, check_weights, thread_count
from spinney.core.seeds import draw_seed
from spinney.data.schema import read_table
from spinney.gradient_boosting.callbacks import Callback, Progress, check_callbacks
from spinney.gradient_boosting.checkpoint import check_same_rows, fingerprint
from spinney.gradient_boosting.ledger import RoundLog
from spinney.gradient_boosting.model import _BoostedModel
from spinney.gradient_boosting.parameters import RULES, booster_options
from spinney.gradient_boosting.problem import Problem, read_init_score, read_rows, start_scores
from spinney.gradient_boosting.rounds import History, Training
from spinney.gradient_boosting.validation import (
    AUTO_ROWS,
    OtherRows,
    Patience,
    TrainedRows,
    best_round,
    hold_rows,
    make_judge,
)
from spinney.io import load
from spinney.losses.losses import Loss
from spinney.members.tables import take_rows
from spinney.native import core
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.predictor import EnsemblePredictor

Floats = NDArray[np.float64]


class _BaseGradientBoosting(_BoostedModel):
    """Fit a sum of trees, or go on from one; a subclass has its targets, losses and answers."""

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = RULES
    categorical_features: Any
    categorical_encoding: Literal["auto", "subset", "ordered"]
    n_estimators: int
    max_bins: int
    early_stopping: bool | Literal["auto"]
    scoring: Any
    validation_fraction: int | float | None
    n_iter_no_change: int
    tol: float
    warm_start: bool
    verbose: int
    random_state: Any
    ledger: bool | Literal["full"]

    def _keep(self, arguments: dict[str, Any]) -> None:
        """Store the arguments of ``__init__`` untouched, as scikit-learn asks."""
        self.__dict__.update((name, value) for name, value in arguments.items() if name != "self")

    # ---- fitting ----

    @abstractmethod
    def _encode(
        self, labels: NDArray[Any], classes: NDArray[Any] | None
    ) -> tuple[Floats, NDArray[Any] | None]:
        """Give targets as numbers (n_rows,) and their classes, which are those given if there are any."""

    @abstractmethod
    def _weights_of(self, labels: NDArray[Any], like: Problem | None) -> Floats | None:
        """Give the weights that rows have by their class; of other rows as those of the problem have them."""

    @abstractmethod
    def _make_loss(self, y: Floats, classes: NDArray[Any] | None, weights: Floats | None) -> Loss:
        """Make the loss that the parameters name."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        init_score: ArrayLike | None = None,
        eval_set: tuple[Any, ...] | None = None,
        callbacks: Any = None,
    ) -> Self:
        """Fit to rows X (n_rows, n_features) and targets y (n_rows,); with ``warm_start`` go on from before.

        X may be an array, a list of lists, a sparse matrix, or a data frame of pandas, polars or Arrow;
        missing values and columns of text are welcome. Rows count by ``sample_weight``.

        init_score : array (n_rows,) or (n_rows, n_classes), or None
            The score that each row starts from in place of the best constant: another model's, or the
            logarithm of an exposure. Predictions are then of what comes on top of it.
        eval_set : (X, y), (X, y, sample_weight) or (X, y, sample_weight, init_score), or None
            The rows to judge by when to stop, in place of ``validation_fraction``.
        callbacks : function, `Progress`, `StopAfter`, `Checkpoint`, or a list of such
            What is called with a `Round` after each round; something true as the answer ends the training.

        >>> from spinney import GradientBoostingRegressor
        >>> model = GradientBoostingRegressor(min_samples_leaf=1).fit([[0.0], [1.0]], [2.0, 3.0])
        >>> model.predict([[0.9]]).round(3).tolist()
        [3.0]
        """
        before = self if self.warm_start and hasattr(self, "ensemble_") else None
        return self._fit(X, y, sample_weight, init_score, eval_set, callbacks, before)

    @classmethod
    def resume(
        cls,
        path: str | os.PathLike[str],
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        init_score: ArrayLike | None = None,
        eval_set: tuple[Any, ...] | None = None,
        callbacks: Any = None,
    ) -> Self:
        """Go on from a `Checkpoint` with the arguments that ``fit`` had, to the same model, bit for bit.

        >>> GradientBoostingClassifier.resume("run.spinney", X, y)  # doctest: +SKIP
        """
        model = load(path)
        if not isinstance(model, cls):
            raise InputError(f"{str(path)!r} holds a {type(model).__name__}, not a {cls.__name__}.")
        return model._fit(X, y, sample_weight, init_score, eval_set, callbacks, model, path)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        init_score: Any,
        eval_set: Any,
        callbacks: Any,
        before: Self | None,
        resumed: object = None,
    ) -> Self:
        check_parameters(type(self).__name__, vars(self), self._parameter_rules)
        called = self._called(callbacks)
        n_done = self._rounds_done(before)
        problem = self._problem(X, y, sample_weight, init_score, before)
        stops_early = self._stops_early(problem, eval_set)
        problem = self._hold_out(problem, stops_early and eval_set is None)
        problem = problem.with_statistics(
            self.categorical_encoding, getattr(before, "statistics_", None), before is not None
        )
        matrix = problem.code(self.max_bins, self.categorical_smoothing)
        problem = problem.with_missing(matrix)
        base = self._base_score(problem, before)
        ensemble = getattr(before, "ensemble_", None)
        booster = self._booster(problem, matrix, problem.start(base, ensemble), n_done)
        training = self._training(problem, booster, base, eval_set, stops_early, before)
        if resumed is not None:
            check_same_rows(vars(self).get("_fingerprint"), _rows_seen(problem, training), resumed)

        def fitted() -> dict[str, Any]:
            return self._fitted(problem, training, base, stops_early, before)

        def snapshot() -> Any:
            return self._twin(self._unfitted)._adopt(**fitted(), _fingerprint=_rows_seen(problem, training))

        training.run(n_done, self.n_estimators, called, snapshot)
        return self._adopt(**fitted())

    def _called(self, callbacks: Any) -> list[Callback]:
        shown: list[Callback] = [Progress()] if self.verbose else []
        return check_callbacks(callbacks) + shown

    def _rounds_done(self, before: Self | None) -> int:
        n_done = 0 if before is None else before.n_iter_
        if self.n_estimators < n_done:
            raise InputError(
                f"n_estimators={self.n_estimators} must be larger or equal to the {n_done} rounds that the "
                "model has already when warm_start is True",
                fix="Raise n_estimators, or set warm_start=False to begin anew.",
            )
        if before is not None and self.ledger and not hasattr(before, "ledger_"):
            raise InputError(
                "The rounds so far have no ledger, so that of those to come cannot go on from it",
                fix="Set ledger=False, or begin anew with warm_start=False.",
            )
        return n_done

    def _problem(self, X: Any, y: Any, sample_weight: Any, init_score: Any, before: Self | None) -> Problem:
        """Read and check everything that training takes."""
        n_threads = thread_count(self.n_jobs)
        table = read_table(X, self.categorical_features) if before is None else before._read(X)
        labels, weights = read_rows(y, sample_weight, table.n_rows)
        numbers, classes = self._encode(labels, getattr(before, "classes_", None))
        by_class = self._weights_of(labels, None)
        weighted = weights is not None or by_class is not None
        weights = np.ones(table.n_rows) if weights is None else weights
        weights = weights if by_class is None else weights * by_class
        if weighted:
            check_weights(weights, table.n_rows)
        loss = self._make_loss(numbers, classes, weights) if before is None else before.loss_
        loss.check_target(numbers, weights)
        seed = draw_seed(self.random_state) if before is None else before._seed
        problem = Problem(X, table, numbers, classes, weights, weighted, None, loss, seed, n_threads)
        return replace(problem, init_score=read_init_score(init_score, table.n_rows, problem.n_scores))

    def _stops_early(self, problem: Problem, eval_set: Any) -> bool:
        if self.early_stopping == "auto":
            return eval_set is not None or problem.table.n_rows > AUTO_ROWS
        return bool(self.early_stopping)

    def _hold_out(self, problem: Problem, needed: bool) -> Problem:
        """Hold rows out of training to judge by; none if there are others, or the training rows judge."""
        if not needed or self.validation_fraction is None:
            return problem
        held = hold_rows(self.validation_fraction, problem.seed, problem.weights, problem.codes)
        return replace(problem, held=held)

    def _base_score(self, problem: Problem, before: Self | None) -> Floats:
        """Give the constant that scores start from, 0 where rows come with scores of their own."""
        if before is not None:
            return before.base_score_
        own = type(problem.loss).constant is not Loss.constant
        if problem.init_score is not None or (problem.n_scores > 1 and not own):
            return np.zeros(problem.n_scores)
        with np.errstate(over="ignore"):
            base = np.asarray(problem.loss.constant(problem.y, problem.train_weights), dtype=np.float64)
        if base.shape != (problem.n_scores,) or not np.isfinite(base).all():
            raise InputError(
                f"The best constant for these targets is {base.tolist()}, where {problem.n_scores} finite "
                "number(s) are needed",
                fix="Divide y by a large number, if it is very large.",
            )
        return base

    def _booster(
        self, problem: Problem, matrix: core.CodeMatrix, scores: Floats, n_done: int
    ) -> core.Booster:
        """Hand rows, scores and parameters to the core."""
        options = booster_options(
            vars(self),
            problem.table.schema,
            problem.statistics,
            problem.train_weights,
            problem.n_classes,
        )
        options = options.replace(n_threads=problem.n_threads, seed=problem.seed, first_round=n_done)
        booster = core.Booster(matrix, options)
        booster.set_rows(problem.y, problem.core_weights, scores)
        return booster

    def _training(
        self,
        problem: Problem,
        booster: core.Booster,
        base: Floats,
        eval_set: Any,
        stops_early: bool,
        before: Self | None,
    ) -> Training:
        """Put together which rows are followed, how they are scored, and what ends the training."""
        training = Training(booster, problem.loss, problem.y)
        if stops_early or eval_set is not None:
            training.judge = make_judge(
                self.scoring, problem.loss, self, self._answering(problem), problem.classes
            )
            if before is not None:
                training.history = History(before.train_score_.tolist(), before.validation_score_.tolist())
        if training.judge is not None or self.ledger:
            training.train = self._trained_rows(problem, booster, problem.train_weights)
        if eval_set is not None:
            training.validation = self._other_rows(problem, eval_set, base, before)
        elif problem.held is not None:
            training.validation = self._trained_rows(
                problem, booster, np.where(problem.held, problem.weights, 0.0)
            )
        if stops_early:
            training.patience = Patience(self.n_iter_no_change, self.tol)
        if self.ledger:
            training.log = RoundLog(problem.columns.schema.names, getattr(before, "ledger_", None))
        return training

    def _trained_rows(self, problem: Problem, booster: core.Booster, weights: Floats) -> TrainedRows:
        return TrainedRows(
            booster,
            lambda rows: take_rows(problem.X, rows),
            problem.y,
            weights,
            problem.weighted,
            problem.seed,
        )

    def _other_rows(self, problem: Problem, given: Any, base: Floats, before: Self | None) -> OtherRows:
        """Read an ``eval_set``; its rows have the scores of the trees that are there already."""
        if not isinstance(given, tuple | list) or not 2 <= len(given) <= 4:
            raise InputError(
                "eval_set must be (X, y), (X, y, sample_weight) or (X, y, sample_weight, init_score)."
            )
        X, y, sample_weight, init_score = (*given, None, None)[:4]
        table = problem.table.schema.read(X, self.unseen, type(self).__name__)
        labels, weights = read_rows(y, sample_weight, table.n_rows)
        numbers = self._encode(labels, problem.classes)[0]
        by_class = self._weights_of(labels, problem)
        if by_class is not None:
            weights = by_class if weights is None else weights * by_class
        if (init_score is None) != (problem.init_score is None):
            raise InputError("Both the eval_set and the training rows come with an init_score, or neither.")
        scores = start_scores(base, read_init_score(init_score, table.n_rows, len(base)), table.n_rows)
        if problem.statistics is not None:
            table = problem.statistics.encode(table)
        if before is not None:
            scores = EnsemblePredictor(before.ensemble_, len(base)).sum(
                table, problem.n_threads, start=scores
            )
        return OtherRows(X, table, numbers, weights, scores, problem.n_threads)

    # ---- what fitting leaves behind ----

    def _fitted(
        self, problem: Problem, training: Training, base: Floats, stops_early: bool, before: Self | None
    ) -> dict[str, Any]:
        """Give the fitted attributes as training stands."""
        ensemble = TreeEnsemble.from_trees(training.trees) if training.trees else None
        if before is not None:
            ensemble = before.ensemble_ if ensemble is None else before.ensemble_.extend(ensemble)
        assert ensemble is not None
        scores = training.history.validation or training.history.train
        n_rounds = ensemble.n_trees // problem.n_scores
        return {
            "schema_": problem.table.schema,
            "ensemble_": ensemble,
            "loss_": problem.loss,
            "base_score_": base,
            "classes_": problem.classes,
            "statistics_": problem.statistics,
            "best_iteration_": best_round(scores) if stops_early else n_rounds,
            "train_score_": np.array(training.history.train, dtype=np.float64),
            "validation_score_": np.array(training.history.validation, dtype=np.float64),
            "do_early_stopping_": stops_early,
            "ledger_": None if training.log is None else training.log.finish(),
            "_seed": problem.seed,
        }

    def _twin(self, attributes: dict[str, Any]) -> Self:
        """Make another estimator of this class with the given attributes."""
        twin: Self = object.__new__(type(self))
        twin.__dict__.update(attributes)
        return twin

    def _answering(self, problem: Problem) -> Any:
        """Give what makes an estimator whose raw scores are known already, for a scorer to ask."""
        known = self._unfitted | {"loss_": problem.loss}
        if problem.classes is not None:
            known |= {"classes_": problem.classes, "n_classes_": problem.n_classes}
        return lambda scores: self._twin({**known, "_raw_scores": lambda X: scores})


def _rows_seen(problem: Problem, training: Training) -> str:
    """Give what tells the rows of one training from those of another."""
    others = training.validation
    return fingerprint(
        problem.table.schema,
        problem.y,
        problem.weights if problem.weighted else None,
        problem.init_score,
        others.y if isinstance(others, OtherRows) else None,
    )
