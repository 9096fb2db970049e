"""Comparing a fitted C4.5 or ID3 tree with the naive one: by node, by candidate, and by answered row."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from oracles.naive_multiway import Candidate, Tree
from oracles.random_tables import RandomTable

# A choice other than the naive one is a tie broken by rounding only if it is as good as this.
TIE = 1e-12
# Row weights are kept in fine steps, and a row divided many times is rounded at each division.
CLOSE = {"rel": 1e-10, "abs": 1e-12}
UNSEEN = 77  # a category that no table has


@dataclass(frozen=True)
class Rule:
    """How the algorithm at hand compares features; `by_ratio` only without a cost rule."""

    by_ratio: bool
    min_gain: float = 0.0


def least_weight(min_samples_leaf: int | None, weights: list[float]) -> float:
    """Return the weight of that many rows: weights with a mean below 1 are counted by their mean."""
    given = [w for w in weights if w > 0]
    return (min_samples_leaf or 0) * min(1.0, math.fsum(given) / len(given))


def cell_names(model: Any) -> list[list[float]]:
    """Return what the codes 0, 1, … of each column stand for in the table; nothing for a numeric column."""
    return [
        [float(int(c[1:])) if isinstance(c, str) else float(c) for c in feature.categories]
        for feature in model.schema_.features
    ]


def frame_of(rows: list[list[float | None]], table: RandomTable) -> pd.DataFrame:
    """Return rows as a frame of the table's kinds."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    return replace(table, columns=columns).frame()


def our_choice(model: Any, rule: Rule) -> Callable[..., Candidate | None]:
    """Return the rule by which the naive tree follows ours, held to the naive scores at every node."""
    tree = model.tree_

    def choose(path: tuple[int, ...], candidates: list[Candidate]) -> Candidate | None:
        node = 0
        for step in path:
            node = tree.children(node)[step]
        best = best_of(candidates, rule)
        if tree.is_leaf[node]:
            assert best is None or best.gain <= rule.min_gain * (1 + TIE) + 2 * TIE, (
                f"node {node} is a leaf, but feature {best.feature} gains {best.gain}"
            )
            return None
        assert best is not None, f"node {node} is divided without any gain"
        feature = int(tree.feature[node])
        chosen = [c for c in candidates if c.feature == feature]
        assert chosen, f"node {node} tests feature {feature}, which has no admissible test"
        return as_chosen(chosen[0], best, float(tree.threshold[node]), node)

    return choose


def as_chosen(candidate: Candidate, best: Candidate, threshold: float, node: int) -> Candidate:
    """Return the naive candidate with the chosen threshold, if that choice is the best up to rounding."""
    assert candidate.score >= best.score - TIE * max(1.0, abs(best.score)), (
        f"node {node}: feature {candidate.feature} scores {candidate.score}, "
        f"feature {best.feature} scores {best.score}"
    )
    if candidate.threshold is None:
        assert math.isnan(threshold)
        return candidate
    assert threshold in candidate.ties, f"node {node}: {threshold} is none of {candidate.ties}"
    return replace(candidate, threshold=threshold)


def best_of(candidates: list[Candidate], rule: Rule) -> Candidate | None:
    """Return the candidate of the greatest score among those allowed, None where nothing is gained."""
    average = math.fsum(c.gain for c in candidates) / max(1, len(candidates))
    allowed = [c for c in candidates if not rule.by_ratio or c.gain >= average - TIE]
    best = max(allowed, key=lambda c: c.score, default=None)
    return None if best is None or best.gain <= 2 * TIE or best.gain < rule.min_gain else best


def compare_trees(model: Any, naive: Tree) -> int:
    """Compare every node to the naive one: test, children, rows, weight, proportions. Count the nodes."""
    tree, names = model.tree_, cell_names(model)
    classes = [naive.classes.index(label) for label in model.classes_.tolist()]
    expected = list(naive.root.walk())
    assert tree.node_count == len(expected)
    for node, one in enumerate(expected):
        assert tree.n_children[node] == len(one.children)
        assert tree.feature[node] == (-2 if one.feature is None else one.feature)
        assert tree.n_samples[node] == len(one.entries)
        assert tree.weight[node] == pytest.approx(one.weight, **CLOSE)
        assert tree.value[node, 0].tolist() == pytest.approx([one.value[k] for k in classes], **CLOSE)
        if one.threshold is not None:
            assert tree.threshold[node] == one.threshold
        elif one.feature is not None:
            assert branch_values(tree, node, names[one.feature]) == one.branch_values
    return len(expected)


def branch_values(tree: Any, node: int, names: list[float]) -> list[float]:
    """Return the value that leads to each child of a multiway node."""
    branch = tree.branch[tree.branch_begin[node] : tree.branch_begin[node + 1]].tolist()
    by_child = {child: names[code] for code, child in enumerate(branch) if child >= 0}
    return [by_child[child] for child in range(len(by_child))]


def compare_ledgers(model: Any, naive: Tree) -> int:
    """Compare the ledger to the naive candidates of every node. Count the candidates."""
    found: dict[tuple[int, int], int] = {}
    ledger = model.ledger_
    for row, key in enumerate(zip(ledger.node.tolist(), ledger.feature.tolist(), strict=True)):
        assert key not in found, "a feature is in the ledger twice"
        found[key] = row
    nodes = list(naive.root.walk())
    assert set(found) == {(i, c.feature) for i, node in enumerate(nodes) for c in node.candidates}
    for i, node in enumerate(nodes):
        for candidate in node.candidates:
            row = found[i, candidate.feature]
            compare_candidate(ledger, row, candidate)
            assert ledger.chosen[row] == (node.feature == candidate.feature)
            assert ledger.n_samples[row] == len(node.entries)
            assert ledger.depth[row] == node.depth
    return len(found)


def compare_candidate(ledger: Any, row: int, candidate: Candidate) -> None:
    assert ledger.gain[row] == pytest.approx(candidate.gain, **CLOSE)
    if candidate.threshold is None:
        assert math.isnan(ledger.threshold[row])
    elif ledger.threshold[row] != candidate.threshold:
        assert ledger.threshold[row] in candidate.ties
        return  # another cut of the same gain: its ratio is its own
    assert ledger.gain_ratio[row] == pytest.approx(candidate.gain_ratio, **CLOSE)
    assert ledger.score[row] == pytest.approx(candidate.score, **CLOSE)


def compare_answers(model: Any, table: RandomTable, naive: Tree, seed: int) -> None:
    """Compare the answers for training rows, and for new ones with gaps and unseen values, to the naive."""
    rows = table.rows + new_rows(table, seed)
    seen = [set(column) for column in table.columns]
    discrete = model.schema_.categorical
    readable = [
        [None if discrete[j] and value not in seen[j] else value for j, value in enumerate(row)]
        for row in rows
    ]
    classes = [naive.classes.index(label) for label in model.classes_.tolist()]
    expected = np.array(naive.predict_proba(readable))[:, classes]
    found = model.predict_proba(frame_of(rows, table))
    np.testing.assert_allclose(found, expected, rtol=CLOSE["rel"], atol=CLOSE["abs"])


def new_rows(table: RandomTable, seed: int, n: int = 40) -> list[list[float | None]]:
    """Draw rows whose cells come from any row of the table, are missing, or were never seen."""
    draw = random.Random(seed)
    rows: list[list[float | None]] = []
    for _ in range(n):
        row: list[float | None] = []
        for column, kind in zip(table.columns, table.kinds, strict=True):
            known = [v for v in column if v is not None]
            fresh = UNSEEN if kind == "categorical" else draw.gauss(0, 2)
            row.append(draw.choice([draw.choice(known), draw.choice(known), fresh, None]) if known else None)
        rows.append(row)
    return rows


def tree_bytes(model: Any) -> dict[str, bytes]:
    """Return every array of a tree as bytes."""
    return {name: array.tobytes() for name, array in model.tree_.to_state().items() if name != "n_features"}
