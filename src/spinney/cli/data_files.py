"""Reading data files: CSV, Parquet, Arrow and Feather, compressed or not, from paths and standard input."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from spinney.cli.columns import Column, recognise
from spinney.cli.csv_files import CsvOptions, read_csv
from spinney.cli.failures import DataError, FileError
from spinney.cli.memory import MeteredStream, available_memory, check_size
from spinney.core.errors import suggest_columns

_COMPRESSIONS: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
)
_FORMATS: tuple[tuple[bytes, str], ...] = (
    (b"PAR1", "Parquet"),
    (b"ARROW1", "Arrow"),
    (b"FEA1", "Feather"),
    (b"\xff\xff\xff\xff", "Arrow stream"),
)
_OTHERS: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a zip archive or an Excel workbook; unpack it, or save it as CSV"),
    (b"\x89PNG", "a picture"),
    (b"%PDF", "a PDF document"),
    (b"SQLite format 3", "an SQLite database; export the table as CSV"),
    (b"\x89HDF", "an HDF5 file; export the table as Parquet"),
    (b"SPINNEY", "a model file; the data come second"),
    (b"\xff\xfe", "text in UTF-16; pass --encoding utf-16"),
    (b"\xfe\xff", "text in UTF-16; pass --encoding utf-16"),
)


@dataclass(frozen=True)
class ReadOptions:
    """How to read a data file.

    Attributes
    ----------
    csv : CsvOptions
        How to read CSV.
    kinds : dict of str to str
        Kinds of columns that are given.
    drop : tuple of str
        Columns to leave out.
    n_rows : int or None
        Number of rows to read; None reads all.
    max_memory : int or None
        Memory that may be used, in bytes; None is what is available.
    """

    csv: CsvOptions = field(default_factory=CsvOptions)
    kinds: Mapping[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    n_rows: int | None = None
    max_memory: int | None = None


@dataclass(frozen=True, eq=False)
class DataFile:
    """The columns of a data file.

    Attributes
    ----------
    name : str
        Path, or "standard input".
    format : str
        Format and compression.
    columns : dict of str to Column
        The columns by name.
    n_rows : int
        Number of rows.
    """

    name: str
    format: str
    columns: dict[str, Column]
    n_rows: int


def read_data_file(path: str, options: ReadOptions | None = None) -> DataFile:
    """Read a data file; ``-`` is standard input. The format is recognised by the content.

    Parameters
    ----------
    path : str
        Path of the file.
    options : ReadOptions or None, default=None
        How to read it.

    Returns
    -------
    DataFile
        Its columns.

    Examples
    --------
    >>> read_data_file("data.csv.gz").columns["age"].kind  # doctest: +SKIP
    'numeric'
    """
    options = options or ReadOptions()
    name = "standard input" if path == "-" else path
    limit = options.max_memory or available_memory() // 2
    with _open(path) as raw:
        stream = io.BufferedReader(raw) if not isinstance(raw, io.BufferedReader) else raw
        stream, compression = _decompressed(stream, name)
        start = stream.peek(16)[:16]
        _refuse_others(start, name, options)
        kind = next((kind for magic, kind in _FORMATS if start.startswith(magic)), "CSV")
        if compression is None and options.n_rows is None and path != "-":
            check_size(name, Path(path).stat().st_size, limit)
        what = f"{name}, decompressed," if compression else name
        whole = None if options.n_rows is not None and kind == "CSV" else limit
        metered = io.BufferedReader(MeteredStream(stream, what, whole), 1 << 20)
        if kind == "CSV":
            values = read_csv(metered, name, options.csv, _kept_as_text(options.kinds), options.n_rows)
        else:
            values = _read_arrow(metered, kind, name, options.n_rows)
    shown = kind + (f" ({compression})" if compression else "")
    return DataFile(name, shown, _columns(values, options, name, kind != "CSV"), _count(values))


def _open(path: str) -> Any:
    if path == "-":
        if sys.stdin.isatty():
            raise FileError(
                "Standard input is a terminal", fix="Pass a file, or pipe one: spinney … - < data.csv."
            )
        return io.FileIO(sys.stdin.fileno(), closefd=False)
    try:
        if Path(path).is_dir():
            raise FileError(f"{path!r} is a directory", fix="Pass one file.")
        return Path(path).open("rb")
    except FileNotFoundError:
        near = _similar_files(path)
        raise FileError(f"There is no file {path!r}", fix=near) from None
    except OSError as error:
        raise FileError(f"{path!r} cannot be read: {error.strerror}.") from None


def _similar_files(path: str) -> str:
    folder = Path(path).parent
    names = sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []
    if not names:
        return f"Check the path; there is no directory {str(folder)!r}."
    return suggest_columns(Path(path).name, names).replace("Columns:", "Files there:")


def _decompressed(stream: io.BufferedReader, name: str) -> tuple[io.BufferedReader, str | None]:
    start = stream.peek(8)[:8]
    kind = next((kind for magic, kind in _COMPRESSIONS if start.startswith(magic)), None)
    if kind is None:
        return stream, None
    opened: Any
    if kind == "gzip":
        opened = gzip.GzipFile(fileobj=stream)
    elif kind == "bzip2":
        opened = bz2.BZ2File(stream)
    elif kind == "xz":
        opened = lzma.LZMAFile(stream)  # noqa: SIM115
    else:
        opened = _ZstdStream(_pyarrow("Zstandard").CompressedInputStream(stream, "zstd"))
    return io.BufferedReader(_Guarded(opened, name), 1 << 20), kind


class _ZstdStream(io.RawIOBase):
    """A compressed stream of pyarrow as one of Python's."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        return bytes(self._stream.read(size))


class _Guarded(io.RawIOBase):
    """A decompressing stream whose errors name the file."""

    def __init__(self, stream: Any, name: str) -> None:
        self._stream, self._name = stream, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            part = self._stream.read(len(buffer))
        except (OSError, EOFError, lzma.LZMAError) as error:
            raise FileError(
                f"{self._name} is damaged: it cannot be decompressed ({error})", fix="Copy it again."
            ) from None
        buffer[: len(part)] = part
        return len(part)


def _refuse_others(start: bytes, name: str, options: ReadOptions) -> None:
    if not start:
        raise DataError(f"{name} is empty", fix="Pass a file with a header line and rows.")
    for magic, what in _OTHERS:
        if start.startswith(magic) and not (magic[0] > 0xF0 and options.csv.encoding.startswith("utf-16")):
            raise FileError(f"{name} is not a table: it looks like {what}.")


def _pyarrow(what: str, module: str = "pyarrow") -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(f'Reading {what} files needs pyarrow: pip install "spinney[io]".') from None


def _read_arrow(stream: BinaryIO, kind: str, name: str, n_rows: int | None) -> dict[str, NDArray[Any]]:
    """Read a file that has types."""
    arrow = _pyarrow(kind)
    readers: dict[str, Callable[[Any], Any]] = {
        "Parquet": lambda source: _pyarrow(kind, "pyarrow.parquet").read_table(source),
        "Feather": lambda source: _pyarrow(kind, "pyarrow.feather").read_table(source),
        "Arrow": lambda source: arrow.ipc.open_file(source).read_all(),
        "Arrow stream": lambda source: arrow.ipc.open_stream(source).read_all(),
    }
    try:
        table = readers[kind](arrow.BufferReader(stream.read()))
    except (arrow.ArrowException, OSError) as error:
        reason = str(error).split("\n")[0].rstrip(".")
        raise FileError(f"{name} is a damaged {kind} file: {reason}", fix="Write it again.") from None
    if n_rows is not None:
        table = table.slice(0, n_rows)
    return {str(key): arrow_values(str(key), table.column(key)) for key in table.column_names}


def arrow_values(name: str, column: Any) -> NDArray[Any]:
    """Return a typed Arrow column as numbers with NaN, dates with NaT, booleans, or texts with None."""
    import numpy as np
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return np.asarray(column.cast(pa.timestamp("s"), safe=False).to_numpy(), "datetime64[s]")
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_boolean(kind) and column.null_count:
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        return np.array(texts, dtype=object)
    elif pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        if pa.types.is_integer(kind) and column.null_count:
            column = column.cast(pa.float64(), safe=False)
    elif pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise DataError(
            f"The type {kind} holds neither numbers nor text",
            column=name,
            fix=f"Leave it out: --drop {name}.",
        )
    values = column.to_numpy()
    return np.asarray(values, np.float64 if values.dtype == np.float16 else None)


def _kept_as_text(kinds: Mapping[str, str]) -> set[str]:
    return {name for name, kind in kinds.items() if kind in ("categorical", "identifier", "date")}


def _columns(
    values: Mapping[str, NDArray[Any]], options: ReadOptions, name: str, typed: bool
) -> dict[str, Column]:
    for what, given in (("--type", options.kinds), ("--drop", options.drop)):
        for one in given:
            if one not in values:
                raise DataError(
                    f"{name} has no column {one!r}, which {what} names",
                    fix=suggest_columns(one, list(values)),
                )
    if not _count(values):
        raise DataError(f"{name} has columns, but no rows.")
    return {
        key: recognise(key, column, options.kinds.get(key), typed)
        for key, column in values.items()
        if key not in options.drop
    }


def _count(values: Mapping[str, Any]) -> int:
    return len(next(iter(values.values()), ()))
