"""HistGradientBoosting: scikit-learn's parameters, attributes, stopping rule, and nearly its predictions."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import ensemble
from sklearn.base import clone
from sklearn.inspection import partial_dependence
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

import spinney as sp
from spinney.core.errors import InputError
from spinney.io import dumps, loads

PAIRS = [
    (sp.HistGradientBoostingClassifier, ensemble.HistGradientBoostingClassifier),
    (sp.HistGradientBoostingRegressor, ensemble.HistGradientBoostingRegressor),
]


@pytest.fixture(autouse=True)
def one_thread():
    """OpenMP's threads spin where others want the cores."""
    with threadpool_limits(1):
        yield


each_pair = pytest.mark.parametrize("ours, theirs", PAIRS, ids=["classifier", "regressor"])


def table(kind, n_rows=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    signal = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n_rows)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.digitize(signal, [0.0, 1.5]) if kind == "classifier" else signal


def kind_of(model):
    return "classifier" if "Classifier" in model.__name__ else "regressor"


@each_pair
def test_parameters_and_defaults_are_those_of_scikit_learn(ours, theirs):
    assert ours().get_params() == theirs().get_params()
    assert set(inspect.signature(ours.fit).parameters) == set(inspect.signature(theirs.fit).parameters)
    X, y = table(kind_of(ours), 100)
    mine, other = ours(max_iter=3).fit(X, y), theirs(max_iter=3).fit(X, y)
    public = {name for name in dir(other) if name.endswith("_") and name[0] != "_"}
    assert public <= {name for name in dir(mine) if name.endswith("_")}
    assert isinstance(mine, theirs) and mine.is_categorical_ is None


@each_pair
@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_are_nearly_those_of_scikit_learn(ours, theirs, weighted):
    X, y = table(kind_of(ours))
    weights = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else None
    method = "predict_proba" if kind_of(ours) == "classifier" else "predict"
    mine, other = (getattr(make(max_iter=30).fit(X, y, weights), method)(X) for make in (ours, theirs))
    assert mine.shape == other.shape and np.corrcoef(mine.ravel(), other.ravel())[0, 1] > 0.98


@each_pair
def test_early_stopping_looks_back_as_scikit_learn_does(ours, theirs):
    X, y = table(kind_of(ours), 900)
    params = {"learning_rate": 0.4, "early_stopping": True, "n_iter_no_change": 4, "random_state": 0}
    given = {"X_val": X[600:], "y_val": y[600:], "sample_weight_val": np.ones(300)}
    model = ours(**params).fit(X[:600], y[:600], **given)
    scores = model.validation_score_
    assert len(scores) == len(model.train_score_) == model.n_iter_ + 1 < 100
    stops = [max(scores[t - 3 : t + 1]) <= scores[t - 4] + 1e-7 for t in range(4, len(scores))]
    assert stops[-1] and not any(stops[:-1])
    staged = [model.loss_.mean_value(*_codes_and_scores(model, y, stage)) for stage in _raw(model, X[600:])]
    assert_allclose(-np.array(staged), scores[1:], rtol=1e-9)
    other = theirs(**params).fit(X[:600], y[:600], **given)
    assert abs(other.n_iter_ - model.n_iter_) <= 8
    held = ours(**params).fit(X, y)
    assert held.do_early_stopping_ and len(held.validation_score_) == held.n_iter_ + 1
    free = ours(**params | {"validation_fraction": None, "scoring": None, "max_iter": 5}).fit(X, y)
    assert len(free.validation_score_) == 0 and len(free.train_score_) == 6


def _raw(model, X):
    if hasattr(model, "staged_decision_function"):
        return model.staged_decision_function(X)
    return model.staged_predict(X)


def _codes_and_scores(model, y, stage):
    return y[600:].astype(float), stage, None


@each_pair
def test_validation_rows_are_complete_and_wanted(ours, theirs):
    X, y = table(kind_of(ours), 60)
    for missing in ("X_val", "y_val"):
        with pytest.raises(InputError, match=f"but {missing} was not provided"):
            ours().fit(X, y, **{"y_val" if missing == "X_val" else "X_val": y if missing == "X_val" else X})
    with pytest.raises(InputError, match="early_stopping is False"):
        ours(early_stopping=False).fit(X, y, X_val=X, y_val=y)
    assert not ours(max_iter=2).fit(X, y).do_early_stopping_
    assert ours(max_iter=2).fit(X, y, X_val=X, y_val=y).do_early_stopping_


def test_a_warm_start_continues():
    X, y = table("regressor")
    whole = sp.HistGradientBoostingRegressor(max_iter=9).fit(X, y)
    parts = sp.HistGradientBoostingRegressor(max_iter=4, warm_start=True).fit(X, y)
    assert_array_equal(parts.set_params(max_iter=9).fit(X, y).predict(X), whole.predict(X))
    assert parts.n_iter_ == 9
    with pytest.raises(InputError, match="max_iter=3 must be larger than or equal to n_iter_=9"):
        parts.set_params(max_iter=3).fit(X, y)
    stopping = sp.HistGradientBoostingRegressor(warm_start=True, early_stopping=True, random_state=0)
    n_first = stopping.fit(X, y).n_iter_
    stopping.fit(X, y)
    assert n_first < stopping.n_iter_ <= 100
    assert len(stopping.validation_score_) == stopping.n_iter_ + 1


def test_categories_constraints_class_weights_and_losses():
    X, y = table("classifier")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        color=pd.Categorical(np.where(y == 2, "red", "blue")), code=y % 2
    )
    model = sp.HistGradientBoostingClassifier(max_iter=3).fit(frame, y)
    assert model.is_categorical_.tolist() == [False] * 4 + [True, False]
    assert loads(dumps(model)).is_categorical_.tolist() == model.is_categorical_.tolist()
    forced = sp.HistGradientBoostingClassifier(max_iter=3, categorical_features=["code"]).fit(frame, y)
    assert forced.is_categorical_.tolist() == [False] * 4 + [True, True]
    rare = (np.arange(len(y)) < 30).astype(int)
    mean = []
    for weight in (None, "balanced"):
        model = sp.HistGradientBoostingClassifier(max_iter=20, class_weight=weight).fit(X, rare)
        mean.append(model.predict_proba(X)[:, 1].mean())
    assert mean[1] > 3 * mean[0]
    grid = np.zeros((50, 4))
    grid[:, 0] = np.linspace(-2, 2, 50)
    signal = table("regressor")[1]
    rising = sp.HistGradientBoostingRegressor(monotonic_cst=[1, 0, 0, 0]).fit(X, signal).predict(grid)
    assert (np.diff(rising) >= 0).all()
    low = sp.HistGradientBoostingRegressor(loss="quantile", quantile=0.1).fit(X, signal).predict(X)
    assert 0.05 < (signal < low).mean() < 0.2
    with pytest.raises(ValueError, match="loss"):
        sp.HistGradientBoostingRegressor(loss="huber").fit(X, signal)


def test_partial_dependence_by_recursion():
    X, y = table("regressor")
    X = np.nan_to_num(X)
    model = sp.HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    quick = partial_dependence(model, X, [0], method="recursion", grid_resolution=10)["average"][0]
    slow = partial_dependence(model, X, [0], method="brute", grid_resolution=10)["average"][0]
    assert np.corrcoef(quick, slow)[0, 1] > 0.99
    assert_allclose(quick + model.base_score_[0], slow, atol=0.15)


def test_the_classifier_predicts_as_well_as_scikit_learns():
    X, y = table("classifier", 2000)
    losses = [
        log_loss(y[1000:], make().fit(X[:1000], y[:1000]).predict_proba(X[1000:]))
        for make in (sp.HistGradientBoostingClassifier, ensemble.HistGradientBoostingClassifier)
    ]
    assert losses[0] < 1.05 * losses[1]


def test_infinite_values_are_beyond_all_others():
    X = np.array([-np.inf, 0.0, 1e200, np.inf, np.nan])[:, None]
    target = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    options = {"min_samples_leaf": 1, "learning_rate": 0.5}
    expected = ensemble.HistGradientBoostingRegressor(**options).fit(X, target).predict(X)
    model = sp.HistGradientBoostingRegressor(**options).fit(X, target)
    assert_allclose(model.predict(X), expected, atol=1e-6)
    new = np.array([[1.0], [-np.inf], [np.inf]])
    assert_allclose(model.predict(new), model.predict(X)[[1, 0, 3]], atol=1e-6)
    assert_array_equal(model.predict(new.astype(np.float32)[1:]), model.predict(new)[1:])
    for other in (
        X.tolist(),
        sparse.csr_array(X),
        pd.DataFrame(X, columns=["a"]),
        pl.DataFrame({"a": X[:, 0]}),
    ):
        assert_array_equal(clone(model).fit(other, target).predict(other), model.predict(X))
    checked = sp.HistGradientBoostingRegressor(early_stopping=True, **options)
    assert checked.fit(X, target, X_val=X, y_val=target).predict(X[3:4]) > 2.5


def test_negative_category_numbers_are_missing():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(600), rng.integers(-2, 4, 600)])
    missing = np.where(X < 0, np.nan, X)
    y = X[:, 1] % 3
    options = {"categorical_features": [1], "max_iter": 10, "random_state": 0}
    model = sp.HistGradientBoostingRegressor(**options).fit(X, y)
    same = sp.HistGradientBoostingRegressor(**options).fit(missing, y)
    assert dumps(model) == dumps(same)
    assert_array_equal(model.predict(X), same.predict(missing))
