"""Members of a forest have its bins, so that a clone of a member fitted again is the same tree."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

import spinney as sp
from spinney.core.errors import InputError, ModelFileError
from spinney.data import BinnedDataset
from spinney.data.bin_mapper import BinMapper
from spinney.io import dumps, loads

FORESTS = [
    sp.RandomForestClassifier,
    sp.ExtraTreesClassifier,
    sp.RandomForestRegressor,
    sp.ExtraTreesRegressor,
]
each = pytest.mark.parametrize("forest", FORESTS, ids=lambda forest: forest.__name__)


def counts_of(model, t):
    return np.bincount(model.estimators_samples_[t], minlength=600)


@each
@pytest.mark.parametrize("max_bins", [255, 40, None])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_member_fitted_again_is_the_same_tree_for_columns_of_more_values_than_bins(forest, max_bins, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5)).astype(dtype)
    X[:, 0] = np.exp(3 * X[:, 0])
    X[:, 1] = np.round(X[:, 1], 1)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (X[:, 2] + rng.normal(size=600) > 0).astype(int)
    model = forest(3, bootstrap=True, max_bins=max_bins, random_state=1).fit(X, y)
    assert isinstance(model[0].max_bins, BinMapper) == (max_bins is not None)
    for t, member in enumerate(model.estimators_):
        again = clone(member).fit(X, y, sample_weight=counts_of(model, t).astype(float))
        assert_array_equal(again.tree_.threshold, member.tree_.threshold)
        assert_array_equal(again.tree_.value, member.tree_.value)
        if forest.__name__.endswith("Classifier"):
            rows = model.estimators_samples_[t]
            again = clone(member).fit(X[rows], y[rows])
            assert_array_equal(again.tree_.threshold, member.tree_.threshold)
            assert_array_equal(again.tree_.value, member.tree_.value)


@pytest.mark.parametrize("convert", [sparse.csr_array, pd.DataFrame])
def test_a_member_takes_the_bins_of_its_forest_for_other_tables(convert):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3)) * (rng.random((600, 3)) < 0.7)
    y = (X[:, 0] > rng.normal(size=600)).astype(int)
    model = sp.RandomForestClassifier(2, random_state=1).fit(convert(X), y)
    again = clone(model[0]).fit(convert(X), y, sample_weight=counts_of(model, 0).astype(float))
    assert_array_equal(again.tree_.threshold, model[0].tree_.threshold)


def test_a_forest_of_a_dataset_has_its_bins(tmp_path):
    X = np.random.default_rng(0).normal(size=(600, 3))
    y = np.arange(600) % 2
    dataset = BinnedDataset.build(X, tmp_path / "store", target=y)
    model = sp.RandomForestClassifier(2, random_state=1).fit(dataset)
    again = clone(model[0]).fit(X, y, sample_weight=counts_of(model, 0).astype(float))
    assert_array_equal(again.tree_.threshold, model[0].tree_.threshold)


def test_bins_of_a_forest_are_widened_by_values_beyond_them():
    X = np.arange(600.0)[:, None]
    member = sp.RandomForestRegressor(1, bootstrap=False, random_state=0).fit(X, X[:, 0])[0]
    X = np.r_[X, [[-50.0], [900.0]]]
    again = clone(member).fit(X, X[:, 0])
    assert again.predict([[-60.0], [1000.0]]).tolist() == again.predict([[-50.0], [900.0]]).tolist()


def test_bins_of_a_forest_need_its_features_and_rows_in_memory(tmp_path):
    X = np.random.default_rng(0).normal(size=(600, 3))
    y = np.arange(600) % 2
    member = sp.RandomForestClassifier(1, random_state=0).fit(X, y)[0]
    with pytest.raises(InputError, match="of 3 features, but X has 2 features"):
        clone(member).fit(X[:, :2], y)
    dataset = BinnedDataset.build(X, tmp_path / "store", target=y)
    with pytest.raises(InputError, match="a BinnedDataset"):
        clone(member).fit(dataset)


def test_bins_are_forgotten_with_trees_of_other_rows():
    def has_bins(forest):
        return isinstance(forest[0].max_bins, BinMapper)

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 2)), np.arange(600) % 2
    model = sp.RandomForestClassifier(2, warm_start=True, random_state=0).fit(X, y)
    other = sp.RandomForestClassifier(2, random_state=0).fit(2 * X, y)
    assert has_bins(model.set_params(n_estimators=3).fit(X, y))
    assert not has_bins(clone(model).fit(X, y).set_params(n_estimators=4).fit(2 * X, y))
    model.estimators_ = model.estimators_[:1]
    assert "_bin_mapper" in vars(model)
    model.estimators_ += other.estimators_
    assert "_bin_mapper" not in vars(model)


@pytest.mark.parametrize(
    "change",
    [
        {"begin": np.array([0, 3], np.int64)},
        {"begin": np.array([1, 3, 4], np.int64)},
        {"begin": np.array([0, 5, 4], np.int64)},
        {"begin": np.array([0, 3, 4], np.int32)},
        {"begin": np.empty(0, np.int64)},
        {"lo": np.array([0.0, 1.0, 2.0])},
        {"lo": np.array([0.0, 1.0, np.nan, 0.0])},
        {"lo": np.array([0.0, 2.5, 2.0, 0.0])},
        {"hi": np.array([0.5, 1.5, 1.9, 3.0])},
        {"hi": np.array([1.0, 1.5, 2.5, 3.0])},
        {"hi": np.zeros((4, 1))},
        {"hi": None},
    ],
)
def test_invalid_bins_are_refused(change):
    valid = {
        "begin": np.array([0, 3, 4], np.int64),
        "lo": np.array([0.0, 1.0, 2.0, 0.0]),
        "hi": np.array([0.5, 1.5, 2.5, 3.0]),
    }
    assert loads(dumps(BinMapper(**valid))).n_columns == 2
    with pytest.raises(ModelFileError):
        loads(dumps(BinMapper(**valid | change)))


def test_bins_are_saved_with_a_member_but_not_with_its_forest():
    X = np.random.default_rng(0).normal(size=(600, 3))
    forest = sp.RandomForestClassifier(1, random_state=0).fit(X, np.arange(600) % 2)
    assert loads(dumps(forest))[0].max_bins == 255
    again = loads(dumps(forest[0]))
    assert again.max_bins.equals(forest[0].max_bins)
    assert_array_equal(clone(again).fit(X, np.arange(600) % 2).tree_.value[0], [[0.5, 0.5]])
