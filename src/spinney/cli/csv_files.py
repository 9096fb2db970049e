"""CSV files as columns of numbers or texts, by pyarrow where it is installed and by Python elsewhere."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from spinney.cli.columns import as_numbers
from spinney.cli.failures import DataError, OptionError
from spinney.cli.text_values import count_of

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?")
"""Texts that count as missing values."""

_BLOCK = 1 << 23
_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class CsvOptions:
    """How to read CSV.

    Attributes
    ----------
    delimiter : str or None
        Separator of fields; None recognises commas, semicolons, tabs and bars.
    encoding : str
        Encoding of the text.
    header : bool
        Whether the first line has the names of the columns.
    missing : tuple of str
        More texts that count as missing values.
    skip_ragged : bool
        Whether to leave out lines with too few or too many fields.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    header: bool = True
    missing: tuple[str, ...] = ()
    skip_ragged: bool = False


def read_csv(
    stream: BinaryIO, name: str, options: CsvOptions, as_text: set[str], n_rows: int | None
) -> dict[str, NDArray[Any]]:
    """Return the columns of a CSV file: numbers with NaN, or texts with None.

    Parameters
    ----------
    stream : binary file
        The text.
    name : str
        Name of the file for messages.
    options : CsvOptions
        How to read it.
    as_text : set of str
        Columns to keep as text.
    n_rows : int or None
        Number of rows to read.

    Returns
    -------
    dict of str to ndarray of shape (n_rows,)
        The columns.

    Examples
    --------
    >>> read_csv(io.BytesIO(b"a,b\\n1,x\\n2,?\\n"), "data.csv", CsvOptions(), set(), None)
    {'a': array([1, 2]), 'b': array(['x', None], dtype=object)}
    """
    text = _utf8(stream, name, options.encoding)
    first = _first_line(text, name)
    delimiter = options.delimiter or _recognise_delimiter(first)
    if len(delimiter) != 1:
        raise OptionError(f"--delimiter {delimiter!r} is not one character.")
    names = _names(next(csv.reader([first.decode()], delimiter=delimiter), []), name, options.header)
    source = io.BufferedReader(_Chained(b"" if options.header else first + b"\n", text), 1 << 20)
    missing = frozenset((*MISSING, *options.missing))
    read = _read_by_arrow if find_spec("pyarrow") is not None else _read_by_python
    return read(source, name, names, delimiter, missing, options, as_text, n_rows)


class _Chained(io.RawIOBase):
    """Some bytes, and then a stream."""

    def __init__(self, start: bytes, stream: BinaryIO) -> None:
        self._start, self._stream = start, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._start[: len(buffer)] or self._stream.read(len(buffer))
        self._start = self._start[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


class _Utf8Stream(io.RawIOBase):
    """Text of any encoding as UTF-8; an error names the line."""

    def __init__(self, stream: BinaryIO, name: str, encoding: str) -> None:
        try:
            self._decoder = codecs.getincrementaldecoder(encoding)()
        except LookupError:
            raise OptionError(
                f"There is no encoding {encoding!r}", fix="Usual ones are utf-8, latin-1 and utf-16."
            ) from None
        self._stream, self._name, self._encoding = stream, name, encoding
        self._rest, self._n_lines, self._ended = b"", 0, False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest and not self._ended:
            raw = self._stream.read(1 << 20)
            self._ended = not raw
            self._rest = self._decode(raw)
        part, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def _decode(self, raw: bytes) -> bytes:
        try:
            text = self._decoder.decode(raw, not raw)
        except UnicodeDecodeError as error:
            line = self._n_lines + error.object.count(b"\n", 0, error.start) + 1
            byte, shown = error.object[error.start], self._encoding.removesuffix("-sig")
            raise DataError(
                f"{self._name} is not text in {shown}: line {line} has the byte 0x{byte:02x}",
                fix="Try --encoding latin-1 (Western Europe), cp1252 (Windows) or gb18030 (Chinese).",
            ) from None
        self._n_lines += raw.count(b"\n")
        if "\0" in text:
            line = self._n_lines - raw.count(b"\n") + text.count("\n", 0, text.index("\0")) + 1
            raise DataError(
                f"{self._name} is not text: line {line} has a zero byte",
                fix="Pass --encoding utf-16 if that is what it is; else the file is damaged.",
            )
        return text.encode()


def _utf8(stream: BinaryIO, name: str, encoding: str) -> io.BufferedReader:
    plain = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    return io.BufferedReader(_Utf8Stream(stream, name, plain), 1 << 20)


def _first_line(stream: io.BufferedReader, name: str) -> bytes:
    """Return the first line that is not empty, quoted line ends included."""
    line = b""
    while True:
        part = stream.readline(_BLOCK)
        if len(part) >= _BLOCK:
            raise DataError(f"{name} is not CSV: its first line has more than 8 MB.")
        line += part
        if not part or (line.strip() and line.count(b'"') % 2 == 0):
            break
    if not line.strip():
        raise DataError(f"{name} is empty", fix="Pass a file with a header line and rows.")
    return line.strip(b"\r\n")


def _recognise_delimiter(line: bytes) -> str:
    unquoted = "".join(line.decode(errors="replace").split('"')[::2])
    counts = Counter(unquoted)
    return max(_DELIMITERS, key=lambda one: counts[one])


def _names(fields: Sequence[str], file: str, header: bool) -> list[str]:
    if not header:
        return [f"x{j}" for j in range(len(fields))]
    names = [text.strip() or f"unnamed_{j}" for j, text in enumerate(fields)]
    if len(names) > 1 and all(_is_plain_number(text) for text in fields):
        raise DataError(
            f"The first line of {file} has numbers only, so it is not a header",
            fix="Add a header, or pass --no-header to name the columns x0, x1, …",
        )
    repeated = next((one for one, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        raise DataError(f"{file} has several columns named {repeated!r}", fix="Rename them in the header.")
    return names


def _is_plain_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _ragged(file: str, line: int | None, found: int, expected: int, text: str, n: int) -> DataError:
    where = f"Line {line} of {file}" if line else f"A line of {file}"
    more = f", and {n - 1:,} more lines do not fit either" if n > 1 else ""
    start = text.strip()[:40]
    return DataError(
        f"{where} has {count_of(found, 'field')}, the header has {expected}{more}: {start!r}",
        fix="Correct it, name the separator by --delimiter, or leave such lines out by --skip-ragged.",
    )


# ---- pyarrow ----


def _read_by_arrow(
    stream: BinaryIO,
    file: str,
    names: list[str],
    delimiter: str,
    missing: frozenset[str],
    options: CsvOptions,
    as_text: set[str],
    n_rows: int | None,
) -> dict[str, NDArray[Any]]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    ragged: list[Any] = []

    def note(row: Any) -> str:
        ragged.append(row)
        return "skip"

    batches: list[Any] = []
    try:
        reader = arrow_csv.open_csv(
            stream,
            arrow_csv.ReadOptions(use_threads=False, block_size=_BLOCK, column_names=names),
            arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note),
            arrow_csv.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(names, pa.string()),
                null_values=sorted(missing),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
        n_read = 0
        for batch in reader:
            batches.append(batch)
            n_read += batch.num_rows
            if (n_rows is not None and n_read >= n_rows) or (ragged and not options.skip_ragged):
                break
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error) or "empty" in str(error).lower():
            raise DataError(f"{file} has a header, but no rows.") from None
        raise DataError(f"{file} is not valid CSV: {str(error).split(chr(10))[0]}") from None
    if ragged and not options.skip_ragged:
        row = ragged[0]
        line = None if row.number is None else row.number + (1 if options.header else 0)
        raise _ragged(file, line, row.actual_columns, len(names), row.text, len(ragged))
    table = pa.Table.from_batches(batches)
    table = table if n_rows is None else table.slice(0, n_rows)
    return {name: _arrow_column(table.column(j), name in as_text, missing) for j, name in enumerate(names)}


def _arrow_column(column: Any, as_text: bool, missing: frozenset[str]) -> NDArray[Any]:
    """Return numbers if all values are, else texts."""
    import pyarrow as pa
    from pyarrow import compute

    if not as_text:
        for kind in (pa.int64(), pa.float64()):
            if kind == pa.int64() and column.null_count:
                continue
            try:
                return np.asarray(compute.cast(column, kind).to_numpy())
            except pa.ArrowInvalid:
                continue
    coded = column.combine_chunks().dictionary_encode()
    different = _stripped(np.array([*coded.dictionary.to_pylist(), None], dtype=object), as_text, missing)
    # Position −1, the None at the end, stands for missing values.
    values = different[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    whole = values.dtype.kind == "f" and not np.isnan(values).any() and (values == np.round(values)).all()
    return np.asarray(values, np.int64 if whole and np.abs(values).max(initial=0) < 2**53 else None)


def _stripped(values: NDArray[Any], as_text: bool, missing: frozenset[str]) -> NDArray[Any]:
    """Return texts without spaces around them; numbers, if those were all that kept them from being."""
    texts = np.array([None if one is None else one.strip() for one in values.tolist()], dtype=object)
    gone = [one in missing for one in texts.tolist()]
    texts[gone] = None
    numbers = None if as_text else as_numbers(texts)
    return texts if numbers is None else numbers


# ---- Python alone ----


def _read_by_python(
    stream: BinaryIO,
    file: str,
    names: list[str],
    delimiter: str,
    missing: frozenset[str],
    options: CsvOptions,
    as_text: set[str],
    n_rows: int | None,
) -> dict[str, NDArray[Any]]:
    lines = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    columns: list[list[str]] = [[] for _ in names]
    for fields in _fields(csv.reader(lines, delimiter=delimiter), file, len(names), options):
        for column, text in zip(columns, fields, strict=True):
            column.append(text)
        if n_rows is not None and len(columns[0]) >= n_rows:
            break
    if not columns[0]:
        raise DataError(f"{file} has a header, but no rows.")
    found: Mapping[str, list[str]] = dict(zip(names, columns, strict=True))
    return {
        name: _stripped(np.array(texts, dtype=object), name in as_text, missing)
        for name, texts in found.items()
    }


def _fields(reader: Any, file: str, width: int, options: CsvOptions) -> Iterator[list[str]]:
    for fields in reader:
        if not fields:
            continue
        if len(fields) == width:
            yield fields
        elif not options.skip_ragged:
            line = reader.line_num + (1 if options.header else 0)
            raise _ragged(file, line, len(fields), width, ",".join(fields), 1)
