"""Weights by least squares: the optimality conditions hold, and scikit-learn and SciPy find the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression

from spinney.ensembles.least_squares import convex_weights, least_squares


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 3), st.booleans())
def test_convex_weights_keep_the_conditions_of_the_best_point(seed, n_members, width, weighted):
    """At the minimum over the simplex no member's slope is below that of the members in use."""
    rng = np.random.default_rng(seed)
    target = rng.normal(size=(20, width))
    answers = [target + rng.normal(scale=rng.uniform(0.2, 2.0), size=(20, width)) for _ in range(n_members)]
    rows = rng.integers(0, 3, 20).astype(float) + 0.1 if weighted else None
    weights = convex_weights(answers, target, rows)
    assert weights.shape == (n_members,)
    assert (weights >= 0).all()
    assert_allclose(weights.sum(), 1.0)
    errors = np.stack([(one - target).ravel() for one in answers])
    products = (errors * np.repeat(np.ones(20) if rows is None else rows, width)) @ errors.T
    slopes = products @ weights
    in_use = weights > 1e-9
    assert_allclose(slopes[in_use], slopes[in_use][0], rtol=1e-6)
    assert (slopes >= slopes[in_use].min() * (1 - 1e-6)).all()


def test_convex_weights_of_perfect_and_of_equal_members():
    target = np.array([[1.0], [2.0], [4.0]])
    assert_allclose(convex_weights([target + 1.0, target], target), [0.0, 1.0])
    assert_allclose(convex_weights([target, target], target).sum(), 1.0)
    assert_allclose(convex_weights([target + 1.0, target - 1.0], target), [0.5, 0.5])
    assert_allclose(convex_weights([1e9 * target, 1e9 * target + 2.0], 1e9 * target + 1.0), [0.5, 0.5])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.booleans())
def test_least_squares_is_that_of_scikit_learn(seed, positive, intercept):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 4))
    y, rows = X @ rng.normal(size=4) + rng.normal(size=30) + 3.0, rng.uniform(0.1, 2.0, 30)
    coefficients, level = least_squares(X, y, rows, positive=positive, intercept=intercept)
    expected = LinearRegression(positive=positive, fit_intercept=intercept).fit(X, y, rows)
    assert_allclose(coefficients, expected.coef_, atol=1e-8)
    assert_allclose(level, expected.intercept_, atol=1e-8)


def test_columns_that_sum_to_one_have_a_shortest_solution():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([1, 1, 1], 50)
    y = shares @ [1.0, 2.0, 3.0]
    coefficients, level = least_squares(shares, y, None, positive=False, intercept=True)
    assert_allclose(shares @ coefficients + level, y, atol=1e-10)
    assert_allclose(coefficients.sum(), 0.0, atol=1e-10)


@pytest.mark.parametrize("positive", [True, False])
def test_a_row_of_weight_2_is_a_row_twice_and_one_of_weight_0_none(positive):
    rng = np.random.default_rng(1)
    X, y, rows = rng.normal(size=(12, 3)), rng.normal(size=12), np.repeat([0, 1, 2], 4)
    by_weight = least_squares(X, y, rows.astype(float), positive=positive, intercept=True)
    by_copies = least_squares(X.repeat(rows, 0), y.repeat(rows), None, positive=positive, intercept=True)
    assert_allclose(by_weight[0], by_copies[0], atol=1e-12)
    assert_allclose(by_weight[1], by_copies[1], atol=1e-12)


def test_convex_weights_are_those_of_a_general_optimizer():
    rng = np.random.default_rng(3)
    target = rng.normal(size=(40, 1))
    answers = [target + rng.normal(size=(40, 1)) for _ in range(4)]
    found = minimize(
        lambda w: np.mean((np.hstack(answers) @ w - target[:, 0]) ** 2),
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        tol=1e-12,
    )
    assert_allclose(convex_weights(answers, target), found.x, atol=1e-4)
