"""A table of level two: what the members answer and, where asked for, the columns of X beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney.core.errors import InputError, show_value


def put_beside(answers: NDArray[np.float64], names: Sequence[str], X: Any) -> Any:
    """Give a table of the kind of X with the answers as its first columns; the others stay as they are.

    A data frame stays one, so that text, categories and missing values reach the next learner.

    >>> put_beside(np.array([[0.5], [0.25]]), ["tree"], [["red"], ["blue"]]).tolist()
    [[0.5, 'red'], [0.25, 'blue']]
    """
    if sparse.issparse(X):
        parts: list[Any] = [sparse.csr_array(answers), X]
        return sparse.hstack(parts, format="csr")
    if nw.dependencies.is_into_dataframe(X):
        return _beside_frame(answers, names, nw.from_native(_with_text_names(X), eager_only=True))
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.hstack([answers, X])
    table = np.asarray(X)
    if table.dtype.kind in "US":
        # Numbers beside text stay numbers.
        table = np.array(X, dtype=object)
    return np.hstack([answers.astype(table.dtype) if table.dtype.kind == "O" else answers, table])


def _with_text_names(X: Any) -> Any:
    """Name the columns of a pandas frame x0, x1, … where they are not named by text, as scikit-learn does."""
    keys = getattr(X, "columns", ())
    if not hasattr(X, "set_axis") or all(isinstance(key, str) for key in keys):
        return X
    return X.set_axis([f"x{j}" for j in range(len(keys))], axis=1)


def _beside_frame(answers: NDArray[np.float64], names: Sequence[str], frame: Any) -> Any:
    taken = next((name for name in names if name in frame.columns), None)
    if taken is not None:
        raise InputError(
            f"X has a column named {show_value(taken)}, as the answers of a member would be",
            fix="Rename the column, or the member.",
        )
    backend = nw.get_native_namespace(frame)
    series = [nw.new_series(name, answers[:, j], backend=backend) for j, name in enumerate(names)]
    return frame.with_columns(*series).select(*names, *frame.columns).to_native()
