"""The training targets in the leaves of a regression forest: a whole distribution for every row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from spinney.bagging.sampling import BootstrapSamples
from spinney.core.errors import ModelFileError
from spinney.data.table import Table
from spinney.io import Persistent
from spinney.members.fitting import run_jobs
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.predict import TreePredictor

# Entries of leaves that are sorted together.
_AT_ONCE = 1 << 21
# What a share that was added up may fall short by.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class LeafTargets(Persistent):
    """Hold which training rows fell into each leaf: node v has those from ``begin[v]`` to ``begin[v + 1]``.

    ``begin`` counts the nodes of all trees on; ``row`` names a row as often as the tree drew it. y
    (n_rows, n_outputs) are the targets, weights (n_rows,) those that drawn rows kept, None if all are 1.
    """

    y: NDArray[np.float64]
    row: NDArray[np.int32]
    begin: NDArray[np.int64]
    weights: NDArray[np.float64] | None

    @classmethod
    def collect(
        cls,
        ensemble: TreeEnsemble,
        table: Table,
        y: NDArray[np.float64],
        bags: BootstrapSamples,
        n_jobs: int | None,
    ) -> Self:
        """Send each tree's rows down the tree; one divided for want of a value counts in its largest part."""

        def fill(t: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
            tree, counts = ensemble.tree(t), bags.counts(t)
            rows = np.flatnonzero(counts)
            leaves = TreePredictor(tree).apply(table.take(rows))
            order = np.argsort(leaves, kind="stable")
            drawn = counts[rows]
            sizes = np.bincount(leaves, weights=drawn, minlength=tree.node_count).astype(np.int64)
            return np.repeat(rows[order], drawn[order]).astype(np.int32), sizes

        parts = run_jobs(fill, [(t,) for t in range(ensemble.n_trees)], n_jobs)
        sizes = np.concatenate([part[1] for part in parts])
        return cls(
            y=np.array(y),
            row=np.concatenate([part[0] for part in parts]),
            begin=np.concatenate([[0], np.cumsum(sizes)]),
            weights=bags.weights if bags.keeps_weights else None,
        )

    def quantiles(self, nodes: NDArray[np.int64], quantiles: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the least target below which a share of at least each quantile lies.

        nodes (n_rows, n_trees) are leaves among the nodes of all trees. Each tree counts the same, and in it
        each target of the leaf by its weight.  -> (n_rows, n_outputs, n_quantiles)
        """
        n, n_outputs = len(nodes), self.y.shape[1]
        out = np.empty((n, n_outputs, len(quantiles)))
        sizes = np.diff(self.begin)[nodes].sum(axis=1)
        start = 0
        while start < n:
            # At least one row, and as many as fit.
            fit = int(np.searchsorted(np.cumsum(sizes[start:]), _AT_ONCE, side="right"))
            end = start + max(1, fit)
            query, row, share = self._spread(nodes[start:end])
            for k in range(n_outputs):
                out[start:end, k] = _weighted_quantiles(query, self.y[row, k], share, end - start, quantiles)
            start = end
        return out

    def _spread(
        self, nodes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Give for every entry of the leaves: the row that asks, the training row, and its share."""
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
        """Raise ModelFileError unless every number may be trusted."""
        y, row, begin = self.y, self.row, self.begin
        sound = all(isinstance(array, np.ndarray) for array in (y, row, begin))
        sound = sound and y.dtype == np.float64 and y.shape == (n_rows, n_outputs)
        sound = sound and bool(np.isfinite(y).all())
        sound = sound and row.dtype == np.int32 and row.ndim == 1
        sound = sound and (len(row) == 0 or (row.min() >= 0 and row.max() < n_rows))
        sound = sound and begin.dtype == np.int64 and begin.shape == (n_nodes + 1,)
        sound = sound and begin[0] == 0 and begin[-1] == len(row) and begin.min() >= 0
        sound = sound and begin.max() <= len(row) and bool((np.diff(begin) >= 0).all())
        if self.weights is not None:
            sound = sound and isinstance(self.weights, np.ndarray) and self.weights.shape == (n_rows,)
            sound = sound and self.weights.dtype == np.float64 and bool((self.weights >= 0).all())
        if not sound:
            raise ModelFileError(
                "The targets in the leaves of the forest are damaged.", fix="Save the model again."
            )


def _weighted_quantiles(
    query: NDArray[np.int64],
    values: NDArray[np.float64],
    share: NDArray[np.float64],
    n: int,
    quantiles: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Give quantiles of the values of each of n queries, whose shares add up to 1.  -> (n, n_quantiles)"""
    order = np.lexsort((values, query))
    values, below = values[order], np.cumsum(share[order])
    ends = np.cumsum(np.bincount(query, minlength=n))
    before = np.concatenate([[0.0], below[ends[:-1] - 1]])
    wanted = before[:, None] + (quantiles - _ROUNDING * n) * (below[ends - 1] - before)[:, None]
    found = np.searchsorted(below, wanted, side="left")
    first = np.concatenate([[0], ends[:-1]])[:, None]
    result: NDArray[np.float64] = values[np.clip(found, first, ends[:, None] - 1)]
    return result
