"""Manifest: what a binned store holds, how far it is written, and the checksums of its blocks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import ModelFileError, show_value
from spinney.data.schema import Schema
from spinney.data.store.errors import StoreError
from spinney.io import Persistent, dumps, load, require, save

MANIFEST = "manifest.spinney"
FORMAT = 1
"""Version of the layout of the files; the manifest is a model file and has a version of its own."""
ROWS_STEP = 4096
"""Numbers of rows of blocks are multiples of it."""
MAX_BINS = 255
"""Number of bins of a byte code, without the missing bin; more categories are stored as such, too."""

Bins = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class TargetColumns(Persistent):
    """How the target is stored.

    Attributes
    ----------
    dtype : str
        NumPy's name of the type of the numbers; "<i4", positions among the labels, if there are `labels`.
    n_outputs : int
        Number of columns.
    is_vector : bool
        Whether the target is an array of one axis.
    labels : tuple of ndarray or None
        Labels of every output that are not plain numbers, in ascending order.
    classes : tuple of ndarray or None
        Classes of every output in ascending order, as a classifier learns them; None if there are very many,
        or numbers that are not integers.
    """

    dtype: str
    n_outputs: int = 1
    is_vector: bool = True
    labels: tuple[NDArray[Any], ...] | None = None
    classes: tuple[NDArray[Any], ...] | None = None

    def __post_init__(self) -> None:
        valid = type(self.dtype) is str and self.dtype in _TARGET_TYPES
        require(valid, f"the target has the type {show_value(self.dtype)}")
        valid = type(self.n_outputs) is int and self.n_outputs >= 1 and type(self.is_vector) is bool
        require(valid and (self.n_outputs == 1 or not self.is_vector), "the target has no valid shape")
        for labels in (self.labels, self.classes):
            valid = labels is None or (type(labels) is tuple and len(labels) == self.n_outputs)
            valid = valid and all(isinstance(one, np.ndarray) and one.ndim == 1 for one in labels or ())
            require(valid, "the labels are not one array per output")
        require(self.labels is None or self.dtype == "<i4", "labels are not stored as their positions")


_TARGET_TYPES = frozenset(
    {"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"}
)


@dataclass(frozen=True, eq=False)
class Manifest(Persistent):
    """Description of a store.

    Attributes
    ----------
    n_rows, block_rows, max_bins : int
        Size of the table and of its blocks, and the number of bins of a numeric column at most.
    schema : dict
        The schema as plain data.
    bins : tuple
        (lo, hi) of every numeric column, None of a categorical one. Until the store is complete, the bins of
        the sample.
    extents : tuple
        The same with the extents of the rows that are written.
    category_bins : tuple
        Bin of every category of a categorical column, None of a numeric one.
    sampled : bool
        Whether the bins come from a sample of the rows.
    varied_weights : bool
        Whether there are weights that are not all equal.
    n_positive : int
        Number of rows of positive weight.
    target : TargetColumns or None
        The target.
    has_weights, has_group : bool
        Whether there are weights, and groups.
    checksums : dict
        CRC-32 of each block of each file that is written.
    blocks_done : int
        Number of blocks that are written.
    options : dict
        The arguments of the build.
    fingerprint : list or None
        The files that the store was built from; None if the source cannot be recognised.
    layout : int
        Version of the layout.
    """

    n_rows: int
    block_rows: int
    max_bins: int
    schema: dict[str, Any]
    bins: tuple[Bins | None, ...]
    extents: tuple[Bins | None, ...]
    category_bins: tuple[NDArray[np.uint32] | None, ...]
    sampled: bool = False
    varied_weights: bool = False
    n_positive: int = 0
    target: TargetColumns | None = None
    has_weights: bool = False
    has_group: bool = False
    checksums: dict[str, NDArray[np.uint32]] = field(default_factory=dict)
    blocks_done: int = 0
    options: dict[str, Any] = field(default_factory=dict)
    fingerprint: list[Any] | None = None
    layout: int = FORMAT

    def __post_init__(self) -> None:
        require(self.layout == FORMAT, f"the store has layout {show_value(self.layout)}, not {FORMAT}")
        counts = self.n_rows, self.block_rows, self.max_bins, self.blocks_done, self.n_positive
        require(all(type(n) is int and n >= 0 for n in counts), "a size is not a count")
        require(1 <= self.n_rows < 2**32 - 1, "the number of rows is not valid")
        valid = self.block_rows >= ROWS_STEP and self.block_rows % ROWS_STEP == 0
        require(valid, "blocks have no valid size")
        require(2 <= self.max_bins <= MAX_BINS, "the number of bins is not valid")
        require(self.blocks_done <= self.n_blocks, "more blocks are written than there are")
        flags = self.sampled, self.varied_weights, self.has_weights, self.has_group
        require(all(type(flag) is bool for flag in flags), "a flag is not a bool")
        require(isinstance(self.target, TargetColumns | None), "the target is not described")
        schema = Schema.from_state(self.schema)
        parts = self.bins, self.extents, self.category_bins
        valid = all(type(part) is tuple and len(part) == schema.n_features for part in parts)
        require(valid, "there are not as many bins as columns")
        for j, feature in enumerate(schema.features):
            if feature.kind == "numeric":
                _check_bins(self.bins[j], self.max_bins)
                _check_bins(self.extents[j], self.max_bins)
                same = len(self.bins[j][0]) == len(self.extents[j][0])  # type: ignore[index]
                require(same and self.category_bins[j] is None, "a numeric column has two kinds of bins")
            else:
                _check_category_bins(self.category_bins[j], len(feature.categories))
                require(self.bins[j] is None and self.extents[j] is None, "categories have bins of numbers")
        for crc in self.checksums.values():
            valid = isinstance(crc, np.ndarray) and crc.dtype == np.uint32
            require(valid and crc.shape == (self.n_blocks,), "there is not one checksum per block")

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n_rows // self.block_rows)

    @property
    def is_complete(self) -> bool:
        """Whether all blocks are written."""
        return self.blocks_done == self.n_blocks

    @property
    def content_hash(self) -> str:
        """Hash of all that a model may depend on: the same for every source of the same rows."""
        content = replace(self, bins=self.extents, options={}, fingerprint=None)
        return blake2b(dumps(content), digest_size=16).hexdigest()


def count_bins(category_bins: NDArray[np.uint32]) -> int:
    """Return the number of bins of a categorical column.

    >>> count_bins(np.array([0, 1, 1], np.uint32)), count_bins(np.empty(0, np.uint32))
    (2, 0)
    """
    return int(category_bins.max()) + 1 if len(category_bins) else 0


def _check_bins(bins: Any, max_bins: int) -> None:
    valid = type(bins) is tuple and len(bins) == 2
    valid = valid and all(isinstance(a, np.ndarray) and a.dtype == np.float64 and a.ndim == 1 for a in bins)
    require(valid, "the bins of a column are not two arrays of numbers")
    lo, hi = bins
    require(len(lo) == len(hi) <= max_bins, "a column has too many bins")
    ordered = np.isfinite(lo).all() and np.isfinite(hi).all() and (lo <= hi).all()
    require(bool(ordered and (hi[:-1] < lo[1:]).all()), "the bins of a column are not in order")


def _check_category_bins(bins: Any, n_categories: int) -> None:
    valid = isinstance(bins, np.ndarray) and bins.dtype == np.uint32 and bins.shape == (n_categories,)
    require(valid, "a column does not have one bin per category")
    require(not len(bins) or int(bins.max()) < MAX_BINS, "a category has no valid bin")


def read_manifest(directory: Path) -> Manifest:
    """Read and check the manifest of a store; raise StoreError if there is none, or it is damaged."""
    path = directory / MANIFEST
    if not path.is_file():
        what = "is empty or half-written: it has no manifest" if directory.is_dir() else "does not exist"
        raise StoreError(
            f"The binned store {str(directory)!r} {what}", fix="Build it with BinnedDataset.build."
        )
    try:
        manifest = load(path)
    except ModelFileError as error:
        raise StoreError(
            f"The manifest of the binned store {str(directory)!r} is damaged: {error}",
            fix="Build the store again with overwrite=True.",
        ) from error
    if not isinstance(manifest, Manifest):
        raise StoreError(f"{str(path)!r} holds a {type(manifest).__name__}, not the manifest of a store.")
    return manifest


def write_manifest(manifest: Manifest, directory: Path) -> None:
    """Write the manifest of a store, all or nothing."""
    save(manifest, directory / MANIFEST)
