"""The document section: a tree of plain values with one form in bytes, read with every count checked."""

import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spinney.io.errors import CorruptModelFile, UnsavableValue, require

Document: TypeAlias = Any
"""None, bool, int, float, str, bytes, list, tuple, dict with string keys, NumPy array or `Tagged`, nested."""

MAX_DEPTH = 64
"""Maximum nesting depth; keeps the reader far from Python's recursion limit."""
MAX_INT_BYTES = 1024
"""Size of the longest integer in bytes."""
MAX_EQUAL_HASHES = 16
"""Long integers that may share a hash; a file full of them would make every dict and set of them slow."""

NONE, FALSE, TRUE, INT, BIG_INT, FLOAT, STR, BYTES, LIST, TUPLE, DICT, ARRAY, TAGGED = range(13)

_INT64 = struct.Struct("<q")
_FLOAT64 = struct.Struct("<d")
_UINT32 = struct.Struct("<I")
_NO_ITEMS = bytes(4)


class Tagged(NamedTuple):
    """A value with a name that says how to read it; the container itself gives names no meaning.

    >>> Tagged("mapping", [(1, 2.0)]).name
    'mapping'
    """

    name: str
    value: Document


def write_document(document: Document) -> tuple[bytes, list[NDArray[Any]]]:
    """Return the bytes of a tree of values and its arrays, in the order in which the bytes refer to them.

    >>> write_document([True, None])
    (b'\\x08\\x02\\x00\\x00\\x00\\x02\\x00', [])
    """
    writer = _Writer()
    writer.write(document, 0)
    return b"".join(writer.parts), writer.arrays


def read_document(data: memoryview, arrays: Iterator[NDArray[Any]]) -> Document:
    """Read the tree that `write_document` wrote; raise `CorruptModelFile` for any other bytes.

    >>> read_document(memoryview(b'\\x08\\x02\\x00\\x00\\x00\\x02\\x00'), iter(()))
    [True, None]
    """
    reader = _Reader(bytes(data), arrays)  # slices of bytes are compared several times as fast
    document = reader.read(0)
    left = reader.end - reader.position
    require(left == 0, f"{left} bytes follow the end of the document")
    require(next(arrays, None) is None, "its document does not refer to all of its arrays")
    require(not _collide(reader.long_integers), "its long integers were chosen to have equal hashes")
    return document


def _collide(values: list[int]) -> bool:
    """Return whether many different integers share a hash, without inserting them into a hash table."""
    values = sorted(values)
    hashes = sorted(hash(b) for a, b in zip([None, *values], values, strict=False) if a != b)
    return any(a == b for a, b in zip(hashes, hashes[MAX_EQUAL_HASHES:], strict=False))


def _length(n: int) -> bytes:
    if n > 0xFFFFFFFF:
        raise UnsavableValue(f"A string, list or dict of {n} items is too long for a model file.")
    return _UINT32.pack(n)


def _text(value: str) -> tuple[bytes, bytes]:
    """Return length and bytes of a string."""
    try:
        encoded = value.encode()
    except UnicodeEncodeError as error:
        raise UnsavableValue(
            f"The string {value[:50]!r} has half a surrogate pair, which is not valid Unicode.",
            fix="Replace that character.",
        ) from error
    return _length(len(encoded)), encoded


class _Writer:
    """Collects the bytes of a tree, depth first, and its arrays."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.arrays: list[NDArray[Any]] = []

    def put(self, tag: int, *data: bytes) -> None:
        self.parts += (bytes((tag,)), *data)

    def write(self, value: Document, depth: int) -> None:
        # Exact types: a subclass would come back as its base class, and so as something else.
        kind = type(value)
        if depth > MAX_DEPTH:
            raise UnsavableValue(f"The model is nested more than {MAX_DEPTH} levels deep.")
        if value is None or kind is bool:
            self.put(NONE if value is None else TRUE if value else FALSE)
        elif kind is int:
            self.write_integer(value)
        elif kind is float:
            self.put(FLOAT, _FLOAT64.pack(value))
        elif kind is str:
            self.put(STR, *_text(value))
        elif kind is bytes:
            self.put(BYTES, _length(len(value)), value)
        elif kind is list or kind is tuple:
            self.put(LIST if kind is list else TUPLE, _length(len(value)))
            for item in value:
                self.write(item, depth + 1)
        elif kind is dict:
            self.write_dict(value, depth)
        elif kind is np.ndarray or kind is np.memmap:
            self.put(ARRAY)
            self.arrays.append(value)
        elif kind is Tagged:
            self.put(TAGGED, *_text(value.name))
            self.write(value.value, depth + 1)
        else:
            raise UnsavableValue(f"A model file cannot store a value of type {kind.__name__}.")

    def write_integer(self, value: int) -> None:
        if -(2**63) <= value < 2**63:
            self.put(INT, _INT64.pack(value))
            return
        n_bytes = _bytes_needed(value)
        if n_bytes > MAX_INT_BYTES:
            raise UnsavableValue(f"An integer of {n_bytes} bytes is too long: at most {MAX_INT_BYTES}.")
        self.put(BIG_INT, _length(n_bytes), value.to_bytes(n_bytes, "little", signed=True))

    def write_dict(self, value: dict[str, Document], depth: int) -> None:
        self.put(DICT, _length(len(value)))
        for key, item in value.items():
            if type(key) is not str:
                raise UnsavableValue(f"The keys of a dict in a document are strings, not {key!r}.")
            self.parts += _text(key)
            self.write(item, depth + 1)


def _bytes_needed(value: int) -> int:
    """Size in bytes of the shortest two's complement form."""
    return (value if value >= 0 else ~value).bit_length() // 8 + 1


class _Reader:
    """Reads the bytes of a document; allocates nothing before the bytes for it are known to be there."""

    __slots__ = ("arrays", "data", "end", "long_integers", "position")

    def __init__(self, data: bytes, arrays: Iterator[NDArray[Any]]) -> None:
        self.data = data
        self.position = 0
        self.end = len(data)
        self.arrays = arrays
        self.long_integers: list[int] = []

    def read(self, depth: int) -> Document:
        if depth > MAX_DEPTH:
            raise CorruptModelFile(f"The document is nested more than {MAX_DEPTH} levels deep.")
        tag = self.data[self.advance(1)]
        if tag >= len(_READERS):
            raise CorruptModelFile(f"The document has the unknown tag {tag} at byte {self.position - 1}.")
        return _READERS[tag](self, depth)

    def advance(self, n: int) -> int:
        """Skip n bytes and return where they begin."""
        begin = self.position
        if n > self.end - begin:
            raise CorruptModelFile(f"The document ends at byte {self.end}, within a value of {n} bytes.")
        self.position = begin + n
        return begin

    def count(self, min_bytes: int) -> int:
        """Read a count of items that take at least `min_bytes` each."""
        n: int = _UINT32.unpack_from(self.data, self.advance(4))[0]
        if n * min_bytes > self.end - self.position:
            raise CorruptModelFile(f"The document announces {n} items, more than the file has bytes for.")
        return n

    def get_raw(self) -> bytes:
        n = self.count(1)
        begin = self.advance(n)
        return self.data[begin : begin + n]

    def get_big_integer(self, _depth: int) -> int:
        data = self.get_raw()
        value = int.from_bytes(data, "little", signed=True)
        is_valid = 8 < len(data) <= MAX_INT_BYTES and _bytes_needed(value) == len(data)
        require(is_valid, "a long integer is not in its shortest form, or is too long")
        self.long_integers.append(value)
        return value

    def get_string(self, _depth: int) -> str:
        try:
            return self.get_raw().decode()
        except UnicodeDecodeError as error:
            raise CorruptModelFile("A string of the document is not valid UTF-8.") from error

    def get_list(self, depth: int) -> list[Document]:
        # `read`, without its calls: a file may have millions of short lists.
        items: list[Document] = []
        n, data, end, depth = self.count(1), self.data, self.end, depth + 1
        if n and depth > MAX_DEPTH:
            raise CorruptModelFile(f"The document is nested more than {MAX_DEPTH} levels deep.")
        for _ in range(n):
            position = self.position
            if position >= end:
                raise CorruptModelFile(f"The document ends at byte {end}, within a list.")
            tag = data[position]
            if tag == LIST and data[position + 1 : position + 5] == _NO_ITEMS:
                self.position = position + 5
                items.append([])
                continue
            if tag >= len(_READERS):
                raise CorruptModelFile(f"The document has the unknown tag {tag} at byte {position}.")
            self.position = position + 1
            items.append(_READERS[tag](self, depth))
        return items

    def get_dict(self, depth: int) -> dict[str, Document]:
        n = self.count(5)
        result: dict[str, Document] = {}
        for _ in range(n):
            key = self.get_string(depth)
            if key in result:
                raise CorruptModelFile(f"The key {key[:50]!r} occurs twice in a dict.")
            result[key] = self.read(depth + 1)
        return result

    def get_array(self, _depth: int) -> NDArray[Any]:
        array = next(self.arrays, None)
        if array is None:
            raise CorruptModelFile("The document refers to more arrays than the file has.")
        return array


# Indexed by tag.
_READERS: tuple[Callable[[_Reader, int], Document], ...] = (
    lambda _reader, _depth: None,
    lambda _reader, _depth: False,
    lambda _reader, _depth: True,
    lambda reader, _depth: _INT64.unpack_from(reader.data, reader.advance(8))[0],
    _Reader.get_big_integer,
    lambda reader, _depth: _FLOAT64.unpack_from(reader.data, reader.advance(8))[0],
    _Reader.get_string,
    lambda reader, _depth: reader.get_raw(),
    _Reader.get_list,
    lambda reader, depth: tuple(reader.get_list(depth)),
    _Reader.get_dict,
    _Reader.get_array,
    lambda reader, depth: Tagged(reader.get_string(depth), reader.read(depth + 1)),
)
