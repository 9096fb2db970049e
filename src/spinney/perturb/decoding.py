"""Decoding: from what the members say of their dichotomies to a score, or a probability, for each class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spinney.perturb.codes import Code

Array = NDArray[np.float64]

# Losses are whole multiples of 1 / _GRID and no larger than _GRID, so that a sum of up to 2**12 of them is
# exact: whether two classes are equal then depends neither on the order of summing nor on other rows.
_GRID = 2.0**20
_FEWEST_BITS = 2.0**26
_ITERATIONS = 200
_CONVERGED = 1e-10
# No member is taken to be surer than this; a full tree always says 0 or 1.
_SUREST = 1e-6


def _exponential(margin: Array) -> Array:
    return np.asarray(np.exp(np.minimum(-margin, np.log(_GRID))))


def _logistic(margin: Array) -> Array:
    return np.logaddexp(0.0, -margin)


def _hinge(margin: Array) -> Array:
    return np.maximum(0.0, 1.0 - margin)


def _wrong_sign(margin: Array) -> Array:
    return (1.0 - np.sign(margin)) / 2.0


LOSSES: dict[str, Callable[[Array], Array]] = {
    "hinge": _hinge,
    "exponential": _exponential,
    "logistic": _logistic,
}


def by_hamming(code: Code, margins: Array) -> Array:
    """Give minus the Hamming distance of each class to the signs of the margins; a 0 counts half.

    code (n_classes, n_columns), margins (n_rows, n_columns) -> (n_rows, n_classes). Equal distances are told
    apart by the sum of the margins in favour of the class, which never counts as much as a sign.

    >>> by_hamming(np.array([[1], [-1]], np.int8), np.array([[0.0], [2.0]])).round(2).tolist()
    [[-0.5, -0.5], [0.17, -1.17]]
    """
    favour = _on_grid(margins) @ code.T.astype(np.float64)
    return favour / (4.0 * (1.0 + np.abs(favour))) - total_loss(code, margins, _wrong_sign)


def by_loss(code: Code, margins: Array, loss: str) -> Array:
    """Give minus the sum over the columns of the loss of each class's margin.  -> (n_rows, n_classes)

    >>> by_loss(np.array([[1], [-1]], np.int8), np.array([[0.5]]), "hinge").tolist()
    [[-0.5, -1.5]]
    """
    return -total_loss(code, margins, LOSSES[loss])


def total_loss(code: Code, margins: Array, loss: Callable[[Array], Array]) -> Array:
    """Sum loss(code · margin) over the columns, exactly.  -> (n_rows, n_classes)"""
    for_plus, for_minus = _on_grid(loss(margins)), _on_grid(loss(-margins))
    for_none = float(_on_grid(loss(np.zeros(1)))[0]) * np.count_nonzero(code == 0, axis=1)
    plus, minus = (code == 1).T.astype(np.float64), (code == -1).T.astype(np.float64)
    return np.asarray(for_plus @ plus + for_minus @ minus + for_none)


def _on_grid(values: Array) -> Array:
    return np.rint(np.clip(values, -_GRID, _GRID) * _GRID) / _GRID


def softmax(scores: Array) -> Array:
    """Give shares of 1 whose logarithms differ as the scores (…, n_classes) do.

    >>> softmax(np.zeros((1, 2))).tolist()
    [[0.5, 0.5]]
    """
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def couple(code: Code, sides: Array) -> Array:
    """Find the class probabilities that agree best with the probability of the + side of every column.

    Maximizes the likelihood Σ r log(p⁺ / (p⁺ + p⁻)) + (1 − r) log(p⁻ / (p⁺ + p⁻)) over the columns, p⁺ and p⁻
    the sums of the probabilities of the classes on each side (the generalized Bradley–Terry model of Huang,
    Weng and Lin, 2006): each step multiplies p by what its columns say over what they would say now.

    sides (n_rows, n_columns) -> (n_rows, n_classes)

    >>> couple(np.array([[1, 1, 0], [-1, 0, 1], [0, -1, -1]], np.int8), np.array([[0.5, 0.8, 0.8]])).round(3)
    array([[0.444, 0.444, 0.111]])
    """
    plus, minus = (code == 1).astype(np.float64), (code == -1).astype(np.float64)
    said = np.clip(sides, _SUREST, 1.0 - _SUREST)
    answer = np.full((len(sides), len(code)), 1.0 / len(code))
    active = np.arange(len(sides))
    for _ in range(_ITERATIONS):
        now, r = answer[active], said[active]
        on_plus, on_minus = now @ plus, now @ minus
        wanted = (r / on_plus) @ plus.T + ((1.0 - r) / on_minus) @ minus.T
        found = now * wanted / ((1.0 / (on_plus + on_minus)) @ (plus + minus).T)
        found = np.maximum(found / found.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        answer[active] = found
        # Each row by itself, so that its answer does not depend on which others are asked for.
        active = active[np.abs(found - now).max(axis=1) > _CONVERGED]
        if not len(active):
            break
    rounded = np.rint(answer * _FEWEST_BITS) / _FEWEST_BITS
    return np.asarray(rounded / rounded.sum(axis=1, keepdims=True))
