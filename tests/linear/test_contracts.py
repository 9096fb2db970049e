"""What every linear model keeps: scikit-learn's checks, same bytes for any threads, files, clear errors."""

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import is_classifier

import spinney as sp
from contracts.checks import each_check
from spinney.io import ModelFileError, dumps, loads
from spinney.native import core

MODELS: list[Any] = [
    sp.LinearRegression(),
    sp.Ridge(),
    sp.RidgeCV(),
    sp.Lasso(),
    sp.ElasticNet(alpha=0.1),
    sp.MultiTaskLasso(),
    sp.MultiTaskElasticNet(alpha=0.1),
    sp.LassoCV(alphas=10, tol=1e-12, max_iter=100_000),
    sp.ElasticNetCV(alphas=10, ledger=True, tol=1e-12),
    sp.GeneralizedLinearRegressor(tol=1e-8),
    sp.GeneralizedLinearRegressor("poisson", alpha=0.1, tol=1e-8),
    sp.LinearSVC(random_state=0),
    sp.LinearSVR(loss="squared_epsilon_insensitive", tol=1e-6),
    sp.LogisticRegression(),
    sp.LogisticRegression(l1_ratio=0.5),
    sp.LogisticRegressionCV(Cs=3, cv=2),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@each_check(MODELS)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def table(model, n_rows=400, seed=0):
    """Return a frame of numbers and text with gaps, and a target."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n_rows), rng.normal(size=n_rows) + 3
    color = np.array(["red", "green", "blue"], dtype=object)[rng.integers(0, 3, n_rows)]
    y = a - b + (color == "red") + 0.5 * rng.normal(size=n_rows)
    a[::17] = np.nan
    color[::23] = None
    X = pd.DataFrame({"a": a, "b": b, "color": color})
    return X, target(model, y)


def target(model, y):
    if is_classifier(model):
        return np.digitize(y, np.quantile(y, [0.4]))
    if "MultiTask" in type(model).__name__:
        return np.column_stack([y, -y])
    return np.abs(y) if getattr(model, "family", None) == "poisson" else y


def coded(model, **params):
    return copy.deepcopy(model).set_params(categorical="one-hot", missing="mean", **params)


@each_model
def test_any_number_of_threads_gives_the_same_bytes(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 7)) + 2
    y, weights = target(model, X[:, 0] + rng.normal(size=5000)), rng.random(5000)
    files = set()
    for n_jobs in (1, 2, 3, 8):
        fitted = copy.deepcopy(model).set_params(n_jobs=n_jobs).fit(X, y, weights)
        files.add(dumps(fitted.set_params(n_jobs=None)))
    assert len(files) == 1


@each_model
def test_a_stored_model_is_the_same_model(model):
    X, y = table(model)
    fitted = coded(model).fit(X, y)
    for again in (loads(dumps(fitted)), pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert_array_equal(again.predict(X), fitted.predict(X))
        assert dumps(again) == dumps(fitted)
        assert again.feature_names_in_.tolist() == ["a", "b", "color"]
    assert fitted.coef_names_ == ["a", "b", "color=blue", "color=green", "color=red"]
    unfitted = loads(dumps(model))
    with pytest.raises(ValueError, match="not fitted"):
        unfitted.predict([[1.0]])


@each_model
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("coef_", None),
        ("coef_", np.zeros(99)),
        ("coef_", np.full((1, 5), np.nan)),
        ("intercept_", "none"),
        ("intercept_", np.zeros(17)),
        ("coding_", None),
        ("coding_", 3),
    ],
)
def test_damaged_files_are_refused(model, name, value, monkeypatch):
    X, y = table(model)
    fitted = coded(model).fit(X, y)
    honest = type(model)._get_state

    def dishonest(self):
        state = honest(self)
        return {**state, "fitted": {**state["fitted"], name: value}} if self is fitted else state

    monkeypatch.setattr(type(model), "_get_state", dishonest, raising=False)
    data = dumps(fitted)
    monkeypatch.undo()
    with pytest.raises(ModelFileError):
        loads(data)


@each_model
def test_columns_that_need_an_option_are_named(model):
    X, y = table(model)
    with pytest.raises(ValueError, match=r"column 'color'.*categorical=\"one-hot\".*make_pipeline"):
        copy.deepcopy(model).set_params(missing="mean").fit(X, y)
    with pytest.raises(ValueError, match=r"column 'a', row 0.*missing=\"mean\".*make_pipeline"):
        copy.deepcopy(model).set_params(categorical="one-hot").fit(X, y)
    with pytest.raises(ValueError, match="column 1, row 3"):
        copy.deepcopy(model).fit(
            np.array([[0.0, 1.0]] * 3 + [[0.0, np.nan]] * 3), target(model, np.arange(6.0))
        )
    fitted = copy.deepcopy(model).fit(X[["b"]], y)
    with pytest.raises(ValueError, match="column 'b', row 1"):
        fitted.predict(pd.DataFrame({"b": [1.0, np.nan]}))


@each_model
def test_missing_values_and_unseen_categories_take_the_mean(model):
    X, y = table(model)
    fitted = coded(model).fit(X, y)
    means = pd.DataFrame({"a": [X["a"].mean()], "b": [X["b"].mean()], "color": ["red"]})
    gaps = pd.DataFrame({"a": [np.nan], "b": [np.nan], "color": ["red"]})
    score = fitted.decision_function if is_classifier(fitted) else fitted.predict
    assert_allclose(score(gaps), score(means), rtol=1e-10)
    assert_allclose(score(means.assign(color=["pink"])), score(means.assign(color=[None])), rtol=1e-12)
    strict = (
        copy.deepcopy(model)
        .set_params(categorical="one-hot")
        .fit(X[["b", "color"]].dropna(), y[X["color"].notna()])
    )
    with pytest.raises(ValueError, match="'pink'"):
        strict.predict(pd.DataFrame({"b": [1.0], "color": ["pink"]}))


@each_model
def test_sparse_and_dense_agree(model):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 6)) * (rng.random((80, 6)) < 0.5)
    y = target(model, X[:, 0] - X[:, 1] + rng.normal(size=80))
    dense = copy.deepcopy(model).fit(X, y)
    for kind in (sparse.csr_array, sparse.csc_matrix):
        thin = copy.deepcopy(model).fit(kind(X), y)
        assert_allclose(thin.coef_, dense.coef_, rtol=1e-3, atol=1e-4)
        assert_array_equal(thin.predict(kind(X)).shape, dense.predict(X).shape)


@each_model
def test_float32_and_column_order_do_not_matter(model):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 5)).astype(np.float32)
    y = target(model, X[:, 0] - X[:, 1] + rng.normal(size=300))
    expected = copy.deepcopy(model).fit(X.astype(np.float64), y)
    for same in (X, np.asfortranarray(X), X.astype(np.float64)[::-1][::-1], np.repeat(X, 2, axis=1)[:, ::2]):
        fitted = copy.deepcopy(model).fit(same, y)
        assert_array_equal(fitted.coef_, expected.coef_)
        assert_array_equal(fitted.predict(same), expected.predict(X.astype(np.float64)))


@each_model
def test_a_failed_or_interrupted_fit_leaves_the_model_as_it_was(model):
    X, y = np.random.default_rng(3).normal(size=(200, 3)), target(model, np.arange(200.0) % 7)
    fitted = copy.deepcopy(model)
    core.interrupt_at_poll(1)
    try:
        with pytest.raises(KeyboardInterrupt):
            fitted.fit(X, y)
    finally:
        core.interrupt_at_poll(0)
    assert not any(name.endswith("_") for name in vars(fitted))
    before = vars(fitted.fit(X, y)).copy()
    with pytest.raises(ValueError):
        fitted.fit(np.full_like(X, np.inf), y)
    assert vars(fitted) == before


BAD = {
    "fit_intercept": ["yes", 2],
    "copy_X": ["yes"],
    "tol": [-1.0, "low", np.nan],
    "n_jobs": [0, 1.5],
    "positive": ["yes", 1],
    "categorical": ["ordinal", 1],
    "missing": ["median", True],
    "alpha": [-1.0, "strong", np.nan],
    "max_iter": [-1, 1.5],
    "solver": ["magic", 3],
    "alphas": ["many", [-1.0], [], -3],
    "gcv_mode": ["fast"],
    "store_cv_results": ["yes"],
    "alpha_per_target": [1],
    "penalty": ["L3", 1],
    "C": [0.0, -1.0, "weak"],
    "l1_ratio": [-0.1, 1.1, "half"],
    "dual": ["yes"],
    "intercept_scaling": [0.0, "big"],
    "class_weight": ["even", 3],
    "warm_start": ["yes"],
    "multi_class": ["auto", None],
    "Cs": [0, "many", [-1.0]],
    "l1_ratios": [2.0, [1.5], []],
    "refit": ["yes"],
    "use_legacy_attributes": ["yes", None],
    "family": ["cauchy", None],
    "link": ["probit", None],
    "power": [0.5, "half"],
    "loss": ["absolute", None],
    "epsilon": [-0.1, "wide"],
    "precompute": ["yes", 3],
    "selection": ["greedy"],
    "eps": [0.0, "small"],
    "ledger": ["full", 1],
}
NO_RULE = ("random_state", "scoring", "cv", "verbose")


@each_model
def test_wrong_parameters_are_refused_by_name(model):
    X, y = np.random.default_rng(4).normal(size=(30, 3)), target(model, np.arange(30.0))
    for name in model.get_params():
        if name in NO_RULE:
            continue
        for value in BAD[name]:
            with pytest.raises(ValueError, match=name):
                copy.deepcopy(model).set_params(**{name: value}).fit(X, y)


@each_model
def test_booleans_are_numbers_without_one_hot_coding(model):
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=60) + 3, rng.integers(0, 2, 60).astype(bool)
    y = target(model, np.abs(a - b + 0.1 * rng.normal(size=60)))
    expected = copy.deepcopy(model).fit(pd.DataFrame({"a": a, "b": b.astype(float)}), y)
    booleans = [pd.Series(b), pd.Series(b, dtype="boolean"), pd.Series(b.tolist(), dtype=object)]
    for column in booleans:
        X = pd.DataFrame({"a": a, "b": column})
        fitted = copy.deepcopy(model).fit(X, y)
        assert_array_equal(fitted.coef_, expected.coef_)
        assert_array_equal(loads(dumps(fitted)).predict(X), expected.predict(X.astype({"b": float})))
    constant = pd.DataFrame({"a": a, "b": np.zeros(60, bool)})
    fitted = copy.deepcopy(model).fit(constant, y)
    assert_array_equal(fitted.predict(X), fitted.predict(X.astype({"b": float})))
    X.loc[3, "b"] = None
    with pytest.raises(ValueError, match=r"NaN in column 'b', row 3"):
        copy.deepcopy(model).fit(X, y)
    filled = copy.deepcopy(model).set_params(missing="mean").fit(X, y)
    assert filled.coef_names_ == ["a", "b"]


@each_model
def test_categories_that_are_numbers_are_numbers_without_one_hot_coding(model):
    rng = np.random.default_rng(9)
    a, b = rng.normal(size=60) + 3, rng.integers(1, 5, 60)
    y = target(model, np.abs(a - b + 5 + 0.1 * rng.normal(size=60)))
    plain = pd.DataFrame({"a": a, "b": b.astype(float)})
    expected = copy.deepcopy(model).fit(plain, y)
    for values in (b, b.astype(float), b.astype("int8")):
        X = pd.DataFrame({"a": a, "b": pd.Categorical(values)})
        fitted = copy.deepcopy(model).fit(X, y)
        assert_array_equal(fitted.coef_, expected.coef_)
        for rows in (X, X[:5], plain):
            assert_array_equal(loads(dumps(fitted)).predict(rows), expected.predict(plain[: len(rows)]))
    with pytest.raises(ValueError, match="categorical feature in column 'b'"):
        copy.deepcopy(model).fit(X.assign(b=pd.Categorical(b.astype(str))), y)


def test_matrix_learners_that_fill_in_means_take_booleans():
    X = pd.DataFrame({"a": [1.0, None, 3.0, 4.0], "b": [True, False, True, False]})
    model = sp.SVC(missing="mean").fit(X, [0, 0, 1, 1])
    other = sp.SVC(missing="mean").fit(X.astype(float), [0, 0, 1, 1])
    assert_array_equal(model.decision_function(X), other.decision_function(X))


def test_matrix_learners_take_runs_of_arrow_in_pandas_frames():
    pa, compute = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.compute")
    runs = compute.run_end_encode(pa.array([1.0, 1.0, 2.0, 2.0]))
    X = pd.DataFrame({"a": [0.0, 3.0, 2.0, 1.0], "b": pd.array(runs, dtype=pd.ArrowDtype(runs.type))})
    plain = X.assign(b=[1.0, 1.0, 2.0, 2.0])
    for model in (sp.SVC(), sp.GaussianNB(), sp.Perceptron(random_state=0)):
        expected = copy.deepcopy(model).fit(plain, [0, 0, 1, 1]).predict(plain)
        assert_array_equal(model.fit(X, [0, 0, 1, 1]).predict(X), expected)
