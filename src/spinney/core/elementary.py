"""Exponentials and logarithms that have the same bits on every processor.

NumPy, SciPy and the C library select an implementation by the processor, and their last bits differ. What
reaches a model or a prediction is therefore computed by the functions of this module. Only
``predict_log_proba`` takes NumPy's logarithm of the probabilities, as users do who compare the two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.native import core

_Core = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def _mapped(function: _Core, values: Any) -> Any:
    array = np.ascontiguousarray(values, np.float64)
    return function(array.reshape(-1)).reshape(np.shape(values))[()]


def exp(values: Any) -> Any:
    """Return e^x of numbers or arrays.

    >>> float(exp(0.0)), exp(np.array([-np.inf, 710.0])).tolist()
    (1.0, [0.0, inf])
    """
    return _mapped(core.exp, values)


def log(values: Any) -> Any:
    """Return the natural logarithm of numbers or arrays: −∞ for 0, NaN below, without a warning.

    >>> log(np.array([1.0, 0.0])).tolist()
    [0.0, -inf]
    """
    return _mapped(core.log, values)


def log1p(values: Floats) -> Any:
    """Return ln(1 + x), also of small numbers to the last bits.

    >>> float(log1p(1e-20))
    1e-20
    """
    rounded = 1.0 + np.asarray(values)
    lost = rounded - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((lost == 0) | np.isinf(rounded), values, log(rounded) * (values / lost))[()]


def expit(scores: Any) -> Any:
    """Return 1 / (1 + e^−x).

    >>> expit(np.array([0.0, -1000.0])).tolist()
    [0.5, 0.0]
    """
    return _mapped(core.expit, scores)


def logit(probabilities: Floats) -> Any:
    """Return ln(p / (1 − p)).

    >>> float(logit(0.5))
    0.0
    """
    return log(probabilities) - log1p(-np.asarray(probabilities))


def logaddexp(first: Any, second: Any) -> Any:
    """Return ln(e^a + e^b) without overflow.

    >>> float(logaddexp(0.0, -1000.0))
    0.0
    """
    largest = np.maximum(first, second)
    return largest + log1p(exp(np.minimum(first, second) - largest))


def softmax(scores: Floats) -> Floats:
    """Return e^x / Σ e^x over the last axis.

    >>> softmax(np.array([[1000.0, 1000.0]])).tolist()
    [[0.5, 0.5]]
    """
    rows = np.ascontiguousarray(scores, np.float64).reshape(-1, scores.shape[-1])
    return core.softmax(rows).reshape(scores.shape)


def logsumexp(scores: Floats) -> Floats:
    """Return ln Σ e^x over the last axis.

    >>> logsumexp(np.array([[1000.0, 1000.0]])).round(3).tolist()
    [1000.693]
    """
    largest = scores.max(axis=-1, keepdims=True)
    total: Floats = (largest + log(exp(scores - largest).sum(axis=-1, keepdims=True)))[..., 0]
    return total


def log_softmax(scores: Floats) -> Floats:
    """Return the logarithm of `softmax`.

    >>> log_softmax(np.array([[0.0, -1000.0]])).tolist()
    [[0.0, -1000.0]]
    """
    shifted = scores - scores.max(axis=-1, keepdims=True)
    logarithms: Floats = shifted - log(exp(shifted).sum(axis=-1, keepdims=True))
    return logarithms
