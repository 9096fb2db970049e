"""CART: binary trees for classes and numbers, with the parameters of scikit-learn's trees and some more."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from spinney.core.parameters import OneOf
from spinney.losses.criteria import CRITERIA, find_criterion, impurity_scale
from spinney.tree.plan import LEAST_GAIN, GrowPlan
from spinney.trees.base import _BaseTree
from spinney.trees.fitted import Problem
from spinney.trees.parameters import RULES, read_monotone
from spinney.trees.tasks import _ClassifierTree, _RegressorTree


class _CartTree(_BaseTree):
    """Choose CART's parts: two-way tests, one direction or fractions for missing values."""

    criterion: str
    splitter: Literal["best", "random"]
    categorical_split: Literal["subset", "one-vs-rest"]
    missing: Literal["direction", "fractional"]
    monotonic_cst: Any

    def _plan(self, problem: Problem) -> GrowPlan:
        return GrowPlan(
            criterion=find_criterion(self.criterion, self._task).core_name,  # type: ignore[arg-type]
            min_gain=self._least_gain(problem),
            splitter=self.splitter,
            categories=self.categorical_split,
            missing=self.missing,
            monotone=read_monotone(
                self.monotonic_cst, problem.table.schema, problem.y.shape[1], problem.n_classes
            ),
            **self._parts(problem),
        )

    def _least_gain(self, problem: Problem) -> float:
        """Give the gain below which a split is none; where rows are divided, such splits would never end.

        Rows without a value keep a node impure whose other rows agree, and no test can tell them apart.
        """
        if self.missing != "fractional" or not problem.table.schema.has_missing:
            return -np.inf
        criterion = find_criterion(self.criterion, self._task)
        return LEAST_GAIN * impurity_scale(criterion, problem.y, problem.weights)


def _criteria(task: str) -> OneOf:
    return OneOf(*(name for name, criterion in CRITERIA.items() if criterion.task == task))


class DecisionTreeClassifier(_ClassifierTree, _CartTree):
    """Classify by a binary tree (CART).

    The parameters of scikit-learn's ``DecisionTreeClassifier`` come first, with their meaning and defaults.
    ``monotonic_cst`` may also be a dict by feature name. Beyond them:

    max_bins : int from 2 to 255, or None
        Numeric columns with more distinct values are put into so many bins, which is fast and hardly ever
        changes the accuracy. None looks at every threshold.
    categorical_features : list of names or positions, mask, or None
        Columns of numbers that are categories; text, booleans and categorical types are so by themselves.
    categorical_split : "subset" or "one-vs-rest"
        Divide categories into any two sets, or one from all others.
    missing : "direction" or "fractional"
        Send a missing value where it did best in training, or to both sides by their share of the rows;
        ``min_samples_leaf`` then counts by weight.
    unseen : "missing" or "error"
        What a category is at prediction that was not there at fitting.
    feature_costs : array (n_features,), dict by feature name (others cost 1), or None
        What looking at each feature costs. ``cost_rule`` then chooses by "tan" Gain²/Cost, "tan-linear"
        Gain/Cost, or "nunez" (2^Gain − 1)/(Cost + 1)^ω with ω = ``cost_omega``.
    pruning : None, "pre", "reduced-error", "pessimistic" or "cost-complexity"
        "pre" and "reduced-error" judge by the ``validation_set`` of ``fit``, or by ``validation_fraction`` of
        the rows held out; "pessimistic" by C4.5's upper limit of the error at ``confidence``;
        "cost-complexity" by ``ccp_alpha``, or where that is 0 by the α best in ``pruning_cv``-fold
        cross-validation (with ``one_se`` the largest α within one standard error of the best).
    ledger : False, True or "thresholds"
        Record in ``ledger_`` each feature's best candidate at every node, or every threshold.
    n_jobs : int or None
        Number of threads, −1 for all cores; None is 1 unless a joblib context says otherwise. The fitted tree
        is the same, to the last bit, for any number.

    >>> from spinney.datasets import load_watermelon3
    >>> X, y = load_watermelon3()
    >>> DecisionTreeClassifier(max_depth=3).fit(X, y).score(X, y)
    1.0
    """

    _parameter_rules = RULES | {"criterion": (_criteria("classification"),)}

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: Literal["best", "random"] = "best",
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
        monotonic_cst: Any = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        categorical_split: Literal["subset", "one-vs-rest"] = "subset",
        missing: Literal["direction", "fractional"] = "direction",
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


class DecisionTreeRegressor(_RegressorTree, _CartTree):
    """Predict numbers by a binary tree (CART).

    The parameters of scikit-learn's ``DecisionTreeRegressor`` come first, with the same meaning and defaults;
    the others are those of `DecisionTreeClassifier`.

    >>> DecisionTreeRegressor(max_depth=1).fit([[1], [2], [8], [9]], [0.0, 0.0, 5.0, 7.0]).predict([[8.5]])
    array([6.])
    """

    _parameter_rules = RULES | {"criterion": (_criteria("regression"),)}

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: Literal["best", "random"] = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        categorical_split: Literal["subset", "one-vs-rest"] = "subset",
        missing: Literal["direction", "fractional"] = "direction",
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
