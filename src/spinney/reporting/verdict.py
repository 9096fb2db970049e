"""The verdict of a report: the metrics of a model with intervals, beside those of baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spinney.core.arrays import Floats
from spinney.reporting.baselines import NAMES, score_baselines
from spinney.reporting.rows import EvaluationRows
from spinney.reporting.scored import HIGHER_IS_BETTER, Scored, bootstrap_weights, headline, intervals

_N_DRAWS = 200
_MANY_ROWS = 10_000


@dataclass(frozen=True)
class ModelMetrics:
    """Metrics of one model, with 95 % intervals by name of the metric."""

    name: str
    values: dict[str, float]
    interval: dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Verdict:
    """How good a model is, and by how much it is better than the best baseline.

    `gain` is the difference of the headline metric to the best baseline, positive if the model is better,
    with its paired 95 % interval.
    """

    headline: str
    higher_is_better: bool
    model: ModelMetrics
    baselines: tuple[ModelMetrics, ...]
    best_baseline: str | None
    gain: tuple[float, float, float] | None
    cross_validated: bool
    n_rows: int

    @property
    def outcome(self) -> str:
        """Comparison with the best baseline: "better", "worse", or "no clear difference"."""
        if self.gain is None:
            return "no baseline"
        _, low, high = self.gain
        return "better" if low > 0 else "worse" if high < 0 else "no clear difference"


def judge(scored: Scored, rows: EvaluationRows, train: EvaluationRows | None, seed: int) -> Verdict:
    """Compute the verdict on a model."""
    weight = rows.weight
    name = headline(scored, weight)
    sign = 1.0 if HIGHER_IS_BETTER[name] else -1.0
    many = rows.n_rows >= _MANY_ROWS or scored.task == "ranking"
    draws = bootstrap_weights(scored, weight, _N_DRAWS // 4 if many else _N_DRAWS, seed)
    baselines = score_baselines(scored, rows, train, seed)
    bounds = intervals([scored, *baselines], draws)
    records = [
        ModelMetrics(label, one.metrics(weight), bound)
        for label, one, bound in zip(("this model", *NAMES), [scored, *baselines], bounds, strict=False)
    ]
    best, gain = None, None
    with_headline = [k for k in range(1, len(records)) if name in records[k].values]
    if with_headline:
        at = max(with_headline, key=lambda k: sign * records[k].values[name])
        best = records[at].name
        gain = _paired_gain(scored, baselines[at - 1], name, sign, weight, draws)
    return Verdict(
        name,
        sign > 0,
        records[0],
        tuple(records[1:]),
        best,
        gain,
        train is None and bool(baselines),
        rows.n_rows,
    )


def _paired_gain(
    model: Scored, baseline: Scored, name: str, sign: float, weight: Floats, draws: Sequence[Floats]
) -> tuple[float, float, float] | None:
    def gain(w: Floats) -> float | None:
        ours, theirs = model.metrics(w), baseline.metrics(w)
        return sign * (ours[name] - theirs[name]) if name in ours and name in theirs else None

    whole = gain(weight)
    found = [one for one in map(gain, draws) if one is not None]
    if whole is None or not found:
        return None
    low, high = np.quantile(found, [0.025, 0.975])
    return whole, float(low), float(high)
