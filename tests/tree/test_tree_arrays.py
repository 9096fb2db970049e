import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from spinney import DecisionTreeClassifier as SpinneyTree
from spinney.core.errors import ModelFileError
from spinney.tree.tree_arrays import ARRAY_TYPES, TreeArrays
from spinney.trees.pruning import follow
from tree.trees_by_hand import build, from_sklearn, leaf, mixed_tree, numeric


def same(left: TreeArrays, right: TreeArrays) -> bool:
    return left.n_features == right.n_features and all(
        getattr(left, name).tobytes() == getattr(right, name).tobytes() for name in ARRAY_TYPES
    )


def iris_tree():
    X, y = load_iris(return_X_y=True)
    return DecisionTreeClassifier(random_state=0).fit(X, y).tree_


def test_arrays_of_a_grown_tree_are_made_when_one_is_asked_for():
    X, y = load_iris(return_X_y=True)
    tree, used = (SpinneyTree(random_state=0).fit(X, y).tree_ for _ in range(2))
    assert "kind" not in vars(tree) and (tree.n_outputs, tree.n_features) == (1, 4)
    assert used.node_count == len(used.kind) == len(used.is_leaf) and used.n_outputs == 1
    for other in (tree, copy.copy(tree), copy.deepcopy(tree), pickle.loads(pickle.dumps(tree))):
        assert same(other, used)
    with pytest.raises(AttributeError, match="has no attribute 'colour'"):
        _ = tree.colour


def test_arrays_have_their_exact_type_and_cannot_be_written():
    tree, _ = mixed_tree()
    for copied in (tree, copy.deepcopy(tree), pickle.loads(pickle.dumps(tree))):
        for name, (dtype,) in ARRAY_TYPES.items():
            array = getattr(copied, name)
            assert (
                array.dtype == dtype
                and array.ndim == (3 if name == "value" else 1)
                and array.flags.c_contiguous
            )
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


def test_shape_of_a_tree():
    tree, _ = mixed_tree()
    assert (tree.node_count, tree.n_leaves, tree.max_depth) == (9, 5, 3)
    assert tree.parent.tolist() == [-1, 0, 0, 1, 1, 2, 2, 4, 4]
    assert tree.depth.tolist() == [0, 1, 1, 2, 2, 2, 2, 3, 3]
    assert tree.levels == [(0, 1), (1, 3), (3, 7), (7, 9)]
    assert tree.is_leaf.tolist() == [False, False, False, True, False, True, True, True, True]
    assert list(tree.children(1)) == [3, 4] and list(tree.children(3)) == []
    assert tree.sum_over_children(np.arange(9.0)).tolist() == [3, 7, 11, 0, 15, 0, 0, 0, 0]


def test_one_leaf_is_a_tree():
    tree = build(leaf([0.25, 0.75], 4), 2)
    tree.validate([0, 0])
    assert (tree.node_count, tree.n_leaves, tree.max_depth) == (1, 1, 0)
    assert tree.compute_feature_importances().tolist() == [0, 0]
    assert same(tree.subset(np.array([True])), tree)


def test_a_state_comes_back_the_same():
    tree, n_categories = mixed_tree()
    assert same(TreeArrays.from_state(tree.to_state(), n_categories), tree)


# ---- validation: each way to be wrong, and the array that the error must name ----


def _set(name, index, value):
    def change(state):
        state[name] = state[name].copy()
        state[name][index] = value

    return change


def _replace(name, make):
    def change(state):
        state[name] = make(state[name])

    return change


DAMAGE = {
    "unknown kind": ("kind", _set("kind", 3, 5)),
    "leaf made a test": ("n_children", _set("kind", 3, 1)),
    "one child": ("n_children", _set("n_children", 0, 1)),
    "three children of a two-way test": ("n_children", _set("n_children", 0, 3)),
    "negative count": ("n_children", _set("n_children", 0, -2)),
    "huge count": ("first_child", _set("n_children", 1, 2**31 - 1)),
    "cycle": ("first_child", _set("first_child", 4, 0)),
    "shared child": ("first_child", _set("first_child", 2, 3)),
    "child out of range": ("first_child", _set("first_child", 4, 2**31 - 1)),
    "leaf with child": ("first_child", _set("first_child", 8, 0)),
    "feature too large": ("feature", _set("feature", 0, 4)),
    "feature negative": ("feature", _set("feature", 0, -1)),
    "leaf with feature": ("feature", _set("feature", 3, 0)),
    "numeric test of a category": ("feature", _set("feature", 0, 1)),
    "category test of a number": ("feature", _set("feature", 1, 3)),
    "infinite threshold": ("threshold", _set("threshold", 0, np.inf)),
    "NaN threshold": ("threshold", _set("threshold", 4, np.nan)),
    "threshold at a leaf": ("threshold", _set("threshold", 3, 0.0)),
    "missing to no child": ("missing", _set("missing", 0, 2)),
    "missing below -1": ("missing", _set("missing", 0, -2)),
    "missing at a leaf": ("missing", _set("missing", 3, 1)),
    "set offsets go back": ("set_begin", _set("set_begin", 1, 2)),
    "set offset negative": ("set_begin", _set("set_begin", 0, -1)),
    "set offset outside": ("set_begin", _set("set_begin", 9, 2**62)),
    "set longer than its offsets": ("set_begin", _replace("set_bits", lambda bits: np.append(bits, bits))),
    "branch to no child": ("branch", _set("branch", 0, 2)),
    "branch below -1": ("branch", _set("branch", 0, -2)),
    "term feature outside": ("term_feature", _set("term_feature", 0, 4)),
    "term feature negative": ("term_feature", _set("term_feature", 0, -1)),
    "term of a category": ("term_feature", _set("term_feature", 0, 2)),
    "infinite coefficient": ("term_coefficient", _set("term_coefficient", 1, np.inf)),
    "NaN fill": ("term_fill", _set("term_fill", 1, np.nan)),
    "short fill": ("term_fill", _replace("term_fill", lambda fill: fill[:1])),
    "infinite value": ("value", _set("value", (8, 0, 1), -np.inf)),
    "no outputs": ("value", _replace("value", lambda value: value[:, :0])),
    "negative weight": ("weight", _set("weight", 3, -1.0)),
    "NaN weight": ("weight", _set("weight", 3, np.nan)),
    "child heavier than its parent": ("weight", _set("weight", 1, 1e6)),
    "NaN impurity": ("impurity", _set("impurity", 3, np.nan)),
    "negative samples": ("n_samples", _set("n_samples", 3, -1)),
    "short array": ("missing", _replace("missing", lambda array: array[:-1])),
    "no offsets": ("term_begin", _replace("term_begin", lambda array: array[:0])),
    "wrong type": ("feature", _replace("feature", lambda array: array.astype(np.int64))),
    "wrong byte order": ("threshold", _replace("threshold", lambda array: array.astype(">f8"))),
    "wrong dimensions": ("value", _replace("value", lambda array: array.ravel())),
    "not an array": ("weight", _replace("weight", lambda array: array.tolist())),
    "an array left out": ("weight", lambda state: state.pop("weight")),
    "an array too many": ("extra", lambda state: state.update(extra=np.zeros(1))),
    "features as text": ("n_features", _replace("n_features", str)),
    "other features": ("features", _replace("n_features", lambda n: n + 1)),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named(name):
    tree, n_categories = mixed_tree()
    state = tree.to_state()
    array, change = DAMAGE[name]
    change(state)
    with pytest.raises(ModelFileError, match=array):
        TreeArrays.from_state(state, n_categories)


def test_a_node_may_not_be_its_own_child():
    """Breadth-first sums alone would let this one through: leaf, then a test whose first child is itself."""
    state = build(numeric(0, 0.0, leaf(1.0), leaf(2.0)), 1).to_state()
    for name in ("kind", "feature", "threshold", "n_children"):
        state[name] = state[name][[1, 0, 2]]
    state["first_child"] = np.array([-1, 1, -1], np.int32)
    with pytest.raises(ModelFileError, match="'first_child', node 1"):
        TreeArrays.from_state(state, [0])


def test_the_error_names_the_node():
    tree, n_categories = mixed_tree()
    state = tree.to_state()
    _set("branch", 2, 7)(state)
    with pytest.raises(ModelFileError, match="'branch', node 1: no such child"):
        TreeArrays.from_state(state, n_categories)


@given(st.data())
def test_any_changed_number_is_refused_or_harmless(data):
    """Whatever one number becomes, the tree is refused, or predicts without leaving its arrays."""
    from oracles.naive_predict import predict_value

    tree, n_categories = mixed_tree()
    state = tree.to_state()
    name = data.draw(st.sampled_from(sorted(ARRAY_TYPES)))
    array = state[name].copy()
    raw = array.view(np.uint8).reshape(-1)
    if len(raw):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    state[name] = array
    try:
        tree = TreeArrays.from_state(state, n_categories)
    except ModelFileError:
        return
    rows = [
        np.array([0.0, np.nan, 3.0]),
        np.array([0, -1, 2], np.int32),
        np.array([69, -1, 0], np.int32),
        np.zeros(3),
    ]
    with np.errstate(over="ignore"):
        assert predict_value(tree, rows).shape == (3, 1, 2)


# ---- scikit-learn's names ----


def test_what_scikit_learn_calls_tree_reads_the_same():
    sk = iris_tree()
    tree = from_sklearn(sk)
    order = np.argsort(list(_breadth_first(sk)))  # scikit-learn's node number -> ours
    assert tree.node_count == sk.node_count == tree.capacity
    assert tree.n_outputs == sk.n_outputs and tree.max_n_classes == sk.max_n_classes
    assert tree.n_classes.tolist() == sk.n_classes.tolist()
    np.testing.assert_array_equal(tree.n_node_samples[order], sk.n_node_samples)
    np.testing.assert_array_equal(tree.compute_node_depths()[order], sk.compute_node_depths())
    np.testing.assert_array_equal(tree.weighted_n_node_samples[order], sk.weighted_n_node_samples)
    internal = sk.children_left >= 0
    for name in ("children_left", "children_right"):
        ours, theirs = getattr(tree, name), getattr(sk, name)
        np.testing.assert_array_equal(ours[order][internal], order[theirs[internal]])
        np.testing.assert_array_equal(ours[order][~internal], -1)
    np.testing.assert_array_equal(tree.missing_go_to_left[order][internal], sk.missing_go_to_left[internal])
    np.testing.assert_allclose(tree.compute_feature_importances(), sk.compute_feature_importances())
    np.testing.assert_allclose(
        tree.compute_feature_importances(normalize=False), sk.compute_feature_importances(normalize=False)
    )


def _breadth_first(sk):
    nodes = [0]
    for node in nodes:
        nodes += [child for child in (sk.children_left[node], sk.children_right[node]) if child >= 0]
    return nodes


def test_a_linear_test_shares_its_importance():
    tree, _ = mixed_tree()
    total = tree.weight * tree.impurity
    gain = {t: total[t] - total[list(tree.children(t))].sum() for t in (0, 1, 2, 4)}
    expected = np.array([gain[0] + gain[4] / 3, gain[1], gain[2], gain[4] * 2 / 3]) / tree.weight[0]
    np.testing.assert_allclose(tree.compute_feature_importances(normalize=False), expected)


def test_a_multiway_tree_has_no_left_and_right():
    from tree.trees_by_hand import multiway

    tree = build(multiway(0, (0, 1, 2), leaf(1.0), leaf(2.0), leaf(3.0)), 1)
    with pytest.raises(AttributeError, match="more than two children"):
        tree.children_left  # noqa: B018


# ---- subset ----


def test_subset_turns_marked_nodes_into_leaves():
    tree, n_categories = mixed_tree()
    mark = np.zeros(9, bool)
    mark[4] = True
    cut = tree.subset(mark)
    cut.validate(n_categories)
    assert cut.kind.tolist() == [1, 3, 2, 0, 0, 0, 0]
    assert cut.branch.tolist() == [1, -1, 0] and len(cut.term_feature) == 0 and len(cut.set_bits) == 2
    np.testing.assert_array_equal(cut.value, tree.value[:7])


def test_subset_moves_the_later_nodes_up():
    tree, n_categories = mixed_tree()
    mark = np.zeros(9, bool)
    mark[[1, 4, 7]] = True  # those below 1 change nothing
    cut = tree.subset(mark)
    cut.validate(n_categories)
    assert cut.kind.tolist() == [1, 0, 2, 0, 0] and cut.first_child.tolist() == [1, -1, 3, -1, -1]
    np.testing.assert_array_equal(cut.weight, tree.weight[[0, 1, 2, 5, 6]])
    np.testing.assert_array_equal(cut.set_bits, tree.set_bits)
    assert len(cut.branch) == 0


def test_subset_of_nothing_is_the_tree_and_of_the_root_one_leaf():
    tree, _ = mixed_tree()
    assert same(tree.subset(np.zeros(9, bool)), tree)
    assert tree.subset(np.ones(9, bool)).node_count == 1


@given(st.integers(0, 2**32))
def test_any_subset_is_sound_and_keeps_the_answers_above_the_cut(seed):
    X, y = load_diabetes(return_X_y=True)
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(X), 60)
    tree = from_sklearn(
        DecisionTreeRegressor(max_features=3, random_state=seed % 1000).fit(X[rows], y[rows]).tree_
    )
    mark = rng.random(tree.node_count) < 0.2
    cut = tree.subset(mark)
    cut.validate([0] * tree.n_features)
    new = follow(tree, cut)
    kept = np.flatnonzero(new >= 0)
    assert len(kept) == cut.node_count and (np.diff(new[kept]) == 1).all()
    np.testing.assert_array_equal(cut.is_leaf, (tree.is_leaf | mark)[kept])
    np.testing.assert_array_equal(cut.parent[1:], new[tree.parent[kept[1:]]])


def test_a_grown_tree_has_read_only_arrays_of_the_declared_types():
    X, y = load_iris(return_X_y=True)
    colors = np.array(["red", "green", "blue"], object)[y]
    for data in (X, np.column_stack([X[:, :2].astype(object), colors]), X[:1]):
        tree = SpinneyTree().fit(data, y[: len(data)]).tree_
        again = TreeArrays(*(getattr(tree, name) for name in ARRAY_TYPES), tree.n_features)
        for name, (dtype,) in ARRAY_TYPES.items():
            array = getattr(tree, name)
            assert array.dtype == dtype
            assert not array.flags.writeable
            np.testing.assert_array_equal(array, getattr(again, name))
        assert not tree.is_leaf.flags.writeable
        np.testing.assert_array_equal(tree.is_leaf, again.is_leaf)
        assert (tree.feature[tree.is_leaf] == -2).all()
