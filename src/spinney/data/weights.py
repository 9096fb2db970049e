"""Row weights: those given as ``sample_weight``, and those that follow from ``class_weight``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_sample_weight

from spinney.core.arrays import Floats, chunk_sum
from spinney.core.errors import InputError


def check_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Read row weights, which are finite, at least 0, and not all 0.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,), a number or None
        Row weights; a number is the weight of every row.
    n_rows : int
        Number of rows.

    Returns
    -------
    ndarray of shape (n_rows,) or None
        The weights; None if none are given.

    Examples
    --------
    >>> check_weights([1, 2], 2).tolist()
    [1.0, 2.0]
    """
    if sample_weight is None:
        return None
    try:
        given = np.asarray(sample_weight)
        if given.dtype.kind == "c":  # the conversion would drop the imaginary parts
            raise InputError("Complex data not supported: sample_weight must hold real numbers.")
        if given.dtype.kind in "mM":  # the conversion would give the days or nanoseconds since 1970
            raise InputError("sample_weight must hold numbers, not dates or durations.")
        weights = np.asarray(given, dtype=np.float64)
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"sample_weight must hold numbers ({error}).") from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise InputError(f"Sample weights must be 1D array or scalar; sample_weight has {weights.ndim} axes.")
    if weights.shape != (n_rows,):
        raise InputError(
            f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}: X has {n_rows} rows."
        )
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        row = int(np.argmax(bad))
        what = "Input sample_weight contains " + ("NaN" if np.isnan(weights[row]) else "infinity")
        if np.isfinite(weights[row]):
            what = f"Negative values in data passed to `sample_weight`: found {weights[row]}"
        raise InputError(what, row=row, fix="Weights are finite numbers of at least 0.")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if np.isinf(total):
        raise InputError("The sum of sample_weight is infinite.", fix="Divide the weights by a large number.")
    if total == 0:
        raise InputError(
            "Sample weights must contain at least one non-zero number.", fix="A row of weight 0 is left out."
        )
    return np.ascontiguousarray(weights)


def row_weight(weights: Floats) -> float:
    """Return the weight that counts as one row where numbers of rows are limited.

    Weights of 1 or more are counts of rows. Weights with a mean below 1 are shares of a whole, and their mean
    counts as one row.

    Parameters
    ----------
    weights : ndarray of shape (n_rows,)
        Row weights; rows of weight 0 do not count.

    Returns
    -------
    float
        1, or the mean weight if it is below 1.

    Examples
    --------
    >>> row_weight(np.array([0.25, 0.0, 0.75])), row_weight(np.array([1.0, 3.0]))
    (0.5, 1.0)
    """
    counted = weights[weights > 0]
    # The mean of equal weights is that weight, not what rounding makes of their sum.
    mean = float(counted[0] if (counted == counted[0]).all() else chunk_sum(weights) / len(counted))
    # Balanced class weights have a mean of 1 up to rounding.
    return 1.0 if mean > 1.0 - 1e-9 else max(mean, float(np.finfo(np.float64).tiny))


def class_weights(class_weight: Any, y: NDArray[Any]) -> Floats:
    """Return the weight that each row has by its class.

    Parameters
    ----------
    class_weight : dict, list of dict or "balanced"
        As in scikit-learn.
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Labels.

    Returns
    -------
    ndarray of shape (n_rows,)
        The weights.

    Examples
    --------
    >>> class_weights({"a": 2.0, "b": 1.0}, np.array(["a", "b"])).tolist()
    [2.0, 1.0]
    """
    try:
        weights = np.asarray(compute_sample_weight(class_weight, y), dtype=np.float64)
    except TypeError as error:
        raise InputError(f"class_weight must hold numbers ({error}).") from error
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError("class_weight has weights that are negative or not finite.")
    return weights


def class_weights_like(
    class_weight: Any, labels: NDArray[Any], codes: NDArray[np.int32], other: NDArray[np.int32]
) -> Floats:
    """Return the weights that other rows have by the class weights of the training rows.

    Parameters
    ----------
    class_weight : dict, list of dict or "balanced"
        As in scikit-learn.
    labels : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Labels of the training rows.
    codes : ndarray of shape (n_rows, n_outputs)
        Class codes of the training rows.
    other : ndarray of shape (n_other, n_outputs)
        Class codes of the other rows, −1 for a class that is not in training.

    Returns
    -------
    ndarray of shape (n_other,)
        The weights; a class that is not in training counts 1.

    Examples
    --------
    >>> labels, codes = np.array(["a", "b", "b", "b"]), np.array([[0], [1], [1], [1]])
    >>> class_weights_like("balanced", labels, codes, np.array([[0], [-1]])).tolist()
    [2.0, 1.0]
    """
    weights = np.ones(len(other))
    for k, column in enumerate((labels[:, None] if labels.ndim == 1 else labels).T):
        one = class_weight[k] if labels.ndim == 2 and not isinstance(class_weight, str) else class_weight
        by_code = np.ones(int(codes[:, k].max()) + 2)  # the last is for the code −1
        by_code[codes[:, k]] = class_weights(one, column)
        weights *= by_code[other[:, k]]
    return weights


def apply_class_weights(weights: Floats | None, class_weight: Any, labels: NDArray[Any]) -> Floats | None:
    """Multiply row weights by the class weights; None stands for weights of 1.

    Parameters
    ----------
    weights : ndarray of shape (n_rows,) or None
        Row weights.
    class_weight : dict, list of dict, "balanced" or None
        As in scikit-learn.
    labels : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Labels.

    Returns
    -------
    ndarray of shape (n_rows,) or None
        The products.

    Examples
    --------
    >>> apply_class_weights(np.array([3.0, 1.0]), {0: 2.0, 1: 1.0}, np.array([0, 1])).tolist()
    [6.0, 1.0]
    """
    if class_weight is not None:
        by_class = class_weights(class_weight, labels)
        weights = by_class if weights is None else weights * by_class
    return None if weights is None else check_total(weights, "the rows")


def check_total(weights: Floats, where: str) -> Floats:
    """Return the weights; raise InputError if their sum is 0 or infinite."""
    if not 0 < weights.sum() < np.inf:
        raise InputError(f"The sum of class_weight times sample_weight over {where} is 0 or infinite.")
    return weights
