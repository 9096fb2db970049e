"""Worker processes of a Dask cluster, which can be killed at chosen moments."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress


@contextmanager
def cluster_of(n_workers):
    """Return a cluster of worker processes without nannies, which nobody starts again."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=0, dashboard_address=":0") as local,
        Client(local) as client,
    ):
        workers = Workers(client)
        try:
            workers.start(n_workers)
            yield workers
        finally:
            workers.kill(len(workers.processes))


class Workers:
    """The processes of a cluster."""

    def __init__(self, client):
        self.client, self.processes = client, []

    def start(self, n, nanny=False):
        """Start so many workers, and wait until they are there."""
        address = self.client.scheduler.address
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1"]
        command += ["--nanny" if nanny else "--no-nanny", "--no-dashboard"]
        for _ in range(n):
            self.processes.append(
                subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
        if n:
            self.client.wait_for_workers(len(self.processes), timeout=120)

    def kill(self, n):
        """Kill so many workers by SIGKILL, the oldest ones first."""
        for _ in range(min(n, len(self.processes))):
            process = self.processes.pop(0)
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def at_task(cluster_class, number, action, delay=0.0):
    """Call an action once, when the client starts its task of this number; yields the count of tasks."""
    starts = {name: getattr(cluster_class, name) for name in ("submit", "compute", "send")}
    count = [0]

    def step():
        count[0] += 1
        if count[0] == number:
            time.sleep(delay)
            action()

    def counted(start):
        def start_counted(self, *args):
            started = start(self, *args)
            step()
            return started

        return start_counted

    for name, start in starts.items():
        setattr(cluster_class, name, counted(start))
    try:
        yield count
    finally:
        for name, start in starts.items():
            setattr(cluster_class, name, start)
