"""The order of rows by what they hold: the same for shuffled rows, copies and other kinds of tables."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from contracts.learners import mixed_data
from spinney.bagging.sampling import BootstrapSamples, row_order
from spinney.data import read_table


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
