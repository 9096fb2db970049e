"""Members: how each kind is fitted to weights or samples, and how their answers are lined up."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier as ScikitTree

import spinney as sp
from contracts.learners import mixed_data
from spinney.adaboost import members as adaboost_members
from spinney.adaboost.algorithms import RowWeights
from spinney.adaboost.members import (
    AnyMembers,
    SharedTrees,
    Task,
    open_members,
    predict_member,
    predict_members,
)


class Recorder(ClassifierMixin, BaseEstimator):
    """Remember what it was fitted to."""

    def fit(self, X, y, sample_weight=None):
        self.X_, self.y_, self.weights_ = X, y, sample_weight
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[-1])


def test_weights_reach_members_in_the_units_they_were_given_in():
    X, labels = np.arange(8.0).reshape(4, 2), np.array(["a", "b", "b", "c"])
    members = AnyMembers(Recorder(), X, 1)
    weights = RowWeights(np.array([1.0, 0.0, 2.0, 3.0]))
    weights.multiply_where(np.array([False, False, True, False]), 4.0)
    member = members.fit(None, weights, Task(labels))
    assert_array_equal(member.X_, X[[0, 2, 3]])
    assert member.y_.tolist() == ["a", "b", "c"]
    assert_allclose(member.weights_, np.array([1.0, 8.0, 3.0]) / 2)


def test_drawn_rows_come_as_often_as_drawn_and_without_weights():
    X, labels = np.arange(6.0)[:, None], np.arange(6)
    member = AnyMembers(Recorder(), X, 1).fit(None, np.array([0, 2, 0, 1, 3, 0]), Task(labels))
    assert member.y_.tolist() == [1, 1, 3, 4, 4, 4]
    assert member.weights_ is None


def test_answers_are_lined_up_with_the_classes_of_the_ensemble():
    X, classes = np.array([[0.0], [1.0]]), np.array(["a", "b", "c"])
    for tree in (ScikitTree(), sp.DecisionTreeClassifier()):
        member = tree.fit(X, ["a", "c"])  # it never met b
        assert predict_member(member, X, "classes", classes).tolist() == [0, 2]
        assert predict_member(member, X, "probabilities", classes).tolist() == [[1, 0, 0], [0, 0, 1]]
    (codes,) = predict_members([member], X, "classes", classes, 1)
    assert codes.tolist() == [0, 2]
    (shares,) = predict_members([member], X, "probabilities", classes, 1)
    assert shares.tolist() == [[1, 0, 0], [0, 0, 1]]
    regression = sp.DecisionTreeRegressor().fit(X, [-1.0, 0.5])
    assert predict_member(regression, X, "probabilities", classes[:2]).tolist() == [[1.0, 0.0], [0.25, 0.75]]


def test_trees_on_one_table_are_those_that_their_own_fit_gives():
    X, y, weights = mixed_data("classifier")
    for settings in ({"max_depth": 3}, {"min_samples_leaf": 5}, {"min_weight_fraction_leaf": 0.1}):
        estimator = sp.DecisionTreeClassifier(**settings)
        members = open_members(estimator, X, resample=False, n_threads=2)
        assert isinstance(members, SharedTrees)
        rows, task = RowWeights(weights), Task(y, y.astype(np.int32), np.arange(3))
        members.prepare(weights)
        member = members.fit(None, rows, task)
        alone = estimator.fit(X, y, rows.values)
        for name in ("kind", "feature", "missing", "n_samples"):
            assert_array_equal(getattr(member.tree_, name), getattr(alone.tree_, name))
        assert_allclose(member.tree_.weight, alone.tree_.weight)
        assert_array_equal(members.predict(member, "classes", task), alone.predict(X))


def test_trees_that_prune_or_weigh_classes_go_their_own_way():
    X, _, _ = mixed_data("classifier")
    for settings in (
        {"pruning": "pessimistic"},
        {"ccp_alpha": 0.1},
        {"class_weight": "balanced"},
        {"ledger": True},
        {"missing": "fractional"},
    ):
        estimator = sp.DecisionTreeClassifier(max_depth=2, **settings)
        assert isinstance(open_members(estimator, X, False, 1), AnyMembers), settings


def test_a_table_is_read_once_for_all_trees(monkeypatch):
    X, y, _ = mixed_data("classifier")
    model = sp.AdaBoostClassifier(sp.DecisionTreeClassifier(max_depth=2), n_estimators=6).fit(X, y)
    reads = []
    schema = type(model[0].schema_)
    original = schema.read
    monkeypatch.setattr(schema, "read", lambda *given: reads.append(1) or original(*given))
    model.predict(X)
    assert len(reads) == 1


def test_no_rows_are_no_table():
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        adaboost_members.AnyMembers(Recorder(), np.empty((0, 2)), 1)
