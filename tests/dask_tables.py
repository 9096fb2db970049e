"""Tables cut into the partitions of Dask collections."""

from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd

from spinney.core.arrays import CHUNK_ROWS

N_ROWS = 4 * CHUNK_ROWS + 1500
CUTS = [[], [100, 0, 20_000, 1, 30_000], [CHUNK_ROWS] * 4, [9_000] * 7]
"""Sizes of partitions before the last: one, with an empty one, chunks, and others."""


@cache
def make_table():
    """Return features with categories and missing values, target values and weights."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(N_ROWS, 3)), columns=list("abc"))
    X.loc[rng.random(N_ROWS) < 0.1, "b"] = np.nan
    X["color"] = rng.choice(["red", "green", "blue", "grey"], N_ROWS)
    X.loc[rng.random(N_ROWS) < 0.05, "color"] = None
    y = X["a"] * X["c"] + (X["color"] == "red") + rng.normal(size=N_ROWS)
    weights = rng.random(N_ROWS) * (rng.random(N_ROWS) > 0.05)
    return X, y.to_numpy(), weights


def cut(values, sizes):
    """Return a table or an array as a Dask collection with partitions of these sizes, and the rest."""
    import dask.array as da

    ends = [0, *np.cumsum(sizes).astype(int).tolist(), len(values)]
    parts = [values[a:b] for a, b in pairwise(ends)]
    if isinstance(values, np.ndarray):
        return da.concatenate([da.from_array(part, chunks=part.shape) for part in parts if len(part)])
    return join(parts)


def join(parts):
    """Return data frames as the partitions of one Dask DataFrame; their types may differ."""
    import dask.dataframe as dd

    return dd.from_map(lambda part: part, parts, meta=parts[0].iloc[:0], enforce_metadata=False)


def targets(y, kind):
    """Return values, or classes made of them."""
    return y if kind == "value" else np.digitize(y, [0.5] if kind == "binary" else [-0.3, 0.8])
