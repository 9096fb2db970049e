"""The second pass over a source: `RowCoder` codes batches, `BlockWriter` writes them in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import UnseenCategoryError
from spinney.data.categories import code_categories
from spinney.data.columns import column_label
from spinney.data.schema import Schema
from spinney.data.store.errors import located
from spinney.data.store.files import (
    CATEGORIES,
    CODES,
    GROUP,
    TARGET,
    WEIGHTS,
    BlockFiles,
    layouts,
    many_categories,
)
from spinney.data.store.manifest import Bins, Manifest, TargetColumns, count_bins, write_manifest
from spinney.data.store.roles import RowBatch, where_changed
from spinney.native import core

_CHECKPOINT_BYTES = 1 << 27
"""Number of bytes after which it is recorded how far the store is written."""
_EMPTY: Bins = (np.empty(0), np.empty(0))


class GroupNumbers:
    """Numbers of groups in the order in which they first occur."""

    def __init__(self) -> None:
        self._number_of: dict[Any, int] = {}

    def encode(self, ids: NDArray[Any]) -> NDArray[np.int64]:
        """Return the number of each row's group.  (n_rows,)"""
        distinct, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
        items = distinct.tolist()
        for at in np.argsort(first).tolist():
            self._number_of.setdefault(items[at], len(self._number_of))
        return np.array([self._number_of[item] for item in items], dtype=np.int64)[inverse]


class RowCoder:
    """Codes batches of rows by the bins and categories of the first pass, and notes what their rows have.

    Parameters
    ----------
    schema : Schema
        Names, kinds and categories of the columns.
    bins : sequence of (lo, hi) or None
        Bins of every numeric column, None of a categorical one.
    category_bins : sequence of ndarray or None
        Bin of every category of a categorical column, None of a numeric one.
    sampled : bool
        Whether the bins come from a sample.
    n_threads : int
        Number of threads.
    """

    def __init__(
        self,
        schema: Schema,
        bins: Sequence[Bins | None],
        category_bins: Sequence[NDArray[np.uint32] | None],
        sampled: bool,
        n_threads: int,
    ) -> None:
        self._schema, self._bins, self._category_bins = schema, bins, category_bins
        self._coder = core.BinCoder([one or _EMPTY for one in bins], sampled)
        self._has_missing = np.array([f.has_missing for f in schema.features], dtype=np.bool_)
        self._wide = many_categories(category_bins)
        self._n_threads = n_threads

    def merge(self, extents: Sequence[Bins | None], has_missing: Sequence[bool] | None = None) -> None:
        """Go on from what another coder has seen."""
        for j, one in enumerate(extents):
            missing = has_missing is not None and bool(has_missing[j])
            self._has_missing[j] |= missing
            if one is not None:
                self._coder.merge(j, one, missing)

    def read(self, batch: RowBatch) -> list[NDArray[Any]]:
        """Read the columns by the schema of the first pass."""
        columns: list[NDArray[Any]] = []
        for j, feature in enumerate(self._schema.features):
            label = column_label(batch.source.names, j)
            try:
                with located(batch.where, batch.first_row):
                    raw = batch.source.column(j)
                    if feature.kind == "numeric":
                        columns.append(raw.numbers())
                    else:
                        columns.append(code_categories(raw, feature, label, "error"))
            except UnseenCategoryError as error:
                problem = f"column {label!r}, row {error.row} has the new category {error.value!r}"
                raise where_changed(batch.where, problem) from error
        return columns

    def code(
        self,
        columns: Sequence[NDArray[Any]],
        weights: NDArray[np.float64] | None,
        codes: NDArray[np.uint8],
        categories: NDArray[np.int32] | None,
        at: int,
    ) -> None:
        """Write the codes of some rows, and the categories of wide columns, from a position on.

        Parameters
        ----------
        columns : sequence of ndarray of shape (n_rows,)
            The columns as `read` returns them.
        weights : ndarray of shape (n_rows,) or None
            Row weights, where they vary.
        codes : ndarray of shape (n_features, n)
            Codes, written to.
        categories : ndarray of shape (n_wide, n) or None
            Categories of columns with more than 255, written to.
        at : int
            Position of the first row.
        """
        kinds = [feature.kind for feature in self._schema.features]
        numbers = [x if kind == "numeric" else None for x, kind in zip(columns, kinds, strict=True)]
        if any(x is not None for x in numbers):
            self._coder.code(numbers, weights, codes, at, self._n_threads)
        for j, bins in enumerate(self._category_bins):
            if bins is None:
                continue
            levels = columns[j]
            to = slice(at, at + len(levels))
            codes[j, to] = np.append(bins, count_bins(bins)).astype(np.uint8)[levels]
            self._has_missing[j] |= bool((levels < 0).any())
            if j in self._wide:
                assert categories is not None
                categories[self._wide.index(j), to] = levels

    @property
    def has_missing(self) -> list[bool]:
        """Whether each column has had a missing value."""
        return [bool(one) or self._coder.has_missing(j) for j, one in enumerate(self._has_missing)]

    @property
    def extents(self) -> tuple[Bins | None, ...]:
        """Least and greatest value of every bin so far, None of categorical columns."""
        return tuple(None if one is None else self._coder.extents(j) for j, one in enumerate(self._bins))


class BlockWriter:
    """Codes batches of rows, and writes them in blocks of fixed size.

    Parameters
    ----------
    path : Path
        Directory of the store.
    files : BlockFiles
        Its files.
    manifest : Manifest
        Bins and schema, and the number of blocks that are there already.
    n_threads : int
        Number of threads.
    """

    def __init__(self, path: Path, files: BlockFiles, manifest: Manifest, n_threads: int) -> None:
        self._path, self._files, self._manifest = path, files, manifest
        self._schema = Schema.from_state(manifest.schema)
        self._coder = RowCoder(
            self._schema, manifest.bins, manifest.category_bins, manifest.sampled, n_threads
        )
        self._coder.merge(manifest.extents)
        self._groups = GroupNumbers()
        self._next = manifest.blocks_done
        self._unsaved = 0
        self.n_rows = 0
        """Number of rows that were read."""
        self._buffers = {
            name: np.empty(layout.shape(manifest.block_rows), layout.dtype)
            for name, layout in layouts(manifest).items()
        }

    def add(self, batch: RowBatch) -> None:
        """Code the rows of a batch, and write the blocks that they fill."""
        if self.n_rows + batch.n_rows > self._manifest.n_rows:
            raise where_changed(batch.where, "there are more rows than before")
        group = None if batch.group is None else self._groups.encode(batch.group)
        first_new = self._next * self._manifest.block_rows
        if self.n_rows + batch.n_rows <= first_new:  # written by an earlier build
            self.n_rows += batch.n_rows
            return
        columns = self._coder.read(batch)
        begin = max(0, first_new - self.n_rows)
        self.n_rows += begin
        while begin < batch.n_rows:
            at = self.n_rows % self._manifest.block_rows
            n = min(batch.n_rows - begin, self._manifest.block_rows - at)
            self._put(columns, batch, group, slice(begin, begin + n), at)
            begin, self.n_rows = begin + n, self.n_rows + n
            if at + n == self._manifest.block_rows or self.n_rows == self._manifest.n_rows:
                self._flush(at + n)

    def _put(
        self,
        columns: list[NDArray[Any]],
        batch: RowBatch,
        group: NDArray[np.int64] | None,
        rows: slice,
        at: int,
    ) -> None:
        """Write some rows of a batch into the buffers of the block, from a position on."""
        to = slice(at, at + rows.stop - rows.start)
        weights = batch.weights[rows] if batch.weights is not None and self._manifest.varied_weights else None
        own = [column[rows] for column in columns]
        self._coder.code(own, weights, self._buffers[CODES], self._buffers.get(CATEGORIES), at)
        if self._manifest.target is not None:
            self._buffers[TARGET][to] = self._encode_target(batch, rows, self._manifest.target)
        if self._manifest.has_weights:
            assert batch.weights is not None
            self._buffers[WEIGHTS][to, 0] = batch.weights[rows]
        if group is not None:
            self._buffers[GROUP][to, 0] = group[rows]

    def _encode_target(self, batch: RowBatch, rows: slice, described: TargetColumns) -> NDArray[Any]:
        """Return the target as it is stored.  -> (n_rows, n_outputs)"""
        if batch.target is None:
            raise where_changed(batch.where, "there is no target")
        target = batch.target[rows]
        target = target[:, None] if target.ndim == 1 else target
        if described.labels is None:
            if target.dtype.kind not in "biuf":
                raise where_changed(batch.where, "the target is not a number")
            return target
        coded = []
        for labels, column in zip(described.labels, target.T, strict=True):
            code_of = {label: code for code, label in enumerate(labels.tolist())}
            try:
                coded.append(np.fromiter(map(code_of.__getitem__, column.tolist()), np.int32, len(column)))
            except KeyError as error:
                raise where_changed(batch.where, f"the target has the new label {error}") from None
        return np.stack(coded, axis=1)

    def _flush(self, n: int) -> None:
        """Write a block of n rows."""
        by_column = {name: layout.by_column for name, layout in layouts(self._manifest).items()}
        arrays = {name: x[:, :n] if by_column[name] else x[:n] for name, x in self._buffers.items()}
        self._files.write(self._next, arrays)
        self._next += 1
        self._unsaved += sum(x.nbytes for x in arrays.values())
        if self._unsaved >= _CHECKPOINT_BYTES:
            self._save()

    def _save(self) -> None:
        """Record how far the store is written."""
        self._files.sync()
        write_manifest(self._described(), self._path)
        self._unsaved = 0

    def _described(self) -> Manifest:
        return replace(
            self._manifest,
            schema=self._schema.with_missing(self._coder.has_missing).to_state(),
            extents=self._coder.extents,
            checksums={name: crc.copy() for name, crc in self._files.checksums.items()},
            blocks_done=self._next,
        )

    def finish(self) -> None:
        """Record that the store is complete."""
        if self.n_rows != self._manifest.n_rows:
            raise where_changed("", f"there are {self.n_rows} rows where {self._manifest.n_rows} were before")
        self._save()
