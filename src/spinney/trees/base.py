"""What every tree estimator shares: fitting as a row of steps, prediction, reading the tree, and its file."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, MultiOutputMixin, clone
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from spinney.base import ReadsTables, describe_features
from spinney.core.errors import InputError
from spinney.core.ledger import CandidateLedger
from spinney.core.parameters import Rule, check_parameters, check_weights, thread_count
from spinney.core.seeds import draw_seed
from spinney.data.schema import Schema, read_table
from spinney.data.splits import folds, hold_out
from spinney.data.table import Table
from spinney.data.target import read_target
from spinney.inspect.rules import RuleSet, rules
from spinney.io import Persistent
from spinney.tree import cost, pruning
from spinney.tree.grower import Grower, Grown, code_table
from spinney.tree.plan import GrowPlan
from spinney.tree.predict import TreePredictor
from spinney.tree.tree_arrays import TreeArrays
from spinney.trees.fitted import NoLedger, Problem, read_fitted, write_fitted
from spinney.trees.parameters import (
    RULES,
    features_to_try,
    ledger_level,
    limit,
    read_costs,
    rows_or_share,
)
from spinney.trees.pruning import Validation, cross_validated_alpha, follow, losses


class _BaseTree(ReadsTables, MultiOutputMixin, BaseEstimator, Persistent, metaclass=ABCMeta):  # type: ignore[misc]
    """Fit, prune, predict and keep one tree; a subclass chooses the parts by ``_plan``."""

    _task: ClassVar[Literal["classification", "regression"]]
    _rows_worth_threads = 2048
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = RULES
    _state_attributes = ("schema_", "tree_", "classes_", "max_features_", "ccp_alpha_", "ledger_")
    _transient_attributes = ("n_features_in_", "feature_names_in_", "n_classes_", "n_outputs_", "_predictor")
    # scikit-learn's trees have this argument; here every check is cheap enough to be made always.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"check_input": UNUSED}
    __metadata_request__predict: ClassVar[dict[str, Any]] = {"check_input": UNUSED}
    __metadata_request__predict_proba: ClassVar[dict[str, Any]] = {"check_input": UNUSED}

    max_depth: int | None
    min_samples_split: int | float
    min_samples_leaf: int | float
    min_weight_fraction_leaf: float
    max_features: int | float | str | None
    random_state: Any
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    ccp_alpha: float
    max_bins: int | None = None
    categorical_features: Any = None
    unseen: Literal["missing", "error"]
    feature_costs: Any
    cost_rule: Literal["tan", "tan-linear", "nunez"]
    cost_omega: float
    pruning: Literal["pre", "reduced-error", "pessimistic", "cost-complexity"] | None
    validation_fraction: float
    confidence: float
    pruning_cv: int
    one_se: bool
    ledger: bool | Literal["thresholds"]
    n_jobs: int | None

    schema_: Schema
    tree_: TreeArrays
    classes_: Any
    n_classes_: Any
    n_outputs_: int
    ledger_ = NoLedger()
    _predictor: TreePredictor

    def _keep(self, arguments: dict[str, Any]) -> None:
        """Store the arguments of ``__init__`` untouched, as scikit-learn asks."""
        self.__dict__.update((name, value) for name, value in arguments.items() if name != "self")

    # ---- fitting ----

    @abstractmethod
    def _plan(self, problem: Problem) -> GrowPlan:
        """Choose the parts of the algorithm."""

    @abstractmethod
    def _encode(self, y: NDArray[Any]) -> tuple[NDArray[Any], tuple[NDArray[Any], ...]]:
        """Give y as codes or numbers (n_rows, n_outputs), and the classes of each output."""

    @abstractmethod
    def _encode_like(self, y: NDArray[Any], problem: Problem) -> NDArray[Any]:
        """Give other targets in the codes of the training targets."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        check_input: bool = True,
        *,
        validation_set: tuple[Any, ...] | None = None,
    ) -> Self:
        """Fit the tree to rows X (n_rows, n_features) and targets y (n_rows,) or (n_rows, n_outputs).

        X may be an array, a list of lists, a sparse matrix, or a data frame of pandas, polars or Arrow;
        missing values and columns of text are welcome. Rows count by ``sample_weight``, and not at all at 0.
        ``validation_set``, (X, y) or (X, y, sample_weight), is what pruning "pre" and "reduced-error" judge
        by; without it they hold out ``validation_fraction`` of the rows. ``check_input`` has no effect.

        >>> from spinney import DecisionTreeClassifier
        >>> DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "b"]).predict([[0.2]]).tolist()
        ['a']
        """
        check_parameters(type(self).__name__, vars(self), self._parameter_rules)
        n_threads, seed = thread_count(self.n_jobs), draw_seed(self.random_state)
        table = self._read(X)
        labels = read_target(y, table.n_rows)
        codes, classes = self._encode(labels)
        weights = self._weights(check_weights(sample_weight, table.n_rows), labels)
        problem = Problem(table, codes, classes, weights, seed, n_threads)
        problem, validation = self._divide(problem, validation_set, labels)
        matrix = code_table(table, problem.weights, self.max_bins, n_threads)
        problem = problem.with_missing([matrix.has_missing(j) for j in range(matrix.n_columns)])
        return self._learn(problem, Grower(matrix), validation)

    def _learn(self, problem: Problem, grower: Grower, validation: Validation | None) -> Self:
        """Grow the tree on codes of the problem's table, and prune it; the codes may be shared by others."""
        plan, schema = self._plan(problem), problem.table.schema

        def regrow(weights: NDArray[np.float64] | None, plan: GrowPlan) -> Grown:
            return grower.grow(problem.target(weights), plan, problem.n_threads)

        grown = regrow(problem.weights, plan)
        alpha = self._choose_alpha(
            problem, grown.tree, lambda other: regrow(other, replace(plan, ledger="off")).tree
        )
        tree = self._prune(grown.tree, alpha, validation, problem.n_threads)
        return self._adopt(
            schema_=schema,
            tree_=tree,
            classes_=problem.class_labels,
            max_features_=plan.max_features,
            ccp_alpha_=alpha,
            ledger_=self._read_ledger(grown, tree, schema),
        )

    def _read(self, X: Any) -> Table:
        return read_table(X, self.categorical_features)

    def _weights(
        self, weights: NDArray[np.float64] | None, labels: NDArray[Any]
    ) -> NDArray[np.float64] | None:
        return weights

    def _parts(self, problem: Problem) -> dict[str, Any]:
        """Give the parts of a plan that mean the same to every algorithm."""
        n_rows, schema = problem.n_used, problem.table.schema
        total = float(n_rows) if problem.weights is None else float(problem.weights.sum())
        costs = read_costs(self.feature_costs, self.cost_rule, schema)
        return {
            "max_depth": limit(self.max_depth),
            "min_samples_split": max(2, rows_or_share(self.min_samples_split, n_rows)),
            "min_samples_leaf": max(1, rows_or_share(self.min_samples_leaf, n_rows)),
            "min_weight_leaf": self.min_weight_fraction_leaf * total,
            "min_impurity_decrease": float(self.min_impurity_decrease),
            "max_leaf_nodes": self.max_leaf_nodes,
            "max_features": features_to_try(self.max_features, schema.n_features),
            "cost_rule": None if costs is None else self.cost_rule,
            "omega": float(self.cost_omega),
            "feature_costs": costs,
            "seed": problem.seed,
            "ledger": ledger_level(self.ledger),
        }

    def _weights_like(
        self, weights: NDArray[np.float64], y: NDArray[Any], problem: Problem, labels: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Give the weights of other rows, targets y, as they were for the training rows."""
        return weights

    def _validation(
        self, problem: Problem, given: tuple[Any, ...] | None, labels: NDArray[Any]
    ) -> Validation | None:
        """Give the rows to prune by: those given, or a part of the training rows; None if none are needed."""
        if self.pruning not in ("pre", "reduced-error"):
            if given is not None:
                raise InputError(
                    f"A validation_set was given, but pruning={self.pruning!r} does not use one",
                    fix='Set pruning="reduced-error" or pruning="pre", or leave the validation_set out.',
                )
            return None
        if given is None:
            held = hold_out(self.validation_fraction, problem.seed, problem.table.n_rows, problem.strata)
            weights = np.where(held, problem.full_weights, 0.0)
            if weights.any() and (weights < problem.full_weights).any():
                return Validation(problem.table, problem.y, weights)
            raise InputError("Holding rows out leaves no weight on one side. Pass a validation_set instead.")
        if not isinstance(given, tuple | list) or len(given) not in (2, 3):
            raise InputError("validation_set must be (X, y) or (X, y, sample_weight).")
        table = problem.table.schema.read(given[0], self.unseen, type(self).__name__)
        weights_given = check_weights(given[2] if len(given) == 3 else None, table.n_rows)
        y = self._encode_like(read_target(given[1], table.n_rows), problem)
        weights = np.ones(table.n_rows) if weights_given is None else weights_given
        return Validation(table, y, self._weights_like(weights, y, problem, labels))

    def _divide(
        self, problem: Problem, given: tuple[Any, ...] | None, labels: NDArray[Any]
    ) -> tuple[Problem, Validation | None]:
        """Give the rows to grow by and those to prune by."""
        validation = self._validation(problem, given, labels)
        if validation is not None and validation.table is problem.table:
            problem = replace(problem, weights=problem.full_weights - validation.weights)
        return problem, validation

    def _choose_alpha(self, problem: Problem, tree: TreeArrays, regrow: Any) -> float:
        if self.pruning != "cost-complexity" or self.ccp_alpha > 0 or problem.n_used < 2:
            return float(self.ccp_alpha)
        everything = Validation(problem.table, problem.y, problem.full_weights)
        fold = folds(min(self.pruning_cv, problem.n_used), problem.seed, problem.table.n_rows, problem.strata)
        return cross_validated_alpha(
            tree, regrow, everything, fold, self._task, self.one_se, problem.n_threads
        )

    def _prune(
        self, tree: TreeArrays, alpha: float, validation: Validation | None, n_threads: int
    ) -> TreeArrays:
        if validation is not None:
            by_validation = pruning.pre if self.pruning == "pre" else pruning.reduced_error
            tree = by_validation(tree, *losses(tree, validation, self._task, n_threads))
        elif self.pruning == "pessimistic":
            tree = pruning.pessimistic(tree, self.confidence)
        return pruning.cost_complexity(tree, alpha) if alpha > 0 else tree

    def _read_ledger(self, grown: Grown, tree: TreeArrays, schema: Schema) -> CandidateLedger | None:
        if not self.ledger:
            return None
        columns: dict[str, Any] = grown.candidates
        node = columns["node"]
        ledger = CandidateLedger.from_columns(
            schema.names,
            depth=grown.tree.depth[node],
            n_samples=grown.tree.n_samples[node],
            **columns,
        )
        return ledger if tree is grown.tree else ledger.renumbered(follow(grown.tree, tree))

    # ---- what fitting leaves behind ----

    def _adopt(self, **fitted: Any) -> Self:
        """Set all fitted attributes at once, so that a fit that fails leaves the estimator as it was."""
        known = {name: value for name, value in fitted.items() if value is not None}
        old = {*_BaseTree._state_attributes, *_BaseTree._transient_attributes}
        kept = {name: value for name, value in vars(self).items() if name not in old}
        # One assignment, because Ctrl-C may come between any two.
        self.__dict__ = kept | known | self._derived(**known)
        return self

    def _derived(self, schema_: Schema, tree_: TreeArrays, classes_: Any = None, **_: Any) -> dict[str, Any]:
        """Give the attributes that follow from the stored ones."""
        n_classes = None
        if classes_ is not None:
            n_classes = [len(labels) for labels in (classes_ if tree_.n_outputs > 1 else [classes_])]
        derived = {
            **describe_features(schema_),
            "n_outputs_": tree_.n_outputs,
            "_predictor": TreePredictor(tree_, n_classes),
        }
        if n_classes is not None:
            derived["n_classes_"] = np.array(n_classes, np.intp) if tree_.n_outputs > 1 else n_classes[0]
        return derived

    def _get_state(self) -> dict[str, Any]:
        return write_fitted(super()._get_state())

    def _set_state(self, state: dict[str, Any]) -> None:
        super()._set_state(read_fitted(state, self._task))
        if hasattr(self, "tree_"):
            self.__dict__.update(self._derived(**vars(self)))

    # ---- prediction ----

    def apply(self, X: Any, check_input: bool = True) -> NDArray[np.int64]:
        """Give the node that answers for each row; of several, that with the largest share.  -> (n_rows,)"""
        table = self._table(X)
        return self._predictor.apply(table, self._threads_for(table))

    def decision_path(self, X: Any, check_input: bool = True) -> csr_array[np.float64, tuple[int, int]]:
        """Give the share with which each row reaches each node, sparse: 1 along the path of a whole row.

        -> (n_rows, n_nodes). A row that was divided for want of a value has its parts at several nodes.
        """
        table = self._table(X)
        return self._predictor.decision_path(table, self._threads_for(table))

    # ---- reading the tree ----

    def get_depth(self) -> int:
        """Give the depth of the deepest leaf."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Count the leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Give the impurity that each feature's splits removed, summing to 1.  (n_features,)"""
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()

    def rules(self, *, show_missing: bool | None = None) -> RuleSet:
        """Give the tree as IF–THEN rules; printing them shows one a line.

        show_missing says where missing values go, None: those of features that had some in training.

        >>> from spinney import DecisionTreeClassifier
        >>> len(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).rules())
        2
        """
        check_is_fitted(self)
        return rules(self, show_missing=show_missing)

    def expected_cost(self, X: Any = None) -> float:
        """Give the mean price of the features looked at to answer for a row, each paid once.

        Over the rows of X, or without it over the training rows by weight. Without ``feature_costs`` every
        feature costs 1.
        """
        check_is_fitted(self)
        given = read_costs(self.feature_costs, self.cost_rule, self.schema_)
        costs = np.ones(self.n_features_in_) if given is None else given
        if X is None:
            return cost.expected_cost(self.tree_, costs)
        reach = self.decision_path(X)
        price = cost.path_costs(self.tree_, costs)
        inner = ~self.tree_.is_leaf
        # A row that stays at a test for want of a branch has paid for the test, as those have that went on.
        price[inner] = price[self.tree_.first_child[inner]]
        ends: NDArray[np.float64] = pruning.staying(self.tree_, reach).sum(axis=0) + np.where(
            inner, 0.0, reach.sum(axis=0)
        )
        return float(price @ ends) / reach.shape[0]

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Bunch:
        """Fit to X and y without pruning, and give the sequence of cost-complexity pruning.

        -> ``ccp_alphas`` and ``impurities``, the sum over the leaves from each α on.
        """
        unpruned = clone(self).set_params(ccp_alpha=0.0, pruning=None).fit(X, y, sample_weight)
        alphas, impurities = pruning.cost_complexity_path(unpruned.tree_)
        return Bunch(ccp_alphas=alphas, impurities=impurities)
