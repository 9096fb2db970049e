"""The compiled core: one module a level of vector instructions, the best that runs here imported."""

import os
from importlib import import_module
from types import ModuleType

from spinney.native._cpu import best_level

LEVELS = ("baseline", "avx2", "avx512")


def _load() -> tuple[str, ModuleType]:
    best = best_level()
    wanted = os.environ.get("SPINNEY_VECTOR", best)
    if wanted not in LEVELS:
        raise ImportError(f"SPINNEY_VECTOR is {wanted!r}; it takes one of {', '.join(LEVELS)}.")
    if LEVELS.index(wanted) > LEVELS.index(best):
        raise ImportError(f"SPINNEY_VECTOR is {wanted!r}, but this processor runs {best!r} at most.")
    return wanted, import_module(f"spinney.native._core_{wanted}")


level, core = _load()
"""The level in use, and its module."""
