"""Any input gives a valid model with finite outputs, or a ValueError that says what is wrong and where."""

import re
import warnings
from dataclasses import replace

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

import spinney as sp
from contracts.bad_parameters import bad_values, words_for
from contracts.learners import (
    EACH_CLASS,
    EACH_KIND,
    LEARNERS,
    OF_TREES,
    UNSUPERVISED,
    depends_on_chance,
    fewer,
    holds_out,
    makes_folds,
)
from loops import for_each

each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
each_kind = pytest.mark.parametrize("learner", EACH_KIND, ids=lambda learner: learner.name)
each_default = pytest.mark.parametrize("learner", EACH_CLASS, ids=lambda learner: learner.name)


def target(learner, n):
    return np.arange(n) % 2 if learner.kind == "classifier" else np.arange(n) * 1.5


def fitted_trees(model):
    """Return the one tree of a model, or all of them; None if they are not kept as one."""
    return getattr(model, "tree_", getattr(model, "ensemble_", None))


def check_works(learner, X, y, weights=None):
    """Fit and predict: every output must be finite, every probability a distribution."""
    model = learner().fit(X, y, weights)
    predicted = model.predict(X)
    assert len(predicted) == len(np.asarray(y))
    if learner.kind != "classifier":
        assert np.isfinite(predicted).all()
    else:
        proba = model.predict_proba(X)
        assert np.isfinite(proba).all() and (proba >= 0).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-9)
        assert set(np.unique(predicted).tolist()) <= set(model.classes_.tolist())
    if hasattr(model, "decision_function"):
        assert np.isfinite(model.decision_function(X)).all()
    if hasattr(model, "feature_importances_"):
        assert np.isfinite(model.feature_importances_).all()
    trees = fitted_trees(model)
    if trees is not None:
        assert np.isfinite(trees.impurity).all() and np.isfinite(trees.weight).all()
    return model


# ---- odd, but fine ----

ODD = {
    "one row": np.array([[1.0, 2.0]]),
    "one column": np.arange(8.0)[:, None],
    "constant": np.ones((8, 2)),
    "all missing": np.full((8, 2), np.nan),
    "one column all missing": np.column_stack([np.full(8, np.nan), np.arange(8.0)]),
    "huge": np.array([[1e308], [-1e308], [1.7e308], [-1.7e308], [0.0], [1.0], [1e300], [-1e300]]),
    "subnormal": np.array([[5e-324], [0.0], [1e-310], [-5e-324], [2e-310], [1e-320], [3e-324], [1e-308]]),
    "negative zero": np.array([[-0.0], [0.0], [-0.0], [0.0], [1.0], [-1.0], [0.0], [-0.0]]),
    "neighbours": np.array([[np.nextafter(1.0, i)] for i in (0, 2)] * 4),
    "float16": np.arange(16, dtype=np.float16).reshape(8, 2),
    "float32": np.arange(16, dtype=np.float32).reshape(8, 2),
    "big-endian": np.arange(16, dtype=">f8").reshape(8, 2),
    "Fortran": np.asfortranarray(np.arange(16.0).reshape(8, 2)),
    "strided": np.arange(64.0).reshape(16, 4)[::2, ::2],
    "reversed": np.arange(16.0).reshape(8, 2)[::-1],
    "int8": np.arange(16, dtype=np.int8).reshape(8, 2),
    "uint64": np.arange(16, dtype=np.uint64).reshape(8, 2) + np.uint64(2**63),
    "bool": np.arange(16).reshape(8, 2) % 3 == 0,
    "objects": np.array([[i, float(i)] for i in range(8)], dtype=object),
    "lists": [[i, i / 2] for i in range(8)],
    "text": np.array([["a", "b"], ["c", "d"]] * 4),
    "text with None": np.array([["a", None], [None, "d"]] * 4, dtype=object),
    "masked": np.ma.masked_greater(np.arange(16.0).reshape(8, 2), 12),
    "sparse": sparse.csr_array(np.eye(8)),
    "pandas": pd.DataFrame({"a": range(8), "b": list("xyxyxyxy")}),
    "polars": pl.DataFrame({"a": range(8), "b": list("xyxyxyxy")}),
    "nullable": pd.DataFrame({"a": pd.array([1, None] * 4, dtype="Int64")}),
    "categorical": pd.DataFrame({"a": pd.Categorical(list("xyzxyzxy"))}),
}


@each_kind
@for_each("case", ODD)
def test_odd_tables_give_a_model(learner, case):
    X = ODD[case]
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    try:
        check_works(learner, X, target(learner, n))
    except ValueError as error:
        assert n < 2 and (holds_out(dict(learner.params)) or makes_folds(learner))
        assert re.search("sample|n_splits|row", str(error))


@each_learner
def test_a_read_only_table_is_left_alone(learner):
    X = np.random.default_rng(0).normal(size=(30, 3))
    y, weights = target(learner, 30), np.ones(30)
    for array in (X, y, weights):
        array.setflags(write=False)
    check_works(learner, X, y, weights)


@each_learner
def test_one_class_or_one_value(learner):
    model = check_works(learner, np.arange(10.0)[:, None], np.full(10, 7))
    if fitted_trees(model) is not None:
        assert (fitted_trees(model).feature < 0).all()  # there is nothing to ask
    expected = 0 if learner.kind == "ranker" else 7
    np.testing.assert_allclose(model.predict([[3.0], [np.nan], [99.0]]), expected, rtol=1e-12)


@each_default
def test_a_great_many_categories(learner):
    n = fewer(learner, 20_000)
    X = pd.DataFrame({"id": [f"name {i}" for i in range(n)], "x": np.arange(n) % 17})
    model = check_works(learner, X, target(learner, n))
    strangers = pd.DataFrame({"id": ["unheard of"], "x": [3]})
    assert len(model.predict(strangers)) == 1


@pytest.mark.long
def test_a_million_categories():
    n = 1_000_000
    X = np.arange(n, dtype=object)[:, None]
    X[:, 0] = [str(i) for i in range(n)]
    model = sp.DecisionTreeClassifier(max_depth=3).fit(X, np.arange(n) % 2)
    assert len(model.predict(X[:10])) == 10


@each_default
def test_unseen_categories_count_as_missing_or_are_an_error(learner):
    X = np.array([["a"], ["b"], ["c"]] * 8, dtype=object)
    model = learner().fit(X, target(learner, 24))
    unseen, missing = np.array([["z"]], dtype=object), np.array([[None]], dtype=object)
    assert_array_equal(model.predict(unseen), model.predict(missing))
    if not learner.has("unseen"):
        return
    model.set_params(unseen="error")
    with pytest.raises(ValueError, match=r"'z'.*column 0.*row 0"):
        model.predict(unseen)


@each_learner
def test_rows_of_weight_zero_do_not_count(learner):
    if depends_on_chance(dict(learner.params)) or makes_folds(learner):
        pytest.skip("which rows are held out or drawn depends on how many there are")
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 2)), rng.integers(0, 3, 60).astype(float)
    y = target(learner, 60)
    kept = weights > 0
    all_rows, some_rows = learner().fit(X, y, weights), learner().fit(X[kept], y[kept], weights[kept])
    np.testing.assert_allclose(all_rows.predict(X), some_rows.predict(X), rtol=1e-12)
    if fitted_trees(all_rows) is not None:
        assert fitted_trees(all_rows).node_count == fitted_trees(some_rows).node_count


def check_any_numbers(learner, data):
    """Draw a small table, targets and weights, and fit."""
    if makes_folds(learner):
        learner = replace(learner, params=(*learner.params, ("cv", None)))  # as many as the rows allow
    n, d = data.draw(st.integers(1 if learner in OF_TREES else 2, 12)), data.draw(st.integers(1, 3))
    numbers = st.floats(allow_nan=True, allow_infinity=False) | st.sampled_from(
        [0.0, -0.0, 1.0, 1e308, 5e-324]
    )
    X = data.draw(hnp.arrays(np.float64, (n, d), elements=numbers))
    if learner.kind == "classifier":
        y = data.draw(hnp.arrays(np.int64, n, elements=st.integers(-3, 3)))
    else:
        least = 0.0 if learner.kind == "ranker" else -1e100
        y = data.draw(hnp.arrays(np.float64, n, elements=st.floats(least, 1e100)))
    # A fold whose rows have no weight cannot be learned from.
    least = 0.01 if makes_folds(learner) else 0.0
    weights = data.draw(st.none() | hnp.arrays(np.float64, n, elements=st.floats(least, 1e6)))
    if weights is not None and not weights.any():
        with pytest.raises(ValueError, match="non-zero"):
            learner().fit(X, y, weights)
    else:
        check_works(learner, X, y, weights)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.parametrize("learner", [one for one in EACH_CLASS if one in OF_TREES], ids=lambda one: one.name)
def test_any_numbers_give_a_valid_model(learner, data):
    check_any_numbers(learner, data)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.parametrize(
    "learner", [one for one in EACH_CLASS if one not in OF_TREES], ids=lambda one: one.name
)
def test_any_numbers_give_a_valid_ensemble(learner, data):
    check_any_numbers(learner, data)


# ---- wrong, and told so ----


def wrong_tables():
    good = np.arange(12.0).reshape(6, 2)
    with_inf, huge = good.copy(), np.array([[1, 10**400]] * 6, dtype=object)
    with_inf[3, 1] = -np.inf
    frame = pd.DataFrame({"fine": range(6), "broken": [1.0, 2, 3, np.inf, 5, 6]})
    return {
        "no rows": (np.empty((0, 2)), "0 sample"),
        "no columns": (
            np.empty((6, 0)),
            r"0 feature\(s\) \(shape=\(6, 0\)\) while a minimum of 1 is required",
        ),
        "one dimension": (np.arange(6.0), "2D"),
        "three dimensions": (np.zeros((6, 2, 2)), "dim"),
        "a number": (3.0, "2D"),
        "infinity": (with_inf, "column 1, row 3"),
        "infinity in a frame": (frame, "column 'broken', row 3"),
        "too large": (huge, "column 1"),
        "complex": (good * 1j, "[Cc]omplex"),
        "ragged": ([[1, 2], [3]] * 3, "length|shape|values"),
        "nested": (np.array([[[1], 2.0]] * 6, dtype=object), "column 0|shape|length|dim"),
        "mixed types": (np.array([["a", 1], [2, 1]] * 3, dtype=object), "column 0"),
        "dates": (pd.DataFrame({"when": pd.date_range("2020", periods=6)}), "'when'"),
        "None": (None, "."),
        "a dict": ({}, "."),
    }


def takes_infinity(learner):
    """Whether infinite values are numbers like others, as for scikit-learn's class of this name."""
    return learner.name.startswith("HistGradientBoosting")


def with_bad_value(learner, X, row):
    """Return the rows with a value in column 1 that is no number of this learner."""
    wrong = X.astype(object) if takes_infinity(learner) else X.copy()
    wrong[row, 1] = [2] if takes_infinity(learner) else np.inf
    return wrong


@each_default
@for_each("case", wrong_tables())
def test_wrong_tables_are_refused_with_the_place(learner, case):
    X, words = wrong_tables()[case]
    if case == "too large" and learner.make is sp.ID3Classifier:
        return  # a category may be any number
    if case.startswith("infinity") and takes_infinity(learner):
        assert len(learner().fit(X, target(learner, 6)).predict(X)) == 6
        return
    with pytest.raises(ValueError, match=words):
        learner().fit(X, target(learner, 6))


@each_default
@for_each(
    "case",
    [
        (None, "target y is None"),
        ([0, 1, 0], "inconsistent numbers of samples"),
        ([0, 1, None, 1, 0, 1], "row 2"),
        ([0, 1, np.nan, 1, 0, 1], "row 2"),
        ([0, 1, 1, 1, np.inf, 1], "row 4"),
        (np.zeros((6, 2, 2)), "1d array"),
        (np.zeros((6, 0)), "1d array"),
        (np.ones(6) * 1j, "[Cc]omplex"),
        (pd.Series([0, 1, None, 1, 0, 1], dtype="Int64"), "row 2"),
        (pl.Series([0, 1, None, 1, 0, 1]), "row 2"),
        ("abcdef", "1d array"),
        (3, "1d array"),
    ],
)
def test_wrong_targets_are_refused_with_the_row(learner, case):
    y, words = case
    with pytest.raises(ValueError, match=words):
        learner().fit(np.arange(12.0).reshape(6, 2), y)


def test_labels_of_text_with_a_missing_one():
    for missing in (None, np.nan, pd.NA):
        with pytest.raises(ValueError, match="row 1"):
            sp.DecisionTreeClassifier().fit([[1], [2], [3]], ["a", missing, "b"])
    with pytest.raises(ValueError, match="int, str"):
        sp.DecisionTreeClassifier().fit([[1], [2], [3]], np.array(["a", 1, "b"], dtype=object))
    with pytest.raises(ValueError, match="numbers"):
        sp.DecisionTreeRegressor().fit([[1], [2], [3]], ["a", "c", "b"])


@each_default
def test_wrong_weights_are_refused_with_the_row(learner):
    X = np.arange(12.0).reshape(6, 2)
    for weights, words in [
        ([1, 1, -1, 1, 1, 1], "row 2"),
        ([1, 1, 1, np.nan, 1, 1], "row 3"),
        ([1, 1, 1, 1, np.inf, 1], "row 4"),
        (np.zeros(6), "non-zero"),
        (np.ones(5), "expected"),
    ]:
        with pytest.raises(ValueError, match=words):
            learner().fit(X, target(learner, 6), weights)


@each_learner
def test_a_failed_fit_leaves_the_model_as_it_was(learner):
    X, y = np.arange(24.0).reshape(12, 2), target(learner, 12)
    model = learner()
    with pytest.raises(ValueError):
        model.fit(X, [np.nan] * 12)
    assert not any(name.endswith("_") for name in vars(model))
    model.fit(X, y)
    before = vars(model).copy()
    wrong = with_bad_value(learner, X, 3)  # which an ensemble leaves to its members
    with pytest.raises(ValueError, match="column 1, row 3"):
        model.fit(wrong, y)
    assert vars(model) == before


@each_learner
def test_a_bad_value_is_named_by_its_place_in_the_whole_table(learner):
    X = with_bad_value(learner, np.arange(24.0).reshape(12, 2), 10)
    y = np.arange(12) // 3 if learner.kind == "classifier" else np.arange(12.0)
    with pytest.raises(ValueError, match="column 1, row 10"):
        learner().fit(X, y, np.arange(12) % 3 + 1)


@each_learner
def test_warnings_are_not_part_of_ordinary_use(learner):
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[::7, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = learner.with_threads(2).fit(X, target(learner, 50))
        model.predict(X)
        if hasattr(model, "tree_"):
            model.decision_path(X)
            model.rules()
            sp.export_text(model)


@each_default
def test_progress_is_shown_on_the_error_output_if_asked_for(learner, capsys):
    X = np.random.default_rng(0).normal(size=(50, 3))
    learner().fit(X, target(learner, 50))
    assert capsys.readouterr() == ("", "")
    if learner.has("verbose"):
        learner(verbose=1).fit(X, target(learner, 50))
        out, err = capsys.readouterr()
        assert out == "" and err != ""


@pytest.mark.parametrize("learner", [*EACH_CLASS, *UNSUPERVISED], ids=lambda learner: learner.name)
def test_wrong_parameters_are_refused_by_name(learner):
    X, y = np.arange(12.0).reshape(6, 2), target(learner, 6)
    for name, values in bad_values(learner).items():
        # The splitter of a vote is asked for where weights are learned.
        others = {"weights": "learned"} if name == "cv" and learner.has("weights") else {}
        for value in values:
            with pytest.raises(ValueError, match=words_for(name)):
                learner(**others | {name: value}).fit(X, y + 4 if name == "class_weight" else y)
