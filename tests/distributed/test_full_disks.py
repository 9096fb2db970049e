"""Workers whose memory and disk have no room for the codes of their blocks."""

import os
import sys
import time

import pytest

import spinney as sp
from dask_tables import CUTS, cut
from dask_workers import cluster_of
from spinney.io import dumps

pytest.importorskip("distributed")

from spinney.distributed import ClusterError, DaskGradientBoostingRegressor, worker

PARAMS = {"n_estimators": 1, "n_members": 1, "early_stopping": False, "max_leaf_nodes": 4, "random_state": 1}


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="resource limits are POSIX")
def test_codes_go_to_disk_unless_it_is_full(table):
    """One worker may write files of a few bytes only."""

    def fill_memory():
        from spinney.distributed import worker

        worker._CACHE_SHARE = 1e-9

    def fill_disk():
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    X, y, _ = table
    expected = dumps(sp.GradientBoostingRegressor(**PARAMS).fit(X, y))
    with cluster_of(2) as workers:
        client = workers.client
        model = DaskGradientBoostingRegressor(**PARAMS, client=client)
        client.run(fill_memory)
        assert dumps(model.fit(cut(X, CUTS[1]), y).to_local()) == expected
        full = next(iter(client.nthreads()))
        client.run(fill_disk, workers=[full])
        began = time.monotonic()
        with pytest.raises(ClusterError, match=f"Worker {full} has no room.*File too large"):
            model.fit(cut(X, CUTS[1]), y)
        assert time.monotonic() - began < 30
        os.kill(client.run(os.getpid)[full], 9)
        assert dumps(model.fit(cut(X, CUTS[1]), y).to_local()) == expected


def test_blocks_of_clients_that_are_gone_are_dropped(client, table, monkeypatch):
    X, y, _ = table
    left = worker.CachedBlock(X.to_numpy()[:0])
    monkeypatch.setitem(worker._cache, ("left", 0), left)
    model = DaskGradientBoostingRegressor(**PARAMS, client=client)
    model.fit(cut(X, CUTS[1]), y)
    assert ("left", 0) in worker._cache
    left.used_at -= worker._IDLE_SECONDS
    model.fit(cut(X, CUTS[1]), y)
    assert ("left", 0) not in worker._cache
