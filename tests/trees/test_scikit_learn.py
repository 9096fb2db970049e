"""scikit-learn's own functions accept Spinney's trees and read them as they read its own."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import sklearn.base
import sklearn.ensemble
import sklearn.tree
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_iris
from sklearn.inspection import partial_dependence

import spinney as sp
from spinney.io import dumps, loads


def test_leaves_are_marked_as_in_scikit_learn():
    X, y = load_iris(return_X_y=True)
    own = sp.DecisionTreeClassifier(max_depth=2).fit(X, y)
    for tree in (own.tree_, loads(dumps(own)).tree_, sp.RandomForestClassifier(2).fit(X, y)[0].tree_):
        leaf = tree.children_left == -1
        assert_array_equal(tree.feature[leaf], -2)
        assert_array_equal(tree.threshold[leaf], -2.0)
        assert (tree.feature[~leaf] >= 0).all()


def test_export_text_of_scikit_learn_gives_the_same_text():
    X, y = load_iris(return_X_y=True)
    X = X[:, :1]  # two features of this table are tied
    texts = [
        sklearn.tree.export_text(model.fit(X, y), class_names=["a", "b", "c"], show_weights=True)
        for model in (
            sp.DecisionTreeClassifier(max_depth=2),
            sklearn.tree.DecisionTreeClassifier(max_depth=2),
        )
    ]
    assert texts[0] == texts[1]
    assert "weights" in texts[0]


def test_plot_tree_of_scikit_learn_draws_every_node():
    X, y = load_diabetes(return_X_y=True)
    model = sp.DecisionTreeRegressor(max_depth=3).fit(X, y)
    notes = sklearn.tree.plot_tree(model, filled=True)
    boxes = [note for note in notes if "samples" in note.get_text()]
    assert len(boxes) == model.tree_.node_count


def test_a_class_counts_as_scikit_learns_only_where_that_is_imported():
    code = (
        "import sys, spinney; model = spinney.DecisionTreeRegressor();"
        "assert isinstance(model, spinney.DecisionTreeRegressor);"
        "assert 'sklearn.tree' not in sys.modules; import sklearn.tree;"
        "assert isinstance(model, sklearn.tree.DecisionTreeRegressor);"
        "assert not isinstance(model, sklearn.tree.DecisionTreeClassifier)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("features", [[2], [2, 8]])
@pytest.mark.parametrize("forest", [False, True])
def test_partial_dependence_by_recursion_is_that_of_scikit_learn(features, forest):
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)  # scikit-learn rounds the grid
    if forest:
        model = sp.RandomForestRegressor(3, max_depth=4, random_state=0).fit(X, y)
    else:
        model = sp.DecisionTreeRegressor(max_depth=4).fit(X, y)
    found = partial_dependence(model, X, features, method="recursion", kind="average", grid_resolution=9)
    grid = np.stack(np.meshgrid(*found["grid_values"], indexing="ij"), axis=-1).reshape(-1, len(features))
    trees = [one.tree_ for one in model.estimators_] if forest else [model.tree_]
    expected = [[walk(tree, point, features, 0) for point in grid] for tree in trees]
    assert_allclose(found["average"].ravel(), np.mean(expected, axis=0), rtol=1e-6)


def walk(tree, point, features, node):
    """Friedman's weighted traversal, one point at a time."""
    if tree.children_left[node] == -1:
        return tree.value[node, 0, 0]
    children = tree.children_left[node], tree.children_right[node]
    if tree.feature[node] in features:
        right = point[features.index(tree.feature[node])] > tree.threshold[node]
        return walk(tree, point, features, children[int(right)])
    shares = [tree.weight[child] / tree.weight[node] for child in children]
    return sum(
        share * walk(tree, point, features, child) for share, child in zip(shares, children, strict=True)
    )


@pytest.mark.parametrize(
    "model",
    [
        sp.DecisionTreeRegressor(max_depth=6),
        sp.RandomForestRegressor(10, random_state=0),
        sp.HistGradientBoostingRegressor(max_iter=20),
        sp.HistGradientBoostingClassifier(max_iter=20),
        sp.GradientBoostingRegressor(n_estimators=20, random_state=0),
        sp.GradientBoostingRegressor(n_estimators=20, categorical_encoding="ordered", random_state=0),
        sp.GradientBoostingClassifier(n_estimators=20, random_state=0),
    ],
)
def test_partial_dependence_by_recursion_follows_numbers_and_categories(model):
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {"size": random.normal(size=400), "colour": random.choice(["blue", "green", "red"], 400)}
    )
    y = X["size"] + 2 * (X["colour"] == "red")
    is_classifier = sklearn.base.is_classifier(model)
    model.fit(X, np.digitize(y, [0.0, 1.0]) if is_classifier else y)
    brute = {"method": "brute"} | ({"response_method": "decision_function"} if is_classifier else {})
    for features in (["size"], ["colour"], ["size", "colour"]):
        given = {"features": features, "categorical_features": ["colour"], "grid_resolution": 10}
        found = partial_dependence(model, X, **given)["average"]
        for method in ("auto", "recursion"):
            assert_array_equal(partial_dependence(model, X, method=method, **given)["average"], found)
        expected = partial_dependence(model, X, **given, **brute)["average"]
        assert found.shape == expected.shape
        for one, other in zip(found, expected, strict=True):
            assert np.corrcoef(one.ravel(), other.ravel())[0, 1] > 0.97


@pytest.mark.parametrize(
    "make", [sp.DecisionTreeRegressor, sp.RandomForestRegressor, sp.GradientBoostingRegressor]
)
def test_partial_dependence_by_recursion_has_every_output(make):
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = make(random_state=0).fit(X, np.column_stack([X[:, 0], -X[:, 0]]))
    found = partial_dependence(model, X, [0], grid_resolution=5)["average"]
    assert found.shape == (2, 5)
    assert (np.diff(found[0]) >= 0).all()
    assert (np.diff(found[1]) <= 0).all()


@pytest.mark.parametrize(
    "model", [sp.C45Classifier(max_depth=2), sp.ID3Classifier(numeric_split="threshold", max_depth=2)]
)
def test_scikit_learn_draws_binary_trees_of_other_algorithms(model):
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)
    assert sklearn.tree.export_text(model).startswith("|--- feature_")
    assert "X" in sklearn.tree.export_graphviz(model).upper()
    model.fit([["u"], ["v"], ["w"]] * 4, [0, 1, 2] * 4)
    with pytest.raises(AttributeError, match=r"use spinney\.plot_tree"):
        sklearn.tree.export_text(model)
