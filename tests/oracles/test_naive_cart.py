"""Trying every split finds what scikit-learn's own search finds, and the best of all category sets."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from loops import for_each
from oracles.naive_cart import all_splits, best_gain, best_split
from oracles.random_tables import RandomTable, random_table

CLASSIFICATION = ("gini", "entropy")
REGRESSION = ("squared_error", "friedman_mse", "absolute_error", "poisson")


def scikit_learn_gain(table: RandomTable, criterion: str, min_samples_leaf: int) -> float:
    """Return the impurity decrease of the root that scikit-learn finds, −inf where it does not split."""
    X = np.array([[math.nan if v is None else v for v in row] for row in table.rows], dtype=np.float32)
    learner = DecisionTreeClassifier if criterion in CLASSIFICATION else DecisionTreeRegressor
    answers = table.y if criterion in CLASSIFICATION else table.target
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = learner(criterion=criterion, max_depth=1, min_samples_leaf=min_samples_leaf, random_state=0)
        tree = model.fit(X, answers, sample_weight=table.weights).tree_
    if tree.node_count == 1:
        return -math.inf
    share = tree.weighted_n_node_samples[1:] / tree.weighted_n_node_samples[0]
    return float(tree.impurity[0] - share @ tree.impurity[1:])


@pytest.mark.parametrize("criterion", CLASSIFICATION + REGRESSION)
@for_each("seed", range(12))
def test_root_gain_is_the_one_scikit_learn_finds(seed: int, criterion: str) -> None:
    table = random_table(seed, max_rows=30, max_columns=3, kinds=("numeric",))
    table.columns = [[None if v is None else float(np.float32(v)) for v in c] for c in table.columns]
    answers = table.y if criterion in CLASSIFICATION else table.target
    leaf = 1 + seed % 3
    ours = best_gain(table.columns, table.kinds, answers, table.weights, criterion, leaf, tie_width=1e-7)
    theirs = scikit_learn_gain(table, criterion, leaf)
    if theirs == -math.inf:  # it also stops at a pure node, where any split gains nothing
        assert ours < 1e-12
    else:
        assert ours == pytest.approx(theirs, abs=1e-6)


def test_category_sets_are_all_tried() -> None:
    levels = [0, 1, 2, 3, 4, 5] * 4
    y = [1 if level in (1, 4, 5) else 0 for level in levels]
    split = best_split([levels], ["categorical"], y, [1.0] * 24, "gini")
    assert split is not None
    assert split.gain == pytest.approx(0.5)
    assert {levels[row] for row in split.left} in ({1, 4, 5}, {0, 2, 3})


def test_missing_rows_may_stand_alone() -> None:
    column, y = [1.0, 2.0, None, None], [0, 0, 1, 1]
    split = best_split([column], ["numeric"], y, [1.0] * 4, "entropy")
    assert split is not None
    assert (split.gain, split.threshold, split.left) == (1.0, math.inf, frozenset({0, 1}))
    assert best_gain([[0, 1, None, -1]], ["categorical"], y, [1.0] * 4, "entropy") == 1.0


def test_rows_of_weight_zero_do_not_count() -> None:
    column = [1.0, 2.0, 3.0, 4.0]
    splits = list(all_splits([column], ["numeric"], [0, 1, 1, 1], [1.0, 0.0, 1.0, 1.0], "gini", 1))
    assert [split.threshold for split in splits] == [2.0, 3.5]
    assert not list(all_splits([column], ["numeric"], [0, 1, 1, 1], [1.0, 0.0, 0.0, 1.0], "gini", 2))


def test_poisson_refuses_a_child_without_events() -> None:
    column, y = [1.0, 2.0, 3.0], [0.0, 0.0, 5.0]
    assert best_gain([column], ["numeric"], y, [1.0] * 3, "poisson") == -math.inf
