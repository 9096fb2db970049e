"""Every node of a CART tree holds a test of the greatest gain there is, category sets included."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from loops import for_each
from oracles.naive_cart import best_gain, decrease
from oracles.random_tables import RandomTable, random_table
from spinney import DecisionTreeClassifier, DecisionTreeRegressor

CRITERIA = ("gini", "entropy", "error", "squared_error", "absolute_error", "poisson")


def check_every_node(model: Any, table: RandomTable, criterion: str, min_samples_leaf: int) -> int:
    """Compare each node's gain, recomputed from its rows, with the best of all. Count the divided nodes."""
    tree = model.tree_
    answers = table.target if isinstance(model, DecisionTreeRegressor) else table.y
    inside = model.decision_path(table.frame()).toarray() > 0
    inside &= (np.array(table.weights) > 0)[:, None]
    for node in range(tree.node_count):
        rows = np.flatnonzero(inside[:, node]).tolist()
        assert tree.n_samples[node] == len(rows)
        y, w = [answers[i] for i in rows], [table.weights[i] for i in rows]
        best = best_gain(
            [[column[i] for i in rows] for column in table.columns],
            table.kinds, y, w, criterion, min_samples_leaf,
        )  # fmt: skip
        if tree.is_leaf[node]:
            # A node of one answer has nothing to gain, and a division without any is not made for it.
            assert len(set(y)) == 1 or best == -math.inf, f"node {node} could gain {best}"
            continue
        left, right = ([k for k, i in enumerate(rows) if inside[i, child]] for child in tree.children(node))
        assert sorted(left + right) == list(range(len(rows)))
        assert min(len(left), len(right)) >= min_samples_leaf
        gain = decrease(left, right, y, w, criterion)
        assert gain == pytest.approx(best, rel=1e-9, abs=1e-12), f"node {node}"
    return tree.node_count - tree.n_leaves


def check(seed: int, criterion: str, max_bins: int | None, **sizes: Any) -> None:
    table = random_table(seed, **sizes)
    leaf = random.Random(seed).choice([1, 3])
    learner = DecisionTreeClassifier if criterion in ("gini", "entropy", "error") else DecisionTreeRegressor
    model = learner(criterion=criterion, min_samples_leaf=leaf, max_bins=max_bins)
    answers = table.y if learner is DecisionTreeClassifier else table.target
    model.fit(table.frame(), answers, table.weights)
    check_every_node(model, table, criterion, leaf)


@pytest.mark.parametrize("criterion", CRITERIA)
@for_each("seed", range(40))
def test_categories_and_numbers(seed: int, criterion: str) -> None:
    check(seed, criterion, None if seed % 2 else 255, max_rows=30, max_columns=4, max_levels=6)


@pytest.mark.parametrize("criterion", CRITERIA)
@for_each("seed", range(500, 510))
def test_more_categories(seed: int, criterion: str) -> None:
    check(seed, criterion, None, max_rows=50, max_columns=2, max_levels=8, kinds=("categorical",))


@pytest.mark.long
@pytest.mark.parametrize("criterion", CRITERIA)
@for_each("seed", range(1000, 1100))
def test_larger_tables(seed: int, criterion: str) -> None:
    check(seed, criterion, None if seed % 2 else 255, max_rows=60, max_columns=4, max_levels=7)
