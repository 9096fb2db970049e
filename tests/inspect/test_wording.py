from types import SimpleNamespace

import numpy as np
import pytest

from spinney.inspect.wording import (
    display_width,
    format_value,
    membership_text,
    named_tree,
    printable,
    split_text,
)
from tree.trees_by_hand import build, category_set, leaf, linear, numeric


def test_the_shorter_list_is_named():
    assert membership_text(["a"], ["b", "c"]) == "= a"
    assert membership_text(["b", "c"], ["a"]) == "!= a"
    assert membership_text(["a", "b"], ["c", "d"]) == "in {a, b}"
    assert membership_text(["c", "d", "e"], ["a", "b"]) == "not in {a, b}"
    assert membership_text([], ["a"]) == "in {}"
    assert membership_text(["a", "b"], []) == "in {a, b}"


def test_a_long_list_is_cut_where_asked():
    assert membership_text(list(range(30)), None, 8) == "in {0, 1, 2, 3, 4, 5, 6, 7, … 22 more}"
    assert membership_text(list(range(30)), None).count(",") == 29
    assert membership_text([1, 2], None, 2) == "in {1, 2}"


def test_values_that_would_be_misread_are_quoted():
    assert [format_value(v) for v in ("a b", "a,b", "", " a", "{", 3, None)] == [
        "a b",
        "'a,b'",
        "''",
        "' a'",
        "'{'",
        "3",
        "None",
    ]


def test_nothing_steers_the_terminal():
    assert printable("纹理 é ok") == "纹理 é ok"
    assert printable("a\x1b[0m\r\n\u202eb\u200b") == "a\\x1b[0m\\r\\n\\u202eb\\u200b"


def test_widths():
    assert [display_width(t) for t in ("abc", "纹理", "é", "e\u0301", "")] == [3, 4, 1, 1, 0]


def test_a_long_sum_is_cut_where_asked():
    tree = build(linear([(j, -1.0, 0.0) for j in range(9)], 0.0, leaf(0.0), leaf(1.0)), 9)
    assert (
        split_text(named_tree(tree), 0, 0, max_items=6)
        == "-1*x0 - 1*x1 - 1*x2 - 1*x3 - 1*x4 - 1*x5 + … 3 more terms <= 0"
    )
    assert split_text(named_tree(tree), 0, 0).count("*") == 9


@pytest.mark.parametrize("show_missing", [None, False, True])
def test_known_or_missing_is_said_in_words(show_missing):
    tree = build(numeric(0, np.finfo(float).max, leaf(0.0), leaf(1.0), missing=1), 1)
    named = named_tree(tree, show_missing=show_missing)
    assert [split_text(named, 0, which) for which in (0, 1)] == ["x0 is known", "x0 is missing"]
    colors = SimpleNamespace(name="color", kind="categorical", categories=("red", "blue"))
    tree = build(category_set(0, (0, 1), leaf(0.0), leaf(1.0), missing=1), 1)
    named = named_tree(tree, features=[colors], show_missing=show_missing)
    assert [split_text(named, 0, which) for which in (0, 1)] == ["color is known", "color is missing"]


def test_a_set_of_all_categories_is_known_only_if_missing_values_go_elsewhere():
    colors = SimpleNamespace(name="color", kind="categorical", categories=("red", "blue"))
    for missing in (-1, 0):
        tree = build(category_set(0, (0, 1), leaf(0.0), leaf(1.0), missing=missing), 1)
        assert split_text(named_tree(tree, features=[colors]), 0, 0) == "color in {red, blue}"


def test_names_come_from_the_model():
    tree = build(category_set(0, (0,), leaf(0.0), leaf(1.0)), 1)
    feature = SimpleNamespace(name="color", kind="categorical", categories=("red", "blue", "green"))
    model = SimpleNamespace(tree_=tree, schema_=SimpleNamespace(features=[feature], has_names=True))
    assert split_text(named_tree(model), 0, 1) == "color != red"
    model.schema_.has_names = False
    assert split_text(named_tree(model), 0, 1) == "x0 != red"
    model.feature_names_in_ = ["hue"]
    assert split_text(named_tree(model), 0, 1) == "hue != red"
    assert split_text(named_tree(model, ["shade"]), 0, 1) == "shade != red"


def test_features_must_fit_the_tree():
    with pytest.raises(ValueError, match="features has 2 entries"):
        named_tree(
            build(leaf(0.0), 1), features=[SimpleNamespace(name="a", kind="numeric", categories=())] * 2
        )
