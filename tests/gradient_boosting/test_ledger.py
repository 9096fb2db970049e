"""The ledger tells what each round did, and each node's candidates where asked."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from contracts.learners import mixed_data
from spinney import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.io import dumps, loads


def test_one_row_a_round():
    X, y, weights = mixed_data("classifier")
    model = GradientBoostingClassifier(
        n_estimators=5, ledger=True, early_stopping=True, random_state=0, preset="classic"
    )
    ledger = model.fit(X, y, weights).ledger_
    assert repr(ledger) == "GradientLedger(5 rounds)"
    assert_array_equal(ledger.train_loss, -model.train_score_)
    assert_array_equal(ledger.validation_loss, -model.validation_score_)
    for number, tree_range in enumerate(range(0, 15, 3), 1):
        trees = [model.ensemble_.tree(t) for t in range(tree_range, tree_range + 3)]
        assert ledger.n_leaves[number] == sum(tree.n_leaves for tree in trees)
        assert ledger.gain[number] == pytest.approx(sum(tree.impurity.sum() for tree in trees))
    assert ledger.to_records()[0] == {
        "round": 0,
        "train_loss": ledger.train_loss[0],
        "validation_loss": ledger.validation_loss[0],
        "n_leaves": 0,
        "gain": 0.0,
    }
    assert ledger.to_frame().shape == (6, 5)


def test_without_validation_there_is_no_column_of_it():
    X, y, _ = mixed_data("regressor")
    model = GradientBoostingRegressor(n_estimators=3, ledger=True, preset="classic").fit(X, y)
    assert list(model.ledger_.to_frame().columns) == ["round", "train_loss", "n_leaves", "gain"]
    assert len(model.train_score_) == 0
    losses = [0.5 * np.mean((y - stage) ** 2) for stage in model.staged_predict(X)]
    assert_allclose(model.ledger_.train_loss[1:], losses)
    assert not hasattr(GradientBoostingRegressor(n_estimators=1, preset="classic").fit(X, y), "ledger_")


def test_candidates_of_every_node():
    X, y, _ = mixed_data("regressor")
    model = GradientBoostingRegressor(n_estimators=3, ledger="full", max_leaf_nodes=4, preset="classic").fit(
        X, y
    )
    assert len(model.ledger_.candidates) == 3
    for tree, candidates in zip(model.ensemble_.trees(), model.ledger_.candidates, strict=True):
        rows = candidates.to_frame()
        at_root = rows[rows["node"] == 0]
        assert set(at_root["feature"]) <= {"a", "b", "color", "noise"} and len(at_root) >= 3
        for node in np.flatnonzero(~tree.is_leaf):
            here = rows[rows["node"] == node]
            taken = here[here["chosen"]]
            assert taken["feature"].tolist() == [model.feature_names_in_[tree.feature[node]]]
            assert taken["gain"].iloc[0] == pytest.approx(here["gain"].max())
            assert taken["gain"].iloc[0] == pytest.approx(tree.impurity[node], rel=1e-3)
    again = loads(dumps(model)).ledger_
    assert str(again.candidates[1].to_records()) == str(model.ledger_.candidates[1].to_records())
