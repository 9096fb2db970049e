"""RandomTreesEmbedding: one column per leaf, names, sparse and dense output, warm start."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import spinney as sp
from contracts.learners import mixed_data

X = np.random.default_rng(0).normal(size=(120, 3))


def test_a_row_has_a_one_for_each_leaf_that_it_reaches():
    model = sp.RandomTreesEmbedding(n_estimators=4, max_depth=3, random_state=0)
    embedded = model.fit_transform(X)
    assert sparse.issparse(embedded) and embedded.dtype == np.float64
    n_leaves = [member.get_n_leaves() for member in model.estimators_]
    assert embedded.shape == (120, sum(n_leaves)) and max(m.get_depth() for m in model.estimators_) == 3
    assert_array_equal(embedded.sum(axis=1), 4)
    assert_array_equal(embedded.toarray(), model.one_hot_encoder_.transform(model.apply(X)).toarray())
    names = model.get_feature_names_out()
    for row in (0, 60):
        reached = names[embedded[[row]].indices]
        assert reached.tolist() == [
            f"randomtreesembedding_{t}_{k}" for t, k in enumerate(model.apply(X)[row])
        ]
    dense = model.set_params(sparse_output=False).fit_transform(X)
    assert isinstance(dense, np.ndarray)
    assert_array_equal(dense, embedded.toarray())


def test_neighbours_share_leaves():
    model = sp.RandomTreesEmbedding(n_estimators=50, random_state=0).fit(X)
    assert [tree.random_state for tree in model] == [tree.random_state for tree in model.estimators_]
    assert model[1].random_state == model.estimators_[1].random_state
    embedded = model.transform(np.array([[0.0, 0.0, 0.0], [0.01, 0.0, 0.0], [2.0, -2.0, 2.0]]))
    shared = (embedded @ embedded.T).toarray()
    assert shared[0, 1] > 40 > 10 > shared[0, 2]


def test_a_warm_start_adds_trees_and_tables_of_any_kind_are_read():
    frame, _, weights = mixed_data("regressor", 100)
    whole = sp.RandomTreesEmbedding(6, random_state=0).fit(frame, sample_weight=weights)
    parts = sp.RandomTreesEmbedding(2, random_state=0, warm_start=True).fit(frame, sample_weight=weights)
    first = parts.transform(frame)
    parts.set_params(n_estimators=6).fit(frame, sample_weight=weights)
    assert_array_equal(parts.transform(frame).toarray(), whole.transform(frame).toarray())
    assert_array_equal(parts.transform(frame)[:, : first.shape[1]].toarray(), first.toarray())
    assert parts.transform(frame[:0]).shape == (0, parts.transform(frame).shape[1])
    with pytest.raises(ValueError, match="feature names"):
        whole.transform(frame[["a"]])
