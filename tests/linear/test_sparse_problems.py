"""Sparse problems with many columns: optimal, equal to dense ones, the same for any number of threads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from threadpoolctl import threadpool_limits

import spinney as sp
from spinney.linear.design import Design
from spinney.linear.newton import NewtonSolver, Penalty
from spinney.linear.newton_cg import NewtonCgSolver
from spinney.linear.row_losses import LogisticLoss, SquaredHingeLoss
from spinney.native import core


def text_rows(n_rows=400, n_columns=1500, seed=0):
    """Rows with a few of many columns, some of them large, and classes that depend on them."""
    rng = np.random.default_rng(seed)
    X = sparse.random(n_rows, n_columns, 0.02, "csr", random_state=seed, data_rvs=rng.standard_normal)
    X = sparse.csr_array(X @ sparse.diags_array(np.where(rng.random(n_columns) < 0.1, 30.0, 1.0)))
    y = (X @ rng.normal(size=n_columns) + rng.logistic(size=n_rows) > 0).astype(float)
    return X, y, rng.uniform(0.0, 3.0, n_rows)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_gradient_is_zero_at_the_solution(C, intercept, weighted):
    X, y, weights = text_rows()
    weights = weights if weighted else np.ones(len(y))
    model = sp.LogisticRegression(C=C, fit_intercept=intercept, tol=1e-10).fit(X, y, weights)
    assert model.coef_.shape == (1, 1500) and model.n_iter_[0] < 60
    rest = weights * (model.predict_proba(X)[:, 1] - y)
    assert np.abs(X.T @ rest + model.coef_[0] / C).max() < 1e-7 * weights.sum()
    assert abs(rest.sum()) < 1e-7 * weights.sum() if intercept else model.intercept_[0] == 0


@pytest.mark.parametrize("make", [LogisticLoss, SquaredHingeLoss])
def test_steps_by_conjugate_gradients_end_where_factors_do(make):
    X, y, weights = text_rows(n_rows=200, n_columns=300)
    loss = make(y if make is LogisticLoss else 2 * y - 1, weights)
    for penalty in (Penalty(l2=1.0), Penalty(l2=0.1, intercept=False), Penalty(l2=0.5, intercept_l2=2.0)):
        found = NewtonCgSolver(Design(X), loss, penalty, 1e-12, 200).solve()
        expected = NewtonSolver(Design(X.toarray()), loss, penalty, 1e-12, 200).solve()
        assert found.converged
        assert_allclose(found.coef, expected.coef, atol=1e-6 * np.abs(expected.coef).max())
        assert_allclose(found.intercept, expected.intercept, atol=1e-6)
        assert_allclose(found.objective, expected.objective, rtol=1e-10)


def test_a_start_at_the_solution_takes_no_step():
    X, y, _ = text_rows()
    model = sp.LogisticRegression(warm_start=True, tol=1e-8).fit(X, y)
    before = model.coef_.copy()
    assert_array_equal(model.fit(X, y).coef_, before)


def test_threads_of_ours_and_of_blas_change_no_bit():
    X, y, weights = text_rows(n_rows=3000, n_columns=20_000)
    found = set()
    for n_threads in (1, 2, 3):
        with threadpool_limits(n_threads):
            for solver in ("auto", "lbfgs"):
                model = sp.LogisticRegression(solver=solver, n_jobs=n_threads).fit(X, y, weights)
                found.add((solver, model.coef_.tobytes()))
    assert len(found) == 2


def test_products_of_sparse_rows():
    X, _, weights = text_rows()
    X.sum_duplicates()
    rng = np.random.default_rng(0)
    v, added = rng.normal(size=X.shape[1]), 0.5
    rows = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64))
    matrix = core.SparseMatrix(rows, X.shape[1])
    assert_allclose(matrix.product(v, added, 2), X @ v + added, atol=1e-12)
    assert_allclose(matrix.cross(weights, False, 2), [*(X.T @ weights), weights.sum()], atol=1e-10)
    assert_allclose(matrix.cross(weights, True, 2), [*(X.power(2).T @ weights), weights.sum()], rtol=1e-12)
    image, scores = matrix.curvature_product(weights, np.append(v, added), 2)
    assert_allclose(scores, X @ v + added, atol=1e-12)
    assert_allclose(image, [*(X.T @ (weights * scores)), (weights * scores).sum()], atol=1e-9)
    for broken in (
        (rows[0], np.full_like(rows[1], X.shape[1]), rows[2]),
        (rows[0], np.full_like(rows[1], -1), rows[2]),
        (rows[0], rows[1], rows[2][::-1].copy()),
        (rows[0], rows[1][:-1], rows[2]),
        (rows[0], rows[1], rows[2] + 1),
    ):
        with pytest.raises(ValueError, match=r"out of range|not valid|overlap"):
            core.SparseMatrix(broken, X.shape[1])
    with pytest.raises(ValueError, match="one coefficient per column"):
        matrix.product(v[:-1], added, 1)
