from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.core.errors import InputError
from spinney.diversity import ensemble_error


def test_the_references():
    """25 independent voters with an error of .35: .060, bounded by .325."""
    assert round(ensemble_error(25, 0.35), 3) == 0.060
    assert round(ensemble_error(25, 0.35, "hoeffding"), 3) == 0.325


@pytest.mark.parametrize("n_members", [1, 2, 3, 6, 7])
def test_the_sum_over_all_ways_to_be_wrong(n_members):
    error = 0.3
    expected = sum(
        np.prod([1 - error if right else error for right in voters])
        for voters in product([True, False], repeat=n_members)
        if sum(voters) <= n_members // 2
    )
    assert ensemble_error(n_members, error) == pytest.approx(expected, rel=1e-13)


@given(st.integers(1, 2000), st.floats(0, 1))
def test_the_bound_is_above(n_members, error):
    exact, bound = ensemble_error(n_members, error), ensemble_error(n_members, error, "hoeffding")
    assert 0 <= exact <= bound * (1 + 1e-9)
    assert bound <= 1


@given(st.integers(1, 50), st.floats(0.01, 100), st.floats(-1, 1))
def test_correlated_errors(n_members, variance, rho):
    covariance = max(rho, -1 / max(n_members - 1, 1)) * variance
    found = ensemble_error(n_members, variance, "correlated", covariance=covariance)
    matrix = np.full((n_members, n_members), covariance)
    np.fill_diagonal(matrix, variance)
    # The variance of a mean is the mean of all covariances.
    assert found == pytest.approx(matrix.mean(), abs=1e-12 * variance)


def test_independent_and_equal_members_are_the_ends():
    assert ensemble_error(10, 2.0, "correlated") == pytest.approx(0.2)
    assert ensemble_error(10, 2.0, "correlated", covariance=2.0) == pytest.approx(2.0)
    assert ensemble_error(5, 2.0, "correlated", covariance=-0.5) == 0.0


def test_arrays_are_combined():
    sizes, errors = np.array([1, 11, 101]), np.array([[0.2], [0.4]])
    found = ensemble_error(sizes, errors)
    assert found.shape == (2, 3)
    assert found[1, 2] == ensemble_error(101, 0.4)
    assert isinstance(ensemble_error(3, 0.1), float)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((0, 0.3), {}, "n_members"),
        ((2.5, 0.3), {}, "n_members"),
        ((3, 1.2), {}, "error rates from 0 to 1"),
        ((3, np.nan), {}, "finite"),
        ((3, "many"), {}, "numbers"),
        ((3, 0.3, "bayes"), {}, "method"),
        ((3, 0.3), {"covariance": 0.1}, "independent"),
        ((3, -1.0, "correlated"), {}, "at least 0"),
        ((3, 1.0, "correlated"), {"covariance": 1.1}, "impossible"),
        ((3, 1.0, "correlated"), {"covariance": -0.6}, "impossible"),
        (([1, 2], [0.1, 0.2, 0.3]), {}, "shapes"),
    ],
)
def test_bad_arguments_are_named(arguments, options, message):
    with pytest.raises(InputError, match=message):
        ensemble_error(*arguments, **options)
