"""SHAP values of linear models and of stacks: brute force over all subsets, and sums to the output."""

from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import spinney as sp
from spinney.core.errors import InputError
from spinney.inspect import shap_values


def table(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n_rows), "b": rng.choice(["x", "y", "z"], n_rows)})
    X["c"] = rng.normal(size=n_rows)
    return X, X.a - 2 * X.c + (X.b == "y") + 0.1 * rng.normal(size=n_rows)


def brute_force(output, row, background):
    """Shapley values of one row by the definition; absent features take the values of the background."""
    names = list(row.columns)
    n = len(names)

    def value(known):
        rows = background.copy()
        for name in known:
            rows[name] = row[name].iloc[0]
        return output(rows).mean(axis=0)

    found = []
    for name in names:
        others = [other for other in names if other != name]
        total = 0.0
        for size in range(n):
            weight = factorial(size) * factorial(n - 1 - size) / factorial(n)
            for known in combinations(others, size):
                total = total + weight * (value([*known, name]) - value(known))
        found.append(total)
    return np.array(found)


def test_linear_models_are_explained_as_by_the_definition():
    X, y = table(80)
    ridge = sp.Ridge(categorical="one-hot").fit(X, y)
    several = sp.LogisticRegression(categorical="one-hot").fit(X, np.digitize(y, [-1, 1]))
    for model, output in ((ridge, ridge.predict), (several, several.decision_function)):
        found = shap_values(model, X[:3], background=X[40:])
        assert_allclose(found.values.sum(axis=1) + found.base_values, output(X[:3]), atol=1e-10)
        for i in range(3):
            assert_allclose(found.values[i], brute_force(output, X[i : i + 1], X[40:]), atol=1e-10)
    assert found.space == "raw" and found.output_names == ("0", "1", "2")


def test_sparse_rows_and_several_targets():
    rng = np.random.default_rng(0)
    X = sparse.random_array((60, 5), density=0.4, format="csr", rng=rng)
    model = sp.LinearRegression().fit(X, rng.normal(size=(60, 2)))
    found = shap_values(model, X, background=X[:20])
    assert found.values.shape == (60, 5, 2)
    assert_allclose(found.values.sum(axis=1) + found.base_values, model.predict(X), atol=1e-10)


def test_a_stack_with_a_linear_final_estimator_is_a_sum():
    X, y = table(120)
    members = [
        ("forest", sp.RandomForestRegressor(5, random_state=0)),
        ("ridge", sp.Ridge(categorical="one-hot")),
    ]
    for final in (None, sp.Ridge()):
        model = sp.StackingRegressor(members, final).fit(X, y)
        found = shap_values(model, X[:20], background=X[60:])
        assert_allclose(found.values.sum(axis=1) + found.base_values, model.predict(X[:20]), atol=1e-10)


def test_what_is_no_sum_is_refused():
    X, y = table(60)
    ridge = sp.Ridge(categorical="one-hot").fit(X, y)
    with pytest.raises(InputError, match="background"):
        shap_values(ridge, X)
    members = [("ridge", sp.Ridge(categorical="one-hot"))]
    for final in (sp.DecisionTreeRegressor(), sp.GeneralizedLinearRegressor("poisson")):
        stack = sp.StackingRegressor(members, final).fit(X, np.exp(y))
        with pytest.raises(InputError, match="not a sum of its members"):
            shap_values(stack, X, background=X)
