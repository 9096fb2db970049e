"""The perceptron: scikit-learn's weights, the mistake bound, the ledger, batches."""

import numpy as np
import pytest
import sklearn.linear_model as theirs
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

import spinney as sp
from loops import for_each
from spinney.io import dumps, loads

X, Y = make_classification(300, 12, n_informative=6, n_classes=3, random_state=0)

SETTINGS = [
    {},
    {"penalty": "l2"},
    {"penalty": "l1"},
    {"penalty": "elasticnet", "max_iter": 5, "tol": None},
    {"eta0": 0.3, "class_weight": "balanced"},
    {"fit_intercept": False, "class_weight": {0: 1.0, 1: 2.0, 2: 0.5}},
]


@for_each("params", SETTINGS)
@for_each("n_classes", [2, 3])
def test_the_weights_are_those_of_scikit_learn(params, n_classes):
    rows = n_classes > Y
    if isinstance(params.get("class_weight"), dict) and n_classes == 2:
        params = params | {"class_weight": {0: 1.0, 1: 2.0}}
    weights = np.random.default_rng(0).integers(1, 3, rows.sum()).astype(float)
    for given in (None, weights):
        ours = sp.Perceptron(shuffle=False, **params).fit(X[rows], Y[rows], sample_weight=given)
        expected = theirs.Perceptron(shuffle=False, **params).fit(X[rows], Y[rows], sample_weight=given)
        assert_allclose(ours.coef_, expected.coef_, rtol=1e-9, atol=1e-9)
        assert_allclose(ours.intercept_, expected.intercept_, rtol=1e-9, atol=1e-9)
        assert ours.n_iter_ == expected.n_iter_ and ours.t_ == expected.t_
        assert_array_equal(ours.predict(X), expected.predict(X))


def separable(seed, n=60, d=4, gap=0.2):
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=d)
    normal /= np.linalg.norm(normal)
    points = rng.uniform(-1, 1, (n * 3, d))
    distance = points @ normal
    keep = np.abs(distance) > gap
    return points[keep], (distance[keep] > 0).astype(int)


@for_each("seed", range(10))
def test_there_are_no_more_mistakes_than_novikoffs_bound(seed):
    points, labels = separable(seed)
    model = sp.Perceptron(max_iter=2000, tol=None, random_state=seed, ledger=True).fit(points, labels)
    signs = 2.0 * labels - 1.0
    length = np.sqrt((model.coef_**2).sum() + model.intercept_[0] ** 2)
    assert_allclose(model.margin_, [(signs * model.decision_function(points)).min() / length], rtol=1e-12)
    assert_allclose(model.radius_, np.sqrt((points**2).sum(axis=1).max() + 1.0), rtol=1e-12)
    assert_allclose(model.mistake_bound_, (model.radius_ / model.margin_) ** 2, rtol=1e-12)
    assert model.margin_[0] > 0 and model.score(points, labels) == 1.0
    assert 0 < model.n_mistakes_[0] <= model.mistake_bound_[0]
    assert model.ledger_.n_mistakes.sum() == model.n_mistakes_[0] == model.ledger_.n_updates.sum()


def test_rows_that_cannot_be_separated_have_no_bound():
    model = sp.Perceptron().fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    assert model.margin_[0] <= 0 and np.isinf(model.mistake_bound_[0])
    points, labels = separable(0)
    weighted = sp.Perceptron().fit(points, labels, sample_weight=np.ones(len(labels)))
    assert np.isinf(weighted.mistake_bound_[0])  # the theorem is about updates of one size


def test_a_sparse_matrix_gives_the_same_model():
    thin = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, light = (sp.Perceptron(random_state=3).fit(form, Y) for form in (thin, sparse.csr_array(thin)))
    assert_allclose(dense.coef_, light.coef_, rtol=1e-9)
    assert_array_equal(dense.predict(thin), light.predict(sparse.csr_array(thin)))


def test_batches_go_on_where_the_last_one_ended():
    ours, expected = sp.Perceptron(shuffle=False), theirs.Perceptron(shuffle=False)
    for rows in np.array_split(np.arange(300), 5):
        ours.partial_fit(X[rows], Y[rows], classes=[0, 1, 2])
        expected.partial_fit(X[rows], Y[rows], classes=[0, 1, 2])
    assert_allclose(ours.coef_, expected.coef_, rtol=1e-12)
    assert ours.t_ == expected.t_
    with pytest.raises(ValueError, match="not among the classes"):
        ours.partial_fit(X[:1], [9])


def test_warm_start_and_given_weights():
    first = sp.Perceptron(max_iter=3, tol=None, shuffle=False, warm_start=True).fit(X, Y)
    both = sp.Perceptron(max_iter=6, tol=None, shuffle=False).fit(X, Y)
    start = first.coef_, first.intercept_
    given = sp.Perceptron(max_iter=3, tol=None, shuffle=False).fit(X, Y, *start)
    assert_allclose(given.coef_, both.coef_)
    assert_allclose(first.fit(X, Y).coef_, both.coef_)
    with pytest.raises(ValueError, match="does not match"):
        sp.Perceptron().fit(X, Y, coef_init=np.zeros((3, 2)))


def test_the_order_is_random_and_depends_on_the_seed_only():
    first, again, other = (sp.Perceptron(random_state=seed).fit(X, Y).coef_ for seed in (1, 1, 2))
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_early_stopping_and_the_warning_about_too_few_epochs():
    model = sp.Perceptron(early_stopping=True, n_iter_no_change=2, ledger=True).fit(X, Y)
    assert model.n_iter_ < 1000 and model.score(X, Y) > 0.5
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        sp.Perceptron(max_iter=2).fit(X, Y)


@for_each("n_classes", [2, 3])
def test_the_dual_form_is_the_same_hyperplane(n_classes):
    rows = n_classes > Y
    primal = sp.Perceptron(random_state=4, ledger=True).fit(X[rows], Y[rows])
    dual = sp.Perceptron(random_state=4, ledger=True, form="dual").fit(X[rows], Y[rows])
    assert_allclose(dual.coef_, primal.coef_, rtol=1e-9, atol=1e-9)
    assert_allclose(dual.intercept_, primal.intercept_, rtol=1e-9, atol=1e-9)
    assert_array_equal(dual.n_mistakes_, primal.n_mistakes_)
    assert_array_equal(dual.ledger_.n_mistakes, primal.ledger_.n_mistakes)
    assert_allclose(dual.ledger_.loss, primal.ledger_.loss, rtol=1e-9)
    assert_allclose(dual.margin_, primal.margin_, rtol=1e-9)
    assert_allclose(dual.radius_, primal.radius_, rtol=1e-12)
    # Without weights, a coefficient is y times the number of mistakes on a row.
    assert_array_equal(np.abs(dual.dual_coef_).sum(axis=1), dual.n_mistakes_)


def test_a_kernel_separates_what_no_line_does():
    xor = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    curved = sp.Perceptron(form="dual", kernel="rbf", gamma=1.0, tol=None, max_iter=50)
    curved.fit(xor, [1, 1, 0, 0])
    assert curved.score(xor, [1, 1, 0, 0]) == 1.0
    assert curved.n_mistakes_[0] <= curved.mistake_bound_[0] < np.inf
    assert not hasattr(curved, "coef_")
    loaded = loads(dumps(curved))
    assert_array_equal(loaded.decision_function(xor), curved.decision_function(xor))
    with pytest.raises(ValueError, match="primal"):
        sp.Perceptron(form="dual").partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="penalty"):
        sp.Perceptron(form="dual", penalty="l2").fit(X, Y)
