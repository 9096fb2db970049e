"""The files of a store: fixed numbers of rows per block, memory-mapped, with a checksum of every block."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from spinney.core.cached_attribute import cached_attribute
from spinney.data.store.errors import StoreError
from spinney.data.store.manifest import MAX_BINS, Manifest

CODES, CATEGORIES, TARGET, WEIGHTS, GROUP = (
    "codes.bin",
    "categories.bin",
    "target.bin",
    "weights.bin",
    "group.bin",
)
_REBUILD = "Build the store again with overwrite=True."


@dataclass(frozen=True)
class Layout:
    """Shape of one file: ``width`` numbers per row, of each block column by column or row by row."""

    dtype: np.dtype[Any]
    width: int
    by_column: bool = False

    @property
    def row_bytes(self) -> int:
        """Number of bytes per row."""
        return self.dtype.itemsize * self.width

    def shape(self, n_rows: int) -> tuple[int, int]:
        """Return the shape of a block of so many rows."""
        return (self.width, n_rows) if self.by_column else (n_rows, self.width)


def wide_columns(manifest: Manifest) -> tuple[int, ...]:
    """Return the columns with so many categories that they are stored beside their bins.

    Parameters
    ----------
    manifest : Manifest
        The store.

    Returns
    -------
    tuple of int
        Positions.
    """
    return many_categories(manifest.category_bins)


def many_categories(category_bins: Sequence[NDArray[np.uint32] | None]) -> tuple[int, ...]:
    """Return the columns with more categories than byte codes, from the bins of their categories."""
    return tuple(j for j, bins in enumerate(category_bins) if bins is not None and len(bins) > MAX_BINS)


def layouts(manifest: Manifest) -> dict[str, Layout]:
    """Return the files of a store and their shapes."""
    files = {CODES: Layout(np.dtype(np.uint8), len(manifest.bins), by_column=True)}
    if wide := wide_columns(manifest):
        files[CATEGORIES] = Layout(np.dtype("<i4"), len(wide), by_column=True)
    if manifest.target is not None:
        files[TARGET] = Layout(np.dtype(manifest.target.dtype), manifest.target.n_outputs)
    if manifest.has_weights:
        files[WEIGHTS] = Layout(np.dtype("<f8"), 1)
    if manifest.has_group:
        files[GROUP] = Layout(np.dtype("<i8"), 1)
    return files


class StoreFiles:
    """The files of a complete store, read-only.

    Parameters
    ----------
    directory : Path
        The store.
    manifest : Manifest
        Its manifest.
    """

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        self.directory, self.manifest, self.layouts = directory, manifest, layouts(manifest)
        self._checked: set[tuple[str, int]] = set()
        if set(manifest.checksums) != set(self.layouts):
            raise StoreError(f"The manifest of {str(directory)!r} does not list its files.", fix=_REBUILD)
        for name, layout in self.layouts.items():
            path, expected = directory / name, layout.row_bytes * manifest.n_rows
            size = path.stat().st_size if path.is_file() else None
            if size != expected:
                found = "is missing" if size is None else f"has {size} bytes where {expected} are expected"
                raise StoreError(f"The file {str(path)!r} of the binned store {found}", fix=_REBUILD)

    @cached_attribute
    def _maps(self) -> Mapping[str, NDArray[np.uint8]]:
        return {name: np.memmap(self.directory / name, np.uint8, "r") for name in self.layouts}

    def rows(self, block: int) -> tuple[int, int]:
        """Return the first row of a block, and the row after its last."""
        begin = block * self.manifest.block_rows
        return begin, min(begin + self.manifest.block_rows, self.manifest.n_rows)

    def block(self, name: str, block: int) -> NDArray[Any]:
        """Return a block of a file; its checksum is compared when it is first read.

        Parameters
        ----------
        name : str
            The file.
        block : int
            Number of the block.

        Returns
        -------
        ndarray
            A memory-mapped array of the shape of the file's layout.

        Raises
        ------
        StoreError
            If the checksum differs.
        """
        layout, (begin, end) = self.layouts[name], self.rows(block)
        data = self._maps[name][begin * layout.row_bytes : end * layout.row_bytes]
        if (name, block) not in self._checked:
            if zlib.crc32(data.data) != self.manifest.checksums[name][block]:
                raise StoreError(
                    f"Block {block} of {str(self.directory / name)!r} is damaged: its checksum differs",
                    fix=_REBUILD,
                )
            self._checked.add((name, block))
        return np.asarray(data).view(layout.dtype).reshape(layout.shape(end - begin))

    def column(self, name: str) -> NDArray[Any]:
        """Return a file whose rows follow each other as one memory-mapped array (n_rows, width)."""
        for block in range(self.manifest.n_blocks):
            self.block(name, block)
        layout = self.layouts[name]
        return np.asarray(self._maps[name]).view(layout.dtype).reshape(-1, layout.width)


class BlockFiles:
    """The files of a store that is being written, block after block.

    Parameters
    ----------
    directory : Path
        The store.
    manifest : Manifest
        Its manifest; the blocks that it counts as done are kept if they are there.
    """

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        self._layouts, self._block_rows = layouts(manifest), manifest.block_rows
        self.checksums = {
            name: np.array(manifest.checksums.get(name, np.zeros(manifest.n_blocks)), np.uint32)
            for name in self._layouts
        }
        self._streams: dict[str, BinaryIO] = {}
        for name, layout in self._layouts.items():
            path = directory / name
            stream = path.open("r+b" if path.exists() else "w+b")
            stream.truncate(min(manifest.blocks_done * self._block_rows, manifest.n_rows) * layout.row_bytes)
            stream.seek(0, os.SEEK_END)
            self._streams[name] = stream

    def complete_blocks(self, manifest: Manifest) -> int:
        """Return how many of the first blocks are there with the checksums of the manifest."""
        for block in range(manifest.blocks_done):
            for name, layout in self._layouts.items():
                begin = block * self._block_rows
                n_rows = min(self._block_rows, manifest.n_rows - begin)
                stream = self._streams[name]
                stream.seek(begin * layout.row_bytes)
                data = stream.read(n_rows * layout.row_bytes)
                whole = len(data) == n_rows * layout.row_bytes
                if not whole or zlib.crc32(data) != manifest.checksums[name][block]:
                    return block
        return manifest.blocks_done

    def write(self, block: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write one block of every file."""
        for name, layout in self._layouts.items():
            data = np.ascontiguousarray(arrays[name], layout.dtype).reshape(-1).view(np.uint8).data
            stream = self._streams[name]
            stream.seek(block * self._block_rows * layout.row_bytes)
            stream.write(data)
            self.checksums[name][block] = zlib.crc32(data)

    def sync(self) -> None:
        """Flush all files to disk."""
        for stream in self._streams.values():
            stream.flush()
            os.fsync(stream.fileno())

    def close(self) -> None:
        """Close all files."""
        for stream in self._streams.values():
            stream.close()
