"""Pruning of estimators: losses on validation rows, α by cross-validation, the ledger of decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.ledger import Ledger
from spinney.data.schema import Table
from spinney.data.training_set import Task
from spinney.io import Persistent
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


# ---- what was decided ----


class Decisions(NamedTuple):
    """What a pruning method decided at the nodes of a tree, arrays of shape (n_nodes,)."""

    tree: TreeArrays
    pruned: NDArray[np.bool_]
    leaf_loss: Floats
    subtree_loss: Floats
    alpha: Floats | None = None


def complexity_decisions(tree: TreeArrays, alpha: float) -> Decisions:
    """Return the decisions of cost-complexity pruning: impurities, and the α at which a node is pruned."""
    risk, at = pruning.node_risk(tree), np.full(tree.node_count, np.nan)
    for link_alpha, node, _ in pruning.weakest_links(tree):
        at[node] = link_alpha
    below = np.where(tree.is_leaf, risk, 0.0)
    for node in range(tree.node_count - 1, 0, -1):
        below[tree.parent[node]] += below[node]
    return Decisions(tree, at <= alpha, risk, below, at)


@dataclass(frozen=True, eq=False, repr=False)
class PruningLedger(Ledger, Persistent):
    """What pruning decided at every inner node of the grown tree, one row per node and method.

    Attributes
    ----------
    node : ndarray of shape (n_decisions,), int32
        Number of the node in the tree before pruning.
    depth : ndarray of shape (n_decisions,), int32
        Depth of the node.
    n_samples : ndarray of shape (n_decisions,), int64
        Number of training rows in the node.
    leaf_loss : ndarray of shape (n_decisions,), float64
        Loss of the node as a leaf: on the validation rows (reduced-error and pre-pruning), expected errors
        (pessimistic), or impurity times share of the weight (cost-complexity).
    subtree_loss : ndarray of shape (n_decisions,), float64
        The same of the subtree below it, pruned already; of the children as leaves in pre-pruning.
    alpha : ndarray of shape (n_decisions,), float64
        The α at which cost-complexity pruning makes the node a leaf; NaN for other methods, and for nodes
        that are removed together with an ancestor.
    pruned : ndarray of shape (n_decisions,), bool
        Whether the node became a leaf.
    fitted_node : ndarray of shape (n_decisions,), int32
        Number of the node in the fitted tree, −1 if an ancestor became a leaf.

    Examples
    --------
    >>> from spinney import C45Classifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], ["a", "b", "a", "b", "b", "b"]
    >>> C45Classifier(ledger=True).fit(X, y).pruning_ledger_.to_records()[0]["pruned"]
    True
    """

    optional_columns = ("alpha",)
    row_name = "decisions"

    node: NDArray[np.int32]
    depth: NDArray[np.int32]
    n_samples: NDArray[np.int64]
    leaf_loss: Floats
    subtree_loss: Floats
    alpha: Floats
    pruned: NDArray[np.bool_]
    fitted_node: NDArray[np.int32]

    def __post_init__(self) -> None:
        self.check_columns()

    @classmethod
    def from_decisions(cls, steps: Sequence[Decisions], fitted: TreeArrays) -> PruningLedger:
        """Build the ledger of methods that were applied one after the other; the first to the grown tree."""
        grown = steps[0].tree
        columns: dict[str, list[Any]] = {name: [] for name in cls.column_types}
        new_number = follow(grown, fitted)
        for step in steps:
            inner = np.flatnonzero(~step.tree.is_leaf)
            node = np.argsort(follow(grown, step.tree), kind="stable")[-step.tree.node_count :][inner]
            alpha = np.full(len(inner), np.nan) if step.alpha is None else step.alpha[inner]
            rows = (
                node.astype(np.int32),
                step.tree.depth[inner],
                step.tree.n_samples[inner],
                step.leaf_loss[inner],
                step.subtree_loss[inner],
                alpha,
                step.pruned[inner],
                new_number[node],
            )
            for name, row in zip(columns, rows, strict=True):
                columns[name].append(row)
        return cls(
            **{name: np.concatenate(parts).astype(cls.column_types[name]) for name, parts in columns.items()}
        )


def follow(tree: TreeArrays, pruned: TreeArrays) -> NDArray[np.int32]:
    """Return each node's number in the pruned tree, −1 if it was pruned.  -> (n_nodes,)"""
    old = np.zeros(pruned.node_count, dtype=np.int64)
    for node in np.flatnonzero(pruned.n_children).tolist():
        old[list(pruned.children(node))] = list(tree.children(int(old[node])))
    new = np.full(tree.node_count, -1, dtype=np.int32)
    new[old] = np.arange(pruned.node_count)
    return new
