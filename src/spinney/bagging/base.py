"""What bagging of classifiers and of regressors share: bags drawn, members fitted, their answers averaged."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from spinney.bagging.answers import Answer, mean_answer
from spinney.bagging.draws import Bags, bag_size
from spinney.bagging.fitting import fit_members, make_members
from spinney.bagging.joined import JoinedTrees, join_trees
from spinney.bagging.row_order import row_order
from spinney.bagging.shared import CodedTables, fit_trees
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
    check_weights,
    thread_count,
)
from spinney.core.seeds import draw_seed
from spinney.data.table import Table
from spinney.data.target import read_target
from spinney.io import Persistent
from spinney.members.base_estimators import AnyEstimator, base_estimator_tags
from spinney.members.tables import check_input, count_training_rows, describe_input
from spinney.trees.base import _BaseTree

Array = NDArray[Any]


_RULES: Mapping[str, tuple[Rule, ...]] = {
    "estimator": (NONE, AnyEstimator()),
    "n_estimators": (Whole(1),),
    "max_samples": (NONE, Whole(1), Real(0.0, 1.0, open_ends="(", fraction=True)),
    "max_features": (Whole(1), Real(0.0, 1.0, open_ends="(", fraction=True)),
    "bootstrap": (FLAG,),
    "bootstrap_features": (FLAG,),
    "oob_score": (FLAG, Kind("a function of (y, predicted)", Callable)),  # type: ignore[arg-type]
    "warm_start": (FLAG,),
    "verbose": (FLAG, Whole(0)),
    "voting": (OneOf("soft", "hard"),),
    "parameter_distributions": (NONE, Kind("a dict of distributions by parameter name", Mapping)),
    "oob_pruning": (FLAG,),
}


class _BaseBagging(MetaEstimatorMixin, BaseEstimator, Persistent, metaclass=ABCMeta):  # type: ignore[misc]
    """Fit members to bags, average their answers, and judge them by the rows that they left out."""

    _state_attributes: ClassVar[tuple[str, ...]] = (
        "estimators_",
        "estimators_features_",
        "feature_names_in_",
        "_bags",
        "oob_score_",
    )
    _required_attributes: ClassVar[tuple[str, ...]] = ("estimators_", "estimators_features_", "_bags")
    _transient_attributes: ClassVar[tuple[str, ...]] = ("n_features_in_", "_trees")

    estimator: Any
    n_estimators: int
    max_samples: int | float | None
    max_features: int | float
    bootstrap: bool
    bootstrap_features: bool
    oob_score: bool | Callable[..., float]
    warm_start: bool
    n_jobs: int | None
    random_state: Any
    verbose: int
    parameter_distributions: Mapping[str, Any] | None
    oob_pruning: bool

    estimators_: list[Any]
    estimators_features_: list[NDArray[np.int64]]
    oob_score_: float
    _bags: Bags
    _trees: JoinedTrees | None

    def _keep(self, arguments: dict[str, Any]) -> None:
        """Store the arguments of ``__init__`` untouched, as scikit-learn asks."""
        self.__dict__.update((name, arguments[name]) for name in self._get_param_names())

    @abstractmethod
    def _default(self) -> Any:
        """Give the estimator that is bagged where the user names none."""

    @abstractmethod
    def _learns_another_kind(self, estimator: Any) -> bool:
        """Tell whether an estimator learns numbers where classes are to be learned, or the other way."""

    @abstractmethod
    def _read_classes(self, y: Array) -> dict[str, Any]:
        """Check the targets, and give the fitted attributes that tell of them."""

    @abstractmethod
    def _judge(
        self, members: list[Any], X: Any, y: Array, bags: Bags, targets: dict[str, Any]
    ) -> dict[str, Any]:
        """Give the fitted attributes that tell of the rows out of bag."""

    # ---- fitting ----

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit each member to a bag of the rows X (n_rows, n_features) and their targets y.

        y is (n_rows,), or (n_rows, n_outputs) where members learn several outputs. X goes to the members as
        it is: an array, a list, a sparse matrix, a data frame, with missing values and text where they take
        them. Rows are drawn by ``sample_weight``: whole weights count copies of a row; others are chances of
        being drawn, or without replacement are handed on to the members.

        >>> from spinney import BaggingRegressor
        >>> model = BaggingRegressor(random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
        >>> model.predict([[1.4], [9.0]]).shape
        (2,)
        """
        check_parameters(type(self).__name__, vars(self), _RULES)
        estimator, n_rows = self._check_pattern(), count_training_rows(X)
        seen, labels = describe_input(X), read_target(y, n_rows)
        targets = self._read_classes(labels)
        weights = check_weights(sample_weight, n_rows)
        tables = None
        if isinstance(estimator, _BaseTree):
            tables = CodedTables(X, labels, weights, thread_count(self.n_jobs))
        order = _order(X, labels, None if tables is None else tables.of(estimator).problem.table)
        bags = self._draw_bags(n_rows, seen.get("n_features_in_"), weights, order)
        members = self._members_so_far(bags, targets)
        numbers = range(len(members), self.n_estimators)
        new = make_members(estimator, self.parameter_distributions, bags, numbers)
        title = f"{type(self).__name__}: fitting members" if self.verbose else None
        if tables is not None:
            members += fit_trees(new, numbers, tables, bags, self.oob_pruning, self.n_jobs, title)
        else:
            members += fit_members(new, numbers, X, labels, bags, self.n_jobs, title)
        fitted = {
            "estimators_": members,
            "estimators_features_": [bags.columns(t) for t in range(len(members))],
            "_bags": bags,
            **seen,
            **targets,
        }
        if self.oob_score:
            fitted |= self._judge(members, X, labels, bags, targets)
        fitted["_trees"] = join_trees(
            members, fitted["estimators_features_"], bags.n_columns, targets.get("classes_")
        )
        return self._adopt(fitted)

    def _draw_bags(
        self,
        n_rows: int,
        n_columns: int | None,
        weights: NDArray[np.float64] | None,
        order: NDArray[np.int64] | None,
    ) -> Bags:
        """Settle what bags are drawn from: how many rows and columns, in which order, by which seed."""
        if n_columns == 0:
            raise InputError(
                f"Found array with 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required."
            )
        going_on = self.warm_start and hasattr(self, "estimators_")
        return Bags(
            seed=self._bags.seed if going_on else draw_seed(self.random_state),
            n_rows=n_rows,
            n_draw=bag_size(self.max_samples, self.bootstrap, n_rows, weights),
            bootstrap=bool(self.bootstrap),
            n_columns=n_columns or 0,
            n_columns_drawn=self._count_columns(n_columns),
            bootstrap_columns=bool(self.bootstrap_features),
            weights=None if weights is None else weights.copy(),  # bags are drawn again, long after the fit
            order=order,
        )

    def _count_columns(self, n_columns: int | None) -> int:
        """Give how many columns are drawn; of what has no columns, such as a list of texts, none."""
        if n_columns is None:
            if self.max_features != 1.0 or self.bootstrap_features:
                raise InputError("X has no columns that could be drawn.", fix="Set max_features=1.0.")
            return 0
        if not Whole(1).allows(self.max_features):
            return max(1, int(self.max_features * n_columns))
        if self.max_features > n_columns and not self.bootstrap_features:
            raise InputError(f"max_features is {self.max_features}, but X has {n_columns} features.")
        return int(self.max_features)

    def _members_so_far(self, bags: Bags, targets: dict[str, Any]) -> list[Any]:
        """Give the members that a warm start goes on from."""
        if not self.warm_start or not hasattr(self, "estimators_"):
            return []
        if not self._bags.same_draws(bags) or not self._same_targets(targets):
            raise InputError(
                "With warm_start=True members are added for the same rows, drawn in the same way, and "
                "something has changed",
                fix="Fit with the data and parameters of the first fit, or set warm_start=False.",
            )
        if self.n_estimators < len(self.estimators_):
            raise InputError(
                f"n_estimators is {self.n_estimators}, but there are {len(self.estimators_)} members already",
                fix="With warm_start=True n_estimators can only grow.",
            )
        return list(self.estimators_)

    def _same_targets(self, targets: dict[str, Any]) -> bool:
        return True

    def _adopt(self, fitted: dict[str, Any]) -> Self:
        """Set all fitted attributes at once, so that a fit that fails leaves the estimator as it was."""
        old = ("_bags", "_trees")
        kept = {
            name: value for name, value in vars(self).items() if not name.endswith("_") and name not in old
        }
        # One assignment, because Ctrl-C may come between any two.
        self.__dict__ = kept | fitted
        return self

    def _pattern(self) -> Any:
        """Give the estimator that members are copies of."""
        return self._default() if self.estimator is None else self.estimator

    def _check_pattern(self) -> Any:
        """Give the estimator that members are copies of, if it is one that can be bagged here."""
        estimator, own = self._pattern(), type(self).__name__
        if self._learns_another_kind(estimator):
            raise InputError(f"The estimator of a {own} cannot be a {type(estimator).__name__}.")
        if self.oob_pruning and not isinstance(estimator, _BaseTree):
            raise InputError(
                f"oob_pruning prunes Spinney's trees, and the estimator is a {type(estimator).__name__}",
                fix="Use one of Spinney's trees, or set oob_pruning=False.",
            )
        return estimator

    # ---- what fitting leaves behind ----

    @property
    def estimator_(self) -> Any:
        """Give the estimator that the members are copies of."""
        check_is_fitted(self)
        return self._pattern()

    @property
    def estimators_samples_(self) -> list[NDArray[np.int64]]:
        """Give the rows that each member drew, one as often as it was drawn; drawn again at each call."""
        check_is_fitted(self)
        return [self._bags.rows(t) for t in range(len(self.estimators_))]

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: int) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    def _set_state(self, state: dict[str, Any]) -> None:
        super()._set_state(state)
        if hasattr(self, "_bags") and isinstance(self._bags, Bags) and self._bags.n_columns:
            self.n_features_in_ = self._bags.n_columns

    @abstractmethod
    def _check_parts(self) -> None:
        """Raise ModelFileError if the fitted attributes do not agree."""

    def _check_state(self) -> None:
        if hasattr(self, "estimators_"):
            self._check_parts()
            # Only now that every index is known to be valid.
            columns, classes = self.estimators_features_, vars(self).get("classes_")
            self._trees = join_trees(self.estimators_, columns, self._bags.n_columns, classes)

    def _mean(self, X: Any, answer: Answer) -> NDArray[np.float64]:
        check_input(self, X)
        return mean_answer(
            self.estimators_, self.estimators_features_, X, self._bags.n_columns, answer, self.n_jobs
        )

    def _mean_of_trees(self, X: Any) -> NDArray[np.float64] | None:
        """Give the mean of the members' trees, walked together; None where members are not such trees.

        -> (n_rows, n_outputs, width)
        """
        check_input(self, X)
        return None if self._trees is None else self._trees.mean(X, type(self).__name__, self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = base_estimator_tags(self._pattern())
        tags.input_tags = base.input_tags
        tags.target_tags.multi_output = base.target_tags.multi_output
        return tags


def _order(X: Any, y: Array, table: Table | None) -> NDArray[np.int64] | None:
    """Give the order of the rows by what they hold, None where Spinney cannot read the table.

    The table is X where that has been read already; a sparse matrix is put in order as it is.
    """
    try:
        return row_order(X if table is None or issparse(X) else table, y)
    except InputError:
        # The members may read it all the same. Its rows then count by their places.
        return None
