"""Symmetric trees: one split per level, the one with the largest sum of gains."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from spinney import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.core.errors import InputError
from spinney.io import dumps
from spinney.native import core


def one_tree(depth=3, l2=0.5, **params):
    return GradientBoostingRegressor(
        preset="classic",
        growth="symmetric",
        n_estimators=1,
        learning_rate=1.0,
        max_depth=depth,
        l2_regularization=l2,
        **params,
    )


def quality(g, l2):
    return g.sum() ** 2 / (len(g) + l2) if len(g) else 0.0


def naive_leaves(X, y, depth, l2):
    """Return the leaf of each row; every level takes the split of largest total gain among all thresholds."""
    leaf = np.zeros(len(y), dtype=int)
    g = y.mean() - y
    for _ in range(depth):
        best = (0.0, None)
        for j in range(X.shape[1]):
            for threshold in np.unique(X[:, j])[:-1]:
                left = X[:, j] <= threshold
                gain = 0.0
                for k in np.unique(leaf):
                    own = leaf == k
                    gain += quality(g[own & left], l2) + quality(g[own & ~left], l2) - quality(g[own], l2)
                if gain > best[0] + 1e-9:
                    best = (gain, left)
        leaf = 2 * leaf + (best[1] if best[1] is not None else 0)
    return leaf


@pytest.mark.parametrize("seed", range(4))
def test_every_level_has_the_split_of_largest_total_gain(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 7, size=(150, 4)).astype(float)
    y = X[:, 0] * X[:, 1] + np.abs(X[:, 2] - 3) + rng.normal(size=150)
    model = one_tree().fit(X, y)
    leaf = naive_leaves(X, y, 3, 0.5)
    expected = np.empty(len(y))
    for k in np.unique(leaf):
        own = leaf == k
        expected[own] = y.mean() + (y[own] - y.mean()).sum() / (own.sum() + 0.5)
    assert_allclose(model.predict(X), expected, rtol=1e-6)


def mix(a, b):
    """Return output b + 1 of SplitMix64 with seed a."""
    z = (a + 0x9E3779B97F4A7C15 * (b + 1)) % 2**64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return z ^ (z >> 31)


def noisy_leaves(X, g, depth, l2, deviation, tree_address):
    """Return the leaf of each row; every level takes the split of largest noisy score."""
    leaf = np.zeros(len(g), dtype=int)
    for level in range(depth):
        address, best = mix(mix(tree_address, level + 1), 1), (-np.inf, None)
        for j in range(X.shape[1]):
            for i, threshold in enumerate(np.unique(X[:, j])[:-1]):
                left = X[:, j] <= threshold
                nodes = [leaf == k for k in np.unique(leaf)]
                total = sum(quality(g[own & left], l2) + quality(g[own & ~left], l2) for own in nodes)
                if total <= sum(quality(g[own], l2) for own in nodes):
                    continue
                bits = mix(mix(address, j), i)
                draw = sum(bits >> shift & 0xFFFF for shift in (0, 16, 32, 48)) / 65536 - 2
                score = np.sqrt(total) + deviation * draw * np.sqrt(3)
                if score > best[0]:
                    best = (score, left)
        leaf = 2 * leaf + best[1]
    return leaf


@pytest.mark.parametrize("first_round", [0, 5])
def test_random_strength_adds_noise_that_fades_to_the_scores(first_round):
    rng = np.random.default_rng(4)
    X, l2, rate, seed = rng.integers(0, 6, size=(120, 3)).astype(float), 0.5, 1.0, 11
    y = X[:, 0] * X[:, 1] + rng.normal(size=120)
    codes = core.build_codes(list(X.T.copy()), [0, 0, 0], None, 255, 1)
    for strength in (0.5, 4.0):
        options = core.BoostOptions(
            growth="symmetric",
            max_depth=3,
            l2_regularization=l2,
            learning_rate=rate,
            random_strength=strength,
            seed=seed,
            first_round=first_round,
        )
        booster = core.Booster(codes, options)
        booster.set_rows(y, None, np.zeros((120, 1)))
        booster.run("squared", [0.0], 1)
        rest = 120 * np.exp(-rate * first_round)
        deviation = strength * np.sqrt((y**2).mean()) * rest / (1 + rest)
        leaf = noisy_leaves(X, -y, 3, l2, deviation, mix(mix(seed, first_round), 0))
        expected = np.empty(120)
        for k in np.unique(leaf):
            own = leaf == k
            expected[own] = y[own].sum() / (own.sum() + l2)
        assert_allclose(booster.scores[:, 0], expected, rtol=1e-6)


def test_random_strength_needs_symmetric_trees():
    X = np.arange(100.0).reshape(-1, 1)
    with pytest.raises(InputError, match="random_strength=2 has no effect on leaf-wise trees"):
        GradientBoostingRegressor(random_strength=2, growth="leaf-wise").fit(X, X[:, 0])


def test_nodes_of_a_level_share_their_split():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    X[rng.random(X.shape) < 0.2] = np.nan
    y = np.where(np.nan_to_num(X[:, 0]) > 0, 1, 2) * (np.nan_to_num(X[:, 1]) > 0) + np.isnan(X[:, 2])
    model = one_tree(depth=3, l2=1.0).fit(X, y)
    tree = model.ensemble_.tree(0)
    depth = tree.depth
    for level in range(depth.max()):
        inner = (depth == level) & (tree.feature >= 0)
        assert len({*zip(tree.feature[inner], tree.threshold[inner], strict=True)}) == 1
    assert len(depth) == 15  # no node was left whole, so depths are levels


def test_categories_missing_values_and_weights_are_learned():
    rng = np.random.default_rng(1)
    names = rng.choice(["red", "green", "blue", "black"], size=600)
    number = np.where(rng.random(600) < 0.3, np.nan, rng.normal(size=600))
    y = (np.isin(names, ["red", "blue"]) ^ np.isnan(number)).astype(int)
    X = pd.DataFrame({"name": names, "number": number})
    for split in ("subset", "one-vs-rest"):
        model = GradientBoostingClassifier(growth="symmetric", categorical_split=split, random_state=0)
        assert model.fit(X, y).score(X, y) == 1.0
        twice = GradientBoostingClassifier(
            preset="classic", growth="symmetric", categorical_split=split, n_estimators=5, random_state=0
        )
        weights = rng.integers(0, 3, len(y))
        repeated = np.repeat(np.arange(len(y)), weights)
        by_weight = twice.fit(X, y, weights).predict_proba(X)
        assert_allclose(by_weight, twice.fit(X.iloc[repeated], y[repeated]).predict_proba(X), rtol=1e-6)


def test_any_number_of_threads_gives_the_same_bytes():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(6000, 12))
    y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2], [-0.5, 0.5])
    fits = [
        GradientBoostingClassifier(growth="symmetric", n_estimators=8, random_state=0, n_jobs=n).fit(X, y)
        for n in (1, 2, 3)
    ]
    assert dumps(fits[0].ensemble_) == dumps(fits[1].ensemble_) == dumps(fits[2].ensemble_)


def test_the_ledger_has_the_candidates_of_every_level():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    model = one_tree(ledger="full").fit(X, X[:, 0] * X[:, 1])
    frame = model.ledger_.candidates[0].to_frame()
    is_split = model.ensemble_.feature >= 0
    assert frame["chosen"].sum() == is_split.sum() >= 3
    chosen = frame[frame["chosen"]].set_index("node")
    assert_allclose(chosen["threshold"].sort_index(), model.ensemble_.threshold[is_split])
