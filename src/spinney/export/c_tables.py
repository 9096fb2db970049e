"""Tables of trees and text as C source, and the functions over them that do not depend on a model."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.tree_arrays import CATEGORY_SET, LINEAR, MULTIWAY, TreeArrays

_PER_LINE = 8
_PLAIN = re.compile(rb"[A-Za-z0-9 _.,=<>+-]")

STRUCT = """typedef struct {
    const int *root;              /* first node of each tree, and the end */
    const unsigned char *kind;    /* 0 leaf, 1 number, 2 set of categories, 3 branch per category, 4 sum */
    const int *feature;
    const double *threshold;
    const int *first_child;
    const int *n_children;
    const int *missing;           /* child of missing values, -1: all children by their share */
    const int *begin;             /* of the set, the branches or the terms of a node */
    const int *length;
    const uint64_t *set;
    const int *branch;
    const int *term_feature;
    const double *term_coefficient;
    const double *term_fill;
    const double *share;
    const double *value;
    int n_values;
} trees;
"""

CHOOSE = """/* The child that a row goes to, from 0; -1 if its value is missing, -2 if it ends here. */
static int choose_child(const trees *t, int node, const double *x) {
    uint64_t code;
    int length;
    double value;
    if (t->kind[node] == 0) return -2;
    if (t->kind[node] == 4) {
        double sum = 0.0;
        int i;
        for (i = t->begin[node]; i < t->begin[node] + t->length[node]; i++) {
            double term = x[t->term_feature[i]];
            sum += t->term_coefficient[i] * (term == term ? term : t->term_fill[i]);
        }
        return sum <= t->threshold[node] ? 0 : 1;
    }
    value = x[t->feature[node]];
    if (value != value) return -1;
    if (t->kind[node] == 1) return value <= t->threshold[node] ? 0 : 1;
    if (value < 0.0) return -1;
    code = value < 4294967296.0 ? (uint64_t)value : UINT64_MAX;
    length = t->length[node];
    if (t->kind[node] == 2) {
        if (code / 64 >= (uint64_t)length) return 1;
        return t->set[(uint64_t)t->begin[node] + code / 64] >> code % 64 & 1 ? 0 : 1;
    }
    if (code >= (uint64_t)length || t->branch[(uint64_t)t->begin[node] + code] < 0) return -2;
    return t->branch[(uint64_t)t->begin[node] + code];
}

/* The node in which a row ends, -1 if it is divided among several. */
static int find_leaf(const trees *t, int tree, const double *x) {
    int node = t->root[tree];
    for (;;) {
        int child = choose_child(t, node, x);
        if (child == -2) return node;
        if (child == -1) child = t->missing[node];
        if (child < 0) return -1;
        node = t->first_child[node] + child;
    }
}
"""

MIX = """/* Add up the values of a row that missing values divide: nodes pass their share on to children. */
static void mix_values(const trees *t, int tree, const double *x, double *out) {
    double part[MAX_NODES];
    int root = t->root[tree], n = t->root[tree + 1] - root, i, k;
    for (i = 0; i < n; i++) part[i] = 0.0;
    for (k = 0; k < t->n_values; k++) out[k] = 0.0;
    part[0] = 1.0;
    for (i = 0; i < n; i++) {
        int node = root + i, child, c;
        if (part[i] == 0.0) continue;
        child = choose_child(t, node, x);
        if (child == -2) {
            for (k = 0; k < t->n_values; k++) out[k] += part[i] * t->value[(long)node * t->n_values + k];
            continue;
        }
        if (child == -1) child = t->missing[node];
        if (child >= 0) {
            part[t->first_child[node] - root + child] = part[i];
            continue;
        }
        for (c = t->first_child[node]; c < t->first_child[node] + t->n_children[node]; c++)
            part[c - root] = part[i] * t->share[c];
    }
}
"""


def number(value: float) -> str:
    """Return a float as a hexadecimal constant of C99, which keeps every bit.

    >>> number(0.1), number(float("inf"))
    ('0x1.999999999999ap-4', 'INFINITY')
    """
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return float(value).hex()


def string(text: str | bytes) -> str:
    """Return text as a string constant in which only harmless characters stand for themselves.

    >>> string('*/"\\n')
    '"\\\\052\\\\057\\\\042\\\\012"'
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    parts = (chr(byte) if _PLAIN.match(bytes([byte])) else f"\\{byte:03o}" for byte in data)
    return '"' + "".join(parts) + '"'


def table(kind: str, name: str, items: Iterable[str]) -> str:
    """Return the definition of a constant array, of one 0 if it has no items.

    >>> table("int", "a", ["1", "2"])
    'static const int a[] = {\\n    1, 2\\n};\\n'
    """
    values = list(items) or ["0"]
    lines = (", ".join(values[i : i + _PER_LINE]) for i in range(0, len(values), _PER_LINE))
    joined = ",\n    ".join(lines)
    return f"static const {kind} {name}[] = {{\n    {joined}\n}};\n"


def doubles(name: str, values: Floats) -> str:
    """Return the definition of an array of doubles."""
    return table("double", name, map(number, values.ravel().tolist()))


def ints(name: str, values: NDArray[np.integer], kind: str = "int") -> str:
    """Return the definition of an array of integers."""
    return table(kind, name, map(str, values.ravel().tolist()))


def tree_tables(name: str, ensemble: TreeEnsemble, n_values: int) -> str:
    """Return the arrays of an ensemble and the struct that holds them together."""
    wide = ensemble.widen()
    offset = np.repeat(ensemble.tree_begin[:-1], np.diff(ensemble.tree_begin))
    first = np.where(wide.first_child >= 0, wide.first_child + offset, 0)
    begin, length = _pool_ranges(wide)
    leaf = wide.kind == 0
    parts = [
        ints(f"{name}_root", ensemble.tree_begin),
        ints(f"{name}_kind", wide.kind, "unsigned char"),
        ints(f"{name}_feature", np.where(leaf, 0, wide.feature)),
        doubles(f"{name}_threshold", np.where(np.isnan(wide.threshold) | leaf, 0.0, wide.threshold)),
        ints(f"{name}_first", first),
        ints(f"{name}_children", wide.n_children),
        ints(f"{name}_missing", wide.missing),
        ints(f"{name}_begin", begin),
        ints(f"{name}_length", length),
        table("uint64_t", f"{name}_set", (f"UINT64_C({word})" for word in wide.set_bits.tolist())),
        ints(f"{name}_branch", wide.branch),
        ints(f"{name}_terms", wide.term_feature),
        doubles(f"{name}_coefficients", wide.term_coefficient),
        doubles(f"{name}_fill", wide.term_fill),
        doubles(f"{name}_share", _shares(wide, first)),
        doubles(f"{name}_value", wide.value),
    ]
    names = "root kind feature threshold first children missing begin length set branch terms coefficients"
    members = ", ".join(f"{name}_{part}" for part in f"{names} fill share value".split())
    return "".join(parts) + f"static const trees {name} = {{{members}, {n_values}}};\n"


def _pool_ranges(wide: TreeArrays) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the set, branches or terms of each node begin in their pool, and how many it has."""
    begin, length = np.zeros((2, wide.node_count), np.int64)
    pools = ((CATEGORY_SET, wide.set_begin), (MULTIWAY, wide.branch_begin), (LINEAR, wide.term_begin))
    for kind, offsets in pools:
        nodes = wide.kind == kind
        begin[nodes], length[nodes] = offsets[:-1][nodes], np.diff(offsets)[nodes]
    return begin, length


def _shares(wide: TreeArrays, first: NDArray[np.int64]) -> Floats:
    """Return the share of a divided row that each node takes from its parent.  -> (n_nodes,)"""
    share = np.zeros(wide.node_count)
    divided = np.flatnonzero((wide.missing < 0) & (wide.n_children > 0))
    for node in divided.tolist():
        children = slice(int(first[node]), int(first[node] + wide.n_children[node]))
        weight = wide.weight[node]
        share[children] = wide.weight[children] / weight if weight > 0 else 1.0 / wide.n_children[node]
    return share
