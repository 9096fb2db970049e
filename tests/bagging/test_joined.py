"""Trees joined for prediction say what the members say one by one."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import spinney as sp
from contracts.learners import mixed_data
from spinney.bagging.predictions import member_probabilities, member_values

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
def test_joined_classifiers(setting):
    X, y, weights = mixed_data("classifier", 250)
    model = sp.BaggingClassifier(random_state=0, **CLASSIFIERS[setting]).fit(X, y, weights)
    assert model._merged is not None
    strange = X.copy()
    strange.loc[::5, "color"] = "unheard of"
    for table in (X, strange, strange[:1], pl.from_pandas(strange)):
        apart = model._mean(table, lambda member, part: member_probabilities(member, part, [model.classes_]))
        assert_allclose(model.predict_proba(table), apart, atol=1e-13)
        assert_array_equal(model.predict(table), model.classes_[apart.argmax(axis=1)])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, lambda X: X.tolist(), pd.DataFrame])
def test_joined_regressors_of_several_outputs(make):
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
    apart = model._mean(X, lambda member, part: member_probabilities(member, part, model.classes_))
    assert_allclose(np.concatenate(model.predict_proba(X), axis=1), apart, atol=1e-13)


def test_members_that_cannot_be_joined_answer_apart():
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
