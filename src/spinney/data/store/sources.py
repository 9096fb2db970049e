"""Sources of a store: files, Arrow datasets and streams, lazy frames, iterators and tables, as batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import narwhals as nw
import numpy as np
from scipy import sparse

from spinney.core.errors import InputError, InputTypeError, show_value, suggest_columns
from spinney.data.arrow import with_plain_types
from spinney.data.columns import array_from_nested
from spinney.data.store.errors import missing_library

BATCH_ROWS = 65536
"""Number of rows that are read at a time, where the source allows to choose it."""


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of a source.

    Attributes
    ----------
    frame : object
        Any table that ``fit`` takes.
    where : str
        The file or partition, for messages; empty if there is only one table.
    first_row : int
        Position of the first row in the file or partition.
    target, weights, group : object
        What belongs to the rows, if it is not among the columns of the frame.
    """

    frame: Any
    where: str = ""
    first_row: int = 0
    target: Any = None
    weights: Any = None
    group: Any = None


class BatchSource(Protocol):
    """Rows that can be read any number of times, always in the same order."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if only reading them tells."""

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Return the rows in order; only some columns, if the format allows it."""

    def fingerprint(self) -> list[Any] | None:
        """Return plain data by which a changed source is recognised, None if there is none."""

    def opened(self) -> AbstractContextManager[Any]:
        """Return a context within which the source can be read more than once."""


@dataclass(frozen=True)
class RowArrays:
    """Target, weights and groups of a table in memory, as arrays."""

    target: Any = None
    weights: Any = None
    group: Any = None

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return self.target is None and self.weights is None and self.group is None


def open_batches(source: Any, directory: Path) -> BatchSource | None:  # noqa: PLR0911
    """Open any supported source but a table in memory, which is a `TableSource`.

    Parameters
    ----------
    source : object
        See `BinnedDataset.build`.
    directory : Path
        Where a stream that can be read only once is kept until the store is built.

    Returns
    -------
    BatchSource or None
        The rows; None if the source is a table in memory.
    """
    if is_paths(source):
        from spinney.data.store.table_files import FilesSource

        return FilesSource.open(source)
    if nw.dependencies.is_polars_lazyframe(source):
        return LazyFrameSource(source)
    if nw.dependencies.is_dask_dataframe(source):
        return DaskSource(source)
    module = type(source).__module__
    if module.startswith("pyarrow") and hasattr(source, "get_fragments"):
        return ArrowDatasetSource(source)
    if module.startswith("pyarrow") and hasattr(source, "read_next_batch"):
        from spinney.data.store.table_files import SpooledSource

        return SpooledSource(source, directory)
    if nw.dependencies.is_into_dataframe(source) or isinstance(source, nw.DataFrame):
        return None
    if hasattr(source, "__arrow_c_stream__"):
        return ArrowStreamSource(source)
    return FramesSource(source) if _is_frames(source) else None


def is_paths(source: Any) -> bool:
    """Return whether a source is a path, or a list of them."""
    if isinstance(source, str | os.PathLike):
        return True
    return isinstance(source, list | tuple) and bool(source) and isinstance(source[0], str | os.PathLike)


def _is_frames(source: Any) -> bool:
    """Return whether a source consists of frames: a function, an iterator, or a list of them."""
    if callable(source):
        return True
    if isinstance(source, Iterator):
        raise InputTypeError(
            f"The source is an iterator ({type(source).__name__}), which can be read only once",
            fix="There are two passes: pass a function that returns it, such as lambda: read_frames().",
        )
    if isinstance(source, list | tuple):
        return bool(source) and _is_frame(source[0])
    return isinstance(source, Iterable) and not isinstance(source, Mapping) and not hasattr(source, "__len__")


def _is_frame(item: Any) -> bool:
    if isinstance(item, tuple):
        return len(item) in (2, 3) and _is_frame(item[0])
    if nw.dependencies.is_into_dataframe(item) or sparse.issparse(item):
        return True
    return isinstance(item, np.ndarray) and item.ndim == 2


def slice_rows(X: Any, begin: int, end: int) -> Any:
    """Return some consecutive rows of a table in memory; nothing is copied where that is possible."""
    if isinstance(X, Mapping):
        return {name: values[begin:end] for name, values in X.items()}
    if nw.dependencies.is_into_dataframe(X) or isinstance(X, nw.DataFrame):
        return nw.to_native(nw.from_native(X, eager_only=True)[begin:end])
    return X[begin:end]


class TableSource:
    """A table in memory, with its target, weights and groups."""

    def __init__(self, X: Any, rows: RowArrays) -> None:
        if sparse.issparse(X):
            X = X.tocsr()  # type: ignore[attr-defined]
        elif not isinstance(X, np.ndarray | Mapping) and not _is_frame(X):
            X = array_from_nested(X)
            if X.ndim != 2:
                raise InputError(f"The source is no table: its shape is {X.shape}.")
        self._X, self._rows = with_plain_types(X), rows
        if isinstance(X, Mapping):
            self._n_rows = len(next(iter(X.values()), ()))
        else:
            self._n_rows = int(X.shape[0])
        for name, values in (("target", rows.target), ("sample_weight", rows.weights), ("group", rows.group)):
            if values is not None and np.ndim(values) and len(values) != self._n_rows:
                raise InputError(f"{name} has {len(values)} entries, the source has {self._n_rows} rows.")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._n_rows

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Return the rows in order."""

        def part(values: Any, begin: int, end: int) -> Any:
            if values is None or np.ndim(values) == 0:
                return values
            return values.iloc[begin:end] if hasattr(values, "iloc") else values[begin:end]

        for begin in range(0, self._n_rows, BATCH_ROWS):
            end = min(begin + BATCH_ROWS, self._n_rows)
            frame = slice_rows(self._X, begin, end)
            arrays = self._rows.target, self._rows.weights, self._rows.group
            yield Batch(frame, "", begin, *(part(one, begin, end) for one in arrays))

    def fingerprint(self) -> None:
        """Return nothing: a table in memory is not compared."""
        return

    def opened(self) -> AbstractContextManager[Any]:
        """Return a context that does nothing."""
        return nullcontext()


class FramesSource:
    """Frames of an iterable that can be iterated over again, or of a function that returns an iterator."""

    n_rows: int | None = None

    def __init__(self, frames: Iterable[Any] | Callable[[], Iterable[Any]]) -> None:
        self._frames = frames

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Return the rows in order."""
        frames = self._frames() if callable(self._frames) else self._frames
        for i, item in enumerate(frames):
            frame, *arrays = item if isinstance(item, tuple) else (item,)
            if len(arrays) > 2:
                raise InputError(f"Frame {i} is a tuple of {len(arrays) + 1}; pass (X, y, sample_weight).")
            table = TableSource(frame, RowArrays(*arrays))
            for batch in table.batches():
                yield Batch(
                    batch.frame, f"frame {i}", batch.first_row, batch.target, batch.weights, batch.group
                )

    def fingerprint(self) -> None:
        """Return nothing: frames are not compared."""
        return

    def opened(self) -> AbstractContextManager[Any]:
        """Return a context that does nothing."""
        return nullcontext()


class LazyFrameSource(FramesSource):
    """A LazyFrame of polars, collected a few rows at a time."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        super().__init__(self._collect)

    def _collect(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        frame = self._frame if columns is None else self._frame.select(list(columns))
        if hasattr(frame, "collect_batches"):
            yield from frame.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)
            return
        for begin in range(0, self.n_rows or 0, BATCH_ROWS):
            yield frame.slice(begin, BATCH_ROWS).collect()

    @property
    def n_rows(self) -> int | None:  # type: ignore[override]
        """Number of rows."""
        import polars as pl

        return int(self._frame.select(pl.len()).collect().item())

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Return the rows in order."""
        first_row = 0
        for frame in self._collect(columns):
            for batch in TableSource(frame, RowArrays()).batches():
                yield Batch(batch.frame, "", first_row + batch.first_row)
            first_row += frame.height


class DaskSource(FramesSource):
    """A Dask DataFrame, one partition after the other."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        super().__init__(self._compute)

    def _compute(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        frame = self._frame if columns is None else self._frame[list(columns)]
        for i in range(frame.npartitions):
            yield frame.get_partition(i).compute()

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Return the rows in order."""
        for i, frame in enumerate(self._compute(columns)):
            for batch in TableSource(frame, RowArrays()).batches():
                yield Batch(batch.frame, f"partition {i}", batch.first_row)


class ArrowStreamSource(FramesSource):
    """An object that hands out Arrow streams, each time from the beginning."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        super().__init__(self._read)

    def _read(self) -> Iterator[Any]:
        try:
            import pyarrow as pa
        except ImportError:
            raise missing_library("pyarrow", f"a {type(self._stream).__name__}") from None
        for batch in pa.RecordBatchReader.from_stream(self._stream):
            yield pa.Table.from_batches([batch])

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Return the rows in order."""
        return arrow_batches(self._read(), "")


class ArrowDatasetSource(FramesSource):
    """A `pyarrow.dataset.Dataset`."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        super().__init__(self._scan)

    def _scan(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        import pyarrow as pa

        chosen = None if columns is None else list(columns)
        for batch in self._dataset.to_batches(columns=chosen, batch_size=BATCH_ROWS):
            yield pa.Table.from_batches([batch])

    @property
    def n_rows(self) -> int | None:  # type: ignore[override]
        """Number of rows."""
        return int(self._dataset.count_rows())

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Return the rows in order."""
        return arrow_batches(self._scan(columns), "")

    def fingerprint(self) -> list[Any] | None:  # type: ignore[override]
        """Return what identifies the files of the dataset, if it consists of local files."""
        from spinney.data.store.table_files import fingerprint_files

        files = [Path(name) for name in getattr(self._dataset, "files", [])]
        return fingerprint_files(files) if files and all(map(Path.is_file, files)) else None


def arrow_batches(tables: Iterable[Any], where: str) -> Iterator[Batch]:
    """Return Arrow tables as batches of at most `BATCH_ROWS` rows; empty ones are left out."""
    first_row = 0
    for table in tables:
        for begin in range(0, table.num_rows, BATCH_ROWS):
            part = with_plain_types(table.slice(begin, BATCH_ROWS))
            yield Batch(part, where, first_row + begin)
        first_row += table.num_rows


def frame_columns(frame: Any) -> list[str] | None:
    """Return the names of the columns of a frame, None if it has none.

    >>> frame_columns({"a": [1], "b": [2]}), frame_columns(np.eye(2))
    (['a', 'b'], None)
    """
    if isinstance(frame, Mapping):
        return list(frame)
    if nw.dependencies.is_into_dataframe(frame) or isinstance(frame, nw.DataFrame):
        native = nw.to_native(frame, pass_through=True)
        listed = native.column_names if hasattr(native, "column_names") else native.columns
        return [name for name in listed if isinstance(name, str)]
    return None


def frame_column(frame: Any, name: str) -> Any:
    """Return a column of a frame by its name, as the user would take it."""
    native = nw.to_native(frame, pass_through=True)
    return native.column(name) if hasattr(native, "column_names") else native[name]


def check_column(name: str, names: Sequence[str] | None, role: str) -> None:
    """Raise an error unless a column is there."""
    if names is None:
        raise InputError(
            f"{role} names the column {show_value(name)}, but the columns of the source have no names",
            fix="Pass an array instead.",
        )
    if name not in names:
        raise InputError(
            f"The source has no column {show_value(name)}, which is the {role}",
            fix=suggest_columns(name, names),
        )
