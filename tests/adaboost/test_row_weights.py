"""Weights as whole steps: exact sums, copies for whole weights, the ratios that floats have."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from spinney.adaboost.algorithms import MAX_TOTAL, MIN_TOTAL, RowWeights


def shuffled_rounds(weights, random, n_rounds=40):
    """Shift weights as boosting does, some rounds by a lot."""
    for t in range(n_rounds):
        wrong = random.random(len(weights.steps)) < 0.4
        weights.multiply_where(wrong, 1e9 if t % 13 == 12 else 1.0 + random.random())
    return weights


def test_a_whole_weight_is_so_many_copies_to_the_last_bit():
    random = np.random.default_rng(0)
    counts = random.integers(0, 5, 60)
    counts[0] = 3
    once, copied = RowWeights(counts.astype(float)), RowWeights(np.ones(counts.sum()))
    assert once.total == copied.total
    for t in range(50):
        wrong = random.random(60) < 0.4
        wrong[0] = True
        factor = 1e11 if t == 30 else 1.5
        once.multiply_where(wrong, factor)
        copied.multiply_where(np.repeat(wrong, counts), factor)
        assert once.total == copied.total
        assert_array_equal(np.repeat(once.steps // np.maximum(counts, 1), counts), copied.steps)


def test_steps_follow_the_weights_that_floats_would_be():
    random = np.random.default_rng(1)
    initial = random.random(500)
    weights, expected = RowWeights(initial), initial / initial.sum()
    for _ in range(100):
        factors = np.exp(random.normal(size=500))
        weights.multiply(factors)
        expected = expected * factors / (expected * factors).sum()
        assert MIN_TOTAL / 2 <= weights.total < MAX_TOTAL
        assert_allclose(weights.steps / weights.total, expected, rtol=1e-6, atol=2.0**-43)


def test_rows_without_weight_stay_without_and_others_never_vanish():
    weights = RowWeights(np.array([0.0, 1.0, 2.5, 0.0, 1e-12]))
    shuffled_rounds(weights, np.random.default_rng(2), 400)
    assert_array_equal(weights.steps > 0, [False, True, True, False, True])


def test_values_add_up_to_what_was_given():
    weights = shuffled_rounds(RowWeights(np.array([3.0, 1.0, 2.0, 6.0])), np.random.default_rng(3))
    assert weights.values.sum() == pytest.approx(12.0, rel=1e-12)
    assert_allclose(weights.values / 12.0, weights.steps / weights.total)


def test_scaled_leaves_the_weights_alone():
    weights = RowWeights(np.array([1.0, 1.0]))
    other = weights.scaled(np.array([1.0, 3.0]))
    assert other.fraction(np.array([False, True])) == 0.75
    assert weights.fraction(np.array([False, True])) == 0.5


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=8), st.data())
def test_sums_are_exact_in_any_order(initial, data):
    weights = RowWeights(np.array(initial))
    for _ in range(5):
        marks = data.draw(st.lists(st.booleans(), min_size=len(initial), max_size=len(initial)))
        weights.multiply_where(np.array(marks), data.draw(st.floats(1.0, 1e12)))
        assert sum(weights.steps.tolist()) == weights.total < MAX_TOTAL
        assert float(weights.steps.astype(np.float64).sum()) == weights.total
