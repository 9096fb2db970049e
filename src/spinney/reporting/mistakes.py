"""Where a model errs: the worst rows, and regions of rows with a high loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.inspect.wording import format_number, printable
from spinney.reporting.rows import EvaluationRows
from spinney.reporting.scored import Scored
from spinney.reporting.shown_trees import describe_outcome
from spinney.trees import DecisionTreeRegressor

_N_WORST = 10
_N_COLUMNS = 6
_N_REGIONS = 5
_MIN_ROWS = 60


@dataclass(frozen=True)
class WorstRow:
    """A row with a high loss, and its values in some columns."""

    position: int
    outcome: str
    loss: float
    values: tuple[str, ...]


@dataclass(frozen=True)
class ErrorRegion:
    """Rows that meet a condition: their share and mean loss."""

    condition: str
    share: float
    loss: float


@dataclass(frozen=True)
class Mistakes:
    """The worst rows, the columns shown of them, and regions by mean loss."""

    loss: str
    mean_loss: float
    columns: tuple[str, ...]
    rows: tuple[WorstRow, ...]
    regions: tuple[ErrorRegion, ...]


def worst_rows(scored: Scored, weight: Floats) -> NDArray[np.intp]:
    """Return the rows with the highest losses, the highest first; rows of weight 0 are left out."""
    losses = np.where(weight > 0, scored.losses(), -np.inf)
    order = np.argsort(-losses, kind="stable")[:_N_WORST]
    return order[losses[order] > 0]


def describe_mistakes(
    scored: Scored, rows: EvaluationRows, important: Sequence[str], show_rows: bool
) -> Mistakes:
    """Compute the record of the mistakes of a model."""
    losses, names = scored.losses(), list(rows.table.schema.names)
    shown = [name for name in important if name in names][:_N_COLUMNS]
    found = []
    for row in worst_rows(scored, rows.weight).tolist() if show_rows else ():
        values = tuple(show_entry(rows, names.index(name), row) for name in shown)
        outcome = describe_outcome(scored, row)
        found.append(WorstRow(int(rows.position[row]), outcome, float(losses[row]), values))
    kind = "absolute error" if not scored.classes else "log loss" if scored.proba is not None else "error"
    mean = float(np.average(losses, weights=rows.weight))
    return Mistakes(kind, mean, tuple(shown), tuple(found), tuple(_regions(rows, losses)))


def show_entry(rows: EvaluationRows, j: int, row: int) -> str:
    """Return an entry of a table as text."""
    feature, value = rows.table.schema.features[j], rows.table.column(j)[row]
    if feature.kind == "categorical":
        return printable(str(feature.categories[int(value)])) if value >= 0 else "missing"
    return "missing" if np.isnan(value) else format_number(float(value))


def _regions(rows: EvaluationRows, losses: Floats) -> list[ErrorRegion]:
    """Return the leaves of a shallow tree on the loss with a mean loss above average, the highest first."""
    if rows.n_rows < _MIN_ROWS or not np.ptp(losses) > 0:
        return []
    least = max(rows.n_rows // 20, 10)
    model: Any = DecisionTreeRegressor(max_depth=3, min_samples_leaf=least).fit(rows.X, losses, rows.weight)
    mean = float(np.average(losses, weights=rows.weight))
    leaves = [
        rule for rule in model.rules() if rule.conditions and rule.weight > 0 and rule.prediction > mean
    ]
    leaves.sort(key=lambda rule: -rule.prediction)
    return [ErrorRegion(rule.condition, rule.share, float(rule.prediction)) for rule in leaves[:_N_REGIONS]]
