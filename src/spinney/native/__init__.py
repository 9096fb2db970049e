"""The compiled core: one module per vector level, of which the best that runs here is imported."""

import os
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from spinney.native._cpu import best_level

LEVELS = ("baseline", "avx2", "avx512")


def _load() -> tuple[str, ModuleType]:
    best = best_level()
    usable = LEVELS[: LEVELS.index(best) + 1]
    wanted = os.environ.get("SPINNEY_VECTOR")
    if wanted is None:
        # A developer's build holds only the level of the processor it was made on.
        built = [level for level in usable if find_spec(f"spinney.native._core_{level}")]
        if not built:
            raise ImportError(f"No compiled core for {best!r} or below: build the package on this machine.")
        wanted = built[-1]
    elif wanted not in LEVELS:
        raise ImportError(f"SPINNEY_VECTOR is {wanted!r}; it takes one of {', '.join(LEVELS)}.")
    elif wanted not in usable:
        raise ImportError(f"SPINNEY_VECTOR is {wanted!r}, but this processor runs {best!r} at most.")
    return wanted, import_module(f"spinney.native._core_{wanted}")


level, core = _load()
"""The level in use, and its module."""
