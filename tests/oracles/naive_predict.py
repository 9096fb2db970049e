"""The slow, obviously right way to send rows down a tree: the oracle of the compiled one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from spinney.tree.tree_arrays import CATEGORY_SET, LEAF, LINEAR, MULTIWAY, NUMERIC, TreeArrays

Columns = Sequence[NDArray[Any]]
"""One array a feature: float32 or float64 with NaN for missing, or int32 codes with −1 for missing."""

_MISSING, _NO_BRANCH = -1, -2


def decision_path(tree: TreeArrays, columns: Columns) -> csr_array[np.float64, tuple[int, int]]:
    """Return the weight with which each row reaches each node.  -> (n_rows, n_nodes)

    A row that never splits has 1 at every node it visits; a fractional row has its share at each.
    """
    indptr, indices, data = [0], [], []
    for row in range(_n_rows(columns)):
        visits = sorted(_visit(tree, columns, row)[0].items())
        indices += [node for node, _ in visits]
        data += [share for _, share in visits]
        indptr.append(len(indices))
    shape = (len(indptr) - 1, tree.node_count)
    return csr_array(
        (np.array(data, dtype=np.float64), np.array(indices, dtype=np.int64), np.array(indptr)), shape=shape
    )


def apply(tree: TreeArrays, columns: Columns) -> NDArray[np.int64]:
    """Return the node that answers for each row; of several the heaviest, if tied the first.  -> (n_rows,)"""
    answers = [_visit(tree, columns, row)[1] for row in range(_n_rows(columns))]
    return np.array([max(sorted(ends), key=ends.__getitem__) for ends in answers], dtype=np.int64)


def predict_value(tree: TreeArrays, columns: Columns) -> NDArray[np.float64]:
    """Return the value of the node where each row ends, or the weighted sum over several.

    -> (n_rows, n_outputs, width)
    """
    n_rows = _n_rows(columns)
    out = np.zeros((n_rows, *tree.value.shape[1:]))
    for row in range(n_rows):
        for node, share in sorted(_visit(tree, columns, row)[1].items()):
            out[row] += share * tree.value[node]
    return out


def _n_rows(columns: Columns) -> int:
    return len(columns[0]) if len(columns) else 0


def _visit(tree: TreeArrays, columns: Columns, row: int) -> tuple[dict[int, float], dict[int, float]]:
    """Send one row down: the share with which it reaches each node, and that with which it ends at each."""
    reached: dict[int, float] = {}
    ended: dict[int, float] = {}
    waiting = [(0, 1.0)]
    while waiting:
        node, share = waiting.pop()
        reached[node] = share
        chosen = _chosen_child(tree, columns, row, node)
        if chosen == _NO_BRANCH:
            ended[node] = share
        elif chosen != _MISSING:
            waiting.append((tree.children(node)[chosen], share))
        elif tree.missing[node] >= 0:
            waiting.append((tree.children(node)[int(tree.missing[node])], share))
        else:
            waiting += [(child, share * _share(tree, node, child)) for child in tree.children(node)]
    return reached, ended


def _share(tree: TreeArrays, node: int, child: int) -> float:
    """Return the part of a fractional row that a child takes; equal parts where the node has no weight."""
    if tree.weight[node] > 0:
        return float(tree.weight[child] / tree.weight[node])
    return 1.0 / int(tree.n_children[node])


def _chosen_child(tree: TreeArrays, columns: Columns, row: int, node: int) -> int:
    """The child (0-based) the test picks, _MISSING if it cannot tell, _NO_BRANCH if the node answers."""
    kind = tree.kind[node]
    if kind == LEAF:
        return _NO_BRANCH
    if kind == LINEAR:
        return 0 if _linear_sum(tree, columns, row, node) <= tree.threshold[node] else 1
    raw = columns[int(tree.feature[node])][row]
    if kind == NUMERIC:
        value = float(raw)
        if math.isnan(value):
            return _MISSING
        return 0 if value <= tree.threshold[node] else 1
    code = int(raw)
    if code < 0:
        return _MISSING
    if kind == CATEGORY_SET:
        return 0 if tree.goes_first(node, code + 1)[code] else 1
    assert kind == MULTIWAY
    branches = tree.branches(node)
    return int(branches[code]) if code < len(branches) and branches[code] >= 0 else _NO_BRANCH


def _linear_sum(tree: TreeArrays, columns: Columns, row: int, node: int) -> float:
    total = 0.0
    terms = tree.terms(node)
    for feature, coefficient, fill in zip(
        tree.term_feature[terms].tolist(),
        tree.term_coefficient[terms].tolist(),
        tree.term_fill[terms].tolist(),
        strict=True,
    ):
        value = float(columns[feature][row])
        total += coefficient * (fill if math.isnan(value) else value)
    return total
