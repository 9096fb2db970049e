"""The algorithms by themselves: weights, contributions, and how scores are read."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from spinney.adaboost.algorithms import (
    RowWeights,
    choose_class,
    find_algorithm,
    log_odds,
    on_grid,
    own_score,
    probabilities,
    score_margin,
)


def test_sums_on_the_grid_are_exact_in_any_order():
    numbers = on_grid(np.random.default_rng(0).normal(scale=3, size=1000))
    expected = math.fsum(numbers)
    for seed in range(5):
        assert np.random.default_rng(seed).permutation(numbers).cumsum()[-1] == expected


def test_the_weight_of_a_vote():
    assert find_algorithm("samme", 2, 1.0).weight(0.25) == pytest.approx(math.log(3))
    assert find_algorithm("discrete", 2, 1.0).weight(0.25) == pytest.approx(math.log(3) / 2)
    assert find_algorithm("samme", 4, 0.5).weight(0.25) == pytest.approx(0.5 * math.log(9))
    assert np.isfinite(find_algorithm("discrete", 2, 1.0).weight(0.0))
    assert log_odds(1e-300, 2, 1.0) == log_odds(0.0, 2, 1.0)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["samme", "samme.r"])
def test_weights_follow_the_score_of_the_own_class(name, n_classes):
    """After any round each weight is exp of minus the score that the row's own class has so far."""
    algorithm = find_algorithm(name, n_classes, 0.7)
    random = np.random.default_rng(0)
    codes = random.integers(0, n_classes, 50).astype(np.int32)
    weights, total = RowWeights(np.ones(50)), 0.0
    for _ in range(6):
        shares = random.dirichlet(np.ones(n_classes), size=50)
        output = shares.argmax(axis=1) if algorithm.needs == "classes" else shares
        contribution = algorithm.contribution(output, 0.7)
        wrong = algorithm.wrong(output, codes)
        algorithm.reweight(weights, contribution, wrong, 0.7, codes)
        total = total + contribution
        expected = np.exp(-own_score(total, codes))
        assert_allclose(weights.steps / weights.total, expected / expected.sum(), rtol=1e-6)


def test_the_scores_of_one_class_two_and_more():
    two, three = np.array([-0.5, 0.0, 2.0]), np.array([[0.0, 3.0, 1.0], [2.0, 2.0, 1.0]])
    assert choose_class(two).tolist() == [0, 0, 1]
    assert choose_class(three).tolist() == [1, 0]
    assert_allclose(probabilities(two, 2)[2], [1 / (1 + math.e**4), 1 / (1 + math.e**-4)])
    assert_allclose(probabilities(three, 3).sum(axis=1), 1.0)
    assert_array_equal(probabilities(two, 1), np.ones((3, 1)))
    assert score_margin(two, np.array([0, 1, 1])).tolist() == [0.5, 0.0, 2.0]
    assert score_margin(three, np.array([2, 0])).tolist() == [-2.0, 0.0]
    assert probabilities(np.array([-1e4, 1e4]), 2).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_logit_steps_are_held_within_limits():
    algorithm = find_algorithm("logit", 2, 1.0)
    ((response, curvature),) = algorithm.responses(np.array([0.0, 30.0]), np.array([1, 0], np.int32))
    assert response[0] == 2.0 and curvature[0] == 0.25
    assert response[1] < -1e9 and curvature[1] > 0
    assert algorithm.contribution(response[:, None], 0.5).tolist() == [0.5, -1.0]
    assert len(find_algorithm("logit", 3, 1.0).responses(np.zeros((2, 3)), np.array([1, 0], np.int32))) == 3
