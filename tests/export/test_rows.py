"""Single rows, as dicts, lists and frames, get the predictions that the model has for a table of them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import spinney as sp
from contracts.learners import LEARNERS, mixed_data
from spinney.core.errors import InputError, InputTypeError, UnseenCategoryError
from spinney.export.scoring import describe_scoring

NAMES = (
    "DecisionTreeClassifier-fractional",
    "C45Classifier",
    "RandomForestRegressor-oblique",
    "GradientBoostingClassifier-stopping",
    "StackingClassifier",
    "VotingClassifier-learned",
    "AdaBoostClassifier-depth",
    "BaggingRegressor-patches",
)


def check(model, X):
    row, labels = sp.compile_row(model), model.predict(X)
    exact = type(describe_scoring(model).response).__name__ == "Trees"
    for i, values in enumerate(X.to_dict("records")):
        found = row.predict(values if i % 2 else list(values.values()))
        if hasattr(model, "classes_"):
            assert found == labels[i]
            probabilities = model.predict_proba(X.iloc[i : i + 1])[0]
            same = assert_array_equal if exact else lambda a, b: assert_allclose(a, b, atol=1e-15)
            same(row.predict_proba(values), probabilities)
        else:
            assert_allclose(found, labels[i], rtol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_a_row_has_the_prediction_of_the_model(name):
    learner = next(one for one in LEARNERS if one.name == name)
    X, y, _ = mixed_data(learner.kind, 120)
    check(learner().fit(X, y), X.iloc[:25])


def test_linear_models_and_frames():
    X, y, _ = mixed_data("classifier", 80)
    model = sp.LogisticRegression(categorical="one-hot", missing="mean").fit(X, y)
    check(model, X.iloc[:20])
    row = sp.compile_row(model)
    frame = X.iloc[3:4][["noise", "color", "b", "a"]]
    assert row.predict(frame) == model.predict(X.iloc[3:4])[0]
    ranker = sp.GradientBoostingRanker(n_estimators=3, random_state=0)
    check(ranker.fit(X, y, group=[40, 40]), X.iloc[:5])
    numbers = sp.DecisionTreeRegressor().fit(np.arange(8.0).reshape(-1, 2), [1.0, 2.0, 3.0, 4.0])
    assert sp.compile_row(numbers).predict(np.array([6.0, 7.0])) == 4.0


def test_bad_rows_are_refused_by_column():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "c": ["x", "y", "x"]})
    model = sp.DecisionTreeClassifier(unseen="error").fit(X, [0, 1, 0])
    row = sp.compile_row(model)
    with pytest.raises(InputError, match="'c'"):
        row.predict({"a": 1.0})
    with pytest.raises(InputError, match="3 values"):
        row.predict([1.0, "x", 2])
    for bad in ("text", float("inf"), [1]):
        with pytest.raises(InputError, match="'a'"):
            row.predict([bad, "x"])
    with pytest.raises(InputError, match="'c'"):
        row.predict([1.0, []])
    with pytest.raises(UnseenCategoryError, match="'z'"):
        row.predict([1.0, "z"])
    assert row.predict({"a": None, "c": None}) in (0, 1)
    with pytest.raises(InputTypeError):
        sp.compile_row(3)
