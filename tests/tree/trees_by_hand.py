"""Trees written by hand as nested tuples, for tests that need no grower."""

import math

import numpy as np

from spinney.tree.tree_arrays import CATEGORY_SET, LEAF, LINEAR, MULTIWAY, NUMERIC, TreeArrays

_DEFAULTS = {
    "feature": -1,
    "threshold": math.nan,
    "missing": -1,
    "set": (),
    "branch": (),
    "terms": (),
    "children": (),
}


def leaf(value, weight=1.0, impurity=0.0, n_samples=None):
    return dict(_DEFAULTS, kind=LEAF, value=value, weight=weight, impurity=impurity, n_samples=n_samples)


def numeric(feature, threshold, left, right, *, missing=-1, **statistics):
    return _test(NUMERIC, (left, right), statistics, feature=feature, threshold=threshold, missing=missing)


def category_set(feature, codes, inside, outside, *, missing=-1, words=None, **statistics):
    words = words or max(codes) // 64 + 1
    bits = [sum(1 << (code - 64 * word) for code in codes if code // 64 == word) for word in range(words)]
    return _test(CATEGORY_SET, (inside, outside), statistics, feature=feature, set=bits, missing=missing)


def multiway(feature, branch, *children, missing=-1, **statistics):
    return _test(MULTIWAY, children, statistics, feature=feature, branch=branch, missing=missing)


def linear(terms, threshold, left, right, **statistics):
    """terms: (feature, coefficient, fill) each."""
    return _test(LINEAR, (left, right), statistics, threshold=threshold, terms=terms)


def _test(kind, children, statistics, **parts):
    """Fill in the weight, value and impurity (Gini) from the children where not given."""
    weight = sum(child["weight"] for child in children)
    value = sum(child["weight"] * np.asarray(child["value"], float) for child in children) / max(
        weight, 1e-300
    )
    gini = 1.0 - float((np.atleast_2d(value)[0] ** 2).sum())
    counts = [child["n_samples"] for child in children]
    n_samples = None if None in counts else sum(counts)
    made = dict(
        _DEFAULTS,
        kind=kind,
        children=children,
        value=value,
        weight=weight,
        impurity=gini,
        n_samples=n_samples,
    )
    return made | parts | statistics


def build(root, n_features) -> TreeArrays:
    """Number the nodes breadth first and write the arrays."""
    nodes, first_child = [root], []
    for node in nodes:  # grows while we walk, which is what breadth first is
        first_child.append(len(nodes) if node["children"] else -1)
        nodes.extend(node["children"])
    values = [np.asarray(node["value"], float) for node in nodes]
    terms = [term for node in nodes for term in node["terms"]]
    return TreeArrays(
        kind=[node["kind"] for node in nodes],
        feature=[node["feature"] for node in nodes],
        threshold=[node["threshold"] for node in nodes],
        first_child=first_child,
        n_children=[len(node["children"]) for node in nodes],
        missing=[node["missing"] for node in nodes],
        value=[v.reshape(1, 1) if v.ndim == 0 else v[None] if v.ndim == 1 else v for v in values],
        weight=[node["weight"] for node in nodes],
        n_samples=[
            round(node["weight"]) if node["n_samples"] is None else node["n_samples"] for node in nodes
        ],
        impurity=[node["impurity"] for node in nodes],
        set_begin=_offsets([len(node["set"]) for node in nodes]),
        set_bits=np.array([word for node in nodes for word in node["set"]], dtype=np.uint64),
        branch_begin=_offsets([len(node["branch"]) for node in nodes]),
        branch=np.array([child for node in nodes for child in node["branch"]], dtype=np.int32),
        term_begin=_offsets([len(node["terms"]) for node in nodes]),
        term_feature=np.array([term[0] for term in terms], dtype=np.int32),
        term_coefficient=np.array([term[1] for term in terms], dtype=float),
        term_fill=np.array([term[2] for term in terms], dtype=float),
        n_features=n_features,
    )


def _offsets(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def from_sklearn(sk_tree) -> TreeArrays:
    """Copy a tree that scikit-learn grew."""

    def node(t):
        stats = {"weight": sk_tree.weighted_n_node_samples[t], "impurity": sk_tree.impurity[t]}
        stats |= {"n_samples": int(sk_tree.n_node_samples[t]), "value": sk_tree.value[t]}
        left, right = sk_tree.children_left[t], sk_tree.children_right[t]
        if left < 0:
            return leaf(**stats)
        missing = 0 if sk_tree.missing_go_to_left[t] else 1
        split = numeric(sk_tree.feature[t], sk_tree.threshold[t], node(left), node(right), missing=missing)
        return split | stats

    return build(node(0), sk_tree.n_features)


def mixed_tree() -> tuple[TreeArrays, list[int]]:
    """A tree with every kind of test, of features: numeric, three categories, seventy categories, numeric."""
    bottom = linear([(0, 1.0, 0.5), (3, -2.0, 1.0)], 0.25, leaf([0.9, 0.1], 4), leaf([0.2, 0.8], 2))
    by_category = multiway(1, (1, -1, 0), leaf([1.0, 0.0], 3), bottom)
    by_set = category_set(2, (0, 5, 69), leaf([0.0, 1.0], 5), leaf([0.5, 0.5], 2), missing=1)
    return build(numeric(0, 1.5, by_category, by_set), 4), [0, 3, 70, 0]
