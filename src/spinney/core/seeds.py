"""Random streams derived from one seed, and the seeds of many members at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.native import core


def stream(seed: int, purpose: int) -> np.random.Generator:
    """Return a generator for one purpose; its draws do not depend on those for other purposes.

    >>> bool(stream(1, 0).random() == stream(1, 0).random())
    True
    """
    return np.random.default_rng([seed, purpose])


def draw_word(seed: int, purpose: int) -> int:
    """Return the first 64 bits of the stream for a purpose: a seed derived from a seed.

    >>> draw_word(1, 0) == int(stream(1, 0).integers(2**64, dtype=np.uint64))
    True
    """
    return int(np.random.PCG64([seed, purpose]).random_raw())


# ---- many seeds at once: making a NumPy generator takes longer than growing a small tree ----


def draw_seeds(random_states: ArrayLike) -> NDArray[np.uint64]:
    """Return the seed by `draw_seed` of each integer.  (n,) -> (n,)

    >>> from spinney.core.parameters import draw_seed
    >>> int(draw_seeds([7])[0]) == draw_seed(7)
    True
    """
    return core.draw_seeds(np.asarray(random_states, np.uint64))


def draw_words(seeds: ArrayLike, purposes: ArrayLike) -> NDArray[np.uint64]:
    """Return `draw_word` of each seed and purpose below 2³²; the two are broadcast.

    >>> int(draw_words(1, [0])[0]) == draw_word(1, 0)
    True
    """
    seeds, purposes = np.broadcast_arrays(np.asarray(seeds, np.uint64), np.asarray(purposes, np.uint32))
    return core.draw_words(np.ascontiguousarray(seeds), np.ascontiguousarray(purposes))
