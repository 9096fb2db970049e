"""Bootstrap samples depend on (seed, member) and on the content of rows, not on their order."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from contracts.learners import mixed_data
from spinney.bagging.sampling import (
    BootstrapSamples,
    are_counts,
    draw_columns,
    member_seed,
    row_order,
    sample_size,
)
from spinney.core.errors import InputError
from spinney.data import read_table
from spinney.io import dumps, loads

SEEDS = st.integers(0, 2**64 - 1)


def draw_rows(seed, t, n_rows, n_draw, bootstrap, **more):
    return BootstrapSamples(seed, n_rows, n_draw, bootstrap, 1, 1, **more).counts(t)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, n=st.integers(2, 3000))
def test_a_bootstrap_leaves_out_what_the_formula_says(seed, n):
    members = max(30, 6000 // n)
    shares = [np.mean(draw_rows(seed, t, n, n, True) == 0) for t in range(members)]
    expected = (1 - 1 / n) ** n
    # No more than the variance of independent rows, which is a little larger.
    noise = np.sqrt(expected * (1 - expected) / (n * members))
    assert abs(np.mean(shares) - expected) < 6 * noise


def test_the_left_out_share_tends_to_one_over_e():
    assert np.mean(draw_rows(3, 0, 400_000, 400_000, True) == 0) == pytest.approx(np.exp(-1), abs=0.004)


@pytest.mark.parametrize("bootstrap", [True, False])
def test_every_row_has_the_same_chance(bootstrap):
    n, members = 20, 4000
    total = sum(draw_rows(1, t, n, 10, bootstrap) for t in range(members))
    expected = members * 10 / n
    assert total.sum() == members * 10
    assert (np.abs(total - expected) < 6 * np.sqrt(expected)).all()


@settings(max_examples=50, deadline=None)
@given(seed=SEEDS, t=st.integers(0, 1000), n=st.integers(1, 200), data=st.data())
def test_pasting_draws_each_row_at_most_once(seed, t, n, data):
    n_draw = data.draw(st.integers(1, n))
    counts = draw_rows(seed, t, n, n_draw, False)
    assert counts.sum() == n_draw
    assert set(counts.tolist()) <= {0, 1}


def test_draws_depend_on_seed_and_member_alone():
    first = draw_rows(5, 2, 100, 100, True)
    assert_array_equal(first, draw_rows(5, 2, 100, 100, True))
    assert (first != draw_rows(5, 3, 100, 100, True)).any()
    assert (first != draw_rows(6, 2, 100, 100, True)).any()
    assert len({member_seed(seed, t) for seed in range(20) for t in range(20)}) == 400


def test_many_more_draws_than_rows():
    counts = draw_rows(0, 0, 2, 3_000_000, True)
    assert counts.sum() == 3_000_000
    assert abs(counts[0] - 1_500_000) < 6 * np.sqrt(750_000)


# ---- weights ----


@settings(max_examples=60, deadline=None)
@given(
    seed=SEEDS,
    weights=st.lists(st.integers(0, 5), min_size=1, max_size=30),
    bootstrap=st.booleans(),
    data=st.data(),
)
def test_an_integer_weight_counts_copies_of_a_row(seed, weights, bootstrap, data):
    total = sum(weights)
    if not total:
        return
    n_draw = data.draw(st.integers(1, total))
    weighted = draw_rows(seed, 0, len(weights), n_draw, bootstrap, weights=np.array(weights, float))
    copies = draw_rows(seed, 0, total, n_draw, bootstrap)
    of_row = np.repeat(np.arange(len(weights)), weights)
    assert_array_equal(weighted, np.bincount(of_row, copies, minlength=len(weights)))


def test_other_weights_are_chances_with_replacement():
    weights = np.array([0.5, 0.0, 1.5, 3.0])
    total = sum(draw_rows(7, t, 4, 4, True, weights=weights) for t in range(5000))
    expected = 20_000 * weights / weights.sum()
    assert total[1] == 0
    assert (np.abs(total - expected) <= 6 * np.sqrt(expected)).all()


def test_other_weights_are_kept_without_replacement():
    weights = np.array([0.5, 0.0, 1.5, 3.0])
    total = sum(draw_rows(7, t, 4, 2, False, weights=weights) for t in range(3000))
    assert total[1] == 0
    assert (np.abs(total[[0, 2, 3]] - 2000) < 6 * np.sqrt(2000 / 3)).all()
    samples = BootstrapSamples(0, 4, 2, False, 1, 1, weights=weights)
    assert samples.keeps_weights
    assert not BootstrapSamples(0, 4, 2, True, 1, 1, weights=weights).keeps_weights
    assert not BootstrapSamples(0, 4, 2, False, 1, 1, weights=np.floor(weights)).keeps_weights


@pytest.mark.parametrize("weights", [[1e300, 1e300, 0.0], [5e-324, 5e-324, 0.0], [1e300, 1e-300, 0.0]])
def test_extreme_weights_are_chances_too(weights):
    counts = draw_rows(0, 0, 3, 50, True, weights=np.array(weights))
    assert counts.sum() == 50
    assert counts[2] == 0


def test_what_counts_rows():
    assert are_counts(None)
    assert are_counts(np.array([3.0, 0.0]))
    assert not are_counts(np.array([3.0, 0.5]))
    assert not are_counts(np.array([1e6, 1e9]))  # too large to be meant so


@pytest.mark.parametrize(
    "max_samples, weights, expected",
    [
        (None, None, 10),
        (1.0, None, 10),
        (0.25, None, 2),
        (0.01, None, 1),
        (7, None, 7),
        (1.0, np.full(10, 3.0), 30),
        (0.5, np.full(10, 0.3), 5),
        (1.0, np.r_[0.0, np.full(9, 0.3)], 9),
        (25, np.full(10, 0.3), 25),
    ],
)
def test_the_size_of_a_sample(max_samples, weights, expected):
    assert sample_size(max_samples, True, 10, weights) == expected


def test_impossible_sizes_are_refused():
    with pytest.raises(InputError, match="11, but there are 10 rows"):
        sample_size(11, False, 10, None)
    with pytest.raises(InputError, match="3, but there are 2 rows"):
        sample_size(3, False, 3, np.array([0.5, 0.5, 0.0]))
    with pytest.raises(InputError, match="max_samples"):
        sample_size(10**12, True, 10, None)


# ---- columns ----


def test_columns_without_replacement_are_distinct_and_ascending():
    drawn = np.array([draw_columns(member_seed(0, t), 10, 4, False) for t in range(2000)])
    assert (np.diff(drawn, axis=1) > 0).all()
    expected = 2000 * 4 / 10
    assert (np.abs(np.bincount(drawn.ravel(), minlength=10) - expected) < 6 * np.sqrt(expected)).all()


def test_columns_with_replacement_may_come_twice():
    drawn = [draw_columns(member_seed(0, t), 5, 5, True) for t in range(50)]
    assert all((np.diff(columns) >= 0).all() for columns in drawn)
    assert any(len(set(columns.tolist())) < 5 for columns in drawn)
    assert_array_equal(draw_columns(0, 5, 5, False), np.arange(5))


def test_rows_and_columns_are_drawn_apart():
    few = BootstrapSamples(3, 50, 50, True, 10, 2)
    many = BootstrapSamples(3, 50, 50, True, 10, 9)
    assert_array_equal(few.counts(4), many.counts(4))
    assert len({few.estimator_seed(4), few.parameter_seed(4), member_seed(3, 4)}) == 3


# ---- samples ----


def test_a_sample_can_be_drawn_again():
    order = np.random.default_rng(0).permutation(6)
    samples = BootstrapSamples(1, 6, 6, True, 3, 2, weights=np.array([2.0, 0, 1, 1, 1, 1]), order=order)
    again = loads(dumps(samples))
    for t in range(5):
        counts = samples.counts(t)
        assert_array_equal(counts, again.counts(t))
        assert_array_equal(np.bincount(samples.rows(t), minlength=6), counts)
        assert_array_equal(samples.out_of_bag_rows(t), [i for i in range(6) if counts[i] == 0 and i != 1])
    assert samples.same_draws(again)
    assert not samples.same_draws(BootstrapSamples(1, 6, 6, True, 3, 2, weights=None, order=order))
    assert not samples.same_draws(BootstrapSamples(1, 6, 5, True, 3, 2, weights=samples.weights, order=order))


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": -1},
        {"seed": 2**64},
        {"n_rows": 0},
        {"n_rows": 6.0},
        {"n_draw": 0},
        {"n_draw": 10**15},
        {"n_draw": 7, "bootstrap": False},
        {"bootstrap": 1},
        {"n_columns_drawn": 4},
        {"order": np.zeros(6, np.int64)},
        {"order": np.arange(5)},
        {"order": np.arange(6) - 1},
        {"order": [0, 1, 2, 3, 4, 5]},
        {"weights": np.zeros(6)},
        {"weights": np.full(6, np.nan)},
        {"weights": np.full(6, -1.0)},
        {"weights": np.ones(5)},
    ],
)
def test_invalid_samples_are_refused(wrong):
    right = {"seed": 0, "n_rows": 6, "n_draw": 6, "bootstrap": True, "n_columns": 3, "n_columns_drawn": 3}
    BootstrapSamples(**right)
    with pytest.raises(ValueError):
        BootstrapSamples(**right | wrong)


@pytest.mark.parametrize("weights", [None, [2.0, 0.0, 1.0, 5.0], [0.5, 0.0, 1.5, 0.25]])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_rows_are_drawn_as_often_as_expected(weights, bootstrap):
    own = None if weights is None else np.array(weights)
    more = {"n_columns": 1, "n_columns_drawn": 1, "weights": own}
    samples = BootstrapSamples(seed=0, n_rows=4, n_draw=2, bootstrap=bootstrap, **more)
    mean = np.mean([samples.counts(t) for t in range(4000)], axis=0)
    assert np.abs(mean - samples.expected_counts()).max() < 0.05
    assert samples.expected_counts().sum() == pytest.approx(2)


def in_order(X, y):
    order = row_order(X, y)
    assert_array_equal(np.sort(order), np.arange(len(y)))
    return order


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_shuffled_rows_come_in_the_same_order(kind):
    X, y, _ = mixed_data(kind, 200)
    shuffle = np.random.default_rng(0).permutation(200)
    assert_array_equal(in_order(X, y), shuffle[in_order(X.iloc[shuffle], y[shuffle])])


def test_draws_follow_the_rows():
    X, y, weights = mixed_data("classifier", 100)
    shuffle = np.random.default_rng(1).permutation(100)
    shuffled = {"weights": weights[shuffle], "order": row_order(X.iloc[shuffle], y[shuffle])}
    counts = BootstrapSamples(0, 100, 100, True, 1, 1, weights=weights, order=row_order(X, y)).counts(7)
    assert_array_equal(counts[shuffle], BootstrapSamples(0, 100, 100, True, 1, 1, **shuffled).counts(7))


def test_copies_lie_side_by_side_where_the_weighted_row_lies():
    X, y, _ = mixed_data("classifier", 60)
    weights = np.random.default_rng(2).integers(0, 4, 60)
    copied = np.repeat(np.arange(60), weights)
    weighted = row_order(X, y)
    order = row_order(X.iloc[copied], y[copied])
    assert_array_equal(copied[order], np.repeat(weighted, weights[weighted]))


def test_a_category_of_no_weight_changes_nothing():
    # Its code would move the codes of all that follow it.
    X = pd.DataFrame({"color": ["aa", "red", "blue", "green"]})
    y = np.array(["no", "yes", "yes", "no"])
    assert_array_equal(row_order(X[1:], y[1:]) + 1, [row for row in row_order(X, y) if row != 0])


def test_one_table_in_many_forms():
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 3, (50, 4)).astype(float)
    X[X == 0] *= rng.choice([-1.0, 1.0], (X == 0).sum())
    y = rng.normal(size=50)
    expected = row_order(X, y)
    others = [X.astype(np.float32), np.asfortranarray(X), X.tolist(), X + 0.0, X.astype(int)]
    others += [sparse.csr_array(X), sparse.csc_array(X), sparse.coo_matrix(X)]
    others += [pd.DataFrame(X), pl.DataFrame(X), read_table(X)]
    for other in others:
        assert_array_equal(row_order(other, y), expected)


def test_every_column_counts_and_so_does_its_place():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    expected = row_order(X, y)
    for other in (X[:, :2], X[:, ::-1], np.where(np.arange(3) == 1, X + 1, X)):
        assert (row_order(other, y) != expected).any()
    assert (row_order(X, -y) != expected).any()
    assert (row_order(X, np.stack([y, -y], axis=1)) != row_order(X, np.stack([-y, y], axis=1))).any()


def test_missing_values_are_all_one():
    signs = np.array([np.nan, -np.nan])
    X = np.array([[1.0], [signs[0]], [2.0], [signs[1]]])
    order = row_order(X, np.zeros(4)).tolist()
    assert abs(order.index(1) - order.index(3)) == 1


def test_orders_are_the_same_in_every_process():
    # Python's own hash of text is not: this order was computed by another process.
    X = np.array([["red"], ["blue"], ["green"], ["black"]], dtype=object)
    assert row_order(X, np.array(["a", "b", "b", "a"])).tolist() == [3, 2, 0, 1]
