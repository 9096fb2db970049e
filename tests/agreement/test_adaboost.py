"""AdaBoost beside scikit-learn's, learner by learner, and beside the formulas written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import AdaBoostClassifier as ScikitAdaBoost
from sklearn.tree import DecisionTreeClassifier as ScikitTree

import spinney as sp
from loops import for_each
from oracles import naive_adaboost as naive

EXACT = sp.DecisionTreeClassifier(max_depth=1, max_bins=None)


def problem(seed, n_classes, n_rows=200, n_features=5):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_features)).astype(np.float32).astype(np.float64)
    signal = X[:, 0] + 0.7 * X[:, 1] ** 2 - 0.5 * X[:, 2] + random.normal(scale=0.4, size=n_rows)
    y = np.searchsorted(np.quantile(signal, np.arange(1, n_classes) / n_classes), signal)
    return X, y, random.random(n_rows) + 0.2


@pytest.mark.parametrize("n_classes", [2, 4])
@for_each("seed", range(6))  # with and without weights, at both rates
def test_votes_are_scikit_learns_learner_by_learner(seed, n_classes):
    X, y, weights = problem(seed, n_classes)
    weights = weights if seed % 2 else None
    rate = 0.5 if seed % 3 == 0 else 1.0
    theirs = ScikitAdaBoost(ScikitTree(max_depth=1), n_estimators=25, learning_rate=rate, random_state=0)
    theirs.fit(X, y, weights)
    for algorithm in ["samme", "discrete"] if n_classes == 2 else ["samme"]:
        ours = sp.AdaBoostClassifier(EXACT, n_estimators=25, learning_rate=rate, algorithm=algorithm)
        ours.fit(X, y, weights)
        assert len(ours) == len(theirs.estimators_)
        share = 0.5 if algorithm == "discrete" else 1.0
        assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-7)
        assert_allclose(ours.estimator_weights_, share * theirs.estimator_weights_, rtol=1e-6)
        for mine, other in zip(ours, theirs.estimators_, strict=True):
            assert mine.tree_.feature[0] == other.tree_.feature[0]
            assert mine.tree_.threshold[0] == pytest.approx(other.tree_.threshold[0], rel=1e-12)
            assert_array_equal(mine.predict(X), other.predict(X))
        assert_array_equal(ours.predict(X), theirs.predict(X))


def against_naive(seed, n_classes):
    X, y, weights = problem(100 + seed, n_classes, n_rows=60, n_features=3)
    new = np.random.default_rng(seed).normal(size=(50, 3))
    return X, y, (weights if seed % 2 else np.ones(60)), new, (0.5 if seed % 3 == 0 else 1.0)


@for_each("seed", range(4))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_against_the_formulas(seed, n_classes):
    X, y, weights, _, rate = against_naive(seed, n_classes)
    algorithm = "samme" if n_classes == 3 else "discrete"
    made = naive.votes(X, y, weights, n_classes, 12, rate, samme=n_classes == 3)
    model = sp.AdaBoostClassifier(EXACT, n_estimators=12, learning_rate=rate, algorithm=algorithm)
    model.fit(X, y, weights)
    assert_allclose(model.estimator_errors_, [error for _, _, error in made], rtol=1e-7)
    assert_allclose(model.estimator_weights_, [alpha for _, alpha, _ in made], rtol=1e-7)
    for mine, (stump, _, _) in zip(model, made, strict=True):
        assert (mine.tree_.feature[0], mine.tree_.threshold[0]) == (stump.feature, stump.threshold)


@for_each("seed", range(4))
def test_discrete_boosts_the_stump_of_least_error(seed):
    X, y, weights = problem(100 + seed, 2, n_rows=60, n_features=3)
    made = naive.votes(X, y, weights, 2, 12, 1.0, samme=False, by_error=True)
    model = sp.AdaBoostClassifier(n_estimators=12, algorithm="discrete").fit(X, y, weights)
    assert_allclose(model.estimator_errors_, [error for _, _, error in made], rtol=1e-7)
    assert_allclose(model.estimator_weights_, [alpha for _, alpha, _ in made], rtol=1e-7)


@for_each("seed", range(4))
@pytest.mark.parametrize("algorithm", ["real", "gentle"])
def test_real_and_gentle_against_the_formulas(seed, algorithm):
    X, y, weights, new, rate = against_naive(seed, 2)
    expected = naive.real_or_gentle(X, y, weights, 8, rate, new, gentle=algorithm == "gentle")
    for estimator in [EXACT] if algorithm == "real" else [EXACT, sp.DecisionTreeRegressor(max_depth=1)]:
        model = sp.AdaBoostClassifier(estimator, n_estimators=8, learning_rate=rate, algorithm=algorithm)
        model.fit(X, y, weights)
        assert_allclose(model.decision_function(new), expected, rtol=1e-5, atol=1e-6)


@for_each("seed", range(4))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_samme_r_against_the_formulas(seed, n_classes):
    X, y, weights, new, rate = against_naive(seed, n_classes)
    expected = naive.samme_r(X, y, weights, n_classes, 8, rate, new) / (n_classes - 1)
    model = sp.AdaBoostClassifier(EXACT, n_estimators=8, learning_rate=rate, algorithm="samme.r")
    scores = model.fit(X, y, weights).decision_function(new)
    assert_allclose(scores, expected[:, 1] if n_classes == 2 else expected, rtol=1e-5, atol=1e-6)


@for_each("seed", range(4))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_logit_against_the_formulas(seed, n_classes):
    X, y, weights, new, rate = against_naive(seed, n_classes)
    expected = naive.logit(X, y, weights, n_classes, 8, rate, new)
    model = sp.AdaBoostClassifier(n_estimators=8, learning_rate=rate, algorithm="logit")
    scores = model.fit(X, y, weights).decision_function(new)
    assert_allclose(scores, expected[:, 1] if n_classes == 2 else expected, rtol=1e-5, atol=1e-6)
    assert_allclose(
        model.predict_proba(new), np.exp(expected) / np.exp(expected).sum(axis=1, keepdims=True), rtol=1e-5
    )


@for_each("seed", range(4))
@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_r2_against_the_formulas(seed, loss):
    X, _, weights, new, rate = against_naive(seed, 2)
    y = X[:, 0] ** 2 + np.sin(X[:, 1]) + np.random.default_rng(seed).normal(scale=0.1, size=60)
    expected = naive.r2(X, y, weights, 8, rate, loss, new)
    model = sp.AdaBoostRegressor(
        sp.DecisionTreeRegressor(max_depth=1), n_estimators=8, learning_rate=rate, loss=loss
    )
    assert_allclose(model.fit(X, y, weights).predict(new), expected, rtol=1e-6)
