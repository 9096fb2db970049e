"""Partial dependence by weighted tree traversal (Friedman 2001), without a pass over the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.data.schema import Column, Schema
from spinney.tree.tree_arrays import CATEGORY_SET, NUMERIC, TreeArrays
from spinney.tree.tree_sum import TreeSum


def partial_dependence(total: TreeSum, grid: NDArray[Any], features: Sequence[int]) -> Floats:
    """Return the mean output at each point of a grid of some features, without the constant of the sum.

    Splits on these features are followed; at others, a point goes to every child in proportion to the weight
    of the training rows there.

    Parameters
    ----------
    total : TreeSum
        The model.
    grid : ndarray of shape (n_points, len(features))
        Numbers or categories of the features.
    features : sequence of int
        Positions of the features.

    Returns
    -------
    ndarray of shape (n_outputs, n_points)
        Mean outputs.

    Examples
    --------
    >>> from spinney import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor(max_depth=1).fit([[0.0, "a"], [1.0, "a"]], [1.0, 3.0])
    >>> partial_dependence(model.tree_sum(), np.array([[0.0], [9.0]]), [0]).tolist()
    [[1.0, 3.0]]
    >>> partial_dependence(model.tree_sum(), np.array([["a"]]), [1]).tolist()
    [[2.0]]
    """
    total.check_axis_parallel("Partial dependences")
    table = total.read(_rows(total.schema, np.asarray(grid), features))
    columns = {int(j): table.column(int(j)) for j in np.flatnonzero(np.isin(total.owner, features))}
    per_round = total.outputs_per_round
    sums = np.zeros((per_round or total.trees.n_outputs * total.trees.width, table.n_rows))
    for t, tree in enumerate(total.trees.trees()):
        row = slice(None) if per_round is None else [t % per_round]
        sums[row] += _mean_values(tree, columns, table.n_rows)
    return np.asarray(sums[total.columns] * total.scale)


def _rows(schema: Schema, grid: NDArray[Any], features: Sequence[int]) -> Any:
    """Return rows with the points of a grid; the values of other features are missing."""
    columns: list[Any] = [
        np.full(len(grid), None if feature.kind == "categorical" else np.nan) for feature in schema.features
    ]
    for k, j in enumerate(features):
        columns[j] = grid[:, k]
    if schema.has_names:
        return dict(zip(schema.names, columns, strict=True))
    rows = np.empty((len(grid), len(columns)), dtype=object if schema.categorical.any() else np.float64)
    for j, column in enumerate(columns):
        rows[:, j] = column
    return rows


def _mean_values(tree: TreeArrays, columns: dict[int, Column], n_points: int) -> Floats:
    """Return the mean values of one tree at each point.  -> (n_outputs * width, n_points)"""
    total, reached = np.zeros((tree.value[0].size, n_points)), np.ones((n_points, 1))
    for depth, (begin, end) in enumerate(tree.levels):
        leaf = tree.is_leaf[begin:end]
        total += (reached[:, leaf] @ tree.value[begin:end][leaf].reshape(-1, len(total))).T
        if depth + 1 < len(tree.levels):
            first, last = tree.levels[depth + 1]
            shares = _shares(tree, columns, n_points, first, last)
            reached = reached[:, tree.parent[first:last] - begin] * shares
    return total


def _shares(tree: TreeArrays, columns: dict[int, Column], n_points: int, first: int, last: int) -> Floats:
    """Return the share of each point that passes from the parent to the nodes of a level.

    -> (n_points, n_nodes)
    """
    parent = tree.parent[first:last]
    shares = np.tile(tree.weight[first:last] / tree.weight[parent], (n_points, 1))
    which = np.arange(first, last) - tree.first_child[parent]
    for j, column in columns.items():
        for k in np.flatnonzero(tree.feature[parent] == j):
            child = _child(tree, int(parent[k]), column)
            # Fractional instances send missing values to every child.
            shares[:, k] = np.where(child >= 0, child == which[k], shares[:, k])
    return np.asarray(shares)


def _child(tree: TreeArrays, node: int, column: Column) -> NDArray[np.int64]:
    """Return the child of a node that each value of its feature goes to, −1 for every child."""
    missing = int(tree.missing[node])
    if tree.kind[node] == NUMERIC:
        return np.where(np.isnan(column), missing, column > tree.threshold[node])
    is_set = tree.kind[node] == CATEGORY_SET
    n_categories = int(column.max(initial=-1)) + 1
    child = ~tree.goes_first(node, n_categories) if is_set else tree.branches(node)
    # The last entry is for missing values, whose code is −1.
    return np.append(child, missing)[column]
