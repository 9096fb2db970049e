"""C source predicts what the model predicts: the same leaves, and sums to the last bit."""

import shutil

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import spinney as sp
from contracts.learners import LEARNERS, mixed_data
from export.compiled import compile_models
from spinney.core.errors import InputError, InputTypeError
from spinney.export.scoring import describe_scoring
from spinney.io import from_json, to_json

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
HOSTILE = ['"; system("x"); //', "*/ int main(){} /*", "a\\", "%s%n", "??/", "\n#error", "", "é🌲"]


def support_vector_machines():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    target = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    models = {"linear": sp.SVC(kernel="linear").fit(X, target > 0)}
    for kernel in ("poly", "rbf", "laplacian", "sigmoid"):
        params = {"kernel": kernel, "gamma": 0.3, "coef0": 0.5}
        models[f"{kernel}_values"] = sp.SVR(**params).fit(X, target)
        models[f"{kernel}_classes"] = sp.SVC(**params).fit(X, np.where(target > 0, "up", "down"))
    return models, rng.normal(size=(50, 4))


def fitted(name, n_rows=150):
    learner = next(one for one in LEARNERS if one.name == name)
    X, y, _ = mixed_data(learner.kind, n_rows)
    return learner().fit(X, y)


def check(model, compiled, X):
    scoring = describe_scoring(model)
    rows = compiled.rows(X, scoring.schema.categorical)
    n = len(rows)
    if scoring.classes is None:
        found, exact = compiled.numbers("predict", rows, scoring.response.width), model.predict(X)
    elif compiled.has("predict_proba"):
        found, exact = compiled.numbers("predict_proba", rows, scoring.response.width), model.predict_proba(X)
    else:
        found, exact = compiled.numbers("decision_function", rows, scoring.response.width), None
    if exact is not None:
        # exp and products of matrices differ by a rounding.
        assert_allclose(found, np.reshape(exact, (n, -1)), rtol=4e-15, atol=4e-15)
        if type(scoring.response).__name__ in ("Trees", "WeightedSum"):
            assert_array_equal(found, np.reshape(exact, (n, -1)))
    if scoring.scores is not None:
        scores = compiled.numbers("decision_function", rows, scoring.scores.width)
        exact = model.decision_function(X).reshape(n, -1)
        if type(scoring.scores).__name__ == "Trees":
            assert_array_equal(scores, exact)
        assert_allclose(scores, exact, rtol=1e-13, atol=1e-13)
    if scoring.classes is not None:
        assert_array_equal(scoring.classes[compiled.classes(rows)], model.predict(X))


NAMES = (
    "DecisionTreeClassifier-fractional",
    "DecisionTreeRegressor-exact",
    "C45Classifier",
    "RandomForestRegressor-oblique",
    "GradientBoostingClassifier-stopping",
    "GradientBoostingRegressor",
    "BaggingRegressor-patches",
    "AdaBoostClassifier-samme.r",
    "StackingClassifier-tree",
    "VotingClassifier-learned",
)


def test_models_of_every_kind(tmp_path):
    models = {f"m{i}": fitted(name) for i, name in enumerate(NAMES)}
    compiled = compile_models(tmp_path, models)
    X = mixed_data("regressor", 120, seed=5)[0]
    X.loc[0, "color"] = "never seen"
    for name, model in models.items():
        check(model, compiled[name], X)


def test_multiway_splits_rows_on_thresholds_and_linear_models(tmp_path):
    X, y = sp.datasets.load_watermelon2_missing()
    tree = sp.ID3Classifier().fit(X.fillna("?"), y)
    multiway = sp.C45Classifier(pruning=None).fit(X, y)
    mixed, target, _ = mixed_data("regressor", 200)
    forest = sp.RandomForestRegressor(n_estimators=5, random_state=0).fit(mixed, target)
    linear = sp.LogisticRegression(categorical="one-hot", missing="mean").fit(
        mixed, target > np.median(target)
    )
    boosted = sp.GradientBoostingClassifier(n_estimators=5, early_stopping=False).fit(mixed, target > 0)
    models = {"id3": tree, "c45": multiway, "forest": forest, "linear": linear, "boosted": boosted}
    compiled = compile_models(tmp_path, models)
    check(tree, compiled["id3"], X.fillna("?"))
    check(multiway, compiled["c45"], X)
    check(linear, compiled["linear"], mixed)
    check(boosted, compiled["boosted"], mixed)
    thresholds = forest.ensemble_.threshold[forest.ensemble_.kind == 1]
    edges = np.concatenate([thresholds, np.nextafter(thresholds, 9e9), np.nextafter(thresholds, -9e9)])
    table = pd.DataFrame({"a": edges, "b": edges[::-1], "color": mixed["color"].iloc[0], "noise": edges})
    check(forest, compiled["forest"], table)


def test_support_vector_machines(tmp_path):
    models, X = support_vector_machines()
    compiled = compile_models(tmp_path, models)
    for name, model in models.items():
        check(model, compiled[name], X)


def test_hostile_names_inject_nothing(tmp_path):
    X = pd.DataFrame(dict.fromkeys(HOSTILE[:3], HOSTILE * 4))
    model = sp.RandomForestClassifier(n_estimators=3, random_state=0).fit(
        X, [f"{name}!" for name in HOSTILE * 4]
    )
    compiled = compile_models(tmp_path, {"hostile": model})["hostile"]
    check(model, compiled, X)
    assert {compiled.label(k).decode() for k in range(len(HOSTILE))} == {f"{name}!" for name in HOSTILE}
    source = sp.to_c(model)
    assert not any(name in source for name in HOSTILE if len(name) > 3)


def test_what_cannot_be_exported_is_refused_by_name():
    with pytest.raises(InputTypeError, match=r"AdaBoostClassifier.*more than two classes"):
        sp.to_c(fitted("AdaBoostClassifier-logit", 60))
    X = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(InputTypeError, match="pairs of classes"):
        sp.to_c(sp.SVC().fit(X, np.arange(50) % 3))
    with pytest.raises(InputTypeError, match="probability=False"):
        sp.to_c(sp.SVC(probability=True, random_state=0).fit(X, X[:, 0] > 0))
    with pytest.raises(InputTypeError, match="dict"):
        sp.to_c({})
    model = sp.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    for name in ("2a", "a b", "", "a;", None):
        with pytest.raises(InputError, match="C identifier"):
            sp.to_c(model, name=name)


@pytest.mark.long
def test_every_learner_that_can_be_exported(tmp_path):
    models = {}
    for learner in LEARNERS:
        model = fitted(learner.name, 300)
        try:
            sp.to_c(model)
        except InputTypeError:
            continue
        models[f"m{len(models)}"] = model
    assert len(models) > 40
    compiled = compile_models(tmp_path, models)
    for name, model in models.items():
        X = mixed_data("regressor" if not hasattr(model, "classes_") else "classifier", 200, seed=9)[0]
        if type(model).__name__ != "ID3Classifier":
            check(model, compiled[name], X)


def test_categories_of_text_and_numbers_are_refused() -> None:
    X = pd.DataFrame({"color": ["red", "blue"] * 20})
    model = sp.DecisionTreeClassifier().fit(X, [0, 1] * 20)
    text = to_json(model).replace('"blue"', "6")
    with pytest.raises(
        InputTypeError, match="'color' cannot be exported: its categories are text and numbers"
    ):
        sp.export.to_c(from_json(text))
