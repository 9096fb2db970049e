import numpy as np
import pytest

from spinney.tree.cost import expected_cost, path_costs
from tree.trees_by_hand import build, leaf, linear, mixed_tree, numeric

COSTS = [1.0, 10.0, 100.0, 1000.0]


def test_each_feature_is_paid_once_a_path():
    tree, _ = mixed_tree()
    # 0: x0; 1: x1; 2: x2; 4: x0 and x3, where x0 has been paid for.
    assert path_costs(tree, COSTS).tolist() == [0, 1, 1, 11, 11, 101, 101, 1011, 1011]


def test_siblings_do_not_share_what_one_of_them_paid():
    both = build(
        numeric(
            0,
            0.0,
            numeric(1, 0.0, leaf(1.0), leaf(2.0)),
            numeric(1, 0.0, leaf(1.0), numeric(0, 1.0, leaf(1.0), leaf(2.0))),
        ),
        2,
    )
    assert path_costs(both, [1.0, 10.0]).tolist() == [0, 1, 1, 11, 11, 11, 11, 11, 11]


def test_a_linear_test_pays_for_all_its_features():
    tree = build(linear([(0, 1.0, 0.0), (1, 1.0, 0.0), (0, 2.0, 0.0)], 0.0, leaf(1.0), leaf(2.0)), 2)
    assert path_costs(tree, [3.0, 4.0]).tolist() == [0, 7, 7]


def test_expected_cost_is_the_weighted_mean():
    tree, _ = mixed_tree()  # leaves: 3 of weight 3 and cost 11; 5, 6 of 5 + 2 and 101; 7, 8 of 4 + 2 and 1011
    assert expected_cost(tree, COSTS) == pytest.approx((3 * 11 + 7 * 101 + 6 * 1011) / 16)
    weight = np.zeros(9)
    weight[3] = 2.0
    assert expected_cost(tree, COSTS, weight) == 11
    assert expected_cost(build(leaf(1.0), 1), [5.0]) == 0.0


@pytest.mark.parametrize("costs", [[1.0], [1.0, 1.0, 1.0, -1.0], [1.0, np.nan, 1.0, 1.0]])
def test_bad_costs_are_named(costs):
    tree, _ = mixed_tree()
    with pytest.raises(ValueError, match="costs"):
        expected_cost(tree, costs)
