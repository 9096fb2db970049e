"""Cost of predicting a row when every feature has a cost, paid once per path."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from spinney.core.arrays import Floats
from spinney.tree.tree_arrays import LINEAR, TreeArrays


def path_costs(tree: TreeArrays, costs: ArrayLike) -> Floats:
    """Return the cost of the features tested on the path to each node, each paid once.  -> (n_nodes,)

    costs (n_features,). At a leaf this is the cost of its prediction.

    >>> path_costs(model.tree_, [1.0, 20.0, 5.0])  # doctest: +SKIP
    """
    cost = np.asarray(costs, dtype=np.float64)
    if cost.shape != (tree.n_features,):
        raise ValueError(f"costs has shape {cost.shape}; the tree was made for {tree.n_features} features.")
    if not (np.isfinite(cost) & (cost >= 0)).all():
        feature = int(np.argmin(np.isfinite(cost) & (cost >= 0)))
        raise ValueError(f"costs[{feature}] is {cost[feature]}; it takes a finite number of at least 0.")
    total = np.zeros(tree.node_count)
    paid: dict[int, frozenset[int]] = {0: frozenset()}  # features tested above the nodes still to come
    for node in range(tree.node_count):
        known = paid.pop(node)
        new = [feature for feature in _features_tested(tree, node) if feature not in known]
        below = known.union(new) if new else known
        for child in tree.children(node):
            paid[child], total[child] = below, total[node] + cost[new].sum()
    return total


def _features_tested(tree: TreeArrays, node: int) -> list[int]:
    if tree.kind[node] == LINEAR:
        return sorted(set(tree.term_feature[tree.terms(node)].tolist()))
    return [int(tree.feature[node])] if tree.feature[node] >= 0 else []


def expected_cost(tree: TreeArrays, feature_costs: ArrayLike, leaf_weight: ArrayLike | None = None) -> float:
    """Return the mean cost of predicting a row, over the training rows or over leaf_weight.

    feature_costs (n_features,); leaf_weight (n_nodes,), the weight of rows ending at each node, None for the
    training weight of the leaves.

    >>> expected_cost(model.tree_, [1.0, 20.0, 5.0])  # doctest: +SKIP
    """
    ending = (
        np.where(tree.is_leaf, tree.weight, 0.0)
        if leaf_weight is None
        else np.asarray(leaf_weight, np.float64)
    )
    if ending.shape != (tree.node_count,):
        raise ValueError(f"leaf_weight has shape {ending.shape}; the tree has {tree.node_count} nodes.")
    total = float(ending.sum())
    return float(path_costs(tree, feature_costs) @ ending) / total if total > 0 else 0.0
