import pickle

import numpy as np
import pytest

from loops import for_each
from oracles import naive_predict
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.predictor import Predictor
from tree.test_ensemble import iris_trees
from tree.test_predict_tree import block_of, mixed_columns, random_node, table_of
from tree.trees_by_hand import build, leaf, numeric


def naive_stages(trees, table, start=0.0, per_round=None):
    """The loop over trees that every sum must equal, bit for bit: the sum after each tree."""
    values = [naive_predict.predict_value(tree, table.columns) for tree in trees]
    total = np.zeros((table.n_rows, per_round) if per_round else values[0].shape) + start
    stages = []
    for t, value in enumerate(values):
        if per_round:
            total[:, t % per_round] += value[:, 0, 0]
        else:
            total += value
        stages.append(total.copy())
    return stages


def random_trees(rng, n_trees, depth=5):
    return [build(random_node(rng, int(rng.integers(0, depth + 1))), n_features=4) for _ in range(n_trees)]


@for_each("seed", range(8))
def test_sums_means_and_leaves_are_those_of_the_trees_one_by_one(seed):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, 7)
    table = table_of(mixed_columns(rng, int(rng.integers(0, 90))))
    predictor = Predictor(TreeEnsemble.from_trees(trees))
    stages = naive_stages(trees, table)
    np.testing.assert_array_equal(predictor.sum(table), stages[-1])
    np.testing.assert_array_equal(predictor.mean(table), stages[-1] / 7)
    leaves = np.column_stack([naive_predict.apply(tree, table.columns) for tree in trees])
    np.testing.assert_array_equal(predictor.apply(table), leaves)
    assert predictor.apply(table).dtype == np.int32


@for_each("seed", range(4))
def test_a_start_enters_before_the_trees(seed):
    rng = np.random.default_rng(100 + seed)
    trees = random_trees(rng, 6)
    table = table_of(mixed_columns(rng, 70))
    predictor = Predictor(TreeEnsemble.from_trees(trees))
    start = rng.normal(size=(70, 1, 2))
    untouched = start.copy()
    stages = naive_stages(trees, table, start)
    np.testing.assert_array_equal(predictor.sum(table, start=start), stages[-1])
    np.testing.assert_array_equal(start, untouched)
    first = Predictor(TreeEnsemble.from_trees(trees[:4])).sum(table, start=start)
    rest = Predictor(TreeEnsemble.from_trees(trees[4:])).sum(table, start=first)
    np.testing.assert_array_equal(rest, stages[-1])


def test_every_stage_is_exact():
    rng = np.random.default_rng(5)
    trees = random_trees(rng, 6)
    table = table_of(mixed_columns(rng, 40))
    predictor = Predictor(TreeEnsemble.from_trees(trees))
    stages = naive_stages(trees, table)
    for total, expected in zip(predictor.staged_sum(table), stages, strict=True):
        np.testing.assert_array_equal(total, expected)


def boosted_trees(rng, n_trees, n_features=3):
    def node(depth):
        if depth == 0 or rng.random() < 0.2:
            return leaf([float(rng.normal())])
        children = node(depth - 1), node(depth - 1)
        feature = int(rng.integers(n_features))
        return numeric(feature, float(rng.normal()), *children, missing=int(rng.integers(2)))

    return [build(node(4), n_features) for _ in range(n_trees)]


@pytest.mark.parametrize("per_round", [1, 3])
def test_rounds_of_trees_have_a_column_each(per_round):
    rng = np.random.default_rng(per_round)
    trees = boosted_trees(rng, 12)
    X = rng.normal(size=(333, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    table = block_of(X)
    predictor = Predictor(TreeEnsemble.from_trees(trees), outputs_per_round=per_round)
    start = rng.normal(size=(333, per_round))
    stages = naive_stages(trees, table, start=start, per_round=per_round)
    np.testing.assert_array_equal(predictor.sum(table, start=start), stages[-1])
    given = list(predictor.staged_sum(table, start=start))
    assert len(given) == 12 // per_round
    for k, stage in enumerate(given):
        np.testing.assert_array_equal(stage, stages[(k + 1) * per_round - 1])
    with pytest.raises(ValueError, match="no rounds of 5"):
        Predictor(TreeEnsemble.from_trees(trees), outputs_per_round=5)


@pytest.mark.parametrize(("n_thresholds", "gaps"), [(9, True), (5000, False)])
@pytest.mark.parametrize("n_features", [3, 20, 40, 100, 130])
def test_deep_trees_of_any_number_of_features(n_features, n_thresholds, gaps):
    """Rows of every length and width of codes, among them those that are too long."""
    rng = np.random.default_rng(n_features)
    thresholds = rng.normal(size=n_thresholds)

    def end():
        return leaf([float(rng.normal())])

    def test(*children):
        feature, at = int(rng.integers(n_features)), float(rng.choice(thresholds))
        return numeric(feature, at, *children, missing=int(rng.integers(2)))

    def bush(depth):
        return end() if depth == 0 or rng.random() < 0.02 else test(bush(depth - 1), bush(depth - 1))

    def vine(depth):
        return end() if depth == 0 else test(*rng.permutation([vine(depth - 1), end()]))

    trees = [build(node, n_features) for node in (bush(10), bush(11), vine(30), vine(7), end())]
    X = rng.choice(thresholds, size=(2500, n_features))  # equal goes to child 0
    X[::2] = np.nextafter(X[::2], np.inf)
    X[::5] = rng.normal(size=X[::5].shape)
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
    table = block_of(X)
    predictor = Predictor(TreeEnsemble.from_trees(trees))
    np.testing.assert_array_equal(predictor.sum(table), naive_stages(trees, table)[-1])
    leaves = np.column_stack([naive_predict.apply(tree, table.columns) for tree in trees])
    np.testing.assert_array_equal(predictor.apply(table), leaves)


def test_a_forest_agrees_with_scikit_learn():
    forest, trees = iris_trees(20)
    X = np.random.default_rng(0).uniform(0, 7, size=(700, 4)).astype(np.float32)
    predictor = Predictor(TreeEnsemble.from_trees(trees))
    np.testing.assert_allclose(predictor.mean(block_of(X), 2)[:, 0], forest.predict_proba(X), rtol=1e-15)
    path, begin = predictor.decision_path(block_of(X)), TreeEnsemble.from_trees(trees).tree_begin
    theirs, their_begin = forest.decision_path(X)
    np.testing.assert_array_equal(begin, their_begin)
    assert path.shape == theirs.shape and path.nnz == theirs.nnz
    np.testing.assert_array_equal(path.sum(axis=1), np.asarray(theirs.sum(axis=1)).ravel())
    leaves = predictor.apply(block_of(X))
    rows = np.indices(leaves.shape)[0]
    assert (path.tocsr()[rows.ravel(), (leaves + begin[:-1]).ravel()] == 1).all()


def test_threads_change_nothing():
    rng = np.random.default_rng(6)
    trees = random_trees(rng, 5)
    table = table_of(mixed_columns(rng, 5000))
    predictor = Predictor(TreeEnsemble.from_trees(trees))
    for method in ("sum", "apply"):
        one = getattr(predictor, method)(table, 1)
        np.testing.assert_array_equal(getattr(predictor, method)(table, 3), one)


def test_a_pickled_predictor_is_made_again():
    rng = np.random.default_rng(7)
    predictor = Predictor(TreeEnsemble.from_trees(boosted_trees(rng, 4)), outputs_per_round=2)
    table = block_of(rng.normal(size=(30, 3)))
    again = pickle.loads(pickle.dumps(predictor))
    np.testing.assert_array_equal(again.sum(table), predictor.sum(table))
