"""Blocks of rows: where their codes are, what is done to one of them, and engines that do it to all."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import CHUNK_ROWS
from spinney.core.memory import memory_limit
from spinney.data.schema import Table
from spinney.data.store.dataset import BinnedDataset
from spinney.data.store.table import BinnedTable, StoredRows
from spinney.native import core
from spinney.tree.predictor import Predictor

Floats = NDArray[np.float64]
Codes = NDArray[np.uint8]

_BLOCK_CHUNKS = 4
"""Chunks of a block, where those of the store are no whole chunks."""
_MAX_STATE = 0.25
"""Part of the memory that the state of the rows may take; a larger one is in a temporary file."""
_N_BINS = 256


@dataclass
class Traffic:
    """What boosting on blocks has read and moved.

    Attributes
    ----------
    n_trees, n_reads : int
        Number of trees, and of passes over the codes of all rows.
    bytes_read : int
        Bytes of codes that were read.
    bytes_moved : int
        Bytes of arguments and results of the blocks; between processes, where blocks are in others.
    n_exchanges : int
        Number of times that all blocks were asked for something.
    n_restored : int
        Number of blocks that were lost, with the worker that had them, and were made again.
    """

    n_trees: int = 0
    n_reads: int = 0
    bytes_read: int = 0
    bytes_moved: int = 0
    n_exchanges: int = 0
    n_restored: int = 0

    @property
    def reads_per_tree(self) -> float:
        """Mean number of passes over the codes per tree."""
        return self.n_reads / max(1, self.n_trees)


class PerRow(NamedTuple):
    """Argument of a task with an entry for every row, of which each block gets its own."""

    values: NDArray[Any]

    def cut(self, begin: int, end: int) -> NDArray[Any]:
        """Return the entries of some rows."""
        return np.ascontiguousarray(self.values[begin:end])


class Engine(Protocol):
    """Where blocks of rows are, and how functions are called on them: another engine defines these three."""

    def map_blocks(self, task: str, *args: Any) -> list[Any]:
        """Call a method of `BlockWorker` on every block; return the results in the order of the blocks."""

    def reduce(self, task: str, n_built: int, *args: Any) -> tuple[list[Any], NDArray[np.int64]]:
        """Call a method that adds to histograms; return the results by block, and the histograms added."""

    def lost(self) -> Sequence[int]:
        """Return the blocks whose state was lost since the last call, and restored by replaying the trees."""


class CodeSource(Protocol):
    """Codes of all rows, in blocks: where they are read, or who has them."""

    n_rows: int
    n_features: int

    def described_columns(self) -> core.CodeMatrix:
        """Return the bins and categories of the columns as a matrix without rows."""

    def start(
        self, y: Floats, weights: Floats | None, scores: Floats, n_threads: int, traffic: Traffic
    ) -> Engine:
        """Return an engine; y (n_outputs, n_rows), weights (n_rows,), scores (n_rows, n_scores)."""

    def add_trees(self, predictor: Predictor, scores: Floats, n_threads: int) -> Floats:
        """Add trees to the raw scores of all rows.  scores (n_rows, n_scores)"""


def block_codes(table: Table, max_bins: int) -> CodeSource | None:
    """Return the codes of a dataset that is read block by block; None if it is coded in memory."""
    dataset = table.dataset
    if not isinstance(table, BinnedTable) or not isinstance(dataset, StoredRows):
        return None
    if table.stored != tuple(range(dataset.schema.n_features)) or max_bins != dataset.max_bins:
        return None
    if not isinstance(dataset, BinnedDataset):
        source: CodeSource | None = dataset.code_source()
        return source
    if not dataset.is_whole or dataset.wide or not dataset.exceeds_memory:
        return None
    return DatasetCodes(dataset)


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

    def described_columns(self) -> core.CodeMatrix:
        """Return the bins and categories of the columns as a matrix without rows."""
        return self.dataset.described_columns()

    def start(
        self, y: Floats, weights: Floats | None, scores: Floats, n_threads: int, traffic: Traffic
    ) -> Engine:
        """Return an engine of this machine."""
        return LocalEngine(self, y, weights, scores, n_threads, traffic)

    def add_trees(self, predictor: Predictor, scores: Floats, n_threads: int) -> Floats:
        """Add trees to the raw scores of all rows."""
        for block in self.dataset.blocks():  # decoded columns of all rows would be too large
            rows = slice(block.begin, block.end)
            scores[rows] = predictor.sum(self.dataset[rows].table(), n_threads, start=scores[rows])
        return scores

    def codes(self, begin: int, end: int) -> Codes:
        """Return the codes of some rows.  -> (n_features, n_rows)"""
        size = self.dataset.block_rows
        parts = []
        for index in range(begin // size, -(-end // size)):
            block = self.dataset.block(index)
            parts.append(block.codes[:, max(begin - block.begin, 0) : end - block.begin])
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


class Draw(NamedTuple):
    """How the rows of a tree are drawn and quantized."""

    all: bool = True
    always: float = 0.0
    probability: float = 1.0
    proportional: bool = False
    reweight: bool = True
    slope: float = 0.0
    address: int = 0
    scales: tuple[float, float, int, int] = (1.0, 1.0, 0, 32)  # of gradients and hessians, and their bits
    integer_weights: bool = True
    weight_unit: float = 1.0


class BlockWorker:
    """Rows of one block: its codes, and the state of its rows while trees are grown.

    Its methods are the tasks of an engine. An engine may call one again on a block that was lost, once those
    of `CHANGES_STATE` that were called before have been called again in their order.

    Parameters
    ----------
    read : function
        Returns the codes (n_features, n_rows).
    rows : BlockRows
        Targets, weights and state of these rows.
    state : RowState
        The arrays of the state.
    n_threads : int
        Number of threads.
    """

    def __init__(
        self, read: Callable[[], Codes], rows: core.BlockRows, state: RowState, n_threads: int
    ) -> None:
        self._read, self.rows, self.state, self.n_threads = read, rows, state, n_threads

    @classmethod
    def of(
        cls, read: Callable[[], Codes], begin: int, y: Floats, weights: Floats | None, state: RowState,
        n_threads: int,
    ) -> BlockWorker:  # fmt: skip
        """Make the rows of a block from their targets (n_outputs, n_rows), weights and state."""
        arrays = state.scores, state.log_sum_exp, state.packed, state.nodes
        return cls(read, core.BlockRows(begin, y, weights, *arrays), state, n_threads)

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

    def root(
        self, out: NDArray[np.int64], loss: str, parameters: Sequence[float], k: int, draw: Draw
    ) -> tuple[float, float, int, int]:
        """Quantize gradients, and add all rows to the histogram of the root.

        out (n_threads, 1, n_features, 256)
        """
        quantized = self.rows.quantize(loss, parameters, k, tuple(draw), self.n_threads)
        self.rows.add_root(out, self._read())
        return quantized

    def split(self, out: NDArray[np.int64], splits: Any, weight_unit: float) -> NDArray[np.int64]:
        """Move rows to the children of splits; count them, and add to the histograms that are wanted."""
        return self.rows.split(out, self._read(), splits, weight_unit)

    def weigh(self, out: NDArray[np.int64], nodes: NDArray[np.int32], weight_unit: float) -> None:
        """Add row weights by bin.  out (n_threads, n_nodes, n_features, 256)"""
        self.rows.weigh(out, self._read(), nodes, weight_unit)

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
        """Sum losses and weights.  weights (n_rows,) or None: those of training -> (n_chunks, 2)"""
        return self.rows.losses(loss, parameters, weights, self.n_threads)

    def given(self, gradient: Floats | None, hessian: Floats | None) -> None:
        """Take gradients and hessians (n_rows, n_scores) instead of those of a loss; None: no longer."""
        self.rows.set_gradients(gradient, hessian)

    def scores(self) -> Floats:
        """Return the raw scores.  -> (n_scores, n_rows)"""
        return self.state.scores


CHANGES_STATE = frozenset({"log_sum_exp", "drawn", "root", "split", "update", "given"})
"""Tasks after which a block is not as it was."""


def map_worker(worker: BlockWorker, task: str, args: Sequence[Any]) -> Any:
    """Call a task by its name."""
    return getattr(worker, task)(*args)


class LocalEngine:
    """Blocks of one machine, one after the other; their state is in memory, or in a file if it is large."""

    def __init__(
        self,
        source: DatasetCodes,
        y: Floats,
        weights: Floats | None,
        scores: Floats,
        n_threads: int,
        traffic: Traffic,
    ) -> None:
        n, n_scores, step = source.n_rows, scores.shape[1], source.step
        self._n_features, self._n_threads, self._traffic = source.n_features, n_threads, traffic
        self._state = RowState.allocate(n, n_scores, n_scores > 1)
        self._state.scores[:] = scores.T
        self._ends = [(at, min(at + step, n)) for at in range(0, n, step)]
        self._workers = [
            BlockWorker.of(
                partial(source.codes, begin, end),
                begin,
                y[:, begin:end],
                None if weights is None else weights[begin:end],
                self._state.cut(begin, end),
                n_threads,
            )
            for begin, end in self._ends
        ]

    def map_blocks(self, task: str, *args: Any) -> list[Any]:
        """Call a method of `BlockWorker` on every block; return the results in the order of the blocks."""
        self._traffic.n_exchanges += 1
        return [
            map_worker(worker, task, [arg.cut(*ends) if isinstance(arg, PerRow) else arg for arg in args])
            for worker, ends in zip(self._workers, self._ends, strict=True)
        ]

    def reduce(self, task: str, n_built: int, *args: Any) -> tuple[list[Any], NDArray[np.int64]]:
        """Call a method that adds to histograms; return the results by block, and the histograms added."""
        out = empty_histograms(self._n_threads, n_built, self._n_features)
        results = [map_worker(worker, task, (out, *args)) for worker in self._workers]
        self._traffic.n_exchanges += 1
        self._traffic.bytes_moved += out[0].nbytes
        return results, add_threads(out)

    def lost(self) -> Sequence[int]:
        """Return nothing: blocks of this machine are not lost."""
        return ()


def empty_histograms(n_threads: int, n_built: int, n_features: int) -> NDArray[np.int64]:
    """Return histograms for some nodes, one set per thread."""
    return np.zeros((n_threads, n_built, n_features, _N_BINS), dtype=np.int64)


def add_threads(out: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add the histograms of the threads."""
    total: NDArray[np.int64] = out[0] if len(out) == 1 else out.sum(axis=0)
    return total


@dataclass
class RowState:
    """State of the rows while trees are grown, 18 bytes per row and 8 for each further score."""

    scores: Floats
    packed: NDArray[np.int64]
    nodes: NDArray[np.uint16]
    log_sum_exp: Floats | None
    _files: list[Any] = field(default_factory=list)

    def cut(self, begin: int, end: int) -> RowState:
        """Return the state of some rows; nothing is copied."""
        own = slice(begin, end)
        log_sum_exp = None if self.log_sum_exp is None else self.log_sum_exp[own]
        return RowState(self.scores[:, own], self.packed[own], self.nodes[own], log_sum_exp)

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
