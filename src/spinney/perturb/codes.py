"""Output codes: matrices of −1, 0 and 1 with one row per class and one column per member, and decoding."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.elementary import exp, log, logaddexp
from spinney.core.errors import InputError

Array = NDArray[np.float64]
Code = NDArray[np.int8]

# 2**11 − 1 = 2047 members; a random code with a few dozen is nearly as good.
_MAX_EXHAUSTIVE_CLASSES = 12
# Up to this many dichotomies, all are listed and random codes are drawn from them.
_MAX_LISTED = 4096
# Otherwise random codes are drawn from this many random dichotomies per column.
_POOL = 32

# Losses are integer multiples of 1 / _GRID and at most _GRID, so that a sum of up to 2**12 of them is exact:
# whether two classes are equal then depends neither on the order of summation nor on other rows.
_GRID = 2.0**20
_PROBABILITY_GRID = 2.0**26
_MAX_ITERATIONS = 200
_CONVERGED = 1e-10
# Probabilities of members are clipped to [_MIN_PROBABILITY, 1 − _MIN_PROBABILITY]; full trees predict 0 or 1.
_MIN_PROBABILITY = 1e-6

# ---- codes ----


def one_vs_rest(n_classes: int) -> Code:
    """Return one column per class: that class against all others.

    >>> one_vs_rest(3).tolist()
    [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    """
    return (2 * np.eye(n_classes) - 1).astype(np.int8)


def one_vs_one(n_classes: int) -> Code:
    """Return one column per pair of classes; the other classes are 0 and left out.

    >>> one_vs_one(3).tolist()
    [[1, 1, 0], [-1, 0, 1], [0, -1, -1]]
    """
    pairs = list(combinations(range(n_classes), 2))
    code = np.zeros((n_classes, len(pairs)), np.int8)
    for column, (first, second) in enumerate(pairs):
        code[[first, second], column] = 1, -1
    return code


def exhaustive(n_classes: int) -> Code:
    """Return every division of the classes into two sides: 2^(n_classes − 1) − 1 columns.

    >>> exhaustive(3).tolist()
    [[1, 1, 1], [-1, -1, 1], [-1, 1, -1]]
    """
    if n_classes > _MAX_EXHAUSTIVE_CLASSES:
        raise InputError(
            f'code="exhaustive" of {n_classes} classes needs {2 ** (n_classes - 1) - 1} members',
            fix='Use code="dense" or "sparse".',
        )
    return _all_columns(n_classes, (-1, 1))


def _all_columns(n_classes: int, entries: tuple[int, ...]) -> Code:
    """Return all columns with both signs, up to negation: the first sign is +."""
    columns = np.array(list(product(entries, repeat=n_classes)), np.int8)
    leading = columns[np.arange(len(columns)), (columns != 0).argmax(axis=1)]
    return np.ascontiguousarray(columns[(leading == 1) & (columns == -1).any(axis=1)].T)


def _random_columns(n_classes: int, entries: tuple[int, ...], n: int, rng: np.random.Generator) -> Code:
    """Draw n different columns with both signs, up to negation."""
    found = np.empty((n_classes, 0), np.int8)
    while found.shape[1] < n:
        drawn = rng.choice(np.array(entries, np.int8), size=(n_classes, 2 * n))
        both = drawn[:, (drawn == 1).any(axis=0) & (drawn == -1).any(axis=0)]
        both *= both[(both != 0).argmax(axis=0), np.arange(both.shape[1])]
        found = np.concatenate([found, both], axis=1)
        first = np.unique(found, axis=1, return_index=True)[1]
        found = found[:, np.sort(first)]
    return found[:, :n]


def random_code(
    n_classes: int, sparse: bool, code_size: float | None, n_candidates: int, rng: np.random.Generator
) -> Code:
    """Draw codes and return the one with the largest minimum distance (Allwein, Schapire and Singer, 2000).

    Dense entries are −1 or 1 with equal probability; sparse entries are 0 with probability ½. There are
    ⌈10 log2 K⌉ columns (sparse: ⌈15 log2 K⌉) or ``code_size`` · K, at most all dichotomies.

    >>> random_code(3, False, None, 10, np.random.default_rng(0)).shape
    (3, 3)
    """
    entries: tuple[int, ...]
    entries, per_bit, n_all = (-1, 1), 10, 2 ** (n_classes - 1) - 1
    if sparse:
        entries, per_bit, n_all = (-1, 0, 0, 1), 15, (3**n_classes - 2 ** (n_classes + 1) + 1) // 2
    usual = math.ceil(per_bit * math.log2(n_classes))
    n_columns = usual if code_size is None else max(1, int(code_size * n_classes))
    chances = None
    if n_all <= _MAX_LISTED:
        pool = _all_columns(n_classes, tuple(dict.fromkeys(entries)))
        if sparse:  # half of the entries are 0
            chances = 0.5 ** np.count_nonzero(pool, axis=0)
            chances /= chances.sum()
    else:
        pool = _random_columns(n_classes, entries, min(n_all // 2, _POOL * n_columns), rng)
    n_columns = min(n_columns, pool.shape[1])
    best, distance = pool[:, :n_columns], -1.0
    for _ in range(n_candidates if n_columns < pool.shape[1] else 0):
        code = pool[:, rng.choice(pool.shape[1], n_columns, replace=False, p=chances)]
        found = min_distance(code)
        if found > distance:
            best, distance = code, found
    check_rows_differ(best)
    return np.ascontiguousarray(best)


def min_distance(code: Code) -> float:
    """Return the smallest distance of two classes: columns that differ in sign, plus half of those with a 0.

    Two classes with the same row have the distance −1.

    >>> min_distance(one_vs_rest(4)), min_distance(one_vs_one(4))
    (2.0, 3.5)
    """
    floats = code.astype(np.float64)
    distance = (code.shape[1] - floats @ floats.T) / 2
    present = np.abs(floats)
    differing = present.sum(axis=1)[:, None] + present.sum(axis=1) - 2 * floats @ floats.T
    distance[(differing == 0)] = -1.0
    return float(distance[np.triu_indices(len(code), 1)].min())


def check_code(code: Any, n_classes: int) -> Code:
    """Check a matrix given by the user: one row per class, both signs in every column, all rows different.

    >>> check_code([[1, 0], [-1, 1], [0, -1]], 3).dtype.name
    'int8'
    """
    try:
        matrix = np.asarray(code, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"The code must consist of the numbers -1, 0 and 1 ({error}).") from None
    if matrix.ndim != 2 or matrix.shape[0] != n_classes or matrix.shape[1] == 0:
        raise InputError(
            f"The code has shape {matrix.shape}; it must have {n_classes} rows, one per class in the order "
            "of classes_, and one column per member."
        )
    if not np.isin(matrix, (-1, 0, 1)).all():
        raise InputError("The code has other entries than -1, 0 and 1.")
    lacking = ~((matrix == 1).any(axis=0) & (matrix == -1).any(axis=0))
    if lacking.any():
        raise InputError(
            "A column of the code does not separate any classes: it needs a 1 and a -1",
            column=int(np.argmax(lacking)),
            fix="Use -1, not 0, for the other side: 0 leaves a class out.",
        )
    check_rows_differ(matrix)
    return matrix.astype(np.int8)


def check_rows_differ(code: NDArray[Any]) -> None:
    """Raise InputError if two classes have the same row."""
    rows: dict[bytes, int] = {}
    for k, row in enumerate(code):
        other = rows.setdefault(row.tobytes(), k)
        if other != k:
            raise InputError(
                f"The code has the same row for classes number {other} and {k}, so it cannot separate them",
                fix="Use more columns (code_size).",
            )


MAKERS: dict[str, Callable[[int], Code]] = {
    "one-vs-one": one_vs_one,
    "one-vs-rest": one_vs_rest,
    "exhaustive": exhaustive,
}


# ---- decoding ----


LOSSES: dict[str, Callable[[Array], Array]] = {
    "hinge": lambda margin: np.maximum(0.0, 1.0 - margin),
    "exponential": lambda margin: exp(np.minimum(-margin, log(_GRID))),
    "logistic": lambda margin: logaddexp(0.0, -margin),
}


def _sign_error(margin: Array) -> Array:
    return (1.0 - np.sign(margin)) / 2.0


def by_hamming(code: Code, margins: Array) -> Array:
    """Return the negative Hamming distance of each class to the signs of the margins; a 0 counts half.

    code (n_classes, n_columns), margins (n_rows, n_columns) -> (n_rows, n_classes). Ties are broken by
    the sum of the margins in favour of the class, which always counts less than a sign.

    >>> by_hamming(np.array([[1], [-1]], np.int8), np.array([[0.0], [2.0]])).round(2).tolist()
    [[-0.5, -0.5], [0.17, -1.17]]
    """
    favour = _on_grid(margins) @ code.T.astype(np.float64)
    return favour / (4.0 * (1.0 + np.abs(favour))) - total_loss(code, margins, _sign_error)


def by_loss(code: Code, margins: Array, loss: str) -> Array:
    """Return the negative sum over the columns of the loss of each class.  -> (n_rows, n_classes)

    >>> by_loss(np.array([[1], [-1]], np.int8), np.array([[0.5]]), "hinge").tolist()
    [[-0.5, -1.5]]
    """
    return -total_loss(code, margins, LOSSES[loss])


def total_loss(code: Code, margins: Array, loss: Callable[[Array], Array]) -> Array:
    """Return the exact sum of loss(code · margin) over the columns.  -> (n_rows, n_classes)"""
    for_plus, for_minus = _on_grid(loss(margins)), _on_grid(loss(-margins))
    for_none = float(_on_grid(loss(np.zeros(1)))[0]) * np.count_nonzero(code == 0, axis=1)
    plus, minus = (code == 1).T.astype(np.float64), (code == -1).T.astype(np.float64)
    return np.asarray(for_plus @ plus + for_minus @ minus + for_none)


def _on_grid(values: Array) -> Array:
    return np.rint(np.clip(values, -_GRID, _GRID) * _GRID) / _GRID


def couple(code: Code, sides: Array) -> Array:
    """Estimate class probabilities from the probability of the + side of every column.

    Maximizes the likelihood Σ r log(p⁺ / (p⁺ + p⁻)) + (1 − r) log(p⁻ / (p⁺ + p⁻)) over the columns, with p⁺
    and p⁻ the sums of the probabilities of the classes on each side: the generalized Bradley–Terry model of
    Huang, Weng and Lin (2006), and their multiplicative updates.

    sides (n_rows, n_columns) -> (n_rows, n_classes)

    >>> couple(np.array([[1, 1, 0], [-1, 0, 1], [0, -1, -1]], np.int8), np.array([[0.5, 0.8, 0.8]])).round(3)
    array([[0.444, 0.444, 0.111]])
    """
    plus, minus = (code == 1).astype(np.float64), (code == -1).astype(np.float64)
    observed = np.clip(sides, _MIN_PROBABILITY, 1.0 - _MIN_PROBABILITY)
    result = np.full((len(sides), len(code)), 1.0 / len(code))
    active = np.arange(len(sides))
    for _ in range(_MAX_ITERATIONS):
        now, r = result[active], observed[active]
        on_plus, on_minus = now @ plus, now @ minus
        wanted = (r / on_plus) @ plus.T + ((1.0 - r) / on_minus) @ minus.T
        found = now * wanted / ((1.0 / (on_plus + on_minus)) @ (plus + minus).T)
        found = np.maximum(found / found.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        result[active] = found
        # Rows converge one by one, so that the result of a row does not depend on the others.
        active = active[np.abs(found - now).max(axis=1) > _CONVERGED]
        if not len(active):
            break
    rounded = np.rint(result * _PROBABILITY_GRID) / _PROBABILITY_GRID
    return np.asarray(rounded / rounded.sum(axis=1, keepdims=True))
