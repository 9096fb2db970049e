"""Tree estimators: fitting, pruning, prediction, and model files; classification and regression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.metadata_routing import UNUSED

from spinney.base import ProbabilisticClassifier, TableEstimator, parameters
from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.ledger import CandidateLedger
from spinney.core.parameters import Rule, Use, check_parameters, draw_seed, thread_count
from spinney.data.bin_mapper import BinMapper
from spinney.data.schema import Schema, Table, memory_for, read_table
from spinney.data.target import by_output, class_attributes, read_target
from spinney.data.training_set import Task, TrainingSet
from spinney.data.weights import check_total, check_weights, class_weights_like
from spinney.losses.criteria import CRITERIA
from spinney.tree import pruning
from spinney.tree.grower import Grower, Grown
from spinney.tree.plan import GrowPlan
from spinney.tree.predictor import Predictor, as_probabilities, as_targets
from spinney.tree.tree_arrays import TreeArrays
from spinney.trees.inspection import TreeInspection
from spinney.trees.parameters import RULES, TREE_USES, TreeParameters
from spinney.trees.pruning import (
    Decisions,
    PruningLedger,
    ValidationRows,
    complexity_decisions,
    cross_validated_alpha,
    follow,
    losses,
)
from spinney.trees.state import check_tree, unpack_tree


class BaseTree(TreeInspection, MultiOutputMixin, TableEstimator, persistent_name=""):  # type: ignore[misc]
    """Base class of the tree estimators. A subclass chooses the algorithm by `_tree_parameters`."""

    _task: ClassVar[Task]
    _min_rows_for_threads = 2048
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = RULES
    _parameter_uses: ClassVar[tuple[Use, ...]] = TREE_USES
    _required_attributes = ("tree_", "max_features_", "ccp_alpha_")
    _state_attributes = ("classes_", "ledger_", "pruning_ledger_")
    _transient_attributes = ("n_classes_", "n_outputs_", "predictor_")
    # scikit-learn's trees have this argument; here every check is cheap enough to be made always.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"check_input": UNUSED}
    __metadata_request__predict: ClassVar[dict[str, Any]] = {"check_input": UNUSED}
    __metadata_request__predict_proba: ClassVar[dict[str, Any]] = {"check_input": UNUSED}

    # Parameters that not every tree has.
    criterion: str
    class_weight: Any = None
    max_bins: int | BinMapper | None = None
    categorical_features: Any = None

    classes_: Any
    n_classes_: Any
    n_outputs_: int
    max_features_: int
    ccp_alpha_: float
    predictor_: Predictor

    # ---- fitting ----

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        check_input: bool = True,
        *,
        eval_set: tuple[Any, ...] | None = None,
    ) -> Self:
        """Fit the tree.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinnedDataset of shape (n_rows, n_features)
            Training rows: an array, a list of lists, a sparse matrix, or a data frame of pandas, polars or
            Arrow. Missing values and columns of text are allowed.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs) or None, default=None
            Labels or values; None if X is a `BinnedDataset`, which has its own.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights; rows of weight 0 are left out.
        check_input : bool, default=True
            Has no effect; scikit-learn's trees have it.
        eval_set : tuple (X, y) or (X, y, sample_weight), or None, default=None
            Rows that ``pruning="pre"`` and ``pruning="reduced-error"`` score the tree on. None holds out
            ``validation_fraction`` of the training rows.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from spinney import DecisionTreeClassifier
        >>> DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "b"]).predict([[0.2]]).tolist()
        ['a']
        """
        with memory_for(X):
            training = self.read_training_set(
                X, y, sample_weight, class_weight=self.class_weight,
                n_threads=thread_count(self.n_jobs), seed=draw_seed(self.random_state),
            )  # fmt: skip
            validation = None if eval_set is None else self._read_eval_set(eval_set, training)
            return self.fit_training_set(training, validation)

    def read_training_set(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        class_weight: Any = None,
        n_threads: int = 1,
        seed: int = 0,
    ) -> TrainingSet:
        """Check the parameters and read training rows as ``fit`` does; ensembles do it once for all members.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Training rows.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Labels or values.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights.
        class_weight : dict, list of dict, "balanced" or None, default=None
            Weights of classes, which multiply the row weights.
        n_threads : int, default=1
            Number of threads.
        seed : int, default=0
            Seed of all draws.

        Returns
        -------
        TrainingSet
            The rows, not coded yet.
        """
        table = self.read_training_table(X)
        non_negative = self._task == "regression" and CRITERIA[self.criterion].non_negative_target
        return TrainingSet.read(
            table, y, sample_weight, task=self._task, class_weight=class_weight,
            non_negative=non_negative, n_threads=n_threads, seed=seed,
        )  # fmt: skip

    def read_training_table(self, X: Any) -> Table:
        """Check the parameters and read the features of training rows as ``fit`` does.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Training rows.

        Returns
        -------
        Table
            The features.
        """
        check_parameters(type(self).__name__, vars(self), self._parameter_rules)
        return read_table(X, self.categorical_features)

    def fit_training_set(
        self, training: TrainingSet, validation: ValidationRows | None = None, grower: Grower | None = None
    ) -> Self:
        """Fit the tree to a training set; ensembles share one, and its grower, among their members.

        Parameters
        ----------
        training : TrainingSet
            Rows, weights, seed and thread count; coded here if it is not yet.
        validation : ValidationRows or None, default=None
            Rows to prune by; None holds out training rows if ``pruning`` needs some.
        grower : Grower or None, default=None
            A grower on the codes of the training set.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_params()
        training, validation = self._hold_out(training, validation)
        if training.matrix is None:
            training = training.coded(self.max_bins)
        grower = Grower(training.codes) if grower is None else grower
        plan, schema = self.grow_plan(training), training.table.schema

        def regrow(weights: Floats | None, plan: GrowPlan) -> Grown:
            return grower.grow(training.target(weights), plan, training.n_threads)

        grown = regrow(training.weights, plan)
        alpha = self._choose_alpha(
            training, grown.tree, lambda other: regrow(other, plan.replace(ledger=False)).tree
        )
        steps = self._prune(grown.tree, alpha, validation, training)
        tree = steps[-1][0] if steps else grown.tree
        decided = [decisions for _, decisions in steps if decisions is not None]
        return self._set_fitted(
            schema_=schema,
            tree_=tree,
            classes_=training.class_labels,
            max_features_=plan.max_features,
            ccp_alpha_=alpha,
            ledger_=self._make_ledger(grown, tree, schema),
            pruning_ledger_=PruningLedger.from_decisions(decided, tree) if self.ledger and decided else None,
        )

    def grow_plan(self, training: TrainingSet) -> GrowPlan:
        """Return the plan by which this estimator grows its tree on a training set.

        Parameters
        ----------
        training : TrainingSet
            The training set.

        Returns
        -------
        GrowPlan
            The plan.
        """
        plan = self._tree_parameters().plan(training)
        # With a random_state, ties among features are broken by it, as they are in the trees of a forest.
        return plan if self.random_state is None else plan.replace(tie_seed=training.seed)

    def set_tree(
        self, tree: TreeArrays, schema: Schema, classes: Any = None, *, max_features: int | None = None
    ) -> Self:
        """Become fitted by a tree that was grown elsewhere; so ensembles make their members.

        Parameters
        ----------
        tree : TreeArrays
            The tree.
        schema : Schema
            The features.
        classes : ndarray, list of ndarray or None, default=None
            Classes, a list of arrays with several outputs; None in regression.
        max_features : int or None, default=None
            Number of features considered per node; None means all.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._set_fitted(
            schema_=schema,
            tree_=tree,
            classes_=classes,
            max_features_=schema.n_features if max_features is None else max_features,
            ccp_alpha_=float(self.ccp_alpha),
        )

    def with_tree(self, tree: TreeArrays) -> Self:
        """Return a copy of this fitted estimator with another tree of the same columns and classes.

        Parameters
        ----------
        tree : TreeArrays
            The tree.

        Returns
        -------
        self
            The copy, which shares everything else.
        """
        other = type(self).__new__(type(self))
        other.__dict__ = {**vars(self), "tree_": tree, "predictor_": self.predictor_.of(tree)}
        return other

    def _tree_parameters(self, **fixed: Any) -> TreeParameters:
        """Return the parameters of the algorithm; a subclass adds those that it fixes."""
        return TreeParameters.from_params(vars(self), task=self._task, **fixed)

    def _read_eval_set(self, eval_set: Any, training: TrainingSet) -> ValidationRows:
        if self.pruning not in ("pre", "reduced-error"):
            raise InputError(
                f"An eval_set was given, but pruning={self.pruning!r} does not use one",
                fix='Set pruning="reduced-error" or pruning="pre", or leave out the eval_set.',
            )
        if not isinstance(eval_set, tuple | list) or len(eval_set) not in (2, 3):
            raise InputError("eval_set must be (X, y) or (X, y, sample_weight).")
        table = training.table.schema.read(eval_set[0], self.unseen, type(self).__name__)
        given = check_weights(eval_set[2] if len(eval_set) == 3 else None, table.n_rows)
        y = training.encode_like(read_target(eval_set[1], table.n_rows))
        weights = np.ones(table.n_rows) if given is None else given
        return self.weigh_validation_rows(ValidationRows(table, y, weights), training)

    def weigh_validation_rows(self, rows: ValidationRows, training: TrainingSet) -> ValidationRows:
        """Multiply the weights of validation rows by the class weights of the training rows.

        Parameters
        ----------
        rows : ValidationRows
            Rows and their weights.
        training : TrainingSet
            The training rows, with labels.

        Returns
        -------
        ValidationRows
            The same rows.
        """
        if self.class_weight is None:
            return rows
        assert training.labels is not None
        by_class = class_weights_like(self.class_weight, training.labels, training.y, rows.y)
        return replace(rows, weights=check_total(rows.weights * by_class, "the rows of the eval_set"))

    def _hold_out(
        self, training: TrainingSet, validation: ValidationRows | None
    ) -> tuple[TrainingSet, ValidationRows | None]:
        """Return the rows to grow by, and those to prune by if pruning needs some."""
        if validation is not None or self.pruning not in ("pre", "reduced-error"):
            return training, validation
        given = training.full_weights
        weights = np.where(training.hold_out(self.validation_fraction), given, 0.0)
        if not weights.any() or not (weights < given).any():
            raise InputError("Holding rows out leaves no weight on one side. Pass an eval_set instead.")
        return replace(training, weights=given - weights), ValidationRows(training.table, training.y, weights)

    def _choose_alpha(self, training: TrainingSet, tree: TreeArrays, regrow: Any) -> float:
        if self.pruning != "cost-complexity" or self.ccp_alpha > 0 or training.n_weighted < 2:
            return float(self.ccp_alpha)
        everything = ValidationRows(training.table, training.y, training.full_weights)
        fold = training.folds(min(self.pruning_cv, training.n_weighted))
        return cross_validated_alpha(
            tree, regrow, everything, fold, self._task, self.one_se, training.n_threads
        )

    def _prune(
        self, tree: TreeArrays, alpha: float, validation: ValidationRows | None, training: TrainingSet
    ) -> list[tuple[TreeArrays, Decisions | None]]:
        """Return the tree after each pruning method, and what the method decided."""
        steps: list[tuple[TreeArrays, Decisions | None]] = []
        if validation is not None:
            loss = losses(tree, validation, self._task, training.n_threads)
            if self.pruning == "pre":
                marked, subtree = pruning.no_better_split(tree, *loss)
            else:
                marked, subtree = pruning.no_worse_as_leaf(tree, *loss, ties=self.prune_ties)
            steps.append((tree.subset(marked), Decisions(tree, marked, loss[0], subtree)))
        elif self.pruning == "pessimistic":
            steps.append(self._prune_pessimistically(tree, training))
        if alpha > 0:
            tree = steps[-1][0] if steps else tree
            decisions = complexity_decisions(tree, alpha) if self.ledger else None
            steps.append((pruning.cost_complexity(tree, alpha), decisions))
        return steps

    def _prune_pessimistically(
        self, tree: TreeArrays, training: TrainingSet
    ) -> tuple[TreeArrays, Decisions | None]:
        marked, *loss = pruning.no_worse_pessimistically(tree, self.confidence, training.row_weight)
        return tree.subset(marked), Decisions(tree, marked, *loss)

    def _make_ledger(self, grown: Grown, tree: TreeArrays, schema: Schema) -> CandidateLedger | None:
        if not self.ledger:
            return None
        ledger = CandidateLedger.from_candidates(
            schema.names, grown.candidates, grown.tree.depth, grown.tree.n_samples
        )
        return ledger if tree is grown.tree else ledger.renumbered(follow(grown.tree, tree))

    # ---- fitted attributes and model files ----

    def _derived(self, fitted: Mapping[str, Any]) -> dict[str, Any]:
        tree, classes = fitted["tree_"], fitted.get("classes_")
        n_classes = None if classes is None else list(map(len, by_output(classes)))
        return {
            **super()._derived(fitted),
            **({} if classes is None else class_attributes(classes)),
            "n_outputs_": tree.n_outputs,
            "predictor_": Predictor(tree, n_classes=n_classes),
        }

    def _get_state(self) -> dict[str, Any]:
        state = super()._get_state()
        fitted = dict(state["fitted"])
        for name in {"tree_", "ledger_"} & fitted.keys():
            fitted[name] = fitted[name].to_state()
        return {**state, "fitted": fitted}

    def _set_state(self, state: dict[str, Any]) -> None:
        super()._set_state(state)
        if "tree_" in vars(self):
            self.__dict__.update(unpack_tree(vars(self)))

    def _check_fitted(self) -> None:
        check_tree(vars(self), self._task)

    # ---- prediction ----

    def apply(self, X: Any, check_input: bool = True) -> NDArray[np.int64]:
        """Return the leaf of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.
        check_input : bool, default=True
            Has no effect; scikit-learn's trees have it.

        Returns
        -------
        ndarray of shape (n_rows,)
            Node numbers; of several leaves, for a row with a missing value, the one with the largest share.
        """
        table = self._read_table(X)
        return self.predictor_.apply(table, self._threads_for(table))[:, 0].astype(np.int64)

    def decision_path(self, X: Any, check_input: bool = True) -> csr_array[np.float64, tuple[int, int]]:
        """Return the nodes that each row passes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.
        check_input : bool, default=True
            Has no effect; scikit-learn's trees have it.

        Returns
        -------
        csr_array of shape (n_rows, n_nodes)
            The share with which a row reaches a node: 1 along its path, or less where a missing value sent
            it to several children.
        """
        table = self._read_table(X)
        return self.predictor_.decision_path(table, self._threads_for(table))

    def _values(self, X: Any) -> Floats:
        """Return the values of the leaves of the rows.  -> (n_rows, n_outputs, width)"""
        table = self._read_table(X)
        return self.predictor_.value(table, self._threads_for(table))


@parameters
class ClassifierTree(ProbabilisticClassifier, BaseTree, persistent_name=""):
    """Base class of trees that predict the class with the largest proportion in the leaf."""

    _task = "classification"

    class_weight: Any = None

    def predict(self, X: Any, check_input: bool = True) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.
        check_input : bool, default=True
            Has no effect; scikit-learn's trees have it.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            The class with the largest proportion in the leaf; of equal ones the first.

        Examples
        --------
        >>> from spinney import DecisionTreeClassifier
        >>> DecisionTreeClassifier().fit([["red"], ["blue"]], [1, 0]).predict([["red"]]).tolist()
        [1]
        """
        table = self._read_table(X)
        codes = self.predictor_.classes(table, self._threads_for(table))
        if self.n_outputs_ == 1:
            labels: NDArray[Any] = self.classes_.take(codes)
            return labels
        return np.stack([self.classes_[k].take(codes[:, k]) for k in range(self.n_outputs_)], axis=1)

    def predict_proba(self, X: Any, check_input: bool = True) -> Any:
        """Predict class probabilities, the proportions of the classes in the leaf.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.
        check_input : bool, default=True
            Has no effect; scikit-learn's trees have it.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or list of such arrays with several outputs
            Probabilities, in the order of ``classes_``.
        """
        return as_probabilities(self._values(X), self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class RegressorTree(RegressorMixin, BaseTree, persistent_name=""):  # type: ignore[misc]
    """Base class of trees that predict the mean, or the median, of the leaf."""

    _task = "regression"

    def predict(self, X: Any, check_input: bool = True) -> Floats:
        """Predict the value of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.
        check_input : bool, default=True
            Has no effect; scikit-learn's trees have it.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            The mean of the leaf; with ``criterion="absolute_error"`` its median.

        Examples
        --------
        >>> from spinney import DecisionTreeRegressor
        >>> DecisionTreeRegressor().fit([[0.0], [1.0]], [2.0, 3.0]).predict([[0.9]]).tolist()
        [3.0]
        """
        return as_targets(self._values(X))
