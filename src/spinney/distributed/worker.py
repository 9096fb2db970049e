"""What runs on the workers of a cluster: coding partitions, and tasks on blocks that the worker keeps.

A worker keeps the codes of blocks, and their state while trees are grown, in a cache of this module. It
may lose anything at any time: a task reports the blocks that it does not find as they have to be, and the
client has them made again from the partitions and from the log of what was done to them.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.memory import memory_limit
from spinney.data.schema import Schema
from spinney.data.store.files import many_categories
from spinney.data.store.manifest import Bins
from spinney.data.store.survey import Counted, Surveyor, SurveyPart, WeightFacts, count_values
from spinney.data.store.writer import RowCoder
from spinney.distributed.calls import this_worker
from spinney.distributed.cluster import ClusterError
from spinney.distributed.partitions import Piece, read_piece
from spinney.gradient_boosting.block_engine import (
    BlockWorker,
    RowState,
    add_threads,
    empty_histograms,
    map_worker,
)
from spinney.tree.predictor import Predictor

_CACHE_SHARE = 0.5
"""Part of the worker's memory that cached blocks may take; further ones are in its local directory."""
_IDLE_SECONDS = 900.0
"""Blocks of other tables that were not used for so long are dropped: their client may be gone."""

BlockKey = tuple[str, int]
"""Token of a table, and number of the block."""


class Operation(NamedTuple):
    """A task that changes the state of blocks, with its arguments."""

    task: str
    args: tuple[Any, ...]


class PerBlock(NamedTuple):
    """Argument with a value for each block."""

    values: Mapping[int, Any]


class Kept(NamedTuple):
    """Argument that the blocks have kept under a name."""

    name: str


@dataclass
class CachedBlock:
    """A block of rows on this worker.

    Attributes
    ----------
    codes : ndarray of shape (n_features, n_rows)
        Bin codes.
    categories : ndarray of shape (n_wide, n_rows) or None
        Categories of columns with more than 255.
    engine : str
        The fit that the state belongs to.
    version : int
        Number of operations that the state has seen.
    worker : BlockWorker or None
        Targets, weights and state.
    kept : dict
        Arrays of rows by name.
    used_at : float
        Time of the last use.
    """

    codes: NDArray[np.uint8]
    categories: NDArray[np.int32] | None = None
    engine: str = ""
    version: int = 0
    worker: BlockWorker | None = None
    kept: dict[str, NDArray[Any]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    used_at: float = field(default_factory=time.monotonic)

    @property
    def nbytes(self) -> int:
        """Bytes of codes in memory."""
        return 0 if isinstance(self.codes, np.memmap) else self.codes.nbytes


_cache: OrderedDict[BlockKey, CachedBlock] = OrderedDict()
_lock = threading.RLock()


def _here() -> tuple[str, int, int, Path | None]:
    """Return address, number of threads, memory limit and local directory of this worker."""
    worker = this_worker()
    limit = worker.memory_manager.memory_limit or memory_limit()
    return worker.address, worker.state.nthreads, int(limit), Path(worker.local_directory)


def _find(key: BlockKey) -> CachedBlock | None:
    with _lock:
        block = _cache.get(key)
        if block is not None:
            _cache.move_to_end(key)
            block.used_at = time.monotonic()
        return block


def _keep(key: BlockKey, block: CachedBlock) -> None:
    """Put a block into the cache; the ones used least recently move to disk when it is full."""
    address, _, limit, directory = _here()
    with _lock:
        _cache[key] = block
        for other, one in list(_cache.items()):
            if other[0] != key[0] and time.monotonic() - one.used_at > _IDLE_SECONDS:
                del _cache[other]
        total = sum(one.nbytes for one in _cache.values())
        for other in list(_cache):
            if total <= _CACHE_SHARE * limit or other == key:
                break
            total -= _cache[other].nbytes
            try:
                _cache[other].codes = _on_disk(_cache[other].codes, directory)
            except OSError as error:
                raise ClusterError(
                    f"Worker {address} has no room for its rows: their codes take more than half of its "
                    f"memory of {limit >> 20} MB, and {directory} cannot take them ({error.strerror})",
                    fix="Add workers or memory, or start workers with another local directory.",
                ) from error


def _on_disk(codes: NDArray[np.uint8], directory: Path | None) -> NDArray[np.uint8]:
    """Return codes in a file that vanishes with the array."""
    import tempfile

    if isinstance(codes, np.memmap):
        return codes
    with tempfile.TemporaryFile(dir=directory) as file:
        file.write(np.ascontiguousarray(codes).data)
        file.flush()
        return np.memmap(file, np.uint8, "r", shape=codes.shape)


def forget(token: str) -> None:
    """Drop all blocks of a table."""
    with _lock:
        for key in [key for key in _cache if key[0] == token]:
            del _cache[key]


# ---- reading partitions ----


def survey_piece(
    piece: Piece,
    names: Sequence[str] | None,
    weights: Floats | None,
    edge_rows: tuple[int, int],
    facts: WeightFacts,
    max_bins: int,
    categorical_features: Any,
    frame: Any,
) -> SurveyPart:
    """Return what a partition adds to the first pass."""
    surveyor = Surveyor(facts, max_bins, categorical_features, _here()[1], np.empty, edge_rows)
    surveyor.add(read_piece(frame, piece, names, weights))
    return surveyor.part()


def count_piece(
    piece: Piece,
    names: Sequence[str] | None,
    weights: Floats | None,
    columns: Sequence[int],
    facts: WeightFacts,
    frame: Any,
) -> Counted:
    """Return the distinct values of some columns of a partition."""
    return count_values([read_piece(frame, piece, names, weights)], columns, facts, _here()[1])


class CodingPlan(NamedTuple):
    """How rows are coded."""

    token: str
    names: tuple[str, ...] | None
    schema: Schema
    bins: tuple[Bins | None, ...]
    category_bins: tuple[NDArray[np.uint32] | None, ...]
    sampled: bool


class CodedFacts(NamedTuple):
    """What coding a block has found, and the worker that has it now."""

    worker: str
    extents: tuple[Bins | None, ...]
    has_missing: list[bool]
    n_bytes: int


def code_block(
    plan: CodingPlan, block: int, pieces: Sequence[Piece], weights: Floats | None, *frames: Any
) -> CodedFacts:
    """Code the rows of a block, and keep the codes on this worker."""
    address, n_threads, _, _ = _here()
    coder = RowCoder(plan.schema, plan.bins, plan.category_bins, plan.sampled, n_threads)
    n_rows, wide = sum(one.end - one.begin for one in pieces), many_categories(plan.category_bins)
    codes = np.empty((len(plan.bins), n_rows), dtype=np.uint8)
    categories = np.empty((len(wide), n_rows), dtype=np.int32) if wide else None
    at = n_bytes = 0
    for piece, frame in zip(pieces, frames, strict=True):
        n = piece.end - piece.begin
        own = None if weights is None else weights[at : at + n]
        columns = coder.read(read_piece(frame, piece, plan.names, own))
        coder.code(columns, own, codes, categories, at)
        n_bytes += sum(column.nbytes for column in columns)
        at += n
    _keep((plan.token, block), CachedBlock(codes, categories))
    return CodedFacts(address, coder.extents, coder.has_missing, n_bytes)


# ---- reading blocks ----


class Answer(NamedTuple):
    """What a worker returns: results by block, the blocks that it does not have, and added histograms."""

    worker: str
    results: dict[int, Any]
    lost: tuple[int, ...] = ()
    histograms: NDArray[np.int64] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        arrays = [] if self.histograms is None else [self.histograms]
        for result in self.results.values():
            parts = result if isinstance(result, tuple) else (result,)
            arrays += [part for part in parts if isinstance(part, np.ndarray)]
        return sum(array.nbytes for array in arrays)


def add_answers(*answers: Answer) -> Answer:
    """Join the answers of several workers."""
    results: dict[int, Any] = {}
    lost: list[int] = []
    histograms = None
    for one in answers:
        results |= one.results
        lost += one.lost
        if one.histograms is not None:
            histograms = one.histograms if histograms is None else histograms + one.histograms
    return Answer("", results, tuple(lost), histograms)


def read_codes(token: str, blocks: Sequence[int], columns: Sequence[int] | None) -> Answer:
    """Return the codes of blocks, of some columns."""
    return _read(token, blocks, lambda one: one.codes if columns is None else one.codes[list(columns)])


def read_all(token: str, blocks: Sequence[int]) -> Answer:
    """Return codes and categories of blocks."""
    found = {block: _find((token, block)) for block in blocks}
    lost = tuple(block for block, one in found.items() if one is None)
    return Answer(
        _here()[0], {b: (one.codes, one.categories) for b, one in found.items() if one is not None}, lost
    )


def read_categories(token: str, blocks: Sequence[int], wide: int) -> Answer:
    """Return the categories of a column with more than 255."""
    return _read(token, blocks, lambda one: None if one.categories is None else one.categories[wide])


def _read(token: str, blocks: Sequence[int], read: Any) -> Answer:
    found = {block: _find((token, block)) for block in blocks}
    lost = tuple(block for block, one in found.items() if one is None)
    return Answer(_here()[0], {b: np.asarray(read(one)) for b, one in found.items() if one is not None}, lost)


def add_trees(
    token: str, blocks: Sequence[int], schema: Schema, lo: Sequence[Floats | None], predictor: Predictor,
    scores: PerBlock,
) -> Answer:  # fmt: skip
    """Add trees to the raw scores of blocks."""
    from spinney.distributed.block_table import block_table

    address, n_threads, _, _ = _here()
    results: dict[int, Any] = {}
    lost = []
    for block in blocks:
        cached = _find((token, block))
        if cached is None:
            lost.append(block)
            continue
        table = block_table(schema, lo, cached.codes, cached.categories)
        results[block] = predictor.sum(table, n_threads, start=scores.values[block])
    return Answer(address, results, tuple(lost))


# ---- growing trees ----


class Start(NamedTuple):
    """Targets (n_outputs, n_rows), weights, and raw scores (n_scores, n_rows) or (n_scores, 1) of a block."""

    begin: int
    y: Floats
    weights: Floats | None
    scores: Floats


def restore(
    token: str,
    engine: str,
    starts: Mapping[int, Start],
    log: Sequence[Operation],
    kept: Mapping[str, PerBlock],
    version: int,
) -> Answer:
    """Make the state of blocks anew, and do again what was done to them."""
    address, n_threads, _, _ = _here()
    done: dict[int, Any] = {}
    lost = []
    for block, start in starts.items():
        cached = _find((token, block))
        if cached is None:
            lost.append(block)
            continue
        with cached.lock:
            cached.engine, cached.version = "", 0
            cached.kept = {name: per_block.values[block] for name, per_block in kept.items()}
            cached.worker = _make_worker(cached, start, n_threads)
            for operation in log:
                _replay(cached.worker, operation, block, cached.codes.shape[0])
            cached.engine, cached.version = engine, version
        done[block] = True
    return Answer(address, done, tuple(lost))


def _make_worker(cached: CachedBlock, start: Start, n_threads: int) -> BlockWorker:
    n_rows, n_scores = cached.codes.shape[1], len(start.scores)
    state = RowState(
        np.ascontiguousarray(np.broadcast_to(start.scores, (n_scores, n_rows))).copy(),
        np.zeros(n_rows, dtype=np.int64),
        np.zeros(n_rows, dtype=np.uint16),
        np.zeros(n_rows) if n_scores > 1 else None,
    )
    return BlockWorker.of(lambda: cached.codes, start.begin, start.y, start.weights, state, n_threads)


class GrownTree(NamedTuple):
    """A finished tree as operations: the splits of each pass, then the values of the leaves."""

    passes: list[tuple[Any, float]]
    update: tuple[Any, ...]


def _replay(worker: BlockWorker, operation: Operation, block: int, n_features: int) -> None:
    """Do an operation again, without the histograms that it has built."""
    out = empty_histograms(worker.n_threads, 0, n_features)
    if operation.task == "grown":
        tree: GrownTree = operation.args[0]
        worker.state.nodes[:] = 0
        for splits, weight_unit in tree.passes:
            worker.split(out, splits, weight_unit)
        worker.update(*tree.update)
    elif operation.task == "root":
        worker.root(empty_histograms(worker.n_threads, 1, n_features), *operation.args)
    elif operation.task == "split":
        splits, weight_unit = operation.args
        worker.split(out, without_histograms(splits), weight_unit)
    else:
        map_worker(worker, operation.task, _own(operation.args, block, {}))


def without_histograms(splits: Any) -> Any:
    """Return splits of which no child's histogram is wanted."""
    return (*splits[:4], np.zeros_like(splits[4]))


def _own(args: Iterable[Any], block: int, kept: Mapping[str, Any]) -> list[Any]:
    """Return arguments with those of a block in the place of per-block ones."""
    own = []
    for arg in args:
        if isinstance(arg, PerBlock):
            own.append(arg.values[block])
        else:
            own.append(kept[arg.name] if isinstance(arg, Kept) else arg)
    return own


def run(
    token: str,
    engine: str,
    blocks: Sequence[int],
    version: int,
    before: Sequence[Operation],
    task: Operation,
    n_built: int | None,
    changes: bool,
) -> Answer:
    """Call a task on blocks whose state has seen so many operations; some of `before` may be among them.

    A block whose state has seen other operations is lost: a task may be started a second time, on this worker
    or another one, when a worker that had its result is gone.
    """
    address, n_threads, _, _ = _here()
    out, results, lost = None, {}, []
    for block in blocks:
        cached = _find((token, block))
        if cached is None:
            lost.append(block)
            continue
        with cached.lock, suppress(_StaleError):
            worker = _caught_up(cached, engine, version, before, block)
            args = _own(task.args, block, cached.kept)
            cached.engine = "" if changes else engine  # stale, if the task fails midway
            if n_built is not None:
                if out is None:
                    out = empty_histograms(n_threads, n_built, cached.codes.shape[0])
                args = [out, *args]
                worker.n_threads = n_threads
            results[block] = map_worker(worker, task.task, args)
            cached.engine, cached.version = engine, cached.version + changes
            continue
        lost.append(block)
    return Answer(address, results, tuple(lost), None if out is None else add_threads(out))


class _StaleError(Exception):
    """The state of a block is not the one that a task is for."""


def _caught_up(
    cached: CachedBlock, engine: str, version: int, before: Sequence[Operation], block: int
) -> BlockWorker:
    """Do the operations that the state has not seen yet."""
    done = cached.version - version
    if cached.engine != engine or cached.worker is None or not 0 <= done <= len(before):
        raise _StaleError
    for operation in before[done:]:
        args = _own(operation.args, block, cached.kept)
        if operation.task == "keep":
            name, values = args
            cached.kept[name] = values
        else:
            map_worker(cached.worker, operation.task, args)
        cached.version += 1
    return cached.worker
