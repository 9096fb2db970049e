"""Seeds: from what a user gives as ``random_state`` to the one number that every draw is derived from."""

from __future__ import annotations

from typing import Any

import numpy as np

from spinney.base.errors import InputError, show_value


def draw_seed(random_state: Any) -> int:
    """Give a 64-bit seed: always the same for an integer, the next draw of a generator, else one of NumPy's.

    None takes it from NumPy's global generator, so that ``numpy.random.seed`` reaches Spinney as it reaches
    scikit-learn.

    >>> draw_seed(7) == draw_seed(7)
    True
    """
    if random_state is None or random_state is np.random:
        random_state = np.random.mtrand._rand
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**64, dtype=np.uint64))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**64, dtype=np.uint64))
    whole = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if not whole or not 0 <= random_state < 2**64:
        raise InputError(
            f"random_state is {show_value(random_state)}; it takes None, a whole number from 0 to 2**64 - 1, "
            "a numpy RandomState or a numpy Generator."
        )
    # Neighbouring numbers are hashed apart: 1 and 2 are to be as different as any two seeds.
    return int(np.random.SeedSequence(int(random_state)).generate_state(1, np.uint64)[0])


def stream(seed: int, purpose: int) -> np.random.Generator:
    """Give a generator for one purpose, whose draws do not depend on those made for another.

    >>> bool(stream(1, 0).random() == stream(1, 0).random())
    True
    """
    return np.random.default_rng([seed, purpose])


def draw_word(seed: int, purpose: int) -> int:
    """Give the first 64 bits of the stream for a purpose: a seed made of a seed.

    >>> draw_word(1, 0) == int(stream(1, 0).integers(2**64, dtype=np.uint64))
    True
    """
    return int(np.random.PCG64([seed, purpose]).random_raw())
