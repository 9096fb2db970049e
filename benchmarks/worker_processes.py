"""Run many tasks, each in a process of its own: several at a time, and ended where they take too long."""

from __future__ import annotations

import importlib
import multiprocessing
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from multiprocessing import connection
from multiprocessing.process import BaseProcess

Task = Callable[[], None]
_POLL_SECONDS = 1.0


def import_all(modules: Iterable[str]) -> None:
    """Import what is installed of some modules, so that the processes need not do it while they measure."""
    for name in modules:
        with suppress(ImportError):
            importlib.import_module(name)


def run_tasks(
    tasks: Iterable[Task], jobs: int, limit: float | None, failed: Callable[[Task, str], None]
) -> None:
    """Run tasks in the given order.

    Parameters
    ----------
    tasks : iterable of callable
        What each process calls; results are written by the tasks themselves.
    jobs : int
        Number of processes at a time.
    limit : float or None
        Seconds after which a process is ended.
    failed : callable
        Called with a task whose process was ended or died, and the reason.
    """
    context = multiprocessing.get_context("fork")
    running: dict[BaseProcess, tuple[Task, float]] = {}

    def wait() -> None:
        connection.wait([process.sentinel for process in running], _POLL_SECONDS)
        for process, (task, begin) in list(running.items()):
            late = process.is_alive() and limit is not None and time.monotonic() - begin > limit
            if late:
                process.kill()
            elif process.is_alive():
                continue
            process.join()
            del running[process]
            if late:
                failed(task, f"ended after {limit:g} s")
            elif process.exitcode:
                failed(task, f"the process ended with code {process.exitcode}")

    for task in tasks:
        while len(running) >= jobs:
            wait()
        process = context.Process(target=task)
        process.start()
        running[process] = task, time.monotonic()
    while running:
        wait()
