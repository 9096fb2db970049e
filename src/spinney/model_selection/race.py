"""The race of a comparison: learners are fitted fold by fold, and the worst dropped where time is short."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from spinney.core.arrays import Floats
from spinney.core.errors import SpinneyError
from spinney.core.progress import ProgressBar
from spinney.model_selection import ensemble_of_best
from spinney.model_selection.budget import Budget
from spinney.model_selection.cross_validation import FoldResult, fit_fold, gather
from spinney.model_selection.folds import Split
from spinney.model_selection.learners import Learner
from spinney.model_selection.metrics import Metric, Predictions
from spinney.model_selection.problem import Problem
from spinney.model_selection.statistics import confidence_interval

Candidate: TypeAlias = tuple[Learner | None, str, Any]
"""Learner of the table or None, name, and estimator."""
ENSEMBLE = "ensemble"
"""Name of the ensemble of the best."""
_MAX_MEMBERS = 5
_SHARE_OF_SLOW = 1 / 3
"""Share of the time that must be left for slow learners."""
_SLOW = 0.1
"""Share of the longest time from which dropping a learner saves some."""
_MARGIN = 1.25
"""Folds may take this many times as long as the last one."""
_TIMES = ("fit_seconds", "predict_seconds")


@dataclass(frozen=True, eq=False)
class Entry:
    """One line of a leaderboard.

    Attributes
    ----------
    name : str
        Name of the learner.
    family : str
        Its family.
    score : float
        Mean of the first metric over the folds.
    low, high : float
        95 % confidence interval of the mean, corrected for overlapping folds.
    p_value : float
        Corrected paired t-test against the best entry; NaN for that one itself.
    scores : dict of str to ndarray of shape (n_folds,)
        Scores of the folds that were finished, by metric.
    fit_seconds, predict_seconds : float
        Mean times per fold.
    note : str
        Why folds are missing, or the members of the ensemble.
    estimator : estimator
        The estimator, not fitted.

    Examples
    --------
    >>> Entry("cart", "trees", 0.9, 0.8, 1.0, 0.03, {}, 0.1, 0.1, "", None).score
    0.9
    """

    name: str
    family: str
    score: float
    low: float
    high: float
    p_value: float
    scores: dict[str, Floats]
    fit_seconds: float
    predict_seconds: float
    note: str
    estimator: Any


def test_share(splits: Sequence[Split]) -> float:
    """Return the rows held out divided by the training rows, averaged over the splits."""
    return float(np.mean([len(test) / len(train) for train, test in splits]))


class Race:
    """Fits learners fold by fold, and drops the worst ones where time is short."""

    def __init__(
        self,
        problem: Problem,
        splits: list[Split],
        metrics: Sequence[Metric],
        candidates: list[Candidate],
        budget: Budget,
        n_jobs: int | None,
        callback: Callable[[str, int, int, float], object] | None,
        repeats: int = 1,
    ) -> None:
        self.problem, self.splits, self.metrics = problem, splits, metrics
        self._n_folds = len(splits) // repeats
        self.candidates, self.budget = candidates, budget
        self.results: dict[str, list[FoldResult]] = {}
        self.skipped: dict[str, str] = {}
        self.notes: dict[str, str] = {}
        self._n_jobs, self._callback, self._n_done = n_jobs, callback, 0

    @property
    def n_planned(self) -> int:
        """Number of fits, if none is dropped."""
        return len(self.candidates) * len(self.splits)

    def run(self, bar: ProgressBar) -> None:
        """Fit everything that the budget allows, slow learners after the others."""
        slow = [one for one in self.candidates if one[0] is not None and one[0].is_slow]
        first = [one for one in self.candidates if one not in slow] or slow
        self._run_folds(first, bar)
        if slow is not first and self.budget.left >= self.budget.seconds * _SHARE_OF_SLOW:
            finished = list(self.splits)
            self._run_folds(slow, bar)
            self.splits = finished  # repeats that only the slow learners gave up
        elif slow is not first:
            self.skipped |= {name: "no time left" for _, name, _ in slow}

    def _run_folds(self, running: list[Candidate], bar: ProgressBar) -> None:
        running = list(running)
        for fold in range(len(self.splits)):
            if fold >= len(self.splits):  # folds were given up
                break
            for candidate in list(running):
                if not self._fit(candidate, fold):
                    running.remove(candidate)
                self._n_done += 1
                bar.update(self._n_done, candidate[1])
            running = self._keep(running, fold + 1)

    def _fit(self, candidate: Candidate, fold: int) -> bool:
        """Fit one learner to one fold; False if it is out of the race."""
        learner, name, estimator = candidate
        train = self.splits[fold][0]
        if learner is not None and learner.max_rows is not None and len(train) > learner.max_rows:
            self.skipped[name] = f"more than {learner.max_rows:,} rows"
            return False
        if self.budget.left <= self._expected(learner, name):
            if name in self.results:
                self.notes[name] = f"{fold} of {len(self.splits)} folds: no time left"
            else:
                self.skipped[name] = "no time left"
            return False
        begin = perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = fit_fold(
                    estimator, self.problem, self.splits[fold], self.metrics,
                    seed=self.problem.seed + fold, n_jobs=self._n_jobs,
                )  # fmt: skip
        except (SpinneyError, ValueError, MemoryError, ArithmeticError, np.linalg.LinAlgError) as error:
            self.skipped[name] = f"failed: {str(error).split('. ')[0]}"
            self.results.pop(name, None)
            return False
        self.budget.note(name, perf_counter() - begin)
        self.results.setdefault(name, []).append(result)
        if self._callback is not None:
            mean = float(np.mean([one.scores[self.metrics[0].name] for one in self.results[name]]))
            self._callback(name, fold + 1, len(self.splits), mean)
        return True

    def _expected(self, learner: Learner | None, name: str) -> float:
        """Return the time that the next fold of a learner may take; 0 if nothing is known."""
        if name in self.results:
            return _MARGIN * self.budget.last(name)
        if learner is None or learner.relative_time is None:
            return 0.0
        other, factor = learner.relative_time
        return factor * self.budget.last(other)

    def _keep(self, running: list[Candidate], n_done: int) -> list[Candidate]:
        """Return the learners whose remaining folds fit the budget.

        First the repeats are given up, then the worst of the learners that take long, then further folds.
        """
        ordered = sorted(running, key=lambda one: -self._mean(one[1]) * self.metrics[0].sign)
        while ordered and len(self.splits) > n_done:
            times = [self.budget.last(name) for _, name, _ in ordered]
            if (len(self.splits) - n_done) * sum(times) <= self.budget.left:
                break
            slow = [place for place in range(1, len(ordered)) if times[place] >= _SLOW * max(times)]
            if len(self.splits) > max(self._n_folds, n_done):
                del self.splits[max(self._n_folds, n_done) :]
            elif slow:
                _, name, _ = ordered.pop(slow[-1])
                self.notes[name] = f"{n_done} of {len(self.splits)} folds: no time left"
            else:
                break  # as many folds as the time allows
        return [one for one in running if one in ordered]

    def _mean(self, name: str) -> float:
        mean = float(np.mean([one.scores[self.metrics[0].name] for one in self.results[name]]))
        return mean if np.isfinite(mean) else -np.inf * self.metrics[0].sign

    # ---- the record ----

    def entries(self) -> list[Entry]:
        """Return the entries of all learners, without p-values."""
        return [
            self._entry(learner, name, estimator)
            for learner, name, estimator in self.candidates
            if name in self.results
        ]

    def _entry(self, learner: Learner | None, name: str, estimator: Any) -> Entry:
        results = self.results[name]
        family = "your own" if learner is None else learner.family
        scores = {m.name: np.array([one.scores[m.name] for one in results]) for m in self.metrics}
        seconds = [float(np.mean([getattr(one, kind) for one in results])) for kind in _TIMES]
        return self._make(name, family, scores, seconds, self.notes.get(name, ""), estimator)

    def _make(
        self, name: str, family: str, scores: dict[str, Floats], seconds: list[float], note: str, made: Any
    ) -> Entry:
        first = scores[self.metrics[0].name]
        low, high = self.metrics[0].clip(confidence_interval(first, test_share(self.splits)))
        fit, predict = seconds
        return Entry(
            name, family, float(np.mean(first)), low, high, float("nan"), scores, fit, predict, note, made
        )

    def ensemble(self, entries: list[Entry]) -> list[Entry]:
        """Return the entry of the ensemble of the best, none if fewer than two learners can join."""
        n_folds = sorted(len(self.results[entry.name]) for entry in entries)[-min(3, len(entries))]
        if n_folds < 2:
            return []
        sign = self.metrics[0].sign
        complete = sorted(
            (entry for entry in entries if len(self.results[entry.name]) >= n_folds),
            key=lambda entry: -float(np.mean(entry.scores[self.metrics[0].name][:n_folds])) * sign,
        )
        splits = self.splits[:n_folds]
        members: list[tuple[Entry, Predictions]] = []
        for entry in complete:
            whole = gather(self.problem, splits, self.results[entry.name][:n_folds])
            if ensemble_of_best.usable(self.problem, whole) and len(members) < _MAX_MEMBERS:
                members.append((entry, whole))
        if len(members) < 2:
            return []
        chosen, whole_predictions = [entry for entry, _ in members], [whole for _, whole in members]
        by_fold = [[self.results[entry.name][f].predictions for entry in chosen] for f in range(n_folds)]
        folds = ensemble_of_best.score_folds(self.problem, splits, by_fold, whole_predictions, self.metrics)
        held_out = np.unique(np.concatenate([test for _, test in splits]))
        weights = ensemble_of_best.member_weights(self.problem, whole_predictions, held_out)
        made = ensemble_of_best.make_ensemble(
            self.problem, [(entry.name, entry.estimator) for entry in chosen], weights
        )
        kept = [(entry, w) for entry, w in zip(chosen, weights, strict=True) if w > 0]
        if len(kept) < 2:
            return []
        note = " + ".join(f"{w:.0%} {entry.name}" for entry, w in sorted(kept, key=lambda pair: -pair[1]))
        scores = {m.name: np.array([one[m.name] for one in folds]) for m in self.metrics}
        seconds = [sum(getattr(entry, kind) for entry, _ in kept) for kind in _TIMES]
        return [self._make(ENSEMBLE, "ensembles", scores, seconds, note, made)]
