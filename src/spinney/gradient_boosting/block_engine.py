"""Blocks of rows: where their codes are, what is done to one of them, and engines that do it to all."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import CHUNK_ROWS
from spinney.core.memory import memory_limit
from spinney.data.schema import Table
from spinney.data.store.dataset import BinnedDataset
from spinney.data.store.table import BinnedTable
from spinney.native import core

Floats = NDArray[np.float64]
Codes = NDArray[np.uint8]

_BLOCK_CHUNKS = 4
"""Chunks of a block, where those of the store are no whole chunks."""
_MAX_CODES = 0.25
"""Part of the memory that codes may take; more of them are read block by block."""
_MAX_STATE = 0.25
"""Part of the memory that the state of the rows may take; a larger one is in a temporary file."""
_N_BINS = 256


class CodeSource(Protocol):
    """Where codes are read from."""

    n_rows: int
    n_features: int
    step: int
    """Rows of a block, a multiple of those of a chunk."""

    def codes(self, begin: int, end: int) -> Codes:
        """Return the codes of some rows.  -> (n_features, n_rows)"""


class DatasetCodes:
    """Codes of a dataset, which are read block by block.

    Parameters
    ----------
    dataset : BinnedDataset
        The dataset.
    """

    def __init__(self, dataset: BinnedDataset) -> None:
        self.dataset, self.n_rows, self.n_features = dataset, dataset.n_rows, dataset.n_features
        whole = dataset.block_rows % CHUNK_ROWS == 0
        self.step = dataset.block_rows if whole else _BLOCK_CHUNKS * CHUNK_ROWS

    @classmethod
    def of(cls, table: Table, max_bins: int) -> DatasetCodes | None:
        """Return the codes of a table that is a dataset too large for memory, None for all others."""
        dataset = table.dataset
        if not isinstance(table, BinnedTable) or not isinstance(dataset, BinnedDataset):
            return None
        stored = table.stored == tuple(range(dataset.n_features)) and dataset.is_whole and not dataset.wide
        limit = dataset.max_memory
        limit = int(_MAX_CODES * memory_limit()) if limit is None else limit
        # In memory there are the codes by column, and once more by row.
        small = 2 * dataset.n_rows * dataset.n_features <= limit
        return None if small or not stored or max_bins != dataset.max_bins else cls(dataset)

    def codes(self, begin: int, end: int) -> Codes:
        """Return the codes of some rows.  -> (n_features, n_rows)"""
        size = self.dataset.block_rows
        parts = []
        for index in range(begin // size, -(-end // size)):
            block = self.dataset.block(index)
            parts.append(block.codes[:, max(begin - block.begin, 0) : end - block.begin])
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


class Engine(Protocol):
    """Where blocks of rows are, and how functions are called on them: another engine defines these three."""

    def map_blocks(self, task: str, *args: Any) -> list[Any]:
        """Call a method of `BlockWorker` on every block; return the results in the order of the blocks."""

    def reduce(self, task: str, n_built: int, *args: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Call a method that adds to histograms; return them and the counts, both added over the blocks."""

    def lost(self) -> Sequence[int]:
        """Return the blocks whose state was lost since the last call, and restored by replaying the trees."""


class Draw(NamedTuple):
    """How the rows of a tree are drawn and quantized."""

    all: bool = True
    always: float = 0.0
    probability: float = 1.0
    proportional: bool = False
    reweight: bool = True
    slope: float = 0.0
    address: int = 0
    gradient_scale: float = 1.0
    hessian_scale: float = 1.0
    integer_weights: bool = True
    weight_unit: float = 1.0


class BlockWorker:
    """Rows of one block: its codes, and the state of its rows while trees are grown.

    Parameters
    ----------
    source : CodeSource
        Where the codes are.
    begin, end : int
        First row, a multiple of the rows of a chunk, and the row after the last.
    rows : BlockRows
        Targets, weights and state of these rows.
    n_threads : int
        Number of threads.
    """

    def __init__(
        self, source: CodeSource, begin: int, end: int, rows: core.BlockRows, n_threads: int
    ) -> None:
        self.source, self.begin, self.end, self.rows, self.n_threads = source, begin, end, rows, n_threads

    def _read(self) -> Codes:
        return self.source.codes(self.begin, self.end)

    def log_sum_exp(self) -> None:
        """Keep the logarithm of the sum of exponentials of the scores for the trees of a round."""
        self.rows.update_log_sum_exp(self.n_threads)

    def gradients(self, loss: str, parameters: Sequence[float], k: int) -> Floats:
        """Sum gradients, hessians and squares of gradients.  -> (n_chunks, 4)"""
        return self.rows.gradients(loss, parameters, k, self.n_threads)

    def importances(self, loss: str, parameters: Sequence[float], k: int, slope: float) -> NDArray[np.int64]:
        """Count the importances of the rows."""
        return self.rows.importances(loss, parameters, k, slope)

    def drawn(self, loss: str, parameters: Sequence[float], k: int, draw: Draw) -> Floats:
        """Sum gradients and hessians of the rows that are drawn.  -> (n_chunks, 2)"""
        return self.rows.drawn(loss, parameters, k, tuple(draw), self.n_threads)

    def quantize(
        self, loss: str, parameters: Sequence[float], k: int, draw: Draw
    ) -> tuple[float, float, int, int]:
        """Quantize gradients, and put all rows into the root."""
        return self.rows.quantize(loss, parameters, k, tuple(draw), self.n_threads)

    def root(self, out: NDArray[np.int64]) -> int:
        """Add all rows to the histogram of the root.  out (n_threads, 1, n_features, 256)"""
        self.rows.add_root(out, self._read())
        return 0

    def split(self, out: NDArray[np.int64], splits: Any, weight_unit: float) -> NDArray[np.int64]:
        """Move rows to the children of splits; count them, and add to the histograms that are wanted."""
        return self.rows.split(out, self._read(), splits, weight_unit)

    def weigh(self, out: NDArray[np.int64], nodes: NDArray[np.int32], weight_unit: float) -> int:
        """Add row weights by bin.  out (n_threads, n_nodes, n_features, 256)"""
        self.rows.weigh(out, self._read(), nodes, weight_unit)
        return 0

    def leaves(
        self,
        loss: str,
        parameters: Sequence[float],
        k: int,
        leaf_of_node: NDArray[np.int32],
        n_leaves: int,
        every: bool,
    ) -> Floats:
        """Sum gradients, hessians and weights of the leaves.  -> (n_chunks, n_leaves, 3)"""
        return self.rows.leaves(loss, parameters, k, leaf_of_node, n_leaves, every, self.n_threads)

    def residuals(self, k: int, leaf_of_node: NDArray[np.int32], n_leaves: int, every: bool) -> Any:
        """List residuals and weights by leaf.  -> (n_leaves,), (n, 2)"""
        return self.rows.residuals(k, leaf_of_node, n_leaves, every)

    def update(self, k: int, leaf_of_node: NDArray[np.int32], values: Floats) -> None:
        """Add the values of the leaves to the scores."""
        self.rows.update(k, leaf_of_node, values, self.n_threads)

    def losses(self, loss: str, parameters: Sequence[float], weights: Floats | None) -> Floats:
        """Sum losses and weights.  -> (n_chunks, 2)"""
        own = None if weights is None else np.ascontiguousarray(weights[self.begin : self.end])
        return self.rows.losses(loss, parameters, own, self.n_threads)

    def given(self, gradient: Floats | None, hessian: Floats | None) -> None:
        """Take gradients and hessians of all rows instead of those of a loss; None: no longer."""
        own = [
            None if a is None else np.ascontiguousarray(a[self.begin : self.end]) for a in (gradient, hessian)
        ]
        self.rows.set_gradients(*own)


class LocalEngine:
    """Blocks of one machine, one after the other; their state is in memory, or in a file if it is large."""

    def __init__(
        self, source: CodeSource, y: Floats, weights: Floats | None, scores: Floats, n_threads: int
    ) -> None:
        n, n_scores, step = source.n_rows, scores.shape[1], source.step
        self._source, self._n_threads = source, n_threads
        self._state = RowState.allocate(n, n_scores, n_scores > 1)
        self._state.scores[:] = scores.T
        self.workers = [
            BlockWorker(source, begin, end, self._rows(y, weights, begin, end), n_threads)
            for begin, end in ((at, min(at + step, n)) for at in range(0, n, step))
        ]

    def _rows(self, y: Floats, weights: Floats | None, begin: int, end: int) -> core.BlockRows:
        state, own = self._state, slice(begin, end)
        return core.BlockRows(
            begin,
            y[:, own],
            None if weights is None else weights[own],
            state.scores[:, own],
            None if state.log_sum_exp is None else state.log_sum_exp[own],
            state.packed[own],
            state.nodes[own],
        )

    @property
    def scores(self) -> Floats:
        """Raw scores of all rows.  (n_rows, n_scores)"""
        return np.ascontiguousarray(self._state.scores.T)

    def map_blocks(self, task: str, *args: Any) -> list[Any]:
        """Call a method of `BlockWorker` on every block; return the results in the order of the blocks."""
        return [getattr(worker, task)(*args) for worker in self.workers]

    def reduce(self, task: str, n_built: int, *args: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Call a method that adds to histograms; return them and the counts, both added over the blocks."""
        shape = self._n_threads, n_built, self._source.n_features, _N_BINS
        out = np.zeros(shape, dtype=np.int64)
        counts = sum(getattr(worker, task)(out, *args) for worker in self.workers)
        return np.asarray(counts), out[0] if self._n_threads == 1 else out.sum(axis=0)

    def lost(self) -> Sequence[int]:
        """Return nothing: blocks of this machine are not lost."""
        return ()


@dataclass
class RowState:
    """State of the rows while trees are grown, 18 bytes per row and 8 for each further score."""

    scores: Floats
    packed: NDArray[np.int64]
    nodes: NDArray[np.uint16]
    log_sum_exp: Floats | None
    _files: list[Any] = field(default_factory=list)

    @classmethod
    def allocate(cls, n_rows: int, n_scores: int, has_log_sum_exp: bool) -> RowState:
        """Make arrays in memory, or in temporary files where they would take too much of it."""
        size = n_rows * (8 * n_scores + 18)
        files: list[Any] = []

        def array(dtype: Any, *shape: int) -> NDArray[Any]:
            if size <= _MAX_STATE * memory_limit():
                return np.zeros(shape, dtype)
            files.append(tempfile.TemporaryFile(prefix="spinney-"))  # noqa: SIM115 (until the fit ends)
            return np.memmap(files[-1], dtype, "w+", shape=shape)

        return cls(
            array(np.float64, n_scores, n_rows),
            array(np.int64, n_rows),
            array(np.uint16, n_rows),
            array(np.float64, n_rows) if has_log_sum_exp else None,
            files,
        )
