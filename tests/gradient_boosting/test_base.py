"""Going on from before: 64 rounds are 32 and 32 more, to the last bit, also by way of a file."""

import numpy as np
import pandas as pd
import pytest

from contracts.learners import mixed_data
from spinney import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.io import dumps, loads
from spinney.losses import Loss

SETTINGS = {
    "plain": {},
    "rows": {"sampling": "goss"},
    "columns": {"max_features": 2, "colsample_bytree": 0.8, "subsample": 0.7},
    "stopping": {"early_stopping": True, "n_iter_no_change": 64, "ledger": True},
    "stopped": {"early_stopping": True, "n_iter_no_change": 2, "learning_rate": 0.8},
    "level": {"growth": "level-wise", "max_leaf_nodes": 8, "l2_regularization": 1.0},
    "ordered": {"categorical_encoding": "ordered"},
    "candidates": {"ledger": "full"},
    "sets": {"interaction_cst": [{0, 1}, {2}], "growth": "leaf-wise"},
    "random thresholds": {"splitter": "random"},
}


@pytest.mark.parametrize("make", [GradientBoostingClassifier, GradientBoostingRegressor])
@pytest.mark.parametrize("name", SETTINGS)
def test_sixty_four_are_thirty_two_twice(make, name):
    kind = "classifier" if make is GradientBoostingClassifier else "regressor"
    X, y, weights = mixed_data(kind, 250)
    settings = {"warm_start": True, "random_state": 2, "max_leaf_nodes": 6, "preset": "classic"} | SETTINGS[
        name
    ]
    whole = make(n_estimators=64, **settings).fit(X, y, weights)
    half = make(n_estimators=32, **settings).fit(X, y, weights)
    by_file = loads(dumps(half))
    for model in (half, by_file):
        model.set_params(n_estimators=64).fit(X, y, weights)
        assert dumps(model) == dumps(whole)


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"])
def test_every_loss_goes_on(loss):
    X, y, _ = mixed_data("regressor", 250)
    y = np.exp(y / 4)
    whole = GradientBoostingRegressor(
        loss, n_estimators=20, warm_start=True, random_state=0, preset="classic"
    ).fit(X, y)
    parts = GradientBoostingRegressor(
        loss, n_estimators=7, warm_start=True, random_state=0, preset="classic"
    ).fit(X, y)
    assert dumps(parts.set_params(n_estimators=20).fit(X, y)) == dumps(whole)


class LogCosh(Loss):
    def gradient(self, y, score):
        return np.tanh(score - y)

    def hessian(self, y, score):
        return 1 - np.tanh(score - y) ** 2 + 1e-3


def test_a_loss_of_ones_own_goes_on_through_a_file():
    X, y, _ = mixed_data("regressor", 250)
    whole = GradientBoostingRegressor(
        LogCosh(), n_estimators=8, warm_start=True, random_state=0, preset="classic"
    ).fit(X, y)
    parts = GradientBoostingRegressor(
        LogCosh(), n_estimators=4, warm_start=True, random_state=0, preset="classic"
    ).fit(X, y)
    assert dumps(loads(dumps(parts)).set_params(n_estimators=8).fit(X, y)) == dumps(whole)


def test_the_seed_of_the_first_fit_is_kept():
    X, y, _ = mixed_data("regressor", 250)
    model = GradientBoostingRegressor(n_estimators=5, warm_start=True, subsample=0.5, preset="classic").fit(
        X, y
    )
    seed = model._seed
    assert model.set_params(n_estimators=6).fit(X, y)._seed == seed
    assert model.set_params(warm_start=False).fit(X, y)._seed != seed


def test_going_on_needs_as_many_rounds_and_known_classes():
    X, y, _ = mixed_data("classifier", 250)
    model = GradientBoostingClassifier(n_estimators=5, warm_start=True, random_state=0, preset="classic").fit(
        X, y
    )
    before = dumps(model)
    assert dumps(model.fit(X, y)) == before  # there is nothing left to do
    with pytest.raises(ValueError, match="n_estimators=4 must be larger than or equal to n_iter_=5"):
        model.set_params(n_estimators=4).fit(X, y)
    model.set_params(n_estimators=9)
    with pytest.raises(ValueError, match=r"7, a class.*row 0"):
        model.fit(X[:2], [7, 1])
    with pytest.raises(ValueError, match="no ledger"):
        model.set_params(ledger=True).fit(X, y)
    assert dumps(model.set_params(n_estimators=5, ledger=False)) == before


def test_going_on_with_new_rows_of_the_same_columns():
    X, y, _ = mixed_data("regressor", 500)
    model = GradientBoostingRegressor(n_estimators=20, warm_start=True, preset="classic").fit(
        X[:250], y[:250]
    )
    error = np.mean((model.predict(X[250:]) - y[250:]) ** 2)
    model.set_params(n_estimators=40).fit(X[250:], y[250:])
    assert np.mean((model.predict(X[250:]) - y[250:]) ** 2) < error
    with pytest.raises(ValueError, match="feature names"):
        model.set_params(n_estimators=41).fit(pd.DataFrame({"other": y}), y)


def test_early_stopping_may_begin_later():
    X, y, _ = mixed_data("regressor", 250)
    model = GradientBoostingRegressor(n_estimators=5, warm_start=True, random_state=0, preset="classic").fit(
        X, y
    )
    model.set_params(early_stopping=True).fit(X, y)  # no round more, but a score
    assert np.isfinite(model.validation_score_[5]) and model.best_iteration_ == 5
    model.set_params(n_estimators=9).fit(X, y)
    assert np.isnan(model.validation_score_[:5]).all()
    assert np.isfinite(model.validation_score_[5:]).all() and len(model.validation_score_) == 10
    model.set_params(n_estimators=12, early_stopping=False).fit(X, y)
    assert (len(model.validation_score_), model.best_iteration_) == (0, 12)
    assert dumps(loads(dumps(model))) == dumps(model)
