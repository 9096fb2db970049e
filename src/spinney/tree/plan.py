"""GrowPlan: the parameters of a tree algorithm, as the compiled core takes them."""

from typing import TypeAlias

from spinney.native import core

NO_LIMIT = 2**31 - 1

# Gains below this fraction of the maximum impurity are rounding noise.
LEAST_GAIN = 1e-12

GrowPlan: TypeAlias = core.GrowOptions
"""Criterion, splitter, growth order, stopping rules, missing values and costs of a tree.

Immutable; ``plan.replace(ledger=False)`` returns a changed copy. None stands for the default of a field.
``score`` chooses among features: by impurity decrease, or by gain ratio among those of at least average
gain; a cost rule replaces it. ``min_samples_leaf`` counts rows; with fractional instances it is 1, and
``min_weight_leaf`` limits the leaves.
``max_leaf_nodes`` asks for best-first growth. Features with equal scores are ordered by the node's path and,
with a ``random_state``, by ``tie_seed``.
"""
