"""Oblique trees: tests of a weighted sum of features, Σ w·x ≤ t, beside tests of one feature."""

from __future__ import annotations

from typing import Any, Literal

from spinney.core.parameters import Whole
from spinney.losses.criteria import find_criterion
from spinney.tree.plan import GrowPlan
from spinney.trees.base import _BaseTree
from spinney.trees.cart import _criteria
from spinney.trees.fitted import Problem
from spinney.trees.parameters import RULES
from spinney.trees.tasks import _ClassifierTree, _RegressorTree


class _ObliqueTree(_BaseTree):
    """Choose the parts of CART, and directions to try at every node."""

    criterion: str
    n_directions: int
    categorical_split: Literal["subset", "one-vs-rest"]

    def _plan(self, problem: Problem) -> GrowPlan:
        return GrowPlan(
            criterion=find_criterion(self.criterion, self._task).core_name,  # type: ignore[arg-type]
            categories=self.categorical_split,
            oblique_directions=self.n_directions,
            **self._parts(problem),
        )


class ObliqueTreeClassifier(_ClassifierTree, _ObliqueTree):
    """Classify by a binary tree whose tests may combine numeric features linearly.

    Every node compares the best test of one feature with a sum of features, found from regressions,
    discriminants and ``n_directions`` random directions. A sum must gain more than its terms would on pure
    noise, and needs ten rows a term; otherwise the node tests one feature. Where the classes follow single
    features, `DecisionTreeClassifier` may still predict better. A missing value counts as the node's typical
    value in a sum. Thresholds are exact. The other parameters are those of `DecisionTreeClassifier`.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> ObliqueTreeClassifier(random_state=0).fit(X, X.sum(axis=1) > 0).get_depth() < 4
    True
    """

    _parameter_rules = RULES | {
        "criterion": (_criteria("classification"),),
        "n_directions": (Whole(1, 10_000),),
    }

    def __init__(
        self,
        *,
        criterion: str = "gini",
        n_directions: int = 20,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        categorical_features: Any = None,
        categorical_split: Literal["subset", "one-vs-rest"] = "subset",
        unseen: Literal["missing", "error"] = "missing",
        feature_costs: Any = None,
        cost_rule: Literal["tan", "tan-linear", "nunez"] = "tan",
        cost_omega: float = 1.0,
        pruning: Literal["pre", "reduced-error", "pessimistic", "cost-complexity"] | None = None,
        validation_fraction: float = 0.25,
        confidence: float = 0.25,
        pruning_cv: int = 5,
        one_se: bool = False,
        ledger: bool | Literal["thresholds"] = False,
        n_jobs: int | None = None,
    ) -> None:
        self._keep(locals())


class ObliqueTreeRegressor(_RegressorTree, _ObliqueTree):
    """Predict numbers by a binary tree whose tests may combine numeric features linearly.

    The parameters are those of `ObliqueTreeClassifier`.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> ObliqueTreeRegressor(random_state=0).fit(X, 1.0 * (X.sum(axis=1) > 0)).score(X, X.sum(axis=1) > 0)
    1.0
    """

    _parameter_rules = RULES | {
        "criterion": (_criteria("regression"),),
        "n_directions": (Whole(1, 10_000),),
    }

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        n_directions: int = 20,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        categorical_features: Any = None,
        categorical_split: Literal["subset", "one-vs-rest"] = "subset",
        unseen: Literal["missing", "error"] = "missing",
        feature_costs: Any = None,
        cost_rule: Literal["tan", "tan-linear", "nunez"] = "tan",
        cost_omega: float = 1.0,
        pruning: Literal["pre", "reduced-error", "pessimistic", "cost-complexity"] | None = None,
        validation_fraction: float = 0.25,
        confidence: float = 0.25,
        pruning_cv: int = 5,
        one_se: bool = False,
        ledger: bool | Literal["thresholds"] = False,
        n_jobs: int | None = None,
    ) -> None:
        self._keep(locals())
