"""Linear discriminant analysis: scikit-learn's numbers, weights, collinear features, and a case by hand."""

import numpy as np
import pytest
import sklearn.discriminant_analysis as theirs
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.covariance import OAS

import spinney as sp
from loops import for_each

rng = np.random.default_rng(1)
X = rng.normal(size=(200, 5)) @ rng.normal(size=(5, 5)) * [1, 10, 0.1, 3, 100] + 5
Y = rng.integers(0, 3, 200)
X[Y == 2] += [1, -10, 0.1, 2, 50]

SETTINGS = [
    {},
    {"priors": [0.2, 0.3, 0.5], "store_covariance": True},
    {"n_components": 1},
    {"solver": "eigen"},
    {"solver": "eigen", "shrinkage": "auto"},
    {"solver": "eigen", "shrinkage": 0.3},
    {"solver": "eigen", "priors": [0.2, 0.3, 0.5]},
    {"solver": "lsqr"},
    {"solver": "lsqr", "shrinkage": "auto"},
    {"solver": "lsqr", "shrinkage": 0.3, "priors": [0.2, 0.3, 0.5]},
    {"solver": "lsqr", "covariance_estimator": OAS()},
]


@for_each("params", SETTINGS)
@for_each("n_classes", [2, 3])
def test_the_numbers_are_those_of_scikit_learn(params, n_classes):
    if n_classes == 2 and ("priors" in params):
        params = params | {"priors": [0.3, 0.7]}
    rows = n_classes > Y
    ours = sp.LinearDiscriminantAnalysis(**params).fit(X[rows], Y[rows])
    expected = theirs.LinearDiscriminantAnalysis(**params).fit(X[rows], Y[rows])
    assert_allclose(ours.decision_function(X), expected.decision_function(X), rtol=1e-8, atol=1e-8)
    assert_allclose(ours.predict_proba(X), expected.predict_proba(X), rtol=1e-8, atol=1e-8)
    assert_allclose(ours.predict_log_proba(X), expected.predict_log_proba(X), rtol=1e-7, atol=1e-8)
    assert_array_equal(ours.predict(X), expected.predict(X))
    for name in ("coef_", "intercept_", "means_", "priors_", "covariance_", "explained_variance_ratio_"):
        if hasattr(expected, name):
            assert_allclose(getattr(ours, name), getattr(expected, name), rtol=1e-7, atol=1e-9)
    if ours.solver != "lsqr":
        assert_allclose(np.abs(ours.transform(X)), np.abs(expected.transform(X)), rtol=1e-7, atol=1e-8)


def test_nearly_collinear_and_repeated_features():
    for extra in (X[:, :1] * (1 + 1e-6) + 1e-6 * rng.normal(size=(200, 1)), X[:, :1], np.ones((200, 1))):
        wide = np.hstack([X, extra])
        ours = sp.LinearDiscriminantAnalysis().fit(wide, Y)
        expected = theirs.LinearDiscriminantAnalysis().fit(wide, Y)
        assert_allclose(ours.decision_function(wide), expected.decision_function(wide), rtol=1e-6, atol=1e-6)


def test_more_features_than_rows():
    wide = rng.normal(size=(30, 80))
    ours = sp.LinearDiscriminantAnalysis().fit(wide, Y[:30])
    expected = theirs.LinearDiscriminantAnalysis().fit(wide, Y[:30])
    assert_allclose(ours.decision_function(wide), expected.decision_function(wide), rtol=1e-7, atol=1e-7)


@for_each("solver", ["svd", "eigen", "lsqr"])
def test_a_weight_of_two_is_a_row_twice(solver):
    weights = rng.integers(1, 4, 200)
    weighted = sp.LinearDiscriminantAnalysis(solver).fit(X, Y, weights)
    repeated = sp.LinearDiscriminantAnalysis(solver).fit(np.repeat(X, weights, 0), np.repeat(Y, weights))
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-9, atol=1e-9)


def test_the_direction_of_fisher_by_hand():
    # S_w = diag(2/3, 2/3) · n / n and means ±4/3 on the first axis: w is the first axis.
    points = np.array([[-2.0, 0], [-1, 1], [-1, -1], [1, 1], [2, 0], [1, -1]])
    model = sp.LinearDiscriminantAnalysis(store_covariance=True).fit(points, [0, 0, 0, 1, 1, 1])
    variance = (4 / 9 + 1 / 9 + 1 / 9) / 3
    assert_allclose(model.covariance_, [[variance, 0], [0, 2 / 3]], atol=1e-15)
    assert_allclose(model.coef_, [[(8 / 3) / variance, 0.0]], atol=1e-12)
    assert_allclose(model.intercept_, [0.0], atol=1e-12)


def test_wrong_settings_are_explained():
    with pytest.raises(ValueError, match="solver='lsqr'"):
        sp.LinearDiscriminantAnalysis(shrinkage=0.5).fit(X, Y)
    with pytest.raises(ValueError, match="n_components"):
        sp.LinearDiscriminantAnalysis(n_components=3).fit(X, Y)
    with pytest.raises(ValueError, match=r"singular.*shrinkage"):
        sp.LinearDiscriminantAnalysis("eigen").fit(np.hstack([X, np.ones((200, 1))]), Y)
    with pytest.raises(ValueError, match="sample_weight"):
        sp.LinearDiscriminantAnalysis("eigen", shrinkage="auto").fit(X, Y, np.ones(200))
    with pytest.raises(NotImplementedError, match="lsqr"):
        sp.LinearDiscriminantAnalysis("lsqr").fit(X, Y).transform(X)
