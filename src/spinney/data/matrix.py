"""Numeric matrices: the input of linear models, naive Bayes and support vector machines."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.data.arrow import with_plain_types
from spinney.data.coding import ColumnCoding
from spinney.data.columns import column_label, open_source
from spinney.data.readers import is_dicts
from spinney.data.schema import Table, check_same_names
from spinney.data.sparse import canonical, checked_sparse

Matrix: TypeAlias = Floats | sparse.csr_matrix
"""Rows × features: a C-contiguous float64 array, or a CSR matrix of float64."""

_LARGEST = 1e150
"""Sums of the products of two such values are finite."""
_CATEGORY_FIX = (
    "ncode it: make_pipeline(make_column_transformer((OneHotEncoder(handle_unknown='ignore'), [{0}]), "
    "remainder='passthrough'), {1}())."
)
_MISSING_FIX = "ill it in: make_pipeline(SimpleImputer(), {1}())."


def read_matrix(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    allow_sparse: bool,
    allow_nan: bool = False,
    has_options: bool = False,
) -> Matrix:
    """Read any table of numbers as a matrix.

    Parameters
    ----------
    estimator : estimator
        Named in messages. If `reset`, it gets ``n_features_in_`` and ``feature_names_in_``, otherwise X is
        compared with them.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        The input.
    reset : bool
        Whether this is a fit.
    allow_sparse : bool
        Whether a sparse matrix is valid.
    allow_nan : bool, default=False
        Whether missing values are valid; they are NaN.
    has_options : bool, default=False
        Whether the estimator has the parameters ``categorical`` and ``missing``, for messages.

    Returns
    -------
    ndarray or csr_matrix of shape (n_rows, n_features)
        The values in float64.

    Raises
    ------
    InputError
        If a column holds categories, or missing values that are not allowed; the message says which column
        and how to fix it.

    Examples
    --------
    >>> read_matrix(BaseEstimator(), [[1, 2], [3, 4]], reset=True, allow_sparse=False).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    if allow_sparse and sparse.issparse(X):
        X = checked_sparse(X)
    try:
        checked, values, names = _without_names(estimator, X, reset)
        matrix: Any = validate_data(
            checked,
            values,
            reset=reset,
            accept_sparse="csr" if allow_sparse else False,
            dtype=np.float64,
            order="C",
            ensure_all_finite="allow-nan" if allow_nan else True,
            ensure_min_samples=1 if reset else 0,
        )
    except (TypeError, ValueError) as error:
        _explain(type(estimator).__name__, X, error, allow_nan, has_options)
        raise
    if reset and names is not None:
        estimator.n_features_in_, estimator.feature_names_in_ = len(names), np.array(names, dtype=object)
    if sparse.issparse(matrix):
        matrix = matrix if isinstance(matrix, sparse.csr_matrix) else cast("Any", sparse.csr_matrix)(matrix)
        return cast("Matrix", canonical(matrix))
    return np.asarray(matrix)


def _without_names(estimator: Any, X: Any, reset: bool) -> tuple[Any, Any, tuple[str, ...] | None]:
    """Return an estimator and a table for ``validate_data``, which reads no dicts, and the names of dicts.

    Columns or rows that are dicts become an array in the order of the fit, for an estimator without names.
    """
    if not is_dicts(X):
        return estimator, with_plain_types(X), None
    source = open_source(X)
    fitted = None if reset else getattr(estimator, "feature_names_in_", None)
    if fitted is not None:
        source = source.in_order(fitted.tolist())
        check_same_names(source.names or (), fitted.tolist())
    columns = [source.column(j) for j in range(source.shape[1])]
    if any(column.categorical and not _is_boolean(column) for column in columns):
        raise ValueError("could not convert string to float")
    values = np.empty(source.shape)
    for j, column in enumerate(columns):
        values[:, j] = column.numbers()
    nameless = type(type(estimator).__name__, (BaseEstimator,), {})()
    if not reset:
        nameless.n_features_in_ = estimator.n_features_in_
    return nameless, values, source.names


def read_training_matrix(
    name: str, X: Any, *, allow_sparse: bool, allow_nan: bool = False, has_options: bool = False
) -> tuple[Matrix, dict[str, Any]]:
    """Read the matrix of a fit, and return it with ``n_features_in_`` and ``feature_names_in_`` as a dict.

    >>> read_training_matrix("SVC", [[1, 2]], allow_sparse=True)[1]
    {'n_features_in_': 2}
    """
    described = type(name, (BaseEstimator,), {})()  # the estimator itself changes only when its fit succeeds
    allowed = {"allow_sparse": allow_sparse, "allow_nan": allow_nan, "has_options": has_options}
    matrix = read_matrix(described, X, reset=True, **allowed)
    return matrix, dict(vars(described))


def check_squares(name: str, matrix: Matrix, names: Any = None) -> None:
    """Raise InputError, which names the column, for values whose products overflow.

    >>> check_squares("SVC", np.array([[1.0, 1e300]]))
    Traceback (most recent call last):
    ...
    spinney.core.errors.InputError: The values of X are too large for SVC: their products ...
    """
    values: Any = matrix.data if sparse.issparse(matrix) else matrix
    if not values.size or not (np.nanmax(values) > _LARGEST or np.nanmin(values) < -_LARGEST):
        return
    rows, columns = cast("Any", abs(cast("Any", matrix)) > _LARGEST).nonzero()
    raise InputError(
        f"The values of X are too large for {name}: their products overflow",
        column=column_label(names, int(columns[0])),
        row=int(rows[0]),
        fix="Divide the columns by a large number, for example make_pipeline(StandardScaler(), ...).",
    )


def coded_matrix(coding: ColumnCoding, table: Table, name: str, allow_sparse: bool) -> Matrix:
    """Return the coded columns of a table as a matrix.

    >>> from spinney.data.coding import learn_coding
    >>> from spinney.data.schema import read_table
    >>> table = read_table([["red"], ["blue"]])
    >>> coding = learn_coding(table, None, "one-hot", None, "SVC")
    >>> coded_matrix(coding, table, "SVC", allow_sparse=True).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    values: Any = coding.apply(table, name)
    if isinstance(values, np.ndarray):
        return np.ascontiguousarray(values, np.float64)
    return cast("Any", sparse.csr_matrix)(values) if allow_sparse else np.asarray(values.toarray())


def _explain(name: str, X: Any, error: Exception, allow_nan: bool, has_options: bool) -> None:
    """Raise an InputError that names the column which is not numeric or has missing values, if one is."""
    if X is None or sparse.issparse(X) or not _is_about_values(error):
        return
    try:
        source = open_source(X)
        labels = [column_label(source.names, j) for j in range(source.shape[1])]
        columns = [source.column(j) for j in range(source.shape[1])]
        texts = [column.categorical and not _is_boolean(column) for column in columns]
    except InputError as found:  # dates, for example
        raise found from error
    except TypeError:
        return
    for label, column, text in zip(labels, columns, texts, strict=True):
        if text:
            raise InputError(
                f"{name} takes numbers, and found categories or text ({error})",
                column=label,
                fix=('Set categorical="one-hot", or e' if has_options else "E")
                + _CATEGORY_FIX.format(repr(label), name),
            ) from error
        missing = np.isnan(column.numbers())
        if missing.any() and not allow_nan:
            raise InputError(
                f"Input X contains NaN: {name} does not accept missing values, and found one",
                column=label,
                row=int(np.argmax(missing)),
                fix=('Set missing="mean", or f' if has_options else "F")
                + _MISSING_FIX.format(repr(label), name),
            ) from error


def _is_about_values(error: Exception) -> bool:
    text = str(error)
    parts = "NaN", "could not convert", "string", "categor", "NAType", "infinity", "Cannot cast", "float()"
    return any(part in text for part in parts)


def _is_boolean(column: Any) -> bool:
    levels, _ = column.levels()
    return all(isinstance(level, bool | np.bool_) for level in levels)
