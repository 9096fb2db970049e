"""Readers of other inputs than arrays: masked arrays, sparse matrices, dicts and data frames, as a `Source`.

SciPy and narwhals are imported for sparse matrices and data frames only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from spinney.core.errors import InputError, show_value
from spinney.data.columns import (
    RESHAPE,
    NumberColumn,
    ObjectColumn,
    RawColumn,
    Source,
    array_from_nested,
    check_kind,
    column_label,
    float_dtype,
    has_infinity,
    open_array,
    raise_infinity,
    string_names,
    to_native_floats,
)
from spinney.data.sparse import canonical, checked_sparse, is_sparse


def is_dicts(X: Any) -> bool:
    """Return whether X is a dict of columns, a dict that is one row, or rows that are dicts.

    >>> is_dicts([{"a": 1.0}]), is_dicts({"a": [1.0]}), is_dicts([[1.0]])
    (True, True, False)
    """
    if isinstance(X, list | tuple):
        return bool(X) and isinstance(X[0], Mapping)
    return isinstance(X, Mapping) and not is_sparse(X) and len(X) > 0


def open_other(X: Any, known: bool) -> Source:
    """Open any input but a plain array; see `spinney.data.columns.open_source`."""
    if isinstance(X, np.ma.MaskedArray):
        return open_array(np.asarray(X.data), np.ma.getmaskarray(X))
    if is_sparse(X):
        return _open_sparse(X)
    if isinstance(X, Mapping):
        return _open_columns(X) if _has_columns(X) else _open_records([X])
    if isinstance(X, list | tuple) and X and all(isinstance(row, Mapping) for row in X):
        return _open_records(X)
    if not isinstance(X, list | tuple):
        source = _open_foreign(X, known)
        if source is not None:
            return source
    return open_array(array_from_nested(X))


def _open_foreign(X: Any, known: bool) -> Source | None:
    """Open a data frame or refuse a series, a dataset or what is not computed yet; None for anything else."""
    from spinney.data.frames import as_frame, is_series, open_frame
    from spinney.data.schema import refuse_coded  # of a module that imports this one

    frame = as_frame(X)
    if frame is not None:
        return open_frame(frame, known)
    refuse_coded(X)
    if is_series(X) and array_from_nested(X).ndim == 1:
        raise InputError(
            f"Expected 2D array, got 1D array instead: X is a {type(X).__name__}",
            fix="Reshape your data, or pass a data frame with a single row or a single column.",
        )
    return None


# --- scipy sparse ------------------------------------------------------------------------------------------


# Up to so many cells, 64 MiB, a sparse matrix is read as a dense one: that is faster than column by column.
_MAX_DENSE_CELLS = 1 << 23


def _open_sparse(X: Any) -> Source:
    if X.ndim != 2:
        raise InputError(f"Expected 2D array, got {X.ndim}D array instead: a sparse array", fix=RESHAPE)
    X = checked_sparse(X)
    check_kind(X.dtype)
    if X.dtype.kind not in "fiub":
        raise InputError(f"A sparse matrix must hold numbers, not {X.dtype}")
    if X.shape[0] * X.shape[1] <= _MAX_DENSE_CELLS:
        return open_array(canonical(X.tocsr()).toarray())
    csc = canonical(X.tocsc())
    data = to_native_floats(csc.data) if csc.dtype.kind == "f" else csc.data
    if data.dtype.kind == "f" and has_infinity(data):
        position = int(np.argmax(np.isinf(data)))
        raise_infinity(int(np.searchsorted(csc.indptr, position, "right")) - 1, int(csc.indices[position]))

    def column(j: int) -> RawColumn:
        filled = slice(csc.indptr[j], csc.indptr[j + 1])
        dense = np.zeros(csc.shape[0], data.dtype)
        dense[csc.indices[filled]] = data[filled]
        return NumberColumn(dense, j)

    number_dtype = None if data.dtype.kind == "b" else float_dtype(data.dtype)
    return Source((csc.shape[0], csc.shape[1]), None, column, number_dtype=number_dtype, lazy=True)


# --- dicts ------------------------------------------------------------------------------------------------


def _has_columns(X: Mapping[Any, Any]) -> bool:
    """Return whether a dict holds columns, False if it is one row; raise InputError if it is neither."""
    scalar = [isinstance(value, str | bytes) or np.ndim(value) == 0 for value in X.values()]
    if any(scalar) and not all(scalar):
        names = list(X)
        raise InputError(
            f"X is a dict in which {show_value(names[scalar.index(True)])} is one value and "
            f"{show_value(names[scalar.index(False)])} is a column",
            fix="Pass a value of each feature, for one row, or a column of each.",
        )
    return not all(scalar)


def _open_columns(X: Mapping[Any, Any]) -> Source:
    """Open a dict of columns of equal length."""
    names = string_names(list(X))
    columns = [_listed_column(values, column_label(names, j)) for j, values in enumerate(X.values())]
    lengths = [len(values) for values in X.values()]
    if len(set(lengths)) > 1:
        j = next(j for j, n in enumerate(lengths) if n != lengths[0])
        raise InputError(
            f"The columns of X differ in length: {lengths[j]} values where the first has {lengths[0]}",
            column=column_label(names, j),
        )
    return Source((lengths[0], len(columns)), names, columns.__getitem__, unordered=True)


def _listed_column(values: Any, column: str | int) -> RawColumn:
    """Open the values of one column, a list, an array or a series."""
    if isinstance(values, list | tuple):
        objects = np.empty(len(values), dtype=object)
        objects[:] = values
        return ObjectColumn(objects, column)
    if not isinstance(values, np.ndarray):
        from spinney.data.frames import is_series, open_series

        if is_series(values):
            return open_series(values, column)
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"A column of X has {array.ndim} axes, and should have one", column=column)
    check_kind(array.dtype, column)
    return (NumberColumn if array.dtype.kind in "fiub" else ObjectColumn)(array, column)


def _open_records(rows: Sequence[Mapping[Any, Any]]) -> Source:
    """Open rows that are dicts; a feature which a row does not have is missing there."""
    keys = list(dict.fromkeys(chain.from_iterable(rows)))
    names = string_names(keys)

    def column(j: int) -> RawColumn:
        return _listed_column([row.get(keys[j]) for row in rows], column_label(names, j))

    return Source((len(rows), len(keys)), names, column, unordered=True)
