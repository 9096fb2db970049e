"""How a model was learned: learning curves with the chosen round, and the path of pruning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from spinney.core.arrays import Floats
from spinney.reporting.rows import EvaluationRows
from spinney.reporting.scored import Scored, Task, headline, score_rows
from spinney.tree.pruning import cost_complexity

_MAX_POINTS = 300
_MAX_ALPHAS = 25
_STAGED_ROWS = 1000
_MAX_PRUNED_ROWS = 50_000


@dataclass(frozen=True)
class Series:
    """A named line: rounds and values."""

    name: str
    rounds: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class LearningCurves:
    """Curves of one metric each, and the round that is used."""

    charts: tuple[tuple[str, tuple[Series, ...]], ...]
    """Name of the metric, and its lines."""
    chosen: int | None
    n_rounds: int
    n_members: int = 1
    """Number of boosted models whose mean is the model; their rounds follow each other in the ledger."""


@dataclass(frozen=True)
class PruningPath:
    """Minimal cost-complexity pruning: (α, leaves, metric on training rows, metric on the reported rows)."""

    metric: str
    steps: tuple[tuple[float, int, float, float], ...]
    chosen: float | None
    on_training_rows: bool


def learning_curves(
    model: Any, rows: EvaluationRows, train: EvaluationRows | None, task: Task | None, seed: int
) -> LearningCurves | None:
    """Collect what fitting recorded per round; without it, score the reported rows after every round."""
    charts: dict[str, list[Series]] = {}
    for name, metrics in getattr(model, "evals_result_", {}).items():
        for metric, values in metrics.items():
            _add(charts, str(metric), str(name), np.asarray(values, np.float64), 1)
    # Scores are greater the better, so that those by the loss are its negative.
    by_loss = getattr(model, "scoring", None) == "loss"
    metric, sign = ("loss, for early stopping", -1.0) if by_loss else ("score of early stopping", 1.0)
    for name, label in (("train_score_", "training rows"), ("validation_score_", "validation rows")):
        values = getattr(model, name, None)
        if values is not None and np.ndim(values) == 1 and len(values) > 1:
            _add(charts, metric, label, sign * np.asarray(values, np.float64), 0)
    ledger = getattr(model, "ledger_", None)
    for column, label in (("train_loss", "training rows"), ("validation_loss", "validation rows")):
        if (values := getattr(ledger, column, None)) is not None:
            _add(charts, "loss", label, values, 0)
    if hasattr(model, "staged_predict") and task is not None and task != "ranking":
        _add_staged(charts, model, rows, train, task, seed)
    kept = {name: lines for name, lines in charts.items() if lines}
    if not kept:
        return None
    chosen = getattr(model, "best_iteration_", None)
    n_rounds = max(line.rounds[-1] for lines in kept.values() for line in lines)
    charts_of = tuple((name, tuple(lines)) for name, lines in kept.items())
    n_members = int(getattr(model, "chosen_", {}).get("n_members", 1))
    return LearningCurves(charts_of, chosen, n_rounds, n_members)


def _add(charts: dict[str, list[Series]], metric: str, name: str, values: Floats, first: int) -> None:
    good = np.flatnonzero(np.isfinite(values))
    if len(good) < 2:
        return
    kept = good[np.unique(np.linspace(0, len(good) - 1, _MAX_POINTS).astype(int))]
    line = Series(name, tuple((kept + first).tolist()), tuple(values[kept].tolist()))
    charts.setdefault(metric, []).append(line)


def _add_staged(
    charts: dict[str, list[Series]], model: Any, rows: EvaluationRows, train: EvaluationRows | None,
    task: Task, seed: int,
) -> None:  # fmt: skip
    """Add the error rate, or the root mean squared error, after every round."""
    for label, part in (("training rows", train), ("reported rows", rows)):
        if part is None or part.y is None:
            continue
        some = part.sample(_STAGED_ROWS, seed)
        y: Any = some.y
        if task == "regression":
            metric = "RMSE"
            y = y.astype(np.float64)
            values = [
                np.average((_first(p) - y) ** 2, weights=some.weight) ** 0.5
                for p in model.staged_predict(some.X)
            ]
        else:
            metric = "error rate"
            values = [np.average(_first(p) != y, weights=some.weight) for p in model.staged_predict(some.X)]
        _add(charts, metric, label, np.array(values, np.float64), 1)


def _first(predicted: Any) -> Any:
    array = np.asarray(predicted)
    return array[:, 0] if array.ndim == 2 else array


def pruning_path(
    model: Any, rows: EvaluationRows, train: EvaluationRows | None, task: Task | None, seed: int
) -> PruningPath | None:
    """Prune the full tree more and more, and score every step on the reported rows."""
    fitted = train or rows
    if not hasattr(model, "cost_complexity_pruning_path") or task is None or rows.y is None:
        return None
    if fitted.n_rows > _MAX_PRUNED_ROWS or model.tree_.n_outputs > 1:
        return None
    full = clone(model).set_params(ccp_alpha=0.0, pruning=None).fit(fitted.X, fitted.y, fitted.weight)
    alphas = np.unique(
        np.asarray(full.cost_complexity_pruning_path(fitted.X, fitted.y, fitted.weight).ccp_alphas)
    )
    alphas = alphas[np.unique(np.linspace(0, len(alphas) - 1, _MAX_ALPHAS).astype(int))]
    steps, metric = [], ""
    for alpha in alphas.tolist():
        tree = cost_complexity(full.tree_, alpha)
        pruned = clone(full).set_tree(tree, full.schema_, getattr(full, "classes_", None))
        metric, ours = _score(pruned, rows, task)
        theirs = _score(pruned, fitted, task)[1] if train is not None else ours
        steps.append((alpha, int(tree.n_leaves), theirs, ours))
    chosen = getattr(model, "ccp_alpha_", None)
    return PruningPath(metric, tuple(steps), None if chosen is None else float(chosen), train is not None)


def _score(model: Any, rows: EvaluationRows, task: Task) -> tuple[str, float]:
    scored: Scored = score_rows(model, rows, task)
    values = scored.metrics(rows.weight)
    name = headline(scored, rows.weight) if task == "regression" else "accuracy"
    return name, values[name]
