"""Prediction intervals of any regressor: split conformal, jackknife+, CV+, and conformalized quantiles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from spinney.core.arrays import Floats
from spinney.core.errors import InputError, show_value
from spinney.core.parameters import draw_seed
from spinney.core.seeds import stream
from spinney.members.fitting import run_jobs
from spinney.members.tables import count_rows, take_rows

_FOLD_STREAM = 307
# Numbers that the intervals of a block of rows take.
_BLOCK_NUMBERS = 1 << 22


@dataclass(frozen=True, eq=False)
class SplitIntervals:
    """Intervals around the predictions of a model, calibrated on rows that it was not fitted to.

    Attributes
    ----------
    model : estimator
        The fitted regressor.
    residuals : ndarray of shape (n_calibration,)
        Absolute residuals of the calibration rows, ascending.

    Examples
    --------
    >>> calibrate_intervals(model, X, y).predict_interval(X_new, 0.9)  # doctest: +SKIP
    """

    model: Any
    residuals: Floats

    def predict_interval(self, X: Any, confidence: float = 0.9) -> Floats:
        """Return intervals that contain the target with at least this probability.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows.
        confidence : float, default=0.9
            Probability, if new rows and calibration rows are exchangeable.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Lower and upper bounds; infinite if there are too few calibration rows for the confidence.
        """
        half = conformal_quantile(self.residuals, confidence)
        predicted = _predict(self.model, X)
        return np.stack([predicted - half, predicted + half], axis=1)


@dataclass(frozen=True, eq=False)
class QuantileIntervals:
    """Intervals between two quantile models, widened or narrowed by calibration (Romano et al. 2019).

    Attributes
    ----------
    low, high : estimator
        Fitted models of the lower and the upper quantile.
    scores : ndarray of shape (n_calibration,)
        How far each calibration row is outside of its interval, negative inside; ascending.

    Examples
    --------
    >>> calibrate_quantiles(low, high, X, y).predict_interval(X_new, 0.9)  # doctest: +SKIP
    """

    low: Any
    high: Any
    scores: Floats

    def predict_interval(self, X: Any, confidence: float = 0.9) -> Floats:
        """Return intervals that contain the target with at least this probability.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows.
        confidence : float, default=0.9
            Probability, if new rows and calibration rows are exchangeable.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Lower and upper bounds, which never cross.
        """
        margin = conformal_quantile(self.scores, confidence)
        low, high = _ordered(_predict(self.low, X), _predict(self.high, X))
        middle = (low + high) / 2
        return np.stack([np.minimum(low - margin, middle), np.maximum(high + margin, middle)], axis=1)


@dataclass(frozen=True, eq=False)
class CrossIntervals:
    """Intervals of models that each left some rows out: CV+, and jackknife+ if each left out one row.

    Attributes
    ----------
    models : tuple of estimator
        The fitted models.
    fold : ndarray of shape (n_rows,), int
        For each training row, the model that did not see it.
    residuals : ndarray of shape (n_rows,)
        Absolute residual of each training row by that model.

    Examples
    --------
    >>> cross_intervals(DecisionTreeRegressor(), X, y).predict_interval(X_new)  # doctest: +SKIP
    """

    models: tuple[Any, ...]
    fold: NDArray[np.int64]
    residuals: Floats

    def predict(self, X: Any) -> Floats:
        """Return the mean prediction of the models.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predictions.
        """
        return np.asarray(np.mean([_predict(model, X) for model in self.models], axis=0))

    def predict_interval(self, X: Any, confidence: float = 0.9) -> Floats:
        """Return intervals that contain the target with about this probability.

        At least 2·confidence − 1 is guaranteed; confidence itself is usual (Barber et al. 2021).

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows.
        confidence : float, default=0.9
            Probability.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Lower and upper bounds.
        """
        _check_confidence(confidence)
        predicted = np.stack([_predict(model, X) for model in self.models], axis=1)
        n = len(self.residuals)
        rank = math.ceil((n + 1) * confidence - 1e-9)
        out = np.empty((len(predicted), 2))
        out[:] = (-np.inf, np.inf)
        if rank > n:
            return out
        for rows in _blocks(len(predicted), n):
            by_row = predicted[rows][:, self.fold]
            out[rows, 0] = -np.partition(self.residuals - by_row, rank - 1, axis=1)[:, rank - 1]
            out[rows, 1] = np.partition(self.residuals + by_row, rank - 1, axis=1)[:, rank - 1]
        return out


def calibrate_intervals(model: Any, X: Any, y: ArrayLike) -> SplitIntervals:
    """Calibrate prediction intervals of any fitted regressor (split conformal prediction).

    Parameters
    ----------
    model : estimator
        A fitted regressor.
    X : array-like or data frame of shape (n_rows, n_features)
        Calibration rows, which the model was not fitted to.
    y : array-like of shape (n_rows,)
        Targets.

    Returns
    -------
    SplitIntervals
        Use its ``predict_interval``.

    Examples
    --------
    >>> from spinney import DecisionTreeRegressor
    >>> from spinney.conformal import calibrate_intervals
    >>> model = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    >>> intervals = calibrate_intervals(model, [[0.0], [1.0], [1.0]], [0.5, 1.25, 1.0])
    >>> intervals.predict_interval([[0.1]], confidence=0.5).tolist()
    [[-0.25, 0.25]]
    """
    check_is_fitted(model)
    return SplitIntervals(model, np.sort(np.abs(_target(y, count_rows(X)) - _predict(model, X))))


def calibrate_quantiles(low: Any, high: Any, X: Any, y: ArrayLike) -> QuantileIntervals:
    """Calibrate the interval between two fitted quantile models (conformalized quantile regression).

    Unlike those of `calibrate_intervals` they are wider where the target varies more. Where the two models
    cross, they are exchanged.

    Parameters
    ----------
    low : estimator
        Fitted model of a lower quantile: ``GradientBoostingRegressor(loss="quantile", quantile=0.05)``.
    high : estimator
        Fitted model of an upper quantile.
    X : array-like or data frame of shape (n_rows, n_features)
        Calibration rows, which the models were not fitted to.
    y : array-like of shape (n_rows,)
        Targets.

    Returns
    -------
    QuantileIntervals
        Use its ``predict_interval``.

    Examples
    --------
    >>> calibrate_quantiles(low, high, X, y).predict_interval(X_new, 0.9)  # doctest: +SKIP
    """
    check_is_fitted(low)
    check_is_fitted(high)
    below, above = _ordered(_predict(low, X), _predict(high, X))
    target = _target(y, len(below))
    return QuantileIntervals(low, high, np.sort(np.maximum(below - target, target - above)))


def cross_intervals(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    cv: int | Literal["jackknife"] = 10,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> CrossIntervals:
    """Fit a regressor several times, without a part of the rows each, for intervals that need no other rows.

    Parameters
    ----------
    estimator : estimator
        A regressor, not necessarily fitted; it is cloned.
    X : array-like or data frame of shape (n_rows, n_features)
        Training rows.
    y : array-like of shape (n_rows,)
        Targets.
    cv : int or "jackknife", default=10
        Number of folds (CV+), or "jackknife" for one model per row (jackknife+).
    random_state : int, RandomState, Generator or None, default=None
        Seed of the folds.
    n_jobs : int or None, default=None
        Number of models that are fitted in parallel.

    Returns
    -------
    CrossIntervals
        Use its ``predict`` and ``predict_interval``.

    Examples
    --------
    >>> from spinney import DecisionTreeRegressor
    >>> from spinney.conformal import cross_intervals
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0]
    >>> cross_intervals(DecisionTreeRegressor(), X, y, cv="jackknife").residuals.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    n = count_rows(X)
    target = _target(y, n)
    if cv == "jackknife":
        fold = np.arange(n, dtype=np.int64)
    elif isinstance(cv, int | np.integer) and not isinstance(cv, bool) and 2 <= cv <= n:
        fold = np.empty(n, dtype=np.int64)
        fold[stream(draw_seed(random_state), _FOLD_STREAM).permutation(n)] = np.arange(n) % cv
    else:
        raise InputError(f'cv must be a number of folds from 2 to {n}, or "jackknife", not {show_value(cv)}')
    jobs = [(estimator, X, target, np.flatnonzero(fold == k), fold != k) for k in range(int(fold.max()) + 1)]
    models, residuals = [], np.empty(n)
    for (_, _, _, rows, _), (model, missed) in zip(jobs, run_jobs(_fit_without, jobs, n_jobs), strict=True):
        models.append(model)
        residuals[rows] = missed
    return CrossIntervals(tuple(models), fold, residuals)


def _fit_without(
    estimator: Any, X: Any, y: Floats, rows: NDArray[np.int64], kept: NDArray[np.bool_]
) -> tuple[Any, Floats]:
    """Fit a clone to the rows that are kept; return it and the absolute residuals of the others."""
    model = clone(estimator).fit(take_rows(X, np.flatnonzero(kept)), y[kept])
    return model, np.abs(y[rows] - _predict(model, take_rows(X, rows)))


def conformal_quantile(scores: Floats, confidence: float) -> float:
    """Return the ⌈(n + 1)·confidence⌉-th smallest of sorted scores, infinity if there are too few.

    >>> conformal_quantile(np.array([0.1, 0.2, 0.3]), 0.75)
    0.3
    """
    _check_confidence(confidence)
    rank = math.ceil((len(scores) + 1) * confidence - 1e-9)  # 0.9 · 10 is 9.000000000000002 at times
    return float(scores[rank - 1]) if rank <= len(scores) else math.inf


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be between 0 and 1, not {show_value(confidence)}")


def _predict(model: Any, X: Any) -> Floats:
    predicted = np.asarray(model.predict(X), np.float64)
    if predicted.ndim != 1:
        raise InputError("Intervals are for one target", fix="Calibrate one model per target.")
    return predicted


def _target(y: ArrayLike, n_rows: int) -> Floats:
    target = np.asarray(y, np.float64)
    if target.shape != (n_rows,) or not np.isfinite(target).all() or not n_rows:
        raise InputError(f"y must have one finite number for each of the {n_rows} rows")
    return target


def _ordered(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    return np.minimum(low, high), np.maximum(low, high)


def _blocks(n_rows: int, width: int) -> Iterator[slice]:
    step = max(1, _BLOCK_NUMBERS // max(width, 1))
    return (slice(begin, begin + step) for begin in range(0, n_rows, step))
