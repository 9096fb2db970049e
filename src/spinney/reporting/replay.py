"""The replay of boosting: row weights, decision regions, margins and the ledger, round by round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputError, suggest_columns
from spinney.core.ledger import Ledger
from spinney.data.target import encode_like
from spinney.inspect.wording import printable
from spinney.reporting.rows import EvaluationRows, draw, mix_rows, plain_number
from spinney.reporting.scored import Task

_MAX_FRAMES = 40
_MAX_ROWS = 600
_MAX_POINTS = 160
_GRID = 26
_N_LEVELS = 5
_MAX_CLASSES = 6
_N_QUANTILES = 33
# Columns of the ledgers that a replay shows, with their signs.
_SIGNS = {
    "error": "ε (weighted error)",
    "weight": "α (member weight)",
    "z": "Z",
    "exponential_loss": "exponential loss",
    "train_error": "training error",
    "product_bound": "bound Π 2√(ε(1−ε))",
    "edge_bound": "bound exp(−2Σγ²)",
    "train_loss": "training loss",
    "validation_loss": "validation loss",
    "n_leaves": "leaves",
    "gain": "gain of the splits",
}
_BOUNDS = ("train_error", "exponential_loss", "product_bound", "edge_bound", "train_loss", "validation_loss")


@dataclass(frozen=True)
class Axis:
    """A feature of the decision regions: its name, values of the grid, and names of categories."""

    name: str
    values: tuple[float, ...]
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Frame:
    """One round.

    `sizes` are the weights of the points relative to the largest, `wrong` tells points that are predicted
    wrongly (or badly), `regions` the level of each cell of the grid, row by row from the lowest value of the
    second feature, `margins` the quantiles of the margins, and `facts` what the ledger says.
    """

    round: int
    sizes: tuple[float, ...]
    wrong: tuple[bool, ...]
    regions: tuple[int, ...]
    margins: tuple[float, ...]
    facts: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Replay:
    """The rounds that are shown, of how many, and what stays the same in all of them."""

    frames: tuple[Frame, ...]
    n_rounds: int
    axes: tuple[Axis, Axis] | None
    points: tuple[tuple[float, float, int], ...]
    """Place on both axes, and class or level, of each point."""
    levels: tuple[str, ...]
    """What the levels of regions and points are: classes, or ranges of the predicted value."""
    margin: str
    weight: str
    series: tuple[tuple[str, tuple[float, ...]], ...]
    """Columns of the ledger, one value per round, from the first."""
    first_round: int
    has_ledger: bool


def replay_rounds(
    model: Any, rows: EvaluationRows, train: EvaluationRows | None, task: Task | None,
    features: Sequence[str | int], seed: int,
) -> Replay | None:  # fmt: skip
    """Compute the replay of a boosted model; None for models without staged predictions."""
    if not hasattr(model, "staged_predict") or task in (None, "ranking"):
        return None
    part = (train or rows).sample(_MAX_ROWS, seed)
    if isinstance(getattr(model, "classes_", None), list) or _n_outputs(model, part) > 1:
        return None
    classes = None if task == "regression" else np.asarray(model.classes_)
    if classes is not None and len(classes) > _MAX_CLASSES:
        return None
    n_rounds = sum(1 for _ in model.staged_predict(part.take(np.arange(1)).X))
    if n_rounds < 2:
        return None
    shown_rounds = _spread(n_rounds)
    axes, grid_X = _axes(part, features)
    points = draw(part.n_rows, _MAX_POINTS, seed)
    state = _State(model, part, classes)
    margins = state.margins(shown_rounds)
    weights = state.weights(shown_rounds)
    regions, levels = _regions(model, grid_X, classes, part, shown_rounds)
    series, first = _series(model, n_rounds)
    frames = []
    for k, number in enumerate(shown_rounds):
        weight = weights[k][points]
        top = float(weight.max()) or 1.0
        facts = tuple(
            (name, values[number - first]) for name, values in series if number - first < len(values)
        )
        frames.append(
            Frame(
                number,
                tuple((weight / top).tolist()),
                tuple(state.is_wrong(margins[k])[points].tolist()),
                tuple(regions[k].tolist()) if len(regions) else (),
                tuple(np.quantile(margins[k], np.linspace(0, 1, _N_QUANTILES)).tolist()),
                facts,
            )
        )
    places = _places(part, axes, points, state.point_levels(levels)[points]) if axes else ()
    return Replay(
        tuple(frames), n_rounds, axes, places, levels.names, state.margin_name, state.weight_name, series,
        first, isinstance(getattr(model, "ledger_", None), Ledger),
    )  # fmt: skip


def _n_outputs(model: Any, part: EvaluationRows) -> int:
    predicted = np.asarray(model.predict(part.take(np.arange(1)).X))
    return int(predicted.shape[1]) if predicted.ndim == 2 else 1


def _spread(n: int) -> list[int]:
    """Return rounds from 1 to n, close together at the beginning."""
    if n <= _MAX_FRAMES:
        return list(range(1, n + 1))
    steps = np.unique(np.round(np.geomspace(1, n, 3 * _MAX_FRAMES)).astype(int))
    kept = steps[np.unique(np.linspace(0, len(steps) - 1, _MAX_FRAMES).astype(int))]
    numbers: list[int] = kept.tolist()
    return numbers


def _pick(stages: Iterable[Any], rounds: Sequence[int]) -> list[Any]:
    """Return the stages of some rounds, which are counted from 1."""
    wanted = set(rounds)
    return [stage for number, stage in enumerate(stages, start=1) if number in wanted]


# ---- rows ----


class _State:
    """Weights and margins of the rows of a replay."""

    def __init__(self, model: Any, part: EvaluationRows, classes: NDArray[Any] | None) -> None:
        self._model, self._part, self._classes = model, part, classes
        assert part.y is not None
        self._codes = None if classes is None else np.maximum(encode_like(part.y, [classes])[:, 0], 0)
        self._truth = part.y.astype(np.float64) if classes is None else np.zeros(0)
        self._margins: list[Floats] = []
        self._has_weights = hasattr(model, "staged_row_weights")
        self.weight_name = "weight of the row" if self._has_weights else "gradient of the row"
        self.margin_name = "margin"
        if classes is None:
            self.margin_name, self.weight_name = "residual", "absolute residual"

    def margins(self, rounds: Sequence[int]) -> list[Floats]:
        """Return the margins of all rows, or residuals, after some rounds."""
        model, X = self._model, self._part.X
        if self._classes is None:
            stages: Iterator[Floats] = (np.asarray(one) - self._truth for one in model.staged_predict(X))
        elif hasattr(model, "staged_margins"):
            stages = model.staged_margins(X, self._part.y)
        else:
            self.margin_name = "margin (probability of the class less the next)"
            stages = (self._probability_margin(np.asarray(one)) for one in model.staged_predict_proba(X))
        self._margins = [np.asarray(one, np.float64) for one in _pick(stages, rounds)]
        return self._margins

    def _probability_margin(self, proba: Floats) -> Floats:
        assert self._codes is not None
        at = np.arange(len(proba))
        own = proba[at, self._codes]
        others = proba.copy()
        others[at, self._codes] = -1.0
        return np.asarray(own - others.max(axis=1))

    def weights(self, rounds: Sequence[int]) -> list[Floats]:
        """Return the weights of all rows in some rounds: those of the learner, or sizes of gradients."""
        if self._classes is not None and self._has_weights:
            stages = self._model.staged_row_weights(self._part.X, self._part.y)
            found = [np.asarray(one, np.float64) for one in _pick(stages, rounds)]
            return [one if one.ndim == 1 else one.sum(axis=1) for one in found]
        if self._classes is None:
            return [np.abs(one) for one in self._margins]
        return [(1.0 - one) / 2 for one in self._margins]  # 1 − p of the own class, with two classes

    def is_wrong(self, margins: Floats) -> NDArray[np.bool_]:
        """Return which rows are predicted wrongly, or worse than nine tenths of them."""
        if self._classes is not None:
            return np.asarray(margins < 0)
        size = np.abs(margins)
        return np.asarray(size > np.quantile(size, 0.9))

    def point_levels(self, levels: _Levels) -> NDArray[np.intp]:
        """Return class or level of each row."""
        return self._codes.astype(np.intp) if self._codes is not None else levels.of(self._truth)


@dataclass(frozen=True)
class _Levels:
    """Classes, or ranges of values between edges."""

    names: tuple[str, ...]
    edges: Floats

    def of(self, values: Floats) -> NDArray[np.intp]:
        """Return the range of each value."""
        return np.searchsorted(self.edges, values, side="right").astype(np.intp)


# ---- decision regions ----


def _axes(part: EvaluationRows, features: Sequence[str | int]) -> tuple[tuple[Axis, Axis] | None, Any]:
    """Return the two features of the regions, and rows at every cell; other features as in a typical row."""
    names = list(part.table.schema.names)
    positions = []
    for one in features:
        if isinstance(one, int) or one in names:
            positions.append(one if isinstance(one, int) else names.index(one))
        else:
            raise InputError(f"There is no feature {one!r} to replay", fix=suggest_columns(one, names))
    found = [(j, *axis) for j in positions if (axis := _axis(part, j)) is not None][:2]
    if len(found) < 2:
        return None, None
    (j, x_axis, x_rows), (k, y_axis, y_rows) = found
    n_x, n_y = len(x_rows), len(y_rows)
    typical = np.full(n_x * n_y, _typical_row(part))
    made = mix_rows(part.X, typical, {j: np.tile(x_rows, n_y), k: np.repeat(y_rows, n_x)})
    return (x_axis, y_axis), made


def _axis(part: EvaluationRows, j: int) -> tuple[Axis, NDArray[np.intp]] | None:
    """Return a grid of values of a feature, and a row that has each of them."""
    feature, column = part.table.schema.features[j], part.table.column(j)
    if feature.kind == "categorical":
        counts = np.bincount(column[column >= 0], minlength=len(feature.categories))
        codes = np.argsort(-counts, kind="stable")[:8]
        codes = codes[counts[codes] > 0]
        if len(codes) < 2:
            return None
        rows = np.array([int((column == code).argmax()) for code in codes.tolist()])
        levels = tuple(printable(str(feature.categories[code])) for code in codes.tolist())
        return Axis(feature.name, tuple(map(float, range(len(codes)))), levels), rows
    known = np.flatnonzero(np.isfinite(column))
    if not len(known):
        return None
    values = np.asarray(column, np.float64)[known]
    low, high = np.quantile(values, [0.01, 0.99])
    wanted = np.linspace(low, high, _GRID)
    nearest = np.abs(values[:, None] - wanted).argmin(axis=0)
    distinct, first = np.unique(values[nearest], return_index=True)
    if len(distinct) < 2:
        return None
    return Axis(feature.name, tuple(distinct.tolist()), ()), known[nearest[first]]


def _typical_row(part: EvaluationRows) -> int:
    """Return the row that is closest to the medians and the most frequent categories."""
    distance = np.zeros(part.n_rows)
    for j, feature in enumerate(part.table.schema.features):
        column = part.table.column(j)
        if feature.kind == "categorical":
            counts = np.bincount(column[column >= 0], minlength=len(feature.categories))
            distance += column != counts.argmax() if len(counts) else 0
            continue
        values = np.asarray(column, np.float64)
        if not np.isfinite(values).any():
            continue
        middle, spread = np.nanmedian(values), np.nanstd(values)
        distance += np.minimum(np.nan_to_num(np.abs(values - middle) / (spread or 1.0), nan=2.0), 2.0)
    return int(distance.argmin())


def _regions(
    model: Any, X: Any, classes: NDArray[Any] | None, part: EvaluationRows, rounds: Sequence[int]
) -> tuple[list[NDArray[np.intp]], _Levels]:
    """Return the level of every cell after some rounds."""
    if classes is not None:
        levels = _Levels(tuple(printable(str(one)) for one in classes.tolist()), np.zeros(0))
        if X is None:
            return [], levels
        stages = (
            encode_like(np.asarray(one), [classes])[:, 0].astype(np.intp) for one in model.staged_predict(X)
        )
        return _pick(stages, rounds), levels
    assert part.y is not None
    edges = np.unique(np.quantile(part.y.astype(np.float64), np.linspace(0, 1, _N_LEVELS + 1)[1:-1]))
    texts = [plain_number(edge) for edge in edges.tolist()]
    between = [f"{a} to {b}" for a, b in pairwise(texts)]
    levels = _Levels((f"below {texts[0]}", *between, f"{texts[-1]} or more"), edges)
    if X is None:
        return [], levels
    return _pick((levels.of(np.asarray(one)) for one in model.staged_predict(X)), rounds), levels


def _places(
    part: EvaluationRows, axes: tuple[Axis, Axis], points: NDArray[np.intp], levels: NDArray[np.intp]
) -> tuple[tuple[float, float, int], ...]:
    """Return the places of points; the place of a category is its index, of one not shown NaN."""
    columns = []
    for axis in axes:
        j = part.table.schema.names.index(axis.name)
        column = part.table.column(j)[points]
        if axis.levels:
            categories = [printable(str(one)) for one in part.table.schema.features[j].categories]
            place = [float(axis.levels.index(one)) if one in axis.levels else np.nan for one in categories]
            columns.append([[*place, np.nan][code] for code in column.tolist()])
        else:
            low, high = axis.values[0], axis.values[-1]
            columns.append(np.clip(np.asarray(column, np.float64), low, high).tolist())
    return tuple((float(a), float(b), int(c)) for a, b, c in zip(*columns, levels.tolist(), strict=True))


# ---- ledger ----


def _series(model: Any, n_rounds: int) -> tuple[tuple[tuple[str, tuple[float, ...]], ...], int]:
    """Return the columns of the ledger by round, and the number of its first round."""
    ledger = getattr(model, "ledger_", None)
    if isinstance(ledger, Ledger):
        columns = ledger.to_columns()
        numbers = columns.get("round", [1])
        found = [
            (_SIGNS[name], tuple(map(float, values))) for name, values in columns.items() if name in _SIGNS
        ]
        return tuple(found), int(numbers[0]) if numbers else 1
    found = []
    for attribute, name in (("estimator_errors_", "error"), ("estimator_weights_", "weight")):
        values = np.asarray(getattr(model, attribute, ()), np.float64).ravel()
        if len(values) == n_rounds:
            found.append((_SIGNS[name], tuple(values.tolist())))
    return tuple(found), 1


BOUND_NAMES = tuple(_SIGNS[name] for name in _BOUNDS)
"""Series that are drawn together: errors, losses and their bounds."""
