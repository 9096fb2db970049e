"""The learners of level two: one regression a class, the nearest distribution, and their files."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression

from spinney.ensembles import LeastSquaresRegressor, MultiResponseClassifier
from spinney.ensembles.least_squares import nearest_distribution
from spinney.io import ModelFileError, dumps, loads

RNG = np.random.default_rng(0)


def answers(n_classes, n_members=2, n_rows=80):
    y = RNG.integers(0, n_classes, n_rows)
    shares = [
        0.5 * np.eye(n_classes)[y] + 0.5 * RNG.dirichlet(np.ones(n_classes), n_rows) for _ in range(n_members)
    ]
    return np.hstack(shares), np.array(list("abcdef"))[y]


@pytest.mark.parametrize("positive", [True, False])
def test_each_class_has_its_regression_on_its_own_columns(positive):
    X, y = answers(3)
    model = MultiResponseClassifier(columns="own", positive=positive).fit(X, y)
    for k, label in enumerate("abc"):
        one = LinearRegression(positive=positive).fit(X[:, k::3], y == label)
        assert_allclose(model.coef_[k, k::3], one.coef_, atol=1e-10)
        assert_allclose(model.intercept_[k], one.intercept_, atol=1e-10)
        others = np.delete(model.coef_[k], [k, k + 3])
        assert_array_equal(others, 0.0)


def test_with_two_classes_one_regression_says_all():
    X, y = answers(2)
    model = MultiResponseClassifier(positive=False).fit(X[:, 1::2], y)
    one = LinearRegression().fit(X[:, 1::2], y == "b")
    assert model.coef_.shape == (1, 2)
    assert_allclose(model.predict_proba(X[:, 1::2])[:, 1], np.clip(one.predict(X[:, 1::2]), 0, 1), atol=1e-10)


def test_the_largest_sum_is_the_likeliest_class():
    X, y = answers(4)
    model = MultiResponseClassifier(positive=False).fit(X, y)
    sums = X @ model.coef_.T + model.intercept_
    assert_array_equal(model.predict(X), model.classes_[sums.argmax(axis=1)])
    assert model.score(X, y) > 0.9


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_no_other_distribution_is_nearer(seed, width):
    rng = np.random.default_rng(seed)
    sums = rng.normal(scale=2.0, size=(5, width))
    found = nearest_distribution(sums)
    assert (found >= 0).all()
    assert_allclose(found.sum(axis=1), 1.0)
    others = rng.dirichlet(np.ones(width), (200, 5))
    distance = np.square(sums - found).sum(axis=1)
    assert (np.square(sums - others).sum(axis=2) >= distance - 1e-12).all()


def test_columns_that_cannot_be_told_apart_by_class_are_refused():
    X, y = answers(3)
    with pytest.raises(ValueError, match="5 columns"):
        MultiResponseClassifier(columns="own").fit(X[:, :5], y)


@pytest.mark.parametrize("make", [MultiResponseClassifier, LeastSquaresRegressor])
@pytest.mark.parametrize(
    "name, value",
    [
        ("coef_", np.zeros((3, 5))),
        ("coef_", np.full((3, 6), np.nan)),
        ("intercept_", np.zeros(2)),
        ("intercept_", None),
        ("n_features_in_", 7),
    ],
)
def test_a_damaged_file_is_refused(make, name, value):
    X, y = answers(3)
    model = make().fit(X, y if make is MultiResponseClassifier else X[:, 0])
    assert dumps(loads(dumps(model))) == dumps(model)
    setattr(model, name, value)
    with pytest.raises(ModelFileError):
        loads(dumps(model))
