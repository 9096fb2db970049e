"""Ordered target statistics: against a loop over the rows, and against the leak that they avoid."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from spinney import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.core.seeds import stream
from spinney.data.schema import read_table
from spinney.gradient_boosting.categories import TargetStatistics, many_levels
from spinney.io import ModelFileError, dumps, loads


def table(n=60, levels=6, seed=0):
    rng = np.random.default_rng(seed)
    cells = np.array([f"c{i}" for i in range(levels)] + [None], dtype=object)[rng.integers(0, levels + 1, n)]
    X = pd.DataFrame({"x": rng.normal(size=n), "c": cells})
    return read_table(X), rng.normal(size=(n, 1)), rng.integers(0, 3, n).astype(float)


def test_means_over_all_rows_by_hand():
    rows = read_table(pd.DataFrame({"c": ["a", "a", "b", None]}))
    y = np.array([[1.0], [3.0], [5.0], [7.0]])
    found = TargetStatistics.learn(rows, [0], y, np.array([1.0, 1.0, 2.0, 0.0]))
    prior = (1 + 3 + 2 * 5) / 4
    assert_allclose(found.means[0].ravel(), [(4 + prior) / 3, (10 + prior) / 3, prior])
    again = rows.schema.read(pd.DataFrame({"c": ["b", "never seen", None]}))
    assert_allclose(found.encode(again).column(0), [(10 + prior) / 3, prior, prior])


def test_each_row_gets_the_mean_of_those_before_it():
    rows, y, weights = table()
    found = TargetStatistics.learn(rows, [1], y, weights)
    encoded = found.encode_ordered(rows, y, weights, seed=9).column(1)
    prior, codes = np.average(y[:, 0], weights=weights), rows.column(1)
    order = stream(9, 101).permutation(60)
    for place, row in enumerate(order):
        before = [other for other in order[:place] if codes[other] == codes[row]]
        if weights[row] == 0:  # held out: as a new row
            before = [other for other in range(60) if codes[other] == codes[row]]
        total = sum(weights[other] for other in before)
        expected = (sum(weights[other] * y[other, 0] for other in before) + prior) / (total + 1)
        assert encoded[row] == pytest.approx(expected, rel=1e-9)


def test_a_row_tells_nothing_of_its_own_target():
    rows, y, weights = table()
    weights = np.ones(60)
    base = TargetStatistics.learn(rows, [1], y, weights).encode_ordered(rows, y, weights, 3).column(1)
    last = stream(3, 101).permutation(60)[-1]
    changed = y.copy()
    changed[last] += 60.0
    other = (
        TargetStatistics.learn(rows, [1], changed, weights)
        .encode_ordered(rows, changed, weights, 3)
        .column(1)
    )
    # Only through the mean of all rows, which is 1 higher.
    assert 0 < other[last] - base[last] <= 1.0 + 1e-12


def test_several_classes_have_a_column_each():
    rows, _, _ = table()
    codes = np.random.default_rng(1).integers(0, 3, 60)
    targets = (codes[:, None] == np.arange(3)).astype(float)
    found = TargetStatistics.learn(rows, [1], targets, np.ones(60))
    encoded = found.encode(rows)
    assert encoded.schema.names == ("x", "c", "c (class 1)", "c (class 2)")
    assert_array_equal(found.origin(2), [0, 1, 1, 1])
    shares = np.stack([encoded.column(j) for j in (1, 2, 3)], axis=1)
    assert_allclose(shares.sum(axis=1), 1.0)
    assert_array_equal(encoded.column(0), rows.column(0))
    assert many_levels(rows.schema, 5) == [1] and many_levels(rows.schema, 6) == []


# ---- in the estimators ----


def shops(n=3000, n_shops=600, seed=0):
    """Make rows whose target depends on which of many shops they are from."""
    rng = np.random.default_rng(seed)
    level = np.random.default_rng(99).normal(size=n_shops)
    shop, x = rng.integers(0, n_shops, n), rng.normal(size=n)
    X = pd.DataFrame({"shop": [f"shop {i}" for i in shop], "x": x})
    return X, level[shop] + 0.5 * x + 0.3 * rng.normal(size=n)


def test_many_levels_are_numbers_by_default_and_help():
    X, y = shops(6000)
    model = GradientBoostingRegressor(random_state=0, early_stopping=False, preset="classic").fit(X, y)
    assert model.statistics_.features == (0,)
    new_X, new_y = shops(seed=1)
    noise = X.assign(shop="all the same")
    without = GradientBoostingRegressor(random_state=0, preset="classic").fit(noise, y)
    assert model.score(new_X, new_y) > 0.6 > without.score(new_X.assign(shop="all the same"), new_y) + 0.3
    assert model.feature_importances_.shape == (2,) and model.feature_importances_[0] > 0.5
    assert model.split_counts().shape == (2,)


def test_a_label_of_its_own_for_every_row_is_not_believed():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"id": [f"row {i}" for i in range(1000)], "x": rng.normal(size=1000)})
    y = rng.integers(0, 2, 1000)
    model = GradientBoostingClassifier(random_state=0, preset="classic").fit(X, y)
    assert model.feature_importances_[0] < 0.1
    assert len(model.predict(X.assign(id="unheard of"))) == 1000


def test_the_encoding_is_chosen_by_the_number_of_levels():
    X, y = shops(400, n_shops=20)
    assert not hasattr(GradientBoostingRegressor(preset="classic").fit(X, y), "statistics_")
    ordered = GradientBoostingRegressor(categorical_encoding="ordered", random_state=0, preset="classic").fit(
        X, y
    )
    assert ordered.statistics_.features == (0,)
    many_X, many_y = shops(900)
    assert hasattr(GradientBoostingRegressor(preset="classic").fit(many_X, many_y), "statistics_")
    subset = GradientBoostingRegressor(categorical_encoding="subset", preset="classic").fit(many_X, many_y)
    assert not hasattr(subset, "statistics_")


def test_constraints_speak_of_the_features_not_of_their_numbers():
    X, y = shops(900)
    classes = np.digitize(y, [-0.5, 0.5])
    model = GradientBoostingClassifier(
        interaction_cst=[["shop"], ["x"]], n_estimators=10, random_state=0, preset="classic"
    )
    model.fit(X, classes)
    assert model.ensemble_.n_features == 4
    for tree in model.ensemble_.trees():
        on_x = {bool(feature == 1) for feature in tree.feature[~tree.is_leaf].tolist()}
        assert len(on_x) <= 1
    rising = GradientBoostingRegressor(monotonic_cst={"x": 1}, random_state=0, preset="classic").fit(X, y)
    line = pd.DataFrame({"shop": "shop 3", "x": np.linspace(-3, 3, 50)})
    assert (np.diff(rising.predict(line)) >= 0).all()
    with pytest.raises(ValueError, match="categorical feature"):
        GradientBoostingRegressor(monotonic_cst={"shop": 1}, preset="classic").fit(X, y)


def test_missing_is_a_level_and_sparse_tables_are_encoded_too():
    X, y = shops(900)
    X.loc[::3, "shop"] = None
    y = np.where(X["shop"].isna(), 9.0, y)
    model = GradientBoostingRegressor(random_state=0, preset="classic").fit(X, y)
    assert model.predict(X)[::3].min() > 8.0
    assert model.schema_.features[0].has_missing
    numbers = np.column_stack([np.arange(900) % 300, np.arange(900) % 7]).astype(float)
    settings = {"categorical_features": [0], "random_state": 0, "n_estimators": 10}
    dense = GradientBoostingRegressor(**settings, preset="classic").fit(numbers, y)
    lazy = GradientBoostingRegressor(**settings, preset="classic").fit(sparse.csr_array(numbers), y)
    assert_array_equal(dense.predict(numbers), lazy.predict(sparse.csr_array(numbers)))


def test_going_on_with_other_rows_keeps_the_numbers():
    X, y = shops(900)
    new_X, new_y = X[::-1].reset_index(drop=True), y[::-1] + 1.0
    model = GradientBoostingRegressor(n_estimators=5, warm_start=True, random_state=0, preset="classic").fit(
        X, y
    )
    before = model.statistics_
    model.set_params(n_estimators=10).fit(new_X, new_y)
    assert model.statistics_.equals(before)
    assert model.n_iter_ == 10


@pytest.mark.parametrize(
    "damage",
    [
        {"features": (0, 1)},
        {"features": ()},
        {"means": (np.full((601, 1), np.nan),)},
        {"means": (np.zeros((5, 1)),)},
        {"features": (1,)},
        {"features": (7,)},
        {"means": ("none",)},
    ],
)
def test_damaged_statistics_in_a_file_are_refused(damage):
    X, y = shops(900)
    model = GradientBoostingRegressor(n_estimators=2, random_state=0, preset="classic").fit(X, y)
    assert loads(dumps(model)).statistics_.equals(model.statistics_)
    for name, value in damage.items():
        object.__setattr__(model.statistics_, name, value)
    with pytest.raises(ModelFileError):
        loads(dumps(model))
