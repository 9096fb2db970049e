"""Workers that are killed at any moment: the fit ends with the same bytes, or with an error, never hangs."""

import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import spinney as sp
from dask_tables import CUTS, cut
from dask_workers import at_task, cluster_of
from spinney.io import dumps

pytest.importorskip("distributed")

from spinney.distributed import ClusterError, DaskGradientBoostingClassifier, worker
from spinney.distributed import cluster as cluster_module
from spinney.distributed.cluster import LOST, Cluster

PARAMS = {
    "n_estimators": 2,
    "n_members": 1,
    "early_stopping": False,
    "refit": False,
    "growth": "leaf-wise",
    "max_leaf_nodes": 4,
    "sampling": "mvs",
    "subsample": 0.6,
    "random_state": 1,
}


@pytest.fixture(scope="module")
def expected(table):
    X, y, _ = table
    return dumps(sp.GradientBoostingClassifier(**PARAMS).fit(X, np.digitize(y, [-0.3, 0.8])))


def fit(client, table, sizes=CUTS[1], callbacks=None):
    X, y, _ = table
    model = DaskGradientBoostingClassifier(**PARAMS, client=client)
    return model.fit(cut(X, sizes), np.digitize(y, [-0.3, 0.8]), callbacks=callbacks)


def drop_blocks(every=1):
    """Make the workers of this process forget their blocks, or every second one."""
    for key in list(worker._cache)[::every]:
        worker._cache.pop(key, None)


@pytest.mark.parametrize(("moment", "every"), [(20, 2), (33, 1)])
def test_blocks_that_workers_have_lost(client, table, expected, moment, every):
    with at_task(Cluster, moment, lambda: drop_blocks(every)) as count:
        model = fit(client, table)
    assert count[0] > moment
    assert model.traffic_.n_restored > 0
    assert dumps(model.to_local()) == expected


@pytest.mark.long
@pytest.mark.timeout(600)
def test_killed_workers(table, expected, monkeypatch):
    """One of two workers is killed while a histogram is built; then the other one, too."""
    with cluster_of(2) as workers:
        with at_task(Cluster, 30, lambda: workers.kill(1)):
            model = fit(workers.client, table)
        assert dumps(model.to_local()) == expected
        assert model.traffic_.n_restored > 0
        monkeypatch.setattr(cluster_module, "NO_WORKER_SECONDS", 1.0)
        with (
            at_task(Cluster, 30, lambda: workers.kill(1)),
            pytest.raises(ClusterError, match="no worker for 1 seconds"),
        ):
            fit(workers.client, table)


@pytest.mark.long
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("n_killed", [1, 2])
def test_fifty_random_moments(table, expected, n_killed):
    rng = np.random.default_rng(n_killed)
    with cluster_of(3) as workers:
        with at_task(Cluster, -1, lambda: None) as count:
            fit(workers.client, table)
        for _ in range(50):
            workers.start(3 - len(workers.processes))
            moment, delay = rng.integers(1, count[0] + 1), rng.uniform(0, 0.05)
            sizes = CUTS[rng.integers(len(CUTS))]
            with at_task(Cluster, moment, lambda: workers.kill(n_killed), delay):
                model = fit(workers.client, table, sizes)
            assert dumps(model.to_local()) == expected, f"killed at task {moment} of {count[0]}"


@pytest.mark.long
def test_workers_with_nannies_are_started_again(table, expected):
    from distributed import Client, LocalCluster

    def kill_one():
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**settings) as local, Client(local) as client:
        for moment in (2, 8, 20, 45):
            X, y, _ = table
            model = DaskGradientBoostingClassifier(**PARAMS, client=client)
            with at_task(Cluster, moment, kill_one):
                model.fit(cut(X, CUTS[3]), np.digitize(y, [-0.3, 0.8]))
            assert dumps(model.to_local()) == expected


@pytest.mark.long
def test_a_slow_worker_and_one_that_joins(table, expected):
    with cluster_of(2) as workers:
        slow, stop = workers.processes[0].pid, threading.Event()

        def stutter():
            while not stop.is_set():
                os.kill(slow, signal.SIGSTOP)
                time.sleep(0.2)
                os.kill(slow, signal.SIGCONT)
                time.sleep(0.05)

        thread = threading.Thread(target=stutter)
        thread.start()
        try:
            joined = fit(workers.client, table, callbacks=lambda round: workers.start(1) and False)
        finally:
            stop.set()
            thread.join()
        assert dumps(joined.to_local()) == expected


@pytest.mark.long
def test_a_killed_client_is_resumed(table, expected, tmp_path):
    """The process of the client is killed after the first round; another one goes on from its checkpoint."""
    X, y, _ = table
    X.to_pickle(tmp_path / "X")
    np.save(tmp_path / "y.npy", np.digitize(y, [-0.3, 0.8]))
    path = tmp_path / "run.spinney"
    script = f"""
        import os, signal
        import numpy as np, pandas as pd
        from distributed import Client
        from dask_tables import CUTS, cut
        from spinney.distributed import DaskGradientBoostingClassifier
        from spinney.gradient_boosting.callbacks import Checkpoint

        def die(round):
            os.kill(os.getpid(), signal.SIGKILL)

        if __name__ == "__main__":
            X, y = pd.read_pickle({str(tmp_path / "X")!r}), np.load({str(tmp_path / "y.npy")!r})
            client = Client("ADDRESS")
            model = DaskGradientBoostingClassifier(**{PARAMS!r}, client=client)
            model.fit(cut(X, CUTS[1]), y, callbacks=[Checkpoint({str(path)!r}, every=1), die])
    """
    with cluster_of(2) as workers:
        text = textwrap.dedent(script).replace("ADDRESS", workers.client.scheduler.address)
        environment = {**os.environ, "PYTHONPATH": "tests"}
        done = subprocess.run([sys.executable, "-c", text], env=environment, check=False)
        assert done.returncode == -9
        client = workers.client
        target = np.digitize(y, [-0.3, 0.8])
        resumed = DaskGradientBoostingClassifier.resume(path, cut(X, CUTS[3]), target, client=client)
    assert dumps(resumed.to_local()) == expected


RELEASED = threading.Event()


def wait_until_released():
    return RELEASED.wait(5)


def test_tasks_that_stall_after_a_worker_left_count_as_lost(client, monkeypatch):
    """A scheduler may wait for a worker that is gone; the task is pure and can be submitted again."""
    cluster = Cluster(client)
    seen = itertools.chain([{"first": 1, "second": 1}], itertools.repeat({"second": 1}))
    monkeypatch.setattr(cluster, "_look", lambda: next(seen))
    monkeypatch.setattr(cluster_module, "_POLL_SECONDS", 0.05)
    monkeypatch.setattr(cluster_module, "_STALLED_SECONDS", 0.1)
    try:
        stalled = cluster.submit(next(iter(client.nthreads())), wait_until_released)
        assert cluster.collect([stalled]) == [LOST]
    finally:
        RELEASED.set()
