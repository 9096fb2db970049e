"""Several quantiles in one model: each is the model of that quantile alone, and they never cross."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import mean_pinball_loss

from spinney import GradientBoostingRegressor, to_c
from spinney.core.errors import InputError
from spinney.inspect import shap_values
from spinney.io import dumps, loads

LEVELS = [0.05, 0.5, 0.95]
PLAIN = {
    "preset": "classic",
    "n_estimators": 20,
    "early_stopping": False,
    "random_state": 0,
    "loss": "quantile",
}


def skewed(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, size=(n_rows, 3))
    return X, X[:, 0] + rng.exponential(0.2 + X[:, 1])


def test_each_column_is_the_model_of_one_quantile():
    X, y = skewed(600)
    weights = np.random.default_rng(1).integers(1, 4, 600)
    together = GradientBoostingRegressor(quantile=LEVELS, **PLAIN).fit(X, y, weights)
    alone = [
        GradientBoostingRegressor(quantile=level, **PLAIN).fit(X, y, weights).predict(X) for level in LEVELS
    ]
    assert_array_equal(together.predict(X), np.sort(np.column_stack(alone), axis=1))
    assert together.predict(X).shape == (600, 3) and len(together) == 60


def test_coverage_and_order_on_new_rows():
    X, y = skewed(4000)
    X_new, y_new = skewed(4000, seed=1)
    model = GradientBoostingRegressor("quantile", quantile=LEVELS, n_members=1, random_state=0).fit(X, y)
    predicted = model.predict(X_new)
    assert (np.diff(predicted, axis=1) >= 0).all()
    covered = (y_new[:, None] <= predicted).mean(axis=0)
    assert_allclose(covered, LEVELS, atol=0.03)
    constant = np.quantile(y, LEVELS)
    losses = [mean_pinball_loss(y_new, predicted[:, k], alpha=q) for k, q in enumerate(LEVELS)]
    constants = [mean_pinball_loss(y_new, np.full(4000, constant[k]), alpha=q) for k, q in enumerate(LEVELS)]
    assert all(loss < 0.9 * other for loss, other in zip(losses, constants, strict=True))
    assert model.score(X_new, y_new) == pytest.approx(1 - np.mean(np.divide(losses, constants)), abs=0.01)


def test_crossing_scores_are_sorted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.normal(size=60)
    model = GradientBoostingRegressor(quantile=[0.45, 0.5, 0.55], **PLAIN | {"n_estimators": 60}).fit(X, y)
    new = rng.normal(size=(500, 4))
    crossing = shap_values(model, new)
    raw = crossing.values.sum(axis=1) + crossing.base_values
    assert (np.diff(raw, axis=1) < 0).any()
    assert_allclose(model.predict(new), np.sort(raw, axis=1))
    assert crossing.space == "raw" and crossing.output_names == ("0.45", "0.5", "0.55")


def test_several_quantiles_are_saved_and_staged():
    X, y = skewed(200)
    model = GradientBoostingRegressor(quantile=np.array([0.1, 0.9]), **PLAIN).fit(X, y)
    again = loads(dumps(model))
    assert_array_equal(again.predict(X), model.predict(X))
    stages = list(model.staged_predict(X))
    assert len(stages) == 20 and all((np.diff(stage, axis=1) >= 0).all() for stage in stages)
    assert_array_equal(stages[-1], model.predict(X))


def test_what_is_refused():
    X, y = skewed(100)
    model = GradientBoostingRegressor(quantile=LEVELS, **PLAIN)
    with pytest.raises(InputError, match="Several quantiles of 2 outputs"):
        model.fit(X, np.column_stack([y, y]))
    with pytest.raises(InputError, match=r"quantile=.* has no effect"):
        GradientBoostingRegressor(quantile=LEVELS).fit(X, y)
    with pytest.raises(TypeError, match="sorts its quantiles"):
        to_c(model.fit(X, y))


def test_shap_values_of_several_outputs():
    X, y = skewed(200)
    model = GradientBoostingRegressor(n_estimators=5, preset="classic", early_stopping=False)
    found = shap_values(model.fit(X, np.column_stack([y, -y])), X)
    assert found.output_names == ("0", "1")
    assert_allclose(found.values.sum(axis=1) + found.base_values, model.predict(X), atol=1e-12)
