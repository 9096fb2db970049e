"""How much memory this process may use."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup/memory.max")
_UNKNOWN = 1 << 33


def memory_limit() -> int:
    """Return the bytes that this process may use: memory of the machine, of its cgroup, and its own limits.

    Returns
    -------
    int
        The least of these.

    Examples
    --------
    >>> memory_limit() > 0
    True
    """
    limits = [_UNKNOWN]
    if hasattr(os, "sysconf"):
        limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with contextlib.suppress(OSError, ValueError):  # no cgroup, or no limit
        limits.append(int(_CGROUP.read_text()))
    try:
        import resource
    except ImportError:  # Windows
        return min(limits)
    own = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    return min([*limits, *(limit for limit in own if limit > 0)])
