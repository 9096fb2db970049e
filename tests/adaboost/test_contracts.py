"""Promises that AdaBoost keeps besides those of every learner: its members, stages and files."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier as ScikitTree

import spinney as sp
from contracts.learners import LEARNERS, mixed_data
from spinney.io import ModelFileError, UnsavableValue, dumps, loads

BOOSTED = [learner for learner in LEARNERS if learner.make.__name__.startswith("AdaBoost")]


@pytest.mark.parametrize("learner", BOOSTED, ids=lambda learner: learner.name)
def test_the_stages_of_a_stored_model_are_the_same(learner):
    X, y, weights = mixed_data(learner.kind, 150)
    model = learner().fit(X, y, weights)
    again = loads(dumps(model))
    assert_array_equal(again.estimator_weights_, model.estimator_weights_)
    assert_array_equal(list(again.staged_predict(X)), list(model.staged_predict(X)))


def test_wrong_parameters_of_members_are_refused_too():
    with pytest.raises(ValueError, match="max_depth of DecisionTreeClassifier"):
        sp.AdaBoostClassifier(sp.DecisionTreeClassifier(max_depth=0)).fit([[0.0], [1.0]], [0, 1])


def test_other_libraries_members_are_pickled_but_fit_in_no_file():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    for estimator in (ScikitTree(max_depth=1), LogisticRegression()):
        model = sp.AdaBoostClassifier(estimator, n_estimators=3).fit(X, y)
        assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
        with pytest.raises(UnsavableValue, match="estimator"):
            dumps(model)


DAMAGES = {
    "no members": ("estimators_", []),
    "members that are none": ("estimators_", [1.0, 2.0, 3.0]),
    "unfitted members": ("estimators_", [sp.DecisionTreeClassifier()] * 3),
    "other members": ("estimators_", [sp.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])] * 3),
    "fewer weights": ("estimator_weights_", np.ones(2)),
    "weights of text": ("estimator_weights_", "heavy"),
    "infinite weights": ("estimator_weights_", np.array([1.0, np.inf, 1.0])),
    "errors of whole numbers": ("estimator_errors_", np.ones(3, int)),
    "no classes": ("classes_", np.empty(0)),
    "double classes": ("classes_", np.array([1, 1])),
    "other classes": ("classes_", np.array([5, 6])),
    "another algorithm": ("algorithm_", "logit"),
    "no algorithm": ("algorithm_", "guess"),
    "features": ("n_features_in_", 7),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_content_that_does_not_agree_is_refused(damage, monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    model = sp.AdaBoostClassifier(n_estimators=3).fit(X, y)
    honest, (name, value) = type(model)._get_state, DAMAGES[damage]

    def dishonest(self):
        state = honest(self)
        return {**state, "fitted": {**state["fitted"], name: value}}

    monkeypatch.setattr(sp.AdaBoostClassifier, "_get_state", dishonest, raising=False)
    data = dumps(model)
    monkeypatch.undo()
    with pytest.raises(ModelFileError):
        loads(data)
