"""Metrics of held-out predictions, by name; every model is asked once for each kind of prediction."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.data.target import read_target
from spinney.members.tables import count_rows

Task: TypeAlias = Literal["classification", "regression"]

_MAX_CODED_CLASSES = 20
"""Integers with more distinct values than this are values of a regression."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model predicts for some rows.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,)
        Classes, or values of a regressor.
    probabilities : ndarray of shape (n_rows, n_classes) or None
        Probabilities in the order of `classes`; None where the model has none.
    scores : ndarray of shape (n_rows,) or None
        Something that increases with the probability of the second of two classes.
    classes : ndarray of shape (n_classes,) or None
        All classes of the task; None in regression.

    Examples
    --------
    >>> Predictions(np.array([1.0, 2.0]), None, None, None).take([1]).labels.tolist()
    [2.0]
    """

    labels: NDArray[Any]
    probabilities: Floats | None
    scores: Floats | None
    classes: NDArray[Any] | None

    def take(self, rows: Any) -> Predictions:
        """Return the predictions of some rows.

        Parameters
        ----------
        rows : array-like
            Positions or a mask.

        Returns
        -------
        Predictions
            Those of the rows.
        """
        chosen = np.asarray(rows)
        parts = [None if one is None else one[chosen] for one in (self.probabilities, self.scores)]
        return Predictions(self.labels[chosen], parts[0], parts[1], self.classes)


def predict_all(model: Any, X: Any, classes: NDArray[Any] | None) -> Predictions:
    """Return the predictions of a fitted model.

    >>> from spinney import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "b"])
    >>> predict_all(model, [[0.0]], np.array(["a", "b", "c"])).probabilities.tolist()
    [[1.0, 0.0, 0.0]]
    """
    if classes is None:
        return Predictions(np.asarray(model.predict(X), np.float64), None, None, None)
    known = np.asarray(model.classes_)
    probabilities = None
    if hasattr(model, "predict_proba"):
        probabilities = np.zeros((count_rows(X), len(classes)))
        probabilities[:, np.searchsorted(classes, known)] = model.predict_proba(X)
        labels = known[np.asarray(probabilities[:, np.searchsorted(classes, known)].argmax(axis=1))]
    else:
        labels = np.asarray(model.predict(X))
    scores = None
    if len(classes) == 2:
        if probabilities is not None:
            scores = probabilities[:, 1]
        elif hasattr(model, "decision_function") and len(known) == 2:
            scores = np.asarray(model.decision_function(X), np.float64)
    return Predictions(labels, probabilities, scores, classes)


MetricFunction: TypeAlias = Callable[[NDArray[Any], Predictions, Floats | None], float]


@dataclass(frozen=True)
class Metric:
    """A metric of predictions.

    Attributes
    ----------
    name : str
        Name, as in scikit-learn where it has one.
    title : str
        Heading of a table.
    greater_is_better : bool
        Whether larger values are better.
    function : callable
        Function of (y, predictions, weights).
    lowest, highest : float
        Smallest and largest possible value.

    Examples
    --------
    >>> metric = find_metric("rmse", "regression")
    >>> metric(np.array([1.0, 2.0]), Predictions(np.array([1.0, 4.0]), None, None, None))
    1.4142135623730951
    """

    name: str
    title: str
    greater_is_better: bool
    function: MetricFunction
    lowest: float = 0.0
    highest: float = 1.0

    def __call__(self, y: NDArray[Any], predictions: Predictions, weights: Floats | None = None) -> float:
        """Return the metric; NaN where it is not defined."""
        return float(self.function(y, predictions, weights))

    def is_better(self, score: float, than: float) -> bool:
        """Return whether a value is better than another; NaN never is.

        Parameters
        ----------
        score, than : float
            The two values.

        Returns
        -------
        bool
            Whether the first one is better.
        """
        return score > than if self.greater_is_better else score < than

    def clip(self, interval: tuple[float, float]) -> tuple[float, float]:
        """Return an interval without values that the metric cannot have.

        Parameters
        ----------
        interval : tuple of float
            Lower and upper end.

        Returns
        -------
        tuple of float
            The ends.
        """
        return max(interval[0], self.lowest), min(interval[1], self.highest)

    @property
    def sign(self) -> float:
        """1 if larger values are better, else −1."""
        return 1.0 if self.greater_is_better else -1.0


# ---- classification ----


# The bootstrap computes them hundreds of times, which scikit-learn's checks of arguments would make slow.


def _codes(p: Predictions, labels: NDArray[Any]) -> NDArray[np.intp]:
    return np.searchsorted(p.classes, labels) if p.classes is not None else np.zeros(len(labels), np.intp)


def _confusion(y: NDArray[Any], p: Predictions, w: Floats | None) -> Floats:
    """Return the weight of rows by true and predicted class.  -> (n_classes, n_classes)"""
    n = 0 if p.classes is None else len(p.classes)
    cells = _codes(p, y) * n + _codes(p, p.labels)
    return np.bincount(cells, w, n * n).astype(np.float64).reshape(n, n)


def _accuracy(y: NDArray[Any], p: Predictions, w: Floats | None) -> float:
    return float(np.average(y == p.labels, weights=w))


def _balanced_accuracy(y: NDArray[Any], p: Predictions, w: Floats | None) -> float:
    matrix = _confusion(y, p, w)
    of_class = matrix.sum(axis=1)
    present = of_class > 0
    return float(np.mean(np.diag(matrix)[present] / of_class[present]))


def _f1_macro(y: NDArray[Any], p: Predictions, w: Floats | None) -> float:
    matrix = _confusion(y, p, w)
    sizes = matrix.sum(axis=0) + matrix.sum(axis=1)
    present = sizes > 0
    return float(np.mean(2 * np.diag(matrix)[present] / sizes[present]))


def _log_loss(y: NDArray[Any], p: Predictions, w: Floats | None) -> float:
    if p.probabilities is None or p.classes is None:
        return float("nan")
    chosen = p.probabilities[np.arange(len(y)), np.searchsorted(p.classes, y)]
    return float(np.average(-np.log(np.clip(chosen, 1e-15, 1.0)), weights=w))


def _brier(y: NDArray[Any], p: Predictions, w: Floats | None) -> float:
    if p.probabilities is None or p.classes is None:
        return float("nan")
    true = np.asarray(y)[:, None] == p.classes
    squares = ((p.probabilities - true) ** 2).sum(axis=1)
    # Of two classes only one counts, as in scikit-learn and in reports.
    return float(np.average(squares, weights=w)) / (2.0 if len(p.classes) == 2 else 1.0)


def _area(is_positive: NDArray[np.bool_], scores: Floats, w: Floats | None) -> float:
    """Return the area under the ROC curve: the share of pairs in the right order, ties counting half."""
    weights = np.ones(len(scores)) if w is None else w
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    positive = np.where(is_positive, weights, 0.0)[order]
    negative = np.where(is_positive, 0.0, weights)[order]
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    ups, downs = (np.diff(np.cumsum(one)[ends], prepend=0.0) for one in (positive, negative))
    below = np.cumsum(downs) - downs / 2
    pairs = positive.sum() * negative.sum()
    return float((ups * below).sum() / pairs) if pairs > 0 else float("nan")


def _roc_auc(y: NDArray[Any], p: Predictions, w: Floats | None) -> float:
    if p.classes is None:
        return float("nan")
    if len(p.classes) == 2:
        return float("nan") if p.scores is None else _area(y == p.classes[1], p.scores, w)
    if p.probabilities is None:
        return float("nan")
    codes = _codes(p, y)
    # One against the rest, averaged over the classes that occur.
    areas = [_area(codes == k, p.probabilities[:, k], w) for k in range(len(p.classes))]
    known = [area for area in areas if np.isfinite(area)]
    return float(np.mean(known)) if known else float("nan")


# ---- regression ----


def _rmse(y: Any, p: Predictions, w: Floats | None) -> float:
    return float(np.sqrt(np.average((y - p.labels) ** 2, weights=w)))


def _mae(y: Any, p: Predictions, w: Floats | None) -> float:
    return float(np.average(np.abs(y - p.labels), weights=w))


def _median_error(y: Any, p: Predictions, w: Floats | None) -> float:
    errors = np.abs(y - p.labels)
    if w is None:
        return float(np.median(errors))
    order = np.argsort(errors)
    return float(errors[order][np.searchsorted(np.cumsum(w[order]), 0.5 * w.sum())])


def _r2(y: Any, p: Predictions, w: Floats | None) -> float:
    spread = np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    return 1.0 - _rmse(y, p, w) ** 2 / float(spread) if spread > 0 else float("nan")


CLASSIFICATION: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "accuracy", True, _accuracy),
        Metric("balanced_accuracy", "balanced accuracy", True, _balanced_accuracy),
        Metric("f1_macro", "F1 (macro)", True, _f1_macro),
        Metric("roc_auc", "ROC AUC", True, _roc_auc),
        Metric("log_loss", "log loss", False, _log_loss, highest=np.inf),
        Metric("brier", "Brier score", False, _brier, highest=2.0),
    )
}
REGRESSION: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("rmse", "RMSE", False, _rmse, highest=np.inf),
        Metric("mae", "MAE", False, _mae, highest=np.inf),
        Metric("median_error", "median error", False, _median_error, highest=np.inf),
        Metric("r2", "R²", True, _r2, lowest=-np.inf),
    )
}


def metrics_of(task: Task) -> Mapping[str, Metric]:
    """Return the metrics of a task by name.

    >>> sorted(metrics_of("regression"))
    ['mae', 'median_error', 'r2', 'rmse']
    """
    return CLASSIFICATION if task == "classification" else REGRESSION


def default_metric(task: Task, n_classes: int) -> str:
    """Return the metric that learners are ordered by unless another is named.

    >>> default_metric("classification", 2), default_metric("regression", 0)
    ('roc_auc', 'rmse')
    """
    if task == "regression":
        return "rmse"
    return "roc_auc" if n_classes == 2 else "accuracy"


def find_metric(name: str | Metric, task: Task) -> Metric:
    """Return a metric by name.

    >>> find_metric("neg_log_loss", "classification").name
    'log_loss'
    """
    if isinstance(name, Metric):
        return name
    known = metrics_of(task)
    aliases = {
        "auc": "roc_auc",
        "logloss": "log_loss",
        "neg_log_loss": "log_loss",
        "root_mean_squared_error": "rmse",
        "neg_root_mean_squared_error": "rmse",
        "neg_mean_absolute_error": "mae",
        "f1": "f1_macro",
    }
    wanted = aliases.get(name, name)
    if wanted in known:
        return known[wanted]
    near = difflib.get_close_matches(wanted, known, n=1, cutoff=0.5)
    fix = f"Did you mean {near[0]!r}?" if near else f"Metrics of {task}: {', '.join(known)}."
    raise InputError(f"There is no metric {name!r} of {task}", fix=fix)


def recognise_task(y: Any) -> Task:
    """Return the task that a target asks for.

    Text, booleans and integers with at most 20 distinct values are classes; other numbers are values. A
    number of classes close to the number of rows is a regression as well.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The target.

    Returns
    -------
    {"classification", "regression"}
        The task.

    Examples
    --------
    >>> recognise_task(["a", "b", "a"]), recognise_task([0.5, 1.25, 3.0])
    ('classification', 'regression')
    """
    array = read_target(y, count_rows(y))
    if array.dtype.kind not in "fiu":
        numeric = array.dtype.kind == "O" and all(isinstance(one, int | float) for one in array.tolist())
        if not numeric or all(isinstance(one, bool) for one in array.tolist()):
            return "classification"
        array = array.astype(np.float64)
    if not np.array_equal(array, np.round(array.astype(np.float64))):
        return "regression"
    n_distinct = len(np.unique(array))
    few = n_distinct <= _MAX_CODED_CLASSES and (n_distinct <= 2 or n_distinct * 5 <= len(array))
    return "classification" if few else "regression"


def resolve_metrics(scoring: Any, task: Task, n_classes: int) -> list[Metric]:
    """Return the metrics to compute, the one to order by first."""
    if scoring is None:
        first = find_metric(default_metric(task, n_classes), task)
        return [first, *(metric for metric in metrics_of(task).values() if metric is not first)]
    given: Sequence[Any] = [scoring] if isinstance(scoring, str | Metric) else list(scoring)
    if not given:
        raise InputError("scoring is empty; it takes the name of a metric or several.")
    return [find_metric(one, task) for one in given]
