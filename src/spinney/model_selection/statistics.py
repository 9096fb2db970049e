"""Intervals and tests for scores of overlapping folds (Nadeau and Bengio 2003), and of bootstrapped rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from spinney.core.arrays import Floats


def corrected_variance(scores: Floats, test_share: float) -> float:
    """Return the variance of the mean of scores of a cross-validation.

    The training sets overlap, so that s²/k is too small: it is (1/k + n_test/n_train) s² instead.

    >>> round(corrected_variance(np.array([0.0, 1.0]), 1.0), 3)
    0.75
    """
    k = len(scores)
    return (1.0 / k + test_share) * float(np.var(scores, ddof=1)) if k > 1 else math.nan


def confidence_interval(scores: Any, test_share: float, level: float = 0.95) -> tuple[float, float]:
    """Return a confidence interval of the mean score over folds, with the corrected variance.

    Parameters
    ----------
    scores : array-like of shape (n_folds,)
        One score per fold.
    test_share : float
        Rows held out divided by training rows, 1/(k − 1) for k folds.
    level : float, default=0.95
        Coverage.

    Returns
    -------
    tuple of float
        Lower and upper end; NaN with fewer than two folds.

    Examples
    --------
    >>> confidence_interval([0.5, 0.5, 0.5], 0.5)
    (0.5, 0.5)
    """
    values = np.asarray(scores, np.float64)
    if len(values) < 2:
        return math.nan, math.nan
    half = float(stats.t.ppf((1 + level) / 2, len(values) - 1))
    half *= math.sqrt(corrected_variance(values, test_share))
    mean = float(values.mean())
    return mean - half, mean + half


def corrected_t_test(first: Any, second: Any, test_share: float) -> float:
    """Return the two-sided p-value of the corrected paired t-test of two learners on the same folds.

    Parameters
    ----------
    first, second : array-like of shape (n_folds,)
        Scores of the two learners, fold by fold.
    test_share : float
        Rows held out divided by training rows.

    Returns
    -------
    float
        The p-value; NaN with fewer than two folds, 1 where the scores are the same.

    Examples
    --------
    >>> round(corrected_t_test([0.9, 0.8, 0.85], [0.7, 0.65, 0.6], 0.5), 3)
    0.048
    """
    differences = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    if len(differences) < 2:
        return math.nan
    variance, mean = corrected_variance(differences, test_share), float(differences.mean())
    if variance <= 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * stats.t.sf(abs(mean) / math.sqrt(variance), len(differences) - 1))


def bootstrap_interval(
    statistic: Callable[[Any], float], n_rows: int, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """Return a percentile interval of a statistic of row positions, by drawing rows with replacement.

    >>> bootstrap_interval(lambda rows: 1.0, 10)
    (1.0, 1.0)
    """
    n_draws = int(np.clip(4_000_000 / max(n_rows, 1), 40, 200))
    rng = np.random.default_rng([seed, n_rows])
    drawn = np.array([statistic(rng.integers(n_rows, size=n_rows)) for _ in range(n_draws)])
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return math.nan, math.nan
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
