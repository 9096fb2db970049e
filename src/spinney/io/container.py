"""The container of a model file: header, section table, checksum and arrays around one document."""

import math
import struct
import sys
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spinney.io.document import Document, read_document, write_document
from spinney.io.errors import CorruptModelFile, NotAModelFile, UnsavableValue, UnsupportedVersion

BytesLike: TypeAlias = bytes | bytearray | memoryview

# The first byte is not ASCII and the line ends and the Ctrl-Z reveal a transfer in text mode, as in PNG.
MAGIC = b"\x93SPN\r\n\x1a\n"
VERSION = 2
"""The version that is written; all versions up to it are read. 2: names changed, see migrations.py."""
HEADER = struct.Struct("<8sHHIQ16s")
"""Magic, version, flags, number of sections, length of the file, checksum."""
CHECKSUM_AT = 24
TABLE_ENTRY = struct.Struct("<BBB5sQ")
"""Kind of section, type of its elements, number of axes, five zero bytes, length."""
DOCUMENT_SECTION, ARRAY_SECTION = 1, 2
MAX_AXES = 8
MAX_ELEMENTS = 2**56
"""Bounds the product of an array's axes, empty ones counted as 1, so that no product overflows anywhere."""

DTYPES: dict[int, np.dtype[Any]] = {
    code: np.dtype(name)
    for code, name in enumerate(
        ("?", "<u1", "<u2", "<u4", "<u8", "<i1", "<i2", "<i4", "<i8", "<f4", "<f8"), start=1
    )
}
_CODES = {dtype: code for code, dtype in DTYPES.items()}


class Header(NamedTuple):
    """Hold the checked fields of a header."""

    version: int
    n_sections: int
    length: int
    checksum: bytes


def encode(document: Document, version: int = VERSION) -> bytes:
    """Write a document as the bytes of a file; equal documents (keys in the same order) give equal bytes.

    The layout is specified in docs/model-file.md.

    >>> decode(encode({"depth": 3, "weights": (1.0, None)}))
    {'depth': 3, 'weights': (1.0, None)}
    """
    text, arrays = write_document(document)
    table = [TABLE_ENTRY.pack(DOCUMENT_SECTION, 0, 0, bytes(5), len(text))]
    sections = [text, _padding(len(text))]
    for array in arrays:
        entry, shape, data = _array_section(array)
        table.append(entry)
        sections += [shape, data, _padding(len(data))]
    length = HEADER.size + sum(map(len, table)) + sum(map(len, sections))
    start = HEADER.pack(MAGIC, version, 0, len(table), length, bytes(16))[:CHECKSUM_AT]
    digest = blake2b(start, digest_size=16)
    for part in (*table, *sections):
        digest.update(part)
    return b"".join((start, digest.digest(), *table, *sections))


def decode(data: BytesLike) -> Document:
    """Read the document of a file; raise a `ModelFileError` for any other bytes. Arrays are read-only views.

    >>> decode(b"PK")
    Traceback (most recent call last):
    ...
    spinney.io.errors.NotAModelFile: This is not a Spinney model file: it is 2 bytes long and ...
    """
    view = _stable(data)
    header = read_header(view)
    if header.length != len(view):
        raise CorruptModelFile(
            f"The file is {len(view)} bytes long and should be {header.length}: it was cut short or added to."
        )
    if checksum(view) != header.checksum:
        raise CorruptModelFile("The checksum does not fit the content: the file was damaged. Copy it again.")
    entries = _read_table(view, header)
    kind, text = next(entries)
    if kind != (DOCUMENT_SECTION, 0, 0):
        raise CorruptModelFile("The first section is not the document.")
    arrays = [_read_array(kind, section) for kind, section in entries]
    return read_document(text, iter(arrays))


def read_header(data: BytesLike) -> Header:
    """Check the first 40 bytes of a file, so that a foreign file is refused before it is read.

    >>> read_header(encode(None)).length
    64
    """
    start = bytes(data[: HEADER.size])
    if start[: len(MAGIC)] != MAGIC:
        known = f"begins with {start[:8]!r}" if len(start) >= 8 else f"is {len(start)} bytes long"
        raise NotAModelFile(f"This is not a Spinney model file: it {known} and not with Spinney's signature.")
    if len(start) < HEADER.size:
        raise CorruptModelFile(f"The file ends after {len(start)} bytes, within its header.")
    _, version, flags, n_sections, length, expected = HEADER.unpack(start)
    if version == 0:
        raise CorruptModelFile("The file gives its format version as 0, which never existed.")
    if version > VERSION or flags:
        raise UnsupportedVersion(
            f"The file has format version {version}, flags {flags}; this Spinney reads up to {VERSION}.",
            fix="Install a newer Spinney.",
        )
    return Header(version, n_sections, length, expected)


def checksum(view: BytesLike) -> bytes:
    """Compute the checksum of a file: BLAKE2b-128 of all its bytes but the checksum itself.

    >>> data = encode(None)
    >>> checksum(data) == data[24:40]
    True
    """
    digest = blake2b(view[:CHECKSUM_AT], digest_size=16)
    digest.update(view[HEADER.size :])
    return digest.digest()


def _stable(data: BytesLike) -> memoryview:
    """View the bytes; copy what somebody could change after it was checked."""
    view = memoryview(data)
    if type(view.obj) is not bytes or not view.c_contiguous:
        view = memoryview(bytes(view))
    return view.cast("B")


def _padding(n: int) -> bytes:
    return bytes(-n % 8)


def _array_section(array: NDArray[Any]) -> tuple[bytes, bytes, bytes]:
    """Write an array as its table entry, its shape and its elements."""
    dtype = array.dtype.newbyteorder("<")
    code = _CODES.get(dtype)
    if code is None:
        raise UnsavableValue(f"A model file cannot hold an array of type {array.dtype}.")
    if array.ndim > MAX_AXES or _n_elements(array.shape) > MAX_ELEMENTS:
        raise UnsavableValue(f"An array of shape {array.shape} is too large for a model file.")
    shape = struct.pack(f"<{array.ndim}Q", *array.shape)
    data = array.astype(dtype, copy=False).tobytes()
    entry = TABLE_ENTRY.pack(ARRAY_SECTION, code, array.ndim, bytes(5), len(shape) + len(data))
    return entry, shape, data


def _n_elements(shape: tuple[int, ...]) -> int:
    """Multiply the axes, empty ones counted as 1."""
    return math.prod(max(n, 1) for n in shape)


_Kind: TypeAlias = tuple[int, int, int]


def _read_table(view: memoryview, header: Header) -> Iterator[tuple[_Kind, memoryview]]:
    """Yield kind and bytes of each section; they follow each other without a gap, so none can overlap."""
    position = HEADER.size + TABLE_ENTRY.size * header.n_sections
    if header.n_sections == 0 or position > len(view):
        raise CorruptModelFile(f"The file announces {header.n_sections} sections, which do not fit in it.")
    for section in range(header.n_sections):
        at = HEADER.size + TABLE_ENTRY.size * section
        kind, code, n_axes, zeros, length = TABLE_ENTRY.unpack_from(view, at)
        if any(zeros):
            raise CorruptModelFile(f"The reserved bytes of section {section} are not zero.")
        if length > len(view) - position:
            raise CorruptModelFile(f"Section {section} is {length} bytes long and reaches beyond the file.")
        end = position + length
        if any(view[end : end + -length % 8]) or -length % 8 > len(view) - end:
            raise CorruptModelFile(f"Section {section} is not filled up with zeros to a multiple of 8 bytes.")
        yield (kind, code, n_axes), view[position:end]
        position = end + -length % 8
    if position != len(view):
        raise CorruptModelFile(f"{len(view) - position} bytes follow the last section.")


def _read_array(kind: _Kind, section: memoryview) -> NDArray[Any]:
    """View a section as an array, copied only where the machine needs another alignment or byte order."""
    what, code, n_axes = kind
    dtype = DTYPES.get(code)
    if what != ARRAY_SECTION or dtype is None:
        raise CorruptModelFile(f"A section has the unknown kind {what} with element type {code}.")
    if n_axes > MAX_AXES or 8 * n_axes > len(section):
        raise CorruptModelFile(f"An array of {n_axes} axes does not fit in its section.")
    shape = struct.unpack_from(f"<{n_axes}Q", section)
    n_bytes = len(section) - 8 * n_axes
    if _n_elements(shape) > MAX_ELEMENTS or math.prod(shape) * dtype.itemsize != n_bytes:
        raise CorruptModelFile(f"An array of shape {shape}, type {dtype}, does not fill its {n_bytes} bytes.")
    array = np.frombuffer(section, dtype=np.uint8, offset=8 * n_axes) if n_bytes else np.empty(0, np.uint8)
    if dtype.kind == "b" and n_bytes and array.max() > 1:
        raise CorruptModelFile("An array of truth values holds a byte that is neither 0 nor 1.")
    result: NDArray[Any] = array.view(dtype).reshape(shape)
    if sys.byteorder == "big" or not result.flags.aligned:
        result = result.astype(dtype.newbyteorder("="))
    result.flags.writeable = False
    return result
