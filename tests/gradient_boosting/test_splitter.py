"""splitter="random": one threshold per feature and node, drawn among those of the node's rows."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from spinney import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.io import dumps

ONE_TREE = {"preset": "classic", "n_estimators": 1, "learning_rate": 1.0, "splitter": "random"}


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, size=(n, 4)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + rng.normal(size=n)
    return X, y


def gain(g, left, l2):
    if left.all():
        return 0.0
    return sum(g[side].sum() ** 2 / (side.sum() + l2) for side in (left, ~left)) - g.sum() ** 2 / (
        len(g) + l2
    )


@pytest.mark.parametrize("growth", ["leaf-wise", "symmetric"])
def test_every_threshold_of_the_root_is_drawn_and_the_best_feature_wins(growth):
    X, y = table()
    g, seen, n_equal = y.mean() - y, set(), 0
    for seed in range(150):
        model = GradientBoostingRegressor(
            **ONE_TREE, growth=growth, max_depth=1, min_samples_leaf=1, random_state=seed, ledger="full"
        ).fit(X, y)
        root = model.ledger_.candidates[0].to_frame().query("node == 0")
        assert len(root) == X.shape[1]  # one candidate of each feature
        n_equal += root["threshold"].nunique() == 1
        gains = []
        for feature, threshold in zip(root["feature"], root["threshold"], strict=True):
            column = X[:, ["x0", "x1", "x2", "x3"].index(feature)]
            missing_left = gain(g, np.nan_to_num(column, nan=-np.inf) <= threshold, 0.0)
            missing_right = gain(g, np.nan_to_num(column, nan=np.inf) <= threshold, 0.0)
            gains.append(max(missing_left, missing_right))
            seen.add((feature, threshold))
        assert root["chosen"].to_numpy().argmax() == np.argmax(gains)
    # Between each two of the nine values, and known against missing values.
    assert len(seen) == 4 * 9
    assert n_equal < 10  # features have draws of their own


@pytest.mark.parametrize("growth", ["leaf-wise", "level-wise", "symmetric"])
def test_the_model_is_bit_equal_for_any_number_of_threads(growth):
    X, y = table(3000)
    X = pd.DataFrame(X, columns=list("wxyz")).assign(
        c=pd.Categorical.from_codes(np.arange(3000) % 13, list("abcdefghijklm"))
    )
    params = {"growth": growth, "splitter": "random", "n_estimators": 5, "random_state": 1}
    model = GradientBoostingRegressor(preset="classic", **params)
    models = {dumps(model.set_params(n_jobs=n).fit(X, y).set_params(n_jobs=None)) for n in (1, 2, 3)}
    assert len(models) == 1
    drawn = model.predict(X)
    assert (model.set_params(splitter="best").fit(X, y).predict(X) != drawn).any()


def test_random_thresholds_respect_constraints_and_leaf_sizes():
    X, y = table(600)
    model = GradientBoostingRegressor(
        preset="classic", splitter="random", n_estimators=20, monotonic_cst=[1, 0, 0, 0], min_samples_leaf=30
    ).fit(X, y)
    assert min(tree.weight[tree.n_children == 0].min() for tree in model.ensemble_.trees()) >= 30
    grid = np.nan_to_num(X[:50])
    grid[:, 0] = 0
    below = model.predict(grid)
    for value in range(1, 9):
        grid[:, 0] = value
        above = model.predict(grid)
        assert (above >= below).all()
        below = above


def test_smooth_targets_are_learned_better_by_many_random_trees():
    rng = np.random.default_rng(0)
    X, X_test = rng.normal(size=(2, 1500, 6))
    y, y_test = (rows[:, 0] * rows[:, 1] + np.sin(2 * rows[:, 2]) for rows in (X, X_test))
    y = y + 0.5 * rng.normal(size=1500)
    errors = {
        splitter: np.mean((
            GradientBoostingRegressor(growth="leaf-wise", splitter=splitter, random_state=0)
            .fit(X, y).predict(X_test) - y_test
        ) ** 2)
        for splitter in ("best", "random")
    }  # fmt: skip
    assert errors["random"] < 0.9 * errors["best"]


def test_two_classes_and_categories_are_cut_at_random_places():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, size=1000)
    y = rng.random(1000) < codes / 12
    X = pd.DataFrame({"c": pd.Categorical.from_codes(codes, list("abcdefghijkl"))})
    sizes = set()
    for seed in range(60):
        model = GradientBoostingClassifier(
            **ONE_TREE, max_depth=1, min_samples_leaf=1, categorical_smoothing=0, random_state=seed
        ).fit(X, y)
        leaves = model.apply(X).ravel()
        ratio = [y[leaves == leaf].mean() for leaf in np.unique(leaves)]
        assert len(ratio) == 2 and ratio[0] != ratio[1]
        sizes.add(len(np.unique(codes[leaves == leaves[codes == 0][0]])))
    assert sizes == set(range(1, 12))  # prefixes of the categories in the order of their ratio


def test_a_random_splitter_continues_and_predicts_as_any_other():
    X, y = table()
    params = {"preset": "classic", "splitter": "random", "random_state": 2}
    whole = GradientBoostingRegressor(**params, n_estimators=12).fit(X, y)
    part = GradientBoostingRegressor(**params, n_estimators=5, warm_start=True).fit(X, y)
    assert_allclose(part.set_params(n_estimators=12).fit(X, y).predict(X), whole.predict(X), rtol=0)
