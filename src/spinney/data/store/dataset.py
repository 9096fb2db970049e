"""BinnedDataset: a table as byte codes in blocks of rows on disk, memory-mapped.

Interface for code that reads a store block by block
----------------------------------------------------
Rows have one global order, that of the source. Block ``k`` has the rows ``k * block_rows`` up to
``min((k + 1) * block_rows, n_rows)``; ``block_rows`` is a multiple of 4,096, by default 65,536.

    dataset = BinnedDataset.open(path)      # cheap: reads the manifest, maps the files; picklable by its path
    dataset.n_rows, dataset.n_features, dataset.n_blocks, dataset.block_rows, dataset.max_bins
    dataset.schema                          # Schema: names, kinds, categories, has_missing
    dataset.bins(j)                         # (lo, hi): least and greatest value of each bin of a number
    dataset.bin_of_category(j)              # bin of each category of a categorical column
    dataset.n_bins                          # (n_features,): the code n_bins[j] means missing in column j
    dataset.classes                         # labels of every output in ascending order; None if not classes
    block = dataset.block(k)                # checksums are compared at the first access to a block
    block.begin, block.end, block.n_rows
    block.codes                             # (n_features, n_rows) uint8, memory-mapped, a row per column
    block.target                            # (n_rows,) or (n_rows, n_outputs): labels or values; None without
    block.class_codes                       # (n_rows, n_outputs) int32: positions in dataset.classes
    block.weights, block.group              # (n_rows,) float64, int64; None without
    block.categories(j)                     # (n_rows,) int32: categories of a categorical column, −1 missing
    dataset.matrix()                        # CodeMatrix of all rows, as core.Grower and core.Booster take it

Columns with more than 255 categories have two forms: ``block.codes`` holds the bins by frequency that trees
and forests use, ``block.categories(j)`` the categories themselves, from which gradient boosting makes groups
or target statistics.

The codes are those of `TrainingSet.coded` on the same rows: bins come from the rows and their sample weights
alone, never from blocks, files or batches.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.cached_attribute import cached_attribute
from spinney.core.errors import InputError
from spinney.core.memory import memory_limit
from spinney.core.parameters import thread_count
from spinney.data.schema import Column, Schema
from spinney.data.store.block import Block, as_target
from spinney.data.store.errors import StoreError
from spinney.data.store.files import GROUP, TARGET, WEIGHTS, StoreFiles, wide_columns
from spinney.data.store.manifest import count_bins, read_manifest
from spinney.data.store.table import BinnedTable, StoredRows, decode
from spinney.native import core

_MAX_CODES = 0.25
"""Part of the memory that codes may take."""


class BinnedDataset(StoredRows):
    """A table as byte codes on disk, with its target, weights and groups, to be fitted any number of times.

    It is built once from a source of any size and opened again without reading the source. Estimators take it
    in the place of X and y: ``model.fit(dataset)`` gives the same model as ``model.fit(X, y)`` on the same
    rows. Datasets are made by `build` and `open`. They are pickled as the path of the store.

    Parameters
    ----------
    path : str or path-like
        Directory of a complete store.

    Attributes
    ----------
    path : Path
        The directory.
    schema : Schema
        Names, kinds and categories of the columns.
    manifest : Manifest
        What the store holds.
    max_memory : int or None
        Bytes of codes that a fit may copy to memory; fits read larger datasets from disk. None is a quarter
        of the memory of this process. The model is the same.
    max_bins : int
        Number of bins of a numeric column at most.
    wide : tuple of int
        Columns with more than 255 categories.

    Examples
    --------
    >>> import tempfile
    >>> from spinney import DecisionTreeRegressor
    >>> directory = tempfile.TemporaryDirectory()
    >>> X, y = np.arange(20.0).reshape(10, 2), np.arange(10.0)
    >>> dataset = BinnedDataset.build(X, directory.name + "/store", target=y)
    >>> dataset
    BinnedDataset(n_rows=10, n_features=2, n_blocks=1)
    >>> model = DecisionTreeRegressor(max_bins=255).fit(BinnedDataset.open(directory.name + "/store"))
    >>> model.predict(X[:2]).tolist()
    [0.0, 1.0]
    >>> directory.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.manifest = read_manifest(self.path)
        if not self.manifest.is_complete:
            raise StoreError(
                f"The binned store {str(self.path)!r} is half-written: {self.manifest.blocks_done} of "
                f"{self.manifest.n_blocks} blocks are there",
                fix="Call BinnedDataset.build with the same arguments to finish it.",
            )
        self.schema: Schema = Schema.from_state(self.manifest.schema)
        self.max_bins = self.manifest.max_bins
        self.wide = wide_columns(self.manifest)
        self._files = StoreFiles(self.path, self.manifest)
        self._rows: NDArray[np.int64] | None = None
        self.max_memory: int | None = None

    # ---- building and opening ----

    @classmethod
    def build(
        cls,
        source: Any,
        path: str | os.PathLike[str],
        *,
        target: Any = None,
        sample_weight: Any = None,
        group: Any = None,
        features: Sequence[str] | None = None,
        categorical_features: Any = None,
        max_bins: int = 255,
        block_rows: int = 65536,
        overwrite: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> Self:
        """Build a store, or open it if it is there already and was built from the same files.

        The source is read twice: once for its size, the sample of rows that bin edges are learned from, the
        categories and the labels; once for the codes. A source that does not know its number of rows, and
        any source with weights, is read once more for these (only the column of weights, where the format
        allows it). Memory is bounded by a block and the sample, not by the table. A build that was stopped
        in the second pass is finished by the next call with the same files and arguments.

        Parameters
        ----------
        source : path, list of paths, pyarrow.dataset.Dataset, LazyFrame, Dask DataFrame, frames or table
            A file, a directory or a glob of Parquet, Arrow, Feather or CSV files, or a list of files; a
            `pyarrow.dataset.Dataset`; any object with ``__arrow_c_stream__``; a LazyFrame of polars; a Dask
            DataFrame; a list of data frames or arrays, or a function that returns an iterator of them (each
            may be a tuple (X, y) or (X, y, sample_weight)); or any table that ``fit`` takes.
        path : str or path-like
            Directory of the store; it is made if it does not exist.
        target : str, list of str, array-like or None, default=None
            Column or columns of the source that are the target; an array if the source is a table in memory.
        sample_weight : str, array-like or None, default=None
            Column of the weights, or an array. Rows of weight 0 take no part in choosing bins.
        group : str, array-like or None, default=None
            Column of the groups of rows, such as queries of a ranking, or one id per row.
        features : sequence of str or None, default=None
            Columns to learn from; None is all that have no other role.
        categorical_features : array-like of str, int or bool, or None, default=None
            Names, positions or mask of numeric columns whose values are categories.
        max_bins : int, default=255
            Number of bins per numeric column, at most 255; that of the estimators that will use the store.
        block_rows : int, default=65536
            Number of rows per block, a multiple of 4,096.
        overwrite : bool, default=False
            Whether to replace a store that is there.
        n_jobs : int or None, default=None
            Number of threads; None is all cores that the process may use.
        verbose : int, default=0
            Whether to show progress.

        Returns
        -------
        BinnedDataset
            The dataset.

        Raises
        ------
        SourceChangedError
            If the path has a store of other files or arguments and `overwrite` is False, or the source
            changes while it is read.
        InputError
            If a value is not valid; the message names file, column and row.

        Examples
        --------
        >>> BinnedDataset.build("clicks/*.parquet", "clicks.store", target="clicked")  # doctest: +SKIP
        """
        from spinney.data.store.build import BuildOptions, build_store

        options = BuildOptions(
            target=target,
            sample_weight=sample_weight,
            group=group,
            features=features,
            categorical_features=categorical_features,
            max_bins=max_bins,
            block_rows=block_rows,
            n_threads=thread_count(n_jobs),
            verbose=bool(verbose),
        )
        build_store(source, Path(path), options, overwrite=overwrite)
        return cls(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str], source: Any = None) -> Self:
        """Open a store; nothing is binned again.

        Parameters
        ----------
        path : str or path-like
            Directory of the store.
        source : path, list of paths, pyarrow.dataset.Dataset or None, default=None
            The files that the store was built from, to be compared with what they were then.

        Returns
        -------
        BinnedDataset
            The dataset.

        Raises
        ------
        StoreError
            If there is no store, or it is damaged or half-written.
        SourceChangedError
            If the files of `source` are not those that the store was built from.

        Examples
        --------
        >>> BinnedDataset.open("clicks.store", "clicks/*.parquet")  # doctest: +SKIP
        """
        dataset = cls(path)
        if source is not None:
            from spinney.data.store.build import check_same_source

            check_same_source(dataset.manifest, source, Path(path))
        return dataset

    def verify(self) -> None:
        """Compare all checksums; otherwise each is compared when its block is first read.

        Raises
        ------
        StoreError
            If a block is damaged; the message names it.

        Examples
        --------
        >>> BinnedDataset.open("clicks.store").verify()  # doctest: +SKIP
        """
        for name in self._files.layouts:
            for block in range(self.manifest.n_blocks):
                self._files.block(name, block)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (type(self), self.path.absolute(), self._rows)

    # ---- size and columns ----

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.manifest.n_rows if self._rows is None else len(self._rows)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.schema.n_features

    @property
    def is_whole(self) -> bool:
        """Whether it has all rows of the store, in their order."""
        return self._rows is None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.n_rows, self.n_features

    def __len__(self) -> int:
        return self.n_rows

    @property
    def block_rows(self) -> int:
        """Number of rows per block; the last one may have fewer."""
        return self.manifest.block_rows

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n_rows // self.block_rows)

    @property
    def memory_for_codes(self) -> int:
        """Bytes that codes may take in the memory of a fit: `max_memory`, or a part of all memory."""
        return int(_MAX_CODES * memory_limit()) if self.max_memory is None else self.max_memory

    @property
    def exceeds_memory(self) -> bool:
        """Whether fits leave the codes on disk: in memory there were two copies, by column and by row."""
        return 2 * self.n_rows * self.n_features > self.memory_for_codes

    @cached_attribute
    def n_bins(self) -> NDArray[np.int64]:
        """Number of bins of each column; the code n_bins[j] means missing.  (n_features,)"""
        return np.array([self._n_bins(j) for j in range(self.n_features)], dtype=np.int64)

    def _n_bins(self, j: int) -> int:
        bins, categories = self.manifest.extents[j], self.manifest.category_bins[j]
        if bins is not None:
            return len(bins[0])
        return 0 if categories is None else count_bins(categories)

    def bins(self, j: int) -> tuple[Floats, Floats]:
        """Return the least and the greatest value of each bin of a numeric column.

        Parameters
        ----------
        j : int
            Position of the column.

        Returns
        -------
        lo, hi : ndarray of shape (n_bins,)
            The values.
        """
        bins = self.manifest.extents[j]
        if bins is None:
            raise InputError("Categories have no bins of values", column=self.schema.names[j])
        return bins

    def bin_of_category(self, j: int) -> NDArray[np.uint32]:
        """Return the bin of each category of a categorical column; of many, rare ones share the last.

        Parameters
        ----------
        j : int
            Position of the column.

        Returns
        -------
        ndarray of shape (n_categories,)
            The bins.
        """
        bins = self.manifest.category_bins[j]
        if bins is None:
            raise InputError("The column has no categories", column=self.schema.names[j])
        return bins

    @property
    def classes(self) -> tuple[NDArray[Any], ...] | None:
        """Classes of every output, None without a target or if there are very many or no integers."""
        return None if self.manifest.target is None else self.manifest.target.classes

    @property
    def content_hash(self) -> str:
        """Hash of codes, bins, schema, target, weights and groups: the same for any source of the rows."""
        return self.manifest.content_hash

    # ---- rows ----

    def block(self, index: int) -> Block:
        """Return a block.

        Parameters
        ----------
        index : int
            Number of the block.

        Returns
        -------
        Block
            Its rows.
        """
        at = range(self.n_blocks)[index]
        begin = at * self.block_rows
        return Block(self, at, begin, min(begin + self.block_rows, self.n_rows))

    def blocks(self) -> Iterator[Block]:
        """Iterate over the blocks in the order of the rows.

        Yields
        ------
        Block
            The blocks.
        """
        return map(self.block, range(self.n_blocks))

    def read(self, name: str, block: Block) -> Any:
        """Return the rows of a block in one of the files of the store.

        Parameters
        ----------
        name : str
            The file.
        block : Block
            The block.

        Returns
        -------
        ndarray
            (width, n_rows) of files that are written column by column, else (n_rows, width).
        """
        if self._rows is None:
            return self._files.block(name, block.index)
        return self._gather(name, self._rows[block.begin : block.end])

    def _gather(self, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        layout = self._files.layouts[name]
        out = np.empty(layout.shape(len(rows)), layout.dtype)
        owner = rows // self.block_rows
        for index in np.unique(owner):
            at = np.flatnonzero(owner == index)
            stored, local = self._files.block(name, int(index)), rows[at] - index * self.block_rows
            if layout.by_column:
                out[:, at] = stored[:, local]
            else:
                out[at] = stored[local]
        return out

    def _whole(self, name: str) -> NDArray[Any]:
        return self._files.column(name) if self._rows is None else self._gather(name, self._rows)

    @cached_attribute
    def target(self) -> NDArray[Any] | None:
        """Labels or values of all rows, None without a target.  (n_rows,) or (n_rows, n_outputs)"""
        described = self.manifest.target
        return None if described is None else as_target(self._whole(TARGET), described)

    @cached_attribute
    def weights(self) -> Floats | None:
        """Weights of all rows, None if there are none.  (n_rows,)"""
        return self._whole(WEIGHTS)[:, 0] if self.manifest.has_weights else None

    @cached_attribute
    def group(self) -> NDArray[np.int64] | None:
        """Groups of all rows, numbered as they first occur; None if there are none.  (n_rows,)"""
        return self._whole(GROUP)[:, 0] if self.manifest.has_group else None

    def column(self, j: int) -> Column:
        """Return a column in memory, with the least value of the bin, or the category, of each row.

        Parameters
        ----------
        j : int
            Position of the column.

        Returns
        -------
        ndarray of shape (n_rows,)
            float64 with NaN, or int32 with −1, for missing.
        """
        if self.schema.features[j].kind == "categorical":
            return np.concatenate([block.categories(j) for block in self.blocks()])
        lo, _ = self.bins(j)
        return np.concatenate([decode(block.codes[j], lo) for block in self.blocks()])

    def table(self) -> BinnedTable:
        """Return the columns as a table, which decodes them where they are used.

        Returns
        -------
        BinnedTable
            The table.
        """
        return BinnedTable(self.schema, self.n_rows, self, range(self.n_features))

    def described_columns(self) -> core.CodeMatrix:
        """Return the bins and categories of the columns as a matrix without rows.

        Returns
        -------
        CodeMatrix
            The columns.
        """
        return core.allocate_codes(0, list(self.manifest.extents), list(self.manifest.category_bins))

    def matrix(self, columns: Sequence[int] | None = None, *, exact: bool = False) -> core.CodeMatrix:
        """Copy the codes into memory, as growers take them.

        Parameters
        ----------
        columns : sequence of int or None, default=None
            Positions of the columns; None is all.
        exact : bool, default=False
            Whether every bin has to have one value, as the ranks of ``max_bins=None`` do.

        Returns
        -------
        CodeMatrix
            The codes.
        """
        chosen = list(range(self.n_features)) if columns is None else list(columns)
        bins, categories = self.manifest.extents, self.manifest.category_bins
        category_bins = [categories[j] for j in chosen]
        if exact:
            self._check_exact(chosen)
            category_bins = [
                None if one is None else np.arange(len(one), dtype=np.uint32) for one in category_bins
            ]
        matrix = core.allocate_codes(self.n_rows, [bins[j] for j in chosen], category_bins)
        for block in self.blocks():
            codes = block.codes
            for i, j in enumerate(chosen):
                if exact and j in self.wide:
                    n_categories = len(self.schema.features[j].categories)
                    levels = block.categories(j)
                    own = np.where(levels < 0, n_categories, levels).astype(np.uint32)
                    core.write_codes(matrix, i, block.begin, own)
                else:
                    core.write_codes(matrix, i, block.begin, np.ascontiguousarray(codes[j]))
        return matrix

    def _check_exact(self, columns: Sequence[int]) -> None:
        for j in columns:
            bins = self.manifest.extents[j]
            if bins is not None and not np.array_equal(*bins):
                raise InputError(
                    f"max_bins=None asks for exact splits, but the dataset has {self.max_bins} bins with "
                    "several values each",
                    column=self.schema.names[j],
                    fix=f"Set max_bins={self.max_bins}.",
                )

    def subset(self, rows: Any) -> BinnedDataset:
        """Return some rows, such as those of a fold; bins are those of the whole dataset.

        Parameters
        ----------
        rows : array-like of int or bool
            Positions of the rows in the new order, or a mask.

        Returns
        -------
        BinnedDataset
            A view: codes are copied where they are used.

        Examples
        --------
        >>> dataset.subset(np.arange(100))  # doctest: +SKIP
        BinnedDataset(n_rows=100, n_features=28, n_blocks=1)
        """
        chosen = np.asarray(rows)
        if chosen.dtype == np.bool_:
            if chosen.shape != (self.n_rows,):
                raise InputError(f"The mask has shape {chosen.shape}, expected {(self.n_rows,)}.")
            chosen = np.flatnonzero(chosen)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or not len(chosen):
            raise InputError("rows must be positions of at least one row, or a mask.")
        if chosen.min() < -self.n_rows or chosen.max() >= self.n_rows:
            raise InputError(f"A row is out of range: the dataset has {self.n_rows} rows.")
        chosen = np.where(chosen < 0, chosen + self.n_rows, chosen).astype(np.int64)
        return _with_rows(self, chosen if self._rows is None else self._rows[chosen])

    def __getitem__(self, rows: Any) -> BinnedDataset:
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] in (Ellipsis, slice(None)):
            rows = rows[0]  # as scikit-learn takes the rows of an array
        return self.subset(np.arange(self.n_rows)[rows] if isinstance(rows, slice) else rows)

    def __repr__(self) -> str:
        return f"BinnedDataset(n_rows={self.n_rows}, n_features={self.n_features}, n_blocks={self.n_blocks})"


def _with_rows(dataset: BinnedDataset, rows: NDArray[np.int64] | None) -> BinnedDataset:
    """Return some rows of a whole dataset."""
    view = object.__new__(type(dataset))
    own = ("target", "weights", "group")
    kept = {name: value for name, value in vars(dataset).items() if name not in own}
    vars(view).update(kept, _rows=rows)
    return view


def _reopen(cls: type[BinnedDataset], path: Path, rows: NDArray[np.int64] | None) -> BinnedDataset:
    return _with_rows(cls(path), rows)
