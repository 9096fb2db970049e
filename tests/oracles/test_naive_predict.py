import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from oracles import naive_predict
from oracles.naive_predict import apply, decision_path, predict_value
from tree.trees_by_hand import build, from_sklearn, leaf, mixed_tree, multiway, numeric

NAN = np.nan


def columns(*rows):
    """Rows of (numeric, code of 3, code of 70, numeric) as the columns of a table."""
    first, second, third, fourth = zip(*rows, strict=True)
    return [
        np.array(first, float),
        np.array(second, np.int32),
        np.array(third, np.int32),
        np.array(fourth, np.float32),
    ]


def test_each_kind_of_test_picks_its_child():
    tree, _ = mixed_tree()
    # Breadth first: 0 numeric; 1 multiway, 2 set; 3, 4 children of 1; 5, 6 of 2; 7, 8 of the linear test 4.
    rows = columns(
        (1.5, 2, 0, 0.0),  # x ≤ 1.5, category 2 → child 0 → leaf 3
        (1.0, 0, 0, 0.5),  # category 0 → linear: 1 − 1 = 0 ≤ .25 → 7
        (1.0, 0, 0, 0.0),  # 1 − 0 = 1 > .25 → 8
        (2.0, 0, 69, 0.0),  # in the set, second word → 5
        (2.0, 0, 64, 0.0),  # second word, not in the set → 6
        (2.0, 0, -1, 0.0),  # missing goes to child 1 → 6
    )
    assert apply(tree, rows).tolist() == [3, 7, 8, 5, 6, 6]
    np.testing.assert_array_equal(predict_value(tree, rows)[:, 0], tree.value[[3, 7, 8, 5, 6, 6], 0])


def test_a_category_without_a_branch_is_answered_by_the_node():
    tree, _ = mixed_tree()
    rows = columns((0.0, 1, 0, 0.0))
    assert apply(tree, rows).tolist() == [1]
    np.testing.assert_array_equal(predict_value(tree, rows)[0], tree.value[1])


def test_a_missing_term_is_filled():
    tree, _ = mixed_tree()
    # x0 = 1 (≤ 1.5), x3 missing → 1.0: 1 − 2 = −1 ≤ .25.
    assert apply(tree, columns((1.0, 0, 0, NAN))).tolist() == [7]


def test_a_missing_value_divides_the_row_by_the_childrens_weight():
    tree, _ = mixed_tree()
    rows = columns((NAN, 2, 0, 0.0))
    path = decision_path(tree, rows).toarray()[0]
    left = (3 + 6) / 16
    np.testing.assert_allclose(path, [1, left, 1 - left, left, 0, 1 - left, 0, 0, 0])
    np.testing.assert_allclose(
        predict_value(tree, rows)[0, 0], left * np.array([1, 0]) + (1 - left) * np.array([0, 1])
    )
    assert apply(tree, rows).tolist() == [3]


def test_a_row_that_splits_again_below_keeps_its_total():
    inner = multiway(1, (0, 1, 2), leaf([1.0, 0.0], 1), leaf([0.0, 1.0], 2), leaf([0.5, 0.5], 1))
    tree = build(numeric(0, 0.0, inner, leaf([0.0, 1.0], 4)), 2)
    rows = [np.array([NAN]), np.array([-1], np.int32)]
    np.testing.assert_allclose(decision_path(tree, rows).toarray()[0], [1, 0.5, 0.5, 0.125, 0.25, 0.125])
    np.testing.assert_allclose(predict_value(tree, rows).sum(), 1.0)
    assert apply(tree, rows).tolist() == [2]


def test_equal_parts_go_to_the_first_leaf_and_to_children_without_weight():
    tree = build(numeric(0, 0.0, leaf([1.0, 0.0], 0), leaf([0.0, 1.0], 0)), 1)
    rows = [np.array([NAN])]
    np.testing.assert_array_equal(predict_value(tree, rows)[0, 0], [0.5, 0.5])
    assert apply(tree, rows).tolist() == [1]


def test_codes_beyond_the_branches_and_the_words_of_a_set():
    tree = build(multiway(0, (0, 1), leaf([1.0, 0.0]), leaf([0.0, 1.0])), 1)
    assert apply(tree, [np.array([2], np.int32)]).tolist() == [0]


def test_agrees_with_scikit_learn_on_iris():
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    tree = from_sklearn(model.tree_)
    rows = list(X.astype(np.float32).T)
    np.testing.assert_allclose(predict_value(tree, rows)[:, 0], model.predict_proba(X))


@pytest.mark.parametrize("name", ["apply", "predict_value", "decision_path"])
def test_no_rows_is_no_answer(name):
    tree, _ = mixed_tree()
    empty = [np.empty(0), np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0)]
    assert getattr(naive_predict, name)(tree, empty).shape[0] == 0
