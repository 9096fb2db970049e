"""Predictors: trees and ensembles packed for prediction in compiled code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csr_array

from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.tree_arrays import TreeArrays

# Stages are computed some at a time, since the rows are read anew each time; so much memory may they take.
_STAGED_BYTES = 1 << 24


class Rows(Protocol):
    """Hold what is to be predicted: `block` if the rows are one 2-D array, and the columns in any case."""

    @property
    def n_rows(self) -> int:
        """Count the rows."""

    @property
    def block(self) -> NDArray[np.floating[Any]] | None:
        """Give the rows as one array (n_rows, n_features), or None."""

    @property
    def columns(self) -> Sequence[NDArray[Any]]:
        """Give one array (n_rows,) a feature."""


class TreePredictor:
    """Pack a tree once, then predict any number of tables with it; many threads may share one.

    ``n_classes`` has the number of classes of each output; by default that is the full width of ``value``.

    >>> predictor = TreePredictor(model.tree_)                      # doctest: +SKIP
    >>> predictor.value(table, n_threads=2).shape                   # doctest: +SKIP
    (150, 1, 3)
    """

    __slots__ = ("_core", "_n_classes", "_n_outputs", "_tree", "_used")

    def __init__(self, tree: TreeArrays, n_classes: Sequence[int] | None = None) -> None:
        from spinney.native import core

        self._tree = tree
        self._n_outputs = tree.n_outputs
        self._n_classes = [int(k) for k in (tree.n_classes if n_classes is None else n_classes)]
        self._core: Any = core.Predictor(tree, self._n_classes)
        self._used: list[int] = self._core.used_features

    def __reduce__(self) -> tuple[type[TreePredictor], tuple[TreeArrays, list[int]]]:
        # The packed form belongs to this processor and this version; it is made again from the tree.
        return TreePredictor, (self._tree, self._n_classes)

    def value(self, table: Rows, n_threads: int = 1) -> NDArray[np.float64]:
        """Give each row's value: class proportions, or the mean.  -> (n_rows, n_outputs, width)

        >>> predictor.value(table)[:, 0]  # doctest: +SKIP
        """
        out: NDArray[np.float64] = self._core.values(used_columns(table, self._used), n_threads, table.n_rows)
        return out

    def classes(self, table: Rows, n_threads: int = 1) -> NDArray[np.int64]:
        """Give the number of each row's likeliest class, if tied the first.

        -> (n_rows,), or (n_rows, n_outputs) for several outputs

        >>> model.classes_[predictor.classes(table)]  # doctest: +SKIP
        """
        out: NDArray[np.int64] = self._core.classes(used_columns(table, self._used), n_threads, table.n_rows)
        return out[:, 0] if self._n_outputs == 1 else out

    def apply(self, table: Rows, n_threads: int = 1) -> NDArray[np.int64]:
        """Give the node that answers for each row; of several the heaviest, if tied the first.  -> (n_rows,)

        >>> predictor.apply(table)  # doctest: +SKIP
        """
        out: NDArray[np.int64] = self._core.apply(used_columns(table, self._used), n_threads, table.n_rows)
        return out

    def decision_path(self, table: Rows, n_threads: int = 1) -> csr_array[np.float64, tuple[int, int]]:
        """Give the share with which each row reaches each node: 1 unless a missing value divided it.

        -> (n_rows, n_nodes)

        >>> predictor.decision_path(table)[0].indices  # doctest: +SKIP
        """
        indptr, indices, shares = self._core.decision_path(
            used_columns(table, self._used), n_threads, table.n_rows
        )
        return csr_array((shares, indices, indptr), shape=(table.n_rows, self._tree.node_count))


def used_columns(table: Rows, used: Sequence[int]) -> NDArray[Any] | list[NDArray[Any] | None]:
    """Give the block as it is; of columns only those that trees read, as sparse tables make them late."""
    if table.block is not None:
        return table.block
    columns: list[NDArray[Any] | None] = [None] * len(table.columns)
    for j in used:
        columns[j] = table.columns[j]
    return columns


class EnsemblePredictor:
    """Predict any number of tables with an ensemble; many threads may share one predictor.

    Without ``outputs_per_round`` every tree answers for all outputs, and results have the shape
    (n_rows, n_outputs, width), as in a forest. With ``outputs_per_round=K`` tree t answers for column t % K
    by one number, and results are (n_rows, K), as in boosting with K trees a round.

    Numbers are added in float64 in the order of the trees, each row for itself: the bits are the same for any
    number of threads, and the same as those of one tree added after the other.

    >>> predictor = EnsemblePredictor(ensemble, outputs_per_round=1)  # doctest: +SKIP
    >>> predictor.sum(table, start=np.full((table.n_rows, 1), 0.5))   # doctest: +SKIP
    """

    __slots__ = ("_core", "_ensemble", "_outputs_per_round", "_shape", "_step", "_used")

    def __init__(self, ensemble: TreeEnsemble, outputs_per_round: int | None = None) -> None:
        from spinney.native import core

        if outputs_per_round is not None and ensemble.value.shape[1:] != (1, 1):
            raise ValueError("outputs_per_round is for trees with one number a node.")
        if outputs_per_round is not None and ensemble.n_trees % outputs_per_round:
            raise ValueError(f"{ensemble.n_trees} trees are no rounds of {outputs_per_round}.")
        self._ensemble, self._outputs_per_round = ensemble, outputs_per_round
        self._step = outputs_per_round or 1  # trees of a round
        self._shape = (outputs_per_round,) if outputs_per_round else ensemble.value.shape[1:]
        self._core: Any = core.EnsemblePredictor(ensemble, outputs_per_round or 0)
        self._used: list[int] = self._core.used_features

    def __reduce__(self) -> tuple[type[EnsemblePredictor], tuple[TreeEnsemble, int | None]]:
        # The packed form belongs to this processor and this version; it is made again from the trees.
        return EnsemblePredictor, (self._ensemble, self._outputs_per_round)

    def sum(
        self,
        table: Rows,
        n_threads: int = 1,
        *,
        weights: Sequence[float] | NDArray[np.float64] | None = None,
        n_trees: int | None = None,
        start: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Add up the trees' values, each times its weight, to start or to 0.  -> (n_rows, n_outputs, width)

        weights (n_trees,); n_trees: only the first so many; start has the result's shape, and is not changed.

        >>> predictor.sum(table, n_trees=50)  # doctest: +SKIP
        """
        total = self._sums(table, n_threads, weights, range(self._count(n_trees)), start, 1)
        return total.reshape(table.n_rows, *self._shape)

    def mean(
        self,
        table: Rows,
        n_threads: int = 1,
        *,
        weights: Sequence[float] | NDArray[np.float64] | None = None,
        n_trees: int | None = None,
    ) -> NDArray[np.float64]:
        """Give the (weighted) mean of the trees' values.  -> (n_rows, n_outputs, width)

        >>> predictor.mean(table)[:, 0]  # doctest: +SKIP
        """
        total = self.sum(table, n_threads, weights=weights, n_trees=n_trees)
        total /= self._total_weights(weights, n_trees)[-1]
        return total

    def staged_sum(
        self,
        table: Rows,
        n_threads: int = 1,
        *,
        weights: Sequence[float] | NDArray[np.float64] | None = None,
        n_trees: int | None = None,
        start: NDArray[np.float64] | None = None,
    ) -> Iterator[NDArray[np.float64]]:
        """Give what `sum` gives for one round of trees, for two, and so on.

        >>> for stage in predictor.staged_sum(table): ...  # doctest: +SKIP
        """
        n_stages = self._count(n_trees) // self._step
        at_once = max(1, _STAGED_BYTES // (8 * max(table.n_rows, 1) * int(np.prod(self._shape))))
        for first in range(0, n_stages, at_once):
            end = min(first + at_once, n_stages)
            trees = range(first * self._step, end * self._step)
            stages = self._sums(table, n_threads, weights, trees, start, end - first)
            yield from stages
            start = stages[-1]

    def staged_mean(
        self,
        table: Rows,
        n_threads: int = 1,
        *,
        weights: Sequence[float] | NDArray[np.float64] | None = None,
        n_trees: int | None = None,
    ) -> Iterator[NDArray[np.float64]]:
        """Give what `mean` gives for the first tree, the first two, and so on.

        >>> for stage in predictor.staged_mean(table): ...  # doctest: +SKIP
        """
        totals = self._total_weights(weights, n_trees)
        stages = self.staged_sum(table, n_threads, weights=weights, n_trees=n_trees)
        for stage, total in zip(stages, totals[self._step - 1 :: self._step], strict=True):
            yield stage / total

    def apply(self, table: Rows, n_threads: int = 1, *, n_trees: int | None = None) -> NDArray[np.int32]:
        """Give the node of each tree that answers for each row, numbered within its tree.

        -> (n_rows, n_trees). Of several, for a row that was divided, the heaviest; if tied the first.

        >>> predictor.apply(table)[0]  # doctest: +SKIP
        """
        n_trees = self._count(n_trees)
        columns = used_columns(table, self._used)
        leaves: NDArray[np.int32] = self._core.apply(columns, n_threads, table.n_rows, n_trees)
        return leaves

    def decision_path(self, table: Rows, n_threads: int = 1) -> tuple[Any, NDArray[np.int64]]:
        """Give the share with which each row reaches each node, and where each tree's nodes begin.

        -> a sparse array (n_rows, node_count), and the offsets (n_trees + 1,) of the trees in its columns

        >>> path, n_nodes_ptr = predictor.decision_path(table)  # doctest: +SKIP
        """
        paths = [TreePredictor(tree).decision_path(table, n_threads) for tree in self._ensemble.trees()]
        return sparse.hstack(paths, format="csr"), self._ensemble.tree_begin.copy()

    def _count(self, n_trees: int | None) -> int:
        most = self._ensemble.n_trees
        if n_trees is None:
            return most
        if not 0 <= n_trees <= most or n_trees % self._step:
            raise ValueError(f"n_trees={n_trees}: there are {most} trees, {self._step} a round.")
        return n_trees

    def _total_weights(self, weights: Any, n_trees: int | None) -> NDArray[np.float64]:
        n_trees = self._count(n_trees)
        if weights is None:
            return np.arange(1.0, n_trees + 1.0)
        return np.cumsum(np.asarray(weights, dtype=np.float64)[:n_trees])

    def _sums(
        self, table: Rows, n_threads: int, weights: Any, trees: range, start: Any, n_stages: int
    ) -> NDArray[np.float64]:
        """Add trees to the start in equal stages, and give the sums after each.  -> (n_stages, n_rows, …)"""
        if weights is not None:
            weights = np.ascontiguousarray(weights, dtype=np.float64)
        if start is not None:
            start = np.ascontiguousarray(start, dtype=np.float64)
        columns = used_columns(table, self._used)
        sums: NDArray[np.float64] = self._core.sum(
            columns, n_threads, table.n_rows, trees.start, len(trees), n_stages, weights, start
        )
        return sums.reshape(n_stages, table.n_rows, *self._shape)
