"""Ensembles whose members are fitted by many tasks, each of which has the whole table."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from sklearn.base import clone

from spinney.distributed.cluster import LOST, Cluster, attempts

_PARTS_PER_WORKER = 2


class NoTable(NamedTuple):
    """Answer of a task whose table has lost some blocks."""

    lost: tuple[int, ...]


class _PartDoneError(Exception):
    """Ends a fit as soon as its members are there."""

    def __init__(self, members: Any) -> None:
        super().__init__("the members of this part are fitted")
        self.members = members


def fit_part(
    estimator: Any, method: str, at: int, numbers: range | None, members: Any, rows: tuple[Any, ...], X: Any
) -> Any:
    """Fit the members of some numbers on this worker, or the ensemble from members that are fitted.

    Parameters
    ----------
    estimator : estimator
        The ensemble, not fitted.
    method : str
        Its method that fits members.
    at : int
        Position of the numbers among the arguments of the method.
    numbers : range or None
        The members of this part; None: all are given.
    members : object
        Fitted members.
    rows : tuple
        Target and weights, or nothing if X has them.
    X : object
        The table.

    Returns
    -------
    object
        The members, or the fitted ensemble.
    """
    from distributed import get_worker

    if isinstance(X, NoTable):
        return X
    estimator = clone(estimator)
    fit_members = getattr(estimator, method)

    def fit_some(*args: Any) -> Any:
        if numbers is None:
            return members
        raise _PartDoneError(fit_members(*args[:at], numbers, *args[at + 1 :]))

    vars(estimator)[method] = fit_some
    estimator.n_jobs = get_worker().state.nthreads
    try:
        estimator.fit(X, *rows)
    except _PartDoneError as done:
        return done.members
    del vars(estimator)[method]
    return estimator


def fit_in_parts(
    cluster: Cluster,
    estimator: Any,
    method: tuple[str, int],
    rows: tuple[Any, ...],
    make_table: Callable[[], Any],
    restore: Callable[[list[int]], Any],
    join: Callable[[list[Any]], Any],
) -> Any:
    """Fit an ensemble, a few members per task.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    estimator : estimator
        The ensemble without Dask, not fitted.
    method : (str, int)
        Its method that fits members, and the position of their numbers among the arguments.
    rows : tuple
        Target and weights, or nothing if the table has them.
    make_table : function
        Returns a future of the table.
    restore : function of a list of int
        Makes blocks anew that the table has lost.
    join : function of a list
        Joins the members of several parts.

    Returns
    -------
    estimator
        The fitted ensemble.
    """
    if estimator.random_state is None:  # all parts draw the same samples
        estimator.set_params(random_state=secrets.randbits(31))
    n, n_parts = estimator.n_estimators, _PARTS_PER_WORKER * len(cluster.workers())
    ends = [n * i // n_parts for i in range(n_parts + 1)]
    parts = [range(ends[i], ends[i + 1]) for i in range(n_parts) if ends[i] < ends[i + 1]]
    found: dict[range, Any] = {}
    for _ in attempts("fit members"):
        todo = [part for part in parts if part not in found]
        calls = [partial(fit_part, estimator, *method, part, None, rows) for part in todo]
        for part, result in zip(todo, _run(cluster, calls, make_table, restore), strict=True):
            if result is not LOST:
                found[part] = result
        if len(found) == len(parts):
            break
    members = join([found[part] for part in parts])
    for _ in attempts("finish an ensemble"):
        call = partial(fit_part, estimator, *method, None, members, rows)
        (fitted,) = _run(cluster, [call], make_table, restore)
        if fitted is not LOST:
            break
    return fitted


def _run(
    cluster: Cluster,
    calls: list[Any],
    make_table: Callable[[], Any],
    restore: Callable[[list[int]], Any],
) -> list[Any]:
    """Return the results of calls with the table, `LOST` for those that have to be called again."""
    table, workers = make_table(), list(cluster.workers())
    futures = [
        cluster.client.submit(
            call, table, workers=[workers[i % len(workers)]], allow_other_workers=True, pure=False
        )
        for i, call in enumerate(calls)
    ]
    results = cluster.collect(futures)
    missing = {block for one in results if isinstance(one, NoTable) for block in one.lost}
    if missing:
        restore(sorted(missing))
    return [LOST if isinstance(one, NoTable) else one for one in results]
