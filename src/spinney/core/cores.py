"""How many cores the container of this process, or its user, allows it."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from pathlib import Path

_UNLIMITED = 1 << 15
_WINDOWS_LIMIT = 61  # of joblib's workers
_CGROUP = Path("/sys/fs/cgroup")


def core_limit() -> int:
    """Return the number of cores by the quota of the container and LOKY_MAX_CPU_COUNT, as joblib counts them.

    joblib itself is not imported, so that predictions need NumPy alone.

    Returns
    -------
    int
        The number of cores; a large one if there is no limit.

    Examples
    --------
    >>> core_limit() >= 1
    True
    """
    limits = [_UNLIMITED if sys.platform != "win32" else _WINDOWS_LIMIT]
    with contextlib.suppress(OSError, ValueError):  # no quota
        quota, period = _read_quota()
        if quota > 0 and period > 0:
            limits.append(math.ceil(quota / period))
    with contextlib.suppress(KeyError, ValueError):
        limits.append(int(os.environ["LOKY_MAX_CPU_COUNT"]))
    return max(1, min(limits))


def _read_quota() -> tuple[int, int]:
    """Return the microseconds of processor time per period of microseconds; OSError or ValueError if none."""
    current = _CGROUP / "cpu.max"
    if current.exists():  # cgroup 2
        quota, period = current.read_text().split()
        return int(quota), int(period)
    quota, period = ((_CGROUP / "cpu" / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
    return int(quota), int(period)
