"""Drawn tables of predictions: few rows, so that members that never vary or always agree come up too."""

import numpy as np
from hypothesis import strategies as st

LABELS = {"numbers": [3, 1, 2], "texts": ["pear", "fig", "apple"], "flags": [True, False]}


@st.composite
def problems(draw, max_classes=3, min_members=1, weighted=True):
    """Predictions (n_rows, n_members), y, and weights or None: counts, or any positive numbers."""
    labels = LABELS[draw(st.sampled_from(sorted(LABELS)))][:max_classes]
    n_rows, n_members = draw(st.integers(1, 9)), draw(st.integers(min_members, 5))
    answer = st.sampled_from(labels)
    rows = [[draw(answer) for _ in range(n_members)] for _ in range(n_rows)]
    y = [draw(answer) for _ in range(n_rows)]
    if not weighted or draw(st.booleans()):
        return rows, y, None
    number = draw(st.sampled_from([st.integers(0, 4), st.floats(0.01, 9.0)]))
    weights = [draw(number) for _ in range(n_rows)]
    return rows, y, weights if sum(weights) > 0 else None


def random_votes(n_rows, n_members, n_classes, seed=0, accuracy=0.7):
    """Predictions of members that are right by chance, and y."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, n_classes, n_rows)
    right = draw.random((n_rows, n_members)) < accuracy
    return np.where(right, y[:, None], draw.integers(0, n_classes, (n_rows, n_members))), y
