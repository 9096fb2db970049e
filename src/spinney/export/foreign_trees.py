"""Binary trees of other libraries as `TreeArrays`, and thresholds for numbers that they round to float32."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.data.columns import default_names
from spinney.data.features import Feature
from spinney.data.schema import Schema
from spinney.tree.tree_arrays import CATEGORY_SET, LEAF, NUMERIC, TreeArrays

_MAX = float(np.finfo(np.float64).max)


@dataclass
class ForeignNode:
    """A node in the words of most libraries; ``left`` is the child of values ≤ threshold, −1 at a leaf.

    ``categories`` are the codes that go to the left child of a categorical split.
    """

    left: int = -1
    right: int = -1
    feature: int = -1
    threshold: float = np.nan
    missing_left: bool = True
    value: Any = 0.0
    categories: list[int] | None = None
    weight: float = 0.0
    n_samples: int = 0
    gain: float = 0.0


def build_tree(nodes: list[ForeignNode], n_features: int, root: int = 0) -> TreeArrays:
    """Return a tree of nodes in any order, whose values are numbers or vectors of the same length."""
    order, at = [root], 0
    while at < len(order):
        node = nodes[order[at]]
        order += [node.left, node.right] if node.left >= 0 else []
        at += 1
        if len(order) > 2 * len(nodes) + 1:
            raise ValueError("The nodes are not those of a tree.")
    chosen = [nodes[index] for index in order]
    limits = [node.threshold for node in chosen]
    is_leaf = np.array([node.left < 0 for node in chosen])
    is_set = np.array([node.categories is not None for node in chosen])
    n_children = np.where(is_leaf, 0, 2)
    words = [_bits(node.categories or []) for node in chosen]
    set_begin = np.concatenate([[0], np.cumsum([len(one) for one in words])])
    n = len(chosen)
    nothing = np.zeros(n + 1, np.int64)
    value = np.array([np.atleast_1d(node.value) for node in chosen], dtype=np.float64)
    return TreeArrays(
        kind=np.where(is_leaf, LEAF, np.where(is_set, CATEGORY_SET, NUMERIC)),
        feature=np.array([-1 if leaf else node.feature for node, leaf in zip(chosen, is_leaf, strict=True)]),
        # An infinite threshold sends all known values to one side.
        threshold=np.where(is_leaf | is_set, np.nan, np.clip(limits, -_MAX, _MAX)),
        first_child=np.where(is_leaf, -1, 1 + np.cumsum(n_children) - n_children),
        n_children=n_children,
        missing=np.where(is_leaf, -1, [0 if node.missing_left else 1 for node in chosen]),
        value=value.reshape(n, 1, -1),
        weight=np.array([node.weight for node in chosen]),
        n_samples=np.array([node.n_samples for node in chosen]),
        impurity=np.array([node.gain for node in chosen]),
        set_begin=set_begin,
        set_bits=np.array([word for one in words for word in one], np.uint64),
        branch_begin=nothing,
        branch=np.empty(0, np.int32),
        term_begin=nothing,
        term_feature=np.empty(0, np.int32),
        term_coefficient=np.empty(0),
        term_fill=np.empty(0),
        n_features=n_features,
    )


def _bits(codes: list[int]) -> list[int]:
    """Return a set of codes as words of 64 bits."""
    words = [0] * (max(codes) // 64 + 1 if codes else 0)
    for code in codes:
        words[code // 64] |= 1 << code % 64
    return words


def at_most_single(limit: Any) -> Floats:
    """Return thresholds for float64 numbers that are rounded to float32 and then compared with ``limit``.

    x ≤ result is the same as float32(x) ≤ limit, for every float64 number x and float32 limit.

    >>> x, limit = np.float64(0.1), np.float32(0.1)
    >>> bool(x <= at_most_single(limit)), bool(np.nextafter(limit, np.float32(1)) <= at_most_single(limit))
    (True, False)
    """
    lower = np.asarray(limit, np.float32)
    with np.errstate(over="ignore"):
        upper = np.nextafter(lower, np.float32(np.inf))
    finite = np.where(np.isinf(upper), 2.0**128, upper.astype(np.float64))
    middle = (lower.astype(np.float64) + finite) / 2
    # Numbers in the middle are rounded to the one whose last bit is 0.
    is_even = (lower.view(np.uint32) & 1) == 0
    found: Floats = np.where(is_even, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isinf(lower), lower.astype(np.float64), found)


def below_single(limit: Any) -> Floats:
    """Return thresholds for float64 numbers that are rounded to float32 and compared by x < ``limit``.

    >>> bool(np.float32(0.1) <= below_single(np.float32(0.1)))
    False
    """
    return at_most_single(np.nextafter(np.asarray(limit, np.float32), np.float32(-np.inf)))


def single_floor(threshold: Any) -> NDArray[np.float32]:
    """Return the largest float32 numbers that are at most the given ones.

    >>> single_floor(0.1) <= 0.1
    True
    """
    values = np.asarray(threshold, np.float64)
    with np.errstate(over="ignore"):
        near = values.astype(np.float32)
    return np.asarray(np.where(near > values, np.nextafter(near, np.float32(-np.inf)), near), np.float32)


@dataclass
class ForeignSchema:
    """Features of a model: names, if there are any, and the categories of those that have some."""

    n_features: int
    names: list[str] | None = None
    categories: dict[int, list[Any]] = field(default_factory=dict)

    def build(self) -> Schema:
        """Return the schema; names that are not unique are left out."""
        names = self.names
        if names is None or len(set(names)) != self.n_features:
            names = None
        features = [
            Feature(name, "categorical", tuple(self.categories[j]), "int32")
            if j in self.categories
            else Feature(name, "numeric", (), "float64")
            for j, name in enumerate(names or default_names(self.n_features))
        ]
        return Schema(tuple(features), names is not None)
