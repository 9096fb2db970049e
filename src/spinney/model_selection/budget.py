"""The time budget of a comparison: what is left, and how many rows fit into it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from spinney.core.errors import InputError, SpinneyError
from spinney.core.seeds import stream
from spinney.members.fitting import fit_member
from spinney.model_selection.folds import split_once
from spinney.model_selection.problem import Problem, seeded_copy

_PILOT_ROWS = 500
_SHARE_OF_PILOT = 0.05
"""Share of the time that a second pilot may take."""
_ALWAYS_FEASIBLE = 1_000
"""Tables with fewer rows are used as a whole."""
_N_FITS = 6.0
"""Fits of the quick learners that the budget should allow: five folds, and the final fit."""
_PILOT_LEARNERS = 3


class Budget:
    """Clock of a comparison.

    >>> Budget(None).left
    inf
    """

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not seconds > 0:
            raise InputError(f"The time budget is {seconds} seconds; it must be above 0.")
        self.seconds = float("inf") if seconds is None else float(seconds)
        self._begin = perf_counter()
        self._last: dict[str, float] = {}

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return perf_counter() - self._begin

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.seconds - self.spent

    def note(self, name: str, seconds: float) -> None:
        """Note the time of the last fold of a learner."""
        self._last[name] = seconds

    def last(self, name: str) -> float:
        """Return the time of the last fold of a learner."""
        return self._last.get(name, 0.0)


def rows_within(problem: Problem, candidates: Sequence[Any], budget: Budget, n_jobs: int | None) -> Problem:
    """Return the problem, or a sample of its rows if the first learners would not fit the budget.

    The time of a fit is extrapolated from a fit to few rows, and from a second one to more rows where the
    first leaves it open.
    """
    if budget.seconds == float("inf") or problem.n_rows <= _ALWAYS_FEASIBLE:
        return problem
    estimators = [estimator for _, _, estimator in candidates[:_PILOT_LEARNERS]]
    times = [_time_fit(problem, estimator, _PILOT_ROWS, n_jobs) for estimator in estimators]
    if _N_FITS * sum(times) * problem.n_rows / _PILOT_ROWS <= budget.left:
        return problem
    slopes, constants = 0.0, 0.0
    n_more = min(4 * _PILOT_ROWS, problem.n_rows)
    for estimator, seconds in zip(estimators, times, strict=True):
        slope = seconds / _PILOT_ROWS
        if seconds * n_more / _PILOT_ROWS < budget.seconds * _SHARE_OF_PILOT:
            more = _time_fit(problem, estimator, n_more, n_jobs)
            slope = max(more - seconds, 0.1 * more) / (n_more - _PILOT_ROWS)
        slopes += slope
        constants += max(seconds - slope * _PILOT_ROWS, 0.0)
    affordable = (budget.left / _N_FITS - constants) / slopes if slopes else float("inf")
    n_rows = int(min(max(affordable, _ALWAYS_FEASIBLE), problem.n_rows))
    return problem if n_rows >= 0.9 * problem.n_rows else _sample(problem, n_rows)


def _time_fit(problem: Problem, estimator: Any, n_rows: int, n_jobs: int | None) -> float:
    part = _sample(problem, n_rows)
    begin = perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit_member(seeded_copy(estimator, problem.seed, n_jobs), part.X, part.y, part.weights)
    except (SpinneyError, ValueError, ArithmeticError):
        return 0.0  # the race reports it
    return perf_counter() - begin


def _sample(problem: Problem, n_rows: int) -> Problem:
    """Return a random part of the rows: stratified, of whole groups, or the latest in time."""
    if n_rows >= problem.n_rows:
        return problem
    share = n_rows / problem.n_rows
    _, rows = split_once(
        problem.codes,
        problem.n_rows,
        share,
        groups=problem.groups,
        order=problem.order,
        seed=int(stream(problem.seed, 3).integers(2**31)),
    )
    return problem.take(np.asarray(rows))
