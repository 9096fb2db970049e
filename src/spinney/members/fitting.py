"""Fitting members: which of them take row weights, and many of them in parallel, in an order that is kept."""

from __future__ import annotations

import atexit
import inspect
import threading
from collections.abc import Callable, Iterable
from typing import Any

from numpy.typing import ArrayLike
from rich.console import Console
from rich.progress import track
from sklearn import get_config
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from spinney.core.errors import InputError
from spinney.core.parameters import thread_count
from spinney.io import Persistent

_WEIGHT = "sample_weight"


def takes_weights(estimator: Any) -> bool:
    """Tell whether an estimator, or the last step of a pipeline, can be fitted with row weights.

    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from spinney import DecisionTreeClassifier
    >>> takes_weights(DecisionTreeClassifier()), takes_weights(KNeighborsClassifier())
    (True, False)
    """
    return _weight_argument(estimator) is not None


def fit_member(estimator: Any, X: Any, y: Any, weights: ArrayLike | None = None, **metadata: Any) -> Any:
    """Fit an estimator, with row weights where there are some, and give it back.

    ``metadata`` are further arguments of its ``fit``.

    >>> from spinney import DecisionTreeClassifier
    >>> fit_member(DecisionTreeClassifier(), [[0.0], [1.0]], [0, 1], [1.0, 0.0]).get_n_leaves()
    1
    """
    if weights is None:
        return estimator.fit(X, y, **metadata)
    argument = _weight_argument(estimator)
    if argument is None:
        raise InputError(
            f"sample_weight was given, but the member {_describe(estimator)} does not support sample weights",
            fix="Fit without sample_weight, or leave this member out.",
        )
    return estimator.fit(X, y, **{argument: weights}, **metadata)


def run_jobs(
    function: Callable[..., Any],
    arguments: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    title: str | None = None,
) -> list[Any]:
    """Call a function with each tuple of arguments, several at a time, and give the results in order.

    In threads if every estimator among the arguments is Spinney's, whose loops let other threads run; in
    processes otherwise. ``joblib.parallel_config`` may say another thing. A title asks for a progress bar,
    which is drawn on the error output.

    >>> run_jobs(pow, [(2, 3), (3, 2)], n_jobs=1)
    [8, 9]
    """
    calls = list(arguments)
    thread_count(n_jobs)  # refuses what is no number of jobs
    prefer = "threads" if all(map(_in_threads, calls)) else "processes"
    workers = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")
    others = threading.enumerate()
    try:
        results = workers(delayed(function)(*call) for call in calls)
        if title is None:
            return list(results)
        return list(track(results, title, len(calls), console=Console(stderr=True)))
    except KeyboardInterrupt:
        # Threads cannot be stopped from outside. Whoever goes on need not wait for them, but a process that
        # ended while they are in the core would be aborted.
        for thread in set(threading.enumerate()) - set(others):
            atexit.register(thread.join)
        raise


def _weight_argument(estimator: Any) -> str | None:
    """Name the argument of ``fit`` that takes row weights, None where there is none."""
    if has_fit_parameter(estimator, _WEIGHT):
        return _WEIGHT
    if get_config()["enable_metadata_routing"]:
        return _WEIGHT if get_routing_for_object(estimator).consumes("fit", [_WEIGHT]) else None
    steps = getattr(estimator, "steps", None)
    if steps:
        name, last = steps[-1]
        inner = None if isinstance(last, str) or last is None else _weight_argument(last)
        return None if inner is None else f"{name}__{inner}"
    # A wrapper such as GridSearchCV hands on what it does not know by name.
    wrapped = getattr(estimator, "estimator", None)
    return None if wrapped is None or not _hands_on(estimator) else _weight_argument(wrapped)


def _hands_on(estimator: Any) -> bool:
    parameters = inspect.signature(estimator.fit).parameters.values()
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def _describe(estimator: Any) -> str:
    steps = getattr(estimator, "steps", None)
    kind = type(estimator).__name__
    return f"{kind} ending in {type(steps[-1][1]).__name__}" if steps else kind


def _in_threads(call: tuple[Any, ...]) -> bool:
    return all(_is_ours(argument) for argument in call if hasattr(argument, "get_params"))


def _is_ours(estimator: Any) -> bool:
    """Tell whether an estimator and all within it are Spinney's."""
    inner = [value for value in estimator.get_params(deep=True).values() if hasattr(value, "get_params")]
    return all(isinstance(one, Persistent) for one in (estimator, *inner))
