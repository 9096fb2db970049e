"""The data card: columns, class balance, and warnings about leakage, ids, duplicates and drift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.data.features import Feature
from spinney.data.schema import Table
from spinney.reporting.rows import EvaluationRows, plain_number
from spinney.reporting.scored import Scored

_N_BINS = 12  # of the small histograms
_LEAKAGE = 0.9  # share of the target's variation that one column explains on other rows
_DRIFT = 0.1
_MOSTLY_MISSING = 0.5
_MAX_LEVELS = 6
_MIN_ROWS = 40
_MAX_SHOWN = 8


@dataclass(frozen=True)
class ColumnRecord:
    """One column: kind, share of missing values, distinct values, what is in it, and a histogram.

    `alone` is the share of the target's variation that the column explains by itself on rows that were not
    used to learn it; `drift` is the largest difference between the distributions of training and reported
    rows (Kolmogorov–Smirnov, or total variation of categories).
    """

    name: str
    kind: str
    missing: float
    n_distinct: int
    summary: str
    histogram: tuple[float, ...]
    alone: float | None
    drift: float | None


@dataclass(frozen=True)
class Finding:
    """A finding about the data: its kind, what was found, and what to do about it."""

    kind: str
    finding: str
    advice: str


@dataclass(frozen=True)
class DataCard:
    """Rows, columns, class balance and warnings."""

    n_rows: int
    n_total: int
    n_training: int | None
    weighted: bool
    columns: tuple[ColumnRecord, ...]
    n_columns: int
    classes: tuple[tuple[str, float, float | None], ...]
    """Label, share of the rows, and share of the training rows, of each class."""
    target: str
    warnings: tuple[Finding, ...]


def describe_data(
    rows: EvaluationRows, train: EvaluationRows | None, scored: Scored | None, max_columns: int = 100
) -> DataCard:
    """Compute the data card; columns beyond max_columns are only counted and searched for problems."""
    target = None if scored is None else _target_matrix(scored)
    halves = np.random.default_rng(7).random(rows.n_rows) < 0.5
    columns = [
        _column(rows.table, j, target, halves, None if train is None else train.table)
        for j in range(rows.table.n_features)
    ]
    warnings = [*_column_warnings(columns, rows, scored), *_row_warnings(rows, train)]
    return DataCard(
        rows.n_rows,
        rows.n_total,
        None if train is None else train.n_total,
        bool(np.ptp(rows.weight) > 0),
        tuple(columns[:max_columns]),
        len(columns),
        _class_balance(scored, train),
        "" if scored is None or scored.classes else _numbers_text(scored.truth),
        tuple(warnings),
    )


def _target_matrix(scored: Scored) -> Floats:
    if not scored.classes:
        return np.asarray(scored.truth, np.float64)[:, None]
    return np.asarray(np.eye(len(scored.classes))[scored.truth])


def _class_balance(
    scored: Scored | None, train: EvaluationRows | None
) -> tuple[tuple[str, float, float | None], ...]:
    if scored is None or not scored.classes:
        return ()
    share = np.bincount(scored.truth, minlength=len(scored.classes)) / len(scored.truth)
    before: Sequence[float | None] = [None] * len(share)
    if train is not None and train.y is not None:
        labels = train.y.tolist()
        before = [labels.count(one) / len(labels) for one in scored.classes]
    return tuple(
        (str(label), float(a), b) for label, a, b in zip(scored.classes, share.tolist(), before, strict=True)
    )


# ---- columns ----


def _column(
    table: Table, j: int, target: Floats | None, halves: NDArray[np.bool_], before: Table | None
) -> ColumnRecord:
    feature, column = table.schema.features[j], table.column(j)
    categorical = feature.kind == "categorical"
    values = column if categorical else np.asarray(column, np.float64)
    known = values[values >= 0] if categorical else values[np.isfinite(values)]
    if categorical:
        counts = np.bincount(known, minlength=len(feature.categories))
        n_distinct = int((counts > 0).sum())
        summary, histogram = _levels_text(feature, counts), np.sort(counts)[::-1][:_N_BINS]
    else:
        n_distinct = len(np.unique(known))
        summary = _numbers_text(known)
        histogram = _histogram(known)
    top = max(float(histogram.max()), 1.0) if len(histogram) else 1.0
    drift = None
    if before is not None and feature.name in before.schema.names:
        drift = _drift(feature, values, before, before.schema.names.index(feature.name))
    return ColumnRecord(
        feature.name,
        feature.kind,
        1 - len(known) / max(len(values), 1),
        n_distinct,
        summary,
        tuple((histogram / top).round(3).tolist()),
        None if target is None else _alone(values, categorical, target, halves),
        drift,
    )


def _numbers_text(known: Floats) -> str:
    if not len(known):
        return "no values"
    low, q1, middle, q3, high = np.quantile(known, [0, 0.25, 0.5, 0.75, 1])
    a, b, c, d, e = (plain_number(one) for one in (low, q1, middle, q3, high))
    return f"{a} … {b} | {c} | {d} … {e}"


def _levels_text(feature: Feature, counts: NDArray[np.int64]) -> str:
    order = np.argsort(-counts, kind="stable")[: _MAX_LEVELS // 2]
    total = max(int(counts.sum()), 1)
    shown = [f"{feature.categories[k]!s:.30} {counts[k] / total:.0%}" for k in order.tolist() if counts[k]]
    return ", ".join(shown) or "no values"


def _histogram(known: Floats) -> NDArray[np.int64]:
    if not len(known):
        return np.zeros(1, np.int64)
    low, high = np.quantile(known, [0.01, 0.99])
    if not high > low:
        low, high = float(known.min()), float(known.max())
    if not high > low:
        return np.array([len(known)])
    return np.histogram(np.clip(known, low, high), _N_BINS, (low, high))[0]


def _alone(
    values: NDArray[Any], categorical: bool, target: Floats, learned: NDArray[np.bool_]
) -> float | None:
    """Share of the target's variation that one column explains, on the rows that are not learned."""
    if len(values) < _MIN_ROWS or learned.all() or not learned.any():
        return None
    if categorical:
        return _explained(values.astype(np.intp) + 1, target, learned)
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    # Few bins for a weak relation, many for a sharp one.
    found = []
    for n_bins in (8, 24, 64):
        edges = np.unique(np.quantile(known, np.linspace(0, 1, n_bins + 1)[1:-1]))
        codes = np.searchsorted(edges, values, side="left").astype(np.intp) + 1
        codes[~np.isfinite(values)] = 0
        found.append(_explained(codes, target, learned))
    return max((one for one in found if one is not None), default=None)


def _explained(codes: NDArray[np.intp], target: Floats, learned: NDArray[np.bool_]) -> float | None:
    n_bins = int(codes.max()) + 1
    mean = target[learned].mean(axis=0)
    counts = np.bincount(codes[learned], minlength=n_bins)
    sums = np.stack([np.bincount(codes[learned], one, n_bins) for one in target[learned].T], axis=1)
    # One row's worth of the mean, so that a bin of a single row does not claim to know its target.
    means = (sums + mean) / (counts + 1)[:, None]
    rest = target[~learned]
    before = float(((rest - mean) ** 2).sum())
    after = float(((rest - means[codes[~learned]]) ** 2).sum())
    return max(1 - after / before, 0.0) if before > 0 else None


def _drift(feature: Feature, values: NDArray[Any], before: Table, j: int) -> float:
    earlier, old = before.column(j), before.schema.features[j]
    if feature.kind != old.kind:
        return 1.0
    if feature.kind == "categorical":
        names = sorted({*feature.categories, *old.categories}, key=str)
        new_code = {name: k for k, name in enumerate(names)}

        def shares(codes: NDArray[Any], categories: Sequence[Any]) -> Floats:
            mapped = np.array([*(new_code[one] for one in categories), len(names)], np.intp)
            return np.bincount(mapped[codes], minlength=len(names) + 1) / max(len(codes), 1)

        a, b = shares(values, feature.categories), shares(earlier, old.categories)
        return float(np.abs(a - b).sum() / 2)
    a, b = (one[np.isfinite(one)] for one in (values, np.asarray(earlier, np.float64)))
    gap = abs(len(a) / max(len(values), 1) - len(b) / max(len(earlier), 1))  # of missing values
    if not len(a) or not len(b):
        return float(gap)
    a, b = np.sort(a), np.sort(b)
    points = np.concatenate([a, b])
    differences = np.searchsorted(a, points, "right") / len(a) - np.searchsorted(b, points, "right") / len(b)
    return max(float(np.abs(differences).max()), float(gap))


# ---- warnings ----


def _names(found: Sequence[str]) -> str:
    shown = ", ".join(f"“{name:.60}”" for name in found[:_MAX_SHOWN])
    return shown if len(found) <= _MAX_SHOWN else f"{shown} and {len(found) - _MAX_SHOWN} more"


def _column_warnings(
    columns: Sequence[ColumnRecord], rows: EvaluationRows, scored: Scored | None
) -> list[Finding]:
    n = rows.n_rows
    floor = 1.36 * (2 / max(n, 1)) ** 0.5  # what chance alone gives the Kolmogorov–Smirnov distance
    leaking = [c.name for c in columns if c.alone is not None and c.alone >= _LEAKAGE]
    ids = [c.name for j, c in enumerate(columns) if n >= _MIN_ROWS and _is_id_like(c, rows.table.column(j))]
    constant = [c.name for c in columns if c.n_distinct <= 1 and c.missing < 1]
    empty = [c.name for c in columns if c.missing > _MOSTLY_MISSING]
    drifting = [c.name for c in columns if c.drift is not None and c.drift > max(_DRIFT, 2 * floor)]
    rules = [
        ("Leakage suspect", leaking, "predicts the target almost perfectly by itself",
         "Check that it is known at the time of prediction; leave it out if it is not."),
        ("Id-like column", ids, "has a different value in every row, like a row number or an id",
         "Leave it out: a model can only memorize it."),
        ("Constant column", constant, "has one value only", "Leave it out: it carries no information."),
        ("Mostly missing", empty, f"is missing in more than {_MOSTLY_MISSING:.0%} of the rows",
         "Check how it is collected."),
        ("Drift", drifting, "has another distribution than in the training rows",
         "Check whether the data changed; metrics here may not hold for later rows."),
    ]  # fmt: skip
    return [Finding(kind, f"{_names(found)} {what}.", advice) for kind, found, what, advice in rules if found]


def _is_id_like(record: ColumnRecord, column: NDArray[Any]) -> bool:
    n_known = round((1 - record.missing) * len(column))
    if n_known < _MIN_ROWS or record.n_distinct < n_known:
        return False
    if record.kind == "categorical":
        return True
    known = np.asarray(column, np.float64)
    known = known[np.isfinite(known)]
    return bool((known == np.trunc(known)).all())


def _row_warnings(rows: EvaluationRows, train: EvaluationRows | None) -> list[Finding]:
    hashes, found = _row_hashes(rows.table), []
    labels = None if rows.y is None else rows.y.tolist()
    n_duplicates = len(hashes) - len(set(hashes))
    if n_duplicates:
        conflicts = 0
        if labels is not None:
            first: dict[int, Any] = {}
            conflicts = sum(
                first.setdefault(key, label) != label for key, label in zip(hashes, labels, strict=True)
            )
        text = f"{n_duplicates:,} of {rows.n_rows:,} rows repeat another row"
        text += f"; {conflicts:,} of them with another target." if conflicts else "."
        found.append(
            Finding("Duplicates", text, "Repeated rows make intervals too narrow; remove or group them.")
        )
    if train is not None and train.table.schema.names == rows.table.schema.names:
        known = set(_row_hashes(train.table))
        shared = sum(key in known for key in hashes)
        if shared:
            text = f"{shared:,} of {rows.n_rows:,} rows are also among the training rows."
            found.append(
                Finding(
                    "Training rows",
                    text,
                    "Metrics on them are too good; report on other rows, or pass groups.",
                )
            )
    return found


def _row_hashes(table: Table) -> list[int]:
    """Return a hash of the values of each row; equal rows of different tables have equal hashes."""
    total = np.zeros(table.n_rows, np.uint64)
    for j, feature in enumerate(table.schema.features):
        column = table.column(j)
        if feature.kind == "categorical":
            by_code = [hash(str(one)) & 0xFFFFFFFF for one in feature.categories]
            words = np.array([*by_code, 1 << 40], np.uint64)[column]
        else:
            words = (np.asarray(column, np.float64) + 0.0).view(np.uint64)
            words = np.where(np.isnan(np.asarray(column, np.float64)), np.uint64(1 << 40), words)
        total = (total ^ (words + np.uint64(j))) * np.uint64(0x9E3779B97F4A7C15)
        total ^= total >> np.uint64(29)
    hashes: list[int] = total.tolist()
    return hashes
