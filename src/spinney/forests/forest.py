"""Forests: trees grown on bootstrap samples of one coded table, their mean prediction, and model files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MultiOutputMixin
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from spinney.bagging.base import SAMPLING_RULES, check_out_of_bag
from spinney.bagging.predictions import out_of_bag_attributes, out_of_bag_mean, out_of_bag_parts
from spinney.bagging.sampling import BootstrapSamples, SampledEnsemble, category_keys
from spinney.base import TableEstimator, parameters
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, Integer, Kind, OneOf, Rule, Use, thread_count
from spinney.core.progress import ProgressBar
from spinney.data.bin_mapper import BinMapper
from spinney.data.schema import Schema, Table, memory_for, read_table
from spinney.data.target import (
    by_output,
    class_attributes,
    encode_like,
    encode_values,
    read_target,
)
from spinney.data.training_set import Task, TrainingSet
from spinney.data.weights import class_weights
from spinney.forests.importances import permutation_importances
from spinney.forests.leaf_targets import LeafTargets
from spinney.forests.members import MemberList, check_members, member_numbers
from spinney.inspect.explainable import Explainable
from spinney.io import require
from spinney.losses.criteria import CRITERIA
from spinney.tree import pruning
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.grower import Grower
from spinney.tree.plan import GrowPlan
from spinney.tree.predictor import Predictor, as_targets, split_classes
from spinney.tree.tree_arrays import TreeArrays
from spinney.tree.tree_sum import TreeSum, value_sum
from spinney.trees.base import BaseTree
from spinney.trees.cart import DecisionTreeClassifier, DecisionTreeRegressor
from spinney.trees.extra import ExtraTreeClassifier, ExtraTreeRegressor
from spinney.trees.oblique import ObliqueTreeClassifier, ObliqueTreeRegressor
from spinney.trees.parameters import COST_USES, CartParameters, CommonParameters, TreeParameters
from spinney.trees.parameters import RULES as TREE_RULES
from spinney.trees.state import check_tree_classes

Floats = NDArray[np.float64]

RULES: dict[str, tuple[Rule, ...]] = {
    **TREE_RULES,
    **SAMPLING_RULES,
    "n_directions": (Integer(0, 10_000),),
    "keep_targets": (FLAG,),
    "class_weight": (
        NONE,
        OneOf("balanced", "balanced_subsample"),
        Kind("a dict", dict),
        Kind("a list of dicts", list),
    ),
}


def _with_missing_of(schema: Schema, other: Schema) -> Schema:
    """Return a schema whose features may also be missing where those of another may."""
    pairs = zip(schema.features, other.features, strict=True)
    return schema.with_missing([one.has_missing or known.has_missing for one, known in pairs])


@parameters
class ForestParameters(CommonParameters, CartParameters):
    """Parameters of forests beside those of their samples."""

    n_estimators: int = field(default=100, kw_only=False)
    n_directions: int = 0


class BaseForest(
    Explainable,
    MultiOutputMixin,  # type: ignore[misc]
    SampledEnsemble,
    TableEstimator,
    ForestParameters,
    persistent_name="",
):
    """Base class of forests, which average the values of trees grown on samples of the rows."""

    _task: ClassVar[Task]
    _parameter_uses = (*COST_USES, Use(("max_bins",), "n_directions", values=(0,)))
    _splitter: ClassVar[Literal["best", "random"]] = "best"
    _required_attributes: ClassVar[tuple[str, ...]] = ("ensemble_", "max_features_", "_samples")
    _state_attributes: ClassVar[tuple[str, ...]] = ("classes_", "oob_score_")
    _transient_attributes: ClassVar[tuple[str, ...]] = (
        *("n_classes_", "n_outputs_", "_predictor", "_members", "_bin_mapper"),
    )

    # Parameters that not every forest has.
    class_weight: Any = None
    keep_targets: bool = False

    ensemble_: TreeEnsemble
    max_features_: int
    n_outputs_: int
    classes_: Any
    n_classes_: Any
    _predictor: Predictor
    _members: MemberList
    # Not saved: the bins of a wide table take more bytes than the trees.
    _bin_mapper: BinMapper

    # ---- fitting ----

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Grow a tree on each bootstrap sample of the rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinnedDataset of shape (n_rows, n_features)
            Training rows: an array, a list of lists, a sparse matrix, or a data frame of pandas, polars or
            Arrow. Missing values and columns of text are allowed.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs) or None, default=None
            Labels or values; None if X is a `BinnedDataset`, which has its own.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Sample weights. Integers count copies of a row. Others are probabilities of being drawn, up to a
            factor; without replacement they are weights in the trees instead.

        Returns
        -------
        self
            The fitted forest.

        Examples
        --------
        >>> from spinney import RandomForestClassifier
        >>> model = RandomForestClassifier(10, random_state=0).fit([["red"], ["blue"]] * 9, [1, 0] * 9)
        >>> model.predict([["red"]]).tolist()
        [1]
        """
        self._check_params()
        self._check_combinations()
        with memory_for(X):
            training = TrainingSet.read(
                self._read_rows(X),
                y,
                sample_weight,
                task=self._task,
                non_negative=CRITERIA[self.criterion].non_negative_target,
                n_threads=thread_count(self.n_jobs),
            ).coded(None if self.n_directions else self.max_bins)
            grower = Grower(training.codes)
            schema = training.table.schema
            order = grower.order_rows(training.target(None), category_keys(schema), training.n_threads)
            samples = self._draw_samples(training.n_rows, schema.n_features, training.weights, order)
            if self._has_all_members(samples, training.class_labels):
                return self
            ensemble, made, bins = None, None, BinMapper.from_codes(training.codes)
            if self._check_continues(samples, training.class_labels):
                ensemble, made = self.ensemble_, vars(self).get("_members")
                # Trees grown on other rows have other bins.
                bins = bins if bins is not None and bins.equals(vars(self).get("_bin_mapper")) else None
                schema = _with_missing_of(schema, self.schema_)
                samples = self._add_samples(samples)
            factors, balanced = self._row_factors(training, samples)
            plan = self._make_plan(training, samples, factors)
            n_earlier = 0 if ensemble is None else ensemble.n_trees
            if ensemble is None or n_earlier < self.n_estimators:
                numbers = range(n_earlier, self.n_estimators)
                grown = self._grow(grower, training, plan, samples, numbers, factors, balanced)
                ensemble = grown if ensemble is None else ensemble.extend(grown)
            self._set_fitted(
                schema_=schema,
                ensemble_=ensemble,
                max_features_=plan.max_features,
                classes_=training.class_labels,
                _samples=samples,
                _bin_mapper=bins,
                leaf_targets_=LeafTargets.collect(ensemble, training, samples, self.n_jobs)
                if self.keep_targets
                else None,
                _members=made,
                **(self._score_out_of_bag(ensemble, training, samples) if self.oob_score else {}),
            )
        if made is not None:
            made.add_grown(self._member(t, ensemble.tree(t)) for t in range(n_earlier, len(self)))
        return self

    def _read_rows(self, X: Any) -> Table:
        """Read the rows of a fit; one that adds trees reads them as the earlier trees do."""
        table = read_table(X, self.categorical_features)
        if not self._continues or self.n_estimators <= len(self):
            return table
        n = table.schema.n_features
        same = n == self.n_features_in_ and _with_missing_of(table.schema, self.schema_) == self.schema_
        return table if same else self._read_table(X)

    def _check_combinations(self) -> None:
        """Raise InputError for parameters that cannot be combined."""
        if self.n_directions and (self.monotonic_cst is not None or self.missing != "direction"):
            raise InputError(
                "Oblique trees (n_directions above 0) support neither monotonic_cst nor missing='fractional'",
                fix="Set n_directions=0, or leave these two at their defaults.",
            )
        if self.keep_targets and self.missing == "fractional":
            raise InputError(
                "keep_targets=True needs rows that are in one leaf each, and missing is 'fractional'",
                fix="Set missing='direction'.",
            )

    def _add_samples(self, samples: BootstrapSamples) -> BootstrapSamples:
        added = super()._add_samples(samples)
        if self.keep_targets and (added.numbers(len(self)) < 0).any():
            raise InputError(
                "keep_targets=True keeps the rows of every leaf, and earlier trees were grown on others",
                fix="Fit with the rows of the first fit, or set warm_start=False or keep_targets=False.",
            )
        return added

    def _row_factors(self, training: TrainingSet, samples: BootstrapSamples) -> tuple[Floats | None, bool]:
        """Return the factors (n_rows,) of the sample counts, and whether each sample balances its classes."""
        balanced = isinstance(self.class_weight, str) and self.class_weight == "balanced_subsample"
        factors = None
        if self.class_weight is not None and not balanced:
            assert training.labels is not None
            factors = class_weights(self.class_weight, training.labels)
            if factors is not None and not 0 < factors.sum() < np.inf:
                raise InputError("The sum of class_weight over the rows is 0 or infinite.")
        if samples.keeps_weights and training.weights is not None:
            factors = training.weights if factors is None else training.weights * factors
        return factors, balanced

    def _make_plan(
        self, training: TrainingSet, samples: BootstrapSamples, factors: Floats | None
    ) -> GrowPlan:
        """Return the plan of all trees, which is that of the expected sample."""
        splitter = "best" if self.n_directions else self._splitter
        parameters = TreeParameters.from_params(vars(self), task=self._task, splitter=splitter)
        weights = samples.expected_counts()
        if factors is not None:
            weights *= factors
        return parameters.plan(replace(training, weights=weights))

    def _grow(
        self,
        grower: Grower,
        training: TrainingSet,
        plan: GrowPlan,
        samples: BootstrapSamples,
        numbers: range,
        factors: Floats | None,
        balanced: bool,
    ) -> TreeEnsemble:
        """Grow the trees of these numbers."""
        title = f"{type(self).__name__}: growing trees"
        bar = ProgressBar(title, len(numbers), shown=self.verbose) if self.verbose else None

        def prune(tree: TreeArrays) -> TreeArrays:
            return pruning.cost_complexity(tree, self.ccp_alpha)

        with bar or nullcontext():
            return grower.grow_forest(
                training.target(factors), plan, samples.sampler, samples.tree_seeds(numbers),
                training.n_threads, balanced=balanced, prune=prune if self.ccp_alpha > 0 else None,
                progress=None if bar is None else bar.update,
            )  # fmt: skip

    def _score_out_of_bag(
        self, ensemble: TreeEnsemble, training: TrainingSet, samples: BootstrapSamples
    ) -> dict[str, Any]:
        """Return the fitted attributes about out-of-bag rows."""

        def predict(t: int, rows: NDArray[np.int64]) -> Floats:
            return Predictor(ensemble[t : t + 1]).value(training.table.take(rows))

        parts = out_of_bag_parts(samples, ensemble.n_trees, predict, self.n_jobs)
        mean, n_predictions = out_of_bag_mean(samples.n_rows, parts)
        classes = training.class_labels
        predictions = as_targets(mean) if classes is None else split_classes(mean, classes)
        assert training.labels is not None
        return out_of_bag_attributes(
            self.oob_score, training.labels, predictions, n_predictions, samples.weights, classes
        )

    # ---- fitted attributes ----

    def _derived(self, fitted: Mapping[str, Any]) -> dict[str, Any]:
        ensemble, classes = fitted["ensemble_"], fitted.get("classes_")
        return {
            **super()._derived(fitted),
            **({} if classes is None else class_attributes(classes)),
            "n_outputs_": ensemble.n_outputs,
            "_predictor": Predictor(ensemble),
        }

    def _check_fitted(self) -> None:
        """Raise ModelFileError unless trees, schema, samples, classes and predictions agree."""
        schema, ensemble, samples, fitted = self.schema_, self.ensemble_, self._samples, vars(self)
        require(isinstance(ensemble, TreeEnsemble), "a forest has no trees")
        valid = isinstance(samples, BootstrapSamples) and samples.n_columns == schema.n_features
        require(valid, "the samples and the schema have different numbers of features")
        require(ensemble.n_features == schema.n_features, "the trees and the schema have different features")
        ensemble.validate([len(feature.categories) for feature in schema.features])
        max_features = self.max_features_
        require(type(max_features) is int and max_features >= 1, "max_features_ is not a count")
        score = fitted.get("oob_score_")
        require(score is None or type(score) is float, "oob_score_ is not a number")
        require("classes_" not in fitted or fitted["classes_"] is not None, "classes_ is None")
        outputs = check_tree_classes(fitted.get("classes_"), ensemble, self._task)
        check_out_of_bag(fitted, samples.n_rows, outputs)
        if "leaf_targets_" in fitted:
            fitted["leaf_targets_"].validate(ensemble.node_count, samples.n_rows, ensemble.n_outputs)

    @property
    def estimator_(self) -> BaseTree:
        """An unfitted tree with the parameters of the members."""
        trees: dict[str, tuple[type[BaseTree], ...]] = {
            "classification": (DecisionTreeClassifier, ExtraTreeClassifier, ObliqueTreeClassifier),
            "regression": (DecisionTreeRegressor, ExtraTreeRegressor, ObliqueTreeRegressor),
        }
        tree = trees[self._task][2 if self.n_directions else int(self._splitter == "random")]()
        own = vars(self) | {"splitter": self._splitter, "n_jobs": None}
        if isinstance(self.class_weight, str) and self.class_weight == "balanced_subsample":
            own["class_weight"] = None
        tree.set_params(**{name: own[name] for name in tree.get_params(deep=False) if name in own})
        return tree

    @property
    def estimator(self) -> BaseTree:
        """An unfitted tree with the parameters of the members; no parameter, as in scikit-learn."""
        return self.estimator_

    @property
    def estimators_(self) -> list[BaseTree]:
        """The members as fitted tree estimators, made at the first access.

        Another list of trees, or a change of this one, changes the forest, which forgets what it has computed
        from the training rows: out-of-bag scores and the targets of leaves.
        """
        check_is_fitted(self)
        if "_members" not in vars(self):
            made = [self._member(t, tree) for t, tree in enumerate(self.ensemble_.trees())]
            self._members = MemberList(made, self._replace_members)
        return self._members

    @estimators_.setter
    def estimators_(self, members: Iterable[BaseTree]) -> None:
        check_is_fitted(self)
        changed = list(members)
        if list(map(id, changed)) != list(map(id, self.estimators_)):
            self._replace_members(changed)
            self._members = MemberList(changed, self._replace_members)

    def _replace_members(self, members: list[BaseTree]) -> None:
        """Take the trees of other members; the list of the members stays."""
        made = self.estimators_
        check_members(members, self)
        known = self._samples.numbers(len(self))
        numbers = member_numbers(members, made, known)
        kept = np.array_equal(numbers, known[: len(members)])
        self._set_fitted(
            schema_=self.schema_,
            ensemble_=TreeEnsemble.from_trees(member.tree_ for member in members),
            max_features_=self.max_features_,
            classes_=vars(self).get("classes_"),
            _samples=self._samples if kept else self._samples.of_members(numbers),
            _bin_mapper=vars(self).get("_bin_mapper") if np.isin(numbers, known).all() else None,
            _members=made,
        )

    def _member(self, t: int, tree: TreeArrays) -> BaseTree:
        """Return tree number t as a fitted estimator."""
        member = self.estimator_
        member.random_state = self._samples.estimator_seed(t)
        member.max_bins = vars(self).get("_bin_mapper", member.max_bins)
        classes = vars(self).get("classes_")
        return member.set_tree(tree, self.schema_, classes, max_features=self.max_features_)

    def __len__(self) -> int:
        return self.ensemble_.n_trees

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice) or "_members" in vars(self):
            return self.estimators_[index]
        t = range(len(self))[index]
        return self._member(t, self.ensemble_.tree(t))

    def __iter__(self) -> Iterator[BaseTree]:
        return (self[t] for t in range(len(self)))

    def tree_sum(self) -> TreeSum:
        """Return the forest as a sum of trees, as explanations read it.

        Returns
        -------
        TreeSum
            The trees, whose values are averaged.
        """
        check_is_fitted(self)
        classes = vars(self).get("classes_")
        return value_sum(self.ensemble_, self.schema_, self._read_table, classes, n_jobs=self.n_jobs)

    # ---- prediction ----

    def _mean(self, X: Any) -> Floats:
        """Return the mean value of the trees.  -> (n_rows, n_outputs, width)"""
        table = self._read_table(X)
        return self._predictor.mean(table, self._threads_for(table))

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_trees)
            Node numbers; of several leaves, for a row with a missing value, the one with the largest share.
        """
        table = self._read_table(X)
        return self._predictor.apply(table, self._threads_for(table))

    def decision_path(self, X: Any) -> tuple[Any, NDArray[np.int64]]:
        """Return the nodes that each row passes in each tree.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        path : csr_array of shape (n_rows, n_nodes)
            The share with which a row reaches a node of any tree: 1 along its path, or less where a missing
            value sent it to several children.
        offsets : ndarray of shape (n_trees + 1,)
            The columns of tree t are ``offsets[t]`` to ``offsets[t + 1]``.
        """
        table = self._read_table(X)
        path = self._predictor.decision_path(table, self._threads_for(table))
        return path, self.ensemble_.tree_begin.copy()

    # ---- feature importances ----

    @property
    def feature_importances_(self) -> Floats:
        """Impurity decrease by the splits of each feature, averaged over the trees, with sum 1.

        It favours features with many values; `permutation_importances` does not.  (n_features,)
        """
        check_is_fitted(self)
        total = np.zeros(self.n_features_in_)
        for tree in self.ensemble_.trees():
            total += tree.compute_feature_importances()
        return total / total.sum() if total.sum() > 0 else total

    def permutation_importances(self, X: Any, y: Any, *, n_repeats: int = 1) -> Bunch:
        """Compute out-of-bag permutation importances (Breiman 2001).

        The importance of a feature is what shuffling its values adds to the loss, which is the error rate or
        the squared error, of each tree on its out-of-bag rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The training rows, in the order of the fit.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Their labels or values.
        n_repeats : int, default=1
            How often each feature is shuffled per tree.

        Returns
        -------
        Bunch
            ``importances_mean`` and ``importances_std`` over the trees, both (n_features,), and
            ``importances`` (n_features, n_trees).

        Examples
        --------
        >>> from spinney import RandomForestRegressor
        >>> X = np.random.default_rng(0).random((200, 2))
        >>> model = RandomForestRegressor(20, random_state=0).fit(X, X[:, 0])
        >>> importances = model.permutation_importances(X, X[:, 0]).importances_mean
        >>> bool(importances[0] > 10 * abs(importances[1]))
        True
        """
        check_is_fitted(self)
        table, n_rows = self._read_table(X), self._samples.n_rows
        if table.n_rows != n_rows:
            raise InputError(
                f"X has {table.n_rows} rows, but the forest was fitted to {n_rows}",
                fix="Pass the training rows, in the order of the fit.",
            )
        labels = read_target(y, n_rows)
        if self._task == "classification":
            target: NDArray[Any] = encode_like(labels, tuple(by_output(self.classes_)))
        else:
            target = encode_values(labels, non_negative=False)
        title = f"{type(self).__name__}: shuffling features" if self.verbose else None
        return permutation_importances(
            self.ensemble_, table, target, self._samples, n_repeats, self.n_jobs, title
        )
