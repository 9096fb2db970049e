"""The container of a model file: header, section table, checksum and arrays around one document."""

import math
import struct
import sys
import zlib
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spinney.io.document import Document, read_document, write_document
from spinney.io.errors import CorruptModelFile, NotAModelFile, UnsavableValue, UnsupportedVersion, require

BytesLike: TypeAlias = bytes | bytearray | memoryview

# As in PNG: the first byte is not ASCII, and the line ends and the Ctrl-Z reveal a transfer in text mode.
MAGIC = b"\x93SPN\r\n\x1a\n"
VERSION = 2
"""The version that is written; all versions up to it are read. 2: names changed, see migrations.py."""
HEADER = struct.Struct("<8sHHIQ16s")
"""Magic, version, flags, number of sections, length of the file in bytes, checksum."""
CHECKSUM_AT = 24
TABLE_ENTRY = struct.Struct("<BBB5sQ")
"""Kind of section, type of its elements, number of axes, five zero bytes, length in bytes."""
COMPRESSED = 1
"""The flag of a file whose section table and sections are one zlib stream, after their length (u64)."""
_LENGTH = struct.Struct("<Q")
DOCUMENT_SECTION, ARRAY_SECTION = 1, 2
MAX_AXES = 8
MAX_ELEMENTS = 2**56
"""Bounds the product of an array's axes, empty ones counted as 1, so that no product overflows."""

DTYPES: dict[int, np.dtype[Any]] = {
    code: np.dtype(name)
    for code, name in enumerate(
        ("?", "<u1", "<u2", "<u4", "<u8", "<i1", "<i2", "<i4", "<i8", "<f4", "<f8"), start=1
    )
}
_CODES = {dtype: code for code, dtype in DTYPES.items()}
_Kind: TypeAlias = tuple[int, int, int]


class Header(NamedTuple):
    """The checked fields of a header."""

    version: int
    n_sections: int
    length: int
    checksum: bytes
    compressed: bool = False


def encode(document: Document, version: int = VERSION, compress: bool = False) -> bytes:
    """Write a document as the bytes of a file. Equal documents (keys in the same order) give equal bytes.

    The layout is specified in docs/model-file.md. Compressed bytes depend on the version of zlib.

    >>> decode(encode({"depth": 3, "weights": (1.0, None)}))
    {'depth': 3, 'weights': (1.0, None)}
    """
    text, arrays = write_document(document)
    table = [TABLE_ENTRY.pack(DOCUMENT_SECTION, 0, 0, bytes(5), len(text))]
    sections = [text, bytes(-len(text) % 8)]
    for array in arrays:
        entry, shape, data = _array_section(array)
        table.append(entry)
        sections += [shape, data, bytes(-len(data) % 8)]
    parts = [*table, *sections]
    if compress:
        content = b"".join(parts)
        parts = [_LENGTH.pack(len(content)), zlib.compress(content)]
    length = HEADER.size + sum(map(len, parts))
    flags = COMPRESSED if compress else 0
    start = HEADER.pack(MAGIC, version, flags, len(table), length, bytes(16))[:CHECKSUM_AT]
    digest = blake2b(start, digest_size=16)
    for part in parts:
        digest.update(part)
    return b"".join((start, digest.digest(), *parts))


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
            f"The file is {len(view)} bytes long and should be {header.length}: it is incomplete, or bytes "
            "were added to it."
        )
    if checksum(view) != header.checksum:
        raise CorruptModelFile("The checksum does not match: the file is damaged.", fix="Copy it again.")
    if header.compressed:
        view = _decompressed(view)
    entries = _read_table(view, header)
    kind, text = next(entries)
    require(kind == (DOCUMENT_SECTION, 0, 0), "its first section is not the document")
    arrays = [_read_array(kind, section) for kind, section in entries]
    return read_document(text, iter(arrays))


def read_header(data: BytesLike) -> Header:
    """Check the first 40 bytes of a file, so that a file of another kind is refused before it is read.

    >>> read_header(encode(None)).length
    64
    """
    start = bytes(data[: HEADER.size])
    if start[: len(MAGIC)] != MAGIC:
        known = f"begins with {start[:8]!r}" if len(start) >= 8 else f"is {len(start)} bytes long"
        raise NotAModelFile(f"This is not a Spinney model file: it {known} and not with Spinney's signature.")
    require(len(start) == HEADER.size, f"it ends after {len(start)} bytes, within its header")
    _, version, flags, n_sections, length, expected = HEADER.unpack(start)
    require(version > 0, "its format version is 0, which never existed")
    if version > VERSION or flags & ~COMPRESSED:
        raise UnsupportedVersion(
            f"The file has format version {version}, flags {flags}; this Spinney reads up to {VERSION}.",
            fix="Install a newer Spinney.",
        )
    return Header(version, n_sections, length, expected, bool(flags & COMPRESSED))


def checksum(view: BytesLike) -> bytes:
    """Compute the checksum of a file: BLAKE2b-128 of all its bytes except the checksum itself.

    >>> data = encode(None)
    >>> checksum(data) == data[24:40]
    True
    """
    digest = blake2b(view[:CHECKSUM_AT], digest_size=16)
    digest.update(view[HEADER.size :])
    return digest.digest()


def _stable(data: BytesLike) -> memoryview:
    """View the bytes; copy a buffer that could change after it was checked."""
    view = memoryview(data)
    if type(view.obj) is not bytes or not view.c_contiguous:
        view = memoryview(bytes(view))
    return view.cast("B")


def _decompressed(view: memoryview) -> memoryview:
    """Return a compressed file with its sections as they are in a file that is not."""
    begin = HEADER.size + _LENGTH.size
    require(len(view) >= begin, "it has no compressed sections")
    (length,) = _LENGTH.unpack_from(view, HEADER.size)
    stream = zlib.decompressobj()
    try:
        # zlib allocates what it finds, and at most one byte more than was announced.
        content = stream.decompress(view[begin:], length + 1)
    except (zlib.error, OverflowError) as error:
        raise CorruptModelFile(f"The sections of the file are not compressed by zlib: {error}.") from None
    complete = stream.eof and not stream.unused_data and len(content) == length
    require(complete, "its sections are not as long as they were before compression")
    return memoryview(bytes(view[: HEADER.size]) + content)


def _array_section(array: NDArray[Any]) -> tuple[bytes, bytes, bytes]:
    """Return the table entry, the shape and the elements of an array as bytes."""
    dtype = array.dtype.newbyteorder("<")
    code = _CODES.get(dtype)
    if code is None:
        raise UnsavableValue(f"A model file cannot store an array of type {array.dtype}.")
    if array.ndim > MAX_AXES or _n_elements(array.shape) > MAX_ELEMENTS:
        raise UnsavableValue(f"An array of shape {array.shape} is too large for a model file.")
    shape = struct.pack(f"<{array.ndim}Q", *array.shape)
    data = array.astype(dtype, copy=False).tobytes()
    entry = TABLE_ENTRY.pack(ARRAY_SECTION, code, array.ndim, bytes(5), len(shape) + len(data))
    return entry, shape, data


def _n_elements(shape: tuple[int, ...]) -> int:
    """Multiply the axes, empty ones counted as 1."""
    return math.prod(max(n, 1) for n in shape)


def _read_table(view: memoryview, header: Header) -> Iterator[tuple[_Kind, memoryview]]:
    """Yield kind and bytes of each section. Sections are contiguous, so they cannot overlap."""
    n_sections = header.n_sections
    position = HEADER.size + TABLE_ENTRY.size * n_sections
    require(n_sections and position <= len(view), f"its {n_sections} sections do not fit in it")
    for section in range(n_sections):
        at = HEADER.size + TABLE_ENTRY.size * section
        kind, code, n_axes, zeros, length = TABLE_ENTRY.unpack_from(view, at)
        require(not any(zeros), f"the reserved bytes of section {section} are not zero")
        require(length <= len(view) - position, f"section {section} extends beyond the end of the file")
        end, padding = position + length, -length % 8
        padded = padding <= len(view) - end and not any(view[end : end + padding])
        require(padded, f"section {section} is not padded with zeros to a multiple of 8 bytes")
        yield (kind, code, n_axes), view[position:end]
        position = end + padding
    require(position == len(view), f"{len(view) - position} bytes follow the last section")


def _read_array(kind: _Kind, section: memoryview) -> NDArray[Any]:
    """View a section as an array; copy it only where alignment or byte order of the machine differ."""
    what, code, n_axes = kind
    dtype = DTYPES.get(code)
    if what != ARRAY_SECTION or dtype is None:
        raise CorruptModelFile(f"A section has the unknown kind {what} with element type {code}.")
    fits = n_axes <= MAX_AXES and 8 * n_axes <= len(section)
    require(fits, f"an array of {n_axes} axes does not fit in its section")
    shape = struct.unpack_from(f"<{n_axes}Q", section)
    n_bytes = len(section) - 8 * n_axes
    fits = _n_elements(shape) <= MAX_ELEMENTS and math.prod(shape) * dtype.itemsize == n_bytes
    require(fits, f"an array of shape {shape}, type {dtype}, does not fill its {n_bytes} bytes")
    array = np.frombuffer(section, dtype=np.uint8, offset=8 * n_axes) if n_bytes else np.empty(0, np.uint8)
    is_valid = dtype.kind != "b" or not n_bytes or array.max() <= 1
    require(is_valid, "a boolean array has a byte that is neither 0 nor 1")
    result: NDArray[Any] = array.view(dtype).reshape(shape)
    if sys.byteorder == "big" or not result.flags.aligned:
        result = result.astype(dtype.newbyteorder("="))
    result.flags.writeable = False
    return result
