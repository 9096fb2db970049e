"""Fitting of members: sample weights where supported, and parallel jobs with results in order."""

from __future__ import annotations

import atexit
import inspect
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import joblib
from joblib import parallel_config
from joblib.parallel import get_active_backend
from numpy.typing import ArrayLike
from sklearn import config_context, get_config
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from spinney.core.errors import InputTypeError, SpinneyError
from spinney.core.parameters import thread_count
from spinney.core.progress import track
from spinney.data import read_table
from spinney.io import Persistent
from spinney.members.base_estimators import has_own_methods

_WEIGHT = "sample_weight"


def takes_weights(estimator: Any) -> bool:
    """Return True if an estimator, or the last step of a pipeline, can be fitted with sample weights.

    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from spinney import DecisionTreeClassifier
    >>> takes_weights(DecisionTreeClassifier()), takes_weights(KNeighborsClassifier())
    (True, False)
    """
    return _weight_argument(estimator) is not None


def takes_sample_as_weights(estimator: Any) -> bool:
    """Return True if weights by the counts of a sample are known to be as good as its rows.

    They are for a single estimator of Spinney or scikit-learn with sample weights. The early steps of a
    pipeline, folds, the other estimators of a composition, and whatever the ``fit`` of another class does
    may not see weights, and so would learn from rows outside of the sample.

    >>> from sklearn.pipeline import make_pipeline
    >>> from spinney import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier()
    >>> takes_sample_as_weights(tree), takes_sample_as_weights(make_pipeline(tree))
    (True, False)
    """
    known = has_own_methods(estimator) or type(estimator).__module__.partition(".")[0] == "sklearn"
    if not known or not has_fit_parameter(estimator, _WEIGHT):
        return False
    params = estimator.get_params(deep=True)
    return "cv" not in params and not any(hasattr(part, "fit") for part in params.values())


def fit_member(estimator: Any, X: Any, y: Any, weights: ArrayLike | None = None, **metadata: Any) -> Any:
    """Fit an estimator and return it; raise InputTypeError if it does not support the given sample weights.

    ``metadata`` are further arguments of its ``fit``.

    >>> from spinney import DecisionTreeClassifier
    >>> fit_member(DecisionTreeClassifier(), [[0.0], [1.0]], [0, 1], [1.0, 0.0]).get_n_leaves()
    1
    """
    if weights is None:
        estimator.fit(X, y, **metadata)
        return estimator  # whatever its ``fit`` returns
    argument = _weight_argument(estimator)
    if argument is None:
        steps = getattr(estimator, "steps", None)
        name = type(estimator).__name__ + (f" ending in {type(steps[-1][1]).__name__}" if steps else "")
        raise InputTypeError(
            f"Underlying estimator {name} does not support sample weights",
            fix="Fit without sample_weight, or leave this member out.",
        )
    estimator.fit(X, y, **{argument: weights}, **metadata)
    return estimator


def _call_with_config(config: Mapping[str, Any], function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with scikit-learn's configuration of another thread."""
    with config_context(**config):
        return function(*arguments)


def run_jobs(
    function: Callable[..., Any],
    arguments: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    title: str | None = None,
) -> list[Any]:
    """Call a function with each tuple of arguments, in parallel, and return the results in order.

    Jobs run in threads if every estimator among the arguments is Spinney's own, which releases the GIL, and
    in processes otherwise. ``joblib.parallel_config`` overrides this.

    Parameters
    ----------
    function : callable
        The function.
    arguments : iterable of tuple
        The arguments of one job per tuple.
    n_jobs : int or None
        Number of parallel jobs, as in joblib; None is joblib's default. For Spinney's own estimators it is
        the number of threads, as in `thread_count`, which they share if there are fewer jobs.
    title : str, optional
        If given, a progress bar with this title is shown on the error output.

    Returns
    -------
    list
        One result per job.

    Examples
    --------
    >>> run_jobs(pow, [(2, 3), (3, 2)], n_jobs=1)
    [8, 9]
    """
    calls = list(arguments)
    n_threads = thread_count(n_jobs)  # raises InputError if n_jobs is not valid
    native = all(map(_is_native_job, calls))
    if native:  # members share the threads, also those that would take all cores
        n_jobs = max(1, min(n_threads, len(calls)))
        function = partial(_call_with_threads, function, n_threads // n_jobs)
    prefer = "threads" if native else "processes"
    backend, _ = get_active_backend(prefer=prefer)
    # Results one by one, for the progress bar; joblib's backend "multiprocessing" gives them as a list only.
    return_as = "generator" if backend.supports_return_generator else "list"
    pool, call_later = Parallel, delayed
    if getattr(backend, "supports_sharedmem", False) or joblib.effective_n_jobs(n_jobs) == 1:
        # scikit-learn's resets the filters of warnings, which are those of all threads of the process.
        pool, call_later = joblib.Parallel, joblib.delayed
        function = partial(_call_with_config, get_config(), function)
    workers = pool(n_jobs=n_jobs, prefer=prefer, return_as=return_as)
    others = threading.enumerate()
    try:
        results = workers(call_later(function)(*call) for call in calls)
        return list(track(results, title, len(calls)))
    except KeyboardInterrupt:
        # Threads cannot be stopped from outside. The caller need not wait for them, but a process that exits
        # while they run native code would be aborted.
        for thread in set(threading.enumerate()) - set(others):
            atexit.register(thread.join)
        raise


def fit_members(owner: Any, fit: Callable[..., Any], calls: list[tuple[Any, ...]], X: Any) -> list[Any]:
    """Fit one member per call, with the n_jobs and verbose of the ensemble that owns them.

    X is the whole table, of which members may get some rows only.
    """
    title = f"{type(owner).__name__}: fitting members" if owner.verbose else None
    try:
        return run_jobs(fit, calls, owner.n_jobs, title)
    except SpinneyError as error:
        if error.row is not None:
            read_table(X)  # members count their own rows; this raises the error with the true row index
        raise


def _call_with_threads(function: Callable[..., Any], n_threads: int, *arguments: Any) -> Any:
    """Call a function with a number of threads for the estimators in it."""
    with parallel_config(n_jobs=n_threads):
        return function(*arguments)


def _weight_argument(estimator: Any) -> str | None:
    """Return the name of the argument of ``fit`` for sample weights, None if there is none."""
    if has_fit_parameter(estimator, _WEIGHT):
        return _WEIGHT
    if get_config()["enable_metadata_routing"]:
        return _WEIGHT if get_routing_for_object(estimator).consumes("fit", [_WEIGHT]) else None
    steps = getattr(estimator, "steps", None)
    if steps:
        name, last = steps[-1]
        inner = None if isinstance(last, str) or last is None else _weight_argument(last)
        return None if inner is None else f"{name}__{inner}"
    # A wrapper such as GridSearchCV passes on keyword arguments that it does not know.
    wrapped = getattr(estimator, "estimator", None)
    return None if wrapped is None or not _has_fit_kwargs(estimator) else _weight_argument(wrapped)


def _has_fit_kwargs(estimator: Any) -> bool:
    parameters = inspect.signature(estimator.fit).parameters.values()
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def _is_native_job(call: tuple[Any, ...]) -> bool:
    """Return True if all estimators among the arguments, and nested in them, are Spinney's own."""
    estimators = [argument for argument in call if hasattr(argument, "get_params")]
    nested = [
        value
        for estimator in estimators
        for value in estimator.get_params(deep=True).values()
        if hasattr(value, "get_params")
    ]
    return all(isinstance(estimator, Persistent) for estimator in (*estimators, *nested))
