"""Stumps of the core as trees."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.native import core
from spinney.tree.tree_arrays import LEAF, TreeArrays


def stump_trees(found: core.Stumps, n_features: int, weight: float, criterion: str) -> list[TreeArrays]:
    """Return stumps as trees; ``weight`` is the total weight of the rows.

    The trees are slices of arrays of all stumps, because making arrays takes longer than finding a stump.
    """
    kind = found.kind.reshape(-1, 3)
    n_stumps = len(kind)
    value = found.value.reshape(n_stumps, 3, 1, -1)
    sums = found.sums.reshape(n_stumps, 3, -1)
    proportions, leaf = value[:, :, 0], kind == LEAF
    kept = np.square(proportions).sum(axis=2) if criterion == "gini" else proportions.max(axis=2)
    of_nodes = {
        "kind": kind,
        "feature": np.where(leaf, np.int32(-2), found.feature.reshape(-1, 3)),
        "threshold": np.where(leaf, -2.0, found.threshold.reshape(-1, 3)),
        "missing": found.missing.reshape(-1, 3),
        "value": value,
        "weight": sums.sum(axis=2) * (weight / found.total)[:, None],
        "n_samples": found.n_samples.reshape(-1, 3),
        "impurity": np.maximum(1.0 - kept, 0.0),
        "is_leaf": leaf,
    }
    for array in (*of_nodes.values(), set_bits := found.set_bits):
        array.setflags(write=False)
    set_begin, trees = found.set_begin.tolist(), []
    for t, is_leaf in enumerate(leaf[:, 0].tolist()):
        begin, end, n = set_begin[t], set_begin[t + 1], 1 if is_leaf else 3
        arrays = {name: array[t, :n] for name, array in of_nodes.items()}
        arrays |= _same_in_all_stumps(n, end - begin)
        trees.append(TreeArrays.from_frozen(arrays | {"set_bits": set_bits[begin:end]}, n_features))
    return trees


@cache
def _same_in_all_stumps(n: int, n_words: int) -> dict[str, NDArray[Any]]:
    """Return the arrays that all stumps of n nodes and as many words of a category set share."""
    none, no_number, flat = np.empty(0, np.int32), np.empty(0, np.float64), np.zeros(n + 1, np.int64)
    shared: dict[str, NDArray[Any]] = {
        "first_child": np.array([1, -1, -1] if n > 1 else [-1], np.int32),
        "n_children": np.array([2, 0, 0] if n > 1 else [0], np.int32),
        "set_begin": np.array([0] + [n_words] * n, np.int64),
        "branch_begin": flat,
        "branch": none,
        "term_begin": flat,
        "term_feature": none,
        "term_coefficient": no_number,
        "term_fill": no_number,
    }
    for array in shared.values():
        array.setflags(write=False)
    return shared
