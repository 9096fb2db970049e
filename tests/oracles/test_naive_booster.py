"""The naive booster is right where the answer can be had by hand, or from the losses of the library."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from oracles.naive_booster import NaiveTree, Settings, boost, derivatives, leaves, middle
from spinney.losses import losses

BUILT_IN = [
    losses.SquaredLoss(),
    losses.AbsoluteLoss(),
    losses.HuberLoss(0.7),
    losses.QuantileLoss(0.3),
    losses.PoissonLoss(),
    losses.GammaLoss(),
    losses.TweedieLoss(1.4),
    losses.LogLoss(),
    losses.ExponentialLoss(),
]


@pytest.mark.parametrize("loss", BUILT_IN, ids=lambda loss: loss.core_name)
def test_two_writings_of_each_loss_agree(loss):
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 20).astype(float), rng.normal(size=(20, 1))
    gradient, hessian = derivatives(loss.core_name, loss.parameter, y.tolist(), scores)
    assert_allclose(gradient[:, 0], loss.gradient(y, scores[:, 0]), rtol=1e-12, atol=1e-15)
    assert_allclose(hessian[:, 0], loss.hessian(y, scores[:, 0]), rtol=1e-12, atol=1e-15)


def test_two_writings_of_softmax_agree():
    rng = np.random.default_rng(1)
    y, scores, loss = rng.integers(0, 3, 20).astype(float), rng.normal(size=(20, 3)), losses.SoftmaxLoss(3)
    gradient, hessian = derivatives("softmax", 0.0, y.tolist(), scores)
    assert_allclose(gradient, loss.gradient(y, scores), rtol=1e-12)
    assert_allclose(hessian, loss.hessian(y, scores), rtol=1e-12)


def grow(columns, kinds, y, **settings):
    y = np.array(y, dtype=float)
    ones = np.ones(len(y))
    return NaiveTree(columns, kinds, -y, ones, ones, list(range(len(y))), Settings(**settings)).grow()


def test_a_stump_by_hand():
    # ½ (3²/2 + 7²/2 − 10²/4) = ½ (4.5 + 24.5 − 25) = 2
    root = grow([[1.0, 2.0, 3.0, 4.0]], ["numeric"], [1, 2, 3, 4], max_depth=1)
    assert (root.split.threshold, root.split.gain) == (2.5, 2.0)
    assert [leaf.value for leaf in leaves(root)] == [1.5, 3.5]


def test_regularisation_by_hand():
    root = grow([[1.0, 2.0]], ["numeric"], [0, 6], l2=1.0, min_gain=1.0)
    assert root.split.gain == pytest.approx(0.5 * (36 / 2 - 36 / 3) - 1.0)
    assert [leaf.value for leaf in leaves(root)] == [0.0, 3.0]
    assert grow([[1.0, 2.0]], ["numeric"], [0, 6], min_gain=9.0).split is None
    assert grow([[1.0, 2.0]], ["numeric"], [0, 6], min_hessian=2.0).split is None
    assert grow([[1.0, 2.0]], ["numeric"], [0, 6], min_samples_leaf=2.0).split is None


def test_missing_rows_and_categories_go_where_they_do_best():
    root = grow([[1.0, 2.0, None, None]], ["numeric"], [0, 1, 1, 1], max_leaf_nodes=2)
    assert not root.split.missing_left and root.split.left == [0]
    root = grow([[0, 1, 2, 0, 1, 2]], ["categorical"], [5, 1, 5, 5, 1, 5], max_leaf_nodes=2)
    assert root.split.known_left in ({0, 2}, {1})


def test_constraints_hold():
    rng = np.random.default_rng(2)
    x, other = rng.normal(size=30).tolist(), rng.normal(size=30).tolist()
    y = [math.sin(3 * v) + w for v, w in zip(x, other, strict=True)]
    root = grow([x, other], ["numeric"] * 2, y, monotone=[1, 0], interactions=[[0], [1]], max_leaf_nodes=8)
    used = set()

    def walk(node):
        if node.split:
            used.add(node.split.feature)
            list(map(walk, node.children))

    walk(root)
    assert len(used) == 1
    if used == {0}:
        ends = sorted((max(x[row] for row in leaf.rows), leaf.value) for leaf in leaves(root))
        assert [value for _, value in ends] == sorted(value for _, value in ends)


def test_boosting_lowers_the_loss_to_that_of_the_rows():
    y = [0.0, 1.0, 5.0, 7.0]
    settings = Settings(n_rounds=200, learning_rate=0.3)
    rounds, scores = boost([[1.0, 2.0, 3.0, 4.0]], ["numeric"], y, [1.0] * 4, [3.25], settings)
    assert len(rounds) == 200
    assert_allclose(scores[:, 0], y, atol=1e-6)


def test_the_middle_of_weighted_values():
    assert middle([1.0, 2.0, 4.0], [1.0, 1.0, 2.0], 0.5) == 3.0
    assert middle([1.0, 2.0, 4.0], [1.0, 0.0, 1.0], 0.9) == 4.0
