"""The compiled core: one module a level of vector instructions, the best one this processor runs imported here."""

import os
from importlib import import_module
from types import ModuleType

LEVELS = ("baseline", "avx2", "avx512")


def _load() -> tuple[str, ModuleType]:
    baseline = import_module("spinney.native._core_baseline")
    wanted = os.environ.get("SPINNEY_VECTOR", baseline.best_level())
    if wanted not in LEVELS:
        raise ImportError(f"SPINNEY_VECTOR is {wanted!r}; it takes one of {', '.join(LEVELS)}.")
    if LEVELS.index(wanted) > LEVELS.index(baseline.best_level()):
        raise ImportError(f"SPINNEY_VECTOR is {wanted!r}, but this processor runs {baseline.best_level()!r} at most.")
    if wanted == "baseline":
        return wanted, baseline
    return wanted, import_module(f"spinney.native._core_{wanted}")


level, core = _load()
"""The level in use, and its module."""
