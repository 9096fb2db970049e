from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree import export_text as sklearn_export_text

from spinney.inspect.text import export_text
from tree.trees_by_hand import build, from_sklearn, leaf, linear, mixed_tree, numeric


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_depth": 0},
        {"max_depth": 2, "decimals": 3},
        {"spacing": 5},
        {"show_weights": True},
        {"feature_names": ["a", "b", "c", "d > e"]},
        {"class_names": ["x", "y", "z"], "show_weights": True},
    ],
)
def test_the_same_text_as_scikit_learn_for_iris(options):
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert export_text(from_sklearn(model.tree_), **options) == sklearn_export_text(model, **options)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_the_same_text_as_scikit_learn_for_regression(n_outputs):
    X, y = load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor(max_depth=5).fit(X, np.c_[y, y**2][:, :n_outputs])
    assert export_text(from_sklearn(model.tree_), max_depth=3) == sklearn_export_text(model, max_depth=3)


def estimator(tree, **parts):
    named = [
        ("密度", ()),
        ("纹理", ("清晰", "稍糊", "模糊")),
        ("city", tuple(f"c{i}" for i in range(70))),
        ("糖", ()),
    ]
    features = [
        SimpleNamespace(name=n, kind="categorical" if c else "numeric", categories=c) for n, c in named
    ]
    return SimpleNamespace(tree_=tree, schema_=SimpleNamespace(features=features, has_names=True), **parts)


MIXED = """\
|--- 密度 <= 1.50
|   |--- 纹理 = 模糊
|   |   |--- class: 好
|   |--- 纹理 = 清晰
|   |   |--- 1*密度 - 2*糖 <= 0.25
|   |   |   |--- class: 好
|   |   |--- 1*密度 - 2*糖 >  0.25
|   |   |   |--- class: 坏
|--- 密度 >  1.50
|   |--- city in {c0, c5, c69}
|   |   |--- class: 坏
|   |--- city not in {c0, c5, c69} or missing
|   |   |--- class: 好
"""


def test_every_kind_of_test_by_its_names():
    model = estimator(mixed_tree()[0], classes_=np.array(["好", "坏"]))
    assert export_text(model, show_missing=True) == MIXED
    assert export_text(model) == MIXED.replace(" or missing", "")
    model.schema_.features[2].has_missing = True
    assert export_text(model) == MIXED


def test_small_coefficients_of_a_sum_are_not_rounded_to_nothing():
    tree = build(linear([(0, 0.000123, 0.0), (1, -12345.6, 0.0)], 0.00045, leaf(1.0), leaf(2.0)), 2)
    lines = export_text(tree).splitlines()
    assert lines[0] == "|--- 0.000123*feature_0 - 12345.6*feature_1 <= 0.00045"
    assert lines[2] == "|--- 0.000123*feature_0 - 12345.6*feature_1 >  0.00045"


def test_a_single_leaf():
    assert export_text(build(leaf(2.5), 1)) == "|--- value: [2.50]\n"


def test_a_very_deep_tree_needs_no_recursion():
    node = leaf(0.0)
    for depth in range(3000):
        node = numeric(0, float(depth), node, leaf(1.0))
    assert export_text(build(node, 1), max_depth=5000).count("\n") == 2 * 3000 + 3001  # branches, leaves
    assert "truncated branch of depth 2990" in export_text(build(node, 1))


def test_hostile_names_stay_on_their_line():
    tree = build(numeric(0, 0.0, leaf([1.0, 0.0]), leaf([0.0, 1.0])), 1)
    text = export_text(tree, feature_names=["a\n\x1b[31m\u202e"], class_names=["x\ny", "z"])
    assert text.count("\n") == 4 and "\x1b" not in text and "\u202e" not in text


def test_arguments_are_checked():
    tree, _ = mixed_tree()
    with pytest.raises(ValueError, match="feature_names has 1 names"):
        export_text(tree, feature_names=["a"])
    with pytest.raises(ValueError, match="class_names has 3 names; the tree has 2 classes"):
        export_text(tree, class_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="max_depth"):
        export_text(tree, max_depth=-1)
    with pytest.raises(TypeError, match="fitted tree"):
        export_text(object())
    with pytest.raises(NotFittedError, match="DecisionTreeClassifier"):
        export_text(DecisionTreeClassifier())


def test_known_or_missing_is_said_in_words():
    tree = build(numeric(0, np.finfo(float).max, leaf(1.0), leaf(2.0), missing=1), 1)
    text = (
        "|--- feature_0 is known\n|   |--- value: [1.00]\n|--- feature_0 is missing\n|   |--- value: [2.00]\n"
    )
    assert export_text(tree) == export_text(tree, show_missing=True) == text
