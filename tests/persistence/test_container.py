"""The container gives back every bit, writes a document in one way only, and refuses everything else."""

import itertools
import math
import re
import struct
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from persistence.raw_files import array, raw_file, repaired, text, u32
from spinney.io.container import DTYPES, decode, encode, read_header
from spinney.io.document import MAX_DEPTH, Tagged
from spinney.io.errors import (
    CorruptModelFile,
    ModelFileError,
    NotAModelFile,
    UnsavableValue,
    UnsupportedVersion,
)

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_ARRAYS = hnp.arrays(
    st.sampled_from([dtype.newbyteorder("=") for dtype in DTYPES.values()]),
    hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
)
_LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), _TEXT, st.binary(max_size=12), _ARRAYS
)
DOCUMENTS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(_TEXT, inner, max_size=4),
        st.builds(Tagged, _TEXT, inner),
    ),
    max_leaves=12,
)


def same(a: Any, b: Any) -> bool:
    """Compare two documents: types, bits of floats and arrays, order of keys."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


@contextmanager
def bounds(n_bytes: int) -> Iterator[None]:
    """Require that a block makes few function calls, and takes little memory, per byte of the file.

    Calls are counted instead of seconds. They are blind to slow single calls: that hashing is not quadratic
    is promised by the error about equal hashes alone.
    """
    calls = itertools.count()
    before = sys.getprofile()
    tracemalloc.start()
    sys.setprofile(lambda *_: next(calls))
    try:
        yield
        sys.setprofile(before)
        assert next(calls) < 5_000 + 10 * n_bytes
        assert tracemalloc.get_traced_memory()[1] < 100_000 + 40 * n_bytes
    finally:
        sys.setprofile(before)
        tracemalloc.stop()


SMALL = encode(
    {"a": [1, -2.5, None, True], "b": np.arange(3, dtype=np.int16), "é": Tagged("t", (b"x", 2**70))}
)


@given(DOCUMENTS)
def test_a_document_comes_back_bit_for_bit(document: Any) -> None:
    data = encode(document)
    assert len(data) % 8 == 0
    back = decode(data)
    assert same(document, back)
    assert encode(back) == data


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        -0.0,
        math.inf,
        -math.inf,
        5e-324,
        2**63 - 1,
        -(2**63),
        2**63,
        -(2**63) - 1,
        2**127,
        -(2**127),
    ],
)
def test_numbers_at_the_edges_come_back(value: float) -> None:
    assert same(decode(encode(value)), value)


def test_the_bits_of_a_nan_come_back() -> None:
    odd = np.array([0x7FF8DEADBEEF0001, 0xFFF0000000000001], dtype=np.uint64).view(np.float64)
    back = decode(encode([odd, float(odd[0])]))
    assert back[0].tobytes() == odd.tobytes()
    assert struct.pack("<d", back[1]) == odd[:1].tobytes()


def test_the_order_of_keys_is_content() -> None:
    assert list(decode(encode({"b": 1, "a": 2}))) == ["b", "a"]
    assert encode({"b": 1, "a": 2}) != encode({"a": 2, "b": 1})


def test_layout_of_an_array_shows_in_no_byte() -> None:
    plain = np.arange(12.0).reshape(3, 4)
    variants = [plain, np.asfortranarray(plain), plain.astype(">f8"), np.repeat(plain, 2, axis=1)[:, ::2]]
    assert len({encode(variant) for variant in variants}) == 1


def test_arrays_are_read_only_views_of_the_file() -> None:
    data = encode(np.arange(1000.0))
    back = decode(data)
    assert not back.flags.writeable
    assert np.shares_memory(back, np.frombuffer(data, np.uint8))
    with pytest.raises(ValueError):
        back.flags.writeable = True


def test_unaligned_bytes_are_copied() -> None:
    data = encode(np.arange(10.0))
    shifted = memoryview(b"x" + data)[1:]
    back = decode(shifted)
    assert back.flags.aligned and same(back, np.arange(10.0))


def test_bytes_that_may_change_are_copied() -> None:
    data = bytearray(encode(np.arange(10.0)))
    back = decode(data)
    data[:] = bytes(len(data))
    assert same(back, np.arange(10.0))


@pytest.mark.parametrize(
    "value",
    [
        {1},
        1j,
        object(),
        np.float64(1),
        np.zeros(2, complex),
        np.zeros((1,) * 9),
        {1: 2},
        "\ud800",
        1 << 9000,
        np.array(["a"]),
    ],
)
def test_what_fits_in_no_file_is_refused_on_writing(value: Any) -> None:
    with pytest.raises(UnsavableValue):
        encode([value])


def test_nesting_is_bounded_on_writing() -> None:
    document: Any = None
    for _ in range(MAX_DEPTH):
        document = [document]
    assert same(decode(encode(document)), document)
    with pytest.raises(UnsavableValue, match="nested"):
        encode([document])


def test_every_truncation_is_refused() -> None:
    for n in range(len(SMALL)):
        with pytest.raises(ModelFileError):
            decode(SMALL[:n])
    with pytest.raises(CorruptModelFile, match="added to"):
        decode(SMALL + bytes(8))


def test_every_changed_byte_is_refused() -> None:
    for position in range(len(SMALL)):
        for flip in (1, 0x80, 0xFF):
            damaged = bytearray(SMALL)
            damaged[position] ^= flip
            with pytest.raises(ModelFileError):
                decode(damaged)


def test_every_changed_byte_with_the_checksum_mended_is_refused_or_another_document() -> None:
    accepted = 0
    for position in range(len(SMALL)):
        for byte in range(256):
            data = repaired(SMALL[:position] + bytes((byte,)) + SMALL[position + 1 :])
            try:
                document = decode(data)
            except ModelFileError:
                continue
            accepted += 1
            # One document, one file: whatever is accepted is what the document would be written as.
            assert encode(document, read_header(data).version) == data
    assert accepted > len(SMALL)


NONE = b"\x00"
F8, U4, BOOL = 11, 4, 1
_MANY = 0xFFFFFFFF
CRAFTED: dict[str, tuple[type[ModelFileError], bytes]] = {
    "empty": (NotAModelFile, b""),
    "a zip": (NotAModelFile, b"PK\x03\x04" + bytes(60)),
    "a pickle": (NotAModelFile, b"\x80\x04\x95" + bytes(60)),
    "signature mangled by text mode": (NotAModelFile, raw_file(NONE).replace(b"\r\n", b"\n", 1)),
    "header only begun": (CorruptModelFile, raw_file(NONE)[:30]),
    "version from the future": (UnsupportedVersion, raw_file(NONE, version=3)),
    "version 65535": (UnsupportedVersion, raw_file(NONE, version=65535)),
    "version 0": (CorruptModelFile, raw_file(NONE, version=0)),
    "unknown flags": (UnsupportedVersion, raw_file(NONE, flags=2)),
    "wrong checksum": (CorruptModelFile, raw_file(NONE)[:24] + bytes(16) + raw_file(NONE)[40:]),
    "length too small": (CorruptModelFile, raw_file(NONE, length=40)),
    "length huge": (CorruptModelFile, raw_file(NONE, length=2**64 - 1)),
    "no sections": (CorruptModelFile, raw_file(NONE, n_sections=0)),
    "a section too few": (CorruptModelFile, raw_file(NONE, array(F8, (1,), bytes(8)), n_sections=1)),
    "a section too many": (CorruptModelFile, raw_file(NONE, n_sections=2)),
    "four billion sections": (CorruptModelFile, raw_file(NONE, n_sections=_MANY)),
    "section beyond the file": (CorruptModelFile, raw_file(NONE, lengths=[2**63])),
    "section lengths that wrap around": (
        CorruptModelFile,
        raw_file(b"\x0b", array(F8, (1,), bytes(8)), lengths=[2**64 - 8, 16]),
    ),
    "section that reaches into the next": (
        CorruptModelFile,
        raw_file(b"\x0b", array(F8, (1,), bytes(8)), lengths=[9, 16]),
    ),
    "reserved bytes used": (CorruptModelFile, raw_file(NONE, reserved=b"\x01" + bytes(4))),
    "padding used": (CorruptModelFile, repaired(raw_file(NONE)[:-1] + b"\x01")),
    "bytes after the last section": (CorruptModelFile, raw_file(NONE, tail=bytes(8))),
    "padding missing": (CorruptModelFile, repaired(raw_file(NONE, length=63)[:-1])),
    "document section empty": (CorruptModelFile, raw_file(b"")),
    "second document": (CorruptModelFile, raw_file(b"\x0b", (1, 0, 0, NONE))),
    "no document first": (CorruptModelFile, repaired(raw_file(NONE)[:40] + b"\x02" + raw_file(NONE)[41:])),
    "bytes after the document": (CorruptModelFile, raw_file(NONE + NONE)),
    "unknown tag": (CorruptModelFile, raw_file(b"\x0d")),
    "tag 255": (CorruptModelFile, raw_file(b"\xff")),
    "integer cut short": (CorruptModelFile, raw_file(b"\x03\x00\x00")),
    "float cut short": (CorruptModelFile, raw_file(b"\x05\x00\x00")),
    "list of four billion": (CorruptModelFile, raw_file(b"\x08" + u32(_MANY))),
    "list one too long": (CorruptModelFile, raw_file(b"\x08" + u32(2) + NONE)),
    "tuple of four billion": (CorruptModelFile, raw_file(b"\x09" + u32(_MANY) + NONE * 99)),
    "dict of four billion": (CorruptModelFile, raw_file(b"\x0a" + u32(_MANY))),
    "dict with a key twice": (CorruptModelFile, raw_file(b"\x0a" + u32(2) + (text("k") + NONE) * 2)),
    "dict with a number as key": (CorruptModelFile, raw_file(b"\x0a" + u32(1) + b"\x03" + bytes(8) + NONE)),
    "string beyond the document": (CorruptModelFile, raw_file(b"\x06" + u32(_MANY) + b"abc")),
    "string not UTF-8": (CorruptModelFile, raw_file(b"\x06" + text(b"\xff\xfe"))),
    "string with an overlong form": (CorruptModelFile, raw_file(b"\x06" + text(b"\xc0\x80"))),
    "string with half a surrogate pair": (CorruptModelFile, raw_file(b"\x06" + text(b"\xed\xa0\x80"))),
    "long integer that is short": (CorruptModelFile, raw_file(b"\x04" + text(bytes(8)))),
    "long integer with a useless byte": (CorruptModelFile, raw_file(b"\x04" + text(b"\xff" * 9 + bytes(2)))),
    "long integer beyond the limit": (CorruptModelFile, raw_file(b"\x04" + text(b"\x7f" * 1025))),
    "lists nested without end": (CorruptModelFile, raw_file((b"\x08" + u32(1)) * 100_000 + NONE)),
    "tags nested without end": (CorruptModelFile, raw_file((b"\x0c" + text("t")) * 100_000 + NONE)),
    "array that is not there": (CorruptModelFile, raw_file(b"\x0b")),
    "two arrays where there is one": (
        CorruptModelFile,
        raw_file(b"\x08" + u32(2) + b"\x0b\x0b", array(F8, (1,), bytes(8))),
    ),
    "array nobody refers to": (CorruptModelFile, raw_file(NONE, array(F8, (1,), bytes(8)))),
    "array of unknown type": (CorruptModelFile, raw_file(b"\x0b", array(12, (1,), bytes(8)))),
    "array of type 0": (CorruptModelFile, raw_file(b"\x0b", array(0, (1,), bytes(8)))),
    "section of unknown kind": (CorruptModelFile, raw_file(b"\x0b", array(F8, (1,), bytes(8), kind=3))),
    "array with more axes than bytes": (CorruptModelFile, raw_file(b"\x0b", (2, F8, 8, bytes(16)))),
    "array with 255 axes": (CorruptModelFile, raw_file(b"\x0b", (2, F8, 255, bytes(8 * 255)))),
    "array with nine axes": (CorruptModelFile, raw_file(b"\x0b", array(F8, (1,) * 9, bytes(8)))),
    "array shape too large": (CorruptModelFile, raw_file(b"\x0b", array(F8, (2,), bytes(8)))),
    "array shape too small": (CorruptModelFile, raw_file(b"\x0b", array(F8, (1,), bytes(16)))),
    "array of odd length": (CorruptModelFile, raw_file(b"\x0b", array(F8, (1,), bytes(9)))),
    "shape whose product wraps to 1": (
        CorruptModelFile,
        raw_file(b"\x0b", array(F8, (2**32 + 1, 2**64 - 2**32 + 1), bytes(8))),
    ),
    "shape whose product wraps to 0": (CorruptModelFile, raw_file(b"\x0b", array(F8, (2**32, 2**32), b""))),
    "shape of 2**64 - 1": (CorruptModelFile, raw_file(b"\x0b", array(F8, (2**64 - 1,), bytes(8)))),
    "empty and yet huge": (CorruptModelFile, raw_file(b"\x0b", array(F8, (0, 2**62), b""))),
    "truth value of 2": (CorruptModelFile, raw_file(b"\x0b", array(BOOL, (2,), b"\x01\x02"))),
}


def test_long_integers_chosen_to_be_slow_in_a_set_are_refused() -> None:
    prime = sys.hash_info.modulus
    data = encode([prime * i for i in range(5, 5_005)])
    with bounds(len(data)), pytest.raises(CorruptModelFile, match="equal hashes"):
        decode(data)
    honest = [2**80 + i for i in range(1000)] + [2**90] * 1000
    assert decode(encode(honest)) == honest


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_file_is_refused_quickly_and_in_little_memory(name: str) -> None:
    error, data = CRAFTED[name]
    with bounds(len(data)), pytest.raises(error):
        decode(data)


def test_the_raw_files_are_right_where_nothing_is_made_wrong() -> None:
    assert raw_file(NONE) == encode(None)
    numbers = np.array([1.0, 2.0])
    assert raw_file(b"\x0b", array(F8, (2,), numbers.tobytes())) == encode(numbers)
    assert raw_file(b"\x0a" + u32(1) + text("k") + b"\x0b", array(U4, (), b"\x07\0\0\0")) == encode(
        {"k": np.array(7, np.uint32)}
    )


def test_the_file_spelled_out_in_the_documentation_is_what_is_written() -> None:
    page = (Path(__file__).parents[2] / "docs" / "model-file.md").read_text()
    listing = page.split("## A file by hand")[1].split("##")[0]
    spelled = re.findall(r"^ +\d+  ((?:[0-9a-f]{2} )*[0-9a-f]{2})(?:  |$)", listing, flags=re.MULTILINE)
    assert bytes.fromhex("".join(spelled)) == encode({"x": np.array([1.5])})


@pytest.mark.parametrize(
    "item", [NONE, b"\x08" + u32(0), b"\x0a" + u32(0), b"\x0c" + text("t") + NONE, b"\x06" + text("é")]
)
def test_a_file_of_many_tiny_items_takes_a_small_multiple_of_its_size(item: bytes) -> None:
    n = 5_000
    data = raw_file(b"\x08" + u32(n) + item * n)
    with bounds(len(data)):
        assert len(decode(data)) == n


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_garbage_behind_a_right_checksum_is_refused_or_canonical(document: bytes) -> None:
    data = raw_file(document)
    try:
        value = decode(data)
    except ModelFileError:
        return
    assert encode(value) == data
