"""SVC: LIBSVM's models, optimality conditions, textbook cases, probabilities."""

import numpy as np
import pytest
import sklearn.svm as theirs
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

import spinney as sp
from loops import for_each
from spinney.io import dumps, loads
from svm.problems import classification_violation, full, kernel_matrix

X, Y = make_classification(160, 6, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
TIGHT = {"tol": 1e-8}

SETTINGS = [
    {},
    {"C": 10.0, "gamma": 0.3},
    {"kernel": "linear"},
    {"kernel": "poly", "coef0": 1.0, "degree": 2},
    {"kernel": "sigmoid", "gamma": 0.02},
    {"shrinking": False, "gamma": "auto"},
    {"class_weight": "balanced"},
    {"class_weight": {0: 3.0, 1: 1.0, 2: 0.5}, "decision_function_shape": "ovo"},
]


@for_each("params", SETTINGS)
@for_each("n_classes", [2, 3])
def test_the_model_is_that_of_libsvm(params, n_classes):
    rows = n_classes > Y
    if isinstance(params.get("class_weight"), dict) and n_classes == 2:
        params = params | {"class_weight": {0: 3.0, 1: 1.0}}
    ours = sp.SVC(**TIGHT, **params).fit(X[rows], Y[rows])
    expected = theirs.SVC(**TIGHT, **params).fit(X[rows], Y[rows])
    assert_allclose(ours.decision_function(X), expected.decision_function(X), atol=2e-5)
    assert_array_equal(ours.predict(X), expected.predict(X))
    assert_array_equal(ours.support_, expected.support_)
    assert_array_equal(ours.n_support_, expected.n_support_)
    assert_allclose(ours.dual_coef_, expected.dual_coef_, atol=2e-4)
    assert_allclose(ours.intercept_, expected.intercept_, atol=2e-5)
    assert_allclose(ours.class_weight_, expected.class_weight_)
    if params.get("kernel") == "linear":
        assert_allclose(ours.coef_, expected.coef_, atol=2e-5)


@for_each("seed", range(8))
@for_each("kind", ["linear", "poly", "rbf", "laplacian"])
def test_the_optimality_conditions_hold(kind, seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 120)), int(rng.integers(1, 9))
    points = rng.normal(size=(n, d)) * rng.uniform(0.1, 3, d)
    points[:3] = points[3]  # repeated rows
    y = np.where(points[:, 0] + rng.normal(size=n) > 0, 1, -1)
    y[:2] = [1, -1]
    weights = rng.uniform(0.1, 3, n)
    C, gamma = 10.0 ** rng.uniform(-2, 2), 10.0 ** rng.uniform(-2, 0)
    model = sp.SVC(C=C, kernel=kind, gamma=gamma, coef0=1.0, tol=1e-5, shrinking=bool(seed % 2))
    model.fit(points, y, weights)
    K = kernel_matrix(kind, points, points, gamma, 1.0)
    beta = full(model, n)
    noise = 1e-6 * np.abs(K @ np.diag(beta)).sum(axis=1).max()  # kernel rows are kept in float32
    assert model.kkt_residual_[0] <= 1e-5
    violation = classification_violation(K, y, beta, model.intercept_[0], C * weights)
    assert violation <= 1e-5 + noise
    objective, size = 0.5 * beta @ K @ beta - np.abs(beta).sum(), np.abs(beta) @ np.abs(K) @ np.abs(beta)
    assert_allclose(model.dual_objective_[0], objective, rtol=1e-6, atol=1e-7 * size)
    assert_allclose(model.decision_function(points), K @ beta + model.intercept_[0], atol=1e-8 * C * n)


def test_gaussian_kernel_separates_xor():
    xor = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    y = np.array([1, 1, -1, -1])
    model = sp.SVC(C=np.inf, gamma=0.5, tol=1e-10).fit(xor, y)
    # σ = 1: K = exp(−‖x − z‖²/2) falls with the distance. All α are equal by symmetry, and all margins 1.
    near, far = np.exp(-1.0), np.exp(-2.0)
    assert_allclose(np.abs(model.dual_coef_), np.full((1, 4), 1 / (1 + far - 2 * near)), rtol=1e-6)
    assert_allclose(y * model.decision_function(xor), 1.0, rtol=1e-6)
    assert_array_equal(sp.SVC(kernel="laplacian", gamma=1.0, C=10.0).fit(xor, y).predict(xor), y)
    assert sp.SVC(kernel="linear").fit(xor, y).score(xor, y) < 1.0


def test_hard_margin_has_the_support_vectors_of_the_textbook():
    # Positive (3,3), (4,3), negative (1,1): w = (½, ½), b = −2, support vectors (3,3) and (1,1).
    points, y = np.array([[3.0, 3.0], [4.0, 3.0], [1.0, 1.0]]), np.array([1, 1, -1])
    model = sp.SVC(kernel="linear", C=np.inf, tol=1e-10).fit(points, y)
    assert_allclose(model.coef_, [[0.5, 0.5]], rtol=1e-8)
    assert_allclose(model.intercept_, [-2.0], rtol=1e-8)
    assert_array_equal(np.sort(model.support_), [0, 2])
    assert_allclose(np.abs(model.dual_coef_), [[0.25, 0.25]], rtol=1e-8)
    assert_allclose(model.margin_, [2 * np.sqrt(2)], rtol=1e-8)
    assert_allclose(model.margin_, [2 / np.linalg.norm(model.coef_)], rtol=1e-8)


def test_a_hard_margin_that_does_not_exist_is_an_error():
    with pytest.raises(ValueError, match="finite C"):
        sp.SVC(kernel="linear", C=np.inf).fit([[0.0], [1.0], [2.0], [1.0]], [0, 1, 0, 0])


def test_kernels_have_their_minus_signs():
    points = np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]])
    for kind, value in [("rbf", np.exp(-25 / 2)), ("laplacian", np.exp(-5 / 2))]:
        model = sp.SVC(kernel=kind, gamma=0.5, C=1e-3).fit(points[:2], [1, 0])
        f0, f1 = model.decision_function(points[:2]) - model.intercept_
        assert_allclose(f1 - f0, 2e-3 * (1 - value) * np.sign(f1 - f0), rtol=1e-9)


@for_each("params", [{}, {"kernel": "linear"}, {"kernel": "poly", "coef0": 1.0}, {"kernel": "laplacian"}])
def test_sparse_precomputed_and_callable_kernels_give_the_same_model(params):
    thin = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = sp.SVC(gamma=0.2, **TIGHT, **params).fit(thin, Y)
    light = sp.SVC(gamma=0.2, **TIGHT, **params).fit(sparse.csr_array(thin), Y)
    kind, c = params.get("kernel", "rbf"), params.get("coef0", 0.0)
    K = kernel_matrix(kind, thin, thin, 0.2, c)
    given = sp.SVC(kernel="precomputed", **TIGHT).fit(K, Y)
    called = sp.SVC(kernel=lambda A, B: kernel_matrix(kind, A, B, 0.2, c), **TIGHT).fit(thin, Y)
    expected = dense.decision_function(thin)
    for model, data in [(light, sparse.csr_array(thin)), (light, thin), (given, K), (called, thin)]:
        assert_allclose(model.decision_function(data), expected, atol=1e-5)
    assert_allclose(dense.decision_function(sparse.csr_array(thin)), expected, atol=1e-9)
    loaded = loads(dumps(light))
    assert_array_equal(loaded.decision_function(thin), light.decision_function(thin))


def test_rows_of_weight_zero_do_not_count():
    weights = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)
    kept = weights > 0
    some = sp.SVC(**TIGHT).fit(X[kept], Y[kept], weights[kept])
    every = sp.SVC(**TIGHT).fit(X, Y, weights)
    assert_allclose(every.decision_function(X), some.decision_function(X), rtol=1e-9, atol=1e-9)
    assert (weights[every.support_] > 0).all()
    with pytest.raises(ValueError, match="same class"):
        sp.SVC().fit(X, Y, (Y == 1).astype(float))
    # A class without weight loses every pair.
    model = sp.SVC().fit(X, Y, (Y != 2).astype(float))
    assert set(model.predict(X)) == {0, 1}


def test_a_small_cache_and_shrinking_change_nothing_of_substance():
    points, y = make_classification(1500, 10, n_informative=6, flip_y=0.2, random_state=1)
    models = [
        sp.SVC(C=5.0, tol=1e-6, **params).fit(points, y)
        for params in ({}, {"cache_size": 0.05}, {"shrinking": False}, {"n_jobs": 3})
    ]
    expected = models[0].decision_function(points)
    for model in models[1:]:
        assert_allclose(model.decision_function(points), expected, atol=1e-4)
        assert model.kkt_residual_[0] <= 1e-6
    ledger = sp.SVC(C=5.0, ledger=True).fit(points, y).ledger_
    assert ledger.n_active.min() < 1500  # some variables were set aside
    assert ledger.gap[-1] <= 1e-3 < ledger.gap[0] == 2.0
    assert (np.diff(ledger.objective) <= 1e-6).all()


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
def test_probabilities_by_platt_scaling():
    for n_classes in (2, 3):
        rows = n_classes > Y
        model = sp.SVC(probability=True, random_state=0).fit(X[rows], Y[rows])
        p = model.predict_proba(X[rows])
        assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        assert (p > 0).all() and (p.argmax(axis=1) == Y[rows]).mean() > 0.8
        assert_allclose(np.log(p), model.predict_log_proba(X[rows]))
        expected = theirs.SVC(probability=True, random_state=0).fit(X[rows], Y[rows]).predict_proba(X[rows])
        assert np.abs(p - expected).mean() < 0.05  # other folds
    with pytest.raises(AttributeError, match="predict_proba"):
        sp.SVC().fit(X, Y).predict_proba  # noqa: B018


def test_ties_of_votes_and_the_limit_of_iterations():
    ours = sp.SVC(break_ties=True, **TIGHT).fit(X, Y)
    expected = theirs.SVC(break_ties=True, **TIGHT).fit(X, Y)
    assert_array_equal(ours.predict(X), expected.predict(X))
    with pytest.raises(ValueError, match="break_ties"):
        sp.SVC(break_ties=True, decision_function_shape="ovo").fit(X, Y).predict(X)
    with pytest.warns(ConvergenceWarning, match="max_iter=5"):
        assert sp.SVC(max_iter=5).fit(X, Y).fit_status_ == 1


def test_a_file_whose_parts_do_not_agree_is_refused(monkeypatch):
    model = sp.SVC().fit(X, Y)
    for name, value in [
        ("dual_coef_", np.zeros((2, 1))),
        ("n_support_", np.array([1, 2, 3], dtype=np.int32)),
        ("support_vectors_", np.zeros((2, 2))),
        ("intercept_", np.zeros(1)),
    ]:
        state = model._get_state()
        state["fitted"] = {**state["fitted"], name: value}
        monkeypatch.setattr(sp.SVC, "_get_state", lambda self, state=state: state)
        data = dumps(model)
        monkeypatch.undo()
        with pytest.raises(ValueError, match=r"support|pair|vector"):
            loads(data)


def test_a_kernel_function_gets_sparse_rows():
    X, y = make_classification(60, 5, random_state=0)
    ours = sp.SVC(kernel=lambda a, b: a @ b.T, probability=True, random_state=0).fit(sparse.csr_array(X), y)
    dense = sp.SVC(kernel=lambda a, b: a @ b.T, probability=True, random_state=0).fit(X, y)
    for rows in (X, sparse.lil_array(X)):
        assert_allclose(ours.decision_function(rows), dense.decision_function(rows), atol=1e-9)
    assert_allclose(ours.predict_proba(X), dense.predict_proba(X), atol=1e-6)
    with pytest.raises(TypeError, match="Sparse precomputed kernels are not supported"):
        sp.SVC(kernel="precomputed").fit(sparse.eye_array(2).tocsr(), [0, 1])
