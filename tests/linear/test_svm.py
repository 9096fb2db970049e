"""LinearSVC and LinearSVR: LIBLINEAR's solutions, optimality, and agreement of primal and dual solvers."""

import numpy as np
import pytest
import sklearn.svm as theirs
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import spinney as sp
from linear.problems import classes_of, regression_problems
from loops import for_each
from spinney.io import dumps, loads

PROBLEMS = [one for one in regression_problems(range(120)) if not one.name.startswith(("scales", "offset"))]


def hinge_objective(model, X, signs, weights, C, squared):
    weight = np.ones(len(signs)) if weights is None else weights
    lost = np.maximum(1 - signs * model.decision_function(X), 0.0)
    length = (model.coef_**2).sum() + (model.intercept_**2).sum()
    return 0.5 * length + C * (weight * (lost**2 if squared else lost)).sum()


@for_each("problem", PROBLEMS[:60])
def test_squared_hinge_is_optimal(problem):
    X, codes, weights = problem.X, classes_of(problem, 2), problem.weights
    signs, weight = 2.0 * codes - 1, np.ones(len(codes)) if weights is None else weights
    fits = [
        sp.LinearSVC(dual=dual, tol=1e-10, max_iter=50_000).fit(X, codes, weights) for dual in (False, True)
    ]
    for model in fits:
        lost = np.maximum(1 - signs * model.decision_function(X), 0.0)
        slope = model.coef_[0] - 2 * (weight * signs * lost) @ X
        assert np.abs(slope).max() < 1e-6 * (1 + np.abs(X).max())
        assert abs(model.intercept_[0] - 2 * (weight * signs * lost).sum()) < 1e-6
    assert_allclose(fits[0].coef_, fits[1].coef_, atol=1e-6)


@for_each("problem", PROBLEMS[:20])
def test_hinge_is_as_good_as_liblinear(problem):
    X, codes, weights = problem.X, classes_of(problem, 2), problem.weights
    mine = sp.LinearSVC(loss="hinge", C=0.5, tol=1e-8, max_iter=100_000, random_state=0)
    mine.fit(X, codes, weights)
    other = theirs.LinearSVC(loss="hinge", C=0.5, tol=1e-8, max_iter=1_000_000, random_state=0)
    other.fit(X, codes, weights)
    signs = 2.0 * codes - 1
    objectives = [hinge_objective(one, X, signs, weights, 0.5, False) for one in (mine, other)]
    assert objectives[0] <= objectives[1] * (1 + 1e-6)
    assert_allclose(mine.coef_, other.coef_, atol=1e-3)


@for_each("problem", PROBLEMS[:12])
def test_l1_penalty_leaves_the_intercept_free(problem):
    X, codes = problem.X, classes_of(problem, 2)
    model = sp.LinearSVC(penalty="l1", C=0.3, tol=1e-8).fit(X, codes)
    signs = 2.0 * codes - 1
    lost = np.maximum(1 - signs * model.decision_function(X), 0.0)
    slope = -2 * 0.3 * (signs * lost) @ X
    coef = model.coef_[0]
    worst = np.where(coef != 0, np.abs(slope + np.sign(coef)), np.maximum(np.abs(slope) - 1, 0.0))
    assert worst.max() < 1e-5
    assert abs((signs * lost).sum()) < 1e-5
    with pytest.raises(ValueError, match="squared_hinge"):
        sp.LinearSVC(penalty="l1", loss="hinge").fit(X, codes)


def test_many_classes_are_one_problem_each():
    problem = PROBLEMS[0]
    codes = classes_of(problem, 3)
    mine = sp.LinearSVC(tol=1e-10).fit(problem.X, codes)
    other = theirs.LinearSVC(tol=1e-12, dual=False, max_iter=100_000).fit(problem.X, codes)
    assert_allclose(mine.coef_, other.coef_, atol=1e-6)
    assert_allclose(mine.intercept_, other.intercept_, atol=1e-6)
    scaled = sp.LinearSVC(tol=1e-10, intercept_scaling=10.0, class_weight="balanced").fit(problem.X, codes)
    other = theirs.LinearSVC(
        tol=1e-12, dual=False, intercept_scaling=10.0, class_weight="balanced", max_iter=100_000
    ).fit(problem.X, codes)
    assert_allclose(scaled.coef_, other.coef_, atol=1e-6)


@for_each("problem", PROBLEMS[:30])
def test_regression_agrees_with_liblinear(problem):
    X, y, weights = problem.X, problem.y, problem.weights
    weight = np.ones(len(y)) if weights is None else weights
    fits = [
        sp.LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.2, dual=dual, tol=1e-9, max_iter=50_000)
        for dual in (False, True)
    ]
    for model in fits:
        model.fit(X, y, weights)
        rest = model.predict(X) - y
        lost = 2 * weight * np.sign(rest) * np.maximum(np.abs(rest) - 0.2, 0.0)
        assert np.abs(model.coef_ + lost @ X).max() < 1e-5 * (1 + np.abs(X).max())
    assert_allclose(fits[0].coef_, fits[1].coef_, atol=1e-5)


def tube_objective(model, X, y, C, epsilon):
    lost = np.maximum(np.abs(model.predict(X) - y) - epsilon, 0.0)
    return 0.5 * (model.coef_ @ model.coef_ + float(np.square(model.intercept_).sum())) + C * lost.sum()


@for_each("problem", PROBLEMS[:12])
def test_the_tube_is_as_good_as_liblinears(problem):
    X, y = problem.X, problem.y
    mine = sp.LinearSVR(epsilon=0.3, C=0.7, tol=1e-7, max_iter=100_000, random_state=1).fit(X, y)
    other = theirs.LinearSVR(epsilon=0.3, C=0.7, tol=1e-8, max_iter=1_000_000, random_state=1).fit(X, y)
    objectives = [tube_objective(one, X, y, 0.7, 0.3) for one in (mine, other)]
    assert objectives[0] <= objectives[1] * (1 + 1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_intercept_of_a_regression_has_scikit_learns_shape(fit_intercept):
    X, y = np.arange(12.0)[:, None], np.arange(12.0)
    mine = sp.LinearSVR(fit_intercept=fit_intercept, random_state=0).fit(X, y)
    other = theirs.LinearSVR(fit_intercept=fit_intercept, random_state=0).fit(X, y)
    assert type(mine.intercept_) is type(other.intercept_)
    assert np.shape(mine.intercept_) == np.shape(other.intercept_)
    assert loads(dumps(mine)).predict(X).tolist() == mine.predict(X).tolist()


def test_sparse_rows_give_the_same_machines():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30)) * (rng.random((60, 30)) < 0.3)
    codes = (X[:, 0] + 0.3 * rng.normal(size=60) > 0).astype(int)
    for params in ({"loss": "hinge"}, {"dual": True}, {"dual": False}):
        dense = sp.LinearSVC(tol=1e-8, max_iter=50_000, random_state=0, **params).fit(X, codes)
        thin = sp.LinearSVC(tol=1e-8, max_iter=50_000, random_state=0, **params)
        thin.fit(sparse.csr_array(X), codes)
        assert_allclose(thin.coef_, dense.coef_, atol=1e-5)


def test_many_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(10_000, 4))
    codes = (X[:, 0] - X[:, 1] + rng.normal(size=10_000) > 0).astype(int)
    mine = sp.LinearSVC(tol=1e-8).fit(X, codes)
    other = theirs.LinearSVC(tol=1e-10, dual=False).fit(X, codes)
    assert_allclose(mine.coef_, other.coef_, atol=1e-6)


@for_each("model", [sp.LinearSVC(), sp.LogisticRegression(warm_start=True), sp.Perceptron()])
def test_sparse_coefficients_are_the_same_model(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = rng.integers(0, 3, 60)
    expected = model.fit(X, y).decision_function(X)
    assert sparse.issparse(model.sparsify().coef_)
    assert_array_equal(model.decision_function(X), expected)
    assert_array_equal(
        model.decision_function(sparse.csr_array(X)), model.densify().decision_function(sparse.csr_array(X))
    )
    loaded = loads(dumps(model.sparsify()))
    assert sparse.issparse(loaded.coef_)
    assert_array_equal(loaded.decision_function(X), expected)
    assert isinstance(model.densify().coef_, np.ndarray)
    model.sparsify().fit(X, y)
    assert isinstance(model.coef_, np.ndarray)
