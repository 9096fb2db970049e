"""SHAP values against their definition, over random trees with every kind of split."""

from types import SimpleNamespace

import numpy as np
import pytest

import spinney as sp
from contracts.learners import mixed_data
from oracles.naive_shap import background_game, game, interactions, shapley
from spinney.core.errors import InputError
from spinney.inspect import ShapValues, shap_values
from spinney.native import core
from tree.trees_by_hand import build, category_set, leaf, multiway, numeric

N_CATEGORIES = (0, 0, 0, 5, 70, 0)
N = len(N_CATEGORIES)


def random_tree(rng, fractional, depth=5):
    """A tree of numeric, set and multiway splits, some children without training weight."""

    def child():
        return grow(depth - 1 if rng.random() < 0.9 else 0)

    def grow(left):
        nonlocal depth
        depth = left
        if left <= 0:
            return leaf(rng.normal(size=2), float(rng.integers(0 if rng.random() < 0.2 else 1, 9)))
        j = int(rng.integers(N))
        n = N_CATEGORIES[j]
        kinds = int(rng.integers(2, 5)) if n and rng.random() < 0.5 else 2
        children = []
        for _ in range(kinds):
            depth = left
            children.append(child())
        missing = -1 if fractional else int(rng.integers(kinds))
        if not n:
            return numeric(j, rng.normal(), *children, missing=missing)
        if kinds > 2:
            return multiway(j, rng.integers(-1, kinds, n).tolist(), *children, missing=missing)
        codes = tuple(np.flatnonzero(rng.random(n) < 0.5).tolist()) or (0,)
        return category_set(j, codes, *children, missing=missing)

    return build(grow(depth), N)


def random_columns(rng, n_rows):
    """Numbers and codes with missing values and unseen categories."""
    columns = []
    for n in N_CATEGORIES:
        missing = rng.random(n_rows) < 0.2
        if n:
            columns.append(np.where(missing, -1, rng.integers(0, n + 1, n_rows)).astype(np.int32))
        else:
            columns.append(np.where(missing, np.nan, rng.normal(size=n_rows)))
    return columns


def rows_of(columns):
    return [[float(column[i]) for column in columns] for i in range(len(columns[0]))]


@pytest.mark.parametrize("fractional", [False, True])
def test_values_and_interactions_are_those_of_all_subsets(fractional):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        tree = random_tree(rng, fractional)
        explainer = core.TreeExplainer(SimpleNamespace(**tree.to_ensemble()), 0, list(range(N)), N)
        columns = random_columns(rng, 11)
        values, pairs = explainer.values(columns, 1, 11), explainer.interactions(columns, 1, 11)
        for i in (0, 10):
            value = game(tree, rows_of(columns)[i])
            np.testing.assert_allclose(values[i], shapley(value, N), rtol=0, atol=1e-12)
            np.testing.assert_allclose(pairs[i], interactions(value, N), rtol=0, atol=1e-12)
            np.testing.assert_allclose(explainer.base(), value(frozenset()), rtol=0, atol=1e-12)


def test_columns_of_one_feature_are_one_player():
    rng = np.random.default_rng(3)
    tree, columns, owner = random_tree(rng, False), random_columns(rng, 5), [0, 1, 0, 2, 1, 3]
    explainer = core.TreeExplainer(SimpleNamespace(**tree.to_ensemble()), 0, owner, 4)
    for row, found in zip(rows_of(columns), explainer.values(columns, 1, 5), strict=True):
        np.testing.assert_allclose(found, shapley(game(tree, row, owner), 4), rtol=0, atol=1e-12)


@pytest.mark.parametrize("fractional", [False, True])
def test_background_values_are_those_of_all_subsets(fractional):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        tree = random_tree(rng, fractional)
        explainer = core.TreeExplainer(SimpleNamespace(**tree.to_ensemble()), 0, list(range(N)), N)
        columns, background = random_columns(rng, 2), random_columns(rng, 5)
        found, base = explainer.interventional(columns, background, 1, 2, 5)
        for row, values in zip(rows_of(columns), found, strict=True):
            value = background_game(tree, row, rows_of(background))
            np.testing.assert_allclose(values, shapley(value, N), rtol=0, atol=1e-12)
            np.testing.assert_allclose(base, value(frozenset()), rtol=0, atol=1e-12)


def test_deep_paths_need_several_passes_of_points():
    # A path of 40 features: 20 points, in three passes. The value is a product, so the game is known.
    n = 40
    below = leaf(1.0, 1.0)
    for j in range(n):
        below = numeric(j, 0.0, leaf(0.0, 1.0), below, missing=1)
    tree = build(below, n)
    explainer = core.TreeExplainer(SimpleNamespace(**tree.to_ensemble()), 0, list(range(n)), n)
    values = explainer.values(np.ones((9, n)), 1, 9)[:, :, 0]
    np.testing.assert_allclose(values.sum(axis=1), 1.0 - explainer.base()[0], rtol=0, atol=1e-13)
    background, base = explainer.interventional(np.ones((9, n)), np.zeros((3, n)), 1, 9, 3)
    np.testing.assert_allclose(background[:, :, 0], 1 / n, rtol=0, atol=1e-13)
    assert base.tolist() == [0.0]


def test_the_bits_do_not_depend_on_threads_or_on_the_rows_beside_a_row():
    X, y, _ = mixed_data("classifier", 300)
    model = sp.RandomForestClassifier(5, random_state=0).fit(X, y)
    for more in ({}, {"interactions": True}, {"background": X[:40]}):
        one = shap_values(model, X, n_jobs=1, **more)
        assert shap_values(model, X, n_jobs=3, **more).values.tobytes() == one.values.tobytes()
        assert shap_values(model, X[7:8], **more).values.tobytes() == one.values[7:8].tobytes()


def test_the_record_has_names_rows_and_frames():
    X, y, _ = mixed_data("classifier", 60)
    model = sp.DecisionTreeClassifier(max_depth=3).fit(X, y)
    found = model.shap_values(X)
    assert isinstance(found, ShapValues) and len(found) == 60
    assert found.feature_names == ("a", "b", "color", "noise") and found.output_names == ("0", "1", "2")
    assert found.data[:, 2].tolist() == X["color"].astype(object).where(X["color"].notna(), None).tolist()
    frame = found.to_frame()
    assert frame.columns.tolist() == ["row", "output", "base_value", "a", "b", "color", "noise"]
    assert frame["color"].tolist() == found.values[:, 2].ravel().tolist()
    one = found.select("2")
    assert one.values.shape == (60, 4) and one.mean_abs().shape == (4,)
    pairs = model.shap_values(X, interactions=True).select(1).to_frame()
    line = pairs.query("row == 5 and feature == 'a' and other == 'color'")["interaction"]
    assert line.item() == model.shap_values(X, interactions=True).values[5, 0, 2, 1]


def test_features_named_like_other_columns_are_not_lost():
    import pandas as pd

    X = pd.DataFrame({"row": [1.0, 2.0, 3.0], "base_value": [1.0, 5.0, 1.0]})
    found = sp.DecisionTreeRegressor().fit(X, [1.0, 2.0, 3.0]).shap_values(X)
    frame = found.to_frame()
    assert frame.columns.tolist() == ["row", "base_value", "row_", "base_value_"]
    assert frame["row_"].tolist() == found.values[:, 0].tolist()


def test_what_cannot_be_explained_is_refused():
    X, y, _ = mixed_data("classifier", 80)
    numbers = np.random.default_rng(0).normal(size=(80, 2))
    sums = numbers.sum(axis=1) > 0
    with pytest.raises(InputError, match=r"oblique.*permutation_importance"):
        sp.ObliqueTreeClassifier(random_state=0).fit(numbers, sums).shap_values(numbers)
    boosted = sp.GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="raw scores"):
        boosted.shap_values(X, output="probability")
    with pytest.raises(InputError, match="background"):
        boosted.shap_values(X, background=X, interactions=True)
    with pytest.raises(InputError, match="not a sum of trees"):
        shap_values(sp.GaussianNB().fit(np.eye(3), [0, 1, 1]), np.eye(3))
    voting = sp.AdaBoostClassifier(sp.C45Classifier(max_depth=2), n_estimators=3).fit(X, y)
    with pytest.raises(InputError, match=r"Row .* has a missing value in 'a'"):
        voting.shap_values(X)
    with pytest.raises(InputError, match="no output 'x'"):
        boosted.shap_values(X).select("x")
    with pytest.raises(InputError, match="several outputs"):
        boosted.shap_values(X, interactions=True).largest()


def test_the_largest_contributions_come_first():
    X = {"a": [0.0, 1.0, 2.0, 3.0], "b": ["u", "v", "u", "v"]}
    found = sp.DecisionTreeRegressor().fit(X, [1.0, 5.0, 2.0, 6.0]).shap_values(X)
    names = [name for name, _, _ in found.largest(1)]
    sizes = [abs(part) for _, _, part in found.largest(1)]
    assert names == ["b", "a"] and sizes == sorted(sizes, reverse=True)
    (only,) = found.largest(1, n=1)
    assert only == ("b", "v", float(found.values[1, 1]))


def test_trees_that_are_too_deep_are_refused_with_an_error_that_says_so():
    node = leaf([1.0, 0.0])
    for depth in range(5000):
        node = numeric(0, float(depth), node, leaf([0.0, 1.0]))
    model = sp.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    model.tree_ = build(node, 1)
    with pytest.raises(InputError, match=r"too deep to be explained.*permutation_importance"):
        shap_values(model, [[0.0]])
