"""Spinney's trees as members: each the tree that its bag asks for, pruned by the rows that it left out."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import spinney as sp
from contracts.learners import mixed_data
from spinney.core.errors import InputError
from spinney.io import dumps

TREES = [
    sp.DecisionTreeClassifier(max_features=2, random_state=5),
    sp.DecisionTreeRegressor(),
    sp.C45Classifier(),
    sp.ObliqueTreeClassifier(max_depth=3),
]


def bagging(tree):
    return sp.BaggingClassifier if tree.__class__.__name__.endswith("Classifier") else sp.BaggingRegressor


@pytest.mark.parametrize("pattern", TREES, ids=lambda tree: type(tree).__name__)
@pytest.mark.parametrize("more", [{}, {"max_features": 3, "max_samples": 0.5, "bootstrap": False}])
def test_a_member_is_the_tree_of_its_bag(pattern, more):
    make = bagging(pattern)
    X, y, _ = mixed_data("classifier" if make is sp.BaggingClassifier else "regressor", 150)
    model = make(pattern, 4, random_state=0, **more).fit(X, y)
    for tree, rows, columns in zip(model, model.estimators_samples_, model.estimators_features_, strict=True):
        alone = clone(pattern).set_params(random_state=tree.random_state)
        alone.fit(X.iloc[:, columns], y, np.bincount(rows, minlength=150))
        assert dumps(alone) == dumps(tree)


def test_trees_are_pruned_by_the_rows_they_left_out():
    X, y, _ = mixed_data("classifier", 300)
    noisy = np.where(np.random.default_rng(0).random(300) < 0.2, (y + 1) % 3, y)
    exact = sp.DecisionTreeClassifier(max_bins=None)  # bins are those of the whole table
    model = sp.BaggingClassifier(exact, 5, oob_pruning=True, random_state=0).fit(X, noisy)
    full = sp.BaggingClassifier(exact, 5, random_state=0).fit(X, noisy)
    for tree, whole, rows in zip(model, full, model.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(300), rows)
        alone = clone(exact).set_params(pruning="reduced-error", random_state=tree.random_state)
        counts = np.bincount(rows, minlength=300)
        alone.fit(X, noisy, counts, eval_set=(X.iloc[out], noisy[out]))
        assert dumps(alone) == dumps(tree)
        assert tree.get_n_leaves() < whole.get_n_leaves()
        assert tree.score(X.iloc[out], noisy[out]) > whole.score(X.iloc[out], noisy[out])


def test_pruning_rows_keep_their_weights_and_their_columns():
    X, y, weights = mixed_data("regressor", 200)
    more = {"max_features": 3, "oob_pruning": True, "random_state": 1}
    model = sp.BaggingRegressor(n_estimators=3, **more).fit(X, y, weights)
    for t, tree in enumerate(model):
        counts = model._samples.counts(t)
        out = (counts == 0) & (weights > 0)
        part = X.iloc[:, model.estimators_features_[t]]
        alone = sp.DecisionTreeRegressor(pruning="reduced-error", random_state=tree.random_state)
        alone.fit(part, y, counts, eval_set=(part[out], y[out], weights[out]))
        assert dumps(alone) == dumps(tree)


def test_a_bag_of_all_rows_leaves_nothing_to_prune_by():
    X, y, _ = mixed_data("classifier", 100)
    pruned = sp.BaggingClassifier(n_estimators=2, bootstrap=False, oob_pruning=True, random_state=0).fit(X, y)
    plain = sp.BaggingClassifier(n_estimators=2, bootstrap=False, random_state=0).fit(X, y)
    assert_array_equal(pruned.predict(X), plain.predict(X))


def test_only_trees_of_spinney_can_be_pruned():
    from sklearn.tree import DecisionTreeClassifier

    with pytest.raises(InputError, match="oob_pruning prunes Spinney's trees"):
        sp.BaggingClassifier(DecisionTreeClassifier(), oob_pruning=True).fit([[0.0], [1.0]], [0, 1])
