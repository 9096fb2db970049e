"""Output codes: matrices of −1, 0 and 1, a row a class and a column a dichotomy, and how each is made."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError

Code = NDArray[np.int8]

# 2**11 − 1 = 2047 members; a random code of some dozens does nearly as well.
_MOST_EXHAUSTIVE_CLASSES = 12
# Where there are no more dichotomies than this, all are listed and random codes choose among them.
_LISTED = 4096
# Otherwise they choose among so many random ones for each that they take.
_POOL = 32


def one_vs_rest(n_classes: int) -> Code:
    """Give a column a class: that class against all others.

    >>> one_vs_rest(3).tolist()
    [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    """
    return (2 * np.eye(n_classes) - 1).astype(np.int8)


def one_vs_one(n_classes: int) -> Code:
    """Give a column a pair of classes; the others, 0, take no part.

    >>> one_vs_one(3).tolist()
    [[1, 1, 0], [-1, 0, 1], [0, -1, -1]]
    """
    pairs = list(combinations(range(n_classes), 2))
    code = np.zeros((n_classes, len(pairs)), np.int8)
    for column, (first, second) in enumerate(pairs):
        code[[first, second], column] = 1, -1
    return code


def exhaustive(n_classes: int) -> Code:
    """Give every way to divide the classes in two, once: 2^(n_classes − 1) − 1 columns.

    >>> exhaustive(3).tolist()
    [[1, 1, 1], [-1, -1, 1], [-1, 1, -1]]
    """
    if n_classes > _MOST_EXHAUSTIVE_CLASSES:
        raise InputError(
            f'code="exhaustive" of {n_classes} classes would take {2 ** (n_classes - 1) - 1} members',
            fix='Take code="dense" or "sparse".',
        )
    return _all_columns(n_classes, (-1, 1))


def _all_columns(n_classes: int, entries: tuple[int, ...]) -> Code:
    """List all columns that have both signs, those that differ in all signs once: the first sign is +."""
    columns = np.array(list(product(entries, repeat=n_classes)), np.int8)
    leading = columns[np.arange(len(columns)), (columns != 0).argmax(axis=1)]
    return np.ascontiguousarray(columns[(leading == 1) & (columns == -1).any(axis=1)].T)


def _random_columns(n_classes: int, entries: tuple[int, ...], n: int, rng: np.random.Generator) -> Code:
    """Draw n different columns that have both signs, up to sign."""
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
    """Draw codes, and give that one whose classes are farthest apart (Allwein, Schapire and Singer, 2000).

    Entries are −1 and 1, each by half; in a sparse code also 0, by half. There are ⌈10 log2 K⌉ columns,
    sparse ⌈15 log2 K⌉, or ``code_size`` · K; where no more dichotomies exist, all of them.

    >>> random_code(3, False, None, 10, np.random.default_rng(0)).shape
    (3, 3)
    """
    if code_size is None:
        n_columns = math.ceil((15 if sparse else 10) * math.log2(n_classes))
    else:
        n_columns = max(1, int(code_size * n_classes))
    if sparse:
        entries: tuple[int, ...] = (-1, 0, 0, 1)
        n_all = (3**n_classes - 2 ** (n_classes + 1) + 1) // 2
    else:
        entries, n_all = (-1, 1), 2 ** (n_classes - 1) - 1
    if n_all <= _LISTED:
        pool = _all_columns(n_classes, tuple(dict.fromkeys(entries)))
    else:
        pool = _random_columns(n_classes, entries, min(n_all // 2, _POOL * n_columns), rng)
    n_columns = min(n_columns, pool.shape[1])
    best, distance = pool[:, :n_columns], -1.0
    chances = _chances(pool) if n_all <= _LISTED and sparse else None
    for _ in range(n_candidates if n_columns < pool.shape[1] else 0):
        code = pool[:, rng.choice(pool.shape[1], n_columns, replace=False, p=chances)]
        found = least_distance(code)
        if found > distance:
            best, distance = code, found
    check_rows_differ(best)
    return np.ascontiguousarray(best)


def _chances(columns: Code) -> NDArray[np.float64]:
    """Give how likely each column is where half of the entries are 0.  -> (n_columns,)"""
    chances = 0.5 ** np.count_nonzero(columns, axis=0)
    return np.asarray(chances / chances.sum())


def least_distance(code: Code) -> float:
    """Give the smallest distance of two classes: columns that differ in sign, and half of those with a 0.

    Two classes with the same row have no distance at all, −1.

    >>> least_distance(one_vs_rest(4)), least_distance(one_vs_one(4))
    (2.0, 3.5)
    """
    floats = code.astype(np.float64)
    distance = (code.shape[1] - floats @ floats.T) / 2
    present = np.abs(floats)
    differing = present.sum(axis=1)[:, None] + present.sum(axis=1) - 2 * floats @ floats.T
    distance[(differing == 0)] = -1.0
    return float(distance[np.triu_indices(len(code), 1)].min())


def given_code(code: Any, n_classes: int) -> Code:
    """Check a matrix that the user gives: a row a class, both signs in every column, no two rows alike.

    >>> given_code([[1, 0], [-1, 1], [0, -1]], 3).dtype.name
    'int8'
    """
    try:
        matrix = np.asarray(code, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"The code must hold the numbers -1, 0 and 1 ({error}).") from None
    if matrix.ndim != 2 or matrix.shape[0] != n_classes or matrix.shape[1] == 0:
        raise InputError(
            f"The code has shape {matrix.shape}; it must have {n_classes} rows, one a class in the order of "
            "classes_, and a column a member."
        )
    if not np.isin(matrix, (-1, 0, 1)).all():
        raise InputError("The code holds other numbers than -1, 0 and 1.")
    lacking = ~((matrix == 1).any(axis=0) & (matrix == -1).any(axis=0))
    if lacking.any():
        raise InputError(
            "The code does not set any class against another: it needs a 1 and a -1",
            column=int(np.argmax(lacking)),
            fix="Write -1, not 0, for the other side: 0 leaves a class out.",
        )
    check_rows_differ(matrix)
    return matrix.astype(np.int8)


def check_rows_differ(code: NDArray[Any]) -> None:
    """Raise an error that names two classes which the code cannot tell apart."""
    rows: dict[bytes, int] = {}
    for k, row in enumerate(code):
        other = rows.setdefault(row.tobytes(), k)
        if other != k:
            raise InputError(
                f"The code has the same row for classes number {other} and {k}, so it cannot tell them apart",
                fix="Give it more columns (code_size).",
            )


MAKERS: dict[str, Callable[[int], Code]] = {
    "one-vs-one": one_vs_one,
    "one-vs-rest": one_vs_rest,
    "exhaustive": exhaustive,
}
