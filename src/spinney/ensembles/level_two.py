"""The table of a final estimator: predictions of the members, beside the columns of X."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney.core.errors import InputError, show_value
from spinney.data.readers import is_dicts
from spinney.ensembles.predictions import Array


def join_columns(predictions: Array, names: Sequence[str], X: Any) -> Any:
    """Return a table of the type of X with the predictions as its first columns.

    A data frame stays one, so that text, categories and missing values reach the final estimator.

    >>> join_columns(np.array([[0.5], [0.25]]), ["tree"], [["red"], ["blue"]]).tolist()
    [[0.5, 'red'], [0.25, 'blue']]
    """
    if is_dicts(X):
        return join_dicts(dict(zip(names, predictions.T, strict=True)), X)
    if sparse.issparse(X):
        parts: list[Any] = [sparse.csr_array(predictions), X]
        return sparse.hstack(parts, format="csr")
    if nw.dependencies.is_into_dataframe(X):
        return _join_frame(predictions, names, nw.from_native(_with_string_names(X), eager_only=True))
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.hstack([predictions, X])
    table = np.asarray(X)
    if table.dtype.kind in "US":
        # Numbers beside text stay numbers.
        table = np.array(X, dtype=object)
    return np.hstack([predictions.astype(table.dtype) if table.dtype.kind == "O" else predictions, table])


def join_dicts(columns: Mapping[str, NDArray[Any]], X: Any) -> Any:
    """Return columns or rows that are dicts with further columns before them.

    >>> join_dicts({"tree": np.array([0.5])}, [{"color": "red"}])
    [{'tree': 0.5, 'color': 'red'}]
    """
    if isinstance(X, Mapping):
        _check_names(columns, X)
        return {**columns, **X}
    values = [column.tolist() for column in columns.values()]
    for row in X:
        _check_names(columns, row)
    return [dict(zip(columns, new, strict=True)) | dict(row) for *new, row in zip(*values, X, strict=True)]


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


def _join_frame(predictions: Array, names: Sequence[str], frame: Any) -> Any:
    _check_names(names, frame.columns)
    backend = nw.get_native_namespace(frame)
    series = [nw.new_series(name, predictions[:, j], backend=backend) for j, name in enumerate(names)]
    return frame.with_columns(*series).select(*names, *frame.columns).to_native()
