"""Pruning of estimators: losses on validation rows, and α of cost-complexity pruning by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.data.schema import Table
from spinney.data.training_set import Task
from spinney.tree import pruning
from spinney.tree.predictor import Predictor
from spinney.tree.tree_arrays import TreeArrays


@dataclass(frozen=True)
class ValidationRows:
    """Rows that a tree is pruned by.

    Attributes
    ----------
    table : Table
        The features.
    y : ndarray of shape (n_rows, n_outputs)
        Class codes or values.
    weights : ndarray of shape (n_rows,)
        Row weights; rows of weight 0 do not count.
    """

    table: Table
    y: NDArray[Any]
    weights: Floats


def losses(tree: TreeArrays, validation: ValidationRows, task: Task, n_threads: int) -> tuple[Floats, Floats]:
    """Return each node's loss as a leaf, and that of the rows it has no branch for.  -> two (n_nodes,)"""
    reach = Predictor(tree).decision_path(validation.table, n_threads)
    as_leaf = pruning.leaf_losses(tree, reach, validation.y, validation.weights, task)
    stays = pruning.staying(tree, reach)
    return as_leaf, pruning.leaf_losses(tree, stays, validation.y, validation.weights, task)


def cross_validated_alpha(
    tree: TreeArrays,
    regrow: Callable[[Floats], TreeArrays],
    everything: ValidationRows,
    fold: NDArray[np.int64],
    task: Task,
    one_se: bool,
    n_threads: int,
) -> float:
    """Choose the α of cost-complexity pruning by cross-validation.

    regrow(weights) grows a tree with other row weights; fold (n_rows,) is the fold that holds out a row.
    """
    alphas = np.unique(pruning.cost_complexity_path(tree)[0])
    # Any α between two steps of the path gives the same tree: folds are scored at the geometric middle.
    middles = np.append(np.sqrt(alphas[:-1] * alphas[1:]), alphas[-1])
    scores = []
    for k in range(int(fold.max()) + 1):
        inside = np.where(fold == k, everything.weights, 0.0)
        outside = np.where(fold == k, 0.0, everything.weights)
        if not inside.any() or not outside.any():
            continue
        grown = regrow(outside)
        held_out = ValidationRows(everything.table, everything.y, inside)
        scores.append(
            -_losses_along_path(grown, *losses(grown, held_out, task, n_threads), middles) / inside.sum()
        )
    if not scores:
        return 0.0
    return pruning.choose_alpha(alphas, np.array(scores), one_se)


def _losses_along_path(
    tree: TreeArrays,
    as_leaf: Floats,
    staying: Floats,
    alphas: Floats,
) -> Floats:
    """Return the loss of the tree pruned at each α, by one walk over the path.  -> (n_alphas,)"""
    below = np.where(tree.is_leaf, as_leaf, staying).tolist()  # loss of the subtree as pruned so far
    parent = tree.parent.tolist()
    for node in range(tree.node_count - 1, 0, -1):
        below[parent[node]] += below[node]
    totals, pruned_at = [below[0]], []
    for alpha, pruned, _ in pruning.weakest_links(tree):
        change, node = float(as_leaf[pruned]) - below[pruned], pruned
        while node >= 0:
            below[node] += change
            node = parent[node]
        totals.append(below[0])
        pruned_at.append(alpha)
    return np.array(totals)[np.searchsorted(pruned_at, alphas, side="right")]


def follow(tree: TreeArrays, pruned: TreeArrays) -> NDArray[np.int32]:
    """Return each node's number in the pruned tree, −1 if it was pruned.  -> (n_nodes,)"""
    old = np.zeros(pruned.node_count, dtype=np.int64)
    for node in np.flatnonzero(pruned.n_children).tolist():
        old[list(pruned.children(node))] = list(tree.children(int(old[node])))
    new = np.full(tree.node_count, -1, dtype=np.int32)
    new[old] = np.arange(pruned.node_count)
    return new
