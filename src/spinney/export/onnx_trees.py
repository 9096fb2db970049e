"""Trees as the attributes of ONNX's operator TreeEnsemble (ai.onnx.ml 5)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.tree_arrays import CATEGORY_SET, LEAF, LINEAR, MULTIWAY, NUMERIC, TreeArrays

LEQ, MEMBER = 0, 6
"""Modes of nodes: the value is at most the split; the value is one of a set."""


@dataclass
class Nodes:
    """Nodes and leaves of one tree, numbered from 0.

    ``true`` and ``false`` are (is leaf, index). ``members`` has the set of each node of the mode MEMBER.
    """

    feature: list[int] = field(default_factory=list)
    split: list[float] = field(default_factory=list)
    mode: list[int] = field(default_factory=list)
    missing_true: list[int] = field(default_factory=list)
    true: list[tuple[int, int]] = field(default_factory=list)
    false: list[tuple[int, int]] = field(default_factory=list)
    members: list[list[float]] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)

    def add(self, feature: int, mode: int, split: float, missing_true: bool) -> int:
        """Append a node, whose children are set later, and return its index."""
        self.feature.append(feature)
        self.mode.append(mode)
        self.split.append(split)
        self.missing_true.append(int(missing_true))
        self.true.append((0, 0))
        self.false.append((0, 0))
        return len(self.feature) - 1

    def add_leaf(self, node: int) -> tuple[int, int]:
        """Append a leaf with the value of a node of the tree."""
        self.leaves.append(node)
        return 1, len(self.leaves) - 1


def convert_tree(tree: TreeArrays, projection_of: dict[int, int]) -> Nodes:
    """Return the nodes of a tree; ``projection_of`` has the column of each oblique split.

    A multiway split is a chain of sets, which ends in a leaf of the node itself; ONNX knows no other.
    """
    out = Nodes()
    pending: list[tuple[int, tuple[int, bool] | None]] = [(0, None)]  # with the (index, side) above it
    while pending:
        node, parent = pending.pop()
        place = out.add_leaf(node) if tree.kind[node] == LEAF else None
        if place is None:
            place = (0, len(out.feature))
            pending += _convert_split(out, tree, node, projection_of)
        if parent is not None:
            index, is_true = parent
            (out.true if is_true else out.false)[index] = place
    if not out.feature:  # a tree of one leaf is a node whose branches are both this leaf
        out.add(0, LEQ, 0.0, True)
        out.true[0] = out.false[0] = (1, 0)
    return out


def _convert_split(
    out: Nodes, tree: TreeArrays, node: int, projection_of: dict[int, int]
) -> list[tuple[int, tuple[int, bool] | None]]:
    """Append the nodes of a split; return its children with the places that lead to them."""
    first, kind, missing = int(tree.first_child[node]), int(tree.kind[node]), int(tree.missing[node])
    feature = int(tree.feature[node])
    if kind == MULTIWAY:
        return _convert_chain(out, tree, node)
    if kind == CATEGORY_SET:
        codes = set_members(tree, node)
        if codes:
            index = out.add(feature, MEMBER, 0.0, missing == 0)
            out.members.append(codes)
        else:
            index = out.add(feature, LEQ, -1.0, missing == 0)  # no code is below 0
    else:
        assert kind in (NUMERIC, LINEAR)
        column = projection_of[node] if kind == LINEAR else feature
        index = out.add(column, LEQ, float(tree.threshold[node]), missing == 0)
    return [(first, (index, True)), (first + 1, (index, False))]


def _convert_chain(out: Nodes, tree: TreeArrays, node: int) -> list[tuple[int, tuple[int, bool] | None]]:
    branches, missing = tree.branches(node), int(tree.missing[node])
    children: list[tuple[int, tuple[int, bool] | None]] = []
    before: int | None = None
    for child in range(int(tree.n_children[node])):
        codes = np.flatnonzero(branches == child).astype(np.float64).tolist()
        index = out.add(int(tree.feature[node]), MEMBER if codes else LEQ, -1.0, missing == child)
        if codes:
            out.members.append(codes)
        if before is not None:
            out.false[before] = (0, index)
        children.append((int(tree.first_child[node]) + child, (index, True)))
        before = index
    assert before is not None
    out.false[before] = out.add_leaf(node)
    return children


def set_members(tree: TreeArrays, node: int) -> list[float]:
    """Return the codes of a category set, as floats."""
    n_codes = 64 * int(tree.set_begin[node + 1] - tree.set_begin[node])
    return np.flatnonzero(tree.goes_first(node, n_codes)).astype(np.float64).tolist()


@dataclass
class Projections:
    """Oblique splits of an ensemble as columns; all arrays (n_positions, n_projections).

    The terms of a projection are added one position after the other, as Spinney does, so that a sum has the
    same bits. Projections with fewer terms have coefficients of 0.
    """

    feature: NDArray[np.int64]
    coefficient: Floats
    fill: Floats

    @property
    def n(self) -> int:
        """Number of projections."""
        return int(self.feature.shape[1])


def collect_projections(ensemble: TreeEnsemble, first: int) -> tuple[Projections, list[dict[int, int]]]:
    """Return the oblique splits of all trees, and for each tree the column of each of them."""
    terms: list[tuple[NDArray[np.int32], Floats, Floats]] = []
    columns: list[dict[int, int]] = []
    for tree in ensemble.trees():
        of_tree: dict[int, int] = {}
        for node in np.flatnonzero(tree.kind == LINEAR).tolist():
            of_tree[node] = first + len(terms)
            part = tree.terms(node)
            terms.append((tree.term_feature[part], tree.term_coefficient[part], tree.term_fill[part]))
        columns.append(of_tree)
    longest = max((len(one[0]) for one in terms), default=0)
    arrays = Projections(
        np.zeros((longest, len(terms)), np.int64), *(np.zeros((longest, len(terms))) for _ in range(2))
    )
    for k, (feature, coefficient, fill) in enumerate(terms):
        arrays.feature[: len(feature), k] = feature
        arrays.coefficient[: len(feature), k] = coefficient
        arrays.fill[: len(feature), k] = fill
    return arrays, columns


class EnsembleAttributes:
    """Collects the attributes of TreeEnsemble, with one copy of a tree for each of its targets."""

    def __init__(self) -> None:
        self.roots: list[int] = []
        self.nodes = Nodes()
        self.weights: list[float] = []
        self.targets: list[int] = []

    def add_constant(self, value: float, target: int) -> None:
        """Add a tree of one leaf."""
        self.add(convert_leaf(), np.array([value]), target)

    def add(self, tree: Nodes, values: Floats, target: int) -> None:
        """Add a tree with the values of its nodes, which are those of one target."""
        mine, n_nodes, n_leaves = self.nodes, len(self.nodes.feature), len(self.weights)
        self.roots.append(n_nodes)
        mine.feature += tree.feature
        mine.split += tree.split
        mine.mode += tree.mode
        mine.missing_true += tree.missing_true
        shift = (n_nodes, n_leaves)
        mine.true += [(leaf, index + shift[leaf]) for leaf, index in tree.true]
        mine.false += [(leaf, index + shift[leaf]) for leaf, index in tree.false]
        mine.members += tree.members
        self.weights += values[tree.leaves].tolist()
        self.targets += [target] * len(tree.leaves)

    def members(self) -> list[float]:
        """Return all sets, each followed by NaN."""
        return [value for codes in self.nodes.members for value in (*codes, float("nan"))]


def convert_leaf() -> Nodes:
    """Return a tree of one leaf, the node 0."""
    out = Nodes(leaves=[0])
    out.add(0, LEQ, 0.0, True)
    out.true[0] = out.false[0] = (1, 0)
    return out


def round_down(values: Floats) -> Floats:
    """Return the largest float32 numbers that are at most the given ones, as float64.

    For a float32 number x, x ≤ t is then the same as x ≤ round_down(t).

    >>> round_down(np.array([0.1, 0.5])) <= np.array([0.1, 0.5])
    array([ True,  True])
    """
    with np.errstate(over="ignore"):
        near = values.astype(np.float32)
    lower = np.where(near.astype(np.float64) > values, np.nextafter(near, np.float32(-np.inf)), near)
    return lower.astype(np.float64)
