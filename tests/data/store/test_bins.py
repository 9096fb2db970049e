"""The bins of a store are those of the same rows in memory, however they are sampled or weighted."""

import numpy as np
import pytest

from spinney.data import BinnedDataset, read_table
from spinney.data.training_set import code_table
from spinney.native import core


def check_same_codes(X, path, weights=None, max_bins=255, **options):
    """Compare a store with the codes of the table in memory, and return it."""
    dataset = BinnedDataset.build(X, path, sample_weight=weights, max_bins=max_bins, n_jobs=2, **options)
    ours = dataset.matrix()
    table = read_table(X, options.get("categorical_features"))
    theirs = code_table(table, weights, max_bins, 2)
    for j in range(table.n_features):
        assert ours.n_bins(j) == theirs.n_bins(j)
        assert ours.has_missing(j) == theirs.has_missing(j) == dataset.schema.features[j].has_missing
        np.testing.assert_array_equal(ours.codes(j), theirs.codes(j))
        np.testing.assert_array_equal(ours.lo(j), theirs.lo(j))
        np.testing.assert_array_equal(ours.hi(j), theirs.hi(j))
        np.testing.assert_array_equal(ours.bin_of_category(j), theirs.bin_of_category(j))
    return dataset


def many_rows(n):
    """Continuous, few, mostly zero, constant and missing values, of more rows than the sample has."""
    rng = np.random.default_rng(0)
    X = np.zeros((n, 6))
    X[:, 0] = rng.normal(size=n)
    X[:, 1] = rng.integers(0, 3, n)
    outside = np.setdiff1d(np.arange(n), core.edge_sample(n))
    X[outside[:40], 2] = np.arange(1, 41)  # values that the sample does not see
    X[outside[:3], 3] = np.arange(1, 4)
    X[:, 4] = np.where(rng.random(n) < 0.2, np.nan, np.exp(rng.normal(size=n)))
    X[:, 5] = np.nan
    X[outside[5:8], 5] = [1.5, -0.0, 2.5]
    return X


@pytest.mark.parametrize("max_bins", [255, 7])
def test_bins_of_a_sample(max_bins, tmp_path):
    X = many_rows(230_000)
    dataset = check_same_codes(X, tmp_path / "store", max_bins=max_bins)
    assert dataset.manifest.sampled and dataset.n_blocks == 4
    lo, hi = dataset.bins(0)
    assert lo[0] == X[:, 0].min() and hi[-1] == X[:, 0].max()


def test_bins_of_a_weighted_sample(tmp_path):
    X = many_rows(250_000)
    weights = np.random.default_rng(1).integers(0, 9, len(X)) / 7
    dataset = check_same_codes(X.astype(np.float32), tmp_path / "store", weights=weights, max_bins=20)
    assert dataset.manifest.sampled and dataset.manifest.n_positive == np.count_nonzero(weights)
    # Rows of weight 0 take no part: of many rows, too, bins are those of the table without them.
    kept = weights > 0
    without = BinnedDataset.build(
        X[kept].astype(np.float32), tmp_path / "kept", sample_weight=weights[kept], max_bins=20
    )
    for j in range(X.shape[1]):
        np.testing.assert_array_equal(dataset.bins(j), without.bins(j))


def test_bins_of_few_weighted_rows(tmp_path):
    rng = np.random.default_rng(2)
    X, weights = rng.normal(size=(5000, 2)), rng.random(5000)
    weights[::3] = 0
    check_same_codes(X, tmp_path / "store", weights=weights)
    check_same_codes(X, tmp_path / "equal", weights=np.full(5000, 0.3))


def test_columns_whose_values_do_not_fit_the_counter_are_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr("spinney.data.store.survey._COUNTED_VALUES", 0)
    n = 230_000
    X = np.zeros((n, 2))
    outside = np.setdiff1d(np.arange(n), core.edge_sample(n))
    X[outside[:5000], 1] = np.arange(5000)
    check_same_codes(X, tmp_path / "store", max_bins=10)


def test_many_categories_share_the_last_bin(frame, tmp_path):
    X = frame[["zip", "color", "flag", "b"]]
    dataset = check_same_codes(X, tmp_path / "store", categorical_features=["b"])
    assert dataset.wide == (0,) and len(dataset.bin_of_category(0)) == 400
    np.testing.assert_array_equal(dataset.column(0), read_table(X).column(0))
    np.testing.assert_array_equal(dataset.column(1), read_table(X).column(1))
    check_same_codes(X, tmp_path / "weighted", weights=frame["w"].to_numpy(), categorical_features=["b"])


def test_threads_batches_and_blocks_do_not_change_the_codes(frame, tmp_path, monkeypatch):
    X = frame[["a", "b", "color", "zip", "e", "flag"]]
    first = BinnedDataset.build(X, tmp_path / "first", target=frame["value"], block_rows=4096, n_jobs=1)
    monkeypatch.setattr("spinney.data.store.sources.BATCH_ROWS", 517)
    second = BinnedDataset.build(X, tmp_path / "second", target=frame["value"], block_rows=4096, n_jobs=3)
    assert first.content_hash == second.content_hash
    third = BinnedDataset.build(X, tmp_path / "third", target=frame["value"], block_rows=8192)
    for j in range(6):
        np.testing.assert_array_equal(first.matrix().codes(j), third.matrix().codes(j))


def test_declared_order_of_categories_is_kept(tmp_path):
    import pandas as pd

    sizes = pd.Categorical(["small", "large", "middle"] * 100, ["small", "middle", "large", "huge"])
    frame = pd.DataFrame({"size": sizes})
    dataset = BinnedDataset.build([frame[:50], frame[50:]], tmp_path / "store")
    assert dataset.schema == read_table(frame).schema
    assert dataset.schema.features[0].categories == ("small", "middle", "large")


def test_categories_that_are_numbers_of_two_types(tmp_path):
    parts = [np.array([[1.0], [2.0]]), np.array([[1.5], [2.0]])]
    dataset = BinnedDataset.build(parts, tmp_path / "store", categorical_features=[0])
    assert dataset.schema == read_table(np.concatenate(parts), [0]).schema
