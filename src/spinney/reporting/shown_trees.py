"""The trees of a report: pictures, split candidates of the ledger, rules, and the paths of followed rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spinney.core.ledger import CandidateLedger
from spinney.data.schema import Schema
from spinney.inspect import ShapValues
from spinney.inspect.rules import rules
from spinney.inspect.wording import format_number, printable
from spinney.members.tables import take_columns
from spinney.plotting.picture import Picture, tree_picture
from spinney.reporting.rows import EvaluationRows
from spinney.reporting.scored import Scored
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.predictor import Predictor
from spinney.tree.tree_arrays import TreeArrays
from spinney.tree.tree_sum import TreeSum

_MAX_TREES = 5
_MAX_NODES = 47
_MAX_NODES_ALONE = 255
_MAX_CANDIDATES = 6
_MAX_RULES = 30
_MAX_CONTRIBUTIONS = 8


@dataclass(frozen=True, eq=False)
class NamedModel:
    """A tree with the names of its features and classes, as `tree_picture` and `rules` read it."""

    tree_: TreeArrays
    schema_: Schema
    classes_: Any = None
    criterion: str = "impurity"


@dataclass(frozen=True)
class SplitCandidate:
    """A split that was considered at a node."""

    split: str
    score: float
    gain: float
    chosen: bool


@dataclass(frozen=True)
class TreeRecord:
    """One tree: its picture down to some depth, and the candidates of its nodes."""

    title: str
    picture: Picture
    parents: tuple[int, ...]
    n_nodes: int
    n_leaves: int
    max_depth: int
    candidates: Mapping[int, tuple[SplitCandidate, ...]]


@dataclass(frozen=True)
class FollowedRow:
    """A row whose path is shown: nodes that it reaches in each tree, and contributions of features."""

    label: str
    outcome: str
    paths: tuple[tuple[int, ...], ...]
    contributions: tuple[tuple[str, str, float], ...]
    base_value: float | None
    output: str
    """What the contributions sum to, with the base value."""


@dataclass(frozen=True)
class Trees:
    """The trees that are shown, of how many, rows to follow, and the rules of the first tree."""

    trees: tuple[TreeRecord, ...]
    n_trees: int
    followed: tuple[FollowedRow, ...]
    rules: tuple[tuple[str, str, float], ...]
    n_rules: int
    has_ledger: bool


@dataclass(frozen=True, eq=False)
class _Source:
    """One tree, where it comes from, and how it reads rows."""

    title: str
    total: TreeSum
    index: int
    candidates: CandidateLedger | None
    classes: Any
    columns: Any = None


def describe_trees(
    model: Any, followed: EvaluationRows | None, scored: Scored | None, explained: ShapValues | None
) -> Trees | None:
    """Compute the records of the trees of a model; None if it has none.

    `followed` are the rows to follow, `scored` their predictions and `explained` their SHAP values.
    """
    sources, n_trees = _find_trees(model)
    if not sources:
        return None
    limit = _MAX_NODES_ALONE if n_trees == 1 else _MAX_NODES
    named = [_named(source) for source in sources]
    records = [_record(source, one, limit) for source, one in zip(sources, named, strict=True)]
    rows: list[FollowedRow] = []
    if followed is not None:
        rows = _follow(sources, followed, scored, explained)
    stated = sorted(rules(named[0]), key=lambda rule: -rule.share)
    return Trees(
        tuple(records),
        n_trees,
        tuple(rows),
        tuple((rule.condition, rule.conclusion, rule.share) for rule in stated[:_MAX_RULES]),
        len(stated),
        any(record.candidates for record in records),
    )


def _find_trees(model: Any) -> tuple[list[_Source], int]:
    if hasattr(model, "tree_sum"):
        total: TreeSum = model.tree_sum()
        n = total.trees.n_trees
        return [_of_sum(model, total, t) for t in _spread(n)], n
    members = [one for one in getattr(model, "estimators_", ()) if hasattr(one, "tree_sum")]
    features = list(getattr(model, "estimators_features_", [None] * len(members)))
    found = []
    for m in _spread(len(members)):
        total = members[m].tree_sum()
        source = _of_sum(members[m], total, 0)
        title = f"Member {m + 1}" + (f", tree 1 of {total.trees.n_trees}" if total.trees.n_trees > 1 else "")
        columns = features[m] if len(features) == len(members) else None
        found.append(_Source(title, total, 0, source.candidates, source.classes, columns))
    return found, sum(one.tree_sum().trees.n_trees for one in members)


def _spread(n: int) -> list[int]:
    """Return the first trees, one in the middle and the last."""
    if n <= _MAX_TREES:
        return list(range(n))
    return [*range(_MAX_TREES - 2), n // 2, n - 1]


def _of_sum(model: Any, total: TreeSum, t: int) -> _Source:
    n = total.trees.n_trees
    title = f"Tree {t + 1} of {n}" if n > 1 else "The tree"
    if total.outputs_per_round is not None and len(total.output_names) > 1:
        per_round = total.outputs_per_round
        title = f"Round {t // per_round + 1}, tree of {total.output_names[t % per_round]}"
    ledger = getattr(model, "ledger_", None)
    candidates = ledger if isinstance(ledger, CandidateLedger) else None
    of_trees = getattr(ledger, "candidates", ())
    if isinstance(of_trees, tuple) and len(of_trees) >= n:
        candidates = of_trees[t]
    members = vars(model).get("estimators_", ())  # forests make theirs when they are asked for
    if candidates is None and len(members) == n:
        own = getattr(members[t], "ledger_", None)
        candidates = own if isinstance(own, CandidateLedger) else None
    classes = getattr(model, "classes_", None) if total.space == "probability" else None
    return _Source(title, total, t, candidates, classes)


def _named(source: _Source) -> NamedModel:
    tree = source.total.trees.tree(source.index)
    criterion = "gain" if source.total.outputs_per_round is not None else "impurity"
    return NamedModel(tree, source.total.table_schema, source.classes, criterion)


def _record(source: _Source, named: NamedModel, limit: int) -> TreeRecord:
    tree = named.tree_
    depths = [depth for depth, (_, end) in enumerate(tree.levels) if end <= limit]
    picture = tree_picture(named, max(depths, default=0))
    shown = len(picture.boxes)
    candidates: dict[int, tuple[SplitCandidate, ...]] = {}
    if source.candidates is not None:
        for node in range(shown):
            if found := _candidates(source.candidates, node):
                candidates[node] = found
    return TreeRecord(
        source.title,
        picture,
        tuple(tree.parent[:shown].tolist()),
        tree.node_count,
        tree.n_leaves,
        tree.max_depth,
        candidates,
    )


def _candidates(ledger: CandidateLedger, node: int) -> tuple[SplitCandidate, ...]:
    at = np.flatnonzero(ledger.node == node)
    at = at[np.lexsort((-ledger.score[at], ~ledger.chosen[at]))][:_MAX_CANDIDATES]
    found = []
    for k in at.tolist():
        feature, threshold = int(ledger.feature[k]), float(ledger.threshold[k])
        name = printable(ledger.feature_names[feature]) if feature >= 0 else "a sum of features"
        split = name if np.isnan(threshold) else f"{name} ≤ {format_number(threshold)}"
        found.append(
            SplitCandidate(split, float(ledger.score[k]), float(ledger.gain[k]), bool(ledger.chosen[k]))
        )
    return tuple(found)


# ---- rows to follow ----


def _follow(
    sources: Sequence[_Source], rows: EvaluationRows, scored: Scored | None, explained: ShapValues | None
) -> list[FollowedRow]:
    paths: list[list[tuple[int, ...]]] = [[] for _ in range(rows.n_rows)]
    for source in sources:
        X = rows.X if source.columns is None else take_columns(rows.X, source.columns)
        tree = TreeEnsemble.from_trees([source.total.trees.tree(source.index)])
        reach = Predictor(tree).decision_path(source.total.read(X))
        for i in range(rows.n_rows):
            nodes = reach.indices[reach.indptr[i] : reach.indptr[i + 1]]
            paths[i].append(tuple(np.sort(nodes).tolist()))
    found = []
    for i in range(rows.n_rows):
        contributions, base, output = _contributions(explained, i, scored)
        label = f"row {int(rows.position[i])}"
        found.append(
            FollowedRow(label, describe_outcome(scored, i), tuple(paths[i]), contributions, base, output)
        )
    return found


def describe_outcome(scored: Scored | None, row: int) -> str:
    """Return truth and prediction of a row as text."""
    if scored is None:
        return ""
    if not scored.classes:
        return f"true {scored.truth[row]:.4g}, predicted {scored.predicted[row]:.4g}"
    true, called = (printable(str(scored.classes[int(c[row])])) for c in (scored.truth, scored.predicted))
    sure = "" if scored.proba is None else f" ({scored.proba[row].max():.0%})"
    return f"true {true}, predicted {called}{sure}"


def _contributions(
    explained: ShapValues | None, row: int, scored: Scored | None
) -> tuple[tuple[tuple[str, str, float], ...], float | None, str]:
    """Return the largest contributions (feature, value, contribution) to an output, its base and its name."""
    if explained is None:
        return (), None, ""
    space = {"raw": "raw score", "value": "predicted value"}.get(explained.space, explained.space)
    if scored is not None and len(scored.classes) == 2:
        space += f" of {printable(str(scored.classes[1]))}"
    if explained.output_names:
        chosen = 0
        if scored is not None and len(explained.output_names) == len(scored.classes):
            # With two classes the contributions are opposite; show those of the second.
            chosen = 1 if len(scored.classes) == 2 else int(scored.predicted[row])
        if scored is None or len(scored.classes) != 2:
            space += f" of {printable(explained.output_names[chosen])}"
        explained = explained.select(chosen)
    values = explained.values[row]
    largest = np.argsort(-np.abs(values), kind="stable")[:_MAX_CONTRIBUTIONS]
    found = []
    for j in largest.tolist():
        value = explained.data[row, j]
        is_number = isinstance(value, float | np.floating)
        shown = format_number(float(value)) if is_number else printable(str(value))
        found.append((printable(explained.feature_names[j]), shown, float(values[j])))
    return tuple(found), float(explained.base_values[row]), space
