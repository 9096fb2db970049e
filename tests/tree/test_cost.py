import numpy as np

from spinney.tree.cost import path_costs
from tree.trees_by_hand import build, leaf, linear, mixed_tree, numeric

COSTS = np.array([1.0, 10.0, 100.0, 1000.0])


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
    assert path_costs(both, np.array([1.0, 10.0])).tolist() == [0, 1, 1, 11, 11, 11, 11, 11, 11]


def test_a_linear_test_pays_for_all_its_features():
    tree = build(linear([(0, 1.0, 0.0), (1, 1.0, 0.0), (0, 2.0, 0.0)], 0.0, leaf(1.0), leaf(2.0)), 2)
    assert path_costs(tree, np.array([3.0, 4.0])).tolist() == [0, 7, 7]
