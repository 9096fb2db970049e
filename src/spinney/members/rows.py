"""Rows and columns of a table of any kind; what is taken is of the same kind, every value untouched."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from spinney.core.errors import InputError, InputTypeError


def count_rows(X: Any) -> int:
    """Count the rows of a table, or the entries of a list or series.

    >>> count_rows([[1, 2], [3, 4], [5, 6]])
    3
    """
    # One kind of sparse matrix is a dict.
    if isinstance(X, str | bytes | Mapping | Set) and not _is_sparse(X):
        raise InputTypeError(f"Expected 2D array, or another table, got {type(X).__name__} instead.")
    try:
        return int(_num_samples(X))
    except TypeError as error:
        raise InputTypeError(
            f"Expected 2D array, or another table, got {type(X).__name__} instead ({error})."
        ) from None


def count_some_rows(X: Any) -> int:
    """Count the rows of a table that is to be learned from; an error if there are none.

    >>> count_some_rows([[1.0], [2.0]])
    2
    """
    n_rows = count_rows(X)
    if n_rows == 0:
        raise InputError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return n_rows


def take_rows(X: Any, rows: ArrayLike) -> Any:
    """Take rows by their positions, or by a mask: a frame stays a frame, a sparse matrix sparse.

    >>> take_rows(np.array([[1, 2], [3, 4], [5, 6]]), [2, 0]).tolist()
    [[5, 6], [1, 2]]
    """
    positions = _positions(rows)
    if _is_sparse(X):
        return X.tocsr()[positions]  # not every sparse format can be indexed
    return _safe_indexing(_indexable(X), positions)


def take_columns(X: Any, columns: ArrayLike) -> Any:
    """Take columns by their positions, or by a mask.

    >>> take_columns([[1, 2, 3], [4, 5, 6]], [0, 2])
    [[1, 3], [4, 6]]
    """
    positions = _positions(columns)
    if isinstance(X, list | tuple):
        return [[row[j] for j in positions] for row in X]
    if _is_sparse(X):
        return X.tocsc()[:, positions]
    return _safe_indexing(_indexable(X), positions, axis=1)


def _is_sparse(X: Any) -> bool:
    return bool(sparse.issparse(X))


def _indexable(X: Any) -> Any:
    """Give X itself, or an array of it where it can only be turned into one."""
    return X if hasattr(X, "__getitem__") else np.asarray(X)


def _positions(chosen: ArrayLike) -> Any:
    places = np.asarray(chosen)
    return np.flatnonzero(places) if places.dtype.kind == "b" else places.astype(np.intp)
