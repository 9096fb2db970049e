"""Promises that learners which make diversity keep besides those of every learner: weights and files."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.neighbors import KNeighborsClassifier

import spinney as sp
from contracts.learners import LEARNERS, mixed_data
from contracts.test_bad_inputs import check_works
from spinney.io import UnsavableValue, dumps

PERTURBATIONS = [learner for learner in LEARNERS if learner.make.__module__.startswith("spinney.perturb")]
each_learner = pytest.mark.parametrize("learner", PERTURBATIONS, ids=lambda learner: learner.name)
each_classifier = pytest.mark.parametrize(
    "learner", [one for one in PERTURBATIONS if one.kind == "classifier"], ids=lambda learner: learner.name
)


def test_all_perturbations_keep_the_contracts():
    import spinney.perturb

    assert {learner.make.__name__ for learner in PERTURBATIONS} == set(spinney.perturb.__all__)


@each_classifier
def test_a_class_without_weight_is_known_but_never_predicted(learner):
    X, y = np.arange(12.0)[:, None], np.array(list("aaabbbcccddd"))
    weights = np.where(np.isin(y, ["b", "d"]), 0.0, 1.0)
    model = check_works(learner, X, y, weights)
    assert model.classes_.tolist() == list("abcd")
    assert set(model.predict(X)) <= {"a", "c"}
    model = check_works(learner, X, y, (y == "c") * 1.0)
    assert set(model.predict(X)) == {"c"}


@each_learner
def test_rows_of_weight_zero_and_copies(learner):
    X, y, _ = mixed_data(learner.kind, 60)
    weights = np.random.default_rng(1).integers(0, 4, 60)
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(60), weights))
    answer = "predict_proba" if learner.kind == "classifier" else "predict"
    one = learner().fit(X, y, weights)
    other = learner().fit(X.iloc[rows], y[rows])
    np.testing.assert_allclose(getattr(one, answer)(X), getattr(other, answer)(X), rtol=1e-12)


def test_members_of_others_are_pickled_but_not_filed():
    X, y = np.arange(12.0)[:, None], np.arange(12) % 3
    model = sp.OutputCodeClassifier(KNeighborsClassifier(1)).fit(X, y)
    with pytest.raises(UnsavableValue, match="KNeighborsClassifier"):
        dumps(model)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
