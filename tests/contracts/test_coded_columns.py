"""Learners of matrices code categories and fill in missing values, if they are told to."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.validation import has_fit_parameter

import spinney as sp
from spinney.core.errors import InputError
from spinney.io import dumps, loads

LEARNERS = [
    sp.SVC, sp.SVR, sp.OneClassSVM, sp.LinearDiscriminantAnalysis, sp.Perceptron,
    sp.PassiveAggressiveClassifier, sp.PassiveAggressiveRegressor,
]  # fmt: skip
each_learner = pytest.mark.parametrize("make", LEARNERS, ids=lambda make: make.__name__)
OPTIONS = {"categorical": "one-hot", "missing": "mean"}


def mixed_table(n=120):
    """A number and a category, both with gaps, and classes 0 and 1 that depend on them."""
    rng = np.random.default_rng(0)
    number, kind = rng.normal(size=n), rng.choice(["blue", "green", "red"], n)
    y = (number + 2.0 * (kind == "red") > 0.5).astype(int)
    table = pd.DataFrame({"number": number, "kind": pd.Categorical(kind)})
    table.loc[::9, "number"] = np.nan
    table.loc[::13, "kind"] = None
    return table, y, rng.integers(1, 4, n).astype(float)


def coded(table, weights):
    """The same columns, written once more."""
    columns = [table["number"].to_numpy(dtype=float)]
    columns += [(table["kind"] == name).to_numpy(dtype=float) for name in ("blue", "green", "red")]
    for column in columns[1:]:
        column[table["kind"].isna()] = np.nan
    filled = []
    for column in columns:
        known = ~np.isnan(column)
        filled.append(np.where(known, column, np.average(column[known], weights=weights[known])))
    return np.column_stack(filled)


def fit(model, X, y, weights):
    given = {"sample_weight": weights} if has_fit_parameter(model, "sample_weight") else {}
    return model.fit(X, y, **given)


def params_of(make):
    return {"random_state": 0} if "random_state" in make().get_params() else {}


@each_learner
def test_a_table_is_coded_as_by_hand(make):
    table, y, weights = mixed_table()
    if not has_fit_parameter(make(), "sample_weight"):
        weights = np.ones(len(y))
    model = fit(make(**OPTIONS, **params_of(make)), table, y, weights)
    matrix = coded(table, weights)
    plain = fit(make(**params_of(make)), matrix, y, weights)
    assert_allclose(model.predict(table), plain.predict(matrix), rtol=1e-9, atol=1e-9)
    assert model.n_features_in_ == 2 and list(model.feature_names_in_) == ["number", "kind"]
    assert_array_equal(loads(dumps(model)).predict(table), model.predict(table))


@each_learner
def test_an_unseen_category_counts_as_missing_where_that_is_allowed(make):
    table, y, weights = mixed_table()
    strange = pd.DataFrame({"number": [0.3], "kind": ["violet"]})
    missing = pd.DataFrame({"number": [0.3], "kind": pd.Categorical([None], ["blue"])})
    model = fit(make(**OPTIONS, **params_of(make)), table, y, weights)
    assert_allclose(model.predict(strange), model.predict(missing))
    full = table.dropna()
    strict = fit(make(categorical="one-hot", **params_of(make)), full, y[full.index], weights[full.index])
    with pytest.raises(InputError, match="violet"):
        strict.predict(strange)


@each_learner
def test_without_options_an_error_names_the_column_and_both_ways_out(make):
    table, y, _ = mixed_table()
    with pytest.raises(InputError, match=r"'number', row 0.*missing=\"mean\".*make_pipeline"):
        make().fit(table, y)
    with pytest.raises(InputError, match=r"'kind'.*categorical=\"one-hot\".*make_pipeline"):
        make().fit(table[["kind"]].dropna(), y[table["kind"].notna()])
    with pytest.raises(ValueError, match="categorical"):
        make(categorical="ordinal").fit(table, y)
