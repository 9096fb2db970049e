"""Baselines: a constant, a stump and a linear model, by which a verdict measures a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from spinney.core.arrays import Floats
from spinney.data.schema import Table
from spinney.data.target import encode_like
from spinney.linear import LogisticRegression, Ridge
from spinney.members.tables import take_rows
from spinney.reporting.rows import EvaluationRows
from spinney.reporting.scored import Scored
from spinney.trees import DecisionTreeClassifier, DecisionTreeRegressor

NAMES = ("constant", "stump", "linear model")
_N_FOLDS = 5
_MAX_LEVELS = 20  # categories of a column that get a column of their own
_MAX_COLUMNS = 500
_MAX_TRAINING_ROWS = 20_000

_Outputs = Callable[[EvaluationRows, NDArray[Any], Any, Table], Floats]


def score_baselines(
    model: Scored, rows: EvaluationRows, train: EvaluationRows | None, seed: int
) -> list[Scored]:
    """Return the predictions of the baselines, in the order of NAMES.

    They are fitted to the training rows. Without those, every row is predicted by baselines that were fitted
    to other folds of the rows.
    """
    outputs: list[_Outputs] = [_constant, _stump, _linear]
    if train is not None:
        train = train.sample(_MAX_TRAINING_ROWS, seed)
        target = _encode(model, train)
        kept = np.flatnonzero(target >= 0) if model.classes else np.arange(train.n_rows)
        train, target = train.take(kept), target[kept]
        return [_as_scored(model, make(train, target, rows.X, rows.table)) for make in outputs]
    if rows.n_rows < 2 * _N_FOLDS:
        return []
    found = [np.zeros((rows.n_rows, max(len(model.classes), 1))) for _ in outputs]
    for inside, outside in _folds(model, rows.n_rows, seed):
        part, X = rows.take(inside), take_rows(rows.X, outside)
        for output, make in zip(found, outputs, strict=True):
            output[outside] = make(part, model.truth[inside], X, rows.table.take(outside))
    return [_as_scored(model, output) for output in found]


def _encode(model: Scored, train: EvaluationRows) -> NDArray[Any]:
    assert train.y is not None
    if not model.classes:
        return train.y.astype(np.float64)
    codes: NDArray[Any] = encode_like(train.y, [np.array(model.classes, dtype=object)])[:, 0]
    return codes


def _folds(model: Scored, n_rows: int, seed: int) -> Any:
    rows = np.zeros(n_rows)
    counts = np.bincount(model.truth) if model.classes else np.array([n_rows])
    if model.classes and counts[counts > 0].min() >= _N_FOLDS:
        return StratifiedKFold(_N_FOLDS, shuffle=True, random_state=seed).split(rows, model.truth)
    return KFold(_N_FOLDS, shuffle=True, random_state=seed).split(rows)


def _as_scored(model: Scored, output: Floats) -> Scored:
    if not model.classes:
        return Scored(model.task, model.truth, output[:, 0], query=model.query)
    score = output[:, 1] if len(model.classes) == 2 else None
    return Scored(model.task, model.truth, output.argmax(axis=1), output, score, model.classes)


# ---- outputs (n_rows, n_classes), or (n_rows, 1) ----


def _constant(train: EvaluationRows, target: NDArray[Any], X: Any, table: Table) -> Floats:
    if target.dtype.kind == "f":
        return np.full((table.n_rows, 1), np.average(target, weights=train.weight))
    share = np.bincount(target, train.weight, int(target.max()) + 1)
    return np.tile(share / share.sum(), (table.n_rows, 1))


def _stump(train: EvaluationRows, target: NDArray[Any], X: Any, table: Table) -> Floats:
    make = DecisionTreeRegressor if target.dtype.kind == "f" else DecisionTreeClassifier
    stump: Any = make(max_depth=1, min_samples_leaf=2).fit(train.X, target, train.weight)
    return _outputs(stump, X)


def _linear(train: EvaluationRows, target: NDArray[Any], X: Any, table: Table) -> Floats:
    coding = _LinearCoding(train.table)
    if coding.n_columns == 0 or len(np.unique(target)) < 2:
        return _constant(train, target, X, table)
    model: Any = Ridge(alpha=1.0) if target.dtype.kind == "f" else LogisticRegression()
    model.fit(coding.matrix(train.table), target, sample_weight=train.weight)
    return _outputs(model, coding.matrix(table))


def _outputs(model: Any, X: Any) -> Floats:
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(X), np.float64).reshape(-1, 1)
    proba = np.asarray(model.predict_proba(X), np.float64)
    found = np.zeros((len(proba), int(model.classes_[-1]) + 1))
    found[:, model.classes_.astype(np.intp)] = proba
    return found


class _LinearCoding:
    """Columns as numbers: standardized, missing values marked, frequent categories one-hot."""

    def __init__(self, table: Table) -> None:
        self._parts: list[tuple[int, Any]] = []
        self.n_columns = 0
        for j, feature in enumerate(table.schema.features):
            column = table.column(j)
            if feature.kind == "categorical":
                counts = np.bincount(column[column >= 0], minlength=len(feature.categories))
                frequent = np.argsort(-counts, kind="stable")[:_MAX_LEVELS]
                part: Any = [feature.categories[code] for code in frequent.tolist() if counts[code]]
                width = len(part)
            else:
                known = np.asarray(column, np.float64)
                known = known[np.isfinite(known)]
                if not len(known):
                    continue
                part, width = (float(known.mean()), float(known.std()) or 1.0, len(known) < len(column)), 2
            if self.n_columns + width <= _MAX_COLUMNS:
                self._parts.append((j, part))
                self.n_columns += width

    def matrix(self, table: Table) -> Floats:
        """Return the coded columns."""
        columns: list[Floats] = []
        for j, part in self._parts:
            column = table.column(j)
            if isinstance(part, list):
                code_of = table.schema.features[j].code_of
                columns += [(column == code_of.get(level, -2)).astype(np.float64) for level in part]
                continue
            mean, scale, marked = part
            values = np.asarray(column, np.float64)
            known = np.isfinite(values)
            columns.append((np.where(known, values, mean) - mean) / scale)
            if marked:
                columns.append((~known).astype(np.float64))
        return np.column_stack(columns)
