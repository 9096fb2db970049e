"""Cost of predicting a row when every feature has a cost, paid once per path."""

from __future__ import annotations

import numpy as np

from spinney.core.arrays import Floats
from spinney.tree.tree_arrays import LINEAR, TreeArrays


def path_costs(tree: TreeArrays, costs: Floats) -> Floats:
    """Return the cost of the features tested on the path to each node, each paid once.  -> (n_nodes,)

    costs (n_features,). At a leaf this is the cost of its prediction.

    >>> path_costs(model.tree_, np.array([1.0, 20.0, 5.0]))  # doctest: +SKIP
    """
    total = np.zeros(tree.node_count)
    paid: dict[int, frozenset[int]] = {0: frozenset()}  # features tested above the nodes still to come
    for node in range(tree.node_count):
        known = paid.pop(node)
        new = [feature for feature in _features_tested(tree, node) if feature not in known]
        below = known.union(new) if new else known
        for child in tree.children(node):
            paid[child], total[child] = below, total[node] + costs[new].sum()
    return total


def _features_tested(tree: TreeArrays, node: int) -> list[int]:
    if tree.kind[node] == LINEAR:
        return sorted(set(tree.term_feature[tree.terms(node)].tolist()))
    return [int(tree.feature[node])] if tree.feature[node] >= 0 else []
