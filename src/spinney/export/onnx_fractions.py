"""Trees that divide rows with missing values, as ONNX operators on the shares of all nodes of a level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.export.onnx_trees import set_members
from spinney.tree.tree_arrays import CATEGORY_SET, MULTIWAY, NUMERIC, TreeArrays

_INT64 = 7


class GraphBuilder(Protocol):
    """What adds nodes and constants to a graph."""

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Append a node and return the name of its output."""

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Return the name of a constant array."""


@dataclass
class Edge:
    """A way from a node to a child, or to the leaf that a multiway split is for categories without a branch.

    ``place`` is the node whose value a leaf has, ``parent`` the position of the node in the level above.
    """

    place: int
    parent: int
    feature: int
    when_missing: float
    threshold: float
    is_upper: bool
    codes: list[int] | None
    is_leaf: bool


def tree_levels(tree: TreeArrays) -> list[list[Edge]]:
    """Return the edges of a tree by level, the root excluded."""
    levels: list[list[Edge]] = []
    nodes = [0] if tree.n_children[0] else []
    while nodes:
        edges = [edge for parent, node in enumerate(nodes) for edge in _edges(tree, node, parent)]
        # Leaves among the parents of a level have no edges, so positions count inner nodes only.
        levels.append(edges)
        nodes = [edge.place for edge in edges if not edge.is_leaf]
    return levels


def _edges(tree: TreeArrays, node: int, parent: int) -> list[Edge]:
    kind, missing, feature = int(tree.kind[node]), int(tree.missing[node]), int(tree.feature[node])
    assert kind in (NUMERIC, CATEGORY_SET, MULTIWAY)
    weight, n_children = float(tree.weight[node]), int(tree.n_children[node])
    edges = []
    for c, child in enumerate(tree.children(node)):
        share = float(tree.weight[child]) / weight if weight > 0 else 1.0 / n_children
        when_missing = share if missing < 0 else float(c == missing)
        codes = None if kind == NUMERIC else _codes(tree, node, c)
        threshold = float(tree.threshold[node]) if kind == NUMERIC else np.nan
        is_leaf = not tree.n_children[child]
        edges.append(Edge(child, parent, feature, when_missing, threshold, c == 1, codes, is_leaf))
    if kind == MULTIWAY:
        others = [code for code, branch in enumerate(tree.branches(node).tolist()) if branch < 0]
        edges.append(Edge(node, parent, feature, 0.0, np.nan, False, others, True))
    return edges


def _codes(tree: TreeArrays, node: int, child: int) -> list[int]:
    """Return the codes that go to a child; −1 stands for all codes that the others do not have."""
    if tree.kind[node] == MULTIWAY:
        return np.flatnonzero(tree.branches(node) == child).tolist()
    members = [int(code) for code in set_members(tree, node)]
    return members if child == 0 else [-1, *members]


def add_fractional_tree(graph: GraphBuilder, columns: str, tree: TreeArrays, n_codes: int) -> str:
    """Add the nodes of a tree to a graph; return the values of the rows.  -> (n_rows, n_values)

    A row has a share in every node: all of its parent's in the child that its value goes to, and the part of
    each child if the value is missing. The prediction is the sum over leaves of share times value.
    ``n_codes`` is the largest number of categories of a feature.
    """
    values = tree.value.reshape(tree.node_count, -1)
    levels = tree_levels(tree)
    one = graph.add("Gather", columns, graph.constant([0], np.int64), axis=1)
    share = graph.add("Where", graph.add("IsNaN", one), graph.constant(1.0), graph.constant(1.0))
    if not levels:
        return graph.add("Mul", share, graph.constant(values))
    total = ""
    for edges in levels:
        taken = graph.add("Mul", _parents(graph, share, edges), _taken(graph, columns, edges, n_codes))
        leaves = [k for k, edge in enumerate(edges) if edge.is_leaf]
        inner = [k for k, edge in enumerate(edges) if not edge.is_leaf]
        if leaves:
            ended = graph.add("Gather", taken, graph.constant(leaves, np.int64), axis=1)
            added = graph.add("MatMul", ended, graph.constant(values[[edges[k].place for k in leaves]]))
            total = graph.add("Add", total, added) if total else added
        if inner:
            share = graph.add("Gather", taken, graph.constant(inner, np.int64), axis=1)
    return total


def _parents(graph: GraphBuilder, share: str, edges: list[Edge]) -> str:
    return graph.add("Gather", share, graph.constant([edge.parent for edge in edges], np.int64), axis=1)


def _taken(graph: GraphBuilder, columns: str, edges: list[Edge], n_codes: int) -> str:
    """Return the part of its parent's share that each edge takes.  -> (n_rows, n_edges)"""
    features = np.array([edge.feature for edge in edges])
    found = graph.add("Gather", columns, graph.constant(features, np.int64), axis=1)
    missing = graph.add("IsNaN", found)
    thresholds: Floats = np.array([edge.threshold for edge in edges])
    is_upper = np.array([edge.is_upper for edge in edges])
    # Comparisons with NaN are false, for thresholds of other kinds of splits as well.
    limits = graph.constant(thresholds)
    one, zero = graph.constant(1.0), graph.constant(0.0)
    lower = graph.add("Where", graph.add("LessOrEqual", found, limits), one, zero)
    upper = graph.add("Where", graph.add("Greater", found, limits), one, zero)
    goes = graph.add("Where", graph.constant(is_upper, np.bool_), upper, lower)
    if any(edge.codes is not None for edge in edges):
        width = n_codes + 1
        known = graph.add("Where", missing, zero, found)
        inside = graph.add("Clip", known, zero, graph.constant(float(n_codes)))
        codes = graph.add("Cast", inside, to=_INT64)
        index = graph.add("Add", codes, graph.constant(np.arange(len(edges)) * width, np.int64))
        member = graph.add("Gather", graph.constant(_membership(edges, width).ravel()), index)
        goes = graph.add("Where", graph.constant(np.isnan(thresholds), np.bool_), member, goes)
    when_missing = graph.constant([edge.when_missing for edge in edges])
    return graph.add("Where", missing, when_missing, goes)


def _membership(edges: list[Edge], width: int) -> NDArray[np.bool_]:
    """Return which codes each edge takes.  -> (n_edges, width)"""
    table = np.zeros((len(edges), width), np.bool_)
    for row, edge in zip(table, edges, strict=True):
        if edge.codes and edge.codes[0] == -1:
            row[:] = True
            row[[code for code in edge.codes[1:] if code < width]] = False
        elif edge.codes:
            row[[code for code in edge.codes if code < width]] = True
    return table
