import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import tree as sklearn_tree
from sklearn.datasets import load_breast_cancer, load_diabetes

from spinney import DecisionTreeClassifier, DecisionTreeRegressor, ID3Classifier
from spinney.io import dumps, loads
from spinney.tree import pruning
from spinney.tree.tree_arrays import TreeArrays
from spinney.trees.pruning import ValidationRows, _losses_along_path, follow, losses
from trees.reference import noisy, same_tree

METHODS = ["pre", "reduced-error", "pessimistic", "cost-complexity"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("estimator", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_every_method_makes_a_smaller_tree_that_generalises_better(estimator, method):
    X, y = noisy(1500)
    X_new, y_new = noisy(4000, seed=1)
    full = estimator().fit(X, y)
    pruned = estimator(pruning=method, random_state=0).fit(X, y)
    assert 1 < pruned.get_n_leaves() < full.get_n_leaves() / 2
    assert pruned.score(X_new, y_new) > full.score(X_new, y_new)


def test_the_eval_set_decides():
    X, y = noisy()
    X_new, y_new = noisy(400, seed=1)
    full = DecisionTreeClassifier().fit(X, y)
    pruned = DecisionTreeClassifier(pruning="reduced-error").fit(X, y, eval_set=(X_new, y_new))
    assert pruned.score(X_new, y_new) >= full.score(X_new, y_new)
    assert pruned.get_n_leaves() < full.get_n_leaves()
    # Where the training rows themselves judge, nothing is cut that helps on them.
    same = DecisionTreeClassifier(pruning="reduced-error").fit(X, y, eval_set=(X, y))
    assert same.score(X, y) == full.score(X, y)
    # A weight of 0 takes a row out of the judging.
    weights = np.r_[np.ones(200), np.zeros(200)]
    some = DecisionTreeClassifier(pruning="reduced-error").fit(X, y, eval_set=(X_new, y_new, weights))
    half = DecisionTreeClassifier(pruning="reduced-error").fit(X, y, eval_set=(X_new[:200], y_new[:200]))
    assert_array_equal(some.predict(X), half.predict(X))


def test_a_eval_set_is_read_like_new_data():
    X = pd.DataFrame({"c": ["a", "b", "c"] * 10})
    y = ["x", "y", "x"] * 10
    new = pd.DataFrame({"c": ["b", "unheard", "a"]})
    model = DecisionTreeClassifier(pruning="pre").fit(X, y, eval_set=(new, ["y", "x", "never"]))
    assert model.predict(new).tolist()[0] == "y"
    for bad in ((new,), (new, ["y"]), "both", (new, ["x", "y", None])):
        with pytest.raises(ValueError):
            DecisionTreeClassifier(pruning="pre").fit(X, y, eval_set=bad)
    with pytest.raises(ValueError, match="does not use one"):
        DecisionTreeClassifier().fit(X, y, eval_set=(new, ["y", "x", "x"]))


def test_held_out_rows_are_not_grown_on():
    X, y = noisy(400)
    model = DecisionTreeClassifier(pruning="reduced-error", validation_fraction=0.4, random_state=0).fit(X, y)
    assert model.tree_.n_samples[0] == 240
    again = DecisionTreeClassifier(pruning="reduced-error", validation_fraction=0.4, random_state=0).fit(X, y)
    assert_array_equal(again.tree_.threshold, model.tree_.threshold)


def test_the_cost_complexity_path_is_scikit_learns():
    X, y = load_breast_cancer(return_X_y=True)
    params = {"max_depth": 4, "min_samples_leaf": 5}
    ours = DecisionTreeClassifier(max_bins=None, **params).cost_complexity_pruning_path(X, y)
    theirs = sklearn_tree.DecisionTreeClassifier(random_state=0, **params).cost_complexity_pruning_path(X, y)
    assert_allclose(ours.ccp_alphas, theirs.ccp_alphas, atol=1e-9)
    assert_allclose(ours.impurities, theirs.impurities, atol=1e-9)


def test_ccp_alpha_cuts_as_in_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    for alpha in (10.0, 100.0):
        ours = DecisionTreeRegressor(max_bins=None, ccp_alpha=alpha, min_samples_leaf=5).fit(X, y)
        theirs = sklearn_tree.DecisionTreeRegressor(ccp_alpha=alpha, min_samples_leaf=5, random_state=0)
        assert_allclose(ours.predict(X), theirs.fit(X, y).predict(X), rtol=1e-9)
        assert ours.ccp_alpha_ == alpha


def test_the_one_standard_error_rule_cuts_more():
    X, y = noisy(1000)
    best = DecisionTreeClassifier(pruning="cost-complexity", random_state=0).fit(X, y)
    frugal = DecisionTreeClassifier(pruning="cost-complexity", one_se=True, random_state=0).fit(X, y)
    assert frugal.ccp_alpha_ >= best.ccp_alpha_ > 0
    assert frugal.get_n_leaves() <= best.get_n_leaves()
    given = DecisionTreeClassifier(pruning="cost-complexity", ccp_alpha=0.01).fit(X, y)
    assert given.ccp_alpha_ == 0.01


def test_losses_along_the_path_are_those_of_the_pruned_trees():
    X, y = noisy(300)
    X_new, y_new = noisy(300, seed=2)
    model = DecisionTreeClassifier().fit(X, y)
    judged = ValidationRows(model.schema_.read(X_new), y_new[:, None], np.ones(300))
    alphas = pruning.cost_complexity_path(model.tree_)[0]
    found = _losses_along_path(model.tree_, *losses(model.tree_, judged, "classification", 1), alphas)
    for alpha, loss in zip(alphas[:: len(alphas) // 10], found[:: len(alphas) // 10], strict=True):
        cut = DecisionTreeClassifier(ccp_alpha=alpha).fit(X, y)
        assert loss == pytest.approx((cut.predict(X_new) != y_new).sum())


def test_the_ledger_follows_the_pruning():
    X, y = noisy(300)
    full = DecisionTreeClassifier(ledger=True).fit(X, y)
    pruned = DecisionTreeClassifier(ledger=True, pruning="pessimistic").fit(X, y)
    new = follow(full.tree_, pruned.tree_)
    assert isinstance(pruned.tree_, TreeArrays) and (new >= 0).sum() == pruned.tree_.node_count
    chosen = pruned.ledger_.chosen
    for node, feature in zip(pruned.ledger_.node[chosen], pruned.ledger_.feature[chosen], strict=True):
        assert pruned.tree_.feature[node] in (feature, -2)
    assert pruned.ledger_.node.max() < pruned.tree_.node_count


@pytest.mark.parametrize("method", METHODS)
def test_the_pruning_ledger_has_the_losses_of_every_decision(method):
    X, y = noisy(300)
    given = {} if method in ("pessimistic", "cost-complexity") else {"eval_set": noisy(200, seed=1)}
    params = {
        "pruning": method,
        "random_state": 0,
        "ccp_alpha": 0.004 if method == "cost-complexity" else 0.0,
    }
    full = DecisionTreeClassifier(random_state=0).fit(X, y).tree_
    model = DecisionTreeClassifier(**params, ledger=True).fit(X, y, **given)
    assert not hasattr(DecisionTreeClassifier(**params).fit(X, y, **given), "pruning_ledger_")
    ledger = model.pruning_ledger_
    assert_array_equal(ledger.node, np.flatnonzero(~full.is_leaf))
    assert_array_equal(full.subset(marks(ledger, full)).feature, model.tree_.feature)
    assert_array_equal(ledger.fitted_node, follow(full, model.tree_)[ledger.node])
    if method in ("pre", "reduced-error"):
        wrong = (full.value[0, 0].argmax() != np.searchsorted(model.classes_, given["eval_set"][1])).sum()
        assert ledger.leaf_loss[0] == wrong
        assert_array_equal(ledger.pruned, ledger.leaf_loss <= ledger.subtree_loss)
    if method == "cost-complexity":
        assert ledger.subtree_loss[0] == pytest.approx(
            (full.weight * full.impurity)[full.is_leaf].sum() / 300
        )
        assert_array_equal(ledger.pruned, ledger.alpha <= 0.004)
    again = loads(dumps(model)).pruning_ledger_
    assert again.to_frame().equals(ledger.to_frame()) and len(ledger.to_frame()) == len(ledger) > 5


def marks(ledger, tree):
    marked = np.zeros(tree.node_count, dtype=bool)
    marked[ledger.node[ledger.pruned]] = True
    return marked


def test_two_pruning_methods_are_both_recorded():
    X, y = noisy(300)
    model = DecisionTreeClassifier(pruning="pessimistic", ccp_alpha=0.02, ledger=True, random_state=0).fit(
        X, y
    )
    ledger = model.pruning_ledger_
    second = np.flatnonzero(np.diff(ledger.node) < 0)[0] + 1  # numbers start again
    assert np.isnan(ledger.alpha[:second]).all() and not np.isnan(ledger.alpha[second])
    kept = ledger.fitted_node[second:]
    assert_array_equal(kept[kept >= 0], np.flatnonzero(np.isin(np.arange(model.tree_.node_count), kept)))
    final = {
        node for node, pruned in zip(kept, ledger.pruned[second:], strict=True) if node >= 0 and not pruned
    }
    assert final == set(np.flatnonzero(~model.tree_.is_leaf))


def test_pruning_with_unbranched_categories():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(200, 3))
    y = (X[:, 0] > 2) ^ (rng.random(200) < 0.2)
    X_new = rng.integers(0, 8, size=(100, 3))
    model = ID3Classifier(pruning="reduced-error").fit(X, y, eval_set=(X_new, X_new[:, 0] > 2))
    full = ID3Classifier().fit(X, y)
    truth = X_new[:, 0] > 2
    assert model.score(X_new, truth) >= full.score(X_new, truth)


@pytest.mark.parametrize("method", ["pre", "reduced-error"])
def test_validation_rows_are_weighted_by_class_like_training_rows(method):
    X, y = noisy(400)
    X_new, y_new = noisy(200, seed=2)
    by_class = {0: 1.0, 1: 6.0}  # max_bins=None: sample weights choose the bins, class weights do not
    weighted = DecisionTreeClassifier(max_bins=None, pruning=method, class_weight=by_class).fit(
        X, y, eval_set=(X_new, y_new)
    )
    by_hand = DecisionTreeClassifier(max_bins=None, pruning=method).fit(
        X,
        y,
        np.where(y == 1, 6.0, 1.0),
        eval_set=(X_new, y_new, np.where(y_new == 1, 6.0, 1.0)),
    )
    unweighted = DecisionTreeClassifier(max_bins=None, pruning=method).fit(
        X, y, np.where(y == 1, 6.0, 1.0), eval_set=(X_new, y_new)
    )
    assert same_tree(weighted.tree_, by_hand.tree_)
    assert method == "pre" or not same_tree(weighted.tree_, unweighted.tree_)
    with pytest.raises(ValueError, match="rows of the eval_set is 0"):
        DecisionTreeClassifier(pruning=method, class_weight={0: 0.0, 1: 1.0}).fit(
            X, y, eval_set=(X_new[y_new == 0], y_new[y_new == 0])
        )
