"""ClusterRows: a table in the partitions of a Dask collection, coded in blocks on the workers."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import CHUNK_ROWS, Floats
from spinney.core.cached_attribute import cached_attribute
from spinney.core.errors import InputError
from spinney.data.schema import Column, Schema
from spinney.data.store.files import many_categories
from spinney.data.store.roles import read_weights
from spinney.data.store.survey import Counted, Survey, Surveyor, WeightFacts
from spinney.data.store.table import BinnedTable, StoredRows
from spinney.data.store.writer import RowCoder
from spinney.distributed import worker
from spinney.distributed.block_table import decode_column
from spinney.distributed.cluster import LOST, Cluster, attempts
from spinney.distributed.collected_rows import CollectedRows, in_order
from spinney.distributed.partitions import Partitions, Piece, collect
from spinney.native import core

_MAX_BLOCK_CHUNKS = 16
_BLOCKS_PER_WORKER = 4
FAN_IN = 4
"""Answers of workers that are added by one task; as many workers are called without tasks."""


class ClusterRows(StoredRows):
    """Rows of a Dask collection as byte codes in the memory of the workers, with target and weights here.

    Rows have the order of the partitions. They are cut into blocks of whole chunks of this order, so that
    nothing depends on the partitions.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    X : Dask DataFrame or Dask Array
        The features.
    y : Dask Series, DataFrame or Array, array-like or None
        The target.
    sample_weight : Dask Series or Array, array-like or None
        Row weights.
    max_bins : int
        Number of bins of a numeric column at most.
    categorical_features : object
        Columns whose numbers are categories.
    """

    group = None

    def __init__(
        self,
        cluster: Cluster,
        X: Any,
        y: Any,
        sample_weight: Any,
        max_bins: int,
        categorical_features: Any,
    ) -> None:
        self.cluster, self.max_bins, self.token = cluster, max_bins, uuid.uuid4().hex
        self._partitions = Partitions.read(X, cluster)
        self._categorical_features = categorical_features
        self.n_rows = self._partitions.n_rows
        self.target = collect(cluster, y)
        weights = collect(cluster, sample_weight)
        self.weights = None if weights is None else read_weights(weights, self.n_rows)
        if self.target is not None and len(self.target) != self.n_rows:
            raise InputError(f"y has {len(self.target)} rows, and X has {self.n_rows}.")
        self._facts = WeightFacts(self.n_rows, self.n_rows)
        if self.weights is not None:
            self._facts = WeightFacts.measure([(self.n_rows, self.weights)])
        survey = self._survey()
        self.wide = many_categories(survey.category_bins)
        self._category_bins = survey.category_bins
        self._plan = worker.CodingPlan(
            self.token,
            self._partitions.names,
            survey.schema,
            survey.bins,
            survey.category_bins,
            survey.sampled,
        )
        self.step = self._choose_step(len(cluster.workers()))
        self.owners: dict[int, str] = {}
        self.bytes_read = 0
        self._code_all()

    # ---- the first pass ----

    def _tasks(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return delayed calls of a function of (piece, names, weights, *args, frame) on partitions."""
        from dask import delayed

        tasks = []
        ends = self._partitions.ends
        for part, frame in enumerate(self._partitions.delayed):
            begin, end = int(ends[part]), int(ends[part + 1])
            if begin == end:
                continue
            weights = None if self.weights is None else self.weights[begin:end]
            own = [arg(begin, end) if callable(arg) else arg for arg in args]
            piece = Piece(part, 0, end - begin)
            call = partial(function, piece, self._partitions.names, weights, *own)
            tasks.append(delayed(call, pure=False)(frame))
        return tasks

    def _survey(self) -> Survey:
        """Learn schema, bins and categories."""
        facts = self._facts
        if facts.varied and self.weights is not None:
            counted = np.concatenate([[0], np.cumsum(self.weights > 0)])
        else:
            counted = np.arange(self.n_rows + 1)

        def edge_rows(begin: int, end: int) -> tuple[int, int]:
            return int(counted[begin]), int(counted[end])

        chosen = facts, self.max_bins, self._categorical_features
        parts = self.cluster.compute_all(lambda: self._tasks(worker.survey_piece, edge_rows, *chosen))
        surveyor = Surveyor(*chosen, 1, np.empty)
        for part in parts:
            surveyor.merge(part)
        return surveyor.finish(self._count_again)

    def _count_again(self, columns: list[int]) -> Counted:
        parts = self.cluster.compute_all(lambda: self._tasks(worker.count_piece, columns, self._facts))
        counter = core.ValueCounter(len(columns), self.n_rows)
        for part in parts:
            for i, j in enumerate(columns):
                alone: list[Any] = [None] * len(columns)
                alone[i], masses = part[j]
                if len(masses):
                    counter.add(alone, masses, 1)
        return {j: counter.read(i) for i, j in enumerate(columns)}

    # ---- blocks ----

    def _choose_step(self, n_workers: int) -> int:
        """Return the number of rows of a block: whole chunks, a few blocks per worker."""
        n_chunks = -(-self.n_rows // CHUNK_ROWS) // (_BLOCKS_PER_WORKER * n_workers)
        return CHUNK_ROWS * min(max(1, n_chunks), _MAX_BLOCK_CHUNKS)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n_rows // self.step)

    def ends(self, block: int) -> tuple[int, int]:
        """Return the first row of a block, and the row after its last."""
        return block * self.step, min((block + 1) * self.step, self.n_rows)

    def _code_all(self) -> None:
        """Code all blocks, and merge what their rows have."""
        workers = list(self.cluster.workers())
        for block in range(self.n_blocks):
            self.owners[block] = workers[block * len(workers) // self.n_blocks]
        plan = self._plan
        merged = RowCoder(plan.schema, plan.bins, plan.category_bins, plan.sampled, 1)
        for facts in self.code_blocks(range(self.n_blocks)).values():
            merged.merge(facts.extents, facts.has_missing)
            self.bytes_read += facts.n_bytes
        self._extents = merged.extents
        self.schema: Schema = plan.schema.with_missing(merged.has_missing)

    def code_blocks(self, blocks: Iterable[int]) -> dict[int, worker.CodedFacts]:
        """Read the partitions of blocks, and code them on their owners.

        Parameters
        ----------
        blocks : iterable of int
            Numbers of the blocks.

        Returns
        -------
        dict
            What was found, by block.
        """
        from dask import delayed

        todo, found = list(blocks), {}
        for _ in attempts("code blocks of rows"):
            if not todo:
                break
            self.assign(todo)
            futures: dict[int, Any] = {}
            for owner in sorted({self.owners[block] for block in todo}):
                own = [block for block in todo if self.owners[block] == owner]
                tasks = []
                for block in own:
                    begin, end = self.ends(block)
                    pieces = self._partitions.pieces(begin, end)
                    weights = self.weights if self._facts.varied else None
                    weights = None if weights is None else weights[begin:end]
                    frames = [self._partitions.delayed[piece.part] for piece in pieces]
                    call = partial(worker.code_block, self._plan, block, pieces, weights)
                    tasks.append(delayed(call, pure=False)(*frames))
                futures |= dict(zip(own, self.cluster.compute(owner, tasks), strict=True))
            results = dict(zip(futures, self.cluster.collect(list(futures.values())), strict=True))
            todo = [block for block, one in results.items() if one is LOST]
            for block, facts in results.items():
                if facts is not LOST:
                    found[block] = facts
                    self.owners[block] = facts.worker
        return found

    def assign(self, blocks: Iterable[int]) -> None:
        """Choose new owners for blocks whose worker is gone: those that have the fewest."""
        alive = self.cluster.workers()
        load = Counter(dict.fromkeys(alive, 0))
        load.update(owner for owner in self.owners.values() if owner in alive)
        for block in blocks:
            if self.owners.get(block) not in alive:
                self.owners[block] = min(alive, key=lambda address: (load[address], address))
                load[self.owners[block]] += 1

    def share(self) -> list[int]:
        """Move blocks to workers that have none, such as new ones; return the blocks that moved."""
        alive = self.cluster.workers()
        load = Counter(dict.fromkeys(alive, 0))
        load.update(owner for owner in self.owners.values() if owner in alive)
        most, moved = -(-self.n_blocks // len(alive)), []
        for address in [one for one in alive if load[one] == 0]:
            for block, owner in self.owners.items():
                if load[address] < most and load[owner] > most:
                    self.owners[block] = address
                    load[owner] -= 1
                    load[address] += 1
                    moved.append(block)
        return moved

    def ask(
        self,
        function: Callable[..., worker.Answer],
        args: Callable[[list[int]], tuple[Any, ...]],
        restore: Callable[[list[int]], Any],
        tally: Callable[[worker.Answer], None] | None = None,
    ) -> worker.Answer:
        """Call a function on all blocks, on the worker that has each; blocks that are lost are restored.

        Parameters
        ----------
        function : function
            Runs on workers; returns an `Answer`.
        args : function of a list of int
            Returns the arguments for some blocks.
        restore : function of a list of int
            Makes blocks anew.
        tally : function of Answer or None, default=None
            Called with every answer that has come here.

        Returns
        -------
        Answer
            The answers of all blocks, joined.
        """
        todo, answers = list(range(self.n_blocks)), []
        for _ in attempts("keep blocks of rows"):
            owned: dict[str, list[int]] = {}
            for block in todo:
                owned.setdefault(self.owners[block], []).append(block)
            if len(owned) > FAN_IN:
                futures = [self.cluster.submit(one, function, *args(own)) for one, own in owned.items()]
                lost, found = self._gather(futures, list(owned.values()))
            else:
                calls = [self.cluster.send(one, function, *args(own)) for one, own in owned.items()]
                lost, found = _sort_answers(self.cluster.receive(calls), list(owned.values()))
            if tally is not None:
                for answer in found:
                    tally(answer)
            answers += found
            if not lost:
                break
            restore(lost)
            todo = lost
        return worker.add_answers(*answers)

    def _gather(
        self, futures: list[Any], blocks: Sequence[list[int]]
    ) -> tuple[list[int], list[worker.Answer]]:
        """Return the blocks that are lost, and the answers, added by tasks where there are many."""
        level, groups = futures, [list(own) for own in blocks]
        while len(level) > FAN_IN:
            joined = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
            groups = [list(chain(*groups[i : i + FAN_IN])) for i in range(0, len(level), FAN_IN)]
            level = [self.cluster.client.submit(worker.add_answers, *some, pure=False) for some in joined]
        return _sort_answers(self.cluster.collect(level), groups)

    def owned(self) -> dict[str, list[int]]:
        """Return the blocks of each worker."""
        owned: dict[str, list[int]] = {}
        for block in range(self.n_blocks):
            owned.setdefault(self.owners[block], []).append(block)
        return owned

    def description(self) -> dict[str, Any]:
        """Return what else `CollectedRows` has beside codes."""
        return {
            "schema": self.schema,
            "max_bins": self.max_bins,
            "extents": self._extents,
            "category_bins": self._category_bins,
            "target": self.target,
            "weights": self.weights,
        }

    def close(self) -> None:
        """Drop the codes from the workers."""
        if self.cluster.client.status == "running":
            self.cluster.start(worker.forget, self.token)

    # ---- as a dataset ----

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.schema.n_features

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.n_rows, self.n_features

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, rows: Any) -> NDArray[np.int64]:
        # scikit-learn's scorers get these in the place of rows; the raw scores are known already
        chosen: NDArray[np.int64] = np.arange(self.n_rows)[rows]
        return chosen

    def table(self) -> BinnedTable:
        """Return the columns as a table, which collects them where they are used."""
        return BinnedTable(self.schema, self.n_rows, self, range(self.n_features))

    def code_source(self) -> Any:
        """Return the codes as gradient boosting asks for them."""
        from spinney.distributed.engine import ClusterCodes

        return None if self.wide else ClusterCodes(self)

    def described_columns(self) -> core.CodeMatrix:
        """Return the bins and categories of the columns as a matrix without rows."""
        return core.allocate_codes(0, list(self._extents), list(self._category_bins))

    @cached_attribute
    def lo(self) -> list[Floats | None]:
        """Least value of each bin of every numeric column, None of categorical ones."""
        return [None if one is None else one[0] for one in self._extents]

    def column(self, j: int) -> Column:
        """Return a column with a value of its bin, or the category, of each row."""
        if j in self.wide:
            at = self.wide.index(j)
            answer = self.ask(worker.read_categories, lambda own: (self.token, own, at), self.code_blocks)
            return self._in_order(answer)
        answer = self.ask(worker.read_codes, lambda own: (self.token, own, [j]), self.code_blocks)
        codes = self._in_order(answer, axis=1)[0]
        return decode_column(self.schema, j, codes, self.lo[j], None)

    def _in_order(self, answer: worker.Answer, axis: int = 0) -> NDArray[Any]:
        return np.concatenate([answer.results[block] for block in range(self.n_blocks)], axis=axis)

    def matrix(self, columns: Sequence[int] | None = None, *, exact: bool = False) -> core.CodeMatrix:
        """Collect the codes in the memory of this process."""
        answer = self.ask(worker.read_codes, lambda own: (self.token, own, None), self.code_blocks)
        collected = CollectedRows(**self.description(), codes=in_order(answer.results))
        return collected.matrix(columns, exact=exact)


def _sort_answers(
    answers: Sequence[Any], blocks: Sequence[list[int]]
) -> tuple[list[int], list[worker.Answer]]:
    """Return the blocks that are lost, and the answers."""
    lost: list[int] = []
    found = []
    for own, answer in zip(blocks, answers, strict=True):
        if answer is LOST:
            lost += own
        else:
            found.append(answer)
            lost += answer.lost
    return lost, found
