"""Grower: trees grown on one coded table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spinney.data.training_set import Target
from spinney.native import core
from spinney.tree.ensemble import EnsembleBuilder, TreeEnsemble
from spinney.tree.plan import GrowPlan
from spinney.tree.tree_arrays import TreeArrays


@dataclass(frozen=True)
class Grown:
    """A fitted tree and its split candidates, which are empty unless the plan records them."""

    tree: TreeArrays
    candidates: core.Candidates


class Grower:
    """Grows any number of trees on one coded table; what they can share is computed once.

    Many threads may use one grower. The trees are the same for any number of threads.

    Parameters
    ----------
    matrix : CodeMatrix
        Bin or rank codes of the table.

    Examples
    --------
    >>> from spinney.data import read_table
    >>> from spinney.data.training_set import code_table
    >>> matrix = code_table(read_table([[0.0], [1.0]]), None, 255, 1)
    >>> grower = Grower(matrix)
    >>> target = Target(classes=np.array([[0], [1]], np.int32), n_classes=(2,))
    >>> grower.grow(target, GrowPlan(criterion="gini")).tree.node_count
    3
    """

    def __init__(self, matrix: core.CodeMatrix) -> None:
        self._core = core.Grower(matrix)

    def grow(self, target: Target, plan: GrowPlan, n_threads: int = 1) -> Grown:
        """Grow one tree.

        Parameters
        ----------
        target : Target
            Classes or values, and row weights.
        plan : GrowPlan
            How to grow.
        n_threads : int, default=1
            Number of threads.

        Returns
        -------
        Grown
            The tree, and its split candidates if the plan records them.
        """
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
        n_threads: int = 1,
        *,
        balanced: bool = False,
        prune: Callable[[TreeArrays], TreeArrays] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> TreeEnsemble:
        """Grow one tree per pair of seeds, each on its own bootstrap sample and thread.

        The trees are appended to one ensemble in the core, without a Python object per tree, unless they are
        pruned.

        Parameters
        ----------
        target : Target
            Classes or values, and row weights, which multiply the counts of the bootstrap sample.
        plan : GrowPlan
            How to grow.
        sampler : BootstrapSampler
            Draws the bootstrap samples.
        seeds : tuple of two ndarray of shape (n_trees,)
            Seeds of the bootstrap samples and of the trees' own draws.
        n_threads : int, default=1
            Number of threads.
        balanced : bool, default=False
            Give all classes of a bootstrap sample the same weight.
        prune : function of TreeArrays, or None, default=None
            Called with the trees in order, on any thread, while others are grown; returns the tree to keep.
        progress : function of int, or None, default=None
            Called with the number of trees kept so far, on any thread.

        Returns
        -------
        TreeEnsemble
            The trees in the order of their seeds.
        """
        sample_seeds, tree_seeds = seeds
        builder = EnsembleBuilder(len(tree_seeds))

        def keep_pruned(tree: core.GrownTree) -> None:
            assert prune is not None
            builder.add(prune(TreeArrays.from_grown(tree)))
            if progress is not None:
                progress(builder.n_trees)

        grown = self._core.grow_forest(
            target.classes, target.n_classes, target.values, plan, sampler, sample_seeds, tree_seeds,
            target.weights, balanced, None if prune is None else keep_pruned, progress, n_threads,
        )  # fmt: skip
        return TreeEnsemble.from_forest(grown) if prune is None else builder.build()

    def order_rows(
        self, target: Target, category_keys: Sequence[NDArray[np.uint64]], n_threads: int = 1
    ) -> NDArray[np.int64]:
        """Return the rows in the order of a hash of their codes and targets.

        Parameters
        ----------
        target : Target
            Classes or values.
        category_keys : sequence of ndarray
            For each column a key per category; empty for a numeric column.
        n_threads : int, default=1
            Number of threads.

        Returns
        -------
        ndarray of shape (n_rows,)
            Positions of the rows.
        """
        return self._core.order_rows(target.classes, target.values, category_keys, n_threads)
