"""Random streams derived from one seed, and the seeds of many members at once."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


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


# ---- many seeds at once ----
#
# Making a generator takes longer than growing a small tree. NumPy guarantees how it hashes seeds, so the same
# arithmetic is done here for many seeds at once.

_WORD = 0xFFFFFFFF
_PCG_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645


def draw_seeds(random_states: ArrayLike) -> NDArray[np.uint64]:
    """Return the seed by `draw_seed` of each integer.  (n,) -> (n,)

    >>> from spinney.core.parameters import draw_seed
    >>> int(draw_seeds([7])[0]) == draw_seed(7)
    True
    """
    (seeds,) = _seed_states(_entropy(np.asarray(random_states, np.uint64)), 1)
    return seeds


def draw_words(seeds: ArrayLike, purposes: ArrayLike) -> NDArray[np.uint64]:
    """Return `draw_word` of each seed and purpose below 2³²; the two are broadcast.

    >>> int(draw_words(1, [0])[0]) == draw_word(1, 0)
    True
    """
    seeds, purposes = np.broadcast_arrays(np.asarray(seeds, np.uint64), np.asarray(purposes, np.uint32))
    # Python integers, because NumPy has none of 128 bits.
    states = _seed_states(_entropy(seeds, purposes), 4)
    begin_high, begin_low, step_high, step_low = (state.astype(object) for state in states)
    step = (step_high << 65 | step_low << 1 | 1) & (1 << 128) - 1
    state = step + (begin_high << 64 | begin_low)
    for _ in range(2):  # once to begin, once for the number
        state = (state * _PCG_MULTIPLIER + step) & (1 << 128) - 1
    folded = (state >> 64 ^ state) & (1 << 64) - 1
    turn = state >> 122
    return np.asarray((folded >> turn | folded << 64 - turn) & (1 << 64) - 1, np.uint64)


def _entropy(seeds: NDArray[np.uint64], *more: NDArray[np.uint32]) -> list[NDArray[np.uint32]]:
    """Return the four 32-bit words that NumPy makes of a seed and purposes; a seed below 2³² is one word."""
    low, high = (seeds & np.uint64(_WORD)).astype(np.uint32), (seeds >> np.uint64(32)).astype(np.uint32)
    none = np.zeros_like(low)
    of_two, of_one = [low, high, *more, none, none][:4], [low, *more, none, none, none][:4]
    return [np.where(high > 0, two, one) for two, one in zip(of_two, of_one, strict=True)]


def _seed_states(entropy: list[NDArray[np.uint32]], n_numbers: int) -> list[NDArray[np.uint64]]:
    """Compute `numpy.random.SeedSequence.generate_state` for many seeds: n_numbers 64-bit numbers each."""

    def mixer(constant: int, multiplier: int) -> Any:
        def mix(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
            nonlocal constant
            words = words ^ np.uint32(constant)
            constant = constant * multiplier & _WORD
            words = words * np.uint32(constant)
            return words ^ words >> np.uint32(16)

        return mix

    mix = mixer(0x43B0D7E5, 0x931E8875)
    pool = [mix(words) for words in entropy]
    for i, j in permutations(range(4), 2):
        both = np.uint32(0xCA01F9DD) * pool[j] - np.uint32(0x4973F715) * mix(pool[i])
        pool[j] = both ^ both >> np.uint32(16)
    mix = mixer(0x8B51F9DD, 0x58F38DED)
    state = [mix(pool[i % 4]).astype(np.uint64) for i in range(2 * n_numbers)]
    return [low | high << np.uint64(32) for low, high in zip(state[::2], state[1::2], strict=True)]
