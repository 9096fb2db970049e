"""GrowPlan: the parts of which a tree algorithm is made."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

NO_LIMIT = 2**31 - 1

# A gain below this, as a share of the impurity there may be, is what rounding leaves of none at all.
LEAST_GAIN = 1e-12


@dataclass(frozen=True, kw_only=True)
class GrowPlan:
    """Name the parts of an algorithm: criterion, splitter, frontier, stopping, missing, prices.

    ``score`` chooses among features: by impurity decrease, or by gain ratio among those of at least average
    gain; a cost rule replaces it. ``min_samples_leaf`` counts rows; with fractional rows it is a weight.
    Features with equal scores are put in order by the node's path and, in a forest, by ``tie_seed``.
    """

    criterion: Literal["gini", "entropy", "squared_error", "poisson", "absolute_error"]
    score: Literal["gain", "gain_ratio"] = "gain"
    splitter: Literal["best", "random"] = "best"
    categories: Literal["subset", "one-vs-rest", "multiway"] = "subset"
    missing: Literal["direction", "fractional"] = "direction"
    use_categories_once: bool = False
    oblique_directions: int = 0
    max_depth: int = NO_LIMIT
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    min_gain: float = -np.inf
    max_leaf_nodes: int | None = None
    max_features: int = NO_LIMIT
    cost_rule: Literal["tan", "tan-linear", "nunez"] | None = None
    omega: float = 1.0
    feature_costs: NDArray[np.float64] | None = None
    monotone: NDArray[np.int8] | None = None
    seed: int = 0
    tie_seed: int = 0
    ledger: Literal["off", "features", "thresholds"] = "off"

    @property
    def needs_ordered_grower(self) -> bool:
        """Tell whether some part is one that only the general grower has."""
        return (
            self.criterion == "absolute_error"
            or self.score == "gain_ratio"
            or self.categories == "multiway"
            or self.missing == "fractional"
            or self.oblique_directions > 0
            or self.ledger != "off"
        )
