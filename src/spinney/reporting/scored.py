"""Scored: the predictions of a model beside the truth, and metrics of them with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from spinney.core.arrays import Floats
from spinney.core.errors import InputError, show_value
from spinney.data.target import by_output, encode_like
from spinney.metrics import mean_average_precision, ndcg
from spinney.reporting.rows import EvaluationRows

Task = Literal["binary", "multiclass", "regression", "ranking"]
HIGHER_IS_BETTER = {
    "ROC AUC": True,
    "average precision": True,
    "accuracy": True,
    "balanced accuracy": True,
    "F1": True,
    "macro F1": True,
    "log loss": False,
    "Brier score": False,
    "RMSE": False,
    "MAE": False,
    "R²": True,
    "NDCG": True,
    "NDCG@10": True,
    "MAP": True,
}
"""Names of the metrics, and whether larger values are better."""
_EPSILON = 1e-15


@dataclass(frozen=True, eq=False)
class Scored:
    """Predictions of one model, beside the truth.

    Attributes
    ----------
    task : {"binary", "multiclass", "regression", "ranking"}
        What is predicted.
    truth : ndarray of shape (n_rows,)
        Class codes, or values.
    predicted : ndarray of shape (n_rows,)
        Predicted class codes, or values.
    proba : ndarray of shape (n_rows, n_classes) or None
        Class probabilities.
    score : ndarray of shape (n_rows,) or None
        With two classes, what orders the rows: the probability of the second class, or its score.
    classes : tuple
        Labels of the classes.
    query : ndarray of shape (n_rows,) or None
        Queries of a ranking.
    """

    task: Task
    truth: NDArray[Any]
    predicted: NDArray[Any]
    proba: Floats | None = None
    score: Floats | None = None
    classes: tuple[Any, ...] = ()
    query: NDArray[np.int64] | None = None

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Rows by descending score."""
        assert self.score is not None
        return np.argsort(-self.score, kind="stable")

    def losses(self) -> Floats:
        """Return the loss of each row: log loss, wrong or not without probabilities, absolute error."""
        if self.task in ("regression", "ranking"):
            return np.abs(np.asarray(self.predicted - self.truth, np.float64))
        if self.proba is None:
            return np.asarray(self.predicted != self.truth, np.float64)
        own = self.proba[np.arange(len(self.truth)), self.truth]
        return np.asarray(-np.log(np.clip(own, _EPSILON, 1.0)))

    def metrics(self, weight: Floats) -> dict[str, float]:
        """Return all metrics of the task, by name; the first is the headline."""
        if self.task == "regression":
            return _regression_metrics(self, weight)
        if self.task == "ranking":
            return _ranking_metrics(self, weight)
        return _class_metrics(self, weight)


def find_task(model: Any, rows: EvaluationRows) -> Task | None:
    """Return what a model predicts; None if there is no target or it does not predict."""
    if rows.y is None or not hasattr(model, "predict"):
        return None
    if is_classifier(model):
        return "binary" if len(_classes(model, 0)) == 2 else "multiclass"
    if rows.query is not None:
        return "ranking"
    return "regression" if rows.y.dtype.kind in "fiub" else None


def _classes(model: Any, output: int) -> NDArray[Any]:
    labels: NDArray[Any] = np.asarray(by_output(model.classes_)[output])
    return labels


def score_rows(model: Any, rows: EvaluationRows, task: Task, output: int = 0) -> Scored:
    """Predict the rows with a model."""
    predicted = np.asarray(model.predict(rows.X))
    predicted = predicted[:, output] if predicted.ndim == 2 else predicted
    assert rows.y is not None
    if task in ("regression", "ranking"):
        return Scored(task, rows.y.astype(np.float64), predicted.astype(np.float64), query=rows.query)
    classes = _classes(model, output if isinstance(model.classes_, list) else 0)
    truth = encode_like(rows.y, [classes])[:, 0]
    if (truth < 0).any():
        row = int((truth < 0).argmax())
        label = rows.y[row : row + 1].tolist()[0]
        raise InputError(
            f"y has the class {show_value(label)} in row {int(rows.position[row])}, which the model "
            "was not fitted to",
            fix="Leave out these rows.",
        )
    proba = score = None
    if hasattr(model, "predict_proba"):
        found = model.predict_proba(rows.X)
        proba = np.asarray(found[output] if isinstance(found, list) else found, np.float64)
    if len(classes) == 2:
        if proba is not None:
            score = proba[:, 1]
        elif hasattr(model, "decision_function"):
            score = np.asarray(model.decision_function(rows.X), np.float64)
            score = score if score.ndim == 1 else score[:, 1]
    codes = encode_like(predicted, [classes])[:, 0]
    return Scored(task, truth, codes, proba, score, tuple(classes.tolist()))


# ---- metrics ----


def _regression_metrics(scored: Scored, weight: Floats) -> dict[str, float]:
    residual = scored.predicted - scored.truth
    total = weight.sum()
    mse = float(weight @ residual**2 / total)
    centred = scored.truth - weight @ scored.truth / total
    variance = float(weight @ centred**2 / total)
    found = {"RMSE": mse**0.5, "MAE": float(weight @ np.abs(residual) / total)}
    return found | ({"R²": 1 - mse / variance} if variance > 0 else {})


def _ranking_metrics(scored: Scored, weight: Floats) -> dict[str, float]:
    assert scored.query is not None
    whole = bool((scored.truth == np.trunc(scored.truth)).all() and scored.truth.max() < 32)
    options: Any = {"qid": scored.query, "sample_weight": weight}
    gain: Any = {"gain": "exponential" if whole else "linear"}
    return {
        "NDCG": ndcg(scored.truth, scored.predicted, **options, **gain),
        "NDCG@10": ndcg(scored.truth, scored.predicted, k=10, **options, **gain),
        "MAP": mean_average_precision(scored.truth, scored.predicted, **options),
    }


def _class_metrics(scored: Scored, weight: Floats) -> dict[str, float]:
    k, truth, predicted = len(scored.classes), scored.truth, scored.predicted
    counts = np.bincount(truth * k + predicted, weight, k * k).reshape(k, k)
    hits, of_class, called = counts.diagonal(), counts.sum(axis=1), counts.sum(axis=0)
    there = of_class > 0
    recall = hits[there] / of_class[there]
    f1 = 2 * hits[there] / (of_class + called)[there]
    found: dict[str, float] = {}
    if scored.score is not None and there.all():
        found |= _ordering_metrics(scored, weight)
    found["accuracy"] = float(hits.sum() / counts.sum())
    found["balanced accuracy"] = float(recall.mean())
    if k == 2:
        found["F1"] = float(2 * hits[1] / max(of_class[1] + called[1], _EPSILON))
    else:
        found["macro F1"] = float(f1.mean())
    if scored.proba is not None:
        found["log loss"] = float(weight @ scored.losses() / weight.sum())
        if k == 2:
            found["Brier score"] = float(weight @ (scored.proba[:, 1] - truth) ** 2 / weight.sum())
    return found


def _ordering_metrics(scored: Scored, weight: Floats) -> dict[str, float]:
    _, fpr, tpr, precision = operating_points(scored, weight)
    auc = float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1])) / 2)
    return {"ROC AUC": auc, "average precision": float(np.sum(np.diff(tpr) * precision[1:]))}


def operating_points(scored: Scored, weight: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return thresholds, false and true positive rates and precision, from the strictest threshold on."""
    assert scored.score is not None
    order = scored.order
    score, positive, w = scored.score[order], scored.truth[order] == 1, weight[order]
    last = np.append(np.flatnonzero(np.diff(score)), len(score) - 1)
    tp, fp = np.cumsum(w * positive)[last], np.cumsum(w * ~positive)[last]
    precision = tp / np.maximum(tp + fp, _EPSILON)
    start = np.zeros(1)
    return (
        np.concatenate([[np.inf], score[last]]),
        np.concatenate([start, fp / max(fp[-1], _EPSILON)]),
        np.concatenate([start, tp / max(tp[-1], _EPSILON)]),
        np.concatenate([[1.0], precision]),
    )


# ---- intervals ----


def headline(scored: Scored, weight: Floats) -> str:
    """Return the name of the metric that a verdict states."""
    return next(iter(scored.metrics(weight)))


def bootstrap_weights(scored: Scored, weight: Floats, n_draws: int, seed: int) -> list[Floats]:
    """Draw rows, or queries of a ranking, with replacement, as row weights."""
    rng = np.random.default_rng([seed, 17])
    units = np.arange(len(weight)) if scored.query is None else scored.query
    n_units = int(units.max()) + 1
    draws = []
    for _ in range(n_draws):
        drawn = np.bincount(rng.integers(0, n_units, n_units), minlength=n_units)[units] * weight
        if drawn.sum() > 0:
            draws.append(drawn)
    return draws


def intervals(
    several: Sequence[Scored], weights: Sequence[Floats], confidence: float = 0.95
) -> list[dict[str, tuple[float, float]]]:
    """Return percentile intervals of the metrics of several models on the same draws of rows."""
    found = []
    for scored in several:
        draws = [scored.metrics(weight) for weight in weights]
        names = draws[0] if draws else {}
        bounds = {}
        for name in names:
            values = [one[name] for one in draws if name in one]
            low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
            bounds[name] = (float(low), float(high))
        found.append(bounds)
    return found
