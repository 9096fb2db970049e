"""Worker processes of a Dask cluster, which can be killed at chosen moments."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress

TEMPLATE = """
import asyncio, os, signal, sys
import dask.dataframe, distributed, spinney.distributed.worker

async def work(address, port, directory, memory_limit):
    settings = {"port": int(port), "nthreads": 1, "dashboard": False, "memory_limit": memory_limit}
    async with distributed.Worker(address, **settings, local_directory=directory) as worker:
        await worker.finished()

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    pid = os.fork()
    if not pid:
        asyncio.run(work(*line.split()))
        os._exit(0)
    print(pid, flush=True)
"""
"""A process that has imported everything, and becomes a worker for every line that it reads."""


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
            workers.kill(len(workers.pids))
            workers.template.kill()
            workers.template.wait()


class Workers:
    """The processes of a cluster.

    Attributes
    ----------
    client : distributed.Client
        Client of the cluster.
    pids : list of int
        Numbers of the processes, the oldest one first.
    template : subprocess.Popen
        Parent of the processes.
    """

    def __init__(self, client):
        self.client, self.pids = client, []
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.template = subprocess.Popen([sys.executable, "-c", TEMPLATE], **pipes, text=True)

    def start(self, n, port=0, directory=None, memory_limit="auto"):
        """Start so many workers, and wait until they are there."""
        for _ in range(n):
            directory = directory or tempfile.gettempdir()
            line = self.client.scheduler.address, port, directory, memory_limit
            print(*line, file=self.template.stdin, flush=True)
            self.pids.append(int(self.template.stdout.readline()))
        if n:
            self.client.wait_for_workers(len(self.pids), timeout=120)

    def kill(self, n):
        """Kill so many workers by SIGKILL, the oldest ones first."""
        for _ in range(min(n, len(self.pids))):
            with suppress(ProcessLookupError):
                os.kill(self.pids.pop(0), signal.SIGKILL)


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
