"""Oblique trees are small where borders are slanted, and their linear tests gain what they say they gain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from loops import for_each
from oracles.naive_cart import IMPURITIES, decrease
from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from spinney.tree.tree_arrays import LINEAR

CRITERIA = ("gini", "entropy", "squared_error", "absolute_error", "poisson")


def slanted(seed: int, n_rows: int, noise: float = 0.0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Draw points and on which side of a slanted plane through four of six features they lie."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6))
    plane = np.random.default_rng(99).normal(size=4)
    return X, (X[:, :4] @ plane + noise * rng.normal(size=n_rows) > 0.2).astype(int)


@for_each("seed", range(4))
def test_slanted_borders_take_smaller_and_better_trees(seed: int) -> None:
    X, y = slanted(seed, 600)
    X_new, y_new = slanted(seed + 100, 3000)
    for oblique, straight in (
        (ObliqueTreeClassifier(random_state=0), DecisionTreeClassifier()),
        (ObliqueTreeRegressor(random_state=0), DecisionTreeRegressor()),
    ):
        oblique.fit(X, y)
        straight.fit(X, y)
        assert oblique.get_n_leaves() < straight.get_n_leaves() / 3
        wrong = [np.mean(np.abs(model.predict(X_new) - y_new)) for model in (oblique, straight)]
        assert wrong[0] < wrong[1] / 2


def left_by_hand(tree: Any, node: int, X: NDArray[Any]) -> NDArray[np.bool_]:
    """Return the rows that a linear node sends to its first child, from the terms as they are documented."""
    terms = slice(tree.term_begin[node], tree.term_begin[node + 1])
    values = X[:, tree.term_feature[terms]]
    values = np.where(np.isnan(values), tree.term_fill[terms], values)
    return values @ tree.term_coefficient[terms] <= tree.threshold[node]


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_linear_nodes_gain_what_they_report(criterion: str, weighted: bool, missing: float) -> None:
    rng = np.random.default_rng(5)
    X, y = slanted(5, 250, noise=0.4)
    X[rng.random(X.shape) < missing] = np.nan
    weights = rng.uniform(0.2, 3, 250) if weighted else np.ones(250)
    if criterion in ("gini", "entropy"):
        model: Any = ObliqueTreeClassifier(criterion=criterion, ledger=True, random_state=0)
        answers = y.astype(float)
    else:
        model = ObliqueTreeRegressor(criterion=criterion, ledger=True, random_state=0)
        answers = 3.0 * y + rng.uniform(0.1, 1, 250)
    model.set_params(max_depth=5, min_samples_leaf=3).fit(
        X, y if criterion in ("gini", "entropy") else answers, weights
    )
    tree, ledger = model.tree_, model.ledger_
    inside = model.decision_path(X).toarray() > 0
    linear = np.flatnonzero(tree.kind == LINEAR)
    assert len(linear) > 0
    for node in linear:
        first, second = tree.children(node)
        rows = np.flatnonzero(inside[:, node])
        assert_array_equal(inside[rows, first], left_by_hand(tree, node, X[rows]))
        assert_array_equal(inside[rows, second], ~inside[rows, first])
        left, right = (np.flatnonzero(inside[:, child]).tolist() for child in (first, second))
        gain = decrease(left, right, answers.tolist(), weights.tolist(), criterion)
        impurity = IMPURITIES[criterion](rows.tolist(), answers.tolist(), weights.tolist())
        assert tree.impurity[node] == pytest.approx(impurity, rel=1e-9)
        below = tree.weight[[first, second]] @ tree.impurity[[first, second]] / tree.weight[node]
        assert tree.impurity[node] - below == pytest.approx(gain, rel=1e-9, abs=1e-12)
        written = ledger.gain[(ledger.node == node) & ledger.chosen]
        assert written.tolist() == [pytest.approx(gain, rel=1e-9, abs=1e-12)]
        # Taken only because no test of one feature was better.
        assert gain >= ledger.gain[ledger.node == node].max() - 1e-12
