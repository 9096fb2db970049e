"""Lasso and elastic net: scikit-learn's coefficients, duality gaps, and the textbook's soft threshold."""

import warnings

import numpy as np
import pytest
import sklearn.linear_model as theirs
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import spinney as sp
from linear.problems import regression_problems
from loops import for_each

PROBLEMS = list(regression_problems(range(100)))


def gap_of(X, y, coef, alpha, ratio):
    """Return the duality gap of centered data, and of an augmented lasso where there is an L2 penalty."""
    n = len(y)
    X, y = X - X.mean(axis=0), y - y.mean()
    X = np.vstack([X, np.sqrt(n * alpha * (1 - ratio)) * np.eye(X.shape[1])])
    y = np.concatenate([y, np.zeros(X.shape[1])])
    rest, bound = y - X @ coef, n * alpha * ratio
    dual = rest * min(1.0, bound / np.abs(X.T @ rest).max())
    primal = 0.5 * rest @ rest + bound * np.abs(coef).sum()
    return (primal - (0.5 * y @ y - 0.5 * (y - dual) @ (y - dual))) / n


@for_each("problem", PROBLEMS)
def test_coefficients_agree_with_scikit_learn(problem):
    X, y, weights = problem.X, problem.y, problem.weights
    size = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
    for ratio, strength in ((1.0, 0.3), (1.0, 0.02), (0.5, 0.1)):
        if ratio == 1.0 and problem.name.startswith("collinear"):
            continue  # the minimum is not unique
        alpha = strength * float(np.abs(y).mean() * np.median(size))
        params = {"l1_ratio": ratio, "fit_intercept": problem.intercept, "max_iter": 50_000}
        mine = sp.ElasticNet(alpha, tol=1e-12, **params).fit(X, y, weights)
        assert mine.dual_gap_ <= (1e-9 if problem.name.startswith("scales") else 1e-12) * (y**2).mean()
        if problem.name.startswith("scales"):
            continue  # scikit-learn does not converge
        other = theirs.ElasticNet(alpha, tol=1e-13, **params)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other.fit(X, y, weights)
        assert_allclose(mine.coef_, other.coef_, rtol=1e-5, atol=1e-6 * max(np.abs(other.coef_).max(), 1e-9))
        assert_allclose(mine.intercept_, other.intercept_, rtol=1e-5, atol=1e-6 * np.abs(y).max())


@for_each("problem", [one for one in PROBLEMS if one.weights is None and one.intercept][:30])
def test_the_gap_that_is_reported_is_the_gap(problem):
    for alpha, ratio, tol in ((0.1, 1.0, 1e-4), (0.05, 0.3, 1e-7)):
        model = sp.ElasticNet(alpha, l1_ratio=ratio, tol=tol, max_iter=20_000).fit(problem.X, problem.y)
        centered = problem.y - problem.y.mean()
        assert model.dual_gap_ <= tol * (centered**2).mean()
        size = np.abs(problem.X).max() ** 2
        expected = gap_of(problem.X, problem.y, model.coef_, alpha, ratio)
        assert_allclose(
            model.dual_gap_, expected, rtol=1e-3, atol=1e-12 * size * (centered**2).mean() + 1e-13
        )


def test_soft_threshold_on_an_orthogonal_design():
    rng = np.random.default_rng(0)
    X, _ = np.linalg.qr(rng.normal(size=(40, 6)))
    X *= np.sqrt(40)  # columns of mean square 1
    y = rng.normal(size=40)
    least = X.T @ y / 40
    model = sp.Lasso(0.1, fit_intercept=False, tol=1e-14).fit(X, y)
    assert_allclose(model.coef_, np.sign(least) * np.maximum(np.abs(least) - 0.1, 0.0), atol=1e-12)
    net = sp.ElasticNet(0.2, l1_ratio=0.5, fit_intercept=False, tol=1e-14).fit(X, y)
    assert_allclose(net.coef_, np.sign(least) * np.maximum(np.abs(least) - 0.1, 0.0) / 1.1, atol=1e-12)


@for_each("seed", range(10))
def test_wide_dense_and_sparse_matrices_use_working_sets(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 700)) * (rng.random((40, 700)) < 0.3)
    X[:, 5] += 100.0 * (seed % 2)
    y, weights = X[:, :5] @ rng.normal(size=5) + 0.1 * rng.normal(size=40), rng.random(40) + 0.1
    for ratio, positive in ((1.0, False), (0.6, False), (1.0, True)):
        params = {"l1_ratio": ratio, "positive": positive, "max_iter": 100_000}
        mine = sp.ElasticNet(0.05, tol=1e-13, **params).fit(X, y, weights)
        thin = sp.ElasticNet(0.05, tol=1e-13, **params).fit(sparse.csc_array(X), y, weights)
        other = theirs.ElasticNet(0.05, tol=1e-13, **params).fit(X, y, weights)
        assert_allclose(mine.coef_, other.coef_, atol=2e-6)
        assert_allclose(thin.coef_, other.coef_, atol=2e-6)
        assert mine.dual_gap_ <= 1e-13 * (y**2).mean()
        assert_allclose(mine.sparse_coef_.toarray()[0], mine.coef_)


@for_each("seed", range(15))
def test_multi_task_models_agree_with_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    n, p = (50, 8) if seed % 2 else (20, 60)
    X = rng.normal(size=(n, p)) + 3.0
    Y = X[:, :3] @ rng.normal(size=(3, 4)) + 0.3 * rng.normal(size=(n, 4))
    for mine, other in (
        (sp.MultiTaskLasso(0.1, tol=1e-12), theirs.MultiTaskLasso(0.1, tol=1e-12)),
        (sp.MultiTaskElasticNet(0.2, tol=1e-12), theirs.MultiTaskElasticNet(0.2, tol=1e-12)),
    ):
        mine.set_params(max_iter=20_000).fit(X, Y)
        other.set_params(max_iter=20_000).fit(X, Y)
        assert_allclose(mine.coef_, other.coef_, atol=2e-6)
        assert_allclose(mine.predict(X), other.predict(X), atol=1e-5)
        assert mine.dual_gap_ <= 1e-12 * ((Y - Y.mean(axis=0)) ** 2).sum(axis=1).mean()
        used = mine.coef_ != 0
        assert_array_equal(used.any(axis=0), used.all(axis=0))
    with pytest.raises(ValueError, match="mono-task"):
        sp.MultiTaskLasso().fit(X, Y[:, 0])


def test_several_targets_are_fitted_one_after_the_other():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    both = sp.Lasso(0.1, tol=1e-10).fit(X, Y)
    for t in range(2):
        one = sp.Lasso(0.1, tol=1e-10).fit(X, Y[:, t])
        assert_allclose(both.coef_[t], one.coef_, atol=1e-12)
        assert both.n_iter_[t] == one.n_iter_


def test_warm_start_and_few_sweeps():
    problem = PROBLEMS[0]
    model = sp.Lasso(0.01, warm_start=True, tol=1e-10).fit(problem.X, problem.y)
    first = model.coef_.copy()
    assert model.fit(problem.X, problem.y).n_iter_ <= 2
    assert_allclose(model.coef_, first, atol=1e-9)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        sp.Lasso(1e-4, max_iter=1, tol=1e-12).fit(problem.X, problem.y)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(120, 8), (60, 520)])
def test_cross_validation_agrees_with_scikit_learn(shape, weighted):
    rng = np.random.default_rng(2)
    X = rng.normal(size=shape) + 5.0
    y = X[:, :3] @ [1.0, -1.0, 2.0] + rng.normal(size=shape[0])
    weights = rng.random(shape[0]) + 0.2 if weighted else None
    for mine, other in (
        (sp.LassoCV(alphas=12, cv=4), theirs.LassoCV(alphas=12, cv=4)),
        (
            sp.ElasticNetCV(l1_ratio=[0.3, 0.9], alphas=8, eps=0.01),
            theirs.ElasticNetCV(l1_ratio=[0.3, 0.9], alphas=8, eps=0.01),
        ),
    ):
        mine.set_params(tol=1e-9, max_iter=20_000).fit(X, y, weights)
        other.set_params(tol=1e-9, max_iter=20_000).fit(X, y, weights)
        assert_allclose(mine.alphas_, other.alphas_, rtol=1e-8)
        assert_allclose(mine.mse_path_, other.mse_path_, rtol=1e-4)
        assert_allclose([mine.alpha_, mine.l1_ratio_], [other.alpha_, getattr(other, "l1_ratio_", 1.0)])
        assert_allclose(mine.coef_, other.coef_, atol=1e-4)


def test_the_ledger_has_the_path():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 5))
    y = X[:, 0] + 0.1 * rng.normal(size=80)
    model = sp.LassoCV(alphas=20, ledger=True, tol=1e-9).fit(X, y)
    ledger = model.ledger_
    assert_array_equal(ledger.alpha, model.alphas_)
    assert ledger.n_nonzero[0] == 0 and (np.diff(ledger.alpha) < 0).all()
    best = int(np.argmin(ledger.mean_squared_error))
    assert ledger.alpha[best] == model.alpha_
    assert_allclose(ledger.coefficients[best], model.coef_, atol=1e-6)
    assert len(ledger.to_frame()) == 20
    assert not hasattr(sp.LassoCV(alphas=3).fit(X, y), "ledger_")


def test_folds_that_share_rows_are_fitted_by_rows():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    folds = [(np.arange(10, 50), np.arange(10)), (np.arange(5), np.arange(5, 50))]
    mine = sp.LassoCV(alphas=5, cv=folds[:1] * 2, tol=1e-9).fit(X, y)
    other = theirs.LassoCV(alphas=5, cv=folds[:1] * 2, tol=1e-9).fit(X, y)
    assert_allclose(mine.mse_path_, other.mse_path_, rtol=1e-5)
