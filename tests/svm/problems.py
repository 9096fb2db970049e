"""Kernels by their formulas, optimality conditions by their definition, and random problems."""

import numpy as np


def kernel_matrix(kind, X, Z, gamma, coef0=0.0, degree=3):
    """Return K(x, z) of all pairs, straight from the formulas."""
    dot = X @ Z.T
    squares = np.maximum(((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2), 0.0)
    return {
        "linear": dot,
        "poly": (gamma * dot + coef0) ** degree,
        "rbf": np.exp(-gamma * squares),
        "laplacian": np.exp(-gamma * np.sqrt(squares)),
        "sigmoid": np.tanh(gamma * dot + coef0),
    }[kind]


def full(model, n_rows):
    """Return the coefficients of all rows, 0 for those that are no support vectors."""
    beta = np.zeros(n_rows)
    beta[model.support_] = model.dual_coef_[0]
    return beta


def classification_violation(K, y, beta, intercept, box):
    """Return the largest violation of the KKT conditions of a soft-margin classifier.  y (n,): ±1"""
    margin = y * (K @ beta + intercept)
    alpha = y * beta
    assert (alpha >= 0).all() and (alpha <= box).all() and abs(beta.sum()) < 1e-9 * max(1.0, box.max())
    too_small = np.where(alpha < box, 1.0 - margin, 0.0)  # may rise: margin ≥ 1
    too_large = np.where(alpha > 0, margin - 1.0, 0.0)  # may fall: margin ≤ 1
    return max(too_small.max(), too_large.max())


def regression_violation(K, y, beta, intercept, box, epsilon):
    """Return the largest violation of the KKT conditions of ε-insensitive regression."""
    error = y - (K @ beta + intercept)
    assert (np.abs(beta) <= box).all() and abs(beta.sum()) < 1e-9 * max(1.0, box.max())
    above = np.where(beta < box, error - epsilon, 0.0)
    above = np.where(beta < 0, error + epsilon, above)
    below = np.where(beta > -box, -error - epsilon, 0.0)
    below = np.where(beta > 0, epsilon - error, below)
    return max(above.max(), below.max())
