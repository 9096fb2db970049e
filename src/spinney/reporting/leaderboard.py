"""The record of a comparison of learners, for its page."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from spinney.core.errors import show_value
from spinney.reporting.provenance import list_versions, now

_ALPHA = 0.05


@dataclass(frozen=True)
class LeaderboardEntry:
    """One learner: its score with interval, p-value against the best, scores by fold, times."""

    name: str
    family: str
    score: float
    low: float | None
    high: float | None
    p_value: float | None
    folds: tuple[float, ...]
    others: tuple[float, ...]
    fit_seconds: float
    predict_seconds: float
    note: str
    estimator: str


@dataclass(frozen=True)
class Leaderboard:
    """The learners, the best first, and those that were left out with the reason."""

    title: str
    created: str
    task: str
    metric: str
    higher_is_better: bool
    other_metrics: tuple[str, ...]
    entries: tuple[LeaderboardEntry, ...]
    skipped: tuple[tuple[str, str], ...]
    n_rows: int
    n_rows_used: int
    n_folds: int
    seconds: float
    seed: str
    versions: tuple[tuple[str, str], ...]
    command: str

    @property
    def rivals(self) -> list[str]:
        """Learners whose difference to the best may be chance: no test, or a p-value of at least 0.05."""
        return [one.name for one in self.entries[1:] if one.p_value is None or one.p_value >= _ALPHA]


def is_comparison(value: Any) -> bool:
    """Return whether a value is a leaderboard, as `spinney.compare` returns it."""
    return hasattr(value, "entries") and hasattr(value, "to_records") and hasattr(value, "metrics")


def describe_comparison(found: Any, title: str | None, command: str | None) -> Leaderboard:
    """Return a comparison as plain values."""
    first, *others = found.metrics
    entries = tuple(
        LeaderboardEntry(
            str(one.name),
            str(one.family),
            float(one.score),
            _finite(one.low),
            _finite(one.high),
            _finite(one.p_value),
            tuple(float(value) for value in one.scores[first.name]),
            tuple(float(one.scores[metric.name].mean()) for metric in others),
            float(one.fit_seconds),
            float(one.predict_seconds),
            str(one.note),
            "" if one.estimator is None else repr(one.estimator).split("\n#")[0],
        )
        for one in found.entries
    )
    return Leaderboard(
        title or f"Comparison of {len(entries)} learners",
        now(),
        str(found.task),
        str(first.title),
        bool(first.greater_is_better),
        tuple(str(metric.title) for metric in others),
        entries,
        tuple((str(name), str(reason)) for name, reason in found.skipped.items()),
        int(found.n_rows),
        int(found.n_rows_used),
        int(found.n_folds),
        float(found.seconds),
        show_value(found.seed),
        tuple(list_versions()),
        command or "spinney.compare(X, y)",
    )


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
