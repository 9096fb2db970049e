"""Checks of the arrays of trees: a damaged or hostile model file is an error, never a crash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import ModelFileError

if TYPE_CHECKING:
    from spinney.tree.ensemble import TreeEnsemble
    from spinney.tree.tree_arrays import TreeArrays

LEAF, NUMERIC, CATEGORY_SET, MULTIWAY, LINEAR = range(5)
"""The kinds of nodes."""
NODE_ARRAYS = ("kind", "feature", "threshold", "missing", "value", "weight", "n_samples", "impurity")
"""The arrays with one entry per node, apart from the positions of children."""
POOLS: dict[str, tuple[int, tuple[str, ...]]] = {
    "set_begin": (CATEGORY_SET, ("set_bits",)),
    "branch_begin": (MULTIWAY, ("branch",)),
    "term_begin": (LINEAR, ("term_feature", "term_coefficient", "term_fill")),
}
"""Offsets into each pool -> the kind of split that it belongs to, and its arrays."""
_WORD_BITS = 64


class _InvalidNodeError(Exception):
    """The array, the node and what is wrong with it; raised where the number of the tree is not known."""


def check_types(state: Mapping[str, Any], types: Mapping[str, tuple[type[np.generic], ...]]) -> None:
    """Raise ModelFileError unless a stored state has exactly these arrays, of these types, and n_features.

    types: for each array the types it may have.
    """
    unexpected = set(state) ^ {*types, "n_features"}
    if unexpected:
        raise ModelFileError(
            f"The tree's arrays are not the expected ones; missing or unknown: {sorted(unexpected)}."
        )
    for name, dtypes in types.items():
        array, n_dimensions = state[name], 3 if name == "value" else 1
        is_array = isinstance(array, np.ndarray)
        if not is_array or array.dtype not in dtypes or array.ndim != n_dimensions:
            found = f"{array.dtype}, {array.ndim}-D" if is_array else type(array).__name__
            wanted = " or ".join(str(np.dtype(dtype)) for dtype in dtypes)
            raise ModelFileError(f"Array {name!r} must be {wanted}, {n_dimensions}-D; the file has {found}.")
    n_features = state["n_features"]
    if isinstance(n_features, bool) or not isinstance(n_features, int | np.integer):
        raise ModelFileError(f"n_features must be an integer; the file has {type(n_features).__name__}.")


def check_trees(
    trees: TreeArrays,
    n_categories: Sequence[int] | NDArray[np.int64],
    roots: NDArray[np.int64] | None = None,
    first_tree: int = 0,
) -> None:
    """Raise ModelFileError unless prediction can rely on every number in one tree, or several in sequence.

    Children are numbered within their tree, offsets into the pools over all trees. roots (n_trees,) is where
    each tree begins, rising from 0; None is a single tree, which errors do not number. first_tree is the
    number of the first in errors. Time and memory are linear in the size of the arrays, whose lengths were
    checked before. Later checks rely on earlier ones, so their order matters.
    """
    categories = np.asarray(n_categories, dtype=np.int64).reshape(-1)
    n_features, begins = trees.n_features, np.zeros(1, dtype=np.int64) if roots is None else roots
    if n_features != len(categories):
        raise ModelFileError(f"The tree was made for {n_features} features; the model has {len(categories)}.")
    try:
        _check_children(trees, begins)
        _check_fields(trees, categories)
        _check_pools(trees, categories)
        _check_statistics(trees, begins)
    except _InvalidNodeError as invalid:
        array, node, problem = invalid.args
        tree = int(np.searchsorted(begins, node, side="right")) - 1
        where = f"node {node - int(begins[tree])}"
        where = where if roots is None else f"tree {first_tree + tree}, {where}"
        raise ModelFileError(f"Array {array!r}, {where}: {problem}.") from None


def _check(ok: NDArray[np.bool_], array: str, problem: str, nodes: NDArray[Any] | None = None) -> None:
    """Raise for the first False in ok; nodes are the nodes that ok refers to, if not all."""
    if not ok.all():
        first = int(np.argmin(ok))
        _refuse(array, first if nodes is None else int(nodes[first]), problem)


def _refuse(array: str, node: int, problem: str) -> NoReturn:
    raise _InvalidNodeError(array, node, problem)


def check_lengths(trees: TreeArrays | TreeEnsemble, names: Sequence[str] = NODE_ARRAYS) -> None:
    """Raise ModelFileError unless the arrays have one entry per node, and values have outputs."""
    n = len(trees.kind)
    for name in names:
        if len(getattr(trees, name)) != n:
            raise ModelFileError(f"Array {name!r} has {len(getattr(trees, name))} entries for {n} nodes.")
    if 0 in trees.value.shape[1:]:
        raise ModelFileError(
            f"Array 'value' has shape {trees.value.shape}; it takes (n_nodes, n_outputs, width)."
        )


def check_tree_lengths(tree: TreeArrays) -> None:
    """Raise ModelFileError unless the arrays of one tree have matching lengths."""
    n = len(tree.kind)
    if not 0 < n <= np.iinfo(np.int32).max:
        raise ModelFileError(f"Array 'kind' has {n} entries; a tree has from 1 to 2³¹ − 1 nodes.")
    check_lengths(tree, (*NODE_ARRAYS, "first_child", "n_children"))
    for name, (_, pool) in POOLS.items():
        if len(getattr(tree, name)) != n + 1:
            raise ModelFileError(
                f"Array {name!r} has {len(getattr(tree, name))} entries; {n} nodes take {n + 1}."
            )
        size, *others = (len(getattr(tree, array)) for array in pool)
        if any(other != size for other in others):
            raise ModelFileError(f"Arrays {', '.join(pool)} have different lengths: {[size, *others]}.")


def _check_children(tree: TreeArrays, roots: NDArray[np.int64]) -> None:
    """Check that the children are numbered breadth first, which also rules out cycles and shared children."""
    _check(tree.kind < 5, "kind", "no such kind of node")
    leaf = tree.kind == LEAF
    count = tree.n_children.astype(np.int64)
    _check(~leaf | (count == 0), "n_children", "a leaf has no children")
    _check(leaf | (count >= 2), "n_children", "a split has at least two children")
    two_way = ~leaf & (tree.kind != MULTIWAY)
    _check(~two_way | (count == 2), "n_children", "this kind of split has exactly two children")
    sizes = np.diff(roots, append=len(count))
    before = np.cumsum(count) - count  # children of earlier nodes, those of earlier trees too
    expected = np.where(leaf, -1, 1 + before - np.repeat(before[roots], sizes))
    _check(
        tree.first_child == expected,
        "first_child",
        "the children are not where breadth-first order puts them",
    )
    # Children come after their parent: without this, two nodes may be each other's child.
    number = np.arange(len(count)) - np.repeat(roots, sizes)
    _check(leaf | (expected > number), "first_child", "a child comes before its parent")
    nodes = 1 + np.add.reduceat(count, roots)
    for tree_number in np.flatnonzero(nodes != sizes)[:1].tolist():
        problem = f"the children add up to {nodes[tree_number]} nodes; the tree has {sizes[tree_number]}"
        _refuse("n_children", int(roots[tree_number]), problem)


def _check_fields(tree: TreeArrays, categories: NDArray[np.int64]) -> None:
    leaf, linear = tree.kind == LEAF, tree.kind == LINEAR
    numeric, by_category = tree.kind == NUMERIC, (tree.kind == CATEGORY_SET) | (tree.kind == MULTIWAY)
    no_feature = leaf | linear
    none = np.where(leaf, -2, -1)
    _check(
        ~no_feature | (tree.feature == none), "feature", "a leaf or an oblique split has no single feature"
    )
    in_range = (tree.feature >= 0) & (tree.feature < tree.n_features)
    _check(no_feature | in_range, "feature", f"the model has {tree.n_features} features")
    size = np.zeros(len(leaf), dtype=np.int64)
    size[~no_feature] = categories[tree.feature[~no_feature]]
    _check(~numeric | (size == 0), "feature", "a numeric split is on a categorical feature")
    _check(~by_category | (size > 0), "feature", "a categorical split is on a numeric feature")
    has_threshold = numeric | linear
    _check(~has_threshold | np.isfinite(tree.threshold), "threshold", "it must be finite")
    none_given = np.where(leaf, tree.threshold == -2, np.isnan(tree.threshold))
    _check(has_threshold | none_given, "threshold", "it must be NaN where the split has none")
    # Not read at a leaf, where 0 is as good as −1.
    _check((tree.missing >= -1) & (tree.missing < np.maximum(tree.n_children, 1)), "missing", "no such child")


def _check_pools(tree: TreeArrays, categories: NDArray[np.int64]) -> None:
    size = np.zeros(len(tree.kind), dtype=np.int64)
    by_category = (tree.kind == CATEGORY_SET) | (tree.kind == MULTIWAY)
    size[by_category] = categories[tree.feature[by_category]]

    words = _pool_lengths(tree, "set_begin", len(tree.set_bits), CATEGORY_SET)
    _check(
        words <= (size + _WORD_BITS - 1) // _WORD_BITS,
        "set_bits",
        "more words than the feature has categories",
    )

    branches = _pool_lengths(tree, "branch_begin", len(tree.branch), MULTIWAY)
    _check(branches <= size, "branch", "more branches than the feature has categories")
    owner = np.repeat(np.arange(len(tree.kind)), branches)
    _check((tree.branch >= -1) & (tree.branch < tree.n_children[owner]), "branch", "no such child", owner)

    terms = _pool_lengths(tree, "term_begin", len(tree.term_feature), LINEAR)
    owner = np.repeat(np.arange(len(tree.kind)), terms)
    in_range = (tree.term_feature >= 0) & (tree.term_feature < tree.n_features)
    _check(in_range, "term_feature", f"the model has {tree.n_features} features", owner)
    _check(
        categories[tree.term_feature] == 0,
        "term_feature",
        "an oblique split takes numeric features only",
        owner,
    )
    _check(np.isfinite(tree.term_coefficient), "term_coefficient", "it must be finite", owner)
    _check(np.isfinite(tree.term_fill), "term_fill", "it must be finite", owner)


def _pool_lengths(tree: TreeArrays, name: str, pool_size: int, kind: int) -> NDArray[np.int64]:
    """Return the number of pool entries of each node, after checking the offsets.  -> (n_nodes,)"""
    begin: NDArray[np.int64] = getattr(tree, name)
    _check((begin >= 0) & (begin <= pool_size), name, f"the offset is outside the pool of {pool_size}")
    length = np.diff(begin)  # both ends are in [0, pool_size], so no difference can overflow
    _check(length >= 0, name, "the offsets go back")
    if begin[0] != 0 or begin[-1] != pool_size:
        _refuse(name, 0, f"the offsets cover [{begin[0]}, {begin[-1]}) of a pool of {pool_size} entries")
    has_pool = tree.kind == kind
    _check(~has_pool | (length > 0), name, "this kind of split needs at least one entry")
    _check(has_pool | (length == 0), name, "this kind of node has no entries here")
    return length


def _check_statistics(tree: TreeArrays, roots: NDArray[np.int64]) -> None:
    _check(np.asarray(np.isfinite(tree.value).all(axis=(1, 2))), "value", "it must be finite")
    _check(np.isfinite(tree.weight) & (tree.weight >= 0), "weight", "it must be finite and not negative")
    _check(np.isfinite(tree.impurity), "impurity", "it must be finite")
    _check(tree.n_samples >= 0, "n_samples", "it must not be negative")
    # Fractional instances are multiplied by weight[child] / weight[node], which must not exceed 1.
    parent = np.repeat(np.arange(len(tree.kind)), tree.n_children)
    splits_rows = (tree.missing[parent] == -1) & (tree.kind[parent] != LINEAR)
    child = np.delete(np.arange(len(tree.kind)), roots)  # in the order of their parents
    too_heavy = tree.weight[child] > tree.weight[parent] * (1 + 1e-6)
    _check(~(splits_rows & too_heavy), "weight", "a child is heavier than its parent", child)
