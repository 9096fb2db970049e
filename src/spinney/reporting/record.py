"""ReportRecord: everything that a report page shows, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spinney.reporting.data_card import DataCard, describe_data
from spinney.reporting.ensemble import Members, describe_members
from spinney.reporting.features import Features, describe_features, explain_rows
from spinney.reporting.learning import LearningCurves, PruningPath, learning_curves, pruning_path
from spinney.reporting.mistakes import Mistakes, describe_mistakes, worst_rows
from spinney.reporting.performance import (
    ClassPerformance,
    GroupMetrics,
    ValuePerformance,
    compare_groups,
    describe_classes,
    describe_values,
    find_groups,
)
from spinney.reporting.provenance import Provenance, describe_provenance
from spinney.reporting.replay import Replay, replay_rounds
from spinney.reporting.rows import EvaluationRows
from spinney.reporting.scored import Scored, find_task, score_rows
from spinney.reporting.shown_trees import Trees, describe_trees
from spinney.reporting.verdict import Verdict, judge

_N_FOLLOWED = 12


@dataclass(frozen=True)
class ReportRecord:
    """What a report shows; sections that do not apply are None or empty."""

    title: str
    output: str
    data: DataCard
    provenance: Provenance
    verdict: Verdict | None = None
    learning: LearningCurves | None = None
    classes: ClassPerformance | None = None
    values: ValuePerformance | None = None
    groups: tuple[GroupMetrics, ...] = ()
    features: Features | None = None
    trees: Trees | None = None
    replay: Replay | None = None
    members: Members | None = None
    pruning: PruningPath | None = None
    mistakes: Mistakes | None = None


def compute_record(
    model: Any,
    rows: EvaluationRows,
    train: EvaluationRows | None,
    *,
    title: str,
    groups: Any,
    replay_features: Sequence[str | int] | None,
    output: int,
    show_rows: bool,
    command: str | None,
    metadata: Mapping[str, Any] | None,
    seed: int,
) -> ReportRecord:
    """Compute all sections that apply to a model."""
    task = find_task(model, rows)
    scored = None if task is None else score_rows(model, rows, task, output)
    explained = explain_rows(model, rows, train, seed)
    features = describe_features(model, rows, task, explained, seed)
    important = [] if features is None else [one.name for one in features.importances]
    plane = _plane(rows, important) if replay_features is None else replay_features
    followed = None
    if show_rows:
        followed = rows.take(_followed(scored, rows))
    return ReportRecord(
        title,
        f"output {output}" if _has_outputs(model) else "",
        describe_data(rows, train, scored),
        describe_provenance(model, rows, command, metadata),
        None if scored is None else judge(scored, rows, train, seed),
        learning_curves(model, rows, train, None if _has_outputs(model) else task, seed),
        describe_classes(scored, rows.weight) if scored is not None and scored.classes else None,
        describe_values(scored, seed) if scored is not None and scored.task == "regression" else None,
        () if scored is None else tuple(
            compare_groups(scored, rows, one, seed) for one in find_groups(groups, rows, important)
        ),
        features,
        _trees(model, followed, scored, rows, train),
        replay_rounds(model, rows, train, task, plane, seed),
        describe_members(model, rows, task, seed),
        None if _has_outputs(model) else pruning_path(model, rows, train, task, seed),
        describe_mistakes(scored, rows, important, show_rows)
        if scored is not None and scored.task != "ranking"
        else None,
    )  # fmt: skip


def _plane(rows: EvaluationRows, important: Sequence[str]) -> list[str]:
    """Return the features that a replay may show, numbers before categories."""
    kinds = {one.name: one.kind for one in rows.table.schema.features}
    return sorted((one for one in important if one in kinds), key=lambda one: kinds[one] != "numeric")


def _has_outputs(model: Any) -> bool:
    return int(getattr(model, "n_outputs_", 1)) > 1


def _followed(scored: Scored | None, rows: EvaluationRows) -> Any:
    """Return a few worst rows, and rows from the beginning."""
    worst = np.zeros(0, np.intp) if scored is None else worst_rows(scored, rows.weight)
    some = np.arange(min(rows.n_rows, _N_FOLLOWED))
    return np.array(list(dict.fromkeys([*worst[: _N_FOLLOWED // 2].tolist(), *some.tolist()])))[:_N_FOLLOWED]


def _trees(
    model: Any,
    followed: EvaluationRows | None,
    scored: Scored | None,
    rows: EvaluationRows,
    train: EvaluationRows | None,
) -> Trees | None:
    """Return the trees, with predictions and SHAP values of the rows to follow."""
    if followed is None:
        return describe_trees(model, None, None, None)
    at = np.searchsorted(rows.position, followed.position)
    part = None
    if scored is not None:
        part = Scored(
            scored.task, scored.truth[at], scored.predicted[at],
            None if scored.proba is None else scored.proba[at],
            None if scored.score is None else scored.score[at],
            scored.classes, scored.query,
        )  # fmt: skip
    found = explain_rows(model, followed, train or rows, 0)
    return describe_trees(model, followed, part, None if found is None else found[0])
