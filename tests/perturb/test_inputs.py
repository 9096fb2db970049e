import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from spinney.data import read_table
from spinney.perturb.inputs import MAX_CATEGORIES, learn_coding, merge_rows


def coded(X, weights=None, new=None):
    table = read_table(X)
    coding = learn_coding(table, np.ones(table.n_rows) if weights is None else np.asarray(weights, float))
    return coding.apply(table if new is None else table.schema.read(new))


def test_numbers_are_standardized_by_weight():
    X = np.random.default_rng(0).normal(5.0, 3.0, size=(50, 2))
    weights = np.arange(50) % 4
    mean = np.average(X, axis=0, weights=weights)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    assert_allclose(coded(X, weights), (X - mean) / deviation)


@pytest.mark.parametrize("factor", [1e-300, 1.0, 1e300])
def test_numbers_of_any_size_come_to_the_same(factor):
    X = np.random.default_rng(0).normal(size=(20, 1))
    assert_allclose(coded(factor * X), coded(X), rtol=1e-9)


def test_constants_and_what_rounding_leaves_of_them():
    assert_array_equal(coded(np.full((5, 1), 0.1)), 0.0)
    assert np.abs(coded(np.array([[1.0], [np.nextafter(1.0, 2.0)]] * 3))).max() < 1e-12


def test_missing_numbers_are_the_mean_and_flagged():
    found = coded(np.array([[1.0], [np.nan], [3.0]]))
    assert_allclose(found, [[-1, 0], [0, 1], [1, 0]])
    assert_allclose(coded(np.array([[1.0], [3.0]]), new=np.array([[np.nan]])), [[0.0]])


def test_categories_have_a_column_each_and_unseen_ones_none():
    frame = pd.DataFrame({"c": ["u", "v", None, "u"]})
    assert_array_equal(coded(frame), [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert_array_equal(coded(frame, new=pd.DataFrame({"c": ["v", "w"]})), [[0, 1, 0], [0, 0, 1]])


def test_rare_categories_share_a_column():
    names = [f"c{i:03}" for i in range(100) for _ in range(1 + (i < MAX_CATEGORIES))]
    found = coded(pd.DataFrame({"c": names}))
    assert found.shape[1] == MAX_CATEGORIES + 1
    assert_array_equal(found.sum(axis=1), 1.0)
    assert found[:, -1].sum() == 100 - MAX_CATEGORIES
    enough = coded(pd.DataFrame({"c": [f"c{i}" for i in range(MAX_CATEGORIES + 1)]}))
    assert_array_equal(enough.sum(axis=0), 1.0)


def test_rows_of_no_weight_leave_no_trace():
    frame = pd.DataFrame({"c": ["u", "v", "w"], "x": [1.0, 2.0, np.nan]})
    assert coded(frame, [1, 1, 0]).shape == (3, 3)


def test_far_numbers_stay_finite():
    assert np.isfinite(coded(np.array([[0.0], [1e-300]]), new=np.array([[1e308]]))).all()


def test_equal_rows_are_merged_and_their_weights_added():
    frame = pd.DataFrame({"x": [1.0, np.nan, 1.0, np.nan, 1.0], "c": ["u", None, "u", None, "u"]})
    y = np.array([[0.0], [1.0], [0.0], [1.0], [2.0]])
    table, target, weights = merge_rows(read_table(frame), y, np.array([1.0, 2.0, 0.5, 1.0, 0.0]))
    assert sorted(zip(target.ravel(), weights, strict=True)) == [(0.0, 1.5), (1.0, 3.0)]
    assert table.n_rows == 2
