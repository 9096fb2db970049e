"""A cluster of threads, and a table of numbers, categories and missing values over several chunks."""

import numpy as np
import pandas as pd
import pytest

from dask_tables import N_ROWS


@pytest.fixture(scope="session")
def client():
    """Return a client of two workers in threads of this process."""
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="session")
def table():
    """Return features, target values and weights."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(N_ROWS, 3)), columns=list("abc"))
    X.loc[rng.random(N_ROWS) < 0.1, "b"] = np.nan
    X["color"] = rng.choice(["red", "green", "blue", "grey"], N_ROWS)
    X.loc[rng.random(N_ROWS) < 0.05, "color"] = None
    y = X["a"] * X["c"] + (X["color"] == "red") + rng.normal(size=N_ROWS)
    weights = rng.random(N_ROWS) * (rng.random(N_ROWS) > 0.05)
    return X, y.to_numpy(), weights
