"""Out-of-bag answers: the mean over the members that did not see a training row, and their score."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score

from spinney.core.errors import InputError

Answers = NDArray[np.float64]


def out_of_bag_mean(
    n_rows: int, parts: Iterable[tuple[NDArray[np.integer[Any]], Answers]]
) -> tuple[Answers, NDArray[np.int64]]:
    """Give the mean answer to each row, NaN where no member left it out, and how many members answered.

    Each member gives (rows, answers): the rows that it did not see, each once, and what it says of them
    (n_rows_left_out, …). They are added in the order in which they come.  -> (n_rows, …), (n_rows,)

    >>> mean, n_answers = out_of_bag_mean(3, [([0, 1], np.array([2.0, 4.0])), ([1], np.array([8.0]))])
    >>> mean.tolist(), n_answers.tolist()
    ([2.0, 6.0, nan], [1, 2, 0])
    """
    total: Answers | None = None
    n_answers = np.zeros(n_rows, dtype=np.int64)
    for rows, answers in parts:
        if total is None:
            total = np.zeros((n_rows, *answers.shape[1:]))
        total[rows] += answers
        n_answers[rows] += 1
    if total is None or not n_answers.any():
        raise InputError(
            "No row was left out by any member, so that nothing is out of bag",
            fix="Draw fewer rows by max_samples, add members, or set oob_score=False.",
        )
    divisor = np.where(n_answers, n_answers, np.nan).reshape(-1, *[1] * (total.ndim - 1))
    return total / divisor, n_answers


def out_of_bag_score(
    score: Callable[..., float],
    y: NDArray[Any],
    predicted: NDArray[Any],
    answered: NDArray[np.bool_],
    weights: NDArray[np.float64] | None = None,
) -> float:
    """Score the rows that some member left out, ``score(y, predicted)``, by weight where it takes weights.

    y and predicted (n_rows,) or (n_rows, n_outputs), answered (n_rows,).

    >>> from sklearn.metrics import accuracy_score
    >>> seen = np.array([True, True, False])
    >>> out_of_bag_score(accuracy_score, np.array([0, 1, 1]), np.array([0, 0, 0]), seen)
    0.5
    """
    if weights is None:
        return float(score(y[answered], predicted[answered]))
    counted = answered & (weights > 0)
    more = {"sample_weight": weights[counted]} if _takes_weights(score) else {}
    return float(score(y[counted], predicted[counted], **more))


def accuracy(
    y: NDArray[Any], predicted: NDArray[Any], sample_weight: NDArray[np.float64] | None = None
) -> float:
    """Give the share of rows whose every output is predicted right.

    >>> accuracy(np.array([[0, 1], [1, 1]]), np.array([[0, 1], [1, 0]]))
    0.5
    """
    right = y == predicted
    return float(np.average(right if right.ndim == 1 else right.all(axis=1), weights=sample_weight))


def r_squared(
    y: NDArray[Any], predicted: NDArray[Any], sample_weight: NDArray[np.float64] | None = None
) -> float:
    """Give the share of the variance that is explained.

    >>> r_squared(np.array([0.0, 2.0]), np.array([0.0, 1.0]))
    0.5
    """
    if len(y) < 2:
        raise InputError(
            "R² needs two rows out of bag, and one row was left out",
            fix="Add members or rows, or set oob_score to a function such as mean_squared_error.",
        )
    return float(r2_score(y, predicted, sample_weight=sample_weight))


def _takes_weights(score: Callable[..., float]) -> bool:
    try:
        return "sample_weight" in inspect.signature(score).parameters
    except (TypeError, ValueError):  # a built-in function tells nothing of its arguments
        return False
