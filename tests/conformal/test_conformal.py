"""Coverage of conformal intervals and sets, and their definitions."""

import numpy as np
import pytest

import spinney as sp
from spinney.conformal import calibrate_intervals, calibrate_quantiles, calibrate_sets, cross_intervals
from spinney.core.errors import InputError


def noisy(n, seed):
    """Rows whose noise grows with the first feature."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, X[:, 0] + np.sin(3 * X[:, 1]) + rng.normal(size=n) * (0.2 + 0.4 * (X[:, 0] > 0))


def coverage(intervals, y):
    return np.mean((intervals[:, 0] <= y) & (y <= intervals[:, 1]))


def test_split_intervals_cover_and_those_of_quantiles_adapt():
    (X, y), (C, c), (T, t) = noisy(400, 0), noisy(500, 1), noisy(2000, 2)
    model = sp.RandomForestRegressor(20, min_samples_leaf=5, random_state=0).fit(X, y)
    fixed = calibrate_intervals(model, C, c)
    boost = {"loss": "quantile", "n_estimators": 30, "random_state": 0}
    low = sp.GradientBoostingRegressor(quantile=0.05, **boost).fit(X, y)
    high = sp.GradientBoostingRegressor(quantile=0.95, **boost).fit(X, y)
    adaptive = calibrate_quantiles(low, high, C, c)
    for found in (fixed, adaptive):
        for confidence in (0.6, 0.9):
            assert abs(coverage(found.predict_interval(T, confidence), t) - confidence) < 0.06
    wide = adaptive.predict_interval(T)
    width = wide[:, 1] - wide[:, 0]
    assert (width >= 0).all() and width[T[:, 0] > 0].mean() > 1.15 * width[T[:, 0] < 0].mean()
    crossed = calibrate_quantiles(high, low, C, c)
    np.testing.assert_array_equal(crossed.predict_interval(T), wide)


@pytest.mark.parametrize("cv", [5, "jackknife"])
def test_cross_intervals_cover_and_are_those_of_the_definition(cv):
    (X, y), (T, t) = noisy(80, 0), noisy(1000, 2)
    found = cross_intervals(sp.DecisionTreeRegressor(min_samples_leaf=8), X, y, cv=cv, random_state=0)
    intervals = found.predict_interval(T, 0.9)
    assert coverage(intervals, t) > 0.84
    predicted = np.array([found.models[k].predict(T[:1])[0] for k in found.fold])
    rank = int(np.ceil(81 * 0.9))
    assert intervals[0, 1] == np.sort(predicted + found.residuals)[rank - 1]
    assert intervals[0, 0] == np.sort(predicted - found.residuals)[80 - rank]
    assert found.predict(T).shape == (1000,)
    assert np.isinf(found.predict_interval(T[:1], 0.999)).all()


@pytest.mark.parametrize("method", ["threshold", "adaptive"])
def test_sets_cover(method):
    def classes(n, seed):
        X, y = noisy(n, seed)
        return X, np.array(["low", "middle", "top"])[np.digitize(y, [-0.5, 0.7])]

    (X, y), (C, c), (T, t) = classes(300, 0), classes(500, 1), classes(2000, 2)
    model = sp.RandomForestClassifier(30, min_samples_leaf=5, random_state=0).fit(X, y)
    sets = calibrate_sets(model, C, c, method=method)
    mask = sets.predict_mask(T, 0.9)
    covered = mask[np.arange(len(t)), np.searchsorted(model.classes_, t)].mean()
    assert 0.86 < covered < (0.94 if method == "threshold" else 1.0)
    assert mask.sum(axis=1).mean() < 2.5
    assert sets.predict_set(T[:1])[0].tolist() == model.classes_[mask[0]].tolist()


def test_mistakes_are_named():
    X, y = noisy(30, 0)
    model = sp.DecisionTreeRegressor().fit(X, y)
    intervals = calibrate_intervals(model, X, y)
    for call, message in (
        (lambda: intervals.predict_interval(X, 1.0), "between 0 and 1"),
        (lambda: calibrate_intervals(model, X, y[:-1]), "each of the 30 rows"),
        (lambda: cross_intervals(model, X, y, cv=31), "from 2 to 30"),
        (lambda: calibrate_sets(model, X, y, method="best"), "method must be"),
        (
            lambda: calibrate_sets(sp.DecisionTreeClassifier().fit(X, y > 0), X, ["a"] * 30),
            "'a' is not one of the classes",
        ),
    ):
        with pytest.raises(InputError, match=message):
            call()
