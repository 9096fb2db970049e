"""ID3: a branch for every category, the largest gain, each feature once a path."""

from __future__ import annotations

from typing import Any, Literal

from spinney.core.parameters import Real
from spinney.data.readers import open_source
from spinney.data.schema import read_table
from spinney.data.table import Table
from spinney.tree.plan import LEAST_GAIN, GrowPlan
from spinney.trees.fitted import Problem
from spinney.trees.parameters import RULES
from spinney.trees.tasks import _ClassifierTree


class ID3Classifier(_ClassifierTree):
    """Classify by ID3: multiway splits on discrete features, chosen by information gain.

    Every column is discrete: the distinct values of a column of numbers are its categories. A row whose value
    is missing goes down every branch with a part of its weight. A category that a node has no branch for is
    answered by the node itself.

    epsilon : float
        Stop where the gain, in bits, is less. The other parameters are those of `DecisionTreeClassifier`;
        ``min_samples_leaf`` counts by weight, because rows may be divided.

    >>> from spinney.datasets import load_watermelon3
    >>> X, y = load_watermelon3()
    >>> ID3Classifier().fit(X.iloc[:, :6], y).get_depth()
    4
    """

    _parameter_rules = RULES | {"epsilon": (Real(0.0),)}

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
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

    def _read(self, X: Any) -> Table:
        return read_table(X, range(open_source(X).shape[1]))

    def _plan(self, problem: Problem) -> GrowPlan:
        return GrowPlan(
            criterion="entropy",
            categories="multiway",
            missing="fractional",
            use_categories_once=True,
            min_gain=max(self.epsilon, LEAST_GAIN),
            **self._parts(problem),
        )
