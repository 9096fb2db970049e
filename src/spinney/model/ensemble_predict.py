"""Prediction with many trees at once: sums and means over an ensemble, stage by stage where asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney.model.ensemble import TreeEnsemble
from spinney.model.predict import Rows, TreePredictor


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

    __slots__ = ("_ensemble", "_outputs_per_round", "_trees")

    def __init__(self, ensemble: TreeEnsemble, outputs_per_round: int | None = None) -> None:
        if outputs_per_round is not None and ensemble.value.shape[1:] != (1, 1):
            raise ValueError("outputs_per_round is for trees with one number a node.")
        if outputs_per_round is not None and ensemble.n_trees % outputs_per_round:
            raise ValueError(f"{ensemble.n_trees} trees are no rounds of {outputs_per_round}.")
        self._ensemble, self._outputs_per_round = ensemble, outputs_per_round
        self._trees = [TreePredictor(tree) for tree in ensemble.trees()]

    def __reduce__(self) -> tuple[type[EnsemblePredictor], tuple[TreeEnsemble, int | None]]:
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
        *_, last = self._stages(table, n_threads, weights, n_trees, start)
        return last

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
        stages = self._stages(table, n_threads, weights, n_trees, start)
        next(stages)
        return stages

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
        leaves = np.empty((table.n_rows, n_trees), dtype=np.int32)
        for t, tree in enumerate(self._trees[:n_trees]):
            leaves[:, t] = tree.apply(table, n_threads)
        return leaves

    def decision_path(self, table: Rows, n_threads: int = 1) -> tuple[Any, NDArray[np.int64]]:
        """Give the share with which each row reaches each node, and where each tree's nodes begin.

        -> a sparse array (n_rows, node_count), and the offsets (n_trees + 1,) of the trees in its columns

        >>> path, n_nodes_ptr = predictor.decision_path(table)  # doctest: +SKIP
        """
        paths = [tree.decision_path(table, n_threads) for tree in self._trees]
        return sparse.hstack(paths, format="csr"), self._ensemble.tree_begin.copy()

    @property
    def _step(self) -> int:
        """Count the trees of a round."""
        return self._outputs_per_round or 1

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

    def _stages(
        self, table: Rows, n_threads: int, weights: Any, n_trees: int | None, start: Any
    ) -> Iterator[NDArray[np.float64]]:
        """Give the start and the sum after each round."""
        n_trees = self._count(n_trees)
        shape = (self._step, 1, 1) if self._outputs_per_round else (1, *self._ensemble.value.shape[1:])
        total = np.zeros((table.n_rows, *shape))
        if start is not None:
            total += np.asarray(start, dtype=np.float64).reshape(total.shape)
        result = shape[:1] if self._outputs_per_round else shape[1:]
        yield total.reshape(table.n_rows, *result).copy()
        for t in range(n_trees):
            value = self._trees[t].value(table, n_threads)
            total[:, t % self._step] += value if weights is None else weights[t] * value
            if (t + 1) % self._step == 0:
                yield total.reshape(table.n_rows, *result).copy()
