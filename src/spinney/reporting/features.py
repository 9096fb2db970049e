"""What a model uses: importances three ways, partial dependence, and SHAP values of single features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.inspect import (
    ShapValues,
    feature_importances,
    partial_dependence,
    permutation_importance,
    shap_values,
)
from spinney.inspect.wording import printable
from spinney.reporting.rows import EvaluationRows, mix_rows
from spinney.reporting.scored import Task

_MAX_FEATURES = 20
_MAX_PERMUTED = 20
_MANY_FEATURES = 60
_PERMUTATION_ROWS = 400
_SHAP_ROWS = 300
_BACKGROUND_ROWS = 100
_DEPENDENCE_ROWS = 200
_MAX_GRID = 30
_MAX_LEVELS = 12
_N_DEPENDENCE = 6
_N_PERMUTATIONS = 5


@dataclass(frozen=True)
class FeatureImportance:
    """Importance of one feature: share of the gain, decrease of the score by permutation, mean |SHAP|."""

    name: str
    gain: float | None
    permutation: tuple[float, float, float] | None
    shap: float | None


@dataclass(frozen=True)
class FeatureEffect:
    """How the output depends on one feature.

    `line` has the points of the partial dependence, `dots` pairs (value, SHAP value); the position of a
    category is its index in `levels`.
    """

    name: str
    output: str
    line: tuple[tuple[float, float], ...]
    dots: tuple[tuple[float, float], ...]
    levels: tuple[str, ...]
    dots_output: str


@dataclass(frozen=True)
class Features:
    """Importances of the most important features, and effects of a few of them."""

    importances: tuple[FeatureImportance, ...]
    n_features: int
    score: str
    effects: tuple[FeatureEffect, ...]
    space: str


def explain_rows(
    model: Any, rows: EvaluationRows, train: EvaluationRows | None, seed: int
) -> tuple[ShapValues, EvaluationRows] | None:
    """Return the SHAP values of some rows, and these rows; None if the model has none.

    Sums of trees need no background; linear models compare with training rows, or with the reported ones.
    """
    part = rows.sample(_SHAP_ROWS, seed)
    background = (train or rows).sample(_BACKGROUND_ROWS, seed).X
    for options in ({}, {"background": background}):
        try:
            return shap_values(model, part.X, **options), part
        except InputError:  # neither trees nor linear, oblique splits, votes of divided rows
            continue
    return None


def describe_features(
    model: Any,
    rows: EvaluationRows,
    task: Task | None,
    explained: tuple[ShapValues, EvaluationRows] | None,
    seed: int,
) -> Features | None:
    """Compute importances and effects; None if the model has nothing to tell."""
    names = _feature_names(model, rows)
    gain = _gain(model, names)
    mean_abs = None if explained is None else _mean_abs(explained[0])
    order = _order([gain, mean_abs], len(names))
    permuted: dict[str, tuple[float, float, float]] = {}
    if task in ("binary", "multiclass", "regression"):
        few = [names[j] for j in order[:_MAX_PERMUTED]] if len(names) > _MANY_FEATURES else names
        permuted = _permutation(model, rows, few, seed)
    if not permuted and gain is None and mean_abs is None:
        return None
    if gain is None and mean_abs is None:
        order = sorted(range(len(names)), key=lambda j: -permuted.get(names[j], (-np.inf,))[0])
    found = tuple(
        FeatureImportance(
            names[j],
            None if gain is None else float(gain[j]),
            permuted.get(names[j]),
            None if mean_abs is None else float(mean_abs[j]),
        )
        for j in order[:_MAX_FEATURES]
    )
    effects = [
        effect
        for j in order[:_N_DEPENDENCE]
        if (effect := _effect(model, rows, names, j, explained, seed)) is not None
    ]
    score = "accuracy" if task in ("binary", "multiclass") else "R²"
    space = "" if explained is None else explained[0].space
    return Features(found, len(names), score, tuple(effects), space)


def _feature_names(model: Any, rows: EvaluationRows) -> list[str]:
    schema = getattr(model, "schema_", None)
    if hasattr(model, "tree_sum"):
        schema = model.tree_sum().schema
    return list(rows.table.schema.names if schema is None else schema.names)


def _gain(model: Any, names: Sequence[str]) -> Floats | None:
    try:  # hasattr would compute them a second time
        if hasattr(model, "tree_sum"):
            return feature_importances(model, "gain").values
        values = np.asarray(model.feature_importances_, np.float64)
    except AttributeError:
        return None
    return values if values.shape == (len(names),) else None


def _mean_abs(found: ShapValues) -> Floats:
    means = found.mean_abs()
    return means if means.ndim == 1 else np.asarray(means.sum(axis=1))


def _order(several: Sequence[Floats | None], n: int) -> list[int]:
    """Return the features by the sum of their shares in the importances that there are."""
    total = np.zeros(n)
    for values in several:
        if values is not None and len(values) == n and values.sum() > 0:
            total += values / values.sum()
    order: list[int] = np.argsort(-total, kind="stable").tolist()
    return order


def _permutation(
    model: Any, rows: EvaluationRows, names: Sequence[str], seed: int
) -> dict[str, tuple[float, float, float]]:
    part = rows.sample(_PERMUTATION_ROWS, seed)
    X: Any = part.X.toarray() if hasattr(part.X, "toarray") else part.X
    if isinstance(X, dict):
        return {}
    schema = rows.table.schema
    own = list(schema.names)
    groups: dict[str, list[str | int]] = {
        name: [name if schema.has_names else own.index(name)] for name in names if name in own
    }

    def score(fitted: Any, table: Any, y: Any) -> float:
        return _score(fitted, table, y, part.weight)

    found = permutation_importance(
        model, X, part.y, scoring=score, n_repeats=_N_PERMUTATIONS, groups=groups, random_state=seed
    )
    assert found.low is not None
    assert found.high is not None
    return {
        name: (value, low, high)
        for name, value, low, high in zip(
            found.names, found.values.tolist(), found.low.tolist(), found.high.tolist(), strict=True
        )
    }


def _score(model: Any, X: Any, y: NDArray[Any], weight: Floats) -> float:
    """Accuracy, or R², of the first output."""
    predicted = np.asarray(model.predict(X))
    predicted = predicted[:, 0] if predicted.ndim == 2 else predicted
    if is_classifier(model):
        return float(np.average(predicted == y, weights=weight))
    mean = np.average(y, weights=weight)
    spread = float(np.average((y - mean) ** 2, weights=weight))
    return 1 - float(np.average((predicted - y) ** 2, weights=weight)) / spread if spread > 0 else 0.0


# ---- effects ----


def _effect(
    model: Any, rows: EvaluationRows, names: list[str], j: int,
    explained: tuple[ShapValues, EvaluationRows] | None, seed: int,
) -> FeatureEffect | None:  # fmt: skip
    schema = rows.table.schema
    if names[j] not in schema.names:
        return None
    at = schema.names.index(names[j])
    feature = schema.features[at]
    levels: tuple[str, ...] = ()
    shown: list[Any] = []
    if feature.kind == "categorical":
        column = rows.table.column(at)
        counts = np.bincount(column[column >= 0], minlength=len(feature.categories))
        kept = np.argsort(-counts, kind="stable")[:_MAX_LEVELS]
        shown = [feature.categories[k] for k in kept.tolist() if counts[k]]
        levels = tuple(printable(str(one)) for one in shown)
    output, line = _dependence(model, rows, at, shown, seed)
    dots_output, dots = ("", []) if explained is None else _dots(explained, j, at, shown)
    if not line and not dots:
        return None
    return FeatureEffect(names[j], output, tuple(line), tuple(dots), levels, dots_output)


def _dependence(
    model: Any, rows: EvaluationRows, at: int, shown: list[Any], seed: int
) -> tuple[str, list[tuple[float, float]]]:
    """Average output while one feature takes the values of a grid."""
    name = rows.table.schema.names[at]
    part = rows.sample(_DEPENDENCE_ROWS, seed)
    if hasattr(model, "tree_sum"):
        try:
            key: str | int = name if rows.table.schema.has_names else at
            found = partial_dependence(model, part.X, key, grid=shown or None, max_points=_MAX_GRID)
        except InputError:  # oblique splits, or categories that the trees see as numbers
            pass
        else:
            values = found.values if found.values.ndim == 1 else found.values[:, -1]
            output = found.output_names[-1] if found.output_names else ""
            points = range(len(shown)) if shown else found.grid[0].tolist()
            return output, list(zip(map(float, points), values.tolist(), strict=True))
    return _dependence_by_prediction(model, rows, at, shown, seed)


def _dependence_by_prediction(
    model: Any, rows: EvaluationRows, at: int, shown: list[Any], seed: int
) -> tuple[str, list[tuple[float, float]]]:
    column = rows.table.column(at)
    base = rows.sample(_DEPENDENCE_ROWS // 2, seed)
    if shown:
        code_of = rows.table.schema.features[at].code_of
        donors = [int((column == code_of[level]).argmax()) for level in shown]
        places = [float(k) for k in range(len(shown))]
    else:
        known = np.flatnonzero(np.isfinite(column))
        if not len(known):
            return "", []
        order = known[np.argsort(column[known], kind="stable")]
        donors = order[np.unique(np.linspace(0, len(order) - 1, _MAX_GRID).astype(int))].tolist()
        places = [float(column[k]) for k in donors]
    own = np.flatnonzero(np.isin(rows.position, base.position))
    made = mix_rows(rows.X, np.tile(own, len(donors)), {at: np.repeat(donors, len(own))})
    output, values = _numeric_output(model, made)
    if values is None:
        return "", []
    means = values.reshape(len(donors), len(own)).mean(axis=1)
    last = {place: float(mean) for place, mean in zip(places, means.tolist(), strict=True)}
    return output, sorted(last.items())


def _numeric_output(model: Any, X: Any) -> tuple[str, Floats | None]:
    """Return one number per row: the probability or score of the last class, or the value."""
    if not is_classifier(model):
        if not hasattr(model, "predict"):
            return "", None
        values = np.asarray(model.predict(X), np.float64)
        return "", values if values.ndim == 1 else values[:, 0]
    for method in ("predict_proba", "decision_function"):
        if hasattr(model, method):
            found = getattr(model, method)(X)
            values = np.asarray(found[0] if isinstance(found, list) else found, np.float64)
            classes = model.classes_[0] if isinstance(model.classes_, list) else model.classes_
            return str(classes[-1]), values if values.ndim == 1 else values[:, -1]
    return "", None


def _dots(
    explained: tuple[ShapValues, EvaluationRows], j: int, at: int, shown: list[Any]
) -> tuple[str, list[tuple[float, float]]]:
    """SHAP values of a feature, of the output that it changes most, beside its values."""
    found, part = explained
    output = ""
    if found.output_names:
        best = int(found.mean_abs()[j].argmax())
        # With two classes the contributions are opposite; show those of the second.
        best = 1 if len(found.output_names) == 2 else best
        output, found = found.output_names[best], found.select(best)
    values: NDArray[Any] = np.asarray(part.table.column(at), np.float64)
    if shown:
        code_of = part.table.schema.features[at].code_of
        place = {code_of[level]: k for k, level in enumerate(shown) if level in code_of}
        values = np.array([place.get(int(code), np.nan) for code in values.tolist()], np.float64)
    good = np.isfinite(values)
    return output, list(zip(values[good].tolist(), found.values[good, j].tolist(), strict=True))
