"""Stacking: no leakage, members fitted as often as needed and no more, any splitter, any table."""

import threading
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline

import spinney as sp
from contracts.learners import mixed_data
from spinney.ensembles import LogarithmicPoolClassifier

TREES = [("full", sp.DecisionTreeClassifier(random_state=0)), ("small", sp.C45Classifier())]
NUMBER_TREES = [
    ("full", sp.DecisionTreeRegressor(random_state=0)),
    ("small", sp.DecisionTreeRegressor(max_depth=2)),
]


# ---- no leakage ----

SPLITTERS = {
    "default": None,
    "3": 3,
    "loo": "loo",
    "k-fold": KFold(3, shuffle=True, random_state=0),
    "stratified": StratifiedKFold(3, shuffle=True, random_state=0),
    "repeated": RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
    "shuffled": ShuffleSplit(3, test_size=0.3, random_state=0),
    "time": TimeSeriesSplit(3),
    "groups": GroupKFold(4),
    "splits": [(np.arange(100), np.arange(100, 200)), (np.arange(100, 200), np.arange(100))],
}


@pytest.mark.parametrize("cv", SPLITTERS)
def test_with_a_target_of_noise_a_stack_is_at_chance_and_knows_it(cv):
    """A full tree and one neighbour know every row they saw; held out, they know nothing.

    With leaked answers level two would trust them: its probabilities would be near 0 and 1.
    """
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 5)), rng.integers(0, 2, 200)
    unseen, truth = rng.normal(size=(1000, 5)), rng.integers(0, 2, 1000)
    members = [*TREES[:1], ("near", KNeighborsClassifier(1))]
    model = sp.StackingClassifier(members, cv=SPLITTERS[cv])
    model.fit(X, y, groups=np.arange(200) % 4 if cv == "groups" else None)
    assert 0.42 < model.score(unseen, truth) < 0.58
    assert np.abs(model.predict_proba(unseen) - 0.5).max() < 0.3
    leaked = sp.StackingClassifier([(name, clone(one).fit(X, y)) for name, one in members], cv="prefit")
    assert np.abs(leaked.fit(X, y).predict_proba(unseen) - 0.5).max() > 0.49


@pytest.mark.parametrize("cv", [None, "loo", TimeSeriesSplit(3)])
def test_with_numbers_of_noise_a_stack_predicts_the_mean(cv):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 5)), rng.normal(size=80)
    model = sp.StackingRegressor([*NUMBER_TREES, ("near", KNeighborsRegressor(1))], cv=cv).fit(X, y)
    predicted = model.predict(rng.normal(size=(500, 5)))
    assert predicted.std() < 0.35 * y.std()
    assert model.score(X, y) < 0.5


# ---- how often members are fitted ----


class CountingTree(sp.DecisionTreeClassifier):
    """Count the fits of all copies, in threads too, and note how many rows each saw."""

    rows: ClassVar = []
    lock = threading.Lock()

    def fit(self, X, y, sample_weight=None):
        with self.lock:
            self.rows.append(len(X))
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize(
    "cv, n_splits", [(None, 5), (3, 3), ("loo", 24), (TimeSeriesSplit(2), 2), ("prefit", 0)]
)
def test_each_member_is_fitted_once_a_fold_and_once_more(cv, n_splits, n_jobs):
    X, y = np.arange(24.0)[:, None], np.arange(24) % 2
    members = [("a", CountingTree()), ("b", CountingTree(max_depth=1))]
    if cv == "prefit":
        members = [(name, one.fit(X, y)) for name, one in members]
    CountingTree.rows.clear()
    sp.StackingClassifier(members, cv=cv, n_jobs=n_jobs).fit(X, y)
    assert len(CountingTree.rows) == (2 * (n_splits + 1) if n_splits else 0)
    assert CountingTree.rows.count(24) == (2 if n_splits else 0)
    if cv != "prefit":
        CountingTree.rows.clear()
        sp.VotingClassifier(members, weights="learned", cv=cv).fit(X, y)
        assert len(CountingTree.rows) == 2 * (n_splits + 1)


def test_selection_fits_only_the_chosen_ones_to_all_rows():
    X, y = np.arange(30.0)[:, None], np.arange(30) // 15
    members = [("good", CountingTree()), ("constant", CountingTree(max_depth=1, min_samples_leaf=15))]
    CountingTree.rows.clear()
    model = sp.EnsembleSelectionClassifier(members, cv=KFold(3, shuffle=True, random_state=0)).fit(X, y)
    assert len(CountingTree.rows) == 2 * 3 + len(model.estimators_)


# ---- level two ----


def test_level_two_learns_from_out_of_fold_answers_only():
    X, y, weights = mixed_data("classifier")
    cv = KFold(4, shuffle=True, random_state=0)
    model = sp.StackingClassifier(TREES, cv=cv).fit(X, y, weights)
    answers = np.zeros((len(y), 2, 3))
    for train, test in cv.split(X):
        for m, (_, member) in enumerate(TREES):
            answers[test, m] = (
                clone(member).fit(X.iloc[train], y[train], weights[train]).predict_proba(X.iloc[test])
            )
    expected = LogarithmicPoolClassifier().fit(answers.reshape(len(y), 6), y, weights)
    assert_allclose(model.final_estimator_.coef_, expected.coef_, atol=1e-12)


def test_rows_that_no_fold_holds_out_are_left_out_of_level_two():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)

    class Level2(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            self.seen_ = y
            return super().fit(X, y, sample_weight)

    model = sp.StackingRegressor(NUMBER_TREES, Level2(), cv=TimeSeriesSplit(3)).fit(X, y)
    assert_array_equal(model.final_estimator_.seen_, y[15:])
    twice = [(np.arange(30), np.arange(30, 60)), (np.arange(20), np.arange(20, 60))]
    model = sp.StackingRegressor(NUMBER_TREES, Level2(), cv=twice).fit(X, y)
    assert_array_equal(model.final_estimator_.seen_, np.concatenate([y[20:30], np.repeat(y[30:], 2)]))


def test_a_class_that_a_fold_lacks_has_probability_0_there():
    X = np.arange(12.0)[:, None]
    y = np.array(["a", "b"] * 5 + ["c", "c"])
    model = sp.StackingClassifier(TREES, cv=TimeSeriesSplit(2)).fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.transform(X).shape == (12, 6)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    linear = sp.StackingClassifier(TREES, LogisticRegression(), cv=[(np.arange(12), np.arange(8))]).fit(X, y)
    assert linear.final_estimator_.classes_.tolist() == ["a", "b"]
    assert_array_equal(linear.predict_proba(X)[:, 2], 0.0)


def test_the_default_stack_beats_its_members_where_they_complement_each_other():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = 2 * X[:, 0] + 3 * (X[:, 1] > 0) + 0.3 * rng.normal(size=900)
    members = [("line", LinearRegression()), ("tree", sp.DecisionTreeRegressor(max_depth=4))]
    model = sp.StackingRegressor(members).fit(X[:600], y[:600])
    errors = {
        name: np.mean((one.predict(X[600:]) - y[600:]) ** 2) for name, one in model.named_estimators_.items()
    }
    assert np.mean((model.predict(X[600:]) - y[600:]) ** 2) < 0.9 * min(errors.values())
    assert (model.final_estimator_.coef_ > 0).all()


def test_stacks_can_be_stacked():
    X, y, weights = mixed_data("classifier")
    inner = sp.StackingClassifier(TREES, cv=2)
    outer = sp.StackingClassifier([("stack", inner), ("tree", sp.DecisionTreeClassifier(max_depth=3))], cv=2)
    assert outer.fit(X, y, weights).score(X, y) > 0.8


# ---- tables passed through ----


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_frame_is_passed_through_as_a_frame(kind):
    X, y, weights = mixed_data("classifier")
    X["color"] = X["color"].astype("category")
    table = {"pandas": lambda: X, "polars": lambda: pl.from_pandas(X), "arrow": lambda: pa.table(X)}[kind]()
    seen = []

    class Level2(sp.DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(X)
            return super().fit(X, y, sample_weight)

    model = sp.StackingClassifier(TREES, Level2(), passthrough=True, cv=3).fit(table, y, weights)
    assert type(seen[0]) is type(table)
    assert model.score(table, y) > 0.7
    names = [*(f"stackingclassifier_{name}{k}" for name in ("full", "small") for k in range(3)), *X.columns]
    listed = model.transform(table)
    assert list(listed.column_names if kind == "arrow" else listed.columns) == names
    assert list(model.final_estimator_.feature_names_in_) == names
    if kind == "pandas":
        assert (listed.dtypes[X.columns] == X.dtypes).all()
        assert_array_equal(listed.index, X.index)


def test_arrays_lists_and_sparse_matrices_are_passed_through():
    rng = np.random.default_rng(0)
    X, y = np.round(rng.normal(size=(40, 3)), 1), np.arange(40) % 2
    model = sp.StackingClassifier(TREES, sp.DecisionTreeClassifier(), passthrough=True, cv=2)
    by_array = model.fit(X, y).transform(X)
    assert by_array.shape == (40, 5)
    assert_array_equal(by_array[:, 2:], X)
    assert_array_equal(model.fit(X.tolist(), y).transform(X.tolist()), by_array)
    matrix = sparse.coo_array(X)
    by_matrix = model.fit(matrix, y).transform(matrix)
    assert sparse.issparse(by_matrix)
    assert_array_equal(by_matrix.toarray(), by_array)
    masked = np.ma.masked_greater(X, 1.0)
    assert np.ma.isMaskedArray(model.fit(masked, y).transform(masked))
    text = [["red", 1.5], ["blue", 2.5]] * 20
    assert model.fit(text, y).transform(text)[0].tolist()[2:] == ["red", 1.5]


def test_a_column_with_the_name_of_an_answer_is_refused():
    X = pd.DataFrame({"stackingclassifier_full": np.arange(8.0)})
    model = sp.StackingClassifier(TREES, sp.DecisionTreeClassifier(), passthrough=True, cv=2)
    with pytest.raises(ValueError, match="stackingclassifier_full"):
        model.fit(X, np.arange(8) % 2)


def test_columns_that_the_default_final_estimator_cannot_take_are_told_of():
    X, y, _ = mixed_data("classifier", 60)
    for table, words in ((X, "convert string"), (X[["a", "b"]], "NaN")):
        with pytest.raises(ValueError, match=rf"passthrough.*{words}.*final_estimator .* such as a tree"):
            sp.StackingClassifier(TREES, passthrough=True).fit(table, y)
    numbers = sp.StackingClassifier(TREES, passthrough=True).fit(X[["b", "noise"]], y)
    assert numbers.final_estimator_.n_features_in_ == 3 * 2 + 2


# ---- what is refused ----


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"final_estimator": LinearRegression()}, "final_estimator should be a classifier"),
        ({"final_estimator": LogisticRegression}, "final_estimator should be a classifier"),
        ({"cv": "folds"}, "cv is 'folds'"),
        ({"cv": [(np.arange(4), np.array([], int))]}, "without rows"),
        ({"stack_method": "decision_function"}, "'full'.*does not implement the method decision_function"),
        ({"cv": "prefit"}, "not fitted"),
    ],
)
def test_wrong_settings_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        sp.StackingClassifier(TREES, **settings).fit(np.arange(8.0)[:, None], np.arange(8) % 2)


def test_one_row_cannot_be_held_out():
    with pytest.raises(ValueError, match="at least 2 rows"):
        sp.StackingClassifier(TREES).fit([[1.0]], [1])


def test_predict_hands_on_its_arguments_and_methods_follow_the_final_estimator():
    from sklearn.gaussian_process import GaussianProcessRegressor

    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    model = sp.StackingRegressor(NUMBER_TREES, GaussianProcessRegressor()).fit(X, y)
    mean, spread = model.predict(X, return_std=True)
    assert mean.shape == spread.shape == (20,)
    default = sp.StackingClassifier(TREES)
    assert hasattr(default, "predict_proba") and hasattr(default, "decision_function")
    assert hasattr(sp.StackingClassifier(TREES, LogisticRegression()), "decision_function")


def test_a_pipeline_is_a_member_and_a_stack_is_a_step():
    X, y, _ = mixed_data("regressor")
    members = [("a", make_pipeline("passthrough", sp.DecisionTreeRegressor(max_depth=3)))]
    model = make_pipeline("passthrough", sp.StackingRegressor(members, Ridge())).fit(X, y)
    assert model.score(X, y) > 0.5


def test_loo_is_leave_one_out():
    X, y, _ = mixed_data("regressor", 20)
    one = sp.StackingRegressor(NUMBER_TREES, cv="loo").fit(X, y)
    other = sp.StackingRegressor(NUMBER_TREES, cv=LeaveOneOut()).fit(X, y)
    assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize("final", [sp.DecisionTreeClassifier(), sp.LogisticRegression()])
@pytest.mark.parametrize("as_rows", [False, True])
def test_passthrough_takes_columns_and_rows_that_are_dicts(final, as_rows):
    rng = np.random.default_rng(0)
    columns = {"a": rng.random(40), "b": rng.random(40)}
    y = (columns["a"] > 0.5).astype(int)
    frame = pd.DataFrame(columns)
    dicts = frame.to_dict("records") if as_rows else columns
    model = sp.StackingClassifier(TREES, final, passthrough=True, cv=2)
    expected = model.fit(frame, y).predict_proba(frame)
    np.testing.assert_array_equal(model.fit(dicts, y).predict_proba(dicts), expected)
    with pytest.raises(ValueError, match="as the predictions of a member are"):
        taken = model.get_feature_names_out()[0]
        model.fit([row | {taken: 1.0} for row in frame.to_dict("records")], y)
    with pytest.raises(ValueError, match=r"passthrough.*final_estimator that accepts them"):
        sp.StackingClassifier(TREES, passthrough=True, cv=2).fit(dicts, y)


@pytest.mark.parametrize("kind", [sp.StackingClassifier, sp.StackingRegressor])
def test_sparse_columns_are_passed_through_to_the_default_final_estimator(kind):
    X = sparse.random_array((60, 5), density=0.5, rng=np.random.default_rng(0), format="csr")
    y = (X[:, [0]].toarray().ravel() > 0).astype(int)
    trees = TREES[:1] if kind is sp.StackingClassifier else NUMBER_TREES[:1]
    model = kind(trees, passthrough=True, cv=3).fit(X, y)
    assert sparse.issparse(model.transform(X)) and model.transform(X).shape[1] == 6
    assert model.score(X, y) > 0.9
