"""Partial dependence by weighted tree traversal (Friedman 2001), without a pass over the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.tree.tree_arrays import NUMERIC, TreeArrays


def partial_dependence(tree: TreeArrays, grid: NDArray[Any], features: Sequence[int]) -> Floats:
    """Return the mean prediction of one output at each point of a grid of some features.

    Splits on these features are followed; at others, a point goes to every child in proportion to the weight
    of the training rows there.

    Parameters
    ----------
    tree : TreeArrays
        A regression tree.
    grid : ndarray of shape (n_points, len(features))
        Values of the features.
    features : sequence of int
        Positions of the features.

    Returns
    -------
    ndarray of shape (n_points,)
        Mean predictions.

    Examples
    --------
    >>> from spinney import DecisionTreeRegressor
    >>> tree = DecisionTreeRegressor().fit([[0.0, 0.0], [1.0, 5.0]], [1.0, 3.0]).tree_
    >>> used = int(tree.feature[0])
    >>> partial_dependence(tree, np.array([[0.0], [9.0]]), [used]).tolist()
    [1.0, 3.0]
    >>> partial_dependence(tree, np.array([[0.0], [9.0]]), [1 - used]).tolist()
    [2.0, 2.0]
    """
    points = np.asarray(grid, dtype=np.float64)
    total, reached = np.zeros(len(points)), np.ones((len(points), 1))
    for depth, (begin, end) in enumerate(tree.levels):
        leaf = tree.is_leaf[begin:end]
        total += reached[:, leaf] @ tree.value[begin:end, 0, 0][leaf]
        if depth + 1 < len(tree.levels):
            first, last = tree.levels[depth + 1]
            shares = _shares(tree, points, features, first, last)
            reached = reached[:, tree.parent[first:last] - begin] * shares
    return total


def _shares(tree: TreeArrays, points: Floats, features: Sequence[int], first: int, last: int) -> Floats:
    """Return the share of each point that passes from the parent to the nodes of a level.

    -> (n_points, n_nodes)
    """
    parent = tree.parent[first:last]
    shares = np.tile(tree.weight[first:last] / tree.weight[parent], (len(points), 1))
    which = np.arange(first, last) - tree.first_child[parent]
    for k, feature in enumerate(features):
        on_feature = np.flatnonzero(tree.feature[parent] == feature)
        splits = parent[on_feature]
        if (tree.kind[splits] != NUMERIC).any():
            raise InputError(
                f"Partial dependence by recursion is for numbers, and feature {feature} has categories",
                fix='Use method="brute".',
            )
        values = points[:, [k]]
        child = np.where(np.isnan(values), tree.missing[splits], values > tree.threshold[splits])
        follows = child == which[on_feature]
        known = child >= 0  # fractional instances send missing values to both children
        shares[:, on_feature] = np.where(known, follows, shares[:, on_feature])
    return np.asarray(shares)
