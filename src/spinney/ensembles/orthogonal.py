"""Linear least squares by Householder reflections, for a few columns and any number of rows.

Without BLAS and LAPACK: their kernels are selected by the processor, and so are the last bits of their sums.
Where columns are collinear, these would decide between solutions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_BLOCK_ROWS = 4096
_TOLERANCE = 1e-10
"""Columns that are closer to the span of others, relative to the longest column, count as collinear."""


def _reflect(matrix: Array, k: int) -> Array:
    """Make column k zero below row k by a reflection, in place; return its normal vector, of length √2."""
    normal = matrix[k:, k].copy()
    length = np.sqrt((normal * normal).sum())
    if length == 0:
        return normal
    head = -np.copysign(length, normal[0])
    normal[0] -= head
    normal *= np.sqrt(2.0 / (normal * normal).sum())
    matrix[k:, k:] -= normal[:, None] * (normal[:, None] * matrix[k:, k:]).sum(axis=0)
    matrix[k, k], matrix[k + 1 :, k] = head, 0.0
    return normal


def triangle(system: Array) -> Array:
    """Return at most as many rows as there are columns, with the same inner products of columns.

    Parameters
    ----------
    system : ndarray of shape (n_rows, n_columns)
        Columns, with the target as the last one. Their squares must not overflow.

    Returns
    -------
    ndarray of shape (min(n_rows, n_columns), n_columns)
        The triangular factor of a QR decomposition, or the system itself if it has no more rows.

    Examples
    --------
    >>> np.abs(triangle(np.array([[3.0], [4.0]]))).tolist()
    [[5.0]]
    """
    n_rows, n_columns = system.shape
    if n_rows <= n_columns:
        return system
    # By a power of two, so that squares of small numbers do not vanish.
    exponent = int(np.frexp(np.abs(system).max())[1])
    corner = np.empty((0, n_columns))
    for begin in range(0, n_rows, _BLOCK_ROWS):
        corner = np.vstack([corner, np.ldexp(system[begin : begin + _BLOCK_ROWS], -exponent)])
        for k in range(min(corner.shape[0] - 1, n_columns)):
            _reflect(corner, k)
        corner = corner[:n_columns]
    return np.asarray(np.ldexp(corner, exponent))


def shortest_solution(matrix: Array, right: Array) -> Array:
    """Return the shortest of the vectors x with the smallest ‖matrix · x − right‖.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_columns)
        Coefficients of a small system.
    right : ndarray of shape (n_rows,)
        Right-hand side.

    Returns
    -------
    ndarray of shape (n_columns,)
        The solution.

    Examples
    --------
    >>> shortest_solution(np.array([[1.0, 1.0]]), np.array([4.0])).round(12).tolist()
    [2.0, 2.0]
    """
    n_columns = matrix.shape[1]
    work, order = np.column_stack([matrix, right]), np.arange(n_columns)
    rank, limit = 0, 0.0
    while rank < min(matrix.shape):
        lengths = np.sqrt((work[rank:, rank:-1] ** 2).sum(axis=0))
        longest = rank + int(lengths.argmax())
        limit = limit or _TOLERANCE * lengths.max()
        if lengths.max() <= limit:
            break
        swapped, both = [longest, rank], [rank, longest]
        work[:, both], order[both] = work[:, swapped], order[swapped]
        _reflect(work, rank)
        rank += 1
    target, solution = work[:rank, -1], np.zeros(n_columns)
    if rank == n_columns:
        for k in reversed(range(rank)):
            solution[k] = (target[k] - (work[k, k + 1 : -1] * solution[k + 1 :]).sum()) / work[k, k]
    else:
        # The transposed rows, times reflections, are triangular: the shortest x is a combination of them.
        rows = np.ascontiguousarray(work[:rank, :n_columns].T)
        normals = [_reflect(rows, k) for k in range(rank)]
        for k in range(rank):
            solution[k] = (target[k] - (rows[:k, k] * solution[:k]).sum()) / rows[k, k]
        for k in reversed(range(rank)):
            solution[k:] -= normals[k] * (normals[k] * solution[k:]).sum()
    found = np.empty(n_columns)
    found[order] = solution
    return found


def non_negative_solution(matrix: Array, right: Array) -> Array:
    """Return x ≥ 0 with the smallest ‖matrix · x − right‖, by the active-set method of Lawson and Hanson.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_columns)
        Coefficients of a small system.
    right : ndarray of shape (n_rows,)
        Right-hand side.

    Returns
    -------
    ndarray of shape (n_columns,)
        The solution; of many, the first that is found.

    Examples
    --------
    >>> non_negative_solution(np.eye(2), np.array([2.0, -1.0])).tolist()
    [2.0, 0.0]
    """
    n_columns = matrix.shape[1]
    lengths = np.sqrt((matrix**2).sum(axis=0)) * np.sqrt((right**2).sum())
    limits = 10 * max(matrix.shape) * np.finfo(np.float64).eps * lengths
    found, free, refused = np.zeros(n_columns), np.zeros(n_columns, bool), np.zeros(n_columns, bool)
    for _ in range(30 * max(n_columns, 10)):
        residual = right - (matrix * found).sum(axis=1)
        slopes = (matrix * residual[:, None]).sum(axis=0)
        rising = np.flatnonzero(~free & ~refused & (slopes > limits))
        if not len(rising):
            break
        entering = rising[slopes[rising].argmax()]
        free[entering] = True
        best = _solve_free(matrix, right, free)
        if best[entering] <= 0:  # only by rounding
            free[entering], refused[entering] = False, True
            continue
        while (falling := free & (best <= 0)).any():
            step = (found[falling] / (found[falling] - best[falling])).min()
            found = found + step * (best - found)
            free &= ~(falling & (found <= np.finfo(np.float64).eps * found.max()))
            found[~free] = 0.0
            best = _solve_free(matrix, right, free)
        found, refused = best, np.zeros(n_columns, bool)
    return found


def _solve_free(matrix: Array, right: Array, free: NDArray[np.bool_]) -> Array:
    found = np.zeros(len(free))
    found[free] = shortest_solution(matrix[:, free], right)
    return found
