"""The naive ID3 and C4.5 give the textbook's numbers and keep the promises that hold for every table."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from loops import for_each
from oracles.naive_multiway import Candidate, Node, Tree, entropy, grow_c45, grow_id3, midpoint
from oracles.random_tables import random_table
from oracles.watermelon import WATERMELON2_MISSING, WATERMELON3, coded

NUMERIC, CATEGORICAL = "numeric", "categorical"


def root_scores(tree: Tree, names: list[str]) -> dict[str, Candidate]:
    return {names[candidate.feature]: candidate for candidate in tree.root.candidates}


def test_root_of_watermelon3_has_the_textbook_gains() -> None:
    names, columns, kinds, _, y = coded(WATERMELON3)
    scores = root_scores(grow_c45(columns, kinds, y, min_samples_leaf=1), names)
    gains = {
        "色泽": 0.108,
        "根蒂": 0.143,
        "敲声": 0.141,
        "纹理": 0.381,
        "脐部": 0.289,
        "触感": 0.006,
        "密度": 0.262,
        "含糖率": 0.349,
    }
    ratios = {"色泽": 0.068, "根蒂": 0.102, "敲声": 0.106, "纹理": 0.263, "脐部": 0.187, "触感": 0.007}
    assert {name: c.gain for name, c in scores.items()} == pytest.approx(gains, abs=0.0015)
    assert {name: scores[name].gain_ratio for name in ratios} == pytest.approx(ratios, abs=0.0015)
    assert scores["密度"].threshold == pytest.approx(0.381, abs=0.0015)
    assert scores["含糖率"].threshold == pytest.approx(0.126, abs=0.0015)


def test_missing_values_enter_every_branch_by_share() -> None:
    names, columns, kinds, categories, y = coded(WATERMELON2_MISSING)
    tree = grow_c45(columns, kinds, y, min_samples_leaf=1)
    gains = {"色泽": 0.252, "根蒂": 0.171, "敲声": 0.145, "纹理": 0.424, "脐部": 0.289, "触感": 0.006}
    scores = root_scores(tree, names)
    assert {name: c.gain for name, c in scores.items()} == pytest.approx(gains, abs=0.0015)

    texture = names.index("纹理")
    assert tree.root.feature == texture
    own = {"清晰": {1, 2, 3, 4, 5, 6, 15}, "稍糊": {7, 9, 13, 14, 17}, "模糊": {11, 12, 16}}
    share = {"清晰": 7 / 15, "稍糊": 5 / 15, "模糊": 3 / 15}
    for value, child in zip(tree.root.branch_values, tree.root.children, strict=True):
        name = categories[texture][int(value)]
        weights = {row + 1: weight for row, weight in child.entries}
        assert weights == pytest.approx({**dict.fromkeys(own[name], 1.0), 8: share[name], 10: share[name]})


def test_gains_from_counts() -> None:
    halves = entropy([1, 1])
    assert halves - (0.3 * entropy([2, 1]) + 0.4 * entropy([3, 1]) + 0.3 * 0) == pytest.approx(
        0.40, abs=0.005
    )
    assert halves - 0.6 * entropy([1, 5]) == pytest.approx(0.61, abs=0.005)
    assert entropy([4, 0]) == 0


def test_id3_branches_on_every_value_and_never_repeats_a_feature() -> None:
    _, columns, kinds, _, y = coded(WATERMELON3)
    tree = grow_id3(columns, kinds, y)
    density = 6
    assert tree.root.feature == density  # 17 distinct values: gain alone falls for it
    assert tree.root.branch_values == sorted(set(columns[density]))  # type: ignore[type-var]
    assert all(len(leaf.entries) == 1 for leaf in tree.root.children)
    discrete = grow_id3(columns[:6], kinds[:6], y)
    assert discrete.root.feature == 3
    assert grow_id3(columns[:6], kinds[:6], y, epsilon=0.39).root.feature is None


def test_average_gain_rule_keeps_a_feature_of_small_gain_and_great_ratio_out() -> None:
    y = [0] * 8 + [1] * 8
    tiny = [1.0] + [0.0] * 15  # one row apart: small gain, small IV
    good = [0.0] * 6 + [1.0] * 2 + [1.0] * 6 + [0.0] * 2
    tree = grow_c45([tiny, good], [CATEGORICAL] * 2, y, min_samples_leaf=1)
    small, large = tree.root.candidates
    assert small.gain < (small.gain + large.gain) / 2
    assert tree.root.feature == 1


def test_ties_go_to_the_lowest_threshold_and_the_lowest_feature() -> None:
    x = [1.0, 2.0, 3.0, 4.0]
    tree = grow_c45([x, x], [NUMERIC] * 2, [0, 1, 1, 0], min_samples_leaf=1)
    assert (tree.root.feature, tree.root.threshold) == (0, 1.5)
    assert tree.root.candidates[0].ties == (1.5, 3.5)


def test_min_samples_leaf_is_a_weight() -> None:
    x, y = [1.0, 2.0, 3.0], [0, 1, 1]
    assert grow_c45([x], [NUMERIC], y, min_samples_leaf=2).root.feature is None
    assert grow_c45([x], [NUMERIC], y, [2, 1, 1], min_samples_leaf=2).root.threshold == 1.5
    levels = [0, 1, 1, 2]
    assert grow_c45([levels], [CATEGORICAL], [0, 1, 1, 0], min_samples_leaf=2).root.feature is None
    assert grow_c45([levels], [CATEGORICAL], [0, 1, 1, 0], [1, 1, 1, 2]).root.feature == 0


def test_prediction_of_gaps_and_of_categories_without_a_branch() -> None:
    tree = grow_c45([[0, 0, 0, 2, 2, 2]], [CATEGORICAL], ["a", "a", "a", "b", "b", "b"], [1, 1, 1, 2, 2, 2])
    proportions = [1 / 3, 2 / 3]
    assert tree.predict_proba([[0], [2], [1], [None], [-1]]) == [
        [1, 0],
        [0, 1],
        proportions,
        proportions,
        proportions,
    ]


@pytest.mark.parametrize(
    ("rule", "costs", "chosen"),
    [("tan", [1.0, 1.0], 0), ("tan", [9.0, 1.0], 1), ("tan-linear", [9.0, 1.0], 1), ("nunez", [9.0, 1.0], 1)],
)
def test_cost_rules_weigh_gain_against_price(rule: str, costs: list[float], chosen: int) -> None:
    y = [0] * 8 + [1] * 8
    perfect, fair = [0.0] * 8 + [1.0] * 8, [0.0] * 7 + [1.0] * 8 + [0.0]
    tree = grow_c45([perfect, fair], [CATEGORICAL] * 2, y, costs=costs, cost_rule=rule)
    assert tree.root.feature == chosen
    gains = [c.gain for c in tree.root.candidates]
    expected = {
        "tan": [g**2 / c for g, c in zip(gains, costs, strict=True)],
        "tan-linear": [g / c for g, c in zip(gains, costs, strict=True)],
        "nunez": [(2**g - 1) / (c + 1) for g, c in zip(gains, costs, strict=True)],
    }[rule]
    assert [c.score for c in tree.root.candidates] == pytest.approx(expected)


def test_expected_cost_pays_each_feature_once_on_a_path() -> None:
    x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    tree = grow_c45([x], [NUMERIC], [0, 0, 1, 1, 0, 0])
    assert any(node.depth == 2 for node in tree.root.walk())
    assert tree.expected_cost([7.0]) == pytest.approx(7.0)


def test_choice_can_be_taken_over() -> None:
    x = [1.0, 2.0, 3.0, 4.0]

    def last_tie(path: tuple[int, ...], candidates: list[Candidate]) -> Candidate | None:
        return replace(candidates[0], threshold=candidates[0].ties[-1]) if not path else None

    tree = grow_c45([x], [NUMERIC], [0, 1, 1, 0], min_samples_leaf=1, choose=last_tie)
    assert (tree.root.threshold, len(tree.root.children)) == (3.5, 2)


def test_threshold_between_neighbouring_floats_parts_them() -> None:
    for low in (1.0, -1.0, 5e-324, -5e-324, 1e308, -1.7976931348623157e308):
        high = math.nextafter(low, math.inf)
        assert low <= midpoint(low, high) < high
    assert midpoint(-1.7e308, 1.7e308) == 0.0


def check_node(node: Node) -> None:
    """Check what holds at every node of every multiway tree."""
    assert node.weight == pytest.approx(math.fsum(w for _, w in node.entries))
    assert math.fsum(node.value) == pytest.approx(1)
    if node.children:
        assert len(node.children) >= 2
        assert math.fsum(child.weight for child in node.children) == pytest.approx(node.weight)
    for candidate in node.candidates:
        assert candidate.gain > -1e-12
        assert candidate.gain_ratio > -1e-12


@for_each("seed", range(30))
def test_random_tables_give_consistent_trees(seed: int) -> None:
    table = random_table(seed)
    for tree in (
        grow_c45(table.columns, table.kinds, table.y, table.weights),
        grow_id3(table.columns, table.kinds, table.y, table.weights, max_depth=4),
    ):
        for node in tree.root.walk():
            check_node(node)
        for answer in tree.predict_proba(table.rows):
            assert math.fsum(answer) == pytest.approx(1)


@for_each("seed", range(10))
def test_integer_weights_are_repeated_rows(seed: int) -> None:
    table = random_table(seed, max_rows=40)
    repeats = [1 + row % 3 for row in range(len(table.y))]
    again = [row for row, times in enumerate(repeats) for _ in range(times)]
    weighted = grow_c45(table.columns, table.kinds, table.y, repeats)
    repeated = grow_c45(
        [[c[i] for i in again] for c in table.columns], table.kinds, [table.y[i] for i in again]
    )
    for one, other in zip(
        weighted.predict_proba(table.rows), repeated.predict_proba(table.rows), strict=True
    ):
        assert one == pytest.approx(other, abs=1e-9)
