"""Small sets of points in the plane that show what a single split cannot do."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from spinney.core.errors import InputError, show_value
from spinney.datasets.output import Frame, hand_over


def load_xor(frame: Frame = "auto") -> tuple[Any, Any]:
    """Load the four points (1, 0), (-1, 0) of class 1 and (0, 1), (0, -1) of class -1.

    ``frame`` is "pandas", "polars", None for numpy arrays, or "auto" for whichever library is installed.

    >>> X, y = load_xor(frame=None)
    >>> y.tolist()
    [1, 1, -1, -1]
    """
    return hand_over({"x1": [1.0, -1.0, 0.0, 0.0], "x2": [0.0, 0.0, 1.0, -1.0]}, "y", [1, 1, -1, -1], frame)


def make_box(n: int = 150, random_state: Any = 0, frame: Frame = "auto") -> tuple[Any, Any]:
    """Draw ``n`` points of the unit square: class 1 where both coordinates are below 0.6, else -1.

    ``random_state`` is a seed or a numpy generator; ``frame`` is as in load_xor.

    >>> X, y = make_box(n=20, frame=None)
    >>> X.shape, sorted(set(y.tolist()))
    ((20, 2), [-1, 1])
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InputError(f"n must be a whole number of at least 1, not {show_value(n)}")
    if isinstance(random_state, np.random.Generator):
        points = random_state.uniform(size=(n, 2))
    else:
        points = check_random_state(random_state).uniform(size=(n, 2))
    inside = (points < 0.6).all(axis=1)
    return hand_over({"x1": points[:, 0], "x2": points[:, 1]}, "y", np.where(inside, 1, -1), frame)
