"""Cluster: a Dask client, with waits that end when the workers do."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from spinney.core.errors import InputError, SpinneyError
from spinney.distributed.calls import Failed, answer

if TYPE_CHECKING:
    from concurrent.futures import Future

NO_WORKER_SECONDS = 20.0
"""How long a fit waits for another worker when all are gone; those with a nanny are started again."""
_SCHEDULER_SECONDS = 20.0
"""How long the scheduler may take to answer, before it counts as lost."""
_POLL_SECONDS = 1.0
_GATHER_SECONDS = 10.0
"""How long results may take to come here, once they are there, before workers are looked for again."""
_STALLED_SECONDS = 5.0
"""How long tasks may take to end after a worker joined or left, before they are submitted again."""
_IDLE_POLLS = 3
"""How often workers may be seen without any task, before those that are waited for are submitted again."""
_CONNECT_SECONDS = 3.0
"""How long a connection to a worker may take, before it is called through the scheduler instead."""
_MAX_ATTEMPTS = 50
"""How often a task is given to another worker after its own was lost."""


class ClusterError(SpinneyError, RuntimeError):
    """The cluster cannot go on: it has no workers, or loses those that are given a task."""


class Lost:
    """Result of a task whose worker was lost, or was given another value of what it depends on."""


LOST = Lost()


class Sent(NamedTuple):
    """A call that was sent to a worker."""

    worker: str
    future: Future[Any]


class Cluster:
    """A Dask client whose tasks prefer a worker, and run on another one if it is gone.

    Parameters
    ----------
    client : distributed.Client
        The client.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._empty_since: float | None = None
        self._known: set[str] = set()
        self._near: dict[str, bool] = {}

    @classmethod
    def of(cls, client: Any) -> Cluster:
        """Return the cluster of a client, None is the default client of this process."""
        try:
            import distributed
        except ImportError:
            raise InputError(
                "Estimators of spinney.distributed need Dask",
                fix="Install it with: pip install 'spinney[dask]'",
            ) from None
        if client is None:
            try:
                client = distributed.default_client()
            except ValueError:
                raise InputError(
                    "There is no Dask client", fix="Make one by distributed.Client(), or pass client=..."
                ) from None
        if client.asynchronous:
            raise InputError("The Dask client is asynchronous", fix="Pass one with asynchronous=False.")
        return cls(client)

    def workers(self) -> dict[str, int]:
        """Return the number of threads of each worker that is there; wait for one if there is none.

        Raises
        ------
        ClusterError
            If there is still none after `NO_WORKER_SECONDS`.
        """
        while not (found := self._look()):
            time.sleep(_POLL_SECONDS / 4)
        return found

    def _look(self) -> dict[str, int]:
        """Return the workers; raise ClusterError if there were none for too long."""
        found: dict[str, int] = dict(sorted(self._ask_scheduler("ncores").items()))
        now, self._known = time.monotonic(), set(found)
        if found:
            self._empty_since = None
        elif self._empty_since is None:
            self._empty_since = now
        elif now - self._empty_since > NO_WORKER_SECONDS:
            raise ClusterError(
                f"The Dask cluster has had no worker for {NO_WORKER_SECONDS:.0f} seconds",
                fix="Start workers and fit again, or resume from a checkpoint.",
            )
        return found

    def _ask_scheduler(self, question: str) -> dict[str, Any]:
        """Return what the scheduler knows about each worker."""
        self._require_client()
        ask = getattr(self.client.scheduler, question)
        try:
            found: dict[str, Any] = self.client.sync(ask, workers=None, callback_timeout=_SCHEDULER_SECONDS)
        except OSError as error:
            raise _no_scheduler() from error
        return found

    def _require_client(self) -> None:
        """Raise ClusterError if the client is closed."""
        if self.client.status in ("closed", "closing"):
            raise _no_scheduler()

    def submit(self, worker: str, function: Callable[..., Any], *args: Any) -> Any:
        """Start a task on a worker, or on another one if that is gone; return its future."""
        call = partial(function, *args)  # whose arguments Dask does not look into
        return self.client.submit(call, workers=[worker], allow_other_workers=True, pure=False)

    def compute(self, worker: str | None, delayed: Sequence[Any]) -> list[Any]:
        """Start delayed values, on a worker if it is there; return their futures."""
        where = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        futures: list[Any] = self.client.compute(list(delayed), **where)
        return futures

    def collect(self, futures: Sequence[Any]) -> list[Any]:
        """Return the results of tasks, `LOST` for those whose worker was lost.

        Raises
        ------
        Exception
            What a task has raised.
        ClusterError
            If there are no workers.
        """
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        gather, seconds = partial(self.client.gather, asynchronous=True), _GATHER_SECONDS
        while self._wait(futures):
            try:
                found: list[Any] = self.client.sync(gather, list(futures), callback_timeout=seconds)
                return found
            except (KilledWorker, CancelledError):
                break
            except TimeoutError:  # results are lost and computed again, or they are large
                self._look()
                seconds *= 2
        return [self._result(future) for future in futures]

    def _wait(self, futures: Sequence[Any]) -> bool:
        """Wait until all tasks have ended; return whether none has failed.

        Tasks that have not ended `_STALLED_SECONDS` after a worker joined or left may be assigned to a worker
        that is gone. If all workers were gone at once, Dask leaves tasks unassigned that prefer one of them;
        no worker has a task then. Both are cancelled, and count as lost.
        """
        from concurrent.futures import CancelledError

        from distributed import wait

        known, changed, n_idle = self._known, None, 0
        while True:
            try:
                wait(list(futures), timeout=_POLL_SECONDS)
            except CancelledError:
                return False
            except TimeoutError:
                found = set(self._look())
                n_idle = 0 if any(self._ask_scheduler("processing").values()) else n_idle + 1
                if found != known:
                    known, changed, n_idle = found, time.monotonic(), 0
                stalled = changed is not None and time.monotonic() - changed > _STALLED_SECONDS
                if found and (stalled or n_idle == _IDLE_POLLS):
                    self.client.cancel([future for future in futures if not future.done()])
                    return False
                continue
            return all(future.status == "finished" for future in futures)

    def _result(self, future: Any) -> Any:
        """Return the result of a task, `LOST` if it was lost."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        seconds = _GATHER_SECONDS
        while True:
            self._wait([future])
            try:
                return future.result(timeout=seconds)
            except KilledWorker:
                # Dask blames the partition that was being read; it would fail in every later task, too.
                with suppress(KeyError):  # the scheduler has forgotten it already
                    self.client.retry([future])
                return LOST
            except CancelledError:
                self._look()
                return LOST
            except TimeoutError:
                if future.status == "error":
                    raise
                self._look()
                seconds *= 2

    def send(self, worker: str, function: Callable[..., Any], *args: Any) -> Sent:
        """Call a function on a worker at once: with a tenth of the latency of a task, but only there."""
        import asyncio

        self._require_client()
        call = self._call(worker, function, args)
        return Sent(worker, asyncio.run_coroutine_threadsafe(call, self.client.loop.asyncio_loop))

    async def _call(self, worker: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Call a function on a worker: by a connection to it, or through the scheduler if that fails."""
        from distributed.core import clean_exception
        from distributed.protocol.pickle import dumps

        if await self._is_near(worker):
            message = {"function": dumps(answer), "args": dumps((function, args))}
            response = await self.client.rpc(worker).run(**message)
            if response["status"] == "error":
                raise clean_exception(**response)[1]
            return response["result"]
        found = await self.client.run(answer, function, args, workers=[worker], asynchronous=True)
        return found[worker]

    async def _is_near(self, worker: str) -> bool:
        """Return whether the client can connect to a worker itself; a firewall may be between them."""
        import asyncio

        if worker not in self._near:
            pool = self.client.rpc
            try:
                pool.reuse(worker, await asyncio.wait_for(pool.connect(worker), _CONNECT_SECONDS))
                self._near[worker] = True
            except (OSError, TimeoutError):
                self._near[worker] = False
        return self._near[worker]

    def receive(self, calls: Sequence[Sent]) -> list[Any]:
        """Return the results of calls, `LOST` for those whose worker was lost.

        Raises
        ------
        Exception
            What a function has raised.
        ClusterError
            If there are no workers.
        """
        from concurrent.futures import wait

        waiting = list(calls)
        while True:
            left = wait([one.future for one in waiting], timeout=_POLL_SECONDS).not_done
            if not left:
                return [self._answer(one) for one in calls]
            alive = self._look()
            for one in waiting:
                if one.worker not in alive:
                    one.future.cancel()
            waiting = [one for one in waiting if one.future in left and one.worker in alive]

    def _answer(self, call: Sent) -> Any:
        """Return the result of a call that has ended, `LOST` if its worker was lost."""
        from concurrent.futures import CancelledError

        try:
            found = call.future.result()
        except (CancelledError, OSError):  # the connection has failed
            self._look()
            return LOST
        except RuntimeError:  # the connections of a client that is closed
            self._require_client()
            raise
        if isinstance(found, Failed):
            raise found.error
        return found

    def start(self, function: Callable[..., Any], *args: Any) -> None:
        """Call a function on every worker, and do not wait for it."""
        with suppress(ClusterError):
            for worker in self._look():
                self.send(worker, function, *args)

    def compute_all(self, make: Callable[[], Sequence[Any]]) -> list[Any]:
        """Compute delayed values, those again whose workers were lost; `make` returns them anew."""
        delayed = list(make())
        results: list[Any] = [LOST] * len(delayed)
        for _ in attempts("read the partitions"):
            todo = [i for i, one in enumerate(results) if one is LOST]
            if not todo:
                return results
            futures = self.compute(None, [delayed[i] for i in todo])
            for i, result in zip(todo, self.collect(futures), strict=True):
                results[i] = result
            delayed = list(make())
        return results


def _no_scheduler() -> ClusterError:
    return ClusterError(
        "The Dask client is closed, or the scheduler is gone",
        fix="Connect to a cluster and fit again, or resume from a checkpoint.",
    )


def attempts(what: str) -> Any:
    """Count attempts to do something, and raise ClusterError after too many."""
    yield from range(_MAX_ATTEMPTS)
    raise ClusterError(
        f"The workers that were to {what} were lost {_MAX_ATTEMPTS} times",
        fix="They may have too little memory; the log of the workers tells.",
    )
