"""C45Classifier without pruning grows the tree that a slow C4.5 in plain Python grows."""

from __future__ import annotations

import random
from typing import Any

import pytest

from agreement.multiway import (
    Rule,
    compare_answers,
    compare_ledgers,
    compare_trees,
    least_weight,
    our_choice,
    tree_bytes,
)
from loops import for_each
from oracles.naive_multiway import Tree, grow_c45
from oracles.random_tables import RandomTable, random_table
from spinney import C45Classifier


def variant(seed: int, n_columns: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw limits and prices."""
    draw = random.Random(seed + 1_000_000)
    limits = {
        "min_samples_leaf": draw.choice([1, 2, 2, 5]),
        "min_samples_split": draw.choice([2, 2, 8]),
        "max_depth": draw.choice([None, None, 1, 3]),
    }
    if limits["max_depth"] is not None and draw.random() < 0.5:
        limits["min_samples_leaf"] = None
    if draw.random() < 0.6:
        return limits, {}
    costs = {
        "costs": [draw.choice([0.5, 1.0, 2.0, 10.0]) for _ in range(n_columns)],
        "cost_rule": draw.choice(["tan", "tan-linear", "nunez"]),
        "omega": draw.choice([0.0, 0.5, 1.0]),
    }
    return limits, costs


def fit_both(table: RandomTable, limits: dict[str, Any], costs: dict[str, Any]) -> tuple[C45Classifier, Tree]:
    """Fit ours, then the naive tree along our choices."""
    names = {"costs": "feature_costs", "cost_rule": "cost_rule", "omega": "cost_omega"}
    ours = {names[name]: value for name, value in costs.items()}
    model = C45Classifier(pruning=None, ledger=True, **limits, **ours)
    model.fit(table.frame(), table.y, table.weights)
    choose = our_choice(model, Rule(by_ratio=not costs))
    limits = limits | {"min_samples_leaf": least_weight(limits["min_samples_leaf"], table.weights)}
    naive = grow_c45(table.columns, table.kinds, table.y, table.weights, choose=choose, **limits, **costs)
    return model, naive


def check(seed: int, **sizes: int) -> None:
    table = random_table(seed, **sizes)
    limits, costs = variant(seed, len(table.columns))
    model, naive = fit_both(table, limits, costs)
    compare_trees(model, naive)
    compare_ledgers(model, naive)
    compare_answers(model, table, naive, seed)
    if costs:
        assert model.expected_cost() == pytest.approx(naive.expected_cost(costs["costs"]), rel=1e-9)
    recorded = tree_bytes(model)
    assert tree_bytes(model.set_params(ledger=False).fit(table.frame(), table.y, table.weights)) == recorded


@for_each("seed", range(160))
def test_tree_candidates_and_answers_are_the_naive_ones(seed: int) -> None:
    check(seed, max_rows=60, max_columns=6)


@pytest.mark.long
@for_each("seed", range(1000, 2000))
def test_larger_tables(seed: int) -> None:
    check(seed, max_rows=200, max_columns=8)
