import pickle
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from loops import for_each
from oracles import naive_predict
from spinney.tree.predictor import Predictor
from tree.trees_by_hand import build, category_set, from_sklearn, leaf, linear, mixed_tree, multiway, numeric


def table_of(columns):
    return SimpleNamespace(block=None, columns=columns, n_rows=len(columns[0]))


def block_of(block):
    return SimpleNamespace(block=block, columns=list(block.T), n_rows=len(block))


def mixed_columns(rng, n):
    """Columns for `mixed_tree`: numeric, three categories, seventy categories, numeric; a fifth missing."""
    columns = [
        rng.normal(1.0, 1.5, n),
        rng.integers(-1, 3, n).astype(np.int32),
        rng.integers(-1, 70, n).astype(np.int32),
        rng.normal(size=n).astype(np.float32),
    ]
    for j in (0, 3):
        columns[j][rng.random(n) < 0.2] = np.nan
    return columns


def random_node(rng, depth):
    """A subtree over the columns of `mixed_columns` with random tests and missing policies."""
    if depth == 0 or rng.random() < 0.1:
        p = rng.random()
        return leaf([p, 1 - p], float(rng.integers(0, 5)))
    kind = rng.integers(4)
    missing = int(rng.integers(-1, 2))
    children = [random_node(rng, depth - 1) for _ in range(2)]
    if kind == 0:
        return numeric(int(rng.choice([0, 3])), float(rng.normal()), *children, missing=missing)
    if kind == 1:
        codes = rng.choice(70, 20, replace=False).tolist()
        return category_set(2, codes, *children, missing=missing)
    if kind == 2:
        return multiway(1, rng.integers(-1, 2, 3).tolist(), *children, missing=missing)
    terms = [(0, float(rng.normal()), float(rng.normal())), (3, float(rng.normal()), 0.0)]
    return linear(terms, float(rng.normal()), *children)


def assert_agrees(tree, table, n_threads=1):
    predictor = Predictor(tree)
    value = naive_predict.predict_value(tree, table.columns)
    np.testing.assert_array_equal(predictor.value(table, n_threads), value)
    np.testing.assert_array_equal(
        predictor.apply(table, n_threads)[:, 0], naive_predict.apply(tree, table.columns)
    )
    np.testing.assert_array_equal(predictor.classes(table, n_threads), value[:, 0].argmax(axis=1))
    path, expected = (
        predictor.decision_path(table, n_threads),
        naive_predict.decision_path(tree, table.columns),
    )
    np.testing.assert_array_equal(path.toarray(), expected.toarray())
    assert path.has_sorted_indices


def test_every_kind_of_test_agrees_with_the_naive_walk():
    tree, _ = mixed_tree()
    assert_agrees(tree, table_of(mixed_columns(np.random.default_rng(0), 500)))


@for_each("seed", range(15))
def test_random_trees_agree_with_the_naive_walk(seed):
    rng = np.random.default_rng(seed)
    tree = build(random_node(rng, 6), n_features=4)
    assert_agrees(tree, table_of(mixed_columns(rng, int(rng.integers(0, 200)))))


def test_threads_change_nothing():
    rng = np.random.default_rng(1)
    tree = build(random_node(rng, 7), n_features=4)
    table = table_of(mixed_columns(rng, 6000))
    predictor = Predictor(tree)
    for method in ("value", "apply", "classes"):
        one = getattr(predictor, method)(table, 1)
        np.testing.assert_array_equal(getattr(predictor, method)(table, 3), one)
    assert (predictor.decision_path(table, 3) != predictor.decision_path(table, 1)).nnz == 0


FORMS = {
    "rows": lambda x: x,
    "columns": np.asfortranarray,
    "reversed": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "every other": lambda x: np.repeat(np.repeat(x, 2, axis=0), 2, axis=1)[::2, ::2],
    "unaligned": lambda x: np.frombuffer(b"x" + x.tobytes(), x.dtype, offset=1).reshape(x.shape),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_any_layout_agree_with_scikit_learn(form, dtype):
    X, y = load_iris(return_X_y=True)
    X = X.astype(dtype)
    X[::7, 2] = np.nan
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    block = FORMS[form](X)
    block.flags.writeable = False
    predictor = Predictor(from_sklearn(model.tree_))
    assert np.array_equal(block, X, equal_nan=True)
    np.testing.assert_array_equal(predictor.classes(block_of(block)), model.predict(X))
    np.testing.assert_array_equal(predictor.value(block_of(block))[:, 0], model.predict_proba(X))


def test_several_outputs_have_classes_of_their_own():
    X, y = load_iris(return_X_y=True)
    Y = np.column_stack([y, y == 1])
    model = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    predictor = Predictor(from_sklearn(model.tree_), n_classes=[3, 2])
    np.testing.assert_array_equal(predictor.classes(block_of(X)), model.predict(X))


def test_a_large_regression_tree_on_threads():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 5)).astype(np.float32)
    model = DecisionTreeRegressor().fit(X, X @ rng.normal(size=5))
    predictor = Predictor(from_sklearn(model.tree_))
    np.testing.assert_array_equal(predictor.value(block_of(X), 2)[:, 0, 0], model.predict(X))


def test_a_single_leaf_answers_every_row():
    predictor = Predictor(build(leaf([0.25, 0.75]), n_features=2))
    table = SimpleNamespace(block=None, columns=[np.zeros(3), np.zeros(3)], n_rows=3)
    assert predictor.value(table).tolist() == [[[0.25, 0.75]]] * 3
    assert predictor.classes(table).tolist() == [1, 1, 1]
    assert predictor.classes(block_of(np.zeros((0, 2)))).shape == (0,)


def test_ties_go_to_the_first_class():
    predictor = Predictor(build(leaf([0.4, 0.4, 0.2]), n_features=1))
    assert predictor.classes(block_of(np.zeros((1, 1)))).tolist() == [0]


def test_columns_the_tree_does_not_read_are_never_made():
    class Grudging(list):
        def __getitem__(self, j):
            assert j == 1, "only column 1 is tested"
            return list.__getitem__(self, j)

    tree = build(numeric(1, 0.0, leaf([1.0]), leaf([2.0]), missing=0), n_features=3)
    table = SimpleNamespace(block=None, columns=Grudging([None, np.array([-1.0, 1.0]), None]), n_rows=2)
    assert Predictor(tree).value(table).ravel().tolist() == [1.0, 2.0]


def test_wrong_inputs_are_named():
    tree = build(numeric(1, 0.0, leaf([1.0]), leaf([2.0]), missing=0), n_features=2)
    predictor = Predictor(tree)
    with pytest.raises(ValueError, match=r"has 3 columns, the tree was fitted on 2"):
        predictor.value(block_of(np.zeros((4, 3))))
    with pytest.raises(TypeError, match=r"column 1 has the element format 'e'"):
        predictor.value(table_of([np.zeros(2), np.zeros(2, np.float16)]))
    with pytest.raises(TypeError, match="native byte order"):
        predictor.value(block_of(np.zeros((4, 2), ">f8")))


def test_a_pickled_predictor_is_made_again():
    tree, _ = mixed_tree()
    table = table_of(mixed_columns(np.random.default_rng(2), 50))
    predictor = Predictor(tree)
    again = pickle.loads(pickle.dumps(predictor))
    np.testing.assert_array_equal(again.value(table), predictor.value(table))


def test_many_threads_share_one_predictor():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(5000, 4))
    model = DecisionTreeClassifier().fit(X, X[:, 0] * X[:, 1] > 0)
    predictor = Predictor(from_sklearn(model.tree_))
    expected = predictor.apply(block_of(X))
    with ThreadPoolExecutor(4) as pool:
        for answer in pool.map(lambda _: predictor.apply(block_of(X), 2), range(20)):
            np.testing.assert_array_equal(answer, expected)
