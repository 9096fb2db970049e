"""TreeArrays: a fitted tree as flat arrays, the same for every algorithm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats, array_types
from spinney.core.cached_attribute import cached_attribute
from spinney.core.errors import InputError
from spinney.native import core
from spinney.tree.structure import (
    CATEGORY_SET,
    LEAF,
    LINEAR,
    MULTIWAY,
    NODE_ARRAYS,
    NUMERIC,
    POOLS,
    check_tree_lengths,
    check_trees,
    check_types,
)

__all__ = ["ARRAY_TYPES", "CATEGORY_SET", "LEAF", "LINEAR", "MULTIWAY", "NUMERIC", "TreeArrays"]

T = TypeVar("T", bound=np.generic)


# What model files and ensembles have at leaves.
_AT_LEAVES: dict[str, Any] = {"feature": np.int32(-1), "threshold": np.float64(np.nan)}


@dataclass(frozen=True, eq=False)
class TreeArrays:
    """A fitted tree as flat, read-only arrays, nodes in breadth-first order.

    Attributes
    ----------
    kind : ndarray of shape (n_nodes,), uint8
        0 leaf, 1 numeric split, 2 category set, 3 multiway split, 4 oblique split.
    feature : ndarray of shape (n_nodes,), int32
        Feature of the split; −2 for a leaf, as in scikit-learn, and −1 for an oblique split.
    threshold : ndarray of shape (n_nodes,), float64
        Values ≤ threshold go to child 0; −2 for a leaf, NaN where a split has none. The largest float64 sends
        known values to child 0 and missing ones to child 1.
    first_child, n_children : ndarray of shape (n_nodes,), int32
        Range of the children; −1 and 0 for a leaf.
    missing : ndarray of shape (n_nodes,), int32
        Child, counted from 0, that missing values go to; −1 for every child in proportion to its weight.
    value : ndarray of shape (n_nodes, n_outputs, width), float64
        Class proportions, or the mean or median with width 1.
    weight, n_samples, impurity : ndarray of shape (n_nodes,), float64, int64, float64
        Total weight, number and impurity of the training rows in the node.
    set_begin, set_bits : ndarray of shape (n_nodes + 1,), int64, and (n_words,), uint64
        Category sets as bits: code c goes to child 0 if bit c is set. Codes beyond the bits go to child 1.
    branch_begin, branch : ndarray of shape (n_nodes + 1,), int64, and (n_branches,), int32
        Multiway splits: child of each code; −1 if there is none, and the node itself predicts.
    term_begin, term_feature, term_coefficient, term_fill : ndarray
        Oblique splits: features, coefficients, and the values that replace missing ones.
    n_features : int
        Number of features.

    Examples
    --------

    >>> tree = model.tree_                                          # doctest: +SKIP
    >>> children = range(tree.first_child[0], tree.first_child[0] + tree.n_children[0])  # doctest: +SKIP
    """

    kind: NDArray[np.uint8]
    feature: NDArray[np.int32]
    threshold: Floats
    first_child: NDArray[np.int32]
    n_children: NDArray[np.int32]
    missing: NDArray[np.int32]
    value: Floats
    weight: Floats
    n_samples: NDArray[np.int64]
    impurity: Floats
    set_begin: NDArray[np.int64]
    set_bits: NDArray[np.uint64]
    branch_begin: NDArray[np.int64]
    branch: NDArray[np.int32]
    term_begin: NDArray[np.int64]
    term_feature: NDArray[np.int32]
    term_coefficient: Floats
    term_fill: Floats
    n_features: int

    @classmethod
    def from_grown(cls, grown: core.GrownTree) -> TreeArrays:
        """Take over the arrays of a tree that the core has grown, without copying them.

        They are made when one of them is asked for: for a small tree that takes a third of growing it.
        """
        tree = cls.__new__(cls)
        vars(tree).update(_grown=grown, n_features=grown.n_features)
        return tree

    if not TYPE_CHECKING:  # which would allow any attribute

        def __getattr__(self, name: str) -> Any:
            grown = vars(self).get("_grown") if name in ARRAY_TYPES else None
            if grown is not None:
                vars(self).update(grown.marked_arrays())
            return self.__getattribute__(name)  # which repeats the error of a property

    @classmethod
    def from_frozen(cls, arrays: Mapping[str, NDArray[Any]], n_features: int) -> TreeArrays:
        """Take over read-only arrays of the right types, with the marks of leaves and ``is_leaf``."""
        tree = cls.__new__(cls)
        vars(tree).update(arrays, n_features=n_features)
        return tree

    def __post_init__(self) -> None:
        for name, (dtype,) in ARRAY_TYPES.items():
            array = np.ascontiguousarray(getattr(self, name), dtype=dtype).view()
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "n_features", int(self.n_features))
        self._mark_leaves()

    def _mark_leaves(self) -> None:
        """Set −2 at leaves, as scikit-learn does, where the core and model files have −1 and NaN."""
        if len(self.feature) != len(self.kind) or len(self.threshold) != len(self.kind):
            return  # a damaged file, which `validate` reports
        leaf = self.kind == LEAF
        for name, marks in (("feature", self.feature == -1), ("threshold", np.isnan(self.threshold))):
            if (unmarked := leaf & marks).any():
                marked = getattr(self, name).copy()
                marked[unmarked] = -2
                object.__setattr__(self, name, _frozen(marked))

    def _stored(self, name: str) -> Any:
        """Return an array as model files and ensembles have it, without the marks of leaves."""
        array = getattr(self, name)
        return np.where(self.is_leaf, _AT_LEAVES[name], array) if name in _AT_LEAVES else array

    def __reduce__(self) -> tuple[type[TreeArrays], tuple[Any, ...]]:
        # Through the constructor, because a copied array forgets that it is read-only.
        return TreeArrays, tuple(getattr(self, field.name) for field in fields(self))

    def __repr__(self) -> str:
        return (
            f"TreeArrays(node_count={self.node_count}, n_leaves={self.n_leaves}, max_depth={self.max_depth})"
        )

    # ---- shape ----

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.kind)

    @cached_attribute
    def is_leaf(self) -> NDArray[np.bool_]:
        """Mask of the leaves.  (n_nodes,)"""
        return _frozen(self.kind == LEAF)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.is_leaf))

    @cached_attribute
    def parent(self) -> NDArray[np.int32]:
        """Parent of each node, −1 for the root.  (n_nodes,)"""
        nodes = np.arange(self.node_count, dtype=np.int32)
        # Breadth-first: the nodes 1, 2, 3, … are the children of node 0, then those of node 1, and so on.
        return _frozen(np.concatenate([np.array([-1], dtype=np.int32), np.repeat(nodes, self.n_children)]))

    @cached_attribute
    def levels(self) -> list[tuple[int, int]]:
        """Range of nodes [begin, end) at each depth."""
        nodes_before = (1 + np.cumsum(self.n_children, dtype=np.int64)).tolist()  # 1 + children of nodes 0..t
        ranges = [(0, 1)]
        while (following := nodes_before[ranges[-1][1] - 1]) > ranges[-1][1]:
            ranges.append((ranges[-1][1], following))
        return ranges

    @cached_attribute
    def depth(self) -> NDArray[np.int32]:
        """Depth of each node, 0 for the root.  (n_nodes,)"""
        sizes = [end - begin for begin, end in self.levels]
        return _frozen(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes))

    @property
    def max_depth(self) -> int:
        """Depth of the deepest leaf; 0 for a tree of one leaf."""
        return len(self.levels) - 1

    def children(self, node: int) -> range:
        """Return the children of a node, an empty range for a leaf."""
        first = int(self.first_child[node])
        return range(first, first + int(self.n_children[node]))

    def sum_over_children(self, values: Floats) -> Floats:
        """Return the sum of the children's values per node, 0 for a leaf.  values (n_nodes,) -> (n_nodes,)"""
        total = np.zeros(self.node_count)
        internal = np.flatnonzero(self.n_children)
        if len(internal):
            total[internal] = np.add.reduceat(values[1:], self.first_child[internal] - 1)
        return total

    # ---- prediction, for those who know scikit-learn's ``tree_`` ----

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf of each row of a numeric matrix.  -> (n_rows,)"""
        predictor, table = self._read(X)
        return np.asarray(predictor.apply(table)[:, 0], dtype=np.int64)

    def decision_path(self, X: Any) -> Any:
        """Return the nodes that each row of a numeric matrix passes.  -> csr_array (n_rows, n_nodes)"""
        predictor, table = self._read(X)
        return predictor.decision_path(table)

    def predict(self, X: Any) -> Floats:
        """Return the value of each row of a numeric matrix.

        -> (n_rows, width), or (n_rows, n_outputs, width)
        """
        predictor, table = self._read(X)
        value: Floats = predictor.value(table)
        return value[:, 0] if value.shape[1] == 1 else value

    def _read(self, X: Any) -> tuple[Any, Any]:
        """Return the packed tree and the table; the schema of other columns is the estimator's."""
        from spinney.data.schema import read_table
        from spinney.tree.predictor import Predictor

        if np.isin(self.kind, (CATEGORY_SET, MULTIWAY)).any():
            raise InputError("This tree splits categories.", fix="Call the methods of the estimator instead.")
        table = read_table(X)
        if table.schema.n_features != self.n_features:
            raise InputError(f"X has {table.schema.n_features} features, and the tree has {self.n_features}.")
        return Predictor(self), table

    # ---- structure ----

    def validate(self, n_categories: Sequence[int]) -> None:
        """Check every number that prediction relies on; ModelFileError names the array and node.

        ``n_categories[j]`` is the number of categories of feature j, 0 for a numeric one.
        """
        check_tree_lengths(self)
        check_trees(self, n_categories)

    def to_state(self) -> dict[str, NDArray[Any] | int]:
        """Return the arrays by name, as a model file stores them."""
        return {field.name: self._stored(field.name) for field in fields(self)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], n_categories: Sequence[int]) -> TreeArrays:
        """Build a tree from unchecked plain data; ModelFileError if it is not a valid tree."""
        check_types(state, ARRAY_TYPES)
        tree = cls(**{name: state[name] for name in ARRAY_TYPES}, n_features=int(state["n_features"]))
        tree.validate(n_categories)
        return tree

    def to_ensemble(self) -> dict[str, Any]:
        """Return the arrays of a `TreeEnsemble` of this one tree, those of nodes and pools not copied."""
        arrays: dict[str, Any] = {name: self._stored(name) for name in NODE_ARRAYS}
        arrays["missing"] = _fit_type(self.missing, np.int8)
        arrays["n_samples"] = _fit_type(self.n_samples, np.int32)
        arrays["tree_begin"] = np.array([0, self.node_count], dtype=np.int64)
        arrays["branch_children"] = self.n_children[self.kind == MULTIWAY]
        for name, (kind, pool) in POOLS.items():
            begin: NDArray[np.int64] = getattr(self, name)
            some = begin[-1] > 0  # most trees have splits of one kind only
            arrays[name] = np.append(begin[:-1][self.kind == kind], begin[-1]) if some else begin[-1:]
            arrays |= {array: getattr(self, array) for array in pool}
        return arrays | {"n_features": self.n_features}

    def subset(self, keep_as_leaf: NDArray[np.bool_]) -> TreeArrays:
        """Turn the marked nodes into leaves and remove the nodes below them, as every pruning does.

        keep_as_leaf (n_nodes,). Marking a leaf, or a node below another marked one, changes nothing.

        >>> stump = tree.subset(tree.depth == 1)  # doctest: +SKIP
        """
        alive = np.ones(self.node_count, dtype=np.bool_)  # not below a marked node
        for begin, end in self.levels[1:]:
            above = self.parent[begin:end]
            alive[begin:end] = alive[above] & ~keep_as_leaf[above]
        kept = np.flatnonzero(alive)
        return self.select(kept, (self.is_leaf | keep_as_leaf)[kept])

    def select(self, kept: NDArray[np.intp], leaf: NDArray[np.bool_]) -> TreeArrays:
        """Return a tree of these nodes, which must be in breadth-first order, those of ``leaf`` as leaves."""
        n_children = np.where(leaf, 0, self.n_children[kept])
        arrays: dict[str, Any] = {name: getattr(self, name)[kept] for name in NODE_ARRAYS}
        for name, none in (("kind", LEAF), ("feature", -1), ("threshold", np.nan), ("missing", -1)):
            arrays[name][leaf] = none
        for name, (_, pool) in POOLS.items():
            arrays[name], entries = _gather_pool(getattr(self, name), kept, leaf)
            arrays |= {array: getattr(self, array)[entries] for array in pool}
        return TreeArrays(
            **arrays,
            first_child=np.where(leaf, -1, 1 + np.cumsum(n_children, dtype=np.int64) - n_children),
            n_children=n_children,
            n_features=self.n_features,
        )

    # ---- the split of one node ----

    def goes_first(self, node: int, n_categories: int) -> NDArray[np.bool_]:
        """Return which categories a category-set node sends to child 0.  -> (n_categories,)"""
        return first_categories(self.set_bits[self.set_begin[node] : self.set_begin[node + 1]], n_categories)

    def branches(self, node: int) -> NDArray[np.int32]:
        """Return the child, counted from 0, of each category of a multiway node, −1 if there is none."""
        return self.branch[self.branch_begin[node] : self.branch_begin[node + 1]]

    def terms(self, node: int) -> slice:
        """Return the range of an oblique node's terms in the ``term_*`` arrays."""
        return slice(int(self.term_begin[node]), int(self.term_begin[node + 1]))

    # ---- the attributes of scikit-learn's tree_ ----

    @property
    def children_left(self) -> NDArray[np.intp]:
        """First child of each node, −1 for a leaf; only if all splits are binary."""
        return self._binary_child("children_left", 0)

    @property
    def children_right(self) -> NDArray[np.intp]:
        """Second child of each node, −1 for a leaf; only if all splits are binary."""
        return self._binary_child("children_right", 1)

    def _binary_child(self, name: str, which: int) -> NDArray[np.intp]:
        if np.any(self.n_children > 2):
            raise AttributeError(
                f"This tree has nodes with more than two children, so it has no {name}; "
                "read first_child and n_children, or tree.children(node). scikit-learn cannot draw it: "
                "use spinney.plot_tree, spinney.export_text or spinney.export_graphviz."
            )
        return _frozen(np.where(self.is_leaf, -1, self.first_child + which).astype(np.intp))

    @property
    def n_node_samples(self) -> NDArray[np.int64]:
        """Number of training rows in each node."""
        return self.n_samples

    @property
    def weighted_n_node_samples(self) -> Floats:
        """Total weight of the training rows in each node."""
        return self.weight

    @property
    def missing_go_to_left(self) -> NDArray[np.uint8]:
        """Mask of the nodes that send missing values to the first child only."""
        return _frozen(((self.missing == 0) & ~self.is_leaf).astype(np.uint8))

    @property
    def capacity(self) -> int:
        """Number of nodes."""
        return self.node_count

    @property
    def n_outputs(self) -> int:
        """Number of target columns."""
        grown: core.GrownTree | None = vars(self).get("_grown")
        return int(self.value.shape[1]) if grown is None else grown.n_outputs

    @property
    def max_n_classes(self) -> int:
        """Width of ``value``: the largest number of classes of an output, 1 in regression."""
        return int(self.value.shape[2])

    @property
    def n_classes(self) -> NDArray[np.intp]:
        """Width of ``value`` per output.  (n_outputs,)"""
        return np.full(self.n_outputs, self.max_n_classes, dtype=np.intp)

    def compute_node_depths(self) -> NDArray[np.int64]:
        """Return the depth of each node, 1 for the root; `depth` counts from 0.  -> (node_count,)"""
        return self.depth.astype(np.int64) + 1

    def compute_feature_importances(self, normalize: bool = True) -> Floats:
        """Return the impurity decrease by the splits of each feature, per root weight.  -> (n_features,)

        The terms of an oblique split share its decrease in proportion to their absolute coefficients.
        """
        # Impurities near the largest float64 are multiplied by half of the shares of the weight.
        overflows = float(self.impurity.max()) > np.finfo(np.float64).max / max(float(self.weight[0]), 1.0)
        unit = 2 * float(self.weight[0]) if overflows else 1.0
        total = self.weight / unit * self.impurity
        decrease = np.where(self.is_leaf, 0.0, total - self.sum_over_children(total))
        if overflows:  # impurities that are cut off differ by rounding only
            decrease = np.maximum(decrease, 0.0)
        importances = np.zeros(self.n_features)
        single = self.feature >= 0
        np.add.at(importances, self.feature[single], decrease[single])
        for node in np.flatnonzero(self.kind == LINEAR).tolist():
            terms = self.terms(node)
            size = np.abs(self.term_coefficient[terms])
            if size.sum() > 0:
                np.add.at(importances, self.term_feature[terms], decrease[node] * size / size.sum())
        if self.weight[0] > 0 and not (overflows and normalize):
            importances /= self.weight[0] / unit
        if normalize and importances.sum() > 0:
            importances /= importances.sum()
        return importances


# int32 where the count is of nodes or features, to keep a node in few cache lines; 64-bit where it is of rows
# or of pool entries.
ARRAY_TYPES = array_types(TreeArrays)


def first_categories(words: NDArray[np.uint64], n_categories: int) -> NDArray[np.bool_]:
    """Return which categories the bits of a category set send to child 0.  -> (n_categories,)"""
    # Shifts, not np.unpackbits, so that the byte order of the machine does not matter.
    bits = (words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    found = bits.astype(np.bool_).ravel()[:n_categories]
    return np.concatenate([found, np.zeros(n_categories - len(found), dtype=np.bool_)])


def _frozen(array: NDArray[T]) -> NDArray[T]:
    array.setflags(write=False)
    return array


def _fit_type(integers: NDArray[Any], narrow: type[np.signedinteger[Any]]) -> NDArray[Any]:
    """Return integers in the narrow type if it can hold them."""
    limits = np.iinfo(narrow)
    fits = len(integers) == 0 or (limits.min <= integers.min() and integers.max() <= limits.max)
    return integers.astype(narrow) if fits else integers


def _gather_pool(
    begin: NDArray[np.int64], kept: NDArray[np.intp], leaf: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the kept nodes' new offsets into a pool, and the old position of each entry."""
    length = np.where(leaf, 0, np.diff(begin)[kept])
    new_begin = np.concatenate([[0], np.cumsum(length)])
    entries = np.repeat(begin[:-1][kept] - new_begin[:-1], length) + np.arange(new_begin[-1])
    return new_begin, entries
