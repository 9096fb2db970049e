"""The members of an ensemble: accuracy, diversity and the points of the κ–error diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, InputTypeError
from spinney.diversity import diagnose, member_predictions
from spinney.diversity.diagnosis import Diagnosis, RegressionDiagnosis
from spinney.diversity.members import fitted_members
from spinney.diversity.pairwise import pair_mean
from spinney.reporting.rows import EvaluationRows, draw
from spinney.reporting.scored import Task

_MAX_ROWS = 400
_MAX_MEMBERS = 40
_MAX_POINTS = 780

# Name of each measure, and whether higher or lower values mean more diversity.
_PAIRWISE = {
    "disagreement": "higher",
    "kappa": "lower",
    "q_statistic": "lower",
    "correlation": "lower",
    "double_fault": "lower",
}
_OVERALL = {
    "entropy": "higher",
    "kohavi_wolpert": "higher",
    "interrater": "lower",
    "generalized_diversity": "higher",
    "coincident_failure": "higher",
}
_NAMES = {
    "q_statistic": "Q statistic",
    "kohavi_wolpert": "Kohavi–Wolpert variance",
    "interrater": "interrater κ",
}
_VARIANCE = ("squared_bias", "variance", "covariance", "error_variance")


@dataclass(frozen=True)
class Member:
    """A member: its number, class, error, and weight if it has one."""

    number: int
    kind: str
    error: float
    weight: float | None


@dataclass(frozen=True)
class Members:
    """Members, measures of diversity (name, value, which values are more diverse), and κ–error points."""

    n_members: int
    members: tuple[Member, ...]
    error: float
    error_name: str
    measures: tuple[tuple[str, float, str], ...]
    kappa_error: tuple[tuple[float, float], ...]


def describe_members(model: Any, rows: EvaluationRows, task: Task | None, seed: int) -> Members | None:
    """Compute the record of an ensemble; None for a model without members that predict by themselves."""
    if task in (None, "ranking"):
        return None
    try:
        members = fitted_members(model)
    except (InputError, InputTypeError):  # no members, or parts of a sum or of a code
        return None
    part = rows.sample(_MAX_ROWS, seed)
    if len(members) < 2 or np.ndim(model.predict(part.X)) != 1:
        return None
    chosen = draw(len(members), _MAX_MEMBERS, seed)
    found: Any
    if task == "regression":
        found = diagnose(model, part.X, part.y, sample_weight=part.weight)
        errors = found.error_by_member[chosen]
    else:
        predictions = _predictions(model, members, chosen.tolist(), part.X)
        found = diagnose(predictions, None, part.y, sample_weight=part.weight)
        errors = found.error_by_member
    weights = np.asarray(getattr(model, "estimator_weights_", ()), np.float64).ravel()
    records = tuple(
        Member(
            int(m) + 1,
            type(members[m]).__name__,
            float(error),
            float(weights[m]) if len(weights) == len(members) else None,
        )
        for m, error in zip(chosen.tolist(), errors.tolist(), strict=True)
    )
    points: tuple[tuple[float, float], ...] = ()
    if isinstance(found, Diagnosis):
        pairs = found.kappa_error
        kept = draw(len(pairs.kappa), _MAX_POINTS, seed)
        points = tuple(zip(pairs.kappa[kept].tolist(), pairs.error[kept].tolist(), strict=True))
    name = "error rate" if points else "mean squared error"
    return Members(len(members), records, float(found.error), name, _measures(found), points)


def _predictions(model: Any, members: list[Any], chosen: list[int], X: Any) -> NDArray[Any]:
    """Return the predictions of some members, in the labels of the ensemble."""
    several = [members[m] for m in chosen]
    alike = all(np.array_equal(getattr(one, "classes_", ()), model.classes_) for one in several)
    if len(chosen) == len(members) or hasattr(model, "estimators_features_") or not alike:
        return member_predictions(model, X)[:, chosen]
    return member_predictions(several, X)


def _measures(found: Diagnosis | RegressionDiagnosis) -> tuple[tuple[str, float, str], ...]:
    mean = ("mean error of the members", float(found.ambiguity.mean_error), "")
    ambiguity = ("ambiguity", float(found.ambiguity.ambiguity), "higher")
    if isinstance(found, RegressionDiagnosis):
        parts = [(name.replace("_", " "), float(getattr(found, name)), "") for name in _VARIANCE]
        return (mean, ambiguity, *parts)
    pairwise = [(name, float(pair_mean(getattr(found, name))), better) for name, better in _PAIRWISE.items()]
    overall = [(name, float(getattr(found, name)), better) for name, better in _OVERALL.items()]
    names = [
        (_NAMES.get(name, name.replace("_", " ")), value, better)
        for name, value, better in (*pairwise, *overall)
    ]
    expected = ("error of independent voters", float(found.independent_error), "")
    return (mean, expected, ambiguity, *names)
