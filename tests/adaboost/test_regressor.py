"""AdaBoostRegressor: AdaBoost.R2, its median, its stopping and its members."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

import spinney as sp
from contracts.learners import mixed_data
from spinney.adaboost.rounds import weighted_median
from spinney.io import dumps


def wave(seed=0, n_rows=300):
    random = np.random.default_rng(seed)
    X = random.uniform(0, 6, size=(n_rows, 2))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] + random.normal(scale=0.1, size=n_rows)


def test_the_weighted_median():
    values = np.array([[3.0, 1.0, 2.0], [5.0, 5.0, 0.0]])
    assert weighted_median(values, np.array([1.0, 1.0, 1.0])).tolist() == [2.0, 5.0]
    assert weighted_median(values, np.array([5.0, 1.0, 1.0])).tolist() == [3.0, 5.0]
    assert weighted_median(values, np.array([1.0, 1.0, 2.0])).tolist() == [2.0, 0.0]


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
@pytest.mark.parametrize("resample", [False, True])
def test_an_ensemble_is_better_than_its_member(loss, resample):
    X, y = wave()
    X_new, y_new = wave(1)
    single = sp.DecisionTreeRegressor(max_depth=3).fit(X, y).score(X_new, y_new)
    model = sp.AdaBoostRegressor(loss=loss, resample=resample, random_state=0).fit(X, y)
    assert model.score(X_new, y_new) > single
    assert (model.estimator_errors_ < 0.5).all() and (model.estimator_weights_ > 0).all()


def test_stages_end_with_the_whole():
    X, y = wave()
    model = sp.AdaBoostRegressor(n_estimators=15).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == len(model)
    assert_array_equal(stages[-1], model.predict(X))
    short = sp.AdaBoostRegressor(n_estimators=6).fit(X, y)
    assert_array_equal(stages[5], short.predict(X))
    assert list(model.staged_score(X, y))[-1] == model.score(X, y)


def test_a_perfect_member_ends_the_ensemble_and_a_bad_first_one_stays():
    model = sp.AdaBoostRegressor().fit([[0.0], [1.0]], [2.0, 3.0])
    assert len(model) == 1 and model.estimator_errors_.tolist() == [0.0]
    X, y = np.zeros((4, 1)), np.array([0.0, 0.0, 1.0, 1.0])  # every error is the largest there is
    model = sp.AdaBoostRegressor().fit(X, y)
    assert len(model) == 1 and model.predict(X).tolist() == [0.5] * 4


def test_early_stopping_keeps_the_best_round():
    X, y = wave(2)
    model = sp.AdaBoostRegressor(
        n_estimators=100, early_stopping=True, n_iter_no_change=4, random_state=0
    ).fit(X, y)
    assert len(model) == np.argmin(model.validation_errors_) + 1
    assert len(model.validation_errors_) == len(model) + 4


@pytest.mark.parametrize("resample", [False, True])
def test_going_on_is_the_same_as_never_having_stopped(resample):
    X, y, weights = mixed_data("regressor")
    settings = {"resample": resample, "random_state": 0, "warm_start": True}
    whole = sp.AdaBoostRegressor(n_estimators=12, **settings).fit(X, y, weights)
    parts = sp.AdaBoostRegressor(n_estimators=5, **settings).fit(X, y, weights)
    assert dumps(parts.set_params(n_estimators=12).fit(X, y, weights)) == dumps(whole)


def test_any_estimator_and_any_table():
    X, y = wave()
    assert sp.AdaBoostRegressor(Ridge(), n_estimators=5).fit(X, y).score(X, y) > 0.2
    # Without support of weights, rows are drawn.
    model = sp.AdaBoostRegressor(KNeighborsRegressor(), n_estimators=5, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.8
    with pytest.raises(ValueError, match="not a regressor"):
        sp.AdaBoostRegressor(sp.DecisionTreeClassifier()).fit(X, y)
    X, y, weights = mixed_data("regressor")
    model = sp.AdaBoostRegressor(n_estimators=8).fit(X, y, weights)
    same = sp.AdaBoostRegressor(n_estimators=8).fit(pl.from_pandas(X), y, weights)
    assert_allclose(same.predict(pl.from_pandas(X)), model.predict(X))
    assert model.feature_importances_.sum() == pytest.approx(1.0)
