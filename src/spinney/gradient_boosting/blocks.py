"""Boosting on rows that are read block by block: the same trees as `core.Booster`, for rows that are elsewhere.

A pass over the rows is a function of one block (`BlockWorker`) whose results are added over the blocks by an
`Engine`: integers in any order, real numbers per chunk and in the order of the chunks. `BlockBooster` asks for
passes and does everything else.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import CHUNK_ROWS
from spinney.core.errors import InputError
from spinney.native import core

Floats = NDArray[np.float64]
Codes = NDArray[np.uint8]

_BLOCK_CHUNKS = 16
"""Chunks of a block."""
_MAX_STATE = 0.25
"""Part of the memory that the state of the rows may take; a larger one is in a temporary file."""
_N_BINS = 256


class CodeSource(Protocol):
    """Where codes are read from."""

    n_rows: int

    def codes(self, begin: int, end: int) -> Codes:
        """Return the codes of some rows.  -> (n_features, n_rows)"""


class Engine(Protocol):
    """Where blocks of rows are, and how functions are called on them: another engine defines these three."""

    def map_blocks(self, task: str, *args: Any) -> list[Any]:
        """Call a method of `BlockWorker` on every block; return the results in the order of the blocks."""

    def reduce(self, task: str, *args: Any) -> tuple[NDArray[np.int64], ...]:
        """Call a method that returns a tuple of integer arrays; return their sums over the blocks."""

    def lost(self) -> Sequence[int]:
        """Return the blocks whose state was lost since the last call, and was restored by replaying the trees."""


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
        Bytes of results that the blocks have returned.
    """

    n_trees: int = 0
    n_reads: int = 0
    bytes_read: int = 0
    bytes_moved: int = 0

    @property
    def reads_per_tree(self) -> float:
        """Mean number of passes over the codes per tree."""
        return self.n_reads / max(1, self.n_trees)


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

    def __init__(self, source: CodeSource, begin: int, end: int, rows: core.BlockRows, n_threads: int) -> None:
        self.source, self.begin, self.end, self.rows, self.n_threads = source, begin, end, rows, n_threads

    def _read(self) -> Codes:
        return self.source.codes(self.begin, self.end)

    def _histograms(self, n_built: int) -> NDArray[np.int64]:
        n_threads = min(self.n_threads, -(-(self.end - self.begin) // CHUNK_ROWS))
        return np.zeros((n_threads, n_built, self._n_features, _N_BINS), dtype=np.int64)

    _n_features: int = 0

    def log_sum_exp(self) -> None:
        """Keep the logarithm of the sum of exponentials of the scores for the trees of a round."""
        self.rows.update_log_sum_exp(self.n_threads)

    def gradients(self, loss: str, parameters: Sequence[float], k: int) -> Floats:
        """Sum gradients, hessians and squares of gradients.  -> (n_chunks, 4)"""
        return self.rows.gradients(loss, parameters, k, self.n_threads)

    def importances(self, loss: str, parameters: Sequence[float], k: int, slope: float) -> tuple[NDArray[np.int64]]:
        """Count the importances of the rows."""
        return (self.rows.importances(loss, parameters, k, slope),)

    def drawn(self, loss: str, parameters: Sequence[float], k: int, draw: Draw) -> Floats:
        """Sum gradients and hessians of the rows that are drawn.  -> (n_chunks, 2)"""
        return self.rows.drawn(loss, parameters, k, tuple(draw), self.n_threads)

    def quantize(self, loss: str, parameters: Sequence[float], k: int, draw: Draw) -> tuple[float, float, int, int]:
        """Quantize gradients, and put all rows into the root."""
        return self.rows.quantize(loss, parameters, k, tuple(draw), self.n_threads)

    def root(self) -> tuple[NDArray[np.int64]]:
        """Sum the histogram of the root.  -> (n_features, 256)"""
        codes = self._read()
        self._n_features = len(codes)
        out = self._histograms(1)
        self.rows.add_root(out, codes)
        return (out.sum(axis=0)[0],)

    def split(self, splits: Any, weight_unit: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Move rows to the children of splits; count them, and sum the histograms that are wanted."""
        codes = self._read()
        self._n_features = len(codes)
        out = self._histograms(int(splits[4].sum()))
        counts = self.rows.split(out, codes, splits, weight_unit)
        return counts, out.sum(axis=0)

    def weigh(self, nodes: NDArray[np.int32], weight_unit: float) -> tuple[NDArray[np.int64]]:
        """Sum row weights by bin.  -> (n_nodes, n_features, 256)"""
        codes = self._read()
        self._n_features = len(codes)
        out = self._histograms(len(nodes))
        self.rows.weigh(out, codes, nodes, weight_unit)
        return (out.sum(axis=0),)

    def leaves(
        self, loss: str, parameters: Sequence[float], k: int, leaf_of_node: NDArray[np.int32], n_leaves: int, every: bool
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
        own = [None if a is None else np.ascontiguousarray(a[self.begin : self.end]) for a in (gradient, hessian)]
        self.rows.set_gradients(*own)


class LocalEngine:
    """Blocks of one machine, one after the other; their state is in memory, or in a file if it is large."""

    def __init__(
        self, source: CodeSource, y: Floats, weights: Floats | None, scores: Floats, n_threads: int, traffic: Traffic
    ) -> None:
        n, n_scores = source.n_rows, scores.shape[1]
        self.traffic = traffic
        self._state = RowState.allocate(n, n_scores, n_scores > 1)
        self._state.scores[:] = scores.T
        self.workers = [
            BlockWorker(source, begin, min(begin + step, n), self._rows(y, weights, begin, min(begin + step, n)), n_threads)
            for step in [_BLOCK_CHUNKS * CHUNK_ROWS]
            for begin in range(0, n, step)
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

    def reduce(self, task: str, *args: Any) -> tuple[NDArray[np.int64], ...]:
        """Call a method that returns a tuple of integer arrays; return their sums over the blocks."""
        total: tuple[NDArray[np.int64], ...] = ()
        for worker in self.workers:
            parts = getattr(worker, task)(*args)
            if not total:
                total = parts
                continue
            for to, part in zip(total, parts, strict=True):
                to += part
        return total

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
            if size <= _MAX_STATE * _memory():
                return np.zeros(shape, dtype)
            files.append(tempfile.TemporaryFile(prefix="spinney-"))
            return np.memmap(files[-1], dtype, "w+", shape=shape)

        return cls(
            array(np.float64, n_scores, n_rows),
            array(np.int64, n_rows),
            array(np.uint16, n_rows),
            array(np.float64, n_rows) if has_log_sum_exp else None,
            files,
        )


def _memory() -> int:
    """Return the bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 1 << 33


class WeightFacts(NamedTuple):
    """Row weights in numbers; `is_weighted` is False where all are 1."""

    is_weighted: bool
    total: float
    n_positive: int
    integer: bool
    unit: float

    @classmethod
    def of(cls, weights: Floats | None, n_rows: int) -> WeightFacts:
        """Compute them from the weights of all rows."""
        if weights is None or (weights == 1.0).all():
            return cls(False, float(n_rows), n_rows, True, 1.0)
        parts = [weights[begin : begin + CHUNK_ROWS] for begin in range(0, n_rows, CHUNK_ROWS)]
        total = add_in_order(np.array([[add_in_order(part[:, None])[0]] for part in parts]))[0]
        integer = all(bool((part == np.floor(part)).all()) for part in parts)
        return cls(True, *core.weight_facts(total, int(np.count_nonzero(weights)), integer))


def add_in_order(parts: Floats) -> Floats:
    """Add rows one after the other, which NumPy's sum does not do.

    >>> add_in_order(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [4.0, 6.0]
    """
    out: Floats = np.add.accumulate(parts, axis=0)[-1]
    return out


class BlockBooster:
    """Grows the trees of `core.Booster` on blocks of rows, round after round.

    Parameters
    ----------
    columns : CodeMatrix
        Description of the columns; its rows are not read.
    options : BoostOptions
        Parameters of boosting.
    source : CodeSource
        Where the codes are.
    y : ndarray of shape (n_outputs, n_rows)
        Targets.
    weights : ndarray of shape (n_rows,) or None
        Row weights.
    scores : ndarray of shape (n_rows, n_scores)
        Raw scores to begin with.
    """

    def __init__(
        self,
        columns: core.CodeMatrix,
        options: core.BoostOptions,
        source: CodeSource,
        y: Floats,
        weights: Floats | None,
        scores: Floats,
    ) -> None:
        self.n_rows, self.n_scores, self.options = source.n_rows, scores.shape[1], options
        self.facts = WeightFacts.of(weights, self.n_rows)
        self.traffic = Traffic()
        self.round = options.first_round
        kept = weights if self.facts.is_weighted else None
        self.engine = LocalEngine(source, y, kept, scores, options.n_threads, self.traffic)
        self._grower = core.BlockGrower(columns, options)
        self._code_bytes = self.n_rows * columns.n_columns

    @property
    def scores(self) -> Floats:
        """Raw scores of all rows.  (n_rows, n_scores)"""
        return self.engine.scores

    def run(self, loss: str, parameters: Sequence[float], n_rounds: int) -> list[core.GrownTree]:
        """Boost by a loss of the core; one tree for each score and round."""
        trees = []
        for _ in range(n_rounds):
            if loss == "softmax":
                self.engine.map_blocks("log_sum_exp")
            trees += [self._grow(loss, parameters, k) for k in range(self.n_scores)]
            self.round += 1
        return trees

    def step(self, gradient: Floats, hessian: Floats) -> list[core.GrownTree]:
        """Boost one round by gradients and hessians (n_rows, n_scores), both without row weights."""
        self.engine.map_blocks("given", gradient, hessian)
        try:
            trees = [self._grow("squared", (0.0,), k) for k in range(self.n_scores)]
        finally:
            self.engine.map_blocks("given", None, None)
        self.round += 1
        return trees

    def loss(self, loss: str, parameters: Sequence[float], weights: Floats | None) -> float:
        """Return the mean loss by weight; None: by the weights of training."""
        if loss == "softmax":
            self.engine.map_blocks("log_sum_exp")
        total, weight = add_in_order(np.concatenate(self.engine.map_blocks("losses", loss, parameters, weights)))
        return float(total / weight)

    # ---- one tree ----

    def _grow(self, loss: str, parameters: Sequence[float], k: int) -> core.GrownTree:
        """Grow a tree, and add it to the scores."""
        of = loss, parameters, k
        sums = add_in_order(np.concatenate(self.engine.map_blocks("gradients", *of)))
        if not np.isfinite(sums).all():
            raise ValueError(
                f"the gradients of round {self.round} are not finite; scale the target, or lower the learning rate"
            )
        draw = self._draw(of, sums)
        noise = 0.0
        if self.options.random_strength > 0:
            noise = self._grower.score_noise(self.round, self._n_counted, sums[2], sums[3])
        self._split(of, draw, noise)
        return self._fit_leaves(of)

    @property
    def _n_counted(self) -> float:
        """Number of rows, a row of weight 2 counted twice."""
        return max(self.facts.total, float(self.facts.n_positive))

    def _draw(self, of: tuple[str, Sequence[float], int], sums: Floats) -> Draw:
        """Choose the rows of a tree, and the scales of their gradients."""
        options, facts = self.options, self.facts
        draw = Draw(
            address=core.tree_address(options.seed, self.round, of[2]),
            integer_weights=facts.integer,
            weight_unit=facts.unit,
        )
        gradient, hessian = sums[:2]
        if options.sampling != "none":
            slope = 0.0 if options.sampling == "goss" or not hessian > 0 else gradient / hessian
            counts = np.zeros(core.IMPORTANCE_BINS, dtype=np.int64)
            if options.sampling != "uniform":
                (counts,) = self.engine.reduce("importances", *of, slope)
            always, probability, proportional, reweight = core.sampling_rule(options, counts)
            draw = draw._replace(
                all=False,
                always=always,
                probability=probability,
                proportional=proportional,
                reweight=reweight,
                slope=float(slope),
            )
            gradient, hessian = add_in_order(np.concatenate(self.engine.map_blocks("drawn", *of, draw)))
        slack = max(facts.total, float(self.n_rows)) if facts.integer else float(self.n_rows)
        scales = core.gradient_scales(gradient, hessian, slack)
        return draw._replace(gradient_scale=scales[0], hessian_scale=scales[1])

    def _split(self, of: tuple[str, Sequence[float], int], draw: Draw, noise: float) -> None:
        """Grow the splits of a tree: passes over the codes until the grower needs no more."""
        least, most, n_rows, weight = zip(*self.engine.map_blocks("quantize", *of, draw), strict=True)
        (histogram,) = self._pass("root")
        quantized = min(least), max(most), sum(n_rows), sum(weight)
        self._grower.start(histogram, tuple(draw), quantized, noise)
        while True:
            while len(nodes := self._grower.nodes_to_weigh()):
                self._grower.give_weights(*self._pass("weigh", nodes, draw.weight_unit))
            splits = self._grower.splits()
            if not len(splits[0]):
                return
            self._grower.give(*self._pass("split", splits, draw.weight_unit))

    def _pass(self, task: str, *args: Any) -> tuple[NDArray[np.int64], ...]:
        """Read the codes of all rows."""
        out = self.engine.reduce(task, *args)
        self.traffic.n_reads += 1
        self.traffic.bytes_read += self._code_bytes
        self.traffic.bytes_moved += sum(part.nbytes for part in out)
        return out

    def _fit_leaves(self, of: tuple[str, Sequence[float], int]) -> core.GrownTree:
        """Compute the values of the leaves, and update the scores."""
        loss, parameters, k = of
        grower, every = self._grower, self.options.sampling in ("goss", "mvs")
        leaf_of_node, n_leaves = grower.leaf_of_node(), grower.n_leaves
        parts = np.concatenate(self.engine.map_blocks("leaves", *of, leaf_of_node, n_leaves, every))
        sums = np.ascontiguousarray(add_in_order(parts))
        if loss in ("absolute", "quantile", "huber"):
            listed = self.engine.map_blocks("residuals", k, leaf_of_node, n_leaves, every)
            values = grower.fit_quantiles(*_by_leaf(listed, n_leaves), loss, parameters, k)
        else:
            values = grower.fit_leaves(sums, loss)
        self.engine.map_blocks("update", k, leaf_of_node, values)
        self.traffic.n_trees += 1
        return grower.finish(sums, values)


def _by_leaf(listed: Sequence[tuple[NDArray[np.int64], Floats]], n_leaves: int) -> tuple[NDArray[np.int64], Floats]:
    """Join the residuals of all blocks, leaf by leaf."""
    sizes = np.array([one[0] for one in listed])
    ends = sizes.cumsum(axis=1)
    parts = [
        residuals[end[leaf] - size[leaf] : end[leaf]]
        for leaf in range(n_leaves)
        for (_, residuals), size, end in zip(listed, sizes, ends, strict=True)
    ]
    return sizes.sum(axis=0), np.concatenate(parts)


def check_supported(scoring_by_loss: bool) -> None:
    """Raise InputError for what blocks of rows do not support."""
    if not scoring_by_loss:
        raise InputError(
            "A dataset has no table that a scikit-learn scorer could predict", fix='Set scoring="loss".'
        )
