"""Sparse matrices of SciPy, whose index arrays are checked before compiled code follows them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, show_value

_FIX = "Build it again, for example by scipy.sparse.csr_array((data, (rows, columns)), shape=shape)."


def is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix or array; does not import SciPy, without which there are none.

    Parameters
    ----------
    X : object
        Any input.

    Returns
    -------
    bool
        Whether SciPy's ``issparse`` says so.

    Examples
    --------
    >>> is_sparse([[1.0]])
    False
    """
    if "scipy.sparse" not in sys.modules:
        return False
    from scipy.sparse import issparse

    return bool(issparse(X))


def checked_sparse(X: Any, name: str = "X") -> Any:
    """Return a sparse matrix whose index arrays are valid: SciPy trusts them, and would read other memory.

    Parameters
    ----------
    X : sparse matrix or array
        The matrix; it is not changed. Formats without index arrays are converted to one that has them.
    name : str, default="X"
        Name to use in messages.

    Returns
    -------
    sparse matrix or array
        The matrix in CSR, CSC, BSR or COO format.

    Raises
    ------
    InputError
        If the index arrays do not describe a matrix of the shape.

    Examples
    --------
    >>> matrix = sparse.csr_array(np.eye(2))
    >>> matrix.indices[1] = 7
    >>> checked_sparse(matrix)
    Traceback (most recent call last):
    ...
    spinney.core.errors.InputError: The sparse matrix X is not valid: `indices` holds 7, ...
    """
    try:
        return _checked(X)
    except _InvalidMatrixError as error:
        raise InputError(f"The sparse matrix {name} is not valid{error}", fix=_FIX) from None


def canonical(matrix: Any) -> Any:
    """Return a CSR or CSC matrix whose entries are stored once, in order, and are not 0.

    The matrix itself is not changed. Entries that are stored twice count as their sum.

    >>> matrix = sparse.csr_array((np.array([1.0, 2.0, 0.0]), np.array([1, 1, 0]), np.array([0, 3])), (1, 2))
    >>> canonical(matrix).data.tolist(), matrix.data.tolist()
    ([3.0], [1.0, 2.0, 0.0])
    """
    if matrix.has_canonical_format and matrix.data.all():
        return matrix
    matrix = matrix.copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


class _InvalidMatrixError(ValueError):
    """What is wrong with a matrix."""


def _checked(X: Any) -> Any:
    if X.format not in ("csr", "csc", "bsr", "coo"):
        if X.format == "dia":
            _require(X.data.ndim == 2 and X.offsets.shape == X.data.shape[:1], "`offsets` and `data` differ")
        try:
            if X.format == "lil":
                lengths = [[len(row) for row in part] for part in (X.rows, X.data)]
                _require(
                    lengths[0] == lengths[1] and len(lengths[0]) == X.shape[0], "`rows` and `data` differ"
                )
            X = X.tocoo() if X.format in ("dia", "dok") else X.tocsr()
        except _InvalidMatrixError:
            raise
        except (IndexError, OverflowError, TypeError, ValueError) as error:
            raise _InvalidMatrixError(f" ({error})") from None
    if X.format == "coo":
        for axis, index in enumerate(X.coords):
            _require(index.shape == X.data.shape, "`coords` and `data` differ in length")
            _check_indices(index, X.shape[axis], f"coords[{axis}]")
        return X
    if X.ndim == 2:
        _check_compressed(X)
    return X


def _check_compressed(X: Any) -> None:
    """Check row starts and column numbers of CSR, or their equivalents of CSC and BSR."""
    height, width = X.shape[::-1] if X.format == "csc" else X.shape
    if X.format == "bsr":
        rows, columns = X.blocksize
        _require(height % rows == 0 and width % columns == 0, "blocks do not tile it")
        height, width = height // rows, width // columns
    starts, indices = X.indptr, X.indices
    for name, part in (("indptr", starts), ("indices", indices), ("data", X.data)):
        _require(isinstance(part, np.ndarray), f"`{name}` is not an array")
    valid = starts.ndim == 1 and starts.dtype.kind in "iu" and len(starts) == height + 1
    _require(valid, f"`indptr` is not an array of {height + 1} integers")
    _require(starts[0] == 0 and (starts[1:] >= starts[:-1]).all(), "`indptr` does not rise from 0")
    stored = min(len(indices), len(X.data))
    _require(int(starts[-1]) <= stored, f"`indptr` ends at {starts[-1]}, and {stored} values are stored")
    _check_indices(indices[: int(starts[-1])], width, "indices")


def _check_indices(indices: NDArray[Any], n: int, name: str) -> None:
    _require(indices.ndim == 1 and indices.dtype.kind in "iu", f"`{name}` is not an array of integers")
    if len(indices):
        low, high = int(indices.min()), int(indices.max())
        outside = low if low < 0 else high
        _require(0 <= outside < n, f"`{name}` holds {show_value(outside)}, outside of 0 to {n - 1}")


def _require(valid: object, problem: str) -> None:
    if not valid:
        raise _InvalidMatrixError(f": {problem}")
