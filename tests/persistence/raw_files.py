"""Write model files by hand, right in every part but the one that a test makes wrong."""

import struct
from hashlib import blake2b
from typing import Any

# Written out again from docs/model-file.md rather than imported, so that a change of the format shows here.
MAGIC = b"\x93SPN\r\n\x1a\n"


def repaired(data: bytes) -> bytes:
    """Return a file the checksum of its present content."""
    digest = blake2b(data[:24] + data[40:], digest_size=16).digest()
    return data[:24] + digest + data[40:]


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def raw_file(document: bytes, *arrays: tuple[int, int, int, bytes], **wrong: Any) -> bytes:
    """Lay out a file; arrays are (kind, type, axes, section); `wrong` replaces fields."""
    sections = [(1, 0, 0, document), *arrays]
    lengths = wrong.get("lengths", [len(section) for *_, section in sections])
    reserved = wrong.get("reserved", bytes(5))
    table = b"".join(
        struct.pack("<BBB5sQ", kind, code, axes, reserved, length)
        for (kind, code, axes, _), length in zip(sections, lengths, strict=True)
    )
    body = b"".join(padded(section) for *_, section in sections) + wrong.get("tail", b"")
    length = wrong.get("length", 40 + len(table) + len(body))
    n_sections = wrong.get("n_sections", len(sections))
    start = struct.pack("<8sHHIQ", MAGIC, wrong.get("version", 2), wrong.get("flags", 0), n_sections, length)
    return repaired(start + bytes(16) + table + body)


def u32(n: int) -> bytes:
    return struct.pack("<I", n)


def text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return u32(len(raw)) + raw


def array(code: int, shape: tuple[int, ...], data: bytes, kind: int = 2) -> tuple[int, int, int, bytes]:
    return kind, code, len(shape), struct.pack(f"<{len(shape)}Q", *shape) + data
