"""Weights learned by least squares: of any sign, of at least 0, or summing to one as well."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq
from scipy.optimize import nnls

from spinney.core.errors import InputError

_LARGEST = 1e150


def convex_weights(
    answers: Sequence[NDArray[np.float64]],
    target: NDArray[np.float64],
    row_weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Give the weights, at least 0 and summing to one, whose mean answer has the least squared error.

    answers: one array (n_rows, width) a member; target (n_rows, width): numbers, or a 1 in the column of the
    class. -> (n_members,). With Σw = 1 the error of the mean is the mean of the errors d_m = f_m − y, so
    this is the shortest vector in the convex hull of the d_m. Its direction is that of the non-negative
    least-squares solution of ‖Dw‖² + (Σw − 1)², which a finite number of steps finds exactly.

    >>> near, far = np.array([[1.0], [2.0]]), np.array([[3.0], [0.0]])
    >>> convex_weights([near, far], np.array([[1.5], [1.5]])).round(6).tolist()
    [0.75, 0.25]
    """
    for numbers in (target, *answers):
        _check_size(numbers)
    errors = np.stack([(answer - target).ravel() for answer in answers], axis=1)
    if row_weights is not None:
        errors *= np.sqrt(np.repeat(row_weights, target.shape[1]))[:, None]
    corner = _triangle(errors)
    # The scale of the errors does not matter to the direction, but a like scale is better for the solver.
    scale = max(float(np.abs(corner).max()), np.finfo(np.float64).tiny)
    system = np.vstack([corner / scale, np.ones(len(answers))])
    solution = _non_negative(system, np.append(np.zeros(len(corner)), 1.0))
    weights: NDArray[np.float64] = solution / solution.sum()
    return weights


def least_squares(
    features: NDArray[np.float64],
    target: NDArray[np.float64],
    row_weights: NDArray[np.float64] | None,
    *,
    positive: bool,
    intercept: bool,
) -> tuple[NDArray[np.float64], float]:
    """Give the coefficients (n_features,) and the intercept of the least squared error.

    ``positive`` keeps the coefficients, but not the intercept, at 0 or above. Of many solutions the shortest
    is given, or with ``positive`` the one that the active-set method meets first.
    """
    shares = np.full(len(target), 1.0) if row_weights is None else row_weights
    used = shares > 0
    features, target, shares = features[used], target[used], shares[used] / shares.sum()
    system = np.column_stack([features, target])
    _check_size(system)
    center = shares @ system if intercept else np.zeros(system.shape[1])
    corner = _triangle((system - center) * np.sqrt(shares)[:, None])
    matrix, right = corner[:, :-1], corner[:, -1]
    coefficients = _non_negative(matrix, right) if positive else _shortest(matrix, right)
    return coefficients, float(center[-1] - center[:-1] @ coefficients)


def _check_size(system: NDArray[np.float64]) -> None:
    # The squares of the largest numbers are infinite.
    if not (np.abs(system) <= _LARGEST).all():
        raise InputError("The answers of members, or the targets, are too large for least squares.")


def _triangle(system: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give a system of at most as many equations as it has columns, with the same squared lengths."""
    if system.shape[0] <= system.shape[1]:
        return system
    return np.asarray(np.linalg.qr(system, mode="r"))


def _non_negative(matrix: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    solution: NDArray[np.float64] = nnls(matrix, right, maxiter=30 * max(matrix.shape[1], 10))[0]
    return solution


def _shortest(matrix: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    # Columns that sum to one leave a direction in which rounding alone would decide.
    solution: NDArray[np.float64] = lstsq(matrix, right, cond=1e-10)[0]
    return solution
