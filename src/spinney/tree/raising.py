"""Subtree raising: the part of C4.5's pessimistic pruning that replaces a node by its largest branch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.data.schema import Table
from spinney.tree.pruning import MIN_SAVING, ROUNDING, pessimistic_errors, upper_error_rate
from spinney.tree.tree_arrays import CATEGORY_SET, NUMERIC, TreeArrays

Rows = NDArray[np.intp]

# What the test of a node says about a row, beside the number of a child.
_MISSING, _NO_BRANCH = -1, -2


@dataclass(eq=False)
class _Node:
    """A node that may move: its number in the grown tree, and the rows that reach it with their weights."""

    origin: int
    rows: Rows
    weights: Floats
    children: list[_Node]
    as_leaf: float
    errors: float = 0.0
    staying: float = 0.0
    moved: bool = False


def raise_subtrees(
    tree: TreeArrays,
    table: Table,
    y: NDArray[np.int64],
    weights: Floats,
    confidence: float,
    row_weight: float,
) -> TreeArrays:
    """Prune bottom-up by pessimistic errors: to a leaf, or to the largest branch in place of its parent.

    y (n_rows, n_outputs): class codes; weights (n_rows,). A branch is judged, and refitted, on all rows of
    the node that it replaces; then it is pruned again (Quinlan, 1993, chapter 4). Categories for which the
    branch has no child count as a leaf of their own.

    >>> raise_subtrees(model.tree_, table, y, weights, 0.25, 1.0).n_leaves  # doctest: +SKIP
    """
    return _Raising(tree, table, y, weights, confidence, row_weight).run()


class _Raising:
    """The pruning of one tree on its training rows."""

    def __init__(
        self,
        tree: TreeArrays,
        table: Table,
        y: NDArray[np.integer[Any]],
        weights: Floats,
        confidence: float,
        row_weight: float,
    ) -> None:
        self.tree, self.table, self.y = tree, table, y
        self.weights, self.confidence, self.row_weight = weights, confidence, row_weight

    def run(self) -> TreeArrays:
        root = self._read()
        pending = _preorder(root)  # from its end: children before their parent
        while pending:
            node = pending.pop()
            if self._raises_branch(node):
                pending += _preorder(node)
        return self._assemble(root)

    def _read(self) -> _Node:
        """Return the grown tree as nodes with their rows."""
        estimate = pessimistic_errors(self.tree, self.confidence, self.row_weight)
        rows = np.flatnonzero(self.weights > 0)
        root = _Node(0, rows, self.weights[rows], [], float(estimate[0]))
        pending = [root]
        while pending:
            node = pending.pop()
            parts = self._split(node.origin, node.rows, node.weights)[0]
            for child, part in zip(self.tree.children(node.origin), parts, strict=True):
                node.children.append(_Node(child, *part, [], float(estimate[child])))
            pending += node.children
        return root

    def _raises_branch(self, node: _Node) -> bool:
        """Prune one node whose children are pruned; return whether a branch took its place."""
        node.errors = node.as_leaf
        if not node.children:
            return False
        below = sum(child.errors for child in node.children) + node.staying
        largest = max(node.children, key=lambda child: float(child.weights.sum()))
        raised = self._subtree_errors(largest, node.rows, node.weights)
        slack = MIN_SAVING + ROUNDING * abs(node.as_leaf)
        if node.as_leaf <= min(below, raised) + slack:
            node.children = []
            return False
        if raised > below + slack:
            node.errors = below
            return False
        node.origin, node.children = largest.origin, largest.children
        self._refit(node)
        return True

    def _subtree_errors(self, node: _Node, rows: Rows, weights: Floats) -> float:
        """Return the pessimistic errors of a subtree on other rows."""
        ends: list[tuple[Rows, Floats]] = []
        pending = [(node, rows, weights)]
        while pending:
            one, rows, weights = pending.pop()
            if not one.children:
                ends.append((rows, weights))
                continue
            parts, staying = self._split(one.origin, rows, weights)
            pending += [(child, *part) for child, part in zip(one.children, parts, strict=True)]
            if len(staying[0]):
                ends.append(staying)
        return float(self._errors([self._counts(*end) for end in ends]).sum())

    def _refit(self, node: _Node) -> None:
        """Pass the rows of a node down the subtree that now stands there."""
        pending = [node]
        while pending:
            one = pending.pop()
            one.moved = True
            one.as_leaf = float(self._errors([self._counts(one.rows, one.weights)])[0])
            if not one.children:
                continue
            parts, staying = self._split(one.origin, one.rows, one.weights)
            one.staying = float(self._errors([self._counts(*staying)])[0])
            for child, part in zip(one.children, parts, strict=True):
                child.rows, child.weights = part
            pending += one.children

    # ---- rows ----

    def _split(
        self, origin: int, rows: Rows, weights: Floats
    ) -> tuple[list[tuple[Rows, Floats]], tuple[Rows, Floats]]:
        """Return the rows and weights of each child, and of the rows without one."""
        n_children = int(self.tree.n_children[origin])
        if n_children == 0:
            return [], (rows[:0], weights[:0])
        child = self._child_of(origin, rows)
        known = np.bincount(child[child >= 0], weights=weights[child >= 0], minlength=n_children)
        total = float(known.sum())
        if total <= 0:
            child = np.full(len(rows), _NO_BRANCH)
        share = known / total if total > 0 else known
        parts = []
        for k in range(n_children):
            here = (child == k) | ((child == _MISSING) & bool(share[k] > 0))
            part = weights[here] * np.where(child[here] == k, 1.0, share[k])
            parts.append((rows[here], part))
        stays = child == _NO_BRANCH
        return parts, (rows[stays], weights[stays])

    def _child_of(self, origin: int, rows: Rows) -> NDArray[np.intp]:
        """Return the child of each row by the test of a node.  -> (n_rows,)"""
        tree, feature = self.tree, int(self.tree.feature[origin])
        values = self.table.column(feature)[rows]
        if tree.kind[origin] == NUMERIC:
            numbers = values.astype(np.float64)
            return np.where(np.isnan(numbers), _MISSING, numbers > tree.threshold[origin]).astype(np.intp)
        n_categories = len(self.table.schema.features[feature].categories)
        if tree.kind[origin] == CATEGORY_SET:
            child = np.where(tree.goes_first(origin, n_categories), 0, 1)
        else:
            child = np.full(n_categories, _NO_BRANCH)
            branches = tree.branches(origin)[:n_categories]
            child[: len(branches)] = np.where(branches < 0, _NO_BRANCH, branches)
        # The last entry is that of code −1.
        return np.append(child, _MISSING)[values].astype(np.intp)

    def _counts(self, rows: Rows, weights: Floats) -> Floats:
        """Return the weight of each class.  -> (n_outputs, width)"""
        width = self.tree.value.shape[2]
        targets = self.y[rows].T
        return np.array([np.bincount(codes, weights=weights, minlength=width) for codes in targets])

    def _errors(self, counts: list[Floats]) -> Floats:
        """Return the pessimistic errors of leaves with these class weights.  -> (n_leaves,)"""
        weights = np.array(counts) / self.row_weight
        total = weights.sum(axis=2)
        wrong = total - weights.max(axis=2)
        errors: Floats = (total * upper_error_rate(wrong, total, self.confidence)).sum(axis=1)
        return errors

    # ---- the result ----

    def _assemble(self, root: _Node) -> TreeArrays:
        """Return the nodes as arrays; those of moved nodes describe the rows that reach them now."""
        nodes = [root]
        for node in nodes:  # grows as it is read: breadth first
            nodes += node.children
        leaf = np.array([not node.children for node in nodes])
        tree = self.tree.select(np.array([node.origin for node in nodes]), leaf)
        value, weight = tree.value.copy(), tree.weight.copy()
        n_samples, impurity = tree.n_samples.copy(), tree.impurity.copy()
        for i, node in enumerate(nodes):
            if not node.moved:
                continue
            counts = self._counts(node.rows, node.weights)
            weight[i], n_samples[i] = node.weights.sum(), len(node.rows)
            value[i] = counts / weight[i]
            logs = np.log2(value[i], where=value[i] > 0, out=np.zeros_like(value[i]))
            impurity[i] = -(value[i] * logs).sum() / len(counts)
        return replace(tree, value=value, weight=weight, n_samples=n_samples, impurity=impurity)


def _preorder(root: _Node) -> list[_Node]:
    """Return a node and all below it, parents before children."""
    nodes = [root]
    for node in nodes:
        nodes += node.children
    return nodes
