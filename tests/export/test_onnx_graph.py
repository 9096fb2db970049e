"""ONNX graphs in ONNX Runtime predict what the model predicts: the same leaves, sums within 1e-12."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import spinney as sp
from contracts.learners import LEARNERS, mixed_data
from export.onnx_sessions import run, run_graph
from export.test_c_source import support_vector_machines
from spinney.core.errors import InputError, InputTypeError

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
HOSTILE = ['"', "</x>", "a\\", "%s", "label", "\n", "", "é🌲", "spinney/0"]


def check(model, X, exact=False):
    found, n = run(model, X), len(X)
    same = assert_array_equal if exact else lambda a, b: assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    if "values" in found:
        same(found["values"], model.predict(X).reshape(n, -1))
    else:
        assert_array_equal(found["label"], model.predict(X))
    if "probabilities" in found:
        same(found["probabilities"], model.predict_proba(X))
    if "scores" in found:
        same(found["scores"], model.decision_function(X).reshape(n, -1))


def on_thresholds(ensemble, n_features):
    thresholds = np.unique(ensemble.threshold[ensemble.kind == 1])
    edges = [thresholds, np.nextafter(thresholds, np.inf), np.nextafter(thresholds, -np.inf)]
    rows = np.concatenate(edges)
    return np.column_stack([np.roll(rows, j) for j in range(n_features)])


def test_rows_on_thresholds_reach_the_same_leaves_with_the_same_bits():
    rng = np.random.default_rng(0)
    X, target = rng.normal(size=(200, 4)), rng.normal(size=200)
    for model in (
        sp.RandomForestRegressor(n_estimators=7, random_state=0).fit(X, target),
        sp.GradientBoostingRegressor(n_estimators=7, random_state=0, preset="classic").fit(X, target),
        sp.ObliqueTreeRegressor(random_state=0).fit(X, target),
        sp.RandomForestRegressor(n_estimators=3, n_directions=3, random_state=0).fit(X, target),
    ):
        ensemble = getattr(model, "ensemble_", None) or model.tree_
        rows = np.vstack([on_thresholds(ensemble, 4), X])
        rows[::7, 1] = np.nan
        check(model, rows, exact=True)


def test_float32_rows_reach_the_same_leaves_though_thresholds_are_rounded():
    rng = np.random.default_rng(1)
    X, target = rng.normal(size=(300, 3)), rng.normal(size=300)
    model = sp.DecisionTreeRegressor().fit(X, target)
    near = model.tree_.threshold[model.tree_.kind == 1].astype(np.float32)
    rows = np.concatenate([near, np.nextafter(near, np.float32(9)), np.nextafter(near, np.float32(-9))])
    table = np.column_stack([rows, rows[::-1], np.roll(rows, 5)])
    found = run(model, table, "float32")["values"][:, 0]
    assert_array_equal(found, model.predict(table).astype(np.float32))


def test_hostile_names_are_only_names():
    X = pd.DataFrame(dict.fromkeys(HOSTILE, HOSTILE * 4))
    model = sp.RandomForestClassifier(n_estimators=3, random_state=0)
    check(model.fit(X, [f"{name}!" for name in HOSTILE * 4]), X)


def test_multiway_and_fractional_trees():
    X, y = sp.datasets.load_watermelon2_missing()
    check(sp.C45Classifier(pruning=None).fit(X, y), X)
    check(sp.ID3Classifier().fit(X.fillna("?"), y), X.fillna("?"))
    mixed, target, _ = mixed_data("classifier", 200)
    check(sp.C45Classifier().fit(mixed, target), mixed)


def test_support_vector_machines():
    models, X = support_vector_machines()
    for model in models.values():
        check(model, X)


def test_pipelines():
    pytest.importorskip("skl2onnx")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.choice(["x", "y"], 200), "c": rng.normal(size=200)})
    y = np.where(X.a + (X.b == "x") > 0.3, "up", "down")
    coded = make_column_transformer((StandardScaler(), ["a", "c"]), (OneHotEncoder(), ["b"]))
    pipeline = make_pipeline(coded, sp.GradientBoostingClassifier(n_estimators=10, random_state=0)).fit(X, y)
    X.loc[0, "a"] = np.nan  # passes through the scaler
    rows = {name: X[[name]].to_numpy(object if name == "b" else float) for name in X}
    found = run_graph(sp.to_onnx(pipeline, X=X), rows)
    assert_array_equal(found["label"], pipeline.predict(X))
    assert_allclose(found["probabilities"], pipeline.predict_proba(X), rtol=1e-12)
    with pytest.raises(InputError, match="Pass some of its rows"):
        sp.to_onnx(pipeline)
    with pytest.raises(InputError, match="type of numbers"):
        sp.to_onnx(pipeline, X=X, dtype="float32")


def test_what_cannot_be_exported_is_refused_by_name():
    with pytest.raises(InputTypeError, match="OneVsRestClassifier"):
        X, y, _ = mixed_data("classifier", 50)
        sp.to_onnx(sp.OneVsRestClassifier(sp.DecisionTreeClassifier()).fit(X, y))
    with pytest.raises(InputError, match="dtype"):
        sp.to_onnx(sp.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]), dtype="float16")


@pytest.mark.long
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
def test_every_learner(learner):
    X, y, _ = mixed_data(learner.kind, 300)
    model = learner().fit(X, y)
    try:
        sp.to_onnx(model)
    except InputTypeError as error:
        assert type(model).__name__ in str(error)
        return
    new = X if "ID3" in learner.name else mixed_data(learner.kind, 200, seed=9)[0]
    new.loc[0, "color"] = "never seen" if "ID3" not in learner.name else new.loc[0, "color"]
    check(model, new)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(50))
def test_random_models_of_four_kinds(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(20, 300)), int(rng.integers(1, 6))
    X = pd.DataFrame(np.round(rng.normal(size=(n, k)), int(rng.integers(0, 4))))
    X.columns = [f"n{j}" for j in range(k)]
    X["c"] = rng.choice(list("abcdefghijklmnopqrstuvwxyz")[: rng.integers(2, 26)], n)
    X["i"] = pd.Categorical(rng.integers(0, 200, n))
    X = X.mask(rng.random(X.shape) < 0.1)
    y, z = rng.integers(0, int(rng.integers(2, 5)), n), rng.normal(size=n)
    depth = int(rng.integers(1, 12))
    for model in (
        sp.DecisionTreeClassifier(max_depth=depth, missing=str(rng.choice(["direction", "fractional"]))),
        sp.ExtraTreesRegressor(n_estimators=5, max_depth=depth, random_state=seed),
        sp.GradientBoostingClassifier(
            n_estimators=6, random_state=seed, categorical_encoding=str(rng.choice(["auto", "ordered"]))
        ),
        sp.AdaBoostClassifier(sp.DecisionTreeClassifier(max_depth=2), n_estimators=5),
    ):
        check(model.fit(X, z if "Regressor" in type(model).__name__ else y), X)
