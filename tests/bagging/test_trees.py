"""Spinney's trees as members: fitted on shared codes, pruned by out-of-bag rows, merged for prediction."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

import spinney as sp
from contracts.learners import mixed_data
from spinney.bagging.predictions import member_probabilities, member_values
from spinney.bagging.trees import select_parameters
from spinney.core.errors import InputError
from spinney.io import dumps

TREES = [
    sp.DecisionTreeClassifier(max_features=2, random_state=5),
    sp.DecisionTreeRegressor(),
    sp.C45Classifier(),
    sp.ObliqueTreeClassifier(max_depth=3),
]


def bagging(tree):
    return sp.BaggingClassifier if tree.__class__.__name__.endswith("Classifier") else sp.BaggingRegressor


@pytest.mark.parametrize("base", TREES, ids=lambda tree: type(tree).__name__)
@pytest.mark.parametrize("more", [{}, {"max_features": 3, "max_samples": 0.5, "bootstrap": False}])
def test_a_member_is_the_tree_of_its_sample(base, more):
    make = bagging(base)
    X, y, _ = mixed_data("classifier" if make is sp.BaggingClassifier else "regressor", 150)
    model = make(base, 4, random_state=0, **more).fit(X, y)
    for tree, rows, columns in zip(model, model.estimators_samples_, model.estimators_features_, strict=True):
        alone = clone(base).set_params(random_state=tree.random_state)
        alone.fit(X.iloc[:, columns], y, np.bincount(rows, minlength=150))
        assert dumps(alone) == dumps(tree)


def test_trees_are_pruned_by_their_out_of_bag_rows():
    X, y, _ = mixed_data("classifier", 300)
    noisy = np.where(np.random.default_rng(0).random(300) < 0.2, (y + 1) % 3, y)
    exact = sp.DecisionTreeClassifier(max_bins=None)  # bins are those of the whole table
    model = sp.BaggingClassifier(exact, 5, oob_pruning=True, random_state=0).fit(X, noisy)
    full = sp.BaggingClassifier(exact, 5, random_state=0).fit(X, noisy)
    for tree, whole, rows in zip(model, full, model.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(300), rows)
        alone = clone(exact).set_params(pruning="reduced-error", random_state=tree.random_state)
        counts = np.bincount(rows, minlength=300)
        alone.fit(X, noisy, counts, eval_set=(X.iloc[out], noisy[out]))
        assert dumps(alone) == dumps(tree)
        assert tree.get_n_leaves() < whole.get_n_leaves()
        assert tree.score(X.iloc[out], noisy[out]) > whole.score(X.iloc[out], noisy[out])


def test_pruning_rows_keep_their_weights_and_their_columns():
    X, y, weights = mixed_data("regressor", 200)
    more = {"max_features": 3, "oob_pruning": True, "random_state": 1}
    model = sp.BaggingRegressor(n_estimators=3, **more).fit(X, y, weights)
    for t, tree in enumerate(model):
        counts = model._samples.counts(t)
        out = (counts == 0) & (weights > 0)
        part = X.iloc[:, model.estimators_features_[t]]
        alone = sp.DecisionTreeRegressor(pruning="reduced-error", random_state=tree.random_state)
        alone.fit(part, y, counts, eval_set=(part[out], y[out], weights[out]))
        assert dumps(alone) == dumps(tree)


def test_a_sample_of_all_rows_is_not_pruned():
    X, y, _ = mixed_data("classifier", 100)
    pruned = sp.BaggingClassifier(n_estimators=2, bootstrap=False, oob_pruning=True, random_state=0).fit(X, y)
    plain = sp.BaggingClassifier(n_estimators=2, bootstrap=False, random_state=0).fit(X, y)
    assert_array_equal(pruned.predict(X), plain.predict(X))


def test_only_trees_of_spinney_can_be_pruned():
    from sklearn.tree import DecisionTreeClassifier

    with pytest.raises(InputError, match="oob_pruning prunes Spinney's trees"):
        sp.BaggingClassifier(DecisionTreeClassifier(), oob_pruning=True).fit([[0.0], [1.0]], [0, 1])


NAMES = ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "parameter, given, expected",
    [
        ("categorical_features", ["a", "d"], [2]),
        ("categorical_features", [3, 1], [0, 1, 2]),
        ("categorical_features", [True, False, True, True], [2]),
        ("categorical_features", np.array([False, True, False, False]), [0, 1]),
        ("categorical_features", "from_dtype", "from_dtype"),
        ("categorical_features", None, None),
        ("categorical_features", ["z"], ["z"]),
        ("categorical_features", [True], [True]),
        ("feature_costs", {"b": 3.0}, [3.0, 3.0, 1.0]),
        ("feature_costs", [1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 4.0]),
        ("feature_costs", {"z": 1.0}, {"z": 1.0}),
        ("feature_costs", [1.0], [1.0]),
        ("monotonic_cst", {"d": -1}, [0, 0, -1]),
        ("monotonic_cst", np.array([0, 1, 0, -1]), [1, 1, -1]),
    ],
)
def test_each_way_to_name_columns(parameter, given, expected):
    tree = sp.DecisionTreeClassifier(**{parameter: given})
    select_parameters(tree, np.array([1, 1, 3]), NAMES)
    assert getattr(tree, parameter) == expected


def test_trees_without_some_of_the_parameters():
    tree = sp.C45Classifier(feature_costs={"a": 2.0})
    select_parameters(tree, np.array([0]), NAMES)
    assert tree.feature_costs == [2.0]


@pytest.mark.parametrize("more", [{"max_features": 2}, {"bootstrap_features": True}])
def test_members_obey_the_parameters_of_their_columns(more):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"up": rng.normal(size=200), "code": rng.integers(0, 5, 200), "noise": rng.normal(size=200)}
    )
    y = (X["up"] + 0.8 * rng.normal(size=200) + (X["code"] == 2) > 0).astype(int)
    base = sp.DecisionTreeClassifier(categorical_features=["code"], monotonic_cst={"up": 1})
    model = sp.BaggingClassifier(base, random_state=0, **more).fit(X, y)
    for tree, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        assert tree.schema_.categorical.tolist() == (columns == 1).tolist()
        assert list(tree.monotonic_cst) == (columns == 0).astype(int).tolist()
    rising = np.linspace(-3, 3, 50)
    table = pd.DataFrame({"up": rising, "code": 1, "noise": 0.0})
    assert (np.diff(model.predict_proba(table)[:, 1]) >= -1e-12).all()


def test_a_wrong_name_is_refused():
    with pytest.raises(ValueError, match="'z', which is not a column"):
        base = sp.DecisionTreeClassifier(feature_costs={"z": 1.0})
        sp.BaggingClassifier(base, max_features=1).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])


CLASSIFIERS = {
    "trees": {},
    "subspaces": {"max_features": 3},
    "columns twice": {"bootstrap_features": True, "n_estimators": 12},
    "C4.5": {"estimator": sp.C45Classifier()},
    "oblique": {"estimator": sp.ObliqueTreeClassifier(max_depth=4), "max_features": 3},
    "categories by position": {
        "estimator": sp.DecisionTreeClassifier(categorical_features=[1]),
        "max_features": 3,
    },
}


@pytest.mark.parametrize("setting", CLASSIFIERS)
def test_merged_classifiers(setting):
    X, y, weights = mixed_data("classifier", 250)
    model = sp.BaggingClassifier(random_state=0, **CLASSIFIERS[setting]).fit(X, y, weights)
    assert model._merged is not None
    unseen = X.copy()
    unseen.loc[::5, "color"] = "unseen"
    for table in (X, unseen, unseen[:1], pl.from_pandas(unseen)):
        one_by_one = model._mean(
            table, lambda member, part: member_probabilities(member, part, [model.classes_])
        )
        assert_allclose(model.predict_proba(table), one_by_one, atol=1e-13)
        assert_array_equal(model.predict(table), model.classes_[one_by_one.argmax(axis=1)])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, lambda X: X.tolist(), pd.DataFrame])
def test_merged_regressors_of_several_outputs(make):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 6)) * (rng.random((100, 6)) < 0.6)
    y = np.stack([X @ np.arange(6.0), X[:, 0]], axis=1)
    for target in (y, y[:, 0]):
        model = sp.BaggingRegressor(max_features=0.5, random_state=0, n_jobs=2).fit(make(X), target)
        assert model._merged is not None
        found = model.predict(make(X))
        assert found.shape == target.shape
        assert_allclose(found, model._mean(make(X), member_values), rtol=1e-12)


def test_several_outputs_of_classes():
    X, y, _ = mixed_data("classifier", 150)
    both = np.stack([y, y > 0], axis=1)
    model = sp.BaggingClassifier(random_state=0).fit(X, both)
    assert model._merged is not None
    one_by_one = model._mean(X, lambda member, part: member_probabilities(member, part, model.classes_))
    assert_allclose(np.concatenate(model.predict_proba(X), axis=1), one_by_one, atol=1e-13)


def test_members_that_cannot_be_merged_predict_one_by_one():
    from sklearn.tree import DecisionTreeClassifier

    X, y = np.random.default_rng(0).normal(size=(60, 8)), np.arange(60) % 3
    assert sp.BaggingClassifier(DecisionTreeClassifier(), 3).fit(X, y)._merged is None
    # Two members with two columns each know nothing of the other columns.
    few = sp.BaggingClassifier(n_estimators=2, max_features=2, random_state=0).fit(X, y)
    assert few._merged is None
    assert few.predict(X).shape == (60,)
    unlike = {"unseen": ["missing", "error"]}
    model = sp.BaggingClassifier(parameter_distributions=unlike, random_state=0).fit(X, y)
    assert model._merged is None


def test_errors_name_the_columns_of_the_whole_table():
    X, y, _ = mixed_data("classifier", 100)
    model = sp.BaggingClassifier(sp.DecisionTreeClassifier(unseen="error"), max_features=2, random_state=0)
    model.set_params(n_estimators=20).fit(X, y)
    other = X.copy()
    other.loc[7, "color"] = "pink"
    with pytest.raises(ValueError, match="'pink' in column 'color', row 7"):
        model.predict(other)
