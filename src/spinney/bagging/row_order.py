"""An order of rows by what they hold, so that draws depend neither on their places nor on copies."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney.data.schema import Schema, read_table
from spinney.data.table import Table

Keys = NDArray[np.uint64]


def row_order(X: Any, y: NDArray[Any]) -> NDArray[np.int64]:
    """Give the rows in an order of their own: that of a hash of their values and targets.  -> (n_rows,)

    X is a ``Table``, or any table that Spinney reads; y (n_rows,) or (n_rows, n_outputs). Rows that hold the
    same are neighbours. Shuffled rows, and rows written twice instead of weighted by 2, come in this order.

    >>> X, y = np.array([[3.0], [1.0], [2.0]]), np.array([0, 1, 0])
    >>> order, shuffled = row_order(X, y), row_order(X[::-1], y[::-1])
    >>> X[order].ravel().tolist() == X[::-1][shuffled].ravel().tolist()
    True
    """
    targets = y[:, None] if y.ndim == 1 else y
    keys = _salted(_of_values(targets[:, 0]), 0)
    for k in range(1, targets.shape[1]):
        keys += _salted(_of_values(targets[:, k]), k)
    for more in _of_table(X, targets.shape[1]):
        keys += more
    return np.argsort(keys, kind="stable")


def category_keys(schema: Schema) -> list[Keys]:
    """Give for each column a key of each category, by its value; none for numbers.

    A code would not do: it depends on which other categories there are.

    >>> [len(keys) for keys in category_keys(read_table([[1.0, "red"], [2.5, "blue"]]).schema)]
    [0, 2]
    """
    return [np.array([*map(_of_object, feature.categories)], dtype=np.uint64) for feature in schema.features]


def _of_table(X: Any, first_salt: int) -> Iterator[Keys]:
    """Give a key a row for each part of the table; their sum is the key of the row."""
    if sparse.issparse(X):
        yield _of_sparse(X, first_salt)
        return
    table = X if isinstance(X, Table) else read_table(X)
    for j, by_code in enumerate(category_keys(table.schema)):
        column = table.column(j)
        if table.schema.features[j].kind == "categorical":
            missing = np.uint64(1)  # the code −1 takes the last
            yield _salted(np.append(by_code, missing)[column], first_salt + j)
        else:
            yield _salted(_of_numbers(column), first_salt + j)


def _of_sparse(X: Any, first_salt: int) -> Keys:
    """Add up the keys of the entries that are stored: a zero has the key 0, stored or not."""
    entries = X.tocsr().tocoo()
    keys = np.zeros(X.shape[0], dtype=np.uint64)
    np.add.at(keys, entries.row, _salted(_of_numbers(entries.data), entries.col + first_salt))
    return keys


def _of_values(column: NDArray[Any]) -> Keys:
    if column.dtype.kind in "biuf":
        return _of_numbers(column)
    values = column.tolist()
    key_of = {value: _of_object(value) for value in dict.fromkeys(values)}
    return np.array([key_of[value] for value in values], dtype=np.uint64)


def _of_numbers(column: NDArray[Any]) -> Keys:
    """Give the bits of each number; equal ones have equal bits, also −0 and 0, and all that is missing."""
    numbers = column.astype(np.float64) + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers.view(np.uint64)


def _of_object(value: object) -> int:
    # Python's own hash of a text differs from run to run.
    return int.from_bytes(hashlib.blake2b(repr(value).encode(), digest_size=8).digest(), "little")


def _salted(keys: Keys, column: int | NDArray[Any]) -> Keys:
    """Hash keys together with the number of their column; the key 0 stays 0."""
    salt = _mixed(np.atleast_1d(np.asarray(column)).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))
    return _mixed(keys * (salt | np.uint64(1)))


def _mixed(keys: Keys) -> Keys:
    """Let every bit of a key depend on every other (the last steps of SplitMix64)."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
