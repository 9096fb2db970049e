import math
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from oracles.naive_predict import apply
from spinney.inspect.rules import Condition, rules
from tree.trees_by_hand import build, category_set, from_sklearn, leaf, linear, mixed_tree, multiway, numeric

FEATURES = [
    SimpleNamespace(name="a", kind="numeric", categories=()),
    SimpleNamespace(name="b", kind="categorical", categories=("p", "q", "r")),
    SimpleNamespace(name="c", kind="categorical", categories=tuple(range(100, 170))),
    SimpleNamespace(name="d", kind="numeric", categories=()),
]


def fulfils(condition, row):
    """Check a condition on a row, a dict of values by feature name; a sum of features is evaluated."""
    value = row[condition.feature] if condition.feature in row else eval(condition.feature, {}, row)
    if condition.values is not None:
        return value in condition.values
    return condition.above < value <= condition.at_most


def test_exactly_one_rule_covers_each_row_and_it_is_the_trees_answer():
    tree, _ = mixed_tree()
    rng = np.random.default_rng(0)
    n = 300
    columns = [
        rng.uniform(0, 3, n),
        rng.integers(0, 3, n, np.int32),
        rng.integers(0, 70, n, np.int32),
        rng.normal(size=n),
    ]
    found = rules(tree, FEATURES)
    nodes = apply(tree, columns)
    for i in range(n):
        row = {"a": columns[0][i], "b": "pqr"[columns[1][i]], "c": 100 + columns[2][i], "d": columns[3][i]}
        covering = [rule for rule in found if all(fulfils(condition, row) for condition in rule.conditions)]
        assert [rule.node for rule in covering] == [nodes[i]]
    assert set(nodes) == {rule.node for rule in found}


def test_conditions_on_one_feature_become_one():
    inner = numeric(0, 3.0, leaf([1.0, 0.0]), numeric(0, 9.0, leaf([0.0, 1.0]), leaf([1.0, 0.0])))
    found = rules(build(numeric(0, 2.0, leaf([0.0, 1.0]), inner), 1))
    assert [rule.condition for rule in found] == ["x0 <= 2", "2 < x0 <= 3", "3 < x0 <= 9", "x0 > 9"]
    assert found[2].conditions == (Condition("x0", above=3.0, at_most=9.0),)


def test_category_sets_are_intersected_and_shown_by_value():
    inner = category_set(0, (0, 1), leaf([1.0, 0.0]), leaf([0.0, 1.0]))
    tree = build(category_set(0, (1, 2, 3), inner, leaf([1.0, 0.0])), 1)
    feature = SimpleNamespace(name="color", kind="categorical", categories=("red", "green", "blue", "a, b"))
    shown = [rule.condition for rule in rules(tree, [feature])]
    assert shown == ["color = green", "color in {blue, 'a, b'}", "color = red"]


def test_features_of_the_same_name_are_not_mixed_up():
    tree = build(numeric(0, 1.0, numeric(1, 0.0, leaf(1.0), leaf(2.0)), leaf(3.0)), 2)
    twins = [SimpleNamespace(name="x", kind="numeric", categories=())] * 2
    assert rules(tree, twins)[0].condition == "x <= 1 AND x <= 0"


def test_missing_passes_only_where_every_test_lets_it():
    tree = build(numeric(0, 1.0, numeric(0, 0.0, leaf(1.0), leaf(2.0), missing=1), leaf(3.0), missing=0), 1)
    shown = [rule.condition for rule in rules(tree, show_missing=True)]
    assert shown == ["x0 <= 0", "(0 < x0 <= 1 or missing)", "x0 > 1"]
    assert [rule.condition for rule in rules(tree)] == ["x0 <= 0", "0 < x0 <= 1", "x0 > 1"]


@pytest.mark.parametrize("show_missing", [None, True])
def test_known_or_missing_is_one_of_the_conditions(show_missing):
    known = numeric(0, 2.0, leaf(1.0), leaf(2.0), missing=1)
    tree = build(numeric(0, np.finfo(float).max, known, leaf(3.0), missing=1), 1)
    found = rules(tree, show_missing=show_missing)
    assert [rule.condition for rule in found] == ["x0 <= 2", "x0 > 2", "x0 is missing"]
    assert not any(fulfils(found[2].conditions[0], {"x0": x}) for x in (-1.0, 0.0, np.finfo(float).max))
    later = numeric(0, np.finfo(float).max, numeric(1, 0.0, leaf(1.0), leaf(2.0)), leaf(2.0), missing=1)
    tree = build(numeric(0, 2.0, later, leaf(3.0), missing=0), 2)
    assert [rule.condition for rule in rules(tree, show_missing=show_missing)] == [
        "x0 <= 2 AND x1 <= 0",
        "x0 <= 2 AND x1 > 0",
        "x0 is missing",
        "x0 > 2",
    ]
    tree = build(numeric(0, np.finfo(float).max, leaf(1.0), leaf(3.0), missing=1), 1)
    assert [rule.condition for rule in rules(tree)] == ["x0 is known", "x0 is missing"]


def test_a_missing_category_alone_is_said_in_words():
    inner = category_set(0, (0,), leaf(1.0), leaf(2.0), missing=1)
    tree = build(category_set(0, (0,), inner, leaf(3.0), missing=0), 1)
    color = SimpleNamespace(name="color", kind="categorical", categories=("a", "b", "c"))
    for shown in (None, True):
        conditions = [rule.condition for rule in rules(tree, [color], show_missing=shown)]
        assert conditions == ["color = a", "color is missing", "color != a"]


def test_rules_are_complete_however_long():
    tree = build(linear([(j, -1.0, 0.0) for j in range(40)], 0.0, leaf(0.0), leaf(1.0)), 40)
    assert rules(tree)[0].condition.count("*") == 40
    tree = build(category_set(0, tuple(range(0, 60, 2)), leaf(0.0), leaf(1.0)), 1)
    numbers = SimpleNamespace(name="n", kind="categorical", categories=tuple(range(60)))
    assert rules(tree, [numbers])[0].condition.count(",") == 29


def test_linear_tests_of_the_same_sum_are_merged():
    terms = [(0, 0.5, 0.0), (1, -2.0, 0.0)]
    tree = build(linear(terms, 3.0, linear(terms, 1.0, leaf(1.0), leaf(2.0)), leaf(3.0)), 2)
    expected = ["0.5*x0 - 2*x1 <= 1", "1 < 0.5*x0 - 2*x1 <= 3", "0.5*x0 - 2*x1 > 3"]
    assert [rule.condition for rule in rules(tree)] == expected


def test_support_and_confidence():
    tree, _ = mixed_tree()
    found = rules(tree, FEATURES, class_names=["good", "bad"])
    assert [rule.prediction for rule in found] == ["good", "good", "bad", "good", "bad", "good"]
    assert [rule.weight for rule in found] == [3, 4, 2, 0, 5, 2]
    assert sum(rule.share for rule in found) == pytest.approx(1.0)
    assert found[1].confidence == 0.9 and found[1].std is None
    assert found[3].condition == "a <= 1.5 AND b = q" and found[3].n_samples == 0


def test_regression_rules_have_a_mean_and_a_spread():
    tree = build(numeric(0, 0.0, leaf(1.5, 4, impurity=4.0), leaf(3.0, 4)), 1)
    rule = rules(tree)[0]
    assert (rule.prediction, rule.std, rule.confidence) == (1.5, 2.0, None)
    assert "1.5 ± 2 " in str(rule)
    model = SimpleNamespace(tree_=tree, criterion="absolute_error")
    assert rules(model)[0].std is None


def test_several_outputs():
    tree = build(leaf(np.array([[0.25, 0.75], [1.0, 0.0]]), 4), 1)
    rule = rules(tree, class_names=[["a", "b"], ["c", "d"]])[0]
    assert (rule.prediction, rule.confidence, rule.condition) == (("b", "c"), (0.75, 1.0), "always")


def test_printing_lines_up():
    lines = str(rules(mixed_tree()[0], FEATURES)).splitlines()
    assert len(lines) == 6 and len({line.index(" THEN ") for line in lines}) == 1
    wide = [SimpleNamespace(name="色泽", kind="categorical", categories=("青绿", "x"))]
    first, second = str(rules(build(multiway(0, (0, 1), leaf(1.0), leaf(2.0)), 1), wide)).splitlines()
    # Each Chinese character takes two columns of a terminal.
    assert first.startswith("IF 色泽 = 青绿  THEN") and second.startswith("IF 色泽 = x     THEN")


def test_records_and_frame():
    found = rules(mixed_tree()[0], FEATURES)
    frame = found.to_frame()
    assert frame["condition"].tolist() == [rule.condition for rule in found]
    assert list(found.to_records()[0]) == list(frame.columns)
    assert len(found[1:3]) == 2 and repr(found) == "RuleSet(6 rules)"


def test_iris_rules_classify_like_the_tree():
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    found = rules(from_sklearn(model.tree_))
    assert len(found) == model.get_n_leaves()
    assert max(len(rule.conditions) for rule in found) <= 4
    for x, answer in zip(X[::7].astype(np.float32), model.predict(X[::7]), strict=True):
        row = {f"x{j}": float(x[j]) for j in range(4)}
        assert [rule.prediction for rule in found if all(fulfils(c, row) for c in rule.conditions)] == [
            answer
        ]


def test_open_ends_are_infinite():
    assert Condition("x", above=1.0).at_most == math.inf
