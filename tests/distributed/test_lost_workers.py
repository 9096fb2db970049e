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
from spinney.distributed import rows as rows_module
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
def test_killed_workers(table, expected):
    """One of two workers is killed while a histogram is built; then the other one, too."""
    killed = []
    with cluster_of(2) as workers:
        with at_task(Cluster, 30, lambda: workers.kill(1)):
            model = fit(workers.client, table)
        assert dumps(model.to_local()) == expected
        assert model.traffic_.n_restored > 0
        with (
            at_task(Cluster, 30, lambda: killed.append(time.monotonic()) or workers.kill(1)),
            pytest.raises(ClusterError, match="no worker for 20 seconds"),
        ):
            fit(workers.client, table)
        assert time.monotonic() - killed[0] < 30


def kill_at_random(client, table, expected, n_moments, rng, kill, prepare=lambda: None):
    """Fit until workers were killed at so many moments, and compare the models."""
    done = 0
    with at_task(Cluster, -1, lambda: None) as count:
        fit(client, table)
    n_tasks = count * len(CUTS)  # other partitions may need fewer
    while done < n_moments:
        prepare()
        i = rng.integers(len(CUTS))
        moment, delay = rng.integers(1, n_tasks[i] + 1), rng.uniform(0, 0.1)
        with at_task(Cluster, moment, kill, delay) as reached:
            model = fit(client, table, CUTS[i])
        if reached[0] < moment:
            n_tasks[i] = reached[0]
        assert dumps(model.to_local()) == expected, f"killed at task {moment} of {reached[0]}"
        done += reached[0] >= moment
        print(f"killed at moment {done}: task {moment} of {reached[0]}", flush=True)


@pytest.mark.long
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("fan_in", [4, 2])
@pytest.mark.parametrize(("n_killed", "n_moments"), [(1, 20), (2, 15)])
def test_random_moments(table, expected, monkeypatch, n_killed, n_moments, fan_in):
    """Killed while partitions are read, histograms built or added (by tasks above `fan_in`), or between."""
    monkeypatch.setattr(rows_module, "FAN_IN", fan_in)
    rng = np.random.default_rng([n_killed, fan_in])
    with cluster_of(3) as workers:

        def kill():
            workers.kill(n_killed)

        def prepare():
            workers.start(3 - len(workers.pids))

        kill_at_random(workers.client, table, expected, n_moments, rng, kill, prepare)


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_random_moments_of_workers_with_nannies(table, expected):
    """Nannies start workers again, with none of their blocks."""
    from distributed import Client, LocalCluster

    rng = np.random.default_rng(0)
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**settings) as local, Client(local) as client:

        def kill():
            pids = list(client.run(os.getpid, on_error="ignore").values())
            if pids:
                os.kill(pids[rng.integers(len(pids))], signal.SIGKILL)

        def prepare():
            try:
                client.wait_for_workers(2, timeout=60)
            except TimeoutError:  # a nanny gives up a worker that is killed while it starts
                local.scale(0)
                local.scale(2)
                client.wait_for_workers(2, timeout=120)

        kill_at_random(client, table, expected, 20, rng, kill, prepare)


@pytest.mark.long
def test_a_slow_worker_and_one_that_joins(table, expected):
    with cluster_of(2) as workers:
        slow, stop = workers.pids[0], threading.Event()

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


CLIENT = """
    import os, signal, sys
    import numpy as np, pandas as pd
    from distributed import Client
    from dask_tables import CUTS, cut
    from dask_workers import at_task
    from spinney.distributed import DaskGradientBoostingClassifier
    from spinney.distributed.cluster import Cluster
    from spinney.gradient_boosting.callbacks import Checkpoint

    if __name__ == "__main__":
        folder, address, moment, delay = sys.argv[1:]
        X, y = pd.read_pickle(folder + "/X"), np.load(folder + "/y.npy")
        model = DaskGradientBoostingClassifier(**PARAMS, client=Client(address))
        with at_task(Cluster, int(moment), lambda: os.kill(os.getpid(), signal.SIGKILL), float(delay)):
            model.fit(cut(X, CUTS[1]), y, callbacks=[Checkpoint(folder + "/run.spinney", every=1)])
"""


@pytest.mark.long
@pytest.mark.timeout(900)
def test_random_moments_of_a_killed_client(table, expected, tmp_path):
    """The process of the client is killed; another one goes on from its checkpoint, if it has written one."""
    X, y, _ = table
    target = np.digitize(y, [-0.3, 0.8])
    X.to_pickle(tmp_path / "X")
    np.save(tmp_path / "y.npy", target)
    path, rng, n_resumed = tmp_path / "run.spinney", np.random.default_rng(0), 0
    script = textwrap.dedent(CLIENT).replace("PARAMS", repr(PARAMS))
    with cluster_of(2) as workers:
        client = workers.client
        with at_task(Cluster, -1, lambda: None) as count:
            fit(client, table)
        for _ in range(10):
            path.unlink(missing_ok=True)
            moment = rng.integers(1, count[0] - 1), rng.uniform(0, 0.1)
            command = [sys.executable, "-c", script, str(tmp_path), client.scheduler.address]
            environment = {**os.environ, "PYTHONPATH": "tests"}
            done = subprocess.run([*command, *map(str, moment)], env=environment, check=False)
            assert done.returncode == -9
            if path.exists():
                n_resumed += 1
                model = DaskGradientBoostingClassifier.resume(path, cut(X, CUTS[3]), target, client=client)
            else:
                model = fit(client, table)
            assert dumps(model.to_local()) == expected
    print(f"resumed {n_resumed} times of 10")
    assert n_resumed


RELEASED = threading.Event()


def wait_until_released():
    return RELEASED.wait(5)


def test_tasks_that_stall_after_a_worker_left_count_as_lost(client, monkeypatch):
    """A scheduler may wait for a worker that is gone; the task is pure and can be submitted again."""
    cluster = Cluster(client)
    seen = itertools.chain([{"first": 1, "second": 1}], itertools.repeat({"second": 1}))
    monkeypatch.setattr(cluster, "_look", lambda: next(seen))
    monkeypatch.setattr(cluster_module, "_IDLE_POLLS", 1000)
    monkeypatch.setattr(cluster_module, "_POLL_SECONDS", 0.05)
    monkeypatch.setattr(cluster_module, "_STALLED_SECONDS", 0.1)
    try:
        stalled = cluster.submit(next(iter(client.nthreads())), wait_until_released)
        assert cluster.collect([stalled]) == [LOST]
    finally:
        RELEASED.set()


def test_tasks_that_dask_leaves_without_a_worker_count_as_lost(monkeypatch):
    """Where all workers were gone at once, tasks that prefer one of them are not given to new ones."""
    from dask import delayed

    from distributed import Client, LocalCluster

    monkeypatch.setattr(cluster_module, "_POLL_SECONDS", 0.1)
    with LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as local, Client(local) as own:
        cluster = Cluster(own)
        stalled = cluster.compute("tcp://127.0.0.1:1", [delayed(abs)(-1)])
        while not own.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.unrunnable)):
            time.sleep(0.05)
        local.scale(1)
        own.wait_for_workers(1)
        cluster.workers()
        assert cluster.collect(stalled) == [LOST]
        assert cluster.compute_all(lambda: [delayed(abs)(-1)]) == [1]
