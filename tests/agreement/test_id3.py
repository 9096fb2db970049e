"""ID3Classifier grows the tree that a slow ID3 in plain Python grows."""

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
from oracles.naive_multiway import Tree, grow_id3
from oracles.random_tables import RandomTable, random_table
from spinney import ID3Classifier

# A number has a branch for each of its values, and a row without it enters them all: depth multiplies rows.
DEPTHS = {"categorical": [None, None, 1, 3], "numeric": [1, 2, 2]}


def variant(seed: int, table: RandomTable) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw limits and prices."""
    draw = random.Random(seed + 2_000_000)
    limits = {
        "epsilon": draw.choice([0.0, 0.0, 0.05, 0.3]),
        "min_samples_leaf": draw.choice([None, None, 1, 3]),
        "min_samples_split": draw.choice([2, 2, 8]),
        "max_depth": draw.choice(DEPTHS["numeric" if "numeric" in table.kinds else "categorical"]),
    }
    if draw.random() < 0.6:
        return limits, {}
    costs = {
        "costs": [draw.choice([0.5, 1.0, 2.0, 10.0]) for _ in table.columns],
        "cost_rule": draw.choice(["tan", "tan-linear", "nunez"]),
        "omega": draw.choice([0.0, 0.5, 1.0]),
    }
    return limits, costs


def fit_both(table: RandomTable, limits: dict[str, Any], costs: dict[str, Any]) -> tuple[ID3Classifier, Tree]:
    """Fit ours, then the naive tree along our choices."""
    names = {"costs": "feature_costs", "cost_rule": "cost_rule", "omega": "cost_omega"}
    model = ID3Classifier(ledger=True, **limits, **{names[name]: value for name, value in costs.items()})
    model.fit(table.frame(), table.y, table.weights)
    choose = our_choice(model, Rule(by_ratio=False, min_gain=limits["epsilon"]))
    limits = limits | {"min_samples_leaf": least_weight(limits["min_samples_leaf"], table.weights)}
    naive = grow_id3(table.columns, table.kinds, table.y, table.weights, choose=choose, **limits, **costs)
    return model, naive


def check(seed: int, **sizes: Any) -> None:
    table = random_table(seed, **sizes)
    limits, costs = variant(seed, table)
    model, naive = fit_both(table, limits, costs)
    compare_trees(model, naive)
    compare_ledgers(model, naive)
    compare_answers(model, table, naive, seed)
    if costs:
        assert model.expected_cost() == pytest.approx(naive.expected_cost(costs["costs"]), rel=1e-9)
    recorded = tree_bytes(model)
    assert tree_bytes(model.set_params(ledger=False).fit(table.frame(), table.y, table.weights)) == recorded


@for_each("seed", range(80))
def test_categories(seed: int) -> None:
    check(seed, max_rows=60, max_columns=5, kinds=("categorical",))


@for_each("seed", range(150, 200))
def test_numbers_are_categories_too(seed: int) -> None:
    check(seed, max_rows=30, max_columns=4)


@pytest.mark.long
@for_each("seed", range(1000, 1600))
def test_larger_tables(seed: int) -> None:
    kinds = ("categorical",) if seed % 2 else ("numeric", "categorical")
    check(seed, max_rows=100, max_columns=5, kinds=kinds)
