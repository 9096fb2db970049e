"""Dicts of columns, dicts that are one row and lists of dicts are tables, with features found by name."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import spinney as sp
from spinney.core.errors import InputError, InputTypeError
from spinney.data import read_table

FRAME = pd.DataFrame(
    {"size": [1.0, 2.0, 3.0, 4.0] * 4, "color": ["red", "blue", "red", "red"] * 4, "n": range(16)}
)
Y = [0, 0, 1, 1] * 4
COLUMNS = {name: FRAME[name].tolist() for name in reversed(FRAME.columns)}
ROWS = [dict(reversed(row.items())) for row in FRAME.to_dict("records")]
MODELS = [
    sp.DecisionTreeClassifier(),
    sp.RandomForestClassifier(n_estimators=3, random_state=0),
    sp.BaggingClassifier(n_estimators=3, max_features=2, random_state=0),
    sp.VotingClassifier([("tree", sp.DecisionTreeClassifier()), ("c45", sp.C45Classifier())]),
    sp.StackingClassifier([("tree", sp.DecisionTreeClassifier())], cv=2),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_dicts_predict_as_the_frame_does(model: Any) -> None:
    expected = model.fit(FRAME, Y).predict_proba(FRAME)
    assert np.array_equal(model.predict_proba(COLUMNS), expected)
    assert np.array_equal(model.predict_proba(ROWS), expected)
    assert np.array_equal(model.predict_proba(ROWS[5]), expected[5:6])
    assert np.array_equal(model.predict_proba(ROWS[:1]), expected[:1])


def test_a_model_is_fitted_to_dicts() -> None:
    for X in (COLUMNS, ROWS):
        model = sp.DecisionTreeClassifier().fit(X, Y)
        assert model.feature_names_in_.tolist() == ["n", "color", "size"]
        assert model.score(X, Y) == 1.0


def test_what_a_row_does_not_have_is_missing() -> None:
    table = read_table([{"a": 1.0, "b": "x"}, {"b": "y"}, {"a": 3, "b": None}])
    assert table.schema.names == ("a", "b")
    assert np.isnan(table.column(0)).tolist() == [False, True, False]
    assert table.column(1).tolist() == [0, 1, -1]


def test_columns_keep_their_types() -> None:
    table = read_table(
        {"f": np.array([1.5, 2.5], np.float32), "c": pd.Series(["u", "v"], dtype="category"), "t": ("p", "q")}
    )
    assert [feature.dtype for feature in table.schema.features] == ["float64", "int32", "int32"]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ({"a": [1.0, 2.0], "b": [1.0]}, "differ in length.*'b'"),
        ({"a": [1.0, 2.0], "b": 1.0}, "'b' is one value and 'a' is a column"),
        ({"a": np.ones((2, 2))}, "2 axes"),
    ],
)
def test_uneven_dicts_are_refused(X: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_table(X)


def test_other_names_are_refused() -> None:
    model = sp.DecisionTreeClassifier().fit(FRAME, Y)
    with pytest.raises(InputError, match="yet now missing:\n- n"):
        model.predict([{"size": 1.0, "color": "red"}])
    with pytest.raises((InputError, InputTypeError)):
        model.predict({})


MATRIX_MODELS = [sp.SVC(), sp.GaussianNB(), sp.Perceptron(), sp.LinearDiscriminantAnalysis(), sp.LinearSVC()]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("model", MATRIX_MODELS, ids=lambda model: type(model).__name__)
def test_learners_of_matrices_take_dicts(model: Any) -> None:
    numbers = FRAME[["size", "n"]]
    rows = [{"n": row["n"], "size": row["size"]} for row in ROWS]
    expected = model.fit(numbers, Y).predict(numbers)
    for X in (rows, {"n": numbers["n"].tolist(), "size": numbers["size"].tolist()}):
        assert np.array_equal(model.predict(X), expected)
        fitted = type(model)().fit(X, Y)
        assert fitted.feature_names_in_.tolist() == ["n", "size"] and fitted.n_features_in_ == 2
        assert np.array_equal(fitted.predict(numbers[["n", "size"]]), expected)
    assert model.predict(rows[3]).tolist() == expected[3:4].tolist()
    with pytest.raises(InputError, match="yet now missing:\n- n"):
        model.predict([{"size": 1.0}])
    with pytest.raises(InputError, match="in column 'color'"):
        type(model)().fit(ROWS, Y)


def test_learners_of_matrices_name_a_column_that_is_no_number() -> None:
    X = pd.DataFrame({"n": range(6), "range": pd.cut(range(6), 2)})
    with pytest.raises(InputError, match="in column 'range'"):
        sp.GaussianNB().fit(X, [0, 1] * 3)
    X["when"] = pd.to_timedelta(range(6), "h")
    with pytest.raises(InputError, match=r"Dates, times and durations.*in column 'when'"):
        sp.GaussianNB().fit(X, [0, 1] * 3)


def test_complex_class_weights_are_refused() -> None:
    with pytest.raises(InputError, match="class_weight must hold numbers"):
        sp.DecisionTreeClassifier(class_weight={0: 1j, 1: 1.0}).fit(FRAME, Y)
