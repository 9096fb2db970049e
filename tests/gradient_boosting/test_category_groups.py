"""Columns of more categories than a code tells apart."""

import numpy as np

import spinney as sp
from loops import for_each
from spinney.gradient_boosting.categories import group_levels


@for_each("seed", range(20))
def test_groups_are_neighbours_in_value_and_no_more_than_asked(seed):
    rng = np.random.default_rng(seed)
    n, most = int(rng.integers(2, 900)), int(rng.integers(1, 300))
    value, mass = rng.normal(size=n).round(1), rng.exponential(size=n) * (rng.random(n) < 0.9)
    mass[0] += 1
    group = group_levels(value, mass, most)
    assert len(np.unique(group)) == group.max() + 1 <= most
    assert (np.diff(group[np.argsort(value, kind="stable")].astype(int)) >= 0).all()


def test_a_heavy_level_is_alone_and_light_ones_share():
    group = group_levels(np.arange(9.0), np.array([1.0, 1, 1, 1, 50, 1, 1, 1, 1]), 5)
    assert np.sum(group == group[4]) == 1
    assert np.bincount(group).max() == 2


def test_levels_that_fit_are_all_told_apart():
    assert sorted(group_levels(np.array([2.0, 1.0, 3.0]), np.ones(3), 3)) == [0, 1, 2]


def table_of(rng, n_levels, n_rows):
    level = rng.integers(n_levels, size=n_rows)
    effect = rng.normal(size=n_levels)
    return np.array([f"level {k}" for k in range(n_levels)], dtype=object)[level][:, None], effect[level]


def test_a_thousand_levels_are_learned():
    """One code for all rare levels would leave most of what they tell unlearned."""
    rng = np.random.default_rng(0)
    X, mean = table_of(rng, 1000, 40_000)
    y = mean + rng.normal(size=len(mean))
    model = sp.GradientBoostingRegressor(
        categorical_encoding="subset", early_stopping=False, preset="classic"
    ).fit(X[:30_000], y[:30_000])
    assert np.corrcoef(model.predict(X[30_000:]), mean[30_000:])[0, 1] > 0.95
    rare = sp.GradientBoostingClassifier(
        categorical_encoding="subset", early_stopping=False, n_estimators=60, preset="classic"
    )
    of_three = np.digitize(mean, [-0.4, 0.4])
    rare.fit(X[:30_000], of_three[:30_000])
    assert rare.score(X[30_000:], of_three[30_000:]) > 0.8


def test_weights_hold_rows_out_and_missing_values_stay():
    rng = np.random.default_rng(1)
    X, mean = table_of(rng, 400, 6000)
    X[rng.random(6000) < 0.1, 0] = None
    weights = (rng.random(6000) < 0.7).astype(float)
    settings = {"categorical_encoding": "subset", "early_stopping": False, "n_estimators": 20}
    kept = weights > 0
    noisy = np.where(kept, mean, 1e6)  # rows that do not count
    whole = sp.GradientBoostingRegressor(**settings, preset="classic").fit(X, noisy, sample_weight=weights)
    assert np.abs(whole.predict(X)).max() < 10
    assert np.corrcoef(whole.predict(X[kept]), mean[kept])[0, 1] > 0.8


def test_the_file_gives_the_same_answers(tmp_path):
    rng = np.random.default_rng(2)
    X, mean = table_of(rng, 300, 3000)
    model = sp.GradientBoostingRegressor(categorical_encoding="subset", n_estimators=5, preset="classic").fit(
        X, mean
    )
    sp.save(model, tmp_path / "m.spinney")
    np.testing.assert_array_equal(sp.load(tmp_path / "m.spinney").predict(X), model.predict(X))
