"""How much memory a table may take, and streams that refuse to deliver more."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any, BinaryIO

from spinney.cli.failures import FileError
from spinney.cli.text_values import show_bytes

_SHARE_OF_TEXT = 4
"""Memory that reading one byte of text takes: its column as text, as numbers, and room to fit a model."""
_UNKNOWN = 4 * 10**9


def available_memory() -> int:
    """Return the bytes that this process may still take, by the system and by its container.

    >>> available_memory() > 0
    True
    """
    found = []
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        found.append(int(text.split("MemAvailable:")[1].split()[0]) * 1024)
    except (OSError, IndexError, ValueError):
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    try:
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        found.append(max(limit - int((group / "memory.current").read_text(encoding="ascii")), 0))
    except (OSError, ValueError):
        pass  # no container, or one without a limit
    return min(found, default=_UNKNOWN)


def check_size(what: str, n_bytes: int, limit: int) -> None:
    """Raise FileError if reading so many bytes would take more memory than the limit.

    >>> check_size("data.csv", 1000, 10**6)
    """
    needed = n_bytes * _SHARE_OF_TEXT
    if needed > limit:
        raise FileError(
            f"{what} has {show_bytes(n_bytes)}; reading it takes about {show_bytes(needed)} of memory, and "
            f"{show_bytes(limit)} may be used",
            fix="Read a part of it by --rows 1000000, leave columns out of the file, or raise --max-memory; "
            "in Python, spinney.data.BinnedDataset reads it in blocks and boosting learns from all rows.",
        )


class MeteredStream(io.RawIOBase):
    """A stream that counts what is read from another, and raises FileError beyond a limit."""

    def __init__(self, stream: BinaryIO, what: str, limit: int | None) -> None:
        self._stream, self._what, self._limit = stream, what, limit
        self.n_read = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer and return the number of bytes."""
        part = self._stream.read(len(buffer))
        self.n_read += len(part)
        if self._limit is not None:
            check_size(f"{self._what} (as far as it was read)", self.n_read, self._limit)
        buffer[: len(part)] = part
        return len(part)
