"""Files of tables: Parquet, Arrow, Feather and CSV, read in batches; streams kept on disk; fingerprints."""

from __future__ import annotations

import csv
import glob
import gzip
import io
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from spinney.core.errors import InputError, show_value
from spinney.data.store.errors import StoreError, missing_library, prefixed
from spinney.data.store.sources import BATCH_ROWS, Batch, arrow_batches

Format = Literal["parquet", "arrow", "csv"]

_FORMATS: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".tsv": "csv",
    ".csv.gz": "csv",
    ".tsv.gz": "csv",
}
_SMALL_FILE = 1 << 20
"""Files up to this size are compared by their content, whenever they were written."""


def find_files(source: Any) -> list[Path]:
    """Return the files of a path, a directory, a glob or a list, in the order of their names.

    Parameters
    ----------
    source : str, path or list of them
        A list keeps its order; what a directory or glob contains is sorted.

    Returns
    -------
    list of Path
        The files.
    """
    found: list[Path] = []
    for item in source if isinstance(source, list | tuple) else [source]:
        text = os.fspath(item)
        path = Path(text)
        if path.is_dir():
            names = sorted(path.rglob("*"))
            found += [name for name in names if name.is_file() and _is_table(name, path)]
        elif path.is_file():
            found.append(path)
        else:
            matches = [Path(name) for name in sorted(glob.glob(text, recursive=True))]  # noqa: PTH207
            matches = [name for name in matches if name.is_file()]
            if not matches:
                raise InputError(f"There is no file {show_value(text)}.")
            found += matches
    if not found:
        raise InputError(
            f"{show_value(source)} holds no files of tables",
            fix=f"Files are recognised by their endings: {', '.join(_FORMATS)}.",
        )
    return found


def _is_table(path: Path, root: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in path.relative_to(root).parts)
    return not hidden and _ending(path) in _FORMATS


def _ending(path: Path) -> str:
    endings = path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:]
    return "".join(endings).lower()


def _format_of(path: Path) -> Format:
    known = _FORMATS.get(_ending(path))
    if known is None:
        raise InputError(
            f"The file {str(path)!r} is of no known format",
            fix=f"Files are recognised by their endings: {', '.join(_FORMATS)}.",
        )
    return known


def fingerprint_files(files: Sequence[Path]) -> list[Any]:
    """Return what identifies files: size, time of the last change, and a hash of the content or the footer.

    Parameters
    ----------
    files : sequence of Path
        The files.

    Returns
    -------
    list
        Of each its name, size, time in nanoseconds, and hash, as plain data.
    """
    return [_fingerprint(path) for path in files]


def _fingerprint(path: Path) -> list[Any]:
    status = path.stat()
    with path.open("rb") as stream:
        if status.st_size <= _SMALL_FILE:
            data = stream.read()
        else:  # the footer of a Parquet or Arrow file, which has the places of all columns
            start = stream.read(4096)
            stream.seek(-65536, os.SEEK_END)
            data = start + stream.read()
    digest = blake2b(data, digest_size=16).hexdigest()
    return [path.name, status.st_size, status.st_mtime_ns, digest]


def same_files(first: list[Any], second: list[Any]) -> str | None:
    """Return the name of the first file that differs between two fingerprints, None if all are the same.

    >>> same_files([["a", 3, 1, "x"]], [["a", 3, 2, "x"]]), same_files([["a", 3, 1, "x"]], [])
    (None, 'a')
    """
    for one, other in zip(first, second, strict=False):
        small = one[1] <= _SMALL_FILE
        same = one[0] == other[0] and one[1] == other[1] and one[3] == other[3]
        if not same or (one[2] != other[2] and not small):
            return str(other[0])
    if len(first) != len(second):
        longer = first if len(first) > len(second) else second
        return str(longer[min(len(first), len(second))][0])
    return None


class FilesSource:
    """Files of tables, one after the other.

    Parameters
    ----------
    files : sequence of Path
        The files.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = [path for path in files if path.stat().st_size or _format_of(path) != "csv"]
        texts = [path for path in self.files if _format_of(path) == "csv"]
        self._csv_types, self._csv_rows = infer_csv_types(texts) if texts else ({}, 0)

    @classmethod
    def open(cls, source: Any) -> FilesSource:
        """Find the files of a path, a directory, a glob or a list."""
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise missing_library("pyarrow", "files of tables") from None
        return cls(find_files(source))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        total = self._csv_rows
        for path in self.files:
            known = _format_of(path)
            with _named(path):
                if known != "csv":
                    total += _count_parquet(path) if known == "parquet" else _count_arrow(path)
        return total

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Return the rows in order."""
        for path in self.files:
            known = _format_of(path)
            with _named(path):
                if known == "parquet":
                    tables = _read_parquet(path, columns)
                elif known == "arrow":
                    tables = _read_arrow(path, columns)
                else:
                    tables = read_csv(path, self._csv_types)
                yield from arrow_batches(tables, f"file {str(path)!r}")

    def fingerprint(self) -> list[Any]:
        """Return what identifies the files."""
        return fingerprint_files(self.files)

    def opened(self) -> AbstractContextManager[Any]:
        """Return a context that does nothing."""
        return nullcontext()


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name the file in errors of Arrow."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowException as error:
        raise InputError(prefixed(f"file {str(path)!r}", f"the file cannot be read ({error}).")) from error


def _present(columns: Sequence[str] | None, names: Sequence[str]) -> list[str] | None:
    """Return the columns that a file has; what is missing is reported by the reader of the batch."""
    return None if columns is None else [name for name in columns if name in names]


def _count_parquet(path: Path) -> int:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        return int(file.metadata.num_rows)


def _read_parquet(path: Path, columns: Sequence[str] | None) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        chosen = _present(columns, file.schema_arrow.names)
        for batch in file.iter_batches(BATCH_ROWS, columns=chosen):
            yield pa.Table.from_batches([batch])


def _count_arrow(path: Path) -> int:
    import pyarrow as pa

    with pa.OSFile(str(path)) as file:  # a mapped file that is cut short would end the process
        reader = pa.ipc.open_file(file)
        return sum(reader.get_batch(i).num_rows for i in range(reader.num_record_batches))


def _read_arrow(path: Path, columns: Sequence[str] | None) -> Iterator[Any]:
    import pyarrow as pa

    with pa.OSFile(str(path)) as file:  # a mapped file that is cut short would end the process
        reader = pa.ipc.open_file(file)
        for i in range(reader.num_record_batches):
            table = pa.Table.from_batches([reader.get_batch(i)])
            yield table if columns is None else table.select(_present(columns, table.column_names))


# ---- CSV: the types of columns are those of all files together ----


def _open_csv(path: Path, types: dict[str, Any]) -> Any:
    from pyarrow import csv as arrow_csv

    return arrow_csv.open_csv(
        path,
        read_options=arrow_csv.ReadOptions(block_size=1 << 23),
        parse_options=arrow_csv.ParseOptions(delimiter=_delimiter(path)),
        convert_options=arrow_csv.ConvertOptions(column_types=types, strings_can_be_null=True),
    )


def read_csv(path: Path, types: dict[str, Any]) -> Iterator[Any]:
    """Read a CSV file in batches.

    Parameters
    ----------
    path : Path
        The file.
    types : dict
        Arrow types of columns by name.

    Yields
    ------
    pyarrow.Table
        Some rows.
    """
    import pyarrow as pa

    for batch in _open_csv(path, types):
        yield pa.Table.from_batches([batch])


def infer_csv_types(files: Sequence[Path]) -> tuple[dict[str, Any], int]:
    """Find the types of the columns of CSV files, and count their rows.

    All rows are read, because any may be the first that has a text or a fraction.

    Parameters
    ----------
    files : sequence of Path
        The files.

    Returns
    -------
    types : dict
        Arrow types by name.
    n_rows : int
        Number of rows.
    """
    import pyarrow as pa

    types: dict[str, Any] = {}
    n_rows = 0
    for path in files:
        with _named(path):
            own, n = _types_of_csv(path)
        types, n_rows = _merged_types(types, own), n_rows + n
    return {name: pa.float64() if pa.types.is_null(kind) else kind for name, kind in types.items()}, n_rows


def _types_of_csv(path: Path) -> tuple[dict[str, Any], int]:
    """Widen the types of columns until the whole file can be read by them; return them and its rows."""
    import pyarrow as pa

    types: dict[str, Any] = {}
    names = _header(path)
    while True:
        try:
            reader = _open_csv(path, types)
            found = dict(zip(reader.schema.names, reader.schema.types, strict=True))
            return found, sum(batch.num_rows for batch in reader)
        except pa.ArrowInvalid as error:
            match = re.search(r"In CSV column #(\d+): .*conversion error to (\w+)", str(error))
            if match is None or int(match[1]) >= len(names):
                raise
            column = names[int(match[1])]
            types[column] = _wider(types.get(column), match[2])


def _header(path: Path) -> list[str]:
    """Return the names of the columns of a CSV file."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
        return next(csv.reader(text, delimiter=_delimiter(path)), [])


def _delimiter(path: Path) -> str:
    return "\t" if ".tsv" in _ending(path) else ","


def _wider(kind: Any, failed: str) -> Any:
    """Return the next wider type of a column that could not be converted."""
    import pyarrow as pa

    return pa.float64() if kind is None and failed in ("int64", "null") else pa.string()


def _merged_types(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return types that hold the values of both files."""
    import pyarrow as pa

    merged = dict(first)
    for name, kind in second.items():
        before = merged.get(name)
        if before is None or pa.types.is_null(before) or before == kind:
            merged[name] = kind
        elif not pa.types.is_null(kind):
            numbers = {before, kind} <= {pa.int64(), pa.float64()}
            merged[name] = pa.float64() if numbers else pa.string()
    return merged


# ---- streams that can be read only once ----


class SpooledSource:
    """An Arrow stream that can be read only once: it is kept in a file until the store is built.

    Parameters
    ----------
    reader : pyarrow.RecordBatchReader
        The stream.
    directory : Path
        Where the file is made.
    """

    def __init__(self, reader: Any, directory: Path) -> None:
        self._reader, self._directory = reader, directory
        self._path: Path | None = None

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep the stream in a file, which is removed afterwards."""
        import pyarrow as pa

        self._directory.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(".arrow", ".stream-", self._directory)
        os.close(descriptor)
        self._path = Path(name)
        try:
            with pa.OSFile(name, "wb") as file, pa.ipc.new_file(file, self._reader.schema) as writer:
                for batch in self._reader:
                    writer.write_batch(batch)
            yield
        finally:
            self._path.unlink(missing_ok=True)
            self._path = None

    def _file(self) -> Path:
        if self._path is None:
            raise StoreError("The stream has not been read.")
        return self._path

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return _count_arrow(self._file())

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Return the rows in order."""
        return arrow_batches(_read_arrow(self._file(), columns), "")

    def fingerprint(self) -> None:
        """Return nothing: a stream is not compared."""
        return
