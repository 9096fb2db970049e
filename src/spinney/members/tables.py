"""Tables of any kind as ensembles pass them to members: rows, columns, feature names and class codes."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from spinney.core.errors import InputError, InputTypeError
from spinney.data.arrow import as_table, with_plain_types
from spinney.data.columns import RESHAPE, column_label, open_source
from spinney.data.readers import is_dicts
from spinney.data.schema import refuse_coded
from spinney.data.sparse import checked_sparse
from spinney.data.target import by_output
from spinney.io import CorruptModelFile, require

# ---- rows and columns ----


def count_rows(X: Any) -> int:
    """Return the number of rows of a table, or of entries of a list or series.

    >>> count_rows([[1, 2], [3, 4], [5, 6]])
    3
    """
    # One scipy.sparse format (dok) is a dict.
    if is_dicts(X):
        return open_source(X).shape[0]
    if isinstance(X, str | bytes | Mapping | Set) and not _is_sparse(X):
        raise InputTypeError(f"Expected 2D array, or another table, got {type(X).__name__} instead.")
    try:
        return int(_num_samples(X))
    except TypeError as error:
        raise InputTypeError(
            f"Expected 2D array, or another table, got {type(X).__name__} instead ({error})."
        ) from None


def count_training_rows(X: Any) -> int:
    """Return the number of rows of a table to learn from; raise InputError if it has none.

    >>> count_training_rows([[1.0], [2.0]])
    2
    """
    refuse_coded(X)
    n_rows = count_rows(X)
    if n_rows == 0:
        raise InputError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return n_rows


def take_rows(X: Any, rows: ArrayLike) -> Any:
    """Return rows, by position or mask, as a table of the same kind.

    >>> take_rows(np.array([[1, 2], [3, 4], [5, 6]]), [2, 0]).tolist()
    [[5, 6], [1, 2]]
    """
    positions = _positions(rows)
    if _is_sparse(X):
        return _like(X.tocsr()[positions], X)  # not every sparse format supports indexing
    if isinstance(X, Mapping):
        return {name: take_rows(values, positions) for name, values in X.items()}
    return _safe_indexing(_indexable(with_plain_types(X)), positions)


def take_columns(X: Any, columns: ArrayLike) -> Any:
    """Return columns, by position or mask, as a table of the same kind.

    >>> take_columns([[1, 2, 3], [4, 5, 6]], [0, 2])
    [[1, 3], [4, 6]]
    """
    positions = _positions(columns)
    if is_dicts(X):
        source = open_source(X)
        names = [column_label(source.names, int(j)) for j in positions]
        if isinstance(X, Mapping):
            return {name: X[name] for name in names}
        return [{name: row.get(name) for name in names} for row in X]
    if isinstance(X, list | tuple):
        return [[row[j] for j in positions] for row in X]
    if _is_sparse(X):
        return _like(X.tocsc()[:, positions], X)
    return _safe_indexing(_indexable(X), positions, axis=1)


def _is_sparse(X: Any) -> bool:
    return bool(sparse.issparse(X))


def _like(part: Any, X: Any) -> Any:
    """Return a part of a sparse matrix in the format of the whole, if that is compressed."""
    return part.asformat(X.format) if X.format in ("csr", "csc") else part


def _check_shape(X: Any) -> None:
    """Raise InputError for an empty list, and for a sparse matrix with invalid index arrays."""
    if isinstance(X, list | tuple) and not X:
        raise InputError(f"Expected 2D array, got 1D array instead: {X}", fix=RESHAPE)
    if _is_sparse(X):
        checked_sparse(X)


def _indexable(X: Any) -> Any:
    return X if hasattr(X, "__getitem__") else np.asarray(X)


def _positions(chosen: ArrayLike) -> NDArray[np.intp]:
    indices = np.asarray(chosen)
    return np.flatnonzero(indices) if indices.dtype.kind == "b" else indices.astype(np.intp)


# ---- features ----


def describe_input(X: Any) -> dict[str, Any]:
    """Return ``n_features_in_`` and, if the columns have names, ``feature_names_in_`` as a dict.

    A list of texts has neither.

    >>> describe_input([[1, 2, 3]])
    {'n_features_in_': 3}
    """
    _check_shape(X)
    if is_dicts(X):
        source = open_source(X)
        names = {} if source.names is None else {"feature_names_in_": np.array(source.names, dtype=object)}
        return {"n_features_in_": source.shape[1], **names}
    described = BaseEstimator()
    validate_data(described, as_table(X), skip_check_array=True, reset=True)
    return dict(vars(described))


def check_input(estimator: Any, X: Any) -> None:
    """Raise an error if the estimator is not fitted, or was fitted to other features than those of X."""
    check_is_fitted(estimator)
    _check_shape(X)
    if is_dicts(X):
        return  # the members look the features up by name
    if isinstance(X, Mapping):
        count_rows(X)  # raises the error for an empty dict
    try:
        validate_data(estimator, as_table(X), skip_check_array=True, reset=False)
    except ValueError as error:
        if "does not contain any features" in str(error):
            raise InputError(str(error), fix="Reshape your data to one row per sample.") from None
        raise


def check_described(estimator: Any) -> None:
    """Raise CorruptModelFile if the number and names of features, read from a file, are not valid."""
    width, names = (vars(estimator).get(name) for name in ("n_features_in_", "feature_names_in_"))
    valid = width is None or (type(width) is int and width >= 0)
    if names is not None:
        valid = valid and isinstance(names, np.ndarray) and names.shape == (width,)
        valid = valid and all(type(name) is str for name in names.tolist())
    if not valid:
        raise CorruptModelFile(f"The features of a {type(estimator).__name__} are not valid.")


# ---- classes ----


def is_array(value: Any, dtype: type, *shape: int) -> bool:
    """Return True if an unchecked value is an array of exactly this type and shape."""
    return isinstance(value, np.ndarray) and value.dtype == dtype and value.shape == shape


def check_labels(labels: Any) -> int:
    """Return the number of unchecked class labels of one output; they must be in ascending order."""
    valid = isinstance(labels, np.ndarray) and labels.ndim == 1 and len(labels) >= 1
    require(valid and (labels[:-1] < labels[1:]).all(), "the classes are not an ascending list of labels")
    return len(labels)


def check_classes(classes: Any) -> list[Any]:
    """Return the unchecked ``classes_`` of every output; they must be in ascending order."""
    outputs = by_output(classes)
    require(outputs, "a classifier has no classes")
    for labels in outputs:
        check_labels(labels)
    return outputs
