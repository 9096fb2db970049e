from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import binom
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from oracles.naive_predict import decision_path
from spinney.tree.pruning import (
    choose_alpha,
    cost_complexity,
    cost_complexity_path,
    leaf_losses,
    no_better_split,
    no_worse_as_leaf,
    no_worse_pessimistically,
    staying,
    upper_error_rate,
)
from tree.trees_by_hand import build, from_sklearn, leaf, multiway, numeric

CASES = {
    "iris": (DecisionTreeClassifier(random_state=0), load_iris),
    "cancer, entropy": (DecisionTreeClassifier(criterion="entropy", random_state=1), load_breast_cancer),
    "diabetes": (DecisionTreeRegressor(random_state=0, min_samples_leaf=3), load_diabetes),
}


def fitted(name, sample_weight=None):
    model, load = CASES[name]
    X, y = load(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 4, len(y)) if sample_weight else None
    return model.fit(X, y, weight), X, y, weight


def reduced_error(tree, leaf_loss, staying_loss):
    return tree.subset(no_worse_as_leaf(tree, leaf_loss, staying_loss)[0])


def pre(tree, leaf_loss, staying_loss):
    return tree.subset(no_better_split(tree, leaf_loss, staying_loss)[0])


def pessimistic(tree, confidence=0.25):
    return tree.subset(no_worse_pessimistically(tree, confidence, row_weight=1.0)[0])


# ---- cost-complexity ----


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_path_is_scikit_learns(name, weighted):
    model, X, y, weight = fitted(name, weighted)
    expected = model.cost_complexity_pruning_path(X, y, weight)
    alphas, impurities = cost_complexity_path(from_sklearn(model.tree_))
    # A tie that rounding breaks is one step or two; compare what the path says between the steps.
    scale = expected.ccp_alphas[-1]
    steps = np.unique(np.round(expected.ccp_alphas / scale, 9))
    assert np.array_equal(np.unique(np.round(alphas / scale, 9)), steps)
    for at in (steps[1:] + steps[:-1]) / 2 * scale:
        ours = impurities[alphas <= at][-1]
        assert ours == pytest.approx(expected.impurities[expected.ccp_alphas <= at][-1])
    assert impurities[-1] == pytest.approx(expected.impurities[-1])


@pytest.mark.parametrize("name", CASES)
def test_cut_trees_are_scikit_learns(name):
    model, X, y, _ = fitted(name)
    tree = from_sklearn(model.tree_)
    alphas = np.unique(cost_complexity_path(tree)[0])
    for low, high in list(pairwise(alphas))[:: max(1, len(alphas) // 6)]:
        at = (low + high) / 2
        expected = type(model)(**(model.get_params() | {"ccp_alpha": at})).fit(X, y).tree_
        cut = cost_complexity(tree, at)
        cut.validate([0] * tree.n_features)
        assert cut.n_leaves == expected.n_leaves
        np.testing.assert_array_equal(
            np.sort(cut.threshold[~cut.is_leaf]), np.sort(expected.threshold[expected.feature >= 0])
        )


def brute_force_best(tree, alpha):
    """The least impurity + α · leaves over all cuts, by plain recursion."""

    def best(node):
        as_leaf = tree.weight[node] / tree.weight[0] * tree.impurity[node] + alpha
        children = list(tree.children(node))
        return min(as_leaf, sum(map(best, children))) if children else as_leaf

    return best(0)


def test_every_cut_of_a_multiway_tree_is_optimal():
    rng = np.random.default_rng(3)

    def grow(depth):
        if depth == 0 or rng.random() < 0.2:
            p = rng.dirichlet([1, 1, 1])
            return leaf(p, rng.integers(1, 20), impurity=1 - (p**2).sum())
        children = [grow(depth - 1) for _ in range(rng.integers(2, 5))]
        return multiway(0, list(range(len(children))), *children)

    for _ in range(20):
        tree = build(grow(4), 1)
        alphas, impurities = cost_complexity_path(tree)
        assert (np.diff(alphas) >= 0).all() and (np.diff(impurities) >= -1e-12).all()
        assert impurities[-1] == pytest.approx(tree.impurity[0])
        for at in [*(alphas[1:] + alphas[:-1]) / 2, 0.0, alphas[-1] * 2]:
            cut = cost_complexity(tree, at)
            total = (cut.weight / cut.weight[0] * cut.impurity)[cut.is_leaf].sum() + at * cut.n_leaves
            assert total == pytest.approx(brute_force_best(tree, at))


def test_a_very_deep_tree_does_not_take_quadratic_time():
    node = leaf([1.0, 0.0], 1)
    for depth in range(20_000):
        node = numeric(0, float(depth), node, leaf([1.0, 0.0] if depth % 2 else [0.0, 1.0], 1))
    tree = build(node, 1)
    alphas, _ = cost_complexity_path(tree)
    assert cost_complexity(tree, alphas[-1]).node_count == 1


def test_the_path_of_a_leaf_has_one_step():
    tree = build(leaf([1.0, 0.0]), 1)
    assert [array.tolist() for array in cost_complexity_path(tree)] == [[0.0], [0.0]]


def test_choosing_alpha():
    alphas = np.array([0.0, 0.1, 0.2, 0.3])
    scores = np.array([[0.80, 0.90, 0.88, 0.5], [0.82, 0.94, 0.90, 0.5], [0.84, 0.92, 0.92, 0.5]])
    assert choose_alpha(alphas, scores) == 0.1
    assert choose_alpha(alphas, scores, one_se=True) == 0.1  # .90 is below .92 − .0115
    scores[2, 2] = 0.955  # mean .9117, within one standard error
    assert choose_alpha(alphas, scores, one_se=True) == 0.2
    assert choose_alpha(np.array([0.0, 1.0]), np.array([[0.5, 0.5]])) == 1.0


# ---- by a validation set ----


def small_tree():
    """0: x0 ≤ 0 → 1: (x1 ≤ 0 → 3, 4), 2 leaf.  The node values say class 0, 0, 1, 0, 1."""
    return build(
        numeric(0, 0.0, numeric(1, 0.0, leaf([1.0, 0.0], 4), leaf([0.0, 1.0], 2)), leaf([0.0, 1.0], 3)), 2
    )


def class_losses(tree, reach, y, weight=None):
    return leaf_losses(tree, reach, y, np.ones(len(y)) if weight is None else weight, "classification")


def test_losses_by_node():
    tree = small_tree()
    X = [np.array([-1.0, -1.0, -1.0, 1.0]), np.array([-1.0, 1.0, 1.0, 0.0])]
    reach = decision_path(tree, X)
    y = np.array([0, 0, 1, 1])
    # Node 0 says 1 (5 of 9): wrong for rows 0, 1. Node 1 says 0: wrong for 2. Node 4 says 1: wrong for 1.
    assert class_losses(tree, reach, y).tolist() == [2, 1, 0, 0, 1]
    assert class_losses(tree, reach, y, np.array([1.0, 2.0, 5.0, 1.0])).tolist() == [3, 5, 0, 0, 2]
    assert class_losses(tree, csr_array(reach * 0.5), y).tolist() == [1, 0.5, 0, 0, 0.5]


def test_regression_losses_by_node():
    tree = build(numeric(0, 0.0, leaf(1.0, 1), leaf(3.0, 1)), 1)
    X = [np.array([-1.0, 1.0])]
    np.testing.assert_allclose(
        leaf_losses(tree, decision_path(tree, X), np.array([0.0, 3.0]), np.array([2.0, 1.0]), "regression"),
        [9, 2, 0],
    )


def test_reduced_error_goes_bottom_up_and_prefers_the_smaller_tree():
    tree = small_tree()
    none = np.zeros(5)
    assert reduced_error(tree, np.array([5.0, 2, 1, 1, 0]), none).node_count == 5  # 1 < 2, 2 < 5
    assert reduced_error(tree, np.array([5.0, 1, 1, 1, 0]), none).node_count == 3  # a tie below: leaf
    assert reduced_error(tree, np.array([2.0, 1, 1, 1, 0]), none).node_count == 1
    # The root's split alone does not help (4 = 4), but with the one below it does: kept here, not by pre.
    losses = np.array([4.0, 3, 1, 1, 0])
    assert reduced_error(tree, losses, none).node_count == 5
    assert pre(tree, losses, none).node_count == 1


def test_rows_that_stay_at_a_node_count_for_both_sides():
    tree = build(multiway(0, (0, 1, -1), leaf([1.0, 0.0], 3), leaf([0.0, 1.0], 2)), 1)
    reach = decision_path(tree, [np.array([0, 1, 2, 2], np.int32)])
    y = np.array([0, 1, 1, 1])
    stay = class_losses(tree, staying(tree, reach), y)
    assert stay.tolist() == [2, 0, 0]
    losses = class_losses(tree, reach, y)
    assert losses.tolist() == [3, 0, 0]
    assert reduced_error(tree, losses, stay).node_count == 3
    assert reduced_error(tree, np.array([2.0, 0, 0]), stay).node_count == 1
    assert pre(tree, np.array([2.0, 0, 0]), stay).node_count == 1
    assert pre(tree, losses, stay).node_count == 3


def test_fractional_rows_do_not_stay():
    tree = build(numeric(0, 0.0, leaf([1.0, 0.0], 1), leaf([0.0, 1.0], 2)), 1)
    assert staying(tree, decision_path(tree, [np.array([np.nan])])).nnz == 0


def test_reduced_error_never_loses_on_the_validation_set():
    X, y = load_breast_cancer(return_X_y=True)
    for seed in range(5):
        train = np.random.default_rng(seed).random(len(y)) < 0.5
        tree = from_sklearn(DecisionTreeClassifier(random_state=seed).fit(X[train], y[train]).tree_)
        rows = list(X[~train].T)
        losses = class_losses(tree, decision_path(tree, rows), y[~train])
        for prune in (reduced_error, pre):
            cut = prune(tree, losses, np.zeros(tree.node_count))
            cut.validate([0] * 30)
            after = class_losses(cut, decision_path(cut, rows), y[~train])
            assert cut.n_leaves < tree.n_leaves
            if prune is reduced_error:
                assert after[cut.is_leaf].sum() <= losses[tree.is_leaf].sum()
            assert after[cut.is_leaf].sum() <= losses[0]


# ---- pessimistic ----


def test_upper_limits_of_the_book():
    limits = upper_error_rate([0, 0, 0, 1], [6, 9, 1, 16], 0.25)
    np.testing.assert_allclose(limits[:3], [0.206, 0.143, 0.750], atol=5e-4)
    # Here the book has the program's approximation: a normal limit with a deviate interpolated from a table.
    assert limits[3] == pytest.approx(0.157, abs=3e-3)
    assert binom.cdf(1, 16, limits[3]) == pytest.approx(0.25)
    assert upper_error_rate(5, 5) == 1.0


def test_upper_limit_is_where_the_binomial_tail_is_the_confidence():
    for errors, n in [(0, 3), (2, 10), (7, 30), (40, 90)]:
        assert binom.cdf(errors, n, upper_error_rate(errors, n, 0.1)) == pytest.approx(0.1)


def test_upper_limit_grows_with_fractional_errors():
    limits = upper_error_rate(np.linspace(0, 4, 41), 10.0)
    assert (np.diff(limits) > 0).all()
    assert np.isfinite(upper_error_rate(0.0, 0.0))


def test_pessimistic_replaces_the_subtree_of_the_book():
    """Leaves of 6, 9 and 1 rows, all pure: 6·.206 + 9·.143 + 1·.750 = 3.273 errors; a leaf has fewer."""
    leaves = leaf([1.0, 0.0], 6), leaf([1.0, 0.0], 9), leaf([0.0, 1.0], 1)
    tree = build(multiway(0, (0, 1, 2), *leaves), 1)
    assert (tree.weight * upper_error_rate([1, 0, 0, 0], tree.weight))[1:].sum() == pytest.approx(
        3.273, abs=1e-3
    )
    assert pessimistic(tree).node_count == 1


def test_pessimistic_keeps_a_split_that_pays():
    tree = build(numeric(0, 0.0, leaf([1.0, 0.0], 20), leaf([0.0, 1.0], 20)), 1)
    assert pessimistic(tree).node_count == 3


def test_a_lower_confidence_prunes_more():
    X, y = load_breast_cancer(return_X_y=True)
    tree = from_sklearn(DecisionTreeClassifier(random_state=0).fit(X, y).tree_)
    sizes = [pessimistic(tree, cf).n_leaves for cf in (0.5, 0.25, 0.01, 0.001)]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > sizes[-1]


def test_several_outputs_add_up():
    one = np.array([[1.0, 0.0], [0.5, 0.5]])
    two = np.array([[0.0, 1.0], [0.5, 0.5]])
    tree = build(numeric(0, 0.0, leaf(one, 20), leaf(two, 20)), 1)
    assert pessimistic(tree).node_count == 3


def test_pessimistic_regression_drops_splits_of_noise_and_keeps_real_ones():
    rng = np.random.default_rng(0)
    X = rng.random((400, 3))
    y = (X[:, 0] > 0.5) * 5.0 + rng.normal(size=400)
    tree = from_sklearn(DecisionTreeRegressor(random_state=0).fit(X, y).tree_)
    cut = pessimistic(tree)
    assert 2 <= cut.n_leaves < tree.n_leaves / 2
    assert cut.feature[0] == 0
