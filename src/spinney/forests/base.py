"""What all forests share: trees grown on one coded table, each to its bag; their answers; what is kept."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from spinney.bagging.predictions import out_of_bag_mean, out_of_bag_score
from spinney.bagging.sampling import BootstrapSamples, sample_size
from spinney.bagging.trees import CodedTable
from spinney.base import ReadsTables, describe_features
from spinney.core.errors import InputError
from spinney.core.parameters import (
    FLAG,
    NONE,
    Kind,
    OneOf,
    Real,
    Rule,
    Whole,
    check_parameters,
    thread_count,
)
from spinney.core.progress import Progress
from spinney.core.seeds import draw_seed
from spinney.data.schema import Schema, pack_schema, unpack_schema
from spinney.data.target import read_target
from spinney.forests.fitted import check_fitted
from spinney.forests.out_of_bag import tree_values
from spinney.forests.permutation import permutation_importances
from spinney.io import Persistent
from spinney.tree import pruning
from spinney.tree.ensemble import EnsembleBuilder, TreeEnsemble
from spinney.tree.plan import GrowPlan
from spinney.tree.predictor import EnsemblePredictor
from spinney.tree.tree_arrays import TreeArrays
from spinney.trees.base import BaseTree
from spinney.trees.parameters import RULES as TREE_RULES

RULES: dict[str, tuple[Rule, ...]] = {
    **TREE_RULES,
    "n_estimators": (Whole(1),),
    "bootstrap": (FLAG,),
    "max_samples": (NONE, Whole(1), Real(0.0, 1.0, open_ends="(", fraction=True)),
    "oob_score": (FLAG, Kind("a function of (y, predicted)", Callable)),  # type: ignore[arg-type]
    "warm_start": (FLAG,),
    "verbose": (FLAG, Whole(0)),
    "n_directions": (Whole(0, 10_000),),
    "keep_targets": (FLAG,),
    "class_weight": (
        NONE,
        OneOf("balanced", "balanced_subsample"),
        Kind("a dict", dict),
        Kind("a list of dicts", list),
    ),
}


class _BaseForest(ReadsTables, MultiOutputMixin, BaseEstimator, Persistent, metaclass=ABCMeta):  # type: ignore[misc]
    """Grow trees on bags of one coded table, and answer with their mean."""

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]]
    _required_attributes: ClassVar[tuple[str, ...]] = ("schema_", "ensemble_", "max_features_", "_samples")
    _state_attributes: ClassVar[tuple[str, ...]] = ("classes_", "oob_score_")
    _transient_attributes: ClassVar[tuple[str, ...]] = (
        "n_features_in_",
        "feature_names_in_",
        "n_classes_",
        "n_outputs_",
        "_predictor",
    )

    n_estimators: int
    bootstrap: bool
    max_samples: int | float | None
    oob_score: bool | Callable[..., float]
    warm_start: bool
    n_jobs: int | None
    random_state: Any
    verbose: int
    n_directions: int
    unseen: Literal["missing", "error"]
    missing: Literal["direction", "fractional"]
    monotonic_cst: Any
    ccp_alpha: float

    schema_: Schema
    ensemble_: TreeEnsemble
    max_features_: int
    n_outputs_: int
    classes_: Any
    oob_score_: float
    _samples: BootstrapSamples
    _predictor: EnsemblePredictor

    def _keep(self, arguments: dict[str, Any]) -> None:
        """Store the arguments of ``__init__`` untouched, as scikit-learn asks."""
        self.__dict__.update((name, arguments[name]) for name in self._get_param_names())

    @abstractmethod
    def _tree_class(self) -> type[BaseTree]:
        """Give the kind of tree that the members are."""

    @property
    def _splitter(self) -> Literal["best", "random"]:
        return "best"

    @abstractmethod
    def _factors(self, labels: NDArray[Any]) -> tuple[NDArray[np.float64] | None, bool]:
        """Give the weights that rows have by their class, and whether each bag balances its classes."""

    @abstractmethod
    def _out_of_bag(self, mean: NDArray[np.float64], problem: Any) -> tuple[dict[str, Any], NDArray[Any]]:
        """Give the fitted attributes that tell of answers out of bag, and the predictions among them.

        mean (n_rows, n_outputs, width)
        """

    @property
    @abstractmethod
    def _default_score(self) -> Callable[..., float]:
        """Give the score of rows out of bag where the user names none."""

    # ---- fitting ----

    def _pattern(self) -> BaseTree:
        """Make the tree that members are copies of: it has the parameters that it shares with the forest."""
        if self.n_directions and (self.monotonic_cst is not None or self.missing != "direction"):
            raise InputError(
                "Oblique trees (n_directions above 0) take neither monotonic_cst nor missing='fractional'",
                fix="Set n_directions=0, or leave these two at their defaults.",
            )
        kind = self._tree_class()
        own = vars(self) | {"splitter": self._splitter, "n_jobs": None}
        shared = {name: own[name] for name in kind._get_param_names() if name in own}
        if shared.get("class_weight") == "balanced_subsample":
            shared["class_weight"] = None
        return kind(**shared)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow a tree on each bag of the rows X (n_rows, n_features), targets y (n_rows,) or (n_rows, k).

        X may be an array, a list of lists, a sparse matrix, or a data frame of pandas, polars or Arrow;
        missing values and columns of text are welcome. Whole weights count copies of a row; others are
        chances of being drawn, or without replacement weigh the rows.

        >>> from spinney import RandomForestClassifier
        >>> model = RandomForestClassifier(10, random_state=0).fit([["red"], ["blue"]] * 9, [1, 0] * 9)
        >>> model.predict([["red"]]).tolist()
        [1]
        """
        check_parameters(type(self).__name__, vars(self), self._parameter_rules)
        pattern, n_threads = self._pattern(), thread_count(self.n_jobs)
        coded = CodedTable.read(pattern, X, y, sample_weight, n_threads)
        problem = coded.problem
        labels, weights = problem.labels, problem.weights
        assert labels is not None
        bags = self._draw_bags(coded, weights)
        before = self._trees_so_far(bags, problem.class_labels)
        factors, balanced = self._factors(labels)
        if bags.keeps_weights and weights is not None:
            factors = weights if factors is None else weights * factors
        plan = self._plan(pattern, coded, bags, factors)
        done = 0 if before is None else before.n_trees
        ensemble = before
        if ensemble is None or done < self.n_estimators:
            new = self._grow(coded, plan, bags, range(done, self.n_estimators), factors, balanced)
            ensemble = new if before is None else before.extend(new)
        fitted = {
            "schema_": problem.table.schema,
            "ensemble_": ensemble,
            "max_features_": plan.max_features,
            "classes_": problem.class_labels,
            "_samples": bags,
        }
        if self.oob_score:
            fitted |= self._judge(ensemble, problem, labels, bags)
        return self._adopt(fitted | self._more(ensemble, problem, bags))

    def _draw_bags(self, coded: CodedTable, weights: NDArray[np.float64] | None) -> BootstrapSamples:
        going_on = self.warm_start and hasattr(self, "ensemble_")
        n_rows, n_columns = coded.matrix.n_rows, coded.matrix.n_columns
        return BootstrapSamples(
            seed=self._samples.seed if going_on else draw_seed(self.random_state),
            n_rows=n_rows,
            n_draw=sample_size(self.max_samples, self.bootstrap, n_rows, weights),
            bootstrap=bool(self.bootstrap),
            n_columns=n_columns,
            n_columns_drawn=n_columns,
            weights=None if weights is None else weights.copy(),  # bags are drawn again, long after the fit
            order=coded.order(),
        )

    def _plan(
        self,
        pattern: BaseTree,
        coded: CodedTable,
        bags: BootstrapSamples,
        factors: NDArray[np.float64] | None,
    ) -> GrowPlan:
        """Choose the parts of all trees, as for one that is given what a bag holds on average."""
        weights = bags.expected_counts()
        if factors is not None:
            weights *= factors
        return pattern.grow_plan(replace(coded.problem, weights=weights))

    def _grow(
        self,
        coded: CodedTable,
        plan: GrowPlan,
        bags: BootstrapSamples,
        numbers: range,
        factors: NDArray[np.float64] | None,
        balanced: bool,
    ) -> TreeEnsemble:
        """Grow the trees of these numbers; each joins the others when it is there."""
        builder = EnsembleBuilder(len(numbers))
        progress = Progress(self.verbose, f"{type(self).__name__}: growing trees", len(numbers))

        def take(tree: TreeArrays) -> None:
            builder.add(pruning.cost_complexity(tree, self.ccp_alpha) if self.ccp_alpha > 0 else tree)
            progress.report(builder.n_trees)

        with progress:
            coded.grower.grow_forest(
                coded.problem.target(factors), plan, bags.sampler, bags.tree_seeds(numbers), take,
                coded.problem.n_threads, balanced=balanced,
            )  # fmt: skip
        return builder.build()

    def _trees_so_far(self, bags: BootstrapSamples, classes: Any) -> TreeEnsemble | None:
        """Give the trees that a warm start goes on from."""
        if not self.warm_start or not hasattr(self, "ensemble_"):
            return None
        if not self._samples.same_draws(bags) or not _same_classes(vars(self).get("classes_"), classes):
            raise InputError(
                "With warm_start=True trees are added for the same rows, drawn in the same way, and "
                "something has changed",
                fix="Fit with the data and parameters of the first fit, or set warm_start=False.",
            )
        if self.n_estimators < self.ensemble_.n_trees:
            raise InputError(
                f"n_estimators is {self.n_estimators}, but there are {self.ensemble_.n_trees} trees already",
                fix="With warm_start=True n_estimators can only grow.",
            )
        return self.ensemble_

    def _judge(
        self, ensemble: TreeEnsemble, problem: Any, labels: NDArray[Any], bags: BootstrapSamples
    ) -> dict[str, Any]:
        """Score the rows by the trees that did not see them."""
        parts = tree_values(ensemble, problem.table, bags, self.n_jobs)
        mean, n_answers = out_of_bag_mean(bags.n_rows, parts)
        fitted, predicted = self._out_of_bag(mean, problem)
        score = self.oob_score if callable(self.oob_score) else self._default_score
        return fitted | {
            "oob_score_": out_of_bag_score(score, labels, predicted, n_answers > 0, bags.weights)
        }

    def _more(self, ensemble: TreeEnsemble, problem: Any, bags: BootstrapSamples) -> dict[str, Any]:
        """Give further fitted attributes of a kind of forest."""
        return {}

    # ---- what fitting leaves behind ----

    def _adopt(self, fitted: dict[str, Any]) -> Self:
        """Set all fitted attributes at once, so that a fit that fails leaves the estimator as it was."""
        known = {name: value for name, value in fitted.items() if value is not None}
        kept = {
            name: value
            for name, value in vars(self).items()
            if not name.endswith("_") and name not in ("_samples", "_predictor")
        }
        # One assignment, because Ctrl-C may come between any two.
        self.__dict__ = kept | known | self._derived(**known)
        return self

    def _derived(
        self, schema_: Schema, ensemble_: TreeEnsemble, classes_: Any = None, **_: Any
    ) -> dict[str, Any]:
        """Give the attributes that follow from the stored ones."""
        return {
            **describe_features(schema_),
            "n_outputs_": ensemble_.n_outputs,
            "_predictor": EnsemblePredictor(ensemble_),
        }

    def _get_state(self) -> dict[str, Any]:
        state = super()._get_state()
        return {**state, "fitted": pack_schema(state["fitted"])}

    def _set_state(self, state: dict[str, Any]) -> None:
        super()._set_state({**state, "fitted": unpack_schema(state.get("fitted"))})

    def _check_state(self) -> None:
        if hasattr(self, "ensemble_"):
            check_fitted(self)
            self.__dict__.update(self._derived(**vars(self)))

    @property
    def estimator_(self) -> BaseTree:
        """Give the tree that the members are copies of."""
        return self._pattern()

    @property
    def estimators_(self) -> list[BaseTree]:
        """Give the members as estimators of their own, made anew at each call."""
        check_is_fitted(self)
        return [self._member(t, tree) for t, tree in enumerate(self.ensemble_.trees())]

    def _member(self, t: int, tree: TreeArrays) -> BaseTree:
        member = self._pattern()
        member.random_state = self._samples.estimator_seed(t)
        return member.set_tree(
            tree, self.schema_, vars(self).get("classes_"), max_features=self.max_features_
        )

    @property
    def estimators_samples_(self) -> list[NDArray[np.int64]]:
        """Give the rows that each tree drew, one as often as it was drawn; drawn again at each call."""
        check_is_fitted(self)
        return [self._samples.rows(t) for t in range(len(self))]

    def __len__(self) -> int:
        return self.ensemble_.n_trees

    def __getitem__(self, index: int) -> BaseTree:
        t = range(len(self))[index]
        return self._member(t, self.ensemble_.tree(t))

    def __iter__(self) -> Iterator[BaseTree]:
        return (self[t] for t in range(len(self)))

    # ---- prediction ----

    def _mean(self, X: Any) -> NDArray[np.float64]:
        """Give the mean of what the trees say.  -> (n_rows, n_outputs, width)"""
        table = self._table(X)
        return self._predictor.mean(table, self._threads_for(table))

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Give the leaf of each tree that each row falls into.  -> (n_rows, n_trees)"""
        table = self._table(X)
        return self._predictor.apply(table, self._threads_for(table))

    def decision_path(self, X: Any) -> tuple[Any, NDArray[np.int64]]:
        """Give the share with which each row reaches each node, and where each tree's nodes begin.

        -> a sparse array (n_rows, nodes of all trees), and the offsets (n_trees + 1,) in its columns
        """
        table = self._table(X)
        return self._predictor.decision_path(table, self._threads_for(table))

    # ---- reading the forest ----

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Give the impurity that each feature's splits removed, meaned over the trees, summing to 1.

        (n_features,). Features of many values are favoured; ``permutation_importances`` are free of that.
        """
        check_is_fitted(self)
        total = np.zeros(self.n_features_in_)
        for tree in self.ensemble_.trees():
            total += tree.compute_feature_importances()
        return total / total.sum() if total.any() else total

    def permutation_importances(self, X: Any, y: Any, *, n_repeats: int = 1) -> Bunch:
        """Give what accuracy is lost, or squared error won, when a feature's values are shuffled.

        X and y are the training rows, in their order. Each tree is asked about the rows that it left out, and
        again with one feature shuffled among them, ``n_repeats`` times.  -> ``importances_mean`` and
        ``importances_std`` over the trees, both (n_features,), and ``importances`` (n_features, n_trees)

        >>> from spinney import RandomForestRegressor
        >>> X = np.random.default_rng(0).random((200, 2))
        >>> model = RandomForestRegressor(20, random_state=0).fit(X, X[:, 0])
        >>> lost = model.permutation_importances(X, X[:, 0]).importances_mean
        >>> bool(lost[0] > 10 * abs(lost[1]))
        True
        """
        check_is_fitted(self)
        table = self._table(X)
        if table.n_rows != self._samples.n_rows:
            raise InputError(
                f"X has {table.n_rows} rows, and the forest was fitted to {self._samples.n_rows}",
                fix="Pass the training rows, in the order in which they were fitted.",
            )
        codes = self._encode_again(read_target(y, table.n_rows))
        title = f"{type(self).__name__}: shuffling features" if self.verbose else None
        return permutation_importances(
            self.ensemble_, table, codes, self._samples, n_repeats, self.n_jobs, title
        )

    @abstractmethod
    def _encode_again(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Give targets as the trees have them: class codes or numbers.  -> (n_rows, n_outputs)"""


def _same_classes(old: Any, new: Any) -> bool:
    if type(old) is list and type(new) is list:
        return len(old) == len(new) and all(map(np.array_equal, old, new))
    return np.array_equal(old, new)
