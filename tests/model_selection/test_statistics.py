import numpy as np
import pytest
from scipy import stats

from spinney.model_selection.statistics import (
    bootstrap_interval,
    confidence_interval,
    corrected_t_test,
    corrected_variance,
)


def test_the_corrected_variance_is_that_of_nadeau_and_bengio():
    scores = np.array([0.8, 0.9, 0.85, 0.7])
    assert corrected_variance(scores, 0.25) == pytest.approx((1 / 4 + 0.25) * scores.var(ddof=1))


def test_without_overlap_the_test_is_the_ordinary_paired_one():
    first, second = np.array([0.9, 0.8, 0.85, 0.95]), np.array([0.7, 0.75, 0.8, 0.7])
    assert corrected_t_test(first, second, 0.0) == pytest.approx(stats.ttest_rel(first, second).pvalue)
    assert corrected_t_test(first, second, 0.25) > corrected_t_test(first, second, 0.0)


def test_equal_scores_are_no_difference_and_one_fold_tells_nothing():
    assert corrected_t_test([0.5, 0.6], [0.5, 0.6], 0.5) == 1.0
    assert np.isnan(corrected_t_test([0.5], [0.6], 0.5))
    assert np.isnan(confidence_interval([0.5], 0.5)).all()


def test_the_correction_keeps_the_error_rate_where_the_plain_test_does_not():
    """Two learners of the same quality: the plain paired t-test finds a difference too often."""
    rng = np.random.default_rng(0)
    n, wrong = 200, {"plain": 0, "corrected": 0}
    n_runs = 300
    for _ in range(n_runs):
        # Scores on overlapping training sets are correlated: a part of the difference is common to all folds.
        difference = rng.normal(scale=0.02) + rng.normal(scale=0.04, size=10)
        wrong["plain"] += corrected_t_test(difference, np.zeros(10), 0.0) < 0.05
        wrong["corrected"] += corrected_t_test(difference, np.zeros(10), 1 / 9 * n / n) < 0.05
    assert wrong["corrected"] / n_runs < wrong["plain"] / n_runs
    assert wrong["plain"] / n_runs > 0.1


def test_the_bootstrap_interval_covers_the_mean():
    values = np.random.default_rng(1).normal(size=400)
    low, high = bootstrap_interval(lambda rows: float(values[rows].mean()), 400)
    assert low < values.mean() < high and high - low == pytest.approx(4 * values.std() / 20, rel=0.2)
