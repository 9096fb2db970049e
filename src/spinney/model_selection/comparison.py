"""`compare`: a leaderboard of learners, cross-validated on the same folds within a time budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from spinney.core.errors import InputError
from spinney.core.frames import to_frame
from spinney.core.progress import ProgressBar
from spinney.members.fitting import fit_member
from spinney.model_selection.budget import Budget, rows_within
from spinney.model_selection.folds import Split
from spinney.model_selection.learners import LEARNERS, Learner, find_learner
from spinney.model_selection.metrics import Metric, resolve_metrics
from spinney.model_selection.problem import Problem, read_problem, seeded_copy, task_of
from spinney.model_selection.race import ENSEMBLE, Entry, Race, test_share
from spinney.model_selection.statistics import corrected_t_test


@dataclass(frozen=True, eq=False)
class Comparison:
    """Leaderboard of learners, the best first.

    Attributes
    ----------
    entries : tuple of Entry
        Learners that finished at least one fold, the best first.
    skipped : dict of str to str
        Learners that were not fitted, and why.
    task : {"classification", "regression"}
        The task.
    metrics : tuple of Metric
        The metrics; learners are ordered by the first.
    n_rows : int
        Number of rows.
    n_rows_used : int
        Number of rows that were used, fewer than `n_rows` if all would not have fit the time budget.
    n_folds : int
        Number of splits, repeats included.
    seconds : float
        Time that the comparison took.
    seed : int
        Seed of the folds.

    Examples
    --------
    >>> from spinney import compare
    >>> from spinney.datasets import make_box
    >>> found = compare(*make_box(200), learners=["cart", "naive-bayes"], cv=3, ensemble=False)
    >>> found.best.name, found.best_estimator
    ('cart', DecisionTreeClassifier(pruning='cost-complexity'))
    """

    entries: tuple[Entry, ...]
    skipped: dict[str, str]
    task: Literal["classification", "regression"]
    metrics: tuple[Metric, ...]
    n_rows: int
    n_rows_used: int
    n_folds: int
    seconds: float
    seed: int

    @property
    def best(self) -> Entry:
        """The first entry."""
        return self.entries[0]

    @property
    def best_estimator(self) -> Any:
        """The estimator of the first entry, not fitted."""
        return self.best.estimator

    def fit(
        self, X: Any, y: Any, *, name: str | None = None, sample_weight: Any = None, n_jobs: int | None = None
    ) -> Any:
        """Fit the best learner, or another one, to all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Target.
        name : str or None, default=None
            Name of the entry; None is the best.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights.
        n_jobs : int or None, default=None
            Number of threads.

        Returns
        -------
        estimator
            The fitted estimator.
        """
        chosen = next((entry for entry in self.entries if name in (None, entry.name)), None)
        if chosen is None:
            known = ", ".join(entry.name for entry in self.entries)
            raise InputError(f"There is no entry {name!r}", fix=f"Entries: {known}.")
        return fit_member(seeded_copy(chosen.estimator, self.seed, n_jobs), X, y, sample_weight)

    def to_records(self) -> list[dict[str, Any]]:
        """Return one dict per entry.

        Returns
        -------
        list of dict
            Rank, name, family, score with its interval, p-value, the other metrics, times and note.
        """
        records = []
        for rank, entry in enumerate(self.entries, 1):
            more = {m.name: float(np.mean(entry.scores[m.name])) for m in self.metrics[1:]}
            records.append(
                {
                    "rank": rank,
                    "learner": entry.name,
                    "family": entry.family,
                    self.metrics[0].name: entry.score,
                    "low": entry.low,
                    "high": entry.high,
                    "p_value": entry.p_value,
                    **more,
                    "folds": len(entry.scores[self.metrics[0].name]),
                    "fit_seconds": entry.fit_seconds,
                    "predict_seconds": entry.predict_seconds,
                    "note": entry.note,
                }
            )
        return records

    def to_frame(self) -> Any:
        """Return the leaderboard as a data frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            One row per entry, with the columns of `to_records`.
        """
        records = self.to_records()
        return to_frame({name: [record[name] for record in records] for name in records[0]})

    def __repr__(self) -> str:
        return f"Comparison({len(self.entries)} learners, best {self.best.name!r})"

    def __str__(self) -> str:
        metric = self.metrics[0]
        lines = [f"{'learner':<26} {metric.title:>9}  95 % interval      p-value  fit"]
        for entry in self.entries:
            interval = f"{entry.low:.4g} … {entry.high:.4g}" if np.isfinite(entry.low) else "one fold"
            p_value = f"{entry.p_value:.3f}" if np.isfinite(entry.p_value) else "–"
            score, seconds = f"{entry.score:>9.4g}", f"{entry.fit_seconds:.2f} s"
            lines.append(f"{entry.name:<26} {score}  {interval:<17}  {p_value:>7}  {seconds}")
        return "\n".join(lines)


def compare(
    X: Any,
    y: Any,
    *,
    learners: Iterable[Any] | None = None,
    cv: Any = 5,
    repeats: int | Literal["auto"] = "auto",
    time: float | None = None,
    ensemble: bool = True,
    groups: Any = None,
    order: Any = None,
    scoring: Any = None,
    sample_weight: Any = None,
    task: Literal["classification", "regression"] | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    callback: Callable[[str, int, int, float], object] | None = None,
    verbose: int = 0,
) -> Comparison:
    """Compare learners of every family by cross-validation on the same folds.

    Within a time budget every learner is fitted to the first fold, if its time allows; then those with the
    worst scores are dropped until the remaining folds fit the budget. With many rows a part of them is used.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        Features. Categories and missing values are encoded for learners that need it.
    y : array-like of shape (n_rows,)
        Class labels or target values.
    learners : iterable of str, estimators or pairs, or None, default=None
        Names, estimators, or pairs (name, estimator). None is one or more learners of every family.
    cv : int, splitter or iterable, default=5
        Number of folds, a scikit-learn splitter, or pairs of positions (train, test).
    repeats : int or "auto", default="auto"
        How often the cross-validation is repeated with other folds; "auto" is 3 below 1,000 rows, 2 below
        3,000, else 1.
    time : float or None, default=None
        Time budget in seconds.
    ensemble : bool, default=True
        Whether to add a weighted mean of the best learners. Its weights are those of greedy selection on
        held-out predictions; its score on a fold uses weights from the other folds.
    groups : array-like of shape (n_rows,) or None, default=None
        Groups of rows that are never divided between training and test.
    order : array-like of shape (n_rows,) or None, default=None
        Times: every fold is trained on earlier rows than those it is tested on.
    scoring : str, Metric, list of these or None, default=None
        Metrics, the one to order by first. None is ROC AUC (two classes), accuracy (more) or RMSE.
    sample_weight : array-like of shape (n_rows,) or None, default=None
        Row weights, for fits and for scores.
    task : {"classification", "regression"} or None, default=None
        None is what the target asks for.
    random_state : int, RandomState, Generator or None, default=0
        Seed of folds and learners. With a time budget the outcome also depends on the speed of the machine.
    n_jobs : int or None, default=None
        Number of threads of each fit.
    callback : callable or None, default=None
        Called with (name, folds done, folds planned, mean score) after every fold.
    verbose : int, default=0
        Above 0: show a progress bar.

    Returns
    -------
    Comparison
        The leaderboard.

    Examples
    --------
    >>> from spinney import compare
    >>> from spinney.datasets import load_tic_tac_toe
    >>> found = compare(*load_tic_tac_toe(), learners=["cart", "naive-bayes"], cv=3)
    >>> [entry.name for entry in found.entries if entry.family != "ensembles"]
    ['cart', 'naive-bayes']
    """
    budget = Budget(time)
    problem = read_problem(
        X, y, task=task, sample_weight=sample_weight, groups=groups, order=order, random_state=random_state
    )
    metrics = resolve_metrics(scoring, problem.task, problem.n_classes)
    candidates = _candidates(learners, problem)
    used = rows_within(problem, candidates, budget, n_jobs)
    if repeats == "auto":
        repeats = 3 if used.n_rows < 1_000 else 2 if used.n_rows < 3_000 else 1
    race = Race(used, used.folds(cv, repeats), metrics, candidates, budget, n_jobs, callback, repeats)
    with ProgressBar("learners × folds", race.n_planned, shown=verbose) as bar:
        race.run(bar)
    if not race.results:
        raise InputError(
            "No learner finished a fold",
            fix="Allow more time, or name quicker learners. "
            + " ".join(f"{name}: {why}." for name, why in list(race.skipped.items())[:3]),
        )
    entries = race.entries()
    if ensemble and len(entries) > 1:
        entries += race.ensemble(entries)
    ordered = _rank(entries, race.splits, metrics[0])
    return Comparison(
        ordered,
        race.skipped,
        problem.task,
        tuple(metrics),
        problem.n_rows,
        used.n_rows,
        len(race.splits),
        budget.spent,
        problem.seed,
    )


def _candidates(learners: Iterable[Any] | None, problem: Problem) -> list[tuple[Learner | None, str, Any]]:
    """Return (learner of the table or None, name, estimator) of everything to compare."""
    if learners is None:
        chosen = [one for one in LEARNERS if one.compared and one.supports(problem.task)]
        return [(one, one.name, one.make(problem.task)) for one in chosen]
    found: list[tuple[Learner | None, str, Any]] = []
    for given in learners:
        if isinstance(given, str):
            learner = find_learner(given)
            found.append((learner, learner.name, learner.make(problem.task)))
            continue
        name, estimator = given if isinstance(given, tuple) else (type(given).__name__, given)
        if task_of(estimator) not in (None, problem.task):
            raise InputError(f"{name} is not for {problem.task}", fix="Set task, or leave it out.")
        found.append((None, str(name), estimator))
    names = [name for _, name, _ in found]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if not found or repeated is not None or ENSEMBLE in names:
        problem_text = "There are no learners" if not found else f"The name {repeated or ENSEMBLE!r} is taken"
        raise InputError(problem_text, fix="Pass pairs (name, estimator) with different names.")
    return found


def _rank(entries: list[Entry], splits: Sequence[Split], metric: Metric) -> tuple[Entry, ...]:
    """Order entries by score, and add the p-values against the best.

    Entries with fewer folds than others are compared on the folds that they have, and lose as much as their
    mean is less certain: one standard error of the differences between learners on a fold.
    """
    scores = {entry.name: entry.scores[metric.name] * metric.sign for entry in entries}
    n_folds = max(len(own) for own in scores.values())
    complete = [own for own in scores.values() if len(own) == n_folds]
    reference = np.max(complete, axis=0)
    spreads = [float(np.std(reference - own)) for own in complete if len(own) > 1]
    spread = float(np.median(spreads)) if len(spreads) > 2 else float(np.std(reference))

    def place(entry: Entry) -> tuple[float, float]:
        own = scores[entry.name]
        behind = float(np.mean(reference[: len(own)] - own))
        behind += spread * (len(own) ** -0.5 - n_folds**-0.5)
        return behind if np.isfinite(behind) else np.inf, entry.fit_seconds

    ordered = sorted(entries, key=place)
    best = scores[ordered[0].name]
    ranked = [ordered[0]]
    for entry in ordered[1:]:
        own = scores[entry.name]
        n = min(len(own), len(best))
        p_value = corrected_t_test(best[:n], own[:n], test_share(splits))
        ranked.append(Entry(**(vars(entry) | {"p_value": p_value})))
    return tuple(ranked)
