"""LinearRegression, Ridge and RidgeCV against the textbook and against scikit-learn."""

import warnings

import numpy as np
import pytest
import sklearn.linear_model as theirs
from numpy.testing import assert_allclose
from scipy import sparse

import spinney as sp
from linear.problems import regression_problems
from loops import for_each

SEEDS = range(100)


@for_each("problem", regression_problems(SEEDS))
def test_least_squares_is_the_solution_of_least_norm(problem):
    X, y, weights = problem.X, problem.y, problem.weights
    mine = sp.LinearRegression(fit_intercept=problem.intercept).fit(X, y, weights)
    # scikit-learn drops directions below its tolerance, so columns of very different sizes are scaled first.
    size = X.std(axis=0) if problem.name.startswith("scales") else np.ones(X.shape[1])
    other = theirs.LinearRegression(fit_intercept=problem.intercept, tol=1e-14).fit(X / size, y, weights)
    assert_allclose(mine.predict(X), other.predict(X / size), rtol=1e-6, atol=1e-6 * np.abs(y).max())
    assert_allclose(mine.coef_ * size, other.coef_, rtol=1e-6, atol=1e-6 * np.abs(other.coef_).max())
    if problem.name.startswith("scales"):
        return
    assert mine.rank_ == other.rank_
    assert_allclose(mine.singular_[: mine.rank_], other.singular_[: mine.rank_], rtol=1e-6)


@for_each("problem", regression_problems(SEEDS))
def test_ridge_agrees_with_scikit_learn(problem):
    X, y, weights = problem.X, problem.y, problem.weights
    for alpha in (1e-3, 1.0, 100.0):
        mine = sp.Ridge(alpha, fit_intercept=problem.intercept).fit(X, y, weights)
        other = theirs.Ridge(alpha, fit_intercept=problem.intercept, solver="svd").fit(X, y, weights)
        assert_allclose(mine.coef_, other.coef_, rtol=1e-6, atol=1e-6 * np.abs(other.coef_).max())
        assert_allclose(mine.intercept_, other.intercept_, rtol=1e-6, atol=1e-6 * np.abs(y).max())


@for_each("problem", regression_problems(range(40)))
def test_ridge_cv_is_leave_one_out(problem):
    X, y, weights = problem.X, problem.y, problem.weights
    weight = np.ones(len(y)) if weights is None else weights
    alphas = np.logspace(-2, 3, 4)
    mine = sp.RidgeCV(alphas, fit_intercept=problem.intercept, store_cv_results=True).fit(X, y, weights)
    for a, alpha in enumerate(alphas):
        ridge = theirs.Ridge(alpha, fit_intercept=problem.intercept, solver="svd")
        for row in range(0, len(y), 7):
            others = np.arange(len(y)) != row
            predicted = ridge.fit(X[others], y[others], weight[others]).predict(X[row : row + 1])[0]
            error = weight[row] * (y[row] - predicted) ** 2
            assert_allclose(mine.cv_results_[row, a], error, rtol=1e-6, atol=1e-9 * (y**2).max())
    assert_allclose(mine.best_score_, -mine.cv_results_.mean(axis=0).min(), rtol=1e-9)
    assert mine.alpha_ == alphas[mine.cv_results_.mean(axis=0).argmin()]


def test_the_normal_equations():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    Z = np.column_stack([X, np.ones(50)])
    expected = np.linalg.solve(Z.T @ Z, Z.T @ y)
    model = sp.LinearRegression().fit(X, y)
    assert_allclose([*model.coef_, model.intercept_], expected, rtol=1e-12)


def test_the_closed_form_of_ridge():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 5)), rng.normal(size=30)
    expected = np.linalg.solve(X.T @ X + 3.0 * np.eye(5), X.T @ y)
    assert_allclose(sp.Ridge(3.0, fit_intercept=False).fit(X, y).coef_, expected, rtol=1e-12)


def test_several_targets_and_penalties():
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(60, 5)), rng.normal(size=(60, 3))
    model = sp.Ridge([0.1, 1.0, 10.0]).fit(X, Y)
    for t, alpha in enumerate([0.1, 1.0, 10.0]):
        one = sp.Ridge(alpha).fit(X, Y[:, t])
        assert_allclose(model.coef_[t], one.coef_, rtol=1e-12)
        assert_allclose(model.predict(X)[:, t], one.predict(X), rtol=1e-12)
    with pytest.raises(ValueError, match="alpha"):
        sp.Ridge([1.0, 2.0]).fit(X, Y)
    per_target = sp.RidgeCV([0.1, 10.0, 1000.0], alpha_per_target=True).fit(X, Y)
    other = theirs.RidgeCV([0.1, 10.0, 1000.0], alpha_per_target=True).fit(X, Y)
    assert_allclose(per_target.alpha_, other.alpha_)
    assert_allclose(per_target.coef_, other.coef_, rtol=1e-8)
    assert_allclose(sp.RidgeCV().fit(X, Y).coef_, theirs.RidgeCV().fit(X, Y).coef_, rtol=1e-8)


def test_ridge_cv_with_scoring_and_folds():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 5))
    y = X[:, 0] + rng.normal(size=60)
    for params in ({"scoring": "neg_mean_absolute_error"}, {"cv": 4}, {"cv": 3, "scoring": "r2"}):
        mine, other = sp.RidgeCV([0.1, 10, 50], **params), theirs.RidgeCV([0.1, 10, 50], **params)
        mine.fit(X, y)
        other.fit(X, y)
        assert mine.alpha_ == other.alpha_
        assert_allclose(mine.best_score_, other.best_score_, rtol=1e-8)
    with pytest.raises(ValueError, match="cv=None"):
        sp.RidgeCV(cv=3, store_cv_results=True).fit(X, y)
    with pytest.raises(ValueError, match="alphas"):
        sp.RidgeCV([0.0, 1.0]).fit(X, y)


@for_each("seed", range(20))
def test_sparse_matrices_give_the_same_models(seed):
    rng = np.random.default_rng(seed)
    n, p = (60, 8) if seed % 2 else (15, 40)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.3)
    y, weights = rng.normal(size=n), rng.random(n) + 0.1
    for make in (lambda: sp.Ridge(0.7), lambda: sp.RidgeCV([0.1, 1.0, 10.0])):
        dense, thin = make().fit(X, y, weights), make().fit(sparse.csc_array(X), y, weights)
        assert_allclose(thin.coef_, dense.coef_, rtol=1e-8, atol=1e-10)
        assert_allclose(thin.predict(sparse.csr_array(X)), dense.predict(X), rtol=1e-8, atol=1e-10)
    dense, thin = sp.LinearRegression().fit(X, y), sp.LinearRegression(tol=1e-12).fit(sparse.csr_array(X), y)
    assert_allclose(thin.predict(X), dense.predict(X), atol=1e-6)


@for_each("seed", range(5))
def test_positive_coefficients(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 6)) * 10.0 ** rng.integers(-3, 4, 6)
    y = X @ rng.normal(size=6) + rng.normal(size=50)
    mine = sp.LinearRegression(positive=True).fit(X, y)
    other = theirs.LinearRegression(positive=True).fit(X, y)
    assert (mine.coef_ >= 0).all()
    assert_allclose(mine.coef_, other.coef_, rtol=1e-6, atol=1e-7 * np.abs(other.coef_).max())
    ridge = sp.Ridge(2.0, positive=True).fit(X, y)
    other = theirs.Ridge(2.0, positive=True, tol=1e-12, max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it does not reach its tolerance
        other.fit(X, y)
    assert_allclose(ridge.predict(X), other.predict(X), rtol=1e-3, atol=1e-4 * np.abs(y).max())


def test_large_means_do_not_cost_digits():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500, 3)) + 1e6
    X[:250] += 50.0  # the first rows are not like the rest
    y = X @ [1.0, -2.0, 3.0]
    model = sp.LinearRegression().fit(X, y)
    assert_allclose(model.coef_, [1.0, -2.0, 3.0], rtol=1e-9)


def test_values_that_overflow_are_an_error():
    X = np.array([[1e200], [2e200], [-1e200]])
    with pytest.raises(ValueError, match="too large"):
        sp.Ridge().fit(X, [1.0, 2.0, 3.0])


def test_ridge_names_its_solver():
    X, y = np.eye(3), [1.0, 2.0, 3.0]
    assert sp.Ridge().fit(X, y).solver_ == "cholesky"
    assert sp.Ridge(positive=True).fit(X, y).solver_ == "coordinate_descent"
    assert sp.Ridge(solver="lsqr").fit(X, y).solver_ == "lsqr"
