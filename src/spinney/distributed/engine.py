"""ClusterEngine: boosting on blocks in the memory of workers, which come back when a worker is lost."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.distributed import worker
from spinney.distributed.cluster import LOST, attempts
from spinney.distributed.rows import ClusterRows
from spinney.distributed.worker import GrownTree, Kept, Operation, PerBlock, Start, without_histograms
from spinney.gradient_boosting.block_engine import CHANGES_STATE, Engine, PerRow, Traffic
from spinney.native import core
from spinney.tree.predictor import Predictor

_DEFERRED = frozenset({"log_sum_exp", "update", "given", "keep"})
"""Tasks without a result, which are sent with the next one."""
_MESSAGE_BYTES = 1 << 22
_SHARE_SECONDS = 5.0
"""How often to look for workers that have joined."""


class ClusterCodes:
    """Codes of the rows of a cluster, as gradient boosting asks for them.

    Parameters
    ----------
    rows : ClusterRows
        The rows.
    """

    def __init__(self, rows: ClusterRows) -> None:
        self.rows, self.n_rows, self.n_features = rows, rows.n_rows, rows.n_features

    def described_columns(self) -> core.CodeMatrix:
        """Return the bins and categories of the columns as a matrix without rows."""
        return self.rows.described_columns()

    def start(
        self, y: Floats, weights: Floats | None, scores: Floats, n_threads: int, traffic: Traffic
    ) -> Engine:
        """Return an engine; workers use all their threads."""
        return ClusterEngine(self.rows, y, weights, scores, traffic)

    def add_trees(self, predictor: Predictor, scores: Floats, n_threads: int) -> Floats:
        """Add trees to the raw scores of all rows."""
        rows = self.rows

        def args(blocks: list[int]) -> tuple[Any, ...]:
            own = PerBlock({block: scores[slice(*rows.ends(block))] for block in blocks})
            return rows.token, blocks, rows.schema, rows.lo, predictor, own

        answer = rows.ask(worker.add_trees, args, rows.code_blocks)
        return np.concatenate([answer.results[block] for block in range(rows.n_blocks)])


class ClusterEngine:
    """Calls tasks on the blocks of a cluster; one task per worker and call, or none if it can wait.

    What changes the state of blocks is numbered and logged. A worker that has not seen all of it reports its
    blocks as lost. They are then made again, there or elsewhere: from the partitions, by the splits of the
    finished trees, and by what was done for the unfinished one.

    Parameters
    ----------
    rows : ClusterRows
        The rows.
    y : ndarray of shape (n_outputs, n_rows)
        Targets.
    weights : ndarray of shape (n_rows,) or None
        Row weights.
    scores : ndarray of shape (n_rows, n_scores)
        Raw scores to begin with.
    traffic : Traffic
        Counts what is moved.
    """

    def __init__(
        self, rows: ClusterRows, y: Floats, weights: Floats | None, scores: Floats, traffic: Traffic
    ) -> None:
        self._rows, self._token, self._traffic = rows, uuid.uuid4().hex, traffic
        self._y, self._weights = y, weights
        constant = bool((scores == scores[0]).all())
        self._scores = np.ascontiguousarray(scores[:1].T if constant else scores.T)
        self._history: list[Operation] = []
        self._tree: list[Operation] = []
        self._waiting: list[Operation] = []
        self._version = 0
        self._kept: dict[int, tuple[Kept, PerRow]] = {}
        self._lost: list[int] = []
        self._shared_at = time.monotonic()
        self._restore_blocks(range(rows.n_blocks))

    # ---- the protocol ----

    def map_blocks(self, task: str, *args: Any) -> list[Any]:
        """Call a method of `BlockWorker` on every block; return the results in the order of the blocks."""
        if task in _DEFERRED:
            self._waiting.append(Operation(task, args))
            return [None] * self._rows.n_blocks
        return self._call(task, args, None)[0]

    def reduce(self, task: str, n_built: int, *args: Any) -> tuple[list[Any], NDArray[np.int64]]:
        """Call a method that adds to histograms; return the results by block, and the histograms added."""
        results, histograms = self._call(task, args, n_built)
        assert histograms is not None
        return results, histograms

    def lost(self) -> Sequence[int]:
        """Return the blocks that were lost since the last call, and restored."""
        found, self._lost = self._lost, []
        return found

    # ---- calls ----

    def _call(
        self, task: str, args: tuple[Any, ...], n_built: int | None
    ) -> tuple[list[Any], NDArray[np.int64] | None]:
        """Send a task with those that wait."""
        self._look_for_workers()
        args = self._keep_arrays(args) if task == "losses" else args
        before, version = self._waiting, self._version
        self._waiting = []
        for operation in before:
            self._note(operation)
        rows, changes = self._rows, task in CHANGES_STATE
        operation = Operation(task, args)

        def message(blocks: list[int]) -> tuple[Any, ...]:
            sent = [self._cut(one, blocks) for one in before]
            return (
                rows.token,
                self._token,
                blocks,
                version,
                sent,
                self._cut(operation, blocks),
                n_built,
                changes,
            )

        self._traffic.n_exchanges += 1
        answer = rows.ask(worker.run, message, self._restore, self._tally)
        if changes:
            self._note(operation)
        return [answer.results[block] for block in range(rows.n_blocks)], answer.histograms

    def _tally(self, answer: worker.Answer) -> None:
        self._traffic.bytes_moved += answer.nbytes

    def _keep_arrays(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Replace arrays of all rows by names under which the blocks keep them: they come every round."""
        kept: list[Any] = []
        for arg in args:
            if isinstance(arg, PerRow):
                known = self._kept.get(id(arg.values))
                if known is None:
                    known = self._kept[id(arg.values)] = Kept(f"array {len(self._kept)}"), arg
                    self._waiting.append(Operation("keep", (known[0].name, arg)))
                kept.append(known[0])
            else:
                kept.append(arg)
        return tuple(kept)

    def _cut(self, operation: Operation, blocks: Iterable[int]) -> Operation:
        """Return an operation with the rows of some blocks only."""

        def own(arg: Any) -> Any:
            if not isinstance(arg, PerRow):
                return arg
            cut = PerBlock({block: arg.cut(*self._rows.ends(block)) for block in blocks})
            self._traffic.bytes_moved += sum(part.nbytes for part in cut.values.values())
            return cut

        return Operation(operation.task, tuple(map(own, operation.args)))

    # ---- the log ----

    def _note(self, operation: Operation) -> None:
        """Count an operation, and write it down as far as it is needed to make a block again."""
        self._version += 1
        task = operation.task
        if task in ("log_sum_exp", "given"):  # only the last one counts, where it stands among the trees
            self._history = [one for one in self._history if one.task != task]
            if operation.args != (None, None):
                self._history.append(operation)
        elif task == "update":
            splits = [one.args for one in self._tree if one.task == "split"]
            tree = GrownTree([(without_histograms(one), unit) for one, unit in splits], operation.args)
            self._history.append(Operation("grown", (tree,)))
            self._tree = []
        elif task != "keep":
            self._tree.append(operation)

    # ---- lost blocks ----

    def _restore(self, blocks: list[int]) -> None:
        self._lost += blocks
        self._traffic.n_restored += len(blocks)
        self._restore_blocks(blocks)

    def _restore_blocks(self, blocks: Iterable[int]) -> None:
        """Make the state of blocks again, and their codes where they are gone, too."""
        rows, todo = self._rows, list(blocks)
        for _ in attempts("restore blocks of rows"):
            rows.assign(todo)
            groups = self._groups(todo)
            futures = [rows.cluster.submit(owner, worker.restore, *message) for owner, message in groups]
            uncoded: list[int] = []
            left: list[int] = []
            for (_, message), answer in zip(groups, rows.cluster.collect(futures), strict=True):
                if answer is LOST:
                    left += message[2]
                    continue
                uncoded += answer.lost
                for block in answer.results:
                    rows.owners[block] = answer.worker
            if uncoded:
                rows.code_blocks(uncoded)
            todo = left + uncoded
            if not todo:
                return

    def _groups(self, blocks: Iterable[int]) -> list[tuple[str, tuple[Any, ...]]]:
        """Return messages to the owners of blocks, none of them large."""
        rows, groups = self._rows, []
        owned: dict[str, list[int]] = {}
        for block in blocks:
            owned.setdefault(rows.owners[block], []).append(block)
        row_bytes = 8 * (len(self._y) + len(self._scores) + len(self._kept) + 1)
        size = max(1, _MESSAGE_BYTES // (row_bytes * rows.step))
        for owner, own in owned.items():
            for begin in range(0, len(own), size):
                some = own[begin : begin + size]
                groups.append((owner, self._message(some)))
        return groups

    def _message(self, blocks: list[int]) -> tuple[Any, ...]:
        """Return the arguments of `worker.restore`."""
        starts = {}
        for block in blocks:
            begin, end = self._rows.ends(block)
            scores = self._scores if self._scores.shape[1] == 1 else self._scores[:, begin:end]
            weights = None if self._weights is None else np.ascontiguousarray(self._weights[begin:end])
            starts[block] = Start(begin, np.ascontiguousarray(self._y[:, begin:end]), weights, scores)
            self._traffic.bytes_moved += 8 * (end - begin) * (len(self._y) + (weights is not None))
        log = [self._cut(one, blocks) for one in (*self._history, *self._tree)]
        kept = {
            name.name: PerBlock({block: arg.cut(*self._rows.ends(block)) for block in blocks})
            for name, arg in self._kept.values()
        }
        return self._rows.token, self._token, starts, log, kept, self._version

    def _look_for_workers(self) -> None:
        """Now and then, move blocks to workers that have joined."""
        now = time.monotonic()
        if now - self._shared_at > _SHARE_SECONDS:
            self._shared_at = now
            self._rows.share()
