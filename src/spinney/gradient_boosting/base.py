"""Base class of the gradient boosting estimators: the steps of ``fit``, raw scores and fitted state."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from spinney.base import TableEstimator
from spinney.core.errors import InputError
from spinney.core.parameters import (
    EARLY_STOPPING,
    Use,
    check_parameters,
    draw_seed,
    plain_values,
    thread_count,
)
from spinney.data.schema import Table, read_table
from spinney.data.target import by_output, class_attributes
from spinney.data.training_set import Task
from spinney.gradient_boosting.block_engine import Traffic
from spinney.gradient_boosting.callbacks import Callback, Progress, check_callbacks, check_same_rows
from spinney.gradient_boosting.categories import TargetStatistics
from spinney.gradient_boosting.defaults import (
    ROBUST_LOSSES,
    Facts,
    Value,
    check_chosen,
    check_growth,
    choose,
    is_auto,
)
from spinney.gradient_boosting.evaluation import (
    EvalArguments,
    EvalSet,
    EvalsResult,
    Evaluation,
    Metric,
    evals_frame,
    is_evals_result,
    make_metric,
)
from spinney.gradient_boosting.ledger import GradientLedger
from spinney.gradient_boosting.parameters import BoostingParameters
from spinney.gradient_boosting.passes import BoostingFit, Fitted, Position, TrainedRounds, check_members
from spinney.gradient_boosting.rounds import Callbacks, LossScorer, Scorer, make_scorer
from spinney.gradient_boosting.training_set import (
    BoostingSet,
    QueryArguments,
    ValidationRows,
    read_init_score,
    start_scores,
)
from spinney.inspect.explainable import Explainable
from spinney.inspect.tree_view import TreeView, view_tree
from spinney.io import load, require
from spinney.losses.losses import IDENTITY, Loss, MultiQuantileLoss
from spinney.losses.multi_output import MultiClassOutputsLoss, MultiOutputLoss
from spinney.members.tables import check_classes, is_array
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.predictor import Predictor
from spinney.tree.tree_sum import TreeSum

Floats = NDArray[np.float64]
# Gains above this are divided by the largest before they are added.
_LARGEST_TERM = 1e290


class _BaseGradientBoosting(Explainable, BoostingParameters, TableEstimator):
    """Sum of trees, of which only those up to ``best_iteration_`` are used."""

    _task: ClassVar[Task]
    _multi_output: ClassVar[bool] = False
    _rounds_name: ClassVar[str] = "n_estimators"
    _required_attributes: ClassVar[tuple[str, ...]] = (
        "ensemble_",
        "loss_",
        "base_score_",
        "best_iteration_",
        "train_score_",
        "validation_score_",
        "do_early_stopping_",
        "_seed",
    )
    _state_attributes = (
        "classes_",
        "statistics_",
        "ledger_",
        "chosen_",
        "evals_result_",
        "_n_members",
        "_fingerprint",
        "_position",
    )
    _transient_attributes: ClassVar[tuple[str, ...]] = (
        "n_classes_",
        "n_iter_",
        "n_trees_per_iteration_",
        "traffic_",
        "_predictor",
    )
    _parameter_uses: ClassVar[tuple[Use, ...]] = (EARLY_STOPPING,)

    class_weight: Any = None

    ensemble_: TreeEnsemble
    loss_: Loss
    base_score_: Floats
    best_iteration_: int
    n_iter_: int
    n_trees_per_iteration_: int
    train_score_: Floats
    validation_score_: Floats
    do_early_stopping_: bool
    classes_: NDArray[Any]
    statistics_: TargetStatistics
    ledger_: GradientLedger
    chosen_: dict[str, Value]
    evals_result_: EvalsResult
    traffic_: Traffic
    _seed: int
    _n_members: int
    _fingerprint: str
    _position: Position
    _predictor: Predictor

    # ---- fitting ----

    @abstractmethod
    def _make_loss(self, training: BoostingSet) -> Loss:
        """Return the loss that the parameters name."""

    @classmethod
    def _load_checkpoint(cls, path: str | os.PathLike[str]) -> Self:
        model = load(path)
        if not isinstance(model, cls):
            raise InputError(f"{str(path)!r} holds a {type(model).__name__}, not a {cls.__name__}.")
        return model

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        init_score: ArrayLike | None,
        eval_set: EvalArguments | EvalSet | None,
        callbacks: Callback | Sequence[Callback] | None,
        warm: bool,
        checkpoint: object = None,
        queries: QueryArguments | None = None,
    ) -> Self:
        """Fit; ``warm`` continues the rounds that this model has, those of a checkpoint if it is given."""
        self._check_params()
        called = [] if callbacks is None else check_callbacks(callbacks)
        called += [Progress(every=self.verbose)] if self.verbose else []
        training = self._read_training_set(X, y, sample_weight, init_score, warm, queries)
        evals = None if eval_set is None else EvalArguments.read(eval_set)
        evaluation = self._read_evaluation(evals, training, queries)
        validation = None if evaluation is None else evaluation.sets[-1]
        rows = partial(training.fingerprint, validation)
        if checkpoint is not None:
            check_same_rows(vars(self).get("_fingerprint"), rows(), checkpoint)
        chosen = self._choose(training, validation is not None, warm)
        settings = self._settings(chosen, warm and checkpoint is None)
        earlier, start, continues = self._earlier(warm, checkpoint is not None)
        stops_early = settings["early_stopping"] and not (continues and validation is None)
        holds_out = stops_early and validation is None and settings["validation_fraction"] is not None
        scorer = self._make_scorer(training) if stops_early or validation is not None else None

        def snapshot(fitted: Fitted, position: Position) -> _BaseGradientBoosting:
            known = {name: value for name, value in fitted.items() if value is not None}
            known |= {"_seed": training.seed, "_fingerprint": rows(), "_position": position}
            return self._copy_for_scoring(**known | self._derived(known))

        n_done = self.n_iter_ if warm else 0
        with Callbacks(
            called, n_done, start.n_rounds if start.phase == "refit" else settings["n_estimators"]
        ) as call:
            fit = BoostingFit(
                training,
                settings,
                chosen,
                scorer,
                evaluation,
                stops_early,
                bool(settings["refit"]) and holds_out and (not warm or checkpoint is not None),
                call,
                snapshot,
            )
            fitted = fit.run(earlier, start)
        if continues:
            fitted["chosen_"] = fitted["chosen_"] | {"refit_rounds": self.chosen_["refit_rounds"]}
            if scorer is None:
                fitted |= {name: getattr(self, name) for name in ("train_score_", "validation_score_")}
                fitted["do_early_stopping_"] = self.do_early_stopping_
        return self._set_fitted(**fitted, _seed=training.seed)

    def _choose(self, training: BoostingSet, has_eval_set: bool, warm: bool) -> dict[str, Value]:
        """Return the values of the parameters that are "auto"; a model that continues keeps its own."""
        has_score = self._has_score(training)
        constrained = self.monotonic_cst is not None or self.interaction_cst is not None
        facts = Facts(
            training.n_weighted,
            training.kind,
            has_eval_set,
            has_score,
            constrained or self.warm_start,
            training.loss.core_name in ROBUST_LOSSES,
            training.loss.core_name == "squared",
        )
        chosen = choose(plain_values(self._booster_params()), facts)
        if warm:
            earlier = vars(self).get("chosen_", {})
            chosen = {
                name: value if name in ("early_stopping", "refit") else earlier.get(name, value)
                for name, value in chosen.items()
            }
        return chosen

    def _booster_params(self) -> dict[str, Any]:
        """Return all parameters of boosting by name; a subclass adds those that it fixes."""
        params: dict[str, Any] = self.get_params(deep=False)
        return params

    def _has_score(self, training: BoostingSet) -> bool:
        """Return whether early stopping has a score: a loss of one's own may have only derivatives."""
        by_loss = isinstance(self.scoring, str) and self.scoring == "loss"
        return training.loss.has_value or not by_loss

    def _settings(self, chosen: Mapping[str, Value], continues: bool) -> dict[str, Any]:
        """Return all parameters, with the chosen ones; raise if they do not allow to continue the model."""
        settings: dict[str, Any] = plain_values(self._booster_params()) | dict(chosen)
        check_parameters(type(self).__name__, settings, self._parameter_rules)  # a file may have other values
        check_growth(settings)
        if not continues:
            return settings
        if is_auto(self.n_estimators) and "refit_rounds" in self.chosen_:
            settings["n_estimators"] = self.n_iter_
        if settings["n_members"] > 1 or vars(self).get("_n_members", 1) > 1:
            raise InputError(
                "A model of several members cannot be continued",
                fix="Set n_members=1, or start again with warm_start=False.",
            )
        if settings["n_estimators"] < self.n_iter_:
            raise InputError(
                f"{self._rounds_name}={settings['n_estimators']} must be larger than or equal to n_iter_="
                f"{self.n_iter_}, the rounds that the model already has, when warm_start is True",
                fix=f"Raise {self._rounds_name}, or set warm_start=False to start again.",
            )
        if self.ledger and not hasattr(self, "ledger_"):
            raise InputError(
                "The earlier rounds have no ledger that the new ones could continue",
                fix="Set ledger=False, or start again with warm_start=False.",
            )
        return settings

    def _earlier(self, warm: bool, resumed: bool) -> tuple[TrainedRounds | None, Position, bool]:
        """Return the rounds to continue, their position in a fit, and whether they are a finished refit."""
        if not warm:
            return None, Position(), False
        rounds = TrainedRounds.of(vars(self))
        if resumed:
            return rounds, vars(self).get("_position", Position()), False
        continues = "refit_rounds" in vars(self).get("chosen_", {})
        if continues:  # the scores are those of the search
            rounds = replace(rounds, train_score=np.empty(0), validation_score=np.empty(0))
        return rounds, Position(), continues

    def _make_scorer(self, training: BoostingSet) -> Scorer:
        """Return the scorer that ``scoring`` names."""
        return make_scorer(self, training.loss, self._scoring_copies(training), training.class_labels)

    def _scoring_copies(self, training: BoostingSet) -> Callable[[Floats], Self]:
        """Return a function that makes an estimator which predicts from given raw scores."""
        known = {"loss_": training.loss}
        known |= class_attributes(training.class_labels) if training.classes else {}
        return lambda scores: self._copy_for_scoring(**known, _raw_scores=lambda X: scores)

    def _read_evaluation(
        self, given: EvalArguments | None, training: BoostingSet, queries: QueryArguments | None
    ) -> Evaluation | None:
        """Read the sets of an ``eval_set``, and make the metrics that are recorded."""
        if given is None:
            return None
        known = self, training.loss, self._scoring_copies(training), training.class_labels
        if given.metrics is not None:
            metrics = tuple(make_metric(metric, *known) for metric in given.metrics)
        else:
            scorer = self._make_scorer(training)
            by_loss = isinstance(scorer, LossScorer)
            name = self.scoring if isinstance(self.scoring, str) else "score"
            metrics = (Metric(name, scorer, -1.0 if by_loss else 1.0),)
        n_sets, queries = len(given.sets), queries or QueryArguments()
        sets = tuple(
            self._read_eval_set(one, training, queries.of_set(k, n_sets)) for k, one in enumerate(given.sets)
        )
        return Evaluation(sets, given.names, metrics)

    def _read_eval_set(
        self, eval_set: EvalSet, training: BoostingSet, queries: QueryArguments
    ) -> ValidationRows:
        """Read and check validation rows; ``queries`` are those of this set."""
        owner = type(self).__name__
        return ValidationRows.read(eval_set, training, self.unseen, self.class_weight, owner)

    def _learn_table(self, X: Any) -> Table:
        """Read the training rows, and learn their schema."""
        return read_table(X, self._booster_params()["categorical_features"])

    def _read_training_set(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        init_score: ArrayLike | None,
        warm: bool,
        queries: QueryArguments | None,
    ) -> BoostingSet:
        """Read and check everything that training needs."""
        training = BoostingSet.read(
            self._read_raw_table(X) if warm else self._learn_table(X),
            y,
            sample_weight,
            task=self._task,
            class_weight=self.class_weight,
            seed=self._seed if warm else draw_seed(self.random_state),
            n_threads=thread_count(self.n_jobs),
        )
        if training.n_outputs > 1 and not self._multi_output:
            raise InputError(
                f"y should be a 1d array; it has {training.n_outputs} outputs, and {type(self).__name__} "
                "learns one",
                fix="Fit one model per output.",
            )
        if warm and training.classes:
            training = replace(training, classes=tuple(by_output(self.classes_)))
            training = replace(training, y=training.encode_known(training.labels))
        training = replace(training, X=X).with_weights(training.weights, training.row_weight)
        loss = self.loss_ if warm else self._make_loss(training)
        loss.check_target(training.targets, training.full_weights)
        training = replace(training, loss=loss)
        scores = read_init_score(init_score, training.n_rows, training.n_scores)
        return replace(training, init_score=scores)

    # ---- fitted state ----

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text: str = super().__repr__(N_CHAR_MAX)
        chosen = vars(self).get("chosen_")
        if not chosen:
            return text
        shown = (
            f"{name}={value:.4g}" if type(value) is float else f"{name}={value!r}"
            for name, value in chosen.items()
        )
        return f"{text}\n# chosen: {', '.join(shown)}"

    def _copy_for_scoring(self, **attributes: Any) -> Self:
        """Return an estimator with the same parameters and the given attributes."""
        copy: Self = object.__new__(type(self))
        copy.__dict__.update(self._unfitted_attributes() | attributes)
        return copy

    def _derived(self, fitted: Mapping[str, Any]) -> dict[str, Any]:
        ensemble, n_scores = fitted["ensemble_"], len(fitted["base_score_"])
        derived = super()._derived(fitted) | {
            "n_iter_": ensemble.n_trees // n_scores,
            "n_trees_per_iteration_": n_scores,
            "_predictor": Predictor(ensemble[: fitted["best_iteration_"] * n_scores], n_scores),
        }
        return derived | (class_attributes(fitted["classes_"]) if "classes_" in fitted else {})

    def _check_fitted(self) -> None:
        fitted, is_classifier = vars(self), self._task == "classification"
        schema, ensemble, statistics = self.schema_, self.ensemble_, fitted.get("statistics_")
        require(isinstance(ensemble, TreeEnsemble), "ensemble_ is not an ensemble of trees")
        require(isinstance(self.loss_, Loss), "loss_ is not a loss")
        require(isinstance(statistics, TargetStatistics | None), "statistics_ are not target statistics")
        if statistics is not None:
            statistics.validate(schema)
            schema = statistics.schema(schema)
        require(ensemble.n_features == schema.n_features, "the trees and the schema differ in their features")
        ensemble.validate([len(feature.categories) for feature in schema.features])
        require(ensemble.value.shape[1:] == (1, 1), "a tree has more than one value per node")
        outputs = [len(labels) for labels in check_classes(fitted.get("classes_"))] if is_classifier else [1]
        n_scores = outputs[0] if outputs[0] > 2 else 1
        if isinstance(self.loss_, MultiOutputLoss):
            n_scores = self.loss_.n_outputs
            require(not is_classifier or len(outputs) == n_scores, "the loss has another number of outputs")
            require(max(outputs) <= 2, "an output has more than two classes")
        elif isinstance(self.loss_, MultiClassOutputsLoss):
            n_scores = self.loss_.n_scores
            require(is_classifier and outputs == [*self.loss_.n_classes], "the loss has other classes")
        else:
            require(len(outputs) == 1, "the loss has one output, the classes have several")
        if isinstance(self.loss_, MultiQuantileLoss):
            require(not is_classifier, "a classifier has the loss of quantiles")
            n_scores = len(self.loss_.quantiles)
        require(is_classifier or "classes_" not in fitted, "a regressor has classes")
        valid = is_array(self.base_score_, np.float64, n_scores) and bool(np.isfinite(self.base_score_).all())
        require(valid, "base_score_ is not one number per raw score")
        require(ensemble.n_trees % n_scores == 0, "the number of trees is not a multiple of the raw scores")
        n_rounds, best, seed = ensemble.n_trees // n_scores, self.best_iteration_, self._seed
        require(type(best) is int and 1 <= best <= n_rounds, "best_iteration_ is not a round")
        require(type(seed) is int and 0 <= seed < 2**64, "the seed is not an unsigned 64-bit integer")
        require(type(self.do_early_stopping_) is bool, "do_early_stopping_ is not a bool")
        check_chosen(fitted.get("chosen_", {}))
        require(is_evals_result(fitted.get("evals_result_", {})), "evals_result_ is not a dict of numbers")
        check_members(fitted, [len(feature.categories) for feature in schema.features], n_scores)
        ledger = fitted.get("ledger_")
        if ledger is not None:
            require(isinstance(ledger, GradientLedger), "ledger_ is not a ledger")
            require(len(ledger) == n_rounds + 1, "the ledger does not have one row per round")
            require(len(ledger.candidates) <= ensemble.n_trees, "the ledger has more tables than trees")
        require(isinstance(fitted.get("_fingerprint"), str | None), "the fingerprint of the rows is not text")

    # ---- outputs ----

    def _read_table(self, X: Any) -> Table:
        """Read new data; categories are encoded by the target statistics."""
        table = self._read_raw_table(X)
        statistics: TargetStatistics | None = vars(self).get("statistics_")
        return table if statistics is None else statistics.encode(table)

    def _read_raw_table(self, X: Any) -> Table:
        return super()._read_table(X)

    def _raw_scores(self, X: Any) -> Floats:
        """Return the sum of the trees.  -> (n_rows, n_scores)"""
        table = self._read_table(X)
        start = start_scores(self.base_score_, None, table.n_rows)
        return self._predictor.sum(table, self._threads_for(table), start=start)

    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        """Return the raw scores after every round up to ``best_iteration_``."""
        table = self._read_table(X)
        start = start_scores(self.base_score_, None, table.n_rows)
        return self._predictor.staged_sum(table, self._threads_for(table), start=start)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the index of the leaf that each row reaches in each tree.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows, best_iteration_)
            Leaf indices; (n_rows, best_iteration_, n_trees_per_iteration_) for several trees per round.
        """
        table = self._read_table(X)
        leaves = self._predictor.apply(table, self._threads_for(table))
        n_trees = self.n_trees_per_iteration_
        if n_trees == 1:
            return leaves
        return leaves.reshape(table.n_rows, leaves.shape[1] // n_trees, n_trees)

    def evals_frame(self) -> Any:
        """Return `evals_result_` as a data frame.

        Returns
        -------
        DataFrame
            One row per round, with the columns "round" and "set-metric" for every set and metric.
        """
        check_is_fitted(self)
        return evals_frame(self.evals_result_)

    @property
    def feature_importances_(self) -> Floats:
        """Total gain of the splits of each feature up to ``best_iteration_``, as fractions of the sum."""
        gain = self._sum_by_feature("impurity")
        return gain / gain.sum() if gain.sum() > 0 else gain

    def split_counts(self) -> NDArray[np.int64]:
        """Return the number of splits on each feature in the trees up to ``best_iteration_``.

        Returns
        -------
        ndarray of shape (n_features,)
            The counts.

        Examples
        --------
        >>> model.split_counts()  # doctest: +SKIP
        """
        return self._sum_by_feature(None).astype(np.int64)

    def tree_sum(self) -> TreeSum:
        """Return the raw score as a sum of trees, as explanations read it.

        Returns
        -------
        TreeSum
            The trees up to ``best_iteration_``.
        """
        check_is_fitted(self)
        n_scores, statistics = self.n_trees_per_iteration_, vars(self).get("statistics_")
        n = self.n_features_in_
        predicts_sum = self._task == "regression" and self.loss_.link in (None, IDENTITY)
        return TreeSum(
            self.ensemble_[: self.best_iteration_ * n_scores],
            self.schema_,
            self._read_table,
            "value" if predicts_sum and not isinstance(self.loss_, MultiQuantileLoss) else "raw",
            1.0,
            self.base_score_,
            np.arange(n_scores),
            () if n_scores == 1 else self._score_names(n_scores),
            np.arange(n) if statistics is None else statistics.origin(n),
            outputs_per_round=n_scores,
            n_jobs=self.n_jobs,
            encoded_schema=None if statistics is None else statistics.schema(self.schema_),
        )

    def _score_names(self, n_scores: int) -> tuple[str, ...]:
        """Return the names of several raw scores: classes, quantiles, or numbers of outputs."""
        if isinstance(self.loss_, MultiQuantileLoss):
            return tuple(map(str, self.loss_.quantiles))
        if isinstance(self.loss_, MultiOutputLoss):
            return tuple(map(str, range(n_scores)))
        if isinstance(self.loss_, MultiClassOutputsLoss):
            return tuple(
                f"{k}: {label}" if len(labels) > 2 else str(k)
                for k, labels in enumerate(self.classes_)
                for label in (labels.tolist() if len(labels) > 2 else [k])
            )
        return tuple(map(str, self.classes_.tolist()))

    def __len__(self) -> int:
        check_is_fitted(self)
        return self.best_iteration_ * self.n_trees_per_iteration_

    def __getitem__(self, index: int) -> TreeView:
        return view_tree(self.tree_sum(), index)

    def __bool__(self) -> bool:
        return True  # also before fit, where there is no length

    def _sum_by_feature(self, name: str | None) -> Floats:
        """Sum a property of the split nodes, or count them, per feature of the input.  -> (n_features,)

        A property near the largest float64 is divided by a number that keeps the sum finite.
        """
        check_is_fitted(self)
        trees = self.ensemble_[: self.best_iteration_ * self.n_trees_per_iteration_]
        statistics: TargetStatistics | None = vars(self).get("statistics_")
        n = self.n_features_in_
        origin = np.arange(n) if statistics is None else statistics.origin(n)
        is_split = trees.feature >= 0
        amounts = None if name is None else getattr(trees, name)[is_split]
        if amounts is not None and amounts.max(initial=0.0) > _LARGEST_TERM:
            amounts = amounts / amounts.max()
        total = np.bincount(origin[trees.feature[is_split]], weights=amounts, minlength=n)
        return total.astype(np.float64)  # bincount returns integers where there are no weights
