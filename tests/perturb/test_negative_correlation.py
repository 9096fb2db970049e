import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine

import spinney as sp
from spinney.io import ModelFileError, dumps, loads

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(200, 2))
Y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.3 * RNG.normal(size=200)


def regressor(**params):
    return sp.NegativeCorrelationRegressor(**{"n_estimators": 6, "random_state": 0, "ledger": True} | params)


def ambiguity(model, X):
    members = model.predict_members(X)
    return ((members - members.mean(axis=1, keepdims=True)) ** 2).mean()


def test_a_larger_penalty_makes_members_differ_more():
    found = [ambiguity(regressor(penalty=penalty).fit(X, Y), X) for penalty in (0.0, 0.5, 1.0)]
    assert (np.diff(found) > 0).all() and found[-1] > 10 * found[0]


def test_error_is_mean_error_less_ambiguity():
    model = regressor().fit(X, Y)
    members = model.predict_members(X)
    mean_error = ((members - Y[:, None]) ** 2).mean()
    assert_allclose(((model.predict(X) - Y) ** 2).mean(), mean_error - ambiguity(model, X), atol=1e-12)
    assert_allclose(model.predict(X), members.mean(axis=1), atol=1e-12)


@pytest.mark.parametrize("data", [load_iris, load_wine])
def test_classes_are_learned_with_probabilities(data):
    T, t = data(return_X_y=True)
    names = np.array(["a", "b", "c"])[t]
    model = sp.NegativeCorrelationClassifier(random_state=0).fit(T[::2], names[::2])
    assert model.score(T[1::2], names[1::2]) > 0.93
    proba = model.predict_proba(T)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(T))
    votes = model.predict_members(T)
    assert votes.shape == (len(T), 10) and set(np.unique(votes)) <= set("abc")


def test_each_member_is_a_model():
    model = regressor().fit(X, Y)
    assert len(model.estimators_) == 6
    for m, member in enumerate(model.estimators_):
        assert_array_equal(member.predict(X), model.predict_members(X)[:, m])
        assert_array_equal(loads(dumps(member)).predict(X), member.predict(X))
    found = sp.diversity.diagnose(model, X, Y)
    assert_allclose(found.ambiguity.ambiguity, ambiguity(model, X))


def test_members_do_not_depend_on_how_many_there_are_without_a_penalty():
    few, many = (regressor(n_estimators=n, penalty=0.0, max_iter=30, tol=0.0).fit(X, Y) for n in (2, 5))
    assert_array_equal(many.predict_members(X)[:, :2], few.predict_members(X))


def test_units_do_not_matter():
    # All rows in one batch: other numbers would come in another order.
    plain = regressor(batch_size=200).fit(X, Y).predict(X)
    other = X * [1e-6, 1e6] + [3e-6, -1e7]
    scaled = regressor(batch_size=200).fit(other, 1e3 * Y - 50.0).predict(other)
    assert_allclose(scaled, 1e3 * plain - 50.0, rtol=1e-6)
    assert_allclose(regressor().fit(X, Y, np.full(200, 8.0)).predict(X), regressor().fit(X, Y).predict(X))


def test_several_targets_and_a_constant_one():
    both = np.column_stack([Y, -10.0 * Y, np.full(200, 3.25)])
    model = regressor().fit(X, both)
    assert model.n_outputs_ == 3
    assert model.predict(X).shape == (200, 3) and model.predict_members(X).shape == (200, 6, 3)
    assert (model.predict(X)[:, 2] == 3.25).all()
    assert model.score(X[:, :], both) > 0.8


def test_frames_with_text_and_missing_values():
    rng = np.random.default_rng(2)
    kind = rng.choice(["u", "v", "w"], 300)
    x = rng.normal(size=300)
    y = np.where(kind == "u", x, -x) + (kind == "w") + np.where(rng.random(300) < 0.1, 2.0, 0.0)
    x_missing = np.where(y > 2, np.nan, x)
    frames = [maker({"x": x_missing, "kind": kind.tolist()}) for maker in (pd.DataFrame, pl.DataFrame)]
    models = [regressor().fit(frame, y) for frame in frames]
    assert models[0].score(frames[0], y) > 0.6
    assert_array_equal(*(model.predict(frame) for model, frame in zip(models, frames, strict=True)))
    with pytest.raises(ValueError, match=r"'z'.*column 'kind', row 0"):
        models[0].set_params(unseen="error").predict(pd.DataFrame({"x": [0.0], "kind": ["z"]}))


def test_numbers_may_be_categories():
    codes = np.arange(120.0)[:, None] % 4
    y = np.array([0.0, 5.0, -5.0, 1.0])[codes.ravel().astype(int)]
    assert regressor(categorical_features=[0]).fit(codes, y).coding_.n_columns == 4


def test_early_stopping_stops_early_on_noise():
    noise = np.random.default_rng(3).normal(size=200)
    stopped = regressor(early_stopping=True, penalty=0.0).fit(X, noise)
    assert stopped.n_iter_ == len(stopped.ledger_) < 150
    assert stopped.ledger_.validation[-1] == stopped.ledger_.validation.min()
    assert stopped.score(X, noise) < regressor(penalty=0.0).fit(X, noise).score(X, noise)


def test_the_ledger_tells_how_members_parted():
    frame = regressor(penalty=0.9).fit(X, Y).ledger_.to_frame()
    assert list(frame.columns) == ["epoch", "members", "ensemble", "ambiguity"]
    assert_allclose(frame["ensemble"], frame["members"] - frame["ambiguity"], atol=1e-12)
    assert frame["ensemble"].iloc[-1] < 0.5 * frame["ensemble"].iloc[0]


def test_the_ledger_is_kept_only_if_asked_for():
    model, full = regressor(ledger=False).fit(X, Y), regressor(ledger="full").fit(X, Y)
    assert not hasattr(model, "ledger_") and len(full.ledger_) == full.n_iter_ == model.n_iter_
    assert loads(dumps(model)).n_iter_ == model.n_iter_


def test_long_tables_are_predicted_in_blocks():
    model = regressor(max_iter=2).fit(X, Y)
    long = np.tile(X, (50, 1))
    assert_array_equal(model.predict(long), np.tile(model.predict(X), 50))


def _damages():
    def put(name, value):
        return lambda fitted: fitted.__setitem__(name, value)

    def in_networks(name, change):
        def damage(fitted):
            arrays = {
                n: getattr(fitted["networks_"], n) for n in ("input_weights", "hidden_bias", "output_weights")
            }
            object.__setattr__(fitted["networks_"], name, change(arrays[name]))

        return damage

    return {
        "no schema": lambda fitted: fitted.pop("schema_"),
        "no networks": lambda fitted: fitted.pop("networks_"),
        "no classes": lambda fitted: fitted.pop("classes_"),
        "other classes": put("classes_", np.arange(7)),
        "double classes": put("classes_", np.array([1, 1, 2])),
        "text for networks": put("networks_", "oak"),
        "text for the coding": put("coding_", "morse"),
        "text for the ledger": put("ledger_", "none"),
        "fewer inputs": in_networks("input_weights", lambda a: a[:, :1]),
        "not finite": in_networks("hidden_bias", lambda a: a * np.nan),
        "other hidden size": in_networks("output_weights", lambda a: a[:, :2]),
    }


@pytest.mark.parametrize("damage", _damages())
def test_content_that_does_not_agree_is_refused(damage, monkeypatch):
    T, t = load_iris(return_X_y=True)
    model = sp.NegativeCorrelationClassifier(2, max_iter=2, ledger=True).fit(T, t)
    honest = type(model)._get_state

    def dishonest(self):
        state = honest(self)
        _damages()[damage](state["fitted"])
        return state

    monkeypatch.setattr(type(model), "_get_state", dishonest)
    data = dumps(model)
    monkeypatch.undo()
    with pytest.raises(ModelFileError):
        loads(data)


def test_the_ledger_ends_with_the_fitted_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y, weights = X[:, 0] ** 2 + rng.normal(size=90), rng.integers(1, 4, 90)
    model = sp.NegativeCorrelationRegressor(3, max_iter=12, ledger=True, random_state=0).fit(X, y, weights)
    members, mean = model.predict_members(X), model.predict(X)
    variance = np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)
    expected = {
        "members": np.average(((members - y[:, None]) ** 2).mean(axis=1), weights=weights) / variance,
        "ensemble": np.average((mean - y) ** 2, weights=weights) / variance,
        "ambiguity": np.average(members.var(axis=1), weights=weights) / variance,
    }
    last = model.ledger_.to_records()[-1]
    assert {name: last[name] for name in expected} == pytest.approx(expected, rel=1e-9)
    plain = sp.NegativeCorrelationRegressor(3, max_iter=12, random_state=0).fit(X, y, weights)
    assert_array_equal(plain.predict(X), mean)  # the ledger changes nothing


def test_an_eval_set_replaces_held_out_rows():
    rng = np.random.default_rng(1)
    X, new = rng.normal(size=(80, 2)), rng.normal(size=(40, 2))
    label = lambda rows: np.where(rows[:, 0] > 0, "b", "a")  # noqa: E731
    model = sp.NegativeCorrelationClassifier(2, max_iter=15, early_stopping=True, ledger=True, random_state=0)
    model.fit(X, label(X), eval_set=(new, label(new)))
    brier = np.square(model.predict_proba(new) - (label(new)[:, None] == model.classes_)).sum(axis=1).mean()
    assert model.ledger_.to_records()[-1]["validation"] == pytest.approx(brier, rel=1e-9)
    for bad in ((new,), (new, label(new)[:3])):
        with pytest.raises(ValueError):
            model.fit(X, label(X), eval_set=bad)
    with pytest.raises(ValueError, match="early_stopping=False"):
        model.set_params(early_stopping=False).fit(X, label(X), eval_set=(new, label(new)))
