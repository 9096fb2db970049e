"""C4.5: the best gain ratio among features of at least average gain, fractional rows, pessimistic pruning."""

from __future__ import annotations

from typing import Any, Literal

from spinney.core.parameters import FLAG
from spinney.tree.plan import LEAST_GAIN, GrowPlan
from spinney.trees.fitted import Problem
from spinney.trees.parameters import RULES
from spinney.trees.tasks import _ClassifierTree


class C45Classifier(_ClassifierTree):
    """Classify by C4.5.

    Numbers are divided in two at the best of all midpoints; categories have a branch each, and are used once
    a path. A row whose value is missing goes down every branch with a part of its weight.

    confidence : float between 0 and 1
        Of the pessimistic pruning; less of it prunes more.
    subset : bool
        Divide categories into two sets instead of a branch for each.
    max_bins : int from 2 to 255, or None
        None, the default, looks at every threshold. The other parameters are those of
        `DecisionTreeClassifier`; ``min_samples_leaf`` counts by weight, because rows may be divided.

    >>> from spinney.datasets import load_watermelon3
    >>> X, y = load_watermelon3()
    >>> C45Classifier().fit(X, y).get_n_leaves()
    4
    """

    _parameter_rules = RULES | {"subset": (FLAG,)}
    subset: bool

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 2,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        confidence: float = 0.25,
        subset: bool = False,
        max_bins: int | None = None,
        categorical_features: Any = None,
        unseen: Literal["missing", "error"] = "missing",
        feature_costs: Any = None,
        cost_rule: Literal["tan", "tan-linear", "nunez"] = "tan",
        cost_omega: float = 1.0,
        pruning: Literal["pre", "reduced-error", "pessimistic", "cost-complexity"] | None = "pessimistic",
        validation_fraction: float = 0.25,
        pruning_cv: int = 5,
        one_se: bool = False,
        ledger: bool | Literal["thresholds"] = False,
        n_jobs: int | None = None,
    ) -> None:
        self._keep(locals())

    def _plan(self, problem: Problem) -> GrowPlan:
        return GrowPlan(
            criterion="entropy",
            score="gain_ratio",
            categories="subset" if self.subset else "multiway",
            missing="fractional",
            use_categories_once=not self.subset,
            min_gain=LEAST_GAIN,
            **self._parts(problem),
        )
