"""Calls of functions on a worker: in one of its threads, at once, without a task of Dask's scheduler."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

_here = threading.local()


def _is_no_call(record: logging.LogRecord) -> bool:
    return record.args != ("answer",)


class Failed(NamedTuple):
    """What a function on a worker has raised."""

    error: Exception


async def answer(function: Callable[..., Any], args: tuple[Any, ...], dask_worker: Any) -> Any:
    """Call a function in a thread of this worker, so that the worker goes on to answer others.

    Parameters
    ----------
    function : function
        The function.
    args : tuple
        Its arguments.
    dask_worker : distributed.Worker
        The worker, which Dask passes by this name.

    Returns
    -------
    object
        What the function returns, or `Failed`.

    Raises
    ------
    ConnectionAbortedError
        If the worker is closing; the call is lost as if the connection had failed.
    """

    def call() -> Any:
        _here.worker = dask_worker
        try:
            return function(*args)
        except Exception as error:  # to be raised again by the client
            return Failed(error)
        finally:
            _here.worker = None

    # Dask would write a line for every call, some ten per tree
    logging.getLogger("distributed.worker").addFilter(_is_no_call)
    try:
        called = asyncio.get_running_loop().run_in_executor(dask_worker.executors["default"], call)
    except RuntimeError as error:  # its threads have ended
        raise ConnectionAbortedError("the worker is closing") from error
    return await called


def this_worker() -> Any:
    """Return the worker that runs this call, or this task.

    Returns
    -------
    distributed.Worker
        The worker.
    """
    from distributed import get_worker

    found = getattr(_here, "worker", None)
    return get_worker() if found is None else found
