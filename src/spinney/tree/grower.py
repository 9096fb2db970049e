"""grow: from a table and a target to a fitted tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spinney.data.training_set import Target, code_table
from spinney.native import core
from spinney.tree.plan import GrowPlan
from spinney.tree.tree_arrays import TreeArrays

__all__ = ["Grower", "Grown", "Target", "code_table"]


@dataclass(frozen=True)
class Grown:
    """A fitted tree and its split candidates, which are empty unless the plan records them."""

    tree: TreeArrays
    candidates: core.Candidates


class Grower:
    """Grow any number of trees on one coded table; what they can share is made once.

    Many threads may grow with one grower. The trees are the same for any number of threads.

    >>> from spinney.data import read_table
    >>> matrix = code_table(read_table([[0.0], [1.0]]), None, 255, 1)
    >>> grower = Grower(matrix)
    >>> target = Target(classes=np.array([[0], [1]], np.int32), n_classes=(2,))
    >>> grower.grow(target, GrowPlan(criterion="gini")).tree.node_count
    3
    """

    def __init__(self, matrix: core.CodeMatrix) -> None:
        self._core = core.Grower(matrix)

    def grow(self, target: Target, plan: GrowPlan, n_threads: int = 1) -> Grown:
        """Grow one tree by the plan."""
        grown = self._core.grow(
            target.classes, target.n_classes, target.values, target.weights, plan, n_threads
        )
        return Grown(TreeArrays.from_grown(grown), grown.candidates)

    def grow_forest(
        self,
        target: Target,
        plan: GrowPlan,
        sampler: core.BootstrapSampler,
        seeds: tuple[NDArray[np.uint64], NDArray[np.uint64]],
        take: Callable[[TreeArrays], None],
        n_threads: int = 1,
        *,
        balanced: bool = False,
    ) -> None:
        """Grow a tree for each pair of seeds, of its bag and of its own draws; a thread grows a tree.

        ``take`` is called with one tree after the other, in their order but on any thread, while others are
        grown.

        A row weighs as often as it is in the bag, times its weight in the target. ``balanced`` makes the
        classes of each bag weigh the same.
        """
        sample_seeds, tree_seeds = seeds
        self._core.grow_forest(
            target.classes, target.n_classes, target.values, plan, sampler, sample_seeds, tree_seeds,
            target.weights, balanced, lambda tree: take(TreeArrays.from_grown(tree)), n_threads,
        )  # fmt: skip

    def order_rows(
        self, target: Target, category_keys: Sequence[NDArray[np.uint64]], n_threads: int = 1
    ) -> NDArray[np.int64]:
        """Give the rows in an order of their own: that of a hash of their codes and targets.  -> (n_rows,)

        category_keys has for each column a key of each category, none for numbers.
        """
        return self._core.order_rows(target.classes, target.values, category_keys, n_threads)
