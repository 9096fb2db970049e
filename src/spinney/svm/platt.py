"""Probabilities from decision values: Platt scaling, and coupling of pairwise probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.elementary import expit, log, logaddexp

_CLIP = 1e-7
_MAX_ITER, _MIN_STEP, _RIDGE, _TOL = 100, 1e-10, 1e-12, 1e-5


def fit_sigmoid(decision: Floats, positive: NDArray[np.bool_], weights: Floats) -> tuple[float, float]:
    """Return A and B of P(positive | f) = 1 / (1 + exp(A f + B)).

    Platt (1999), by the Newton method with backtracking of Lin, Lin and Weng (2007).

    >>> A, B = fit_sigmoid(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True]), np.ones(4))
    >>> A < 0, abs(B) < 1e-6
    (True, True)
    """
    n_positive = float(weights[positive].sum())
    n_negative = float(weights[~positive].sum())
    target = np.where(positive, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0))
    A, B = 0.0, float(log((n_negative + 1.0) / (n_positive + 1.0)))
    loss = _loss(decision, target, weights, A, B)
    for _ in range(_MAX_ITER):
        p = expit(-(A * decision + B))
        d1, d2 = weights * (target - p), weights * p * (1.0 - p)
        g1, g2 = float((decision * d1).sum()), float(d1.sum())
        if abs(g1) < _TOL and abs(g2) < _TOL:
            break
        h11 = float((decision * decision * d2).sum()) + _RIDGE
        h22, h21 = float(d2.sum()) + _RIDGE, float((decision * d2).sum())
        determinant = h11 * h22 - h21 * h21
        step_a = -(h22 * g1 - h21 * g2) / determinant
        step_b = -(-h21 * g1 + h11 * g2) / determinant
        slope, size = g1 * step_a + g2 * step_b, 1.0
        while size >= _MIN_STEP:
            new = _loss(decision, target, weights, A + size * step_a, B + size * step_b)
            if new < loss + 1e-4 * size * slope:
                break
            size /= 2.0
        else:
            break
        A, B, loss = A + size * step_a, B + size * step_b, new
    return A, B


def _loss(f: Floats, target: Floats, weights: Floats, A: float, B: float) -> float:
    z = A * f + B
    return float((weights * (target * z + logaddexp(0.0, -z))).sum())


def pair_probabilities(decision: Floats, A: Floats, B: Floats) -> Floats:
    """Return P(first of the pair | one of the pair), away from 0 and 1.  (n_rows, n_pairs) -> the same"""
    return np.asarray(np.clip(expit(-(decision * A + B)), _CLIP, 1.0 - _CLIP))


def couple_pairs(r: Floats, n_classes: int) -> Floats:
    """Return class probabilities from those of pairs: the second method of Wu, Lin and Weng (2004).

    Minimizes Σ_i Σ_{j≠i} (r_ji p_i − r_ij p_j)² subject to Σ p = 1, a system of linear equations.
    r (n_rows, n_pairs) in the order (0,1), (0,2), …  -> (n_rows, n_classes)

    >>> couple_pairs(np.array([[0.8, 0.9, 0.6]]), 3).argmax()
    np.int64(0)
    """
    n_rows = len(r)
    if n_classes == 2:
        return np.stack([r[:, 0], 1.0 - r[:, 0]], axis=1)
    pairwise = np.zeros((n_rows, n_classes, n_classes))
    first, second = np.triu_indices(n_classes, 1)
    pairwise[:, first, second] = r
    pairwise[:, second, first] = 1.0 - r
    system = np.zeros((n_rows, n_classes + 1, n_classes + 1))
    # Q_ii = Σ_{j≠i} r_ji², Q_ij = −r_ji r_ij
    system[:, :n_classes, :n_classes] = -pairwise * pairwise.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    system[:, diagonal, diagonal] = (pairwise**2).sum(axis=1)
    system[:, :n_classes, n_classes] = system[:, n_classes, :n_classes] = 1.0
    right = np.zeros((n_rows, n_classes + 1, 1))
    right[:, n_classes] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :n_classes, 0], 0.0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))
