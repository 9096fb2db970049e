"""Calls of workers without tasks: what they return where a worker, a connection or the scheduler is lost."""

import asyncio
import operator
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from dask_workers import cluster_of

pytest.importorskip("distributed")

from spinney.distributed import ClusterError
from spinney.distributed import cluster as cluster_module
from spinney.distributed.cluster import LOST, Cluster


def call(cluster, function, *args):
    """Call a function on all workers."""
    return cluster.receive([cluster.send(worker, function, *args) for worker in cluster.workers()])


def full_disk():
    raise OSError(28, "No space left on device")


def test_errors_of_functions_are_raised(client):
    """Also those that look like a failed connection."""
    with pytest.raises(OSError, match="No space left"):
        call(Cluster(client), full_disk)
    with pytest.raises(ZeroDivisionError):
        call(Cluster(client), operator.truediv, 1, 0)


def test_calls_are_not_logged_one_by_one(client, caplog):
    cluster = Cluster(client)
    call(cluster, operator.add, 1, 2)
    with caplog.at_level("INFO", "distributed.worker"):
        call(cluster, operator.add, 1, 2)
        assert not caplog.messages
        client.run(operator.add, 1, 2)
        assert "Run out-of-band function 'add'" in caplog.messages


def test_a_worker_that_is_closing_counts_as_lost(client):
    def close_threads(dask_worker):
        ended = ThreadPoolExecutor(1)
        ended.shutdown()
        dask_worker.executors["kept"], dask_worker.executors["default"] = (
            dask_worker.executors["default"],
            ended,
        )

    def open_threads(dask_worker):
        dask_worker.executors["default"] = dask_worker.executors.pop("kept")

    cluster = Cluster(client)
    first = list(cluster.workers())[:1]
    client.run(close_threads, workers=first)
    try:
        assert call(cluster, operator.add, 1, 2) == [LOST, 3]
        cluster._near = dict.fromkeys(cluster.workers(), False)
        assert call(cluster, operator.add, 1, 2) == [LOST, 3]
    finally:
        client.run(open_threads, workers=first)


@pytest.mark.parametrize("silent", [True, False])
def test_workers_behind_a_firewall_are_called_through_the_scheduler(client, monkeypatch, silent):
    async def connect(address, timeout=None):
        if address == client.scheduler.address:
            return await usual(address, timeout)
        if silent:
            await asyncio.sleep(60)
        raise OSError("connection refused")

    cluster, usual = Cluster(client), client.rpc.connect
    monkeypatch.setattr(client.rpc, "connect", connect)
    monkeypatch.setattr(cluster_module, "_CONNECT_SECONDS", 0.1)
    assert call(cluster, operator.add, 1, 2) == [3, 3]
    assert list(cluster._near.values()) == [False, False]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_encrypted_connections(tmp_path):
    from distributed.security import Security

    from distributed import Client, LocalCluster

    certificate, key = str(tmp_path / "certificate.pem"), str(tmp_path / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    files = {f"tls_{role}_cert": certificate for role in ("client", "scheduler", "worker")}
    files |= {f"tls_{role}_key": key for role in ("client", "scheduler", "worker")}
    security = Security(tls_ca_file=certificate, require_encryption=True, **files)
    settings = {"n_workers": 1, "processes": False, "dashboard_address": ":0", "protocol": "tls://"}
    with (
        LocalCluster(**settings, security=security) as local,
        Client(local, security=security) as own,
    ):
        cluster = Cluster(own)
        (worker,) = cluster.workers()
        assert worker.startswith("tls://")
        assert call(cluster, operator.add, 1, 2) == [3]
        assert cluster._near == {worker: True}


def test_a_closed_client_is_an_error():
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as local:
        own = Client(local)
        cluster = Cluster(own)
        (worker,) = cluster.workers()
        waiting = cluster.send(worker, time.sleep, 1)
        own.close()
        with pytest.raises(ClusterError, match="client is closed"):
            cluster.receive([waiting])
        with pytest.raises(ClusterError, match="client is closed"):
            cluster.send(worker, time.sleep, 1)


@pytest.mark.long
def test_a_killed_worker_that_returns_at_its_address():
    with cluster_of(0) as workers:
        workers.start(1, port=0)
        cluster = Cluster(workers.client)
        (worker,) = cluster.workers()
        port = int(worker.rpartition(":")[2])
        (first,) = call(cluster, os.getpid)
        waiting = cluster.send(worker, time.sleep, 60)
        time.sleep(0.5)
        workers.kill(1)
        began = time.monotonic()
        assert cluster.receive([waiting]) == [LOST]
        assert time.monotonic() - began < 10
        workers.start(1, port=port)
        assert list(cluster.workers()) == [worker]
        second = call(cluster, os.getpid)
        assert second not in ([LOST], [first])


@pytest.mark.long
def test_a_killed_scheduler_is_an_error(tmp_path):
    from distributed import Client

    file = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen([*command, "--scheduler-file", str(file)], stderr=subprocess.DEVNULL)
    processes = [scheduler]
    try:
        while not file.exists():
            time.sleep(0.1)
        command = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(file)]
        processes.append(subprocess.Popen([*command, "--no-nanny"], stderr=subprocess.DEVNULL))
        with Client(scheduler_file=str(file)) as own:
            own.wait_for_workers(1)
            cluster = Cluster(own)
            (worker,) = cluster.workers()
            waiting = cluster.send(worker, time.sleep, 60)
            time.sleep(0.5)
            os.kill(scheduler.pid, signal.SIGKILL)
            began = time.monotonic()
            with pytest.raises(ClusterError, match="scheduler is gone"):
                cluster.receive([waiting])
            assert time.monotonic() - began < 30
    finally:
        for process in processes:
            process.kill()
            process.wait()
