"""How well a model predicts: operating points, calibration, confusion, residuals, and metrics by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputError, suggest_columns
from spinney.data.schema import Table
from spinney.data.target import read_target
from spinney.reporting.rows import EvaluationRows, draw, plain_number
from spinney.reporting.scored import Scored, bootstrap_weights, headline, intervals, operating_points

_MAX_CURVE = 200
_MAX_POINTS = 800
_N_THRESHOLDS = 101
_MAX_CLASSES = 24
_MAX_CURVES = 6
_N_BINS = 10
_MAX_GROUPS = 8
_MIN_GROUP = 5
_N_GROUP_DRAWS = 60

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Curve:
    """A named line through points, with its area if that has a meaning."""

    name: str
    points: Points
    area: float | None = None


@dataclass(frozen=True)
class CalibrationBin:
    """Rows of similar predicted probability: its mean, the observed share with its interval, their number."""

    predicted: float
    observed: float
    low: float
    high: float
    n_rows: int


@dataclass(frozen=True)
class ClassPerformance:
    """Predictions of classes.

    `thresholds` has, with two classes, (threshold, true positives, false positives, false negatives, true
    negatives) by weight; `confusion` has rows by true class. `other_classes` says how many rare classes
    share the last row and column.
    """

    classes: tuple[str, ...]
    confusion: tuple[tuple[float, ...], ...]
    other_classes: int
    thresholds: tuple[tuple[float, float, float, float, float], ...]
    is_probability: bool
    roc: tuple[Curve, ...]
    precision_recall: tuple[Curve, ...]
    positive_share: tuple[float, ...]
    calibration: tuple[CalibrationBin, ...]
    calibrated_of: str


@dataclass(frozen=True)
class ValuePerformance:
    """Predictions of values: points (true, predicted), residuals, and their quantiles by predicted value."""

    points: Points
    residuals: tuple[tuple[float, float, int], ...]
    """Left and right edge, and number of rows, of each bar of the histogram of residuals."""
    bands: tuple[tuple[float, float, float, float, float, float], ...]
    """Mean prediction and quantiles 5, 25, 50, 75 and 95 % of the residuals, by prediction."""


@dataclass(frozen=True)
class GroupMetrics:
    """Metrics of the rows of each group: its name, rows, and (value, low, high) of two metrics."""

    by: str
    metrics: tuple[str, ...]
    groups: tuple[tuple[str, int, tuple[tuple[float, float, float] | None, ...]], ...]
    n_left_out: int


def describe_classes(scored: Scored, weight: Floats) -> ClassPerformance:
    """Compute the record of a classifier."""
    labels, confusion, n_others = _confusion(scored, weight)
    k = len(scored.classes)
    roc: list[Curve] = []
    recall: list[Curve] = []
    shares: list[float] = []
    bins: tuple[CalibrationBin, ...] = ()
    thresholds: tuple[tuple[float, float, float, float, float], ...] = ()
    calibrated = ""
    if k == 2 and scored.score is not None:
        chosen = [(str(scored.classes[1]), scored)]
        thresholds = _thresholds(scored, weight)
    else:
        chosen = [(str(scored.classes[c]), _against_rest(scored, c)) for c in _largest(scored, _MAX_CURVES)]
    for name, one in chosen:
        if one.score is None or len(np.unique(one.truth)) < 2:
            continue
        _, fpr, tpr, precision = operating_points(one, weight)
        found = one.metrics(weight)
        roc.append(Curve(name, _thin(fpr, tpr), found["ROC AUC"]))
        recall.append(Curve(name, _thin(tpr[1:], precision[1:]), found["average precision"]))
        shares.append(float(weight @ one.truth / weight.sum()))
    if scored.proba is not None:
        if k == 2:
            calibrated = f"probability of {scored.classes[1]}"
            bins = _calibration(scored.proba[:, 1], scored.truth == 1, weight)
        else:
            calibrated = "probability of the predicted class"
            bins = _calibration(scored.proba.max(axis=1), scored.proba.argmax(axis=1) == scored.truth, weight)
    return ClassPerformance(
        labels, confusion, n_others, thresholds, scored.proba is not None, tuple(roc), tuple(recall),
        tuple(shares), bins, calibrated,
    )  # fmt: skip


def _largest(scored: Scored, n: int) -> list[int]:
    counts = np.bincount(scored.truth, minlength=len(scored.classes))
    largest: list[int] = np.sort(np.argsort(-counts, kind="stable")[:n]).tolist()
    return largest


def _against_rest(scored: Scored, c: int) -> Scored:
    score = None if scored.proba is None else scored.proba[:, c]
    own = (scored.truth == c).astype(np.intp)
    called = (scored.predicted == c).astype(np.intp)
    return replace(
        scored, task="binary", truth=own, predicted=called, proba=None, score=score, classes=(False, True)
    )


def _confusion(scored: Scored, weight: Floats) -> tuple[tuple[str, ...], tuple[tuple[float, ...], ...], int]:
    k = len(scored.classes)
    shown = list(range(k)) if k <= _MAX_CLASSES else _largest(scored, _MAX_CLASSES - 1)
    number = np.full(k, len(shown))
    number[shown] = np.arange(len(shown))
    width = len(shown) + (k > len(shown))
    codes = number[scored.truth] * width + number[scored.predicted]
    counts = np.bincount(codes, weight, width * width).reshape(width, width)
    labels = [str(scored.classes[c]) for c in shown] + ["other classes"] * (k > len(shown))
    return tuple(labels), tuple(tuple(row) for row in counts.tolist()), k - len(shown)


def _thresholds(scored: Scored, weight: Floats) -> tuple[tuple[float, float, float, float, float], ...]:
    assert scored.score is not None
    if scored.proba is not None:
        levels = np.linspace(0, 1, _N_THRESHOLDS)
    else:
        levels = np.unique(np.quantile(scored.score, np.linspace(0, 1, _N_THRESHOLDS)))
    positive = scored.truth == 1
    order = np.argsort(scored.score, kind="stable")
    ordered = scored.score[order]
    below_positive = np.concatenate([[0.0], np.cumsum((weight * positive)[order])])
    below_negative = np.concatenate([[0.0], np.cumsum((weight * ~positive)[order])])
    at = np.searchsorted(ordered, levels, side="left")
    fn, tn = below_positive[at], below_negative[at]
    rows = np.column_stack([levels, below_positive[-1] - fn, below_negative[-1] - tn, fn, tn])
    return tuple((a, b, c, d, e) for a, b, c, d, e in rows.tolist())


def _thin(x: Floats, y: Floats) -> Points:
    """Return at most _MAX_CURVE points of a line, the ends included, about evenly along it."""
    if len(x) > _MAX_CURVE:
        length = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
        steps = np.linspace(0, length[-1], _MAX_CURVE)
        kept = np.unique(np.clip(np.searchsorted(length, steps), 0, len(x) - 1))
        x, y = x[kept], y[kept]
    return tuple(zip(x.tolist(), y.tolist(), strict=True))


def _calibration(probability: Floats, hit: NDArray[np.bool_], weight: Floats) -> tuple[CalibrationBin, ...]:
    edges = np.unique(np.quantile(probability, np.linspace(0, 1, _N_BINS + 1)))
    codes = np.clip(np.searchsorted(edges, probability, side="right") - 1, 0, max(len(edges) - 2, 0))
    found = []
    for code in np.unique(codes).tolist():
        rows = codes == code
        w = weight[rows]
        if w.sum() <= 0:
            continue
        share, n = float(w @ hit[rows] / w.sum()), int(rows.sum())
        low, high = _wilson(share, n)
        found.append(CalibrationBin(float(w @ probability[rows] / w.sum()), share, low, high, n))
    return tuple(found)


def _wilson(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    return max(middle - half, 0.0), min(middle + half, 1.0)


def describe_values(scored: Scored, seed: int) -> ValuePerformance:
    """Compute the record of a regressor."""
    residual = scored.predicted - scored.truth
    shown = draw(len(residual), _MAX_POINTS, seed)
    low, high = np.quantile(residual, [0.005, 0.995])
    if not high > low:
        low, high = float(residual.min()) - 0.5, float(residual.max()) + 0.5
    counts, edges = np.histogram(np.clip(residual, low, high), 30, (low, high))
    order = np.argsort(scored.predicted, kind="stable")
    bands = []
    for part in np.array_split(order, min(10, max(len(order) // 10, 1))):
        q = np.quantile(residual[part], [0.05, 0.25, 0.5, 0.75, 0.95])
        bands.append((float(scored.predicted[part].mean()), *q.tolist()))
    return ValuePerformance(
        tuple(zip(scored.truth[shown].tolist(), scored.predicted[shown].tolist(), strict=True)),
        tuple(zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)),
        tuple(bands),
    )


# ---- groups ----


def find_groups(
    groups: Any, rows: EvaluationRows, important: Sequence[str]
) -> list[tuple[str, list[str], NDArray[np.intp]]]:
    """Return name, names of the groups, and the group of each row (−1: none), of each way to group rows.

    `groups` are names of columns, or arrays with one entry per row by name; None takes the most important
    columns.
    """
    names = list(rows.table.schema.names)
    if groups is None:
        return [_column_groups(rows.table, names.index(one)) for one in important[:3] if one in names]
    if isinstance(groups, str):
        groups = [groups]
    if isinstance(groups, Mapping):
        given = {
            str(name): read_target(values, rows.n_total)[rows.position] for name, values in groups.items()
        }
        return [_value_groups(name, values) for name, values in given.items()]
    if all(isinstance(one, str) for one in groups):
        unknown = [one for one in groups if one not in names]
        if unknown:
            raise InputError(
                f"There is no column {unknown[0]!r} to group by", fix=suggest_columns(unknown[0], names)
            )
        return [_column_groups(rows.table, names.index(one)) for one in groups]
    return [_value_groups("group", read_target(groups, rows.n_total)[rows.position])]


def _value_groups(name: str, values: NDArray[Any]) -> tuple[str, list[str], NDArray[np.intp]]:
    found, codes = np.unique(values.astype(str), return_inverse=True)
    return name, found.tolist(), codes.astype(np.intp)


def _column_groups(table: Table, j: int) -> tuple[str, list[str], NDArray[np.intp]]:
    """Categories, or quarters of the rows by value, and missing values."""
    feature, column = table.schema.features[j], table.column(j)
    if feature.kind == "categorical":
        labels = [*map(str, feature.categories), "missing"]
        return feature.name, labels, np.where(column < 0, len(labels) - 1, column).astype(np.intp)
    values = np.asarray(column, np.float64)
    known = values[np.isfinite(values)]
    distinct = np.unique(known)
    if len(distinct) <= _MAX_GROUPS:
        codes = np.searchsorted(distinct, values)
        labels = [f"{one:.6g}" for one in distinct.tolist()]
    else:
        edges = np.unique(np.quantile(known, [0.25, 0.5, 0.75]))
        codes = np.searchsorted(edges, values, side="left")
        bounds = [plain_number(one) for one in edges.tolist()]
        between = [f"{a} to {b}" for a, b in pairwise(bounds)]
        labels = [f"at most {bounds[0]}", *between, f"above {bounds[-1]}"]
    codes = np.where(np.isfinite(values), codes, len(labels))
    return feature.name, [*labels, "missing"], codes.astype(np.intp)


def compare_groups(
    scored: Scored, rows: EvaluationRows, grouping: tuple[str, list[str], NDArray[np.intp]], seed: int
) -> GroupMetrics:
    """Compute the metrics of each group; the largest groups only."""
    by, labels, codes = grouping
    counts = np.bincount(codes[codes >= 0], minlength=len(labels))
    enough = np.flatnonzero(counts >= _MIN_GROUP)
    kept = np.sort(enough[np.argsort(-counts[enough], kind="stable")][:_MAX_GROUPS]).tolist()
    first = headline(scored, rows.weight)
    metrics = [first, *[name for name in scored.metrics(rows.weight) if name != first]][:3]
    found = []
    for code in kept:
        inside = np.flatnonzero(codes == code)
        part, weight = _take(scored, inside), rows.weight[inside]
        if weight.sum() <= 0:
            continue
        values = part.metrics(weight)
        bounds = intervals([part], bootstrap_weights(part, weight, _N_GROUP_DRAWS, seed))[0]
        entries = tuple(
            (values[name], *bounds[name]) if name in values and name in bounds else None for name in metrics
        )
        found.append((labels[code], len(inside), entries))
    return GroupMetrics(by, tuple(metrics), tuple(found), int((counts > 0).sum()) - len(found))


def _take(scored: Scored, rows: NDArray[Any]) -> Scored:
    query = None
    if scored.query is not None:
        query = np.unique(scored.query[rows], return_inverse=True)[1].astype(np.int64)
    return Scored(
        scored.task,
        scored.truth[rows],
        scored.predicted[rows],
        None if scored.proba is None else scored.proba[rows],
        None if scored.score is None else scored.score[rows],
        scored.classes,
        query,
    )
