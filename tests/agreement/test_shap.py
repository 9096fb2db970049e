"""SHAP values agree with the shap package on the same trees."""

import numpy as np
import pytest

import spinney as sp


def numeric_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.nan_to_num(X[:, 0] * X[:, 1] + X[:, 2]) + rng.normal(scale=0.2, size=400)


def as_shap_trees(ensemble, scale):
    """The trees in the form that shap.TreeExplainer takes; leaves have the child −1."""
    trees = []
    for tree in ensemble.trees():
        left, right = tree.children_left, tree.children_right
        missing = np.where(tree.is_leaf, -1, np.where(tree.missing == 0, left, right))
        # shap compares in float64 if told to; thresholds of leaves are not read.
        trees.append(
            {
                "children_left": left,
                "children_right": right,
                "children_default": missing,
                "features": np.where(tree.is_leaf, 0, tree.feature),
                "thresholds": np.where(tree.is_leaf, 0.0, tree.threshold),
                "values": tree.value.reshape(tree.node_count, -1) * scale,
                "node_sample_weight": tree.weight.copy(),  # written to
            }
        )
    return {"trees": trees, "internal_dtype": np.float64, "input_dtype": np.float64}


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_values_and_interactions_are_those_of_the_shap_package(kind):
    shap = pytest.importorskip("shap")
    X, y = numeric_data()
    if kind == "boosting":
        model = sp.GradientBoostingRegressor(n_estimators=10, random_state=0).fit(X, y)
        ensemble, scale = model.tree_sum().trees, 1.0
    else:
        model = sp.RandomForestRegressor(3, random_state=0).fit(X, y)
        ensemble, scale = model.ensemble_, 1 / 3
    peer = shap.TreeExplainer(as_shap_trees(ensemble, scale))
    rows = X[:20]
    np.testing.assert_allclose(model.shap_values(rows).values, peer.shap_values(rows), rtol=0, atol=1e-9)
    found = model.shap_values(rows, interactions=True).values
    np.testing.assert_allclose(found, peer.shap_interaction_values(rows), rtol=0, atol=1e-9)
    background = shap.TreeExplainer(as_shap_trees(ensemble, scale), X[50:80])
    found = model.shap_values(rows, background=X[50:80]).values
    # shap sums over the background in float32.
    np.testing.assert_allclose(found, background.shap_values(rows), rtol=0, atol=1e-5)


def test_the_plots_of_shap_take_the_explanation():
    shap = pytest.importorskip("shap")
    X, y = numeric_data()
    found = sp.RandomForestRegressor(3, random_state=0).fit(X, y).shap_values(X[:30]).to_explanation()
    assert isinstance(found, shap.Explanation) and found[0].values.shape == (6,)
