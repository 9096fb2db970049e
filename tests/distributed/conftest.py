"""A cluster of threads, and a table of numbers, categories and missing values over several chunks."""

import pytest

from dask_tables import make_table


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
    return make_table()
