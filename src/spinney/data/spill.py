"""Fits on datasets larger than memory: large arrays that a fit makes are temporary files meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import numpy as np

from spinney.native import core

_CORE = "numpy._core" if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else "numpy.core"


@contextmanager
def arrays_in_files(threshold: int) -> Iterator[None]:
    """Put NumPy arrays that this thread makes, and arrays of trees, into temporary files if they are large.

    The files have no names. The operating system keeps in memory what it has room for, and writes the rest
    to the directory of ``$TMPDIR`` or to ``/tmp``. An array stays in its file until it is freed.

    Parameters
    ----------
    threshold : int
        Size in bytes from which on an array is in a file.

    Yields
    ------
    None
        Arrays made within the ``with`` block are affected.

    Examples
    --------
    >>> with arrays_in_files(1 << 20):
    ...     small, large = np.zeros(10), np.zeros(1 << 20)
    >>> core.is_spilled(small), core.is_spilled(large)
    (False, True)
    """
    if os.name == "nt":  # temporary files are not mapped there
        yield
        return
    api = vars(import_module(f"{_CORE}._multiarray_umath"))["_ARRAY_API"]
    earlier = core.set_spill_threshold(threshold)
    handler = core.set_array_handler(api, core.spilling_handler())
    try:
        yield
    finally:
        core.set_array_handler(api, handler)
        core.set_spill_threshold(earlier)
