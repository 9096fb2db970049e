"""Partial dependence, individual curves and accumulated effects against predictions of changed tables."""

from itertools import product

import numpy as np
import pytest

import spinney as sp
from contracts.learners import mixed_data
from spinney.core.errors import InputError
from spinney.inspect import partial_dependence


def model_and_rows():
    X, y, _ = mixed_data("regressor", 150)
    return sp.GradientBoostingRegressor(n_estimators=10, min_samples_leaf=3, random_state=0).fit(X, y), X


def predict_at(model, X, changes):
    changed = X.copy()
    for name, value in changes.items():
        changed[name] = value
    return model.predict(changed)


@pytest.mark.parametrize("features", ["a", "color", ("a", "color")])
def test_it_is_the_prediction_of_the_changed_table(features):
    model, X = model_and_rows()
    names = [features] if isinstance(features, str) else list(features)
    average = partial_dependence(model, X, features, max_points=5)
    each = partial_dependence(model, X, features, kind="individual", max_points=5)
    for index in product(*(range(len(points)) for points in average.grid)):
        changes = {name: points[i] for name, points, i in zip(names, average.grid, index, strict=True)}
        wanted = predict_at(model, X, changes)
        np.testing.assert_allclose(each.values[(slice(None), *index)], wanted, rtol=0, atol=1e-12)
        np.testing.assert_allclose(average.values[index], wanted.mean(), rtol=0, atol=1e-12)
    assert len(average.to_frame()) == average.values.size and len(each.to_frame()) == each.values.size
    twice = partial_dependence(model, X, features, max_points=5, n_jobs=2)
    assert twice.values.tobytes() == average.values.tobytes()


def test_missing_points_and_fractional_rows_are_divided():
    X, y, _ = mixed_data("classifier", 150)
    model = sp.C45Classifier().fit(X, y)
    found = partial_dependence(model, X, "a", grid=[np.nan, 0.0], kind="individual")
    assert found.output_names == ("0", "1", "2")
    for k, point in enumerate((np.nan, 0.0)):
        changed = X.copy()
        changed["a"] = point
        np.testing.assert_allclose(found.values[:, k], model.predict_proba(changed), rtol=0, atol=1e-12)


def test_accumulated_effects_of_an_additive_model_are_its_terms():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 2))
    model = sp.GradientBoostingRegressor(n_estimators=40, max_depth=1, random_state=0)
    model.fit(X, np.floor(4 * X[:, 0]) + X[:, 1])
    grid = np.linspace(0, 1, 21)
    effect = partial_dependence(model, X, 0, kind="accumulated", grid=grid).values
    average = partial_dependence(model, X, 0, grid=grid).values
    np.testing.assert_allclose(np.diff(effect), np.diff(average), rtol=0, atol=1e-10)
    pairs = partial_dependence(model, X, [0, 1], kind="accumulated", grid=[grid[::4], grid[::4]]).values
    np.testing.assert_allclose(pairs, 0.0, rtol=0, atol=1e-10)


def test_mistakes_are_named():
    model, X = model_and_rows()
    for features, options, message in (
        ("colour", {}, "There is no feature 'colour'"),
        (["a", "b", "color"], {}, "one feature or two"),
        ("a", {"kind": "mean"}, "kind must be"),
        ("color", {"kind": "accumulated"}, "need an order"),
        ("color", {"grid": ["pink"]}, "no category 'pink'"),
        ("a", {"kind": "accumulated", "grid": [1.0, 0.0]}, "ascending"),
    ):
        with pytest.raises(InputError, match=message):
            partial_dependence(model, X, features, **options)
