import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from spinney.core.errors import ModelFileError
from spinney.io import dumps, loads
from spinney.native import core
from spinney.tree.ensemble import ARRAY_TYPES, EnsembleBuilder, TreeEnsemble
from spinney.tree.tree_arrays import TreeArrays
from tree.test_tree_arrays import same
from tree.trees_by_hand import build, from_sklearn, leaf, mixed_tree, multiway, numeric


def mixed_trees():
    """Three trees: one with every kind of test, one leaf, and one numeric test."""
    tree, n_categories = mixed_tree()
    stump = build(numeric(3, 0.5, leaf([1.0, 0.0], 3), leaf([0.5, 0.5], 2), missing=1), 4)
    return [tree, build(leaf([0.25, 0.75]), 4), stump, tree], n_categories


def iris_trees(n=10):
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(n, random_state=0).fit(X, y)
    return forest, [from_sklearn(member.tree_) for member in forest.estimators_]


def equal(left: TreeEnsemble, right: TreeEnsemble) -> bool:
    return left.n_features == right.n_features and all(
        getattr(left, name).dtype == getattr(right, name).dtype
        and getattr(left, name).tobytes() == getattr(right, name).tobytes()
        for name in ARRAY_TYPES
    )


def test_every_tree_comes_back_as_it_was():
    trees, n_categories = mixed_trees()
    ensemble = TreeEnsemble.from_trees(iter(trees))
    ensemble.validate(n_categories)
    assert ensemble.n_trees == len(ensemble) == 4 and ensemble.node_count == 9 + 1 + 3 + 9
    for number, (tree, given_tree) in enumerate(zip(ensemble.trees(), trees, strict=True)):
        assert same(tree, given_tree) and same(ensemble.tree(number - 4), given_tree)
    with pytest.raises(IndexError):
        ensemble.tree(4)


def test_runs_and_extensions_are_those_of_the_trees():
    trees, _ = mixed_trees()
    ensemble = TreeEnsemble.from_trees(trees)
    for begin in range(4):
        for end in range(begin + 1, 5):
            assert equal(ensemble[begin:end], TreeEnsemble.from_trees(trees[begin:end]))
            if begin > 0:
                assert equal(ensemble[:begin].extend(ensemble[begin:end]), ensemble[:end])
    for nothing in (slice(2, 2), slice(None, None, 2)):
        with pytest.raises(ValueError, match="has at least one tree"):
            ensemble[nothing]


def test_a_forest_is_lighter_than_scikit_learns():
    forest, trees = iris_trees()
    ensemble = TreeEnsemble.from_trees(trees)
    theirs = sum(
        member.tree_.__getstate__()["nodes"].nbytes + member.tree_.value.nbytes
        for member in forest.estimators_
    )
    ours = sum(getattr(ensemble, name).nbytes for name in ARRAY_TYPES)
    assert ours < 0.7 * theirs
    assert len(dumps(ensemble)) < 0.8 * theirs
    assert ours < (34 + 8 * 3) * ensemble.node_count + 2000


def test_wide_numbers_are_kept_where_narrow_ones_do_not_do():
    many = [leaf([float(c)], 1.0) for c in range(300)]
    tree = build(multiway(0, list(range(300)), *many, missing=299, n_samples=2**40), 1)
    ensemble = TreeEnsemble.from_trees([build(leaf([0.0]), 1), tree])
    assert same(ensemble.tree(1), tree)
    assert ensemble.missing.dtype == np.int32 and ensemble.n_samples.dtype == np.int64
    assert same(loads(dumps(ensemble)).tree(1), tree)


def test_arrays_cannot_be_written_and_copies_are_equal():
    ensemble = TreeEnsemble.from_trees(mixed_trees()[0])
    for copied in (copy.deepcopy(ensemble), pickle.loads(pickle.dumps(ensemble)), loads(dumps(ensemble))):
        assert equal(copied, ensemble)
        with pytest.raises(ValueError, match="read-only"):
            copied.threshold[0] = 0


def test_trees_that_do_not_belong_together_are_refused():
    with pytest.raises(ValueError, match="at least one tree"):
        TreeEnsemble.from_trees([])
    with pytest.raises(ValueError, match=r"differ in \(n_features, n_outputs, width\)"):
        TreeEnsemble.from_trees([build(leaf([1.0]), 2), build(leaf([1.0]), 3)])


# ---- validation ----


def state_of(ensemble):
    return {name: getattr(ensemble, name).copy() for name in ARRAY_TYPES} | {"n_features": 4}


def restore(state, n_categories):
    """Read a state as a model file's is read, and then as its owner does."""
    ensemble = TreeEnsemble.__new__(TreeEnsemble)
    ensemble._set_state(state)
    ensemble._check_state()
    ensemble.validate(n_categories)
    return ensemble


def _set(name, index, value):
    return lambda state: state[name].__setitem__(index, value)


def _replace(name, make):
    return lambda state: state.update({name: make(state[name])})


DAMAGE = {
    "unknown kind": ("kind", _set("kind", 11, 5)),
    "test made a leaf": ("entries|n_children|add up", _set("kind", 10, 0)),
    "leaf made a test": ("n_children|first_child|feature", _set("kind", 11, 1)),
    "feature too large": ("'feature', tree 2, node 0", _set("feature", 10, 4)),
    "feature of a set too large": ("feature", _set("feature", 2, 4)),
    "infinite threshold": ("'threshold', tree 2, node 0", _set("threshold", 10, np.inf)),
    "missing to no child": ("'missing', tree 2, node 0", _set("missing", 10, 2)),
    "branch to no child": ("'branch', tree 3, node 1", _set("branch", 3, 2)),
    "one child": ("'n_children', tree 0, node 1", _set("branch_children", 0, 1)),
    "more children": ("tree 3", _set("branch_children", 1, 3)),
    "very many children": ("first_child|add up", _set("branch_children", 1, 2**31 - 1)),
    "negative children": ("n_children", _set("branch_children", 1, -2)),
    "term of no feature": ("'term_feature', tree 3, node 4", _set("term_feature", 2, 4)),
    "infinite value": ("'value', tree 1, node 0", _set("value", (9, 0, 1), np.inf)),
    "child heavier than its parent": ("'weight', tree 0, node 1", _set("weight", 1, 1e6)),
    "trees go back": ("tree_begin", _set("tree_begin", 1, 11)),
    "an empty tree": ("tree_begin", _set("tree_begin", 1, 10)),
    "trees end elsewhere": ("tree_begin", _set("tree_begin", 4, 2**62)),
    "a negative begin": ("tree_begin", _set("tree_begin", 1, -(2**62))),
    "no trees": ("tree_begin", _replace("tree_begin", lambda array: array[:1])),
    "no offsets": ("tree_begin", _replace("tree_begin", lambda array: array[:0])),
    "set offsets outside": ("set_begin", _set("set_begin", 1, 2**62)),
    "set without words": ("set_begin", _set("set_begin", 1, 0)),
    "a set too few": ("set_begin", _replace("set_begin", lambda array: array[1:] - array[1])),
    "a word too many": ("set_begin", _replace("set_bits", lambda array: np.append(array, array))),
    "short fill": ("term_begin", _replace("term_fill", lambda array: array[:-1])),
    "children of other tests": ("branch_children", _replace("branch_children", lambda array: array[:-1])),
    "short array": ("impurity", _replace("impurity", lambda array: array[:-1])),
    "no outputs": ("value", _replace("value", lambda array: array[:, :0])),
    "wrong type": ("missing", _replace("missing", lambda array: array.astype(np.int16))),
    "not an array": ("weight", _replace("weight", lambda array: array.tolist())),
    "an array left out": ("weight", lambda state: state.pop("weight")),
    "features as text": ("n_features", _replace("n_features", str)),
    "other features": ("features", _replace("n_features", lambda n: n + 1)),
    "no features": ("feature", _replace("n_features", lambda n: -1)),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named(name):
    trees, n_categories = mixed_trees()
    state = state_of(TreeEnsemble.from_trees(trees))
    restore(dict(state), n_categories)
    expected, change = DAMAGE[name]
    change(state)
    with pytest.raises(ModelFileError, match=expected):
        restore(state, n_categories)


def test_the_owner_knows_more_than_the_file():
    trees, _ = mixed_trees()
    ensemble = TreeEnsemble.from_trees(trees)
    with pytest.raises(ModelFileError, match="numeric split is on a categorical"):
        ensemble.validate([2, 3, 70, 0])
    with pytest.raises(ModelFileError, match="more words than the feature has categories"):
        ensemble.validate([0, 3, 20, 0])


def test_large_ensembles_are_checked_part_by_part(monkeypatch):
    monkeypatch.setattr("spinney.tree.ensemble._CHECKED_AT_ONCE", 12)
    trees, n_categories = mixed_trees()
    state = state_of(TreeEnsemble.from_trees(trees))
    restore(dict(state), n_categories)
    state["threshold"][13] = np.nan
    with pytest.raises(ModelFileError, match="'threshold', tree 3, node 0"):
        restore(state, n_categories)


@given(st.data())
def test_any_changed_byte_is_refused_or_harmless(data):
    """Whatever one byte becomes, the ensemble is refused, or each of its trees would pass alone."""
    trees, n_categories = mixed_trees()
    state = state_of(TreeEnsemble.from_trees(trees))
    name = data.draw(st.sampled_from(sorted(ARRAY_TYPES)))
    raw = state[name].view(np.uint8).reshape(-1)
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        ensemble = restore(state, n_categories)
    except ModelFileError:
        return
    for tree in ensemble.trees():
        tree.validate(n_categories)


@pytest.mark.parametrize("n_features", [-1, 2**31, 2**62])
def test_a_number_of_features_that_cannot_be_is_refused_without_making_room_for_them(n_features):
    trees, _ = mixed_trees()
    ensemble = TreeEnsemble.from_trees(trees)
    object.__setattr__(ensemble, "n_features", n_features)
    with pytest.raises(ModelFileError, match="features"):
        loads(dumps(ensemble))
    object.__setattr__(ensemble, "n_features", 2**31 - 1)
    assert loads(dumps(ensemble)).n_features == 2**31 - 1  # the owner knows how many there are


@pytest.mark.parametrize("n_expected", [0, 1, 2, 40])
def test_trees_that_are_more_or_larger_than_expected_find_room(n_expected):
    _, trees = iris_trees(4)
    trees.sort(key=lambda tree: tree.node_count)
    builder = EnsembleBuilder(n_expected)
    for tree in trees:
        builder.add(tree)
    ensemble = builder.build()
    for tree, begin in zip(trees, ensemble.tree_begin[:-1], strict=True):
        here = slice(begin, begin + tree.node_count)
        for name in ("kind", "feature", "threshold", "value", "weight", "n_samples", "impurity"):
            np.testing.assert_array_equal(getattr(ensemble, name)[here], tree.to_state()[name])
    assert equal(ensemble, TreeEnsemble.from_trees(trees))


def test_trees_of_the_core_are_joined_as_if_one_by_one():
    rng = np.random.default_rng(0)
    number, city = rng.normal(size=300), rng.integers(0, 6, 300).astype(np.int32)
    codes = core.build_codes([number, city], [0, 6], None, 255, 1)
    options = core.BoostOptions(max_leaf_nodes=4, min_samples_leaf=5, learning_rate=0.5, max_features=1)
    booster = core.Booster(codes, options)
    booster.set_rows(3.0 * (number > 0) + np.sin(3 * number) + 2.0 * (city % 2), None, np.zeros((300, 1)))
    grown = booster.run("squared", [0.0], 8)
    has_sets = [len(tree.set_bits) > 0 for tree in grown]
    assert any(has_sets) and not all(has_sets)
    one_by_one = TreeEnsemble.from_trees(map(TreeArrays.from_grown, grown))
    assert dumps(TreeEnsemble.from_grown(grown)) == dumps(one_by_one)
