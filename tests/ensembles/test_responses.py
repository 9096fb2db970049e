"""Answers of members in one order of classes, also of members that never saw some of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC, LinearSVC

import spinney as sp
from spinney.ensembles.responses import answer

CLASSES = np.array(["a", "b", "c"])
X = np.arange(8.0)[:, None]


def test_probabilities_of_a_class_never_seen_are_0():
    member = sp.DecisionTreeClassifier().fit(X, list("aacc" * 2))
    shares = answer(member, X, "predict_proba", CLASSES)
    assert_array_equal(shares[:, [0, 2]], member.predict_proba(X))
    assert_array_equal(shares[:, 1], 0.0)


def test_decisions_for_two_of_three_classes_are_spread():
    member = LinearSVC().fit(X, list("aaaacccc"))
    decision = member.decision_function(X)
    spread = answer(member, X, "decision_function", CLASSES)
    assert_allclose(spread[:, 2], decision)
    assert_allclose(spread[:, 0], -decision)
    assert_allclose(spread[:, 1], -np.abs(decision))
    assert answer(member, X, "decision_function", np.array(["a", "c"])).shape == (8, 1)


def test_labels_become_codes_and_numbers_stay():
    member = sp.DecisionTreeClassifier().fit(X, list("bbccbbcc"))
    assert answer(member, X, "predict", CLASSES).ravel().tolist() == [1, 1, 2, 2, 1, 1, 2, 2]
    regressor = sp.DecisionTreeRegressor().fit(X, X[:, 0])
    assert_array_equal(answer(regressor, X, "predict", None), X)


def test_answers_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="'d', which is no class"):
        answer(sp.DecisionTreeClassifier().fit(X, list("aabbccdd")), X, "predict", CLASSES)
    with pytest.raises(ValueError, match="2 outputs"):
        answer(sp.DecisionTreeRegressor().fit(X, np.hstack([X, X])), X, "predict", None)
    pairs = SVC(decision_function_shape="ovo").fit(X, list("abcdabcd"))
    with pytest.raises(ValueError, match="shape"):
        answer(pairs, X, "decision_function", np.array(list("abcd")))
