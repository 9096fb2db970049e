"""SVR and OneClassSVM: LIBSVM's models, optimality conditions, the ε-tube, anomalies."""

import numpy as np
import pytest
import sklearn.svm as theirs
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import spinney as sp
from loops import for_each
from svm.problems import full, kernel_matrix, regression_violation

rng = np.random.default_rng(3)
X = rng.normal(size=(150, 4))
Y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=150)
TIGHT = {"tol": 1e-8}

SETTINGS = [
    {},
    {"C": 20.0, "gamma": 0.3, "epsilon": 0.01},
    {"kernel": "linear", "epsilon": 0.5},
    {"kernel": "poly", "coef0": 1.0, "degree": 2},
    {"shrinking": False, "epsilon": 0.0},
]


@for_each("params", SETTINGS)
def test_the_regression_is_that_of_libsvm(params):
    weights = rng.uniform(0.5, 2.0, 150)
    for given in (None, weights):
        params = params | {"gamma": 0.4} if given is not None else params
        ours = sp.SVR(**TIGHT, **params).fit(X, Y, given)
        expected = theirs.SVR(**TIGHT, **params).fit(X, Y, given)
        assert_allclose(ours.predict(X), expected.predict(X), atol=2e-5)
        assert_allclose(ours.intercept_, expected.intercept_, atol=2e-5)
        assert_array_equal(ours.n_support_, expected.n_support_)


@for_each("seed", range(8))
@for_each("kind", ["linear", "rbf", "laplacian"])
def test_the_optimality_conditions_hold(kind, seed):
    random = np.random.default_rng(seed)
    n, d = int(random.integers(20, 120)), int(random.integers(1, 6))
    points, noise = random.normal(size=(n, d)), random.normal(size=n)
    y = points.sum(axis=1) + noise
    C, gamma, epsilon = 10.0 ** random.uniform(-2, 2), 10.0 ** random.uniform(-2, 0), random.uniform(0, 1)
    model = sp.SVR(C=C, kernel=kind, gamma=gamma, epsilon=epsilon, tol=1e-5, shrinking=bool(seed % 2))
    model.fit(points, y)
    K, beta = kernel_matrix(kind, points, points, gamma), full(model, n)
    rounding = 1e-6 * np.abs(K @ np.diag(beta)).sum(axis=1).max()  # kernel rows are kept in float32
    violation = regression_violation(K, y, beta, model.intercept_[0], np.full(n, C), epsilon)
    assert violation <= 1e-5 + rounding
    objective = 0.5 * beta @ K @ beta - y @ beta + epsilon * np.abs(beta).sum()
    size = np.abs(beta) @ np.abs(K) @ np.abs(beta)
    assert_allclose(model.dual_objective_[0], objective, rtol=1e-6, atol=1e-7 * size)


def test_rows_within_the_tube_are_no_support_vectors():
    x = np.linspace(0, 4, 60)[:, None]
    y = np.sin(x[:, 0])
    model = sp.SVR(C=100.0, epsilon=0.1, gamma=1.0, tol=1e-8).fit(x, y)
    error = np.abs(model.predict(x) - y)
    assert error.max() <= 0.1 + 1e-6
    inside = error < 0.1 - 1e-4
    assert inside.sum() > 40 and not np.isin(np.flatnonzero(inside), model.support_).any()
    # A straight line, no error allowed: the flattest line in the tube has the slope 2 − 0.2/4.
    line = sp.SVR(kernel="linear", C=np.inf, epsilon=0.1, tol=1e-10).fit(x, 2 * x[:, 0] + 1)
    assert_allclose(line.coef_, [[2 - 0.2 / 4]], rtol=1e-8)


def test_sparse_rows_and_zero_weights():
    thin = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, light = (sp.SVR(gamma=0.3, **TIGHT).fit(form, Y) for form in (thin, sparse.csr_array(thin)))
    assert_allclose(dense.predict(thin), light.predict(sparse.csr_array(thin)), atol=1e-6)
    weights = np.r_[np.zeros(50), np.ones(100)]
    part = sp.SVR(**TIGHT).fit(X[50:], Y[50:])
    assert_allclose(sp.SVR(**TIGHT).fit(X, Y, weights).predict(X), part.predict(X), atol=1e-9)


@for_each("params", [{}, {"nu": 0.1, "gamma": 0.5}, {"kernel": "sigmoid", "gamma": 0.01, "nu": 0.3}])
def test_anomalies_are_those_of_libsvm(params):
    for weights in (None, rng.uniform(0.5, 2.0, 150)):
        given = params if weights is None else params | {"gamma": 0.4}
        ours = sp.OneClassSVM(**TIGHT, **given).fit(X, sample_weight=weights)
        expected = theirs.OneClassSVM(**TIGHT, **given).fit(X, sample_weight=weights)
        assert_allclose(ours.decision_function(X), expected.decision_function(X), atol=1e-4)
        assert_allclose(ours.score_samples(X), ours.decision_function(X) + ours.offset_)
    ours = sp.OneClassSVM(nu=0.2, gamma=0.5, **TIGHT).fit(X)
    outside = (ours.decision_function(X) < -1e-6).mean()
    assert outside <= 0.2 <= len(ours.support_) / 150  # the meaning of ν
    assert_array_equal(ours.predict(X) == -1, ours.decision_function(X) < 0)


def test_wrong_settings_are_explained():
    with pytest.raises(ValueError, match="square"):
        sp.SVR(kernel="precomputed").fit(X, Y)
    with pytest.raises(ValueError, match="kernel of SVR"):
        sp.SVR(kernel="gauss").fit(X, Y)
    with pytest.raises(ValueError, match="one value per pair"):
        sp.SVR(kernel=lambda A, B: A).fit(X, Y)
    with pytest.raises(AttributeError, match="linear kernel"):
        sp.SVR().fit(X, Y).coef_  # noqa: B018
