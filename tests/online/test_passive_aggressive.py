"""Passive–aggressive learners: scikit-learn's weights, one step by hand, batches."""

import warnings

import numpy as np
import sklearn.linear_model as theirs
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification

import spinney as sp
from loops import for_each

X, Y = make_classification(300, 12, n_informative=6, n_classes=3, random_state=0)
T = X @ np.random.default_rng(0).normal(size=12) + 1.0


def their(name, **params):
    """Make the estimator of scikit-learn, which says that it will be renamed."""
    return getattr(theirs, name)(shuffle=False, **params)


@for_each("params", [{}, {"loss": "squared_hinge"}, {"average": True}, {"average": 50, "C": 0.1}])
@for_each("n_classes", [2, 3])
def test_the_weights_are_those_of_scikit_learn(params, n_classes):
    rows = n_classes > Y
    ours = sp.PassiveAggressiveClassifier(shuffle=False, **params).fit(X[rows], Y[rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        expected = their("PassiveAggressiveClassifier", **params).fit(X[rows], Y[rows])
    assert_allclose(ours.coef_, expected.coef_, rtol=1e-9, atol=1e-11)
    assert_allclose(ours.intercept_, expected.intercept_, rtol=1e-9, atol=1e-11)
    assert_array_equal(ours.predict(X), expected.predict(X))


@for_each("params", [{}, {"loss": "squared_epsilon_insensitive"}, {"average": True, "epsilon": 0.5}])
def test_the_weights_of_the_regressor_are_those_of_scikit_learn(params):
    ours = sp.PassiveAggressiveRegressor(shuffle=False, **params).fit(X, T)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        expected = their("PassiveAggressiveRegressor", **params).fit(X, T)
    assert_allclose(ours.coef_, expected.coef_, rtol=1e-9, atol=1e-11)
    assert_allclose(ours.predict(X), expected.predict(X), rtol=1e-9)


def test_one_step_by_hand():
    # ℓ = 1 at w = 0 and ‖x‖² = 25: τ = 1/25 without a limit, C = 0.01 with one, 1/(25 + 1/2C) for PA-II.
    x = np.array([[3.0, 4.0]])
    for params, step in [
        ({"C": np.inf}, 1 / 25),
        ({"C": 1.0}, 1 / 25),
        ({"C": 0.01}, 0.01),
        ({"C": 0.1, "loss": "squared_hinge"}, 1 / 30),
        ({"C": np.inf, "loss": "squared_hinge"}, 1 / 25),
    ]:
        model = sp.PassiveAggressiveClassifier(**params).partial_fit(x, [1], classes=[0, 1])
        assert_allclose(model.coef_, step * x, rtol=1e-12)
        assert_allclose(model.intercept_, [step], rtol=1e-12)
    # ε = 0.5 and y = 3: ℓ = 2.5, τ = 2.5/25
    model = sp.PassiveAggressiveRegressor(C=np.inf, epsilon=0.5).partial_fit(x, [3.0])
    assert_allclose(model.coef_, x[0] / 10, rtol=1e-12)


def test_a_row_with_margin_one_changes_nothing():
    model = sp.PassiveAggressiveClassifier(ledger=True, shuffle=False, tol=None, max_iter=5)
    model.fit(np.array([[10.0], [-10.0]]), [1, 0])
    assert model.ledger_.n_updates.tolist()[-1] == 0
    assert model.ledger_.loss.tolist()[-1] == 0.0


def test_batches_go_on_where_the_last_one_ended():
    whole = sp.PassiveAggressiveRegressor(shuffle=False, max_iter=1, tol=None).fit(X, T)
    parts = sp.PassiveAggressiveRegressor(shuffle=False)
    for rows in np.array_split(np.arange(300), 5):
        parts.partial_fit(X[rows], T[rows])
    assert_allclose(parts.coef_, whole.coef_, rtol=1e-12)
    assert parts.t_ == whole.t_ == 301
