"""Training targets in the leaves of a regression forest, and their quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from spinney.bagging.sampling import BootstrapSamples
from spinney.data.training_set import TrainingSet
from spinney.io import Persistent, require
from spinney.members.fitting import run_jobs
from spinney.members.tables import is_array
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.predictor import Predictor

# Maximum number of leaf entries that are sorted together.
_MAX_ENTRIES = 1 << 21
# Tolerance for the rounding error of cumulative weights.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class LeafTargets(Persistent):
    """Training rows of every leaf of a forest.

    Attributes
    ----------
    y : ndarray of shape (n_rows, n_outputs)
        Targets of the training rows.
    row : ndarray of shape (n_entries,)
        Row numbers, repeated as often as the tree drew the row.
    begin : ndarray of shape (n_nodes + 1,)
        Node v, counted over all trees, has the entries ``begin[v]`` to ``begin[v + 1]`` of ``row``.
    weights : ndarray of shape (n_rows,) or None
        Weights that drawn rows kept, None if all are 1.
    """

    y: NDArray[np.float64]
    row: NDArray[np.int32]
    begin: NDArray[np.int64]
    weights: NDArray[np.float64] | None

    @classmethod
    def collect(
        cls, ensemble: TreeEnsemble, training: TrainingSet, samples: BootstrapSamples, n_jobs: int | None
    ) -> Self:
        """Find the leaf of each training row in each tree that drew it."""

        def fill(t: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
            tree, counts = ensemble.tree(t), samples.counts(t)
            rows = np.flatnonzero(counts)
            leaves = Predictor(tree).apply(training.table.take(rows))[:, 0]
            order = np.argsort(leaves, kind="stable")
            drawn = counts[rows]
            sizes = np.bincount(leaves, weights=drawn, minlength=tree.node_count).astype(np.int64)
            return np.repeat(rows[order], drawn[order]).astype(np.int32), sizes

        parts = run_jobs(fill, [(t,) for t in range(ensemble.n_trees)], n_jobs)
        sizes = np.concatenate([part[1] for part in parts])
        return cls(
            y=np.array(training.y),
            row=np.concatenate([part[0] for part in parts]),
            begin=np.concatenate([[0], np.cumsum(sizes)]),
            weights=samples.weights if samples.keeps_weights else None,
        )

    def quantiles(self, nodes: NDArray[np.int64], quantiles: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return quantiles of the targets in the leaves of rows.

        Parameters
        ----------
        nodes : ndarray of shape (n_rows, n_trees)
            Leaf of each row in each tree, counted over all trees.
        quantiles : ndarray of shape (n_quantiles,)
            Numbers from 0 to 1.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs, n_quantiles)
            The smallest target at or below which at least this fraction lies. Trees weigh the same, targets
            of a leaf by their weights.
        """
        n, n_outputs = len(nodes), self.y.shape[1]
        out = np.empty((n, n_outputs, len(quantiles)))
        sizes = np.diff(self.begin)[nodes].sum(axis=1)
        start = 0
        while start < n:
            fitting = int(np.searchsorted(np.cumsum(sizes[start:]), _MAX_ENTRIES, side="right"))
            end = start + max(1, fitting)
            query, row, weight = self._entries(nodes[start:end])
            for k in range(n_outputs):
                out[start:end, k] = _weighted_quantiles(query, self.y[row, k], weight, end - start, quantiles)
            start = end
        return out

    def _entries(
        self, nodes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return the query row, training row and weight of every entry; weights of a query sum to 1."""
        n, n_trees = nodes.shape
        first, size = self.begin[nodes].ravel(), np.diff(self.begin)[nodes].ravel()
        leaf = np.repeat(np.arange(n * n_trees), size)
        ends = np.cumsum(size)
        entry = np.arange(len(leaf)) - np.repeat(ends - size, size) + np.repeat(first, size)
        row = self.row[entry]
        weight = np.ones(len(row)) if self.weights is None else self.weights[row]
        total = np.bincount(leaf, weights=weight, minlength=n * n_trees)
        return leaf // n_trees, row, weight / total[leaf] / n_trees

    def validate(self, n_nodes: int, n_rows: int, n_outputs: int) -> None:
        """Raise ModelFileError unless arrays from a file have valid types, shapes and values."""
        y, row, begin, weights = self.y, self.row, self.begin, self.weights
        valid = is_array(y, np.float64, n_rows, n_outputs) and bool(np.isfinite(y).all())
        valid = valid and isinstance(row, np.ndarray) and is_array(row, np.int32, row.size)
        valid = valid and (len(row) == 0 or (row.min() >= 0 and row.max() < n_rows))
        valid = valid and is_array(begin, np.int64, n_nodes + 1) and begin[0] == 0
        valid = valid and begin[-1] == len(row) and bool((begin[1:] >= begin[:-1]).all())
        if weights is not None:
            valid = valid and is_array(weights, np.float64, n_rows) and bool((weights >= 0).all())
        require(valid, "the targets in the leaves of a forest are not valid")


def _weighted_quantiles(
    query: NDArray[np.int64],
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    n: int,
    quantiles: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return quantiles of the values of each of n queries, whose weights sum to 1.  -> (n, n_quantiles)"""
    order = np.lexsort((values, query))
    values, below = values[order], np.cumsum(weights[order])
    ends = np.cumsum(np.bincount(query, minlength=n))
    before = np.concatenate([[0.0], below[ends[:-1] - 1]])
    wanted = before[:, None] + (quantiles - _ROUNDING * n) * (below[ends - 1] - before)[:, None]
    found = np.searchsorted(below, wanted, side="left")
    first = np.concatenate([[0], ends[:-1]])[:, None]
    result: NDArray[np.float64] = values[np.clip(found, first, ends[:, None] - 1)]
    return result
