"""TreeEnsemble: the arrays of many fitted trees, concatenated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats, array_types
from spinney.core.cached_attribute import cached_attribute
from spinney.core.errors import ModelFileError
from spinney.io import Persistent
from spinney.native import core
from spinney.tree.structure import (
    LEAF,
    MULTIWAY,
    NODE_ARRAYS,
    POOLS,
    check_lengths,
    check_trees,
    check_types,
)
from spinney.tree.tree_arrays import TreeArrays

# Maximum number of spare entries of a growing array.
_MAX_SPARE = 1 << 16
# Files are checked this many nodes at a time, because the wide form takes more memory.
_CHECKED_AT_ONCE = 1 << 17


@dataclass(frozen=True, eq=False)
class TreeEnsemble(Persistent):
    """Trees of an ensemble as flat, read-only arrays, one tree after the other.

    Tree t has the nodes from ``tree_begin[t]`` up to ``tree_begin[t + 1]``, and ``tree(t)`` returns it as
    `TreeArrays`. The arrays are those of `TreeArrays`, except for what is the same in nearly all nodes:

    - the positions of children, which follow from ``kind`` in breadth-first order; only multiway splits have
      their number of children in ``branch_children``;
    - the offsets into the pools: ``set_begin``, ``branch_begin`` and ``term_begin`` have one entry per split
      of their kind, and one for the end, not one per node;
    - ``missing`` and ``n_samples`` take 1 and 4 bytes if their values allow it.

    A node takes 34 bytes, and 8 bytes per number of its value.

    >>> ensemble = TreeEnsemble.from_trees(member.tree_ for member in members)  # doctest: +SKIP
    >>> ensemble[:10].n_trees                                                  # doctest: +SKIP
    10
    """

    tree_begin: NDArray[np.int64]
    kind: NDArray[np.uint8]
    feature: NDArray[np.int32]
    threshold: Floats
    missing: NDArray[np.int8] | NDArray[np.int32]
    value: Floats
    weight: Floats
    n_samples: NDArray[np.int32] | NDArray[np.int64]
    impurity: Floats
    set_begin: NDArray[np.int64]
    set_bits: NDArray[np.uint64]
    branch_begin: NDArray[np.int64]
    branch_children: NDArray[np.int32]
    branch: NDArray[np.int32]
    term_begin: NDArray[np.int64]
    term_feature: NDArray[np.int32]
    term_coefficient: Floats
    term_fill: Floats
    n_features: int

    def __post_init__(self) -> None:
        for name, dtypes in ARRAY_TYPES.items():
            array = np.asarray(getattr(self, name))
            dtype = array.dtype if array.dtype in dtypes else dtypes[-1]
            array = np.ascontiguousarray(array, dtype=dtype).view()
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "n_features", int(self.n_features))

    def __repr__(self) -> str:
        return f"TreeEnsemble(n_trees={self.n_trees}, node_count={self.node_count})"

    # ---- shape ----

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.tree_begin) - 1

    def __len__(self) -> int:
        return self.n_trees

    @property
    def node_count(self) -> int:
        """Number of nodes of all trees, leaves included."""
        return len(self.kind)

    @property
    def n_outputs(self) -> int:
        """Number of target columns."""
        return int(self.value.shape[1])

    @property
    def width(self) -> int:
        """Largest number of classes of an output, 1 in regression."""
        return int(self.value.shape[2])

    @cached_attribute
    def _splits_before(self) -> dict[str, NDArray[np.int64]]:
        """Number of splits of the kind of each pool before each tree.  (n_trees + 1,)"""
        return {
            name: np.searchsorted(np.flatnonzero(self.kind == kind), self.tree_begin).astype(np.int64)
            for name, (kind, _) in POOLS.items()
        }

    # ---- adding and taking trees ----

    @staticmethod
    def from_trees(trees: Iterable[TreeArrays]) -> TreeEnsemble:
        """Concatenate trees, at least one, with the same features and the same shape of value.

        The trees of an iterator are taken one by one, so that they need not be in memory at once.

        >>> TreeEnsemble.from_trees([model.tree_, other.tree_])  # doctest: +SKIP
        """
        builder = EnsembleBuilder()
        for tree in trees:
            builder.add(tree)
        return builder.build()

    @staticmethod
    def from_grown(trees: Sequence[core.GrownTree]) -> TreeEnsemble:
        """Concatenate trees that the core has grown, at least one.

        >>> TreeEnsemble.from_grown(booster.run("squared", 0.0, 10))  # doctest: +SKIP
        """
        nodes, tree_begin = core.join_trees(list(trees))
        return TreeEnsemble(**TreeArrays.from_grown(nodes).to_ensemble() | {"tree_begin": tree_begin})

    @staticmethod
    def from_forest(forest: core.GrownForest) -> TreeEnsemble:
        """Take over the arrays of a forest that the core has grown, without copying them.

        >>> TreeEnsemble.from_forest(grown_forest)  # doctest: +SKIP
        """
        return TreeEnsemble(**{field.name: getattr(forest, field.name) for field in fields(TreeEnsemble)})

    def extend(self, other: TreeEnsemble) -> TreeEnsemble:
        """Return the ensemble of these trees followed by those of another.

        >>> model.ensemble_.extend(TreeEnsemble.from_trees(new_trees))  # doctest: +SKIP
        """
        builder = EnsembleBuilder()
        for part in (self, other):
            builder.append(vars(part))
        return builder.build()

    def __getitem__(self, trees: slice) -> TreeEnsemble:
        """Return a range of the trees; only the offsets are copied."""
        begin, end, step = trees.indices(self.n_trees)
        if step != 1 or begin >= end:
            raise ValueError("A slice of an ensemble has at least one tree and step 1.")
        first, last = int(self.tree_begin[begin]), int(self.tree_begin[end])
        part: dict[str, Any] = {name: getattr(self, name)[first:last] for name in NODE_ARRAYS}
        part["tree_begin"] = self.tree_begin[begin : end + 1] - first
        for name, (_, pool) in POOLS.items():
            splits = slice(*self._splits_before[name][[begin, end]].tolist())
            offsets = getattr(self, name)[splits.start : splits.stop + 1]
            part[name] = offsets - offsets[0]
            for array in pool:
                part[array] = getattr(self, array)[offsets[0] : offsets[-1]]
            if name == "branch_begin":
                part["branch_children"] = self.branch_children[splits]
        return TreeEnsemble(**part, n_features=self.n_features)

    def tree(self, number: int) -> TreeArrays:
        """Return one tree, with views of the arrays where possible.

        >>> ensemble.tree(0).max_depth  # doctest: +SKIP
        """
        number = range(self.n_trees)[number]
        return self[number : number + 1].widen()

    def trees(self) -> Iterator[TreeArrays]:
        """Iterate over the trees.

        >>> sum(tree.n_leaves for tree in ensemble.trees())  # doctest: +SKIP
        """
        return map(self.tree, range(self.n_trees))

    def widen(self) -> TreeArrays:
        """Return all nodes in the form of one tree, children numbered within their own tree."""
        n_children = np.where(self.kind == LEAF, 0, 2)
        n_children[self.kind == MULTIWAY] = self.branch_children
        before = np.cumsum(n_children) - n_children
        roots = self.tree_begin[:-1]
        before -= np.repeat(before[roots], np.diff(self.tree_begin))
        wide = {name: getattr(self, name) for name in NODE_ARRAYS}
        for name, (kind, pool) in POOLS.items():
            length = np.zeros(self.node_count + 1, dtype=np.int64)
            length[1:][self.kind == kind] = np.diff(getattr(self, name))
            wide[name] = np.cumsum(length)
            wide |= {array: getattr(self, array) for array in pool}
        return TreeArrays(
            **wide,
            first_child=np.where(n_children > 0, 1 + before, -1),
            n_children=n_children,
            n_features=self.n_features,
        )

    # ---- structure ----

    def validate(self, n_categories: Sequence[int] | NDArray[np.int64]) -> None:
        """Check every number that prediction relies on; ModelFileError names the array, tree and node.

        ``n_categories[j]`` is the number of categories of feature j, 0 for a numeric one.
        """
        self._check_shapes()
        begin = 0
        while begin < self.n_trees:
            limit = int(self.tree_begin[begin]) + _CHECKED_AT_ONCE
            end = max(begin + 1, int(np.searchsorted(self.tree_begin, limit, side="right")) - 1)
            part = self[begin:end]
            check_trees(part.widen(), n_categories, part.tree_begin[:-1], begin)
            begin = end

    def _check_shapes(self) -> None:
        """Check the lengths and offsets that slicing relies on."""
        n = self.node_count
        check_lengths(self)
        _check_offsets("tree_begin", self.tree_begin, n, min_step=1)
        if self.n_trees == 0 or np.diff(self.tree_begin).max() > np.iinfo(np.int32).max:
            raise ModelFileError(
                "Array 'tree_begin': an ensemble has at least one tree, each of fewer than 2³¹ nodes."
            )
        for name, (kind, pool) in POOLS.items():
            n_splits = int(np.count_nonzero(self.kind == kind))
            offsets = getattr(self, name)
            if len(offsets) != n_splits + 1:
                raise ModelFileError(
                    f"Array {name!r} has {len(offsets)} entries for {n_splits} splits of its kind."
                )
            for array in pool:
                _check_offsets(name, offsets, len(getattr(self, array)), min_step=0)
        if len(self.branch_children) != len(self.branch_begin) - 1:
            raise ModelFileError("Array 'branch_children' does not have one entry per multiway split.")

    def _set_state(self, state: dict[str, Any]) -> None:
        check_types(state, ARRAY_TYPES)
        super()._set_state(state)

    def _check_state(self) -> None:
        # The owner of the ensemble knows the categories of each feature and validates with them; here the
        # kinds of the features are inferred from the splits.
        self._check_shapes()
        if not 0 <= self.n_features <= np.iinfo(np.int32).max:
            raise ModelFileError(f"The model has {self.n_features} features.")
        n_categories = np.zeros(self.n_features, dtype=np.int64)  # untouched zeros take no memory
        for name, codes_each in (("set_begin", 64), ("branch_begin", 1)):
            feature = self.feature[self.kind == POOLS[name][0]]
            if len(feature) and not (feature.min() >= 0 and feature.max() < self.n_features):
                raise ModelFileError(f"Array 'feature': the model has {self.n_features} features.")
            np.maximum.at(n_categories, feature, codes_each * np.diff(getattr(self, name)))
        self.validate(n_categories)


# The types each array may have, the first that holds its numbers.
ARRAY_TYPES = array_types(TreeEnsemble)


class EnsembleBuilder:
    """Builds an ensemble by appending trees.

    Arrays grow in place, which the system does by remapping pages, so a forest is never in memory twice. With
    ``n_expected`` trees, memory for all of them is reserved from the first one on.

    >>> builder = EnsembleBuilder()
    >>> builder.add(model.tree_)            # doctest: +SKIP
    >>> builder.build().n_trees             # doctest: +SKIP
    1
    """

    def __init__(self, n_expected: int = 0) -> None:
        self._n_expected = n_expected
        self._shape: tuple[int, ...] | None = None
        self._arrays: dict[str, NDArray[Any]] = {}
        self._used: dict[str, int] = {}

    @property
    def n_trees(self) -> int:
        """Number of trees added."""
        return self._used.get("tree_begin", 1) - 1

    def add(self, tree: TreeArrays) -> None:
        """Append a tree."""
        self.append(tree.to_ensemble())

    def build(self) -> TreeEnsemble:
        """Return the ensemble of all trees added; nothing can be added afterwards."""
        if self._shape is None:
            raise ValueError("An ensemble has at least one tree.")
        for name, array in self._arrays.items():
            if array.flags.owndata:
                array.resize((self._used[name], *array.shape[1:]), refcheck=False)
        arrays = {name: array[: self._used[name]] for name, array in self._arrays.items()}
        return TreeEnsemble(n_features=self._shape[0], **arrays)

    def append(self, part: Mapping[str, Any]) -> None:
        """Append the arrays of another ensemble."""
        shape = (part["n_features"], *part["value"].shape[1:])
        if self._shape is None:
            self._shape = shape
            for name in ARRAY_TYPES:
                first = int(name.endswith("_begin"))  # offsets begin with 0
                room = first + self._n_expected * len(part[name]) * 9 // 8
                self._arrays[name] = _room((room, *part[name].shape[1:]), part[name].dtype)
                self._arrays[name][:first] = 0
                self._used[name] = first
        if shape != self._shape:
            raise ValueError(
                f"The trees differ in (n_features, n_outputs, width): {sorted({shape, self._shape})}. "
                "Trees of one ensemble are fitted to the same features and classes."
            )
        for name in ARRAY_TYPES:
            offsets = name.endswith("_begin")
            new = part[name][1:] if offsets else part[name]
            if len(new) > 0:  # most pools of most trees are empty
                self._put(name, new + self._arrays[name][self._used[name] - 1] if offsets else new)

    def _put(self, name: str, new: NDArray[Any]) -> None:
        array, used = self._arrays[name], self._used[name]
        dtype = np.promote_types(array.dtype, new.dtype)
        if dtype != array.dtype:
            array = self._arrays[name] = array[:used].astype(dtype)
        self._used[name] = used + len(new)
        if self._used[name] > len(array):
            if not array.flags.owndata:
                array = self._arrays[name] = array[:used].copy()
            # The array has no other owner; some spare room keeps the number of calls low.
            more = min(self._used[name] // 8, _MAX_SPARE)
            array.resize((self._used[name] + more, *new.shape[1:]), refcheck=False)
        array[used : self._used[name]] = new


def _room(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Allocate an uninitialized array without huge pages, which NumPy would request.

    With fragmented memory, the system may take a tenth of a second to find one.
    """
    return core.room(math.prod(shape) * dtype.itemsize).view(dtype).reshape(shape)


def _check_offsets(name: str, begin: NDArray[np.int64], end: int, min_step: int) -> None:
    """Check that offsets go from 0 to end in steps of at least ``min_step``."""
    valid = len(begin) > 0 and begin[0] == 0 and begin[-1] == end
    # All within [0, end] first: then no difference can overflow.
    if not (valid and begin.min() >= 0 and begin.max() <= end and (np.diff(begin) >= min_step).all()):
        raise ModelFileError(f"Array {name!r} does not split {end} entries into consecutive parts.")
