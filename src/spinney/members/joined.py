"""Predictions as further columns of a table of any kind, for final estimators and chains."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney.core.errors import InputError, show_value
from spinney.data.readers import is_dicts

Array: TypeAlias = NDArray[Any]


def join_columns(predictions: Array, names: Sequence[str], X: Any, *, last: bool = False) -> Any:
    """Return a table of the type of X with the predictions as its first, or last, columns.

    A data frame stays one, so that text, categories and missing values reach who learns from it.

    >>> join_columns(np.array([[0.5], [0.25]]), ["tree"], [["red"], ["blue"]]).tolist()
    [[0.5, 'red'], [0.25, 'blue']]
    """
    if is_dicts(X):
        return join_dicts(dict(zip(names, predictions.T, strict=True)), X, last=last)
    if sparse.issparse(X):
        parts: list[Any] = _ordered(sparse.csr_array(predictions), X, last)
        return sparse.hstack(parts, format="csr")
    if nw.dependencies.is_into_dataframe(X):
        return _join_frame(predictions, names, nw.from_native(_with_string_names(X), eager_only=True), last)
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.hstack(_ordered(predictions, X, last))
    table = np.asarray(X)
    if table.dtype.kind in "US":
        # Numbers beside text stay numbers.
        table = np.array(X, dtype=object)
    values = predictions.astype(table.dtype) if table.dtype.kind == "O" else predictions
    return np.hstack(_ordered(values, table, last))


def _ordered(new: Any, own: Any, last: bool) -> list[Any]:
    return [own, new] if last else [new, own]


def join_dicts(columns: Mapping[str, Array], X: Any, *, last: bool = False) -> Any:
    """Return columns or rows that are dicts with further columns before, or after, them.

    >>> join_dicts({"tree": np.array([0.5])}, [{"color": "red"}])
    [{'tree': 0.5, 'color': 'red'}]
    """
    if isinstance(X, Mapping):
        _check_names(columns, X)
        return {**X, **columns} if last else {**columns, **X}
    values = [column.tolist() for column in columns.values()]
    for row in X:
        _check_names(columns, row)
    rows = []
    for *new, row in zip(*values, X, strict=True):
        first, second = _ordered(dict(zip(columns, new, strict=True)), dict(row), last)
        rows.append(first | second)
    return rows


def _check_names(names: Iterable[str], taken: Container[str]) -> None:
    """Raise InputError if a column of X has the name of a prediction."""
    found = next((name for name in names if name in taken), None)
    if found is not None:
        raise InputError(
            f"X has a column named {show_value(found)}, as the predictions of a member are",
            fix="Rename the column, or the member.",
        )


def _with_string_names(X: Any) -> Any:
    """Rename the columns of a pandas frame x0, x1, … unless their names are strings, as scikit-learn does."""
    keys = getattr(X, "columns", ())
    if not hasattr(X, "set_axis") or all(isinstance(key, str) for key in keys):
        return X
    return X.set_axis([f"x{j}" for j in range(len(keys))], axis=1)


def _join_frame(predictions: Array, names: Sequence[str], frame: Any, last: bool) -> Any:
    _check_names(names, frame.columns)
    backend = nw.get_native_namespace(frame)
    series = [nw.new_series(name, predictions[:, j], backend=backend) for j, name in enumerate(names)]
    order = [name for group in _ordered(names, frame.columns, last) for name in group]
    return frame.with_columns(*series).select(*order).to_native()
