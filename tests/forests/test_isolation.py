"""Isolation forest: scores by path lengths, agreement with scikit-learn, samples, weights, warm start."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import ensemble
from sklearn.metrics import roc_auc_score

import spinney as sp
from spinney.core.errors import InputError
from spinney.forests.isolation import average_path_length


def table(n_rows=500, seed=0):
    """Rows of a normal distribution, and a twentieth of them with three times its width."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    is_odd = np.arange(n_rows) < n_rows // 20
    X[is_odd] *= 3.0
    return X, is_odd


def test_the_score_is_that_of_the_paper():
    X, _ = table(300)
    model = sp.IsolationForest(n_estimators=7, max_samples=64, random_state=0).fit(X)
    lengths = np.zeros(len(X))
    for member in model.estimators_:
        leaf = member.apply(X)
        lengths += member.tree_.depth[leaf] + average_path_length(member.tree_.n_samples[leaf])
    expected = 2.0 ** (-lengths / 7 / average_path_length(np.array([64]))[0])
    assert_allclose(model.score_samples(X), -expected, rtol=1e-12)
    assert model.offset_ == -0.5 and model.max_samples_ == 64
    assert max(member.get_depth() for member in model.estimators_) <= 6
    assert_array_equal(model.predict(X), np.where(model.score_samples(X) < -0.5, -1, 1))


@pytest.mark.parametrize("contamination", ["auto", 0.05])
def test_anomalies_are_found_as_by_scikit_learn(contamination):
    X, is_odd = table(1500)
    params = {"contamination": contamination, "random_state": 0}
    ours = sp.IsolationForest(**params).fit(X)
    theirs = ensemble.IsolationForest(**params).fit(X)
    assert isinstance(ours, ensemble.IsolationForest)
    areas = [roc_auc_score(is_odd, -model.score_samples(X)) for model in (ours, theirs)]
    assert areas[0] > areas[1] - 0.01 and areas[0] > 0.95
    assert_allclose(ours.score_samples(X).mean(), theirs.score_samples(X).mean(), atol=0.01)
    if contamination != "auto":
        assert abs((ours.predict(X) < 0).mean() - 0.05) < 0.002
        assert_allclose(ours.offset_, theirs.offset_, atol=0.02)


def test_sparse_matrices_missing_values_and_categories():
    X, is_odd = table(400)
    X[np.abs(X) < 0.5] = 0.0
    dense = sp.IsolationForest(random_state=0).fit(X)
    thin = sp.IsolationForest(random_state=0).fit(sparse.csc_array(X))
    assert_array_equal(thin.score_samples(sparse.csr_array(X)), dense.score_samples(X))
    X[::7, 0] = np.nan
    frame = pd.DataFrame(X, columns=list("abcd")).assign(color=np.where(is_odd, "red", "blue"))
    scores = sp.IsolationForest(random_state=0).fit(frame).score_samples(frame)
    assert roc_auc_score(is_odd, -scores) > 0.9


def test_rows_and_columns_are_drawn_per_tree():
    X, _ = table(100)
    model = sp.IsolationForest(n_estimators=9, max_samples=0.3, max_features=2, random_state=0).fit(X)
    for rows, columns, member in zip(
        model.estimators_samples_, model.estimators_features_, model.estimators_, strict=True
    ):
        assert len(np.unique(rows)) == 30 and len(np.unique(columns)) == 2
        assert member.n_features_in_ == 2 and member.tree_.n_samples[0] == 30
    assert len({tuple(rows) for rows in model.estimators_samples_}) == 9
    assert len(list(model)) == 9 and model[-1].tree_.n_leaves == model.estimators_[-1].tree_.n_leaves
    lengths = [m.predict(X[:, c]) for m, c in zip(model.estimators_, model.estimators_features_, strict=True)]
    expected = -(2.0 ** (-np.mean(lengths, axis=0) / average_path_length(np.array([30]))[0]))
    assert_allclose(model.score_samples(X), expected, rtol=1e-12)
    with pytest.warns(UserWarning, match=r"max_samples \(101\) is greater"):
        assert sp.IsolationForest(max_samples=101).fit(X).max_samples_ == 100


def test_weights_are_chances_of_being_drawn():
    X, is_odd = table(200)
    weights = np.where(is_odd, 0.0, 1.0)
    weights[-1] = 50.0
    model = sp.IsolationForest(max_samples=20, random_state=0).fit(X, sample_weight=weights)
    drawn = np.bincount(np.concatenate(model.estimators_samples_), minlength=200)
    assert not drawn[is_odd].any() and drawn[-1] > 90 > 30 > drawn[:-1].max()
    few = sp.IsolationForest(random_state=0).fit(X, sample_weight=(np.arange(200) < 9).astype(float))
    assert few.max_samples_ == 9


def test_a_warm_start_adds_trees():
    X, _ = table(80)
    whole = sp.IsolationForest(n_estimators=6, random_state=0).fit(X)
    parts = sp.IsolationForest(n_estimators=2, random_state=0, warm_start=True).fit(X)
    parts.set_params(n_estimators=6).fit(X)
    assert_array_equal(parts.score_samples(X), whole.score_samples(X))
    with pytest.raises(InputError, match="data or the parameters have changed"):
        parts.fit(X[:50])
    with pytest.raises(InputError, match="can only grow"):
        parts.set_params(n_estimators=3).fit(X)


def test_one_row_and_equal_rows_are_normal():
    one = sp.IsolationForest(n_estimators=3, random_state=0).fit([[1.0, 2.0]])
    assert one.score_samples([[9.0, 9.0]]).tolist() == [-0.5] and one.predict([[1.0, 2.0]]).tolist() == [1]
    same = sp.IsolationForest(n_estimators=3, random_state=0).fit(np.ones((50, 2)))
    assert (
        len(np.unique(same.score_samples(np.ones((3, 2))))) == 1
        and (same.predict(np.ones((3, 2))) == 1).all()
    )
