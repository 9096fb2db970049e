"""Cross-validation of any estimator, with early stopping of boosting at one round for all folds."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputError, show_value
from spinney.core.frames import to_frame
from spinney.core.parameters import thread_count
from spinney.core.progress import ProgressBar
from spinney.members.fitting import fit_member
from spinney.members.tables import take_rows
from spinney.model_selection.folds import Split
from spinney.model_selection.learners import find_learner
from spinney.model_selection.metrics import Metric, Predictions, predict_all, resolve_metrics
from spinney.model_selection.problem import Problem, read_problem, seeded_copy, task_of
from spinney.model_selection.statistics import confidence_interval

_NEVER = 10**9


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Scores of one estimator on rows that were held out, fold by fold.

    Attributes
    ----------
    estimator : estimator
        The estimator, not fitted. After shared early stopping it has the chosen number of rounds.
    task : {"classification", "regression"}
        The task.
    metrics : tuple of Metric
        The metrics, the first one being that of `mean` and `interval`.
    scores : dict of str to ndarray of shape (n_folds,)
        Scores by metric.
    fit_seconds, predict_seconds : ndarray of shape (n_folds,)
        Times.
    test_share : float
        Rows held out divided by training rows, averaged over the folds.
    predictions : Predictions
        Held-out predictions of all rows, averaged over repeats; NaN for rows that were never held out.
    held_out : ndarray of shape (n_rows,), bool
        Rows that were held out at least once.
    curve : ndarray of shape (n_rounds, n_folds) or None
        Validation scores per round with shared early stopping, greater is better.
    best_round : int or None
        Round at which the mean of the curve is best.
    models : tuple of estimators
        The fitted models of the folds; empty unless they were asked for.

    Examples
    --------
    >>> from spinney import cross_validate
    >>> from spinney.datasets import load_watermelon3
    >>> found = cross_validate("c4.5", *load_watermelon3(frame=None), cv=3)
    >>> sorted(found.scores)[:2], len(found.scores["accuracy"])
    (['accuracy', 'balanced_accuracy'], 3)
    """

    estimator: Any
    task: str
    metrics: tuple[Metric, ...]
    scores: dict[str, Floats]
    fit_seconds: Floats
    predict_seconds: Floats
    test_share: float
    predictions: Predictions
    held_out: NDArray[np.bool_]
    curve: Floats | None = None
    best_round: int | None = None
    models: tuple[Any, ...] = ()

    @property
    def mean(self) -> float:
        """Mean of the first metric over the folds."""
        return float(np.mean(self.scores[self.metrics[0].name]))

    def interval(self, metric: str | None = None) -> tuple[float, float]:
        """Return a 95 % confidence interval of the mean of a metric, corrected for overlapping folds.

        Parameters
        ----------
        metric : str or None, default=None
            Name of the metric; None is the first.

        Returns
        -------
        tuple of float
            Lower and upper end.
        """
        chosen = next(one for one in self.metrics if metric in (None, one.name))
        return chosen.clip(confidence_interval(self.scores[chosen.name], self.test_share))

    def to_records(self) -> list[dict[str, Any]]:
        """Return one dict per metric.

        Returns
        -------
        list of dict
            Metric, mean, standard deviation over the folds, and the ends of the interval.
        """
        records = []
        for metric in self.metrics:
            scores, (low, high) = self.scores[metric.name], self.interval(metric.name)
            spread = float(np.std(scores, ddof=1)) if len(scores) > 1 else float("nan")
            mean = float(np.mean(scores))
            records.append({"metric": metric.name, "mean": mean, "std": spread, "low": low, "high": high})
        return records

    def to_frame(self) -> Any:
        """Return the scores as a data frame, one row per fold.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Fold, scores and times.
        """
        columns: dict[str, Any] = {"fold": list(range(len(self.fit_seconds)))}
        columns |= {name: list(values) for name, values in self.scores.items()}
        columns |= {"fit_seconds": list(self.fit_seconds), "predict_seconds": list(self.predict_seconds)}
        return to_frame(columns)

    def __repr__(self) -> str:
        low, high = self.interval()
        first = self.metrics[0]
        return (
            f"CrossValidation({first.name} {self.mean:.4g} [{low:.4g}, {high:.4g}], "
            f"{len(self.fit_seconds)} folds)"
        )


@dataclass(frozen=True, eq=False)
class FoldResult:
    """Outcome of one fold: scores by metric, times, held-out predictions, and the model."""

    scores: dict[str, float]
    fit_seconds: float
    predict_seconds: float
    predictions: Predictions
    model: Any


def fit_fold(
    estimator: Any,
    problem: Problem,
    split: Split,
    metrics: Sequence[Metric],
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    **fit_arguments: Any,
) -> FoldResult:
    """Fit a copy of an estimator to the training rows of a split, and score the rows held out."""
    train, test = split
    X, X_test = _known_columns(take_rows(problem.X, train), take_rows(problem.X, test))
    y = problem.y[train]
    weights = None if problem.weights is None else problem.weights[train]
    begin = perf_counter()
    model = fit_member(seeded_copy(estimator, seed, n_jobs), X, y, weights, **fit_arguments)
    middle = perf_counter()
    predictions = predict_all(model, X_test, problem.classes)
    end = perf_counter()
    scores = _scores(problem, test, predictions, metrics)
    return FoldResult(scores, middle - begin, end - middle, predictions, model)


def _known_columns(train: Any, test: Any) -> tuple[Any, Any]:
    """Return the rows without columns of text that have no value in the training rows.

    Nothing tells that they are text, so that values in the test rows would be an error. Other tables than
    dicts of columns have types.
    """
    if not isinstance(train, Mapping):
        return train, test
    empty = {
        name
        for name, column in train.items()
        if getattr(getattr(column, "dtype", None), "kind", "") == "O"
        and all(value is None for value in column.tolist())
    }
    return tuple({k: v for k, v in rows.items() if k not in empty} for rows in (train, test))  # type: ignore[return-value]


def _scores(
    problem: Problem, test: NDArray[np.intp], predictions: Predictions, metrics: Sequence[Metric]
) -> dict[str, float]:
    weights = None if problem.weights is None else problem.weights[test]
    return {metric.name: metric(problem.y[test], predictions, weights) for metric in metrics}


def gather(problem: Problem, splits: Sequence[Split], results: Sequence[FoldResult]) -> Predictions:
    """Return the held-out predictions of all rows, the mean where a row was held out several times."""
    width = max(problem.n_classes, 1)
    total, count = np.zeros((problem.n_rows, width)), np.zeros(problem.n_rows)
    has_probabilities = all(one.predictions.probabilities is not None for one in results)
    for (_, test), result in zip(splits, results, strict=False):
        found = result.predictions
        if problem.classes is None:
            total[test, 0] += found.labels
        elif has_probabilities and found.probabilities is not None:
            total[test] += found.probabilities
        else:  # votes
            total[test, np.searchsorted(problem.classes, found.labels)] += 1.0
        count[test] += 1
    with np.errstate(invalid="ignore"):
        mean = total / count[:, None]
    if problem.classes is None:
        return Predictions(mean[:, 0], None, None, None)
    labels = problem.classes[np.nan_to_num(mean).argmax(axis=1)]
    probabilities = mean if has_probabilities else None
    scores = probabilities[:, 1] if probabilities is not None and problem.n_classes == 2 else None
    return Predictions(labels, probabilities, scores, problem.classes)


def resolve_estimator(estimator: Any, problem: Problem) -> Any:
    """Return an estimator for a name of the table of learners; check that an estimator fits the task."""
    if isinstance(estimator, str):
        return find_learner(estimator).make(problem.task)
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise InputError(
            f"The estimator is {show_value(estimator)}",
            fix='It takes an estimator, or a name such as "auto".',
        )
    return estimator


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    repeats: int = 1,
    groups: Any = None,
    order: Any = None,
    scoring: Any = None,
    sample_weight: Any = None,
    task: Literal["classification", "regression"] | None = None,
    early_stopping: Literal["own", "shared"] = "own",
    patience: int = 50,
    return_models: bool = False,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CrossValidation:
    """Score an estimator by cross-validation.

    Parameters
    ----------
    estimator : estimator or str
        What to fit; a name such as "random-forest" is looked up in `spinney.model_selection.LEARNERS`.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        Features.
    y : array-like of shape (n_rows,)
        Class labels or target values.
    cv : int, splitter or iterable, default=5
        Number of folds, stratified by class; a scikit-learn splitter; or pairs of positions (train, test).
    repeats : int, default=1
        How often the cross-validation is repeated with other folds.
    groups : array-like of shape (n_rows,) or None, default=None
        Groups of rows that are never divided between training and test.
    order : array-like of shape (n_rows,) or None, default=None
        Times: every fold is trained on earlier rows than those it is tested on.
    scoring : str, Metric, list of these or None, default=None
        Metrics, the most important first. None is all, first ROC AUC (two classes), accuracy (more) or RMSE.
    sample_weight : array-like of shape (n_rows,) or None, default=None
        Row weights, for fits and for scores.
    task : {"classification", "regression"} or None, default=None
        None is the task of the estimator, or for a name that which the target asks for.
    early_stopping : {"own", "shared"}, default="own"
        "own" leaves early stopping to the estimator. With "shared" boosting stops all folds at the round at
        which the mean of their validation scores is best, as ``lightgbm.cv`` does: `best_round` is then the
        number of rounds to fit with, and the scores of that round are slightly optimistic.
    patience : int, default=50
        With shared early stopping: rounds without improvement of the mean after which all folds stop.
    return_models : bool, default=False
        Whether to keep the fitted models.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the folds, and of estimators whose ``random_state`` is None.
    n_jobs : int or None, default=None
        Number of threads of each fit; None leaves it to the estimator.
    verbose : int, default=0
        Above 0: show a progress bar.

    Returns
    -------
    CrossValidation
        Scores, times and held-out predictions.

    Examples
    --------
    >>> from spinney import GradientBoostingClassifier, cross_validate
    >>> from spinney.datasets import make_box
    >>> found = cross_validate(GradientBoostingClassifier(), *make_box(300), cv=3, early_stopping="shared")
    >>> found.mean > 0.95, found.best_round == found.estimator.n_estimators
    (True, True)
    """
    if early_stopping not in ("own", "shared"):
        raise InputError(f'early_stopping is {show_value(early_stopping)}; it takes "own" or "shared".')
    named = None if isinstance(estimator, str) else task_of(estimator)
    problem = read_problem(
        X, y, task=task or named, sample_weight=sample_weight, groups=groups, order=order,
        random_state=random_state,
    )  # fmt: skip
    estimator = resolve_estimator(estimator, problem)
    metrics = resolve_metrics(scoring, problem.task, problem.n_classes)
    splits = problem.folds(cv, repeats)
    if early_stopping == "shared":
        return _cross_validate_shared(estimator, problem, splits, metrics, patience, n_jobs, return_models)
    results = []
    with ProgressBar("folds", len(splits), shown=verbose) as bar:
        for done, split in enumerate(splits, 1):
            results.append(
                fit_fold(estimator, problem, split, metrics, seed=problem.seed + done, n_jobs=n_jobs)
            )
            bar.update(done)
    return assemble(estimator, problem, splits, metrics, results, keep_models=return_models)


def assemble(
    estimator: Any,
    problem: Problem,
    splits: Sequence[Split],
    metrics: Sequence[Metric],
    results: Sequence[FoldResult],
    *,
    keep_models: bool = False,
    curve: Floats | None = None,
    best_round: int | None = None,
) -> CrossValidation:
    """Return the record of some finished folds."""
    held_out = np.zeros(problem.n_rows, dtype=np.bool_)
    for _, test in splits[: len(results)]:
        held_out[test] = True
    return CrossValidation(
        estimator,
        problem.task,
        tuple(metrics),
        {metric.name: np.array([one.scores[metric.name] for one in results]) for metric in metrics},
        np.array([one.fit_seconds for one in results]),
        np.array([one.predict_seconds for one in results]),
        float(np.mean([len(test) / len(train) for train, test in splits])),
        gather(problem, splits, results),
        held_out,
        curve,
        best_round,
        tuple(one.model for one in results) if keep_models else (),
    )


# ---- one number of rounds for all folds ----


class SharedStopping:
    """Lets the folds of a boosted model train in step, each in its own thread, and stops them together.

    After every round all folds wait for each other. They stop once the mean of their validation scores has
    not improved for ``patience`` rounds. A fold that ends by itself keeps its last score.
    """

    def __init__(self, n_folds: int, patience: int) -> None:
        self.patience = patience
        self.curve: list[list[float]] = []
        self.best_round, self._best = 0, -np.inf
        self._now = [-np.inf] * n_folds
        self._running, self._waiting = n_folds, 0
        self._stop = False
        self._changed = threading.Condition()

    def callback(self, fold: int) -> Callable[[Any], bool]:
        """Return the callback of a fold."""

        def after_round(round: Any) -> bool:
            if round.validation_score is None:
                raise InputError("Shared early stopping needs a score; set scoring of the estimator.")
            with self._changed:
                self._now[fold] = float(round.validation_score)
                self._waiting += 1
                number = len(self.curve)
                self._close_round()
                self._changed.wait_for(lambda: len(self.curve) > number or self._stop)
                return self._stop

        return after_round

    def finish(self, *, failed: bool = False) -> None:
        """Count a fold out, after it has ended or failed; a failure ends the others."""
        with self._changed:
            self._running -= 1
            self._stop = self._stop or failed
            self._close_round()
            self._changed.notify_all()

    def _close_round(self) -> None:
        """Note the scores of a round once no fold is missing."""
        if not 0 < self._running == self._waiting:
            return
        self._waiting = 0
        self.curve.append(list(self._now))
        mean = float(np.mean(self._now))
        if mean > self._best:
            self._best, self.best_round = mean, len(self.curve)
        self._stop = self._stop or len(self.curve) - self.best_round >= self.patience
        self._changed.notify_all()


def _has_rounds(estimator: Any) -> bool:
    """Return whether an estimator is boosted in rounds with callbacks and validation rows."""
    accepted = inspect.signature(estimator.fit).parameters
    return {"callbacks", "eval_set"} <= set(accepted) and hasattr(type(estimator), "resume")


def _cross_validate_shared(
    estimator: Any,
    problem: Problem,
    splits: Sequence[Split],
    metrics: Sequence[Metric],
    patience: int,
    n_jobs: int | None,
    keep_models: bool,
) -> CrossValidation:
    if not _has_rounds(estimator):
        raise InputError(
            f"{type(estimator).__name__} has no rounds that callbacks could stop",
            fix='Use early_stopping="own".',
        )
    known = estimator.get_params()
    in_step = {"early_stopping": True, "n_iter_no_change": _NEVER, "refit": False, "n_members": 1}
    trained = seeded_copy(estimator, problem.seed, None)
    trained.set_params(**{name: value for name, value in in_step.items() if name in known})
    threads = max(1, thread_count(n_jobs) // len(splits))
    stopping = SharedStopping(len(splits), patience)
    results: list[Any] = [None] * len(splits)

    def run(fold: int) -> None:
        test = splits[fold][1]
        rows = (take_rows(problem.X, test), problem.y[test])
        arguments: dict[str, Any] = {"eval_set": rows, "callbacks": [stopping.callback(fold)]}
        try:
            with parallel_config(n_jobs=threads):
                results[fold] = fit_fold(trained, problem, splits[fold], (), n_jobs=threads, **arguments)
        except BaseException as error:
            results[fold] = error
        stopping.finish(failed=isinstance(results[fold], BaseException))

    workers = [threading.Thread(target=run, args=(fold,), daemon=True) for fold in range(len(splits))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    best = max(stopping.best_round, 1)
    scored = [
        _at_round(problem, split, one, best, metrics) for split, one in zip(splits, results, strict=True)
    ]
    # Chosen values stay as they were: some depend on the number of rounds.
    chosen: dict[str, Any] = dict(getattr(scored[0].model, "chosen_", {}))
    chosen |= {"n_estimators": best, "early_stopping": False, "refit": False, "n_members": 1}
    final = seeded_copy(estimator, problem.seed, None)
    final.set_params(**{name: value for name, value in chosen.items() if name in known})
    return assemble(
        final, problem, splits, metrics, scored,
        keep_models=keep_models, curve=np.array(stopping.curve), best_round=best,
    )  # fmt: skip


def _at_round(
    problem: Problem, split: Split, result: FoldResult, best: int, metrics: Sequence[Metric]
) -> FoldResult:
    """Return the result of a fold with the predictions of one round."""
    result.model.best_iteration_ = min(best, result.model.n_iter_)
    model = copy(result.model)  # what follows from the round is computed anew
    begin = perf_counter()
    predictions = predict_all(model, take_rows(problem.X, split[1]), problem.classes)
    seconds = perf_counter() - begin
    scores = _scores(problem, split[1], predictions, metrics)
    return FoldResult(scores, result.fit_seconds, seconds, predictions, model)
