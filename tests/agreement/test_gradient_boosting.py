"""Gradient boosting held to a naive booster in float64, node by node, and to scikit-learn's by its loss."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss

from loops import for_each
from oracles.naive_booster import NaiveTree, Node, Settings, boost, derivatives, leaves, refit
from oracles.random_tables import random_table
from spinney import GradientBoostingClassifier, GradientBoostingRegressor

# Gradients are rounded to some 12 to 15 bits before they are added up: gains of the same size may change
# places. Leaves are refitted from the unrounded numbers, and have no such excuse.
GAIN_TOLERANCE = 2e-3

LOSSES = {
    "squared_error": {},
    "absolute_error": {},
    "huber": {"huber_delta": 0.7},
    "quantile": {"quantile": 0.7},
    "poisson": {},
    "gamma": {},
    "tweedie": {"tweedie_power": 1.3},
    "log_loss": {},
    "exponential": {},
    "softmax": {},
}
VARIANTS = {
    "plain": {},
    "regularised": {"l2_regularization": 0.5, "min_gain": 0.01},
    "limits": {"min_samples_leaf": 4, "min_hessian": 0.3, "max_depth": 3},
    "level": {"growth": "level-wise", "max_leaf_nodes": 5},
    "pairs": {"interaction_cst": "no_interactions"},
}
COMMON = {
    "growth": "leaf-wise",
    "preset": "classic",
    "l2_regularization": 0.0,
    "n_estimators": 5,
    "learning_rate": 0.3,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 1,
    "min_hessian": 0.0,
    "categorical_smoothing": 0.0,
    "categorical_l2": 0.0,
    "early_stopping": False,
}


def fit(table, loss, params):
    """Fit to a drawn table; give the model and its targets as numbers."""
    X, weights = table.frame(), np.array(table.weights)
    params = COMMON | params
    if loss in ("log_loss", "exponential", "softmax"):
        n_classes = 3 if loss == "softmax" else 2
        y = np.array(table.y) % n_classes
        y[:n_classes] = np.arange(n_classes)[: len(y)]
        name = "log_loss" if loss == "softmax" else loss
        return GradientBoostingClassifier(name, **params).fit(X, y, weights), y.astype(float)
    y = np.array(table.target) + (0.5 if loss == "gamma" else 0.0)
    if loss == "poisson" and not (y * weights).any():
        y = y + 1.0
    return GradientBoostingRegressor(loss, **LOSSES[loss] | params).fit(X, y, weights), y


def settings_of(model, weights):
    used = np.array([weight for weight in weights if weight > 0])
    unit = min(1.0, used.mean())
    # In the order of G / H the best two sets lie side by side, unless λ or limits come in between.
    free = model.l2_regularization == 0 and model.min_samples_leaf == 1
    return Settings(
        every_subset=free,
        loss=model.loss_.core_name,
        parameter=model.loss_.parameter,
        n_rounds=model.n_estimators,
        learning_rate=model.learning_rate,
        growth=model.growth,
        max_leaf_nodes=model.max_leaf_nodes,
        max_depth=model.max_depth or 10**9,
        min_samples_leaf=unit * model.min_samples_leaf * (1 - 1e-12),
        min_hessian=unit * model.min_hessian,
        l2=model.l2_regularization,
        min_gain=model.min_gain,
        interactions=[[j] for j in range(model.n_features_in_)] if model.interaction_cst else (),
    )


def coded(table):
    """Return the columns with categories as the model numbers them: only those that occur."""
    columns = []
    for column, kind in zip(table.columns, table.kinds, strict=True):
        code_of = {value: code for code, value in enumerate(sorted({v for v in column if v is not None}))}
        columns.append(column if kind == "numeric" else [None if v is None else code_of[v] for v in column])
    return columns


def follow(tree, node, rows, columns):
    """Divide rows as a node of a fitted tree does."""
    feature = int(tree.feature[node])
    codes = tree.goes_first(node, 64) if tree.kind[node] == 2 else None
    left = []
    for row in rows:
        value = columns[feature][row]
        if value is None:
            first = tree.missing[node] == 0
        else:
            first = codes[int(value)] if codes is not None else value <= tree.threshold[node]
        if first:
            left.append(row)
    inside = set(left)
    return left, [row for row in rows if row not in inside]


def audit(tree, naive, table, y, score, settings):
    """Check every node of a tree: no split is much better than the one taken, and leaves are the best."""
    n_levels = max(len(table.columns), 1)
    nodes = {0: Node(naive.alive, 0, -math.inf, math.inf, frozenset(range(n_levels)))}
    weights = np.array(table.weights)
    for number in range(tree.node_count):
        node = nodes[number]
        candidates = [split.gain for split in naive.splits(node)]
        scale = naive.merit(naive.alive) + sum(abs(naive.gradient)) * 1e-3 + 1e-9
        best = max(candidates, default=0.0) if node.depth < settings.max_depth else 0.0
        if tree.is_leaf[number]:
            if tree.n_leaves < settings.max_leaf_nodes:
                assert best <= GAIN_TOLERANCE * scale + 1e-9
            refit_leaf = Node(node.rows, 0, -math.inf, math.inf, frozenset(), naive.newton(node.rows))
            refit(refit_leaf, y, weights, score, settings)
            assert_allclose(tree.value[number, 0, 0], refit_leaf.value, rtol=1e-7, atol=1e-12)
            continue
        left, right = follow(tree, number, node.rows, table.columns)
        assert left and right
        gain = naive.merit(left) + naive.merit(right) - naive.merit(node.rows) - settings.min_gain
        assert gain >= best - GAIN_TOLERANCE * scale
        assert weights[left].sum() >= settings.min_samples_leaf - 1e-9
        assert min(naive.hessian[part].sum() for part in (left, right)) >= settings.min_hessian * (1 - 1e-3)
        allowed = node.allowed & {int(tree.feature[number])} if settings.interactions else node.allowed
        for child, rows in zip(tree.children(number), (left, right), strict=True):
            nodes[child] = Node(rows, node.depth + 1, -math.inf, math.inf, allowed)


def check_table(seed, loss, params):
    table = random_table(seed, max_rows=60, max_columns=4, max_levels=4)
    table.columns = coded(table)
    model, y = fit(table, loss, params)
    used = [weight for weight in table.weights if weight > 0]
    row_weight = min(1.0, sum(used) / len(used))  # shares of a whole are counted in rows
    table.weights = [weight / row_weight for weight in table.weights]
    settings = settings_of(model, table.weights)
    weights, k = np.array(table.weights), model.n_trees_per_iteration_
    alive = [row for row in range(len(y)) if weights[row] > 0]
    scores = np.tile(model.base_score_, (len(y), 1))
    leaf_of = model.apply(table.frame()).reshape(len(y), -1)
    for t, tree in enumerate(model.ensemble_.trees()):
        if t % k == 0:
            gradient, hessian = derivatives(settings.loss, settings.parameter, y.tolist(), scores)
            hessian = np.maximum(hessian, 1e-16)  # as the core has it, so that no leaf divides by 0
            start = scores.copy()
        slopes = gradient[:, t % k] * weights, hessian[:, t % k] * weights
        naive = NaiveTree(table.columns, table.kinds, *slopes, weights, alive, settings)
        audit(tree, naive, table, y.tolist(), start[:, t % k], settings)
        scores[:, t % k] += tree.value[leaf_of[:, t], 0, 0]
    return model, table, y, settings


@pytest.mark.parametrize("loss", LOSSES)
@for_each("seed", range(4))
def test_no_split_is_better_and_every_leaf_is_best(loss, seed):
    check_table(seed + 10 * list(LOSSES).index(loss), loss, {})


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
@for_each("seed", range(3))
def test_limits_and_constraints_are_kept(variant, loss, seed):
    check_table(1000 + seed, loss, VARIANTS[variant])


@pytest.mark.long
@pytest.mark.parametrize("loss", LOSSES)
def test_no_split_is_better_on_many_tables(loss):
    for seed in range(2000, 2060):
        check_table(seed, loss, list(VARIANTS.values())[seed % 5])


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "poisson", "log", "softmax"])
def test_the_whole_course_is_that_of_the_naive_booster(loss):
    rng = np.random.default_rng(5)
    columns = [rng.normal(size=70).round(1).tolist() for _ in range(3)]
    signal = np.array(columns[0]) + np.array(columns[1]) ** 2
    weights = rng.integers(1, 4, 70).astype(float)
    params = COMMON | {"n_estimators": 12, "max_leaf_nodes": 4}
    X = np.array(columns).T
    if loss in ("log", "softmax"):
        y = np.digitize(signal, [0.6] if loss == "log" else [0.2, 1.2])
        model = GradientBoostingClassifier(**params).fit(X, y, weights)
        found = model.decision_function(X).reshape(70, -1)
    else:
        name = {"squared": "squared_error", "absolute": "absolute_error"}.get(loss, loss)
        y = np.exp(signal / 2)
        model = GradientBoostingRegressor(name, **params | LOSSES[name]).fit(X, y, weights)
        found = model.loss_.link.score(model.predict(X))[:, None]
    settings = settings_of(model, weights)
    rounds, scores = boost(
        columns, ["numeric"] * 3, y.tolist(), weights.tolist(), model.base_score_.tolist(), settings
    )

    def mean_loss(scores):
        scores = scores[:, 0] if scores.shape[1] == 1 else scores
        return model.loss_.mean_value(y.astype(float), scores, weights)

    start = mean_loss(np.tile(model.base_score_, (70, 1)))
    # Where two gains are as good as equal either may be taken, and the courses part.
    assert start - mean_loss(found) > 0.97 * (start - mean_loss(scores))
    assert len(leaves(rounds[0][0])) == 4


# ---- scikit-learn ----


def drawn(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    X[rng.random((n, 8)) < 0.05] = np.nan
    filled = np.nan_to_num(X)
    return X, filled[:, 0] * filled[:, 1] + np.sin(2 * filled[:, 2]) + 0.3 * rng.normal(size=n)


@pytest.mark.long
@for_each("seed", range(2))
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile", "poisson", "gamma"])
def test_regression_is_as_good_as_scikit_learns(loss, seed):
    X, signal = drawn(seed=seed)
    y = np.exp(np.clip(signal, -2, 2) / 2)
    more = {"quantile": 0.8} if loss == "quantile" else {}
    ours = GradientBoostingRegressor(loss, **more, preset="classic").fit(X[:1000], y[:1000])
    theirs = HistGradientBoostingRegressor(loss=loss, early_stopping=False, **more).fit(X[:1000], y[:1000])
    link = ours.loss_.link

    def test_loss(model):
        return ours.loss_.mean_value(y[1000:], link.score(np.maximum(model.predict(X[1000:]), 1e-9)), None)

    perfect = ours.loss_.mean_value(y[1000:], link.score(y[1000:]), None)
    assert test_loss(ours) - perfect <= 1.05 * (test_loss(theirs) - perfect)


@pytest.mark.long
@pytest.mark.parametrize("n_classes", [2, 4])
def test_classification_is_as_good_as_scikit_learns(n_classes):
    X, signal = drawn()
    y = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    ours = GradientBoostingClassifier(preset="classic").fit(X[:1000], y[:1000])
    theirs = HistGradientBoostingClassifier(early_stopping=False).fit(X[:1000], y[:1000])
    mine, others = (log_loss(y[1000:], model.predict_proba(X[1000:])) for model in (ours, theirs))
    assert mine <= 1.05 * others
