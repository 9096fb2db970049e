"""Input as scikit-learn's histogram gradient boosting reads it: infinite values, negative categories."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse

from spinney.data.columns import has_infinity
from spinney.data.schema import Column, Schema, Table
from spinney.data.sparse import checked_sparse

_LARGEST = float(np.finfo(np.float64).max)


def with_finite_numbers(X: Any) -> Any:
    """Return X with the largest float64 in the place of infinity, on whose side of any split it is.

    Without infinite values, X is returned as it is.

    >>> with_finite_numbers(np.array([[-np.inf, np.nan, 1.0]])).tolist()
    [[-1.7976931348623157e+308, nan, 1.0]]
    """
    if isinstance(X, np.ndarray):
        infinite = X.dtype.kind == "f" and has_infinity(X)
        return X.astype(np.float64).clip(-_LARGEST, _LARGEST) if infinite else X
    if sparse.issparse(X):
        rows = checked_sparse(X).tocsr()
        if rows.dtype.kind == "f" and has_infinity(rows.data):
            values = rows.data.astype(np.float64).clip(-_LARGEST, _LARGEST)
            return type(rows)((values, rows.indices, rows.indptr), shape=rows.shape)
    elif nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        floats = [one for one in frame.iter_columns() if one.dtype.is_float()]
        infinite = [one for one in floats if has_infinity(np.asarray(one.to_numpy(), np.float64))]
        clipped = [one.cast(nw.Float64).clip(-_LARGEST, _LARGEST) for one in infinite]
        return frame.with_columns(*clipped).to_native() if clipped else X
    elif isinstance(X, list | tuple) and X and not isinstance(X[0], dict):
        # Lists that hold other things than numbers are left to the reader, which knows how to explain them.
        numbers = all(isinstance(row, list | tuple) and all(map(_is_number, row)) for row in X)
        array = np.asarray(X) if numbers and len({len(row) for row in X}) == 1 else None
        return X if array is None or array.dtype.kind != "f" else with_finite_numbers(array)
    return X


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)


def without_negative_categories(table: Table, columns: Iterable[int]) -> Table:
    """Return the table with the negative categories of some columns, which are numbers, as missing.

    >>> from spinney.data import read_table
    >>> table = read_table(np.array([[-1.0], [3.0], [5.0]]), [0])
    >>> table = without_negative_categories(table, [0])
    >>> table.schema.features[0].categories, table.column(0).tolist()
    ((3, 5), [-1, 0, 1])
    """
    features = list(table.schema.features)
    # Categories are in ascending order: the negative ones come first.
    n_negative = dict.fromkeys(range(len(features)), 0)
    for j in columns:
        categories = features[j].categories
        n_negative[j] = sum(not isinstance(one, str | bytes) and one < 0 for one in categories)
        features[j] = replace(features[j], categories=categories[n_negative[j] :])
    if not any(n_negative.values()):
        return table

    def column(j: int) -> Column:
        codes = table.column(j)
        return np.maximum(codes - np.int32(n_negative[j]), np.int32(-1)) if n_negative[j] else codes

    return table.replace(Schema(tuple(features), table.schema.has_names), column, n_negative)
