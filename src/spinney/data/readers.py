"""One reader for each kind of input; each gives a Source, which is the input seen as raw columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NoReturn

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney.core.errors import InputError, InputTypeError, show_value
from spinney.data.columns import (
    Category,
    Floats,
    LevelColumn,
    NumberColumn,
    ObjectColumn,
    RawColumn,
    float_dtype,
    has_infinity,
    raise_infinity,
    raise_temporal,
    to_native_floats,
)
from spinney.data.small_frames import SmallFrame, as_small_frame

_RESHAPE = (
    "Reshape your data with X.reshape(-1, 1) if it has a single feature, "
    "or X.reshape(1, -1) if it is a single sample."
)


@dataclass(frozen=True, slots=True)
class Source:
    """See an input as columns.

    ``number_dtype`` is the type of every column when all are plain numbers, known without looking at each;
    ``block`` then gives the whole input as one checked array, where it can be had without filling in zeros.
    ``lazy`` asks to make a column anew at each use rather than to keep it.
    """

    shape: tuple[int, int]
    names: tuple[str, ...] | None
    column: Callable[[int], RawColumn]
    number_dtype: np.dtype[Any] | None = None
    block: Callable[[], Floats] | None = None
    lazy: bool = False


def open_source(X: Any, *, known: bool = False) -> Source:
    """See any supported input as columns; if their kinds are known already, only the values matter.

    >>> open_source(np.eye(3)).shape
    (3, 3)
    """
    if isinstance(X, np.ma.MaskedArray):
        return _open_masked(X)
    if isinstance(X, np.ndarray):
        return _open_array(np.asarray(X))
    if sparse.issparse(X):
        return _open_sparse(X)
    frame = _as_frame(X)
    if frame is not None:
        return _open_frame(frame, known)
    return _open_array(_array_from_nested(X))


def column_label(names: Sequence[str] | None, j: int) -> str | int:
    """Return what error messages call column ``j``: its name, or its position."""
    return j if names is None else names[j]


# --- numpy arrays and nested lists -------------------------------------------------------------------------


def _open_array(X: NDArray[Any]) -> Source:
    shape = _check_shape(X)
    _check_kind(X.dtype)
    if X.dtype.kind in "fiu":
        return Source(
            shape,
            None,
            lambda j: NumberColumn(X[:, j], j),
            number_dtype=float_dtype(X.dtype),
            block=lambda: _checked_block(to_native_floats(X)),
        )
    if X.dtype.kind == "b":
        return Source(shape, None, lambda j: NumberColumn(X[:, j], j))
    return Source(shape, None, lambda j: ObjectColumn(X[:, j], j))


def _open_masked(X: np.ma.MaskedArray[Any, Any]) -> Source:
    values = np.asarray(X.data)
    shape = _check_shape(values)
    _check_kind(values.dtype)
    if values.dtype.kind not in "fiub":
        objects = values.astype(object)
        objects[np.ma.getmaskarray(X)] = None
        return Source(shape, None, lambda j: ObjectColumn(objects[:, j], j))
    mask = np.ma.getmaskarray(X)
    numeric = values.dtype.kind != "b"
    return Source(
        shape,
        None,
        lambda j: NumberColumn(values[:, j], j, mask[:, j]),
        number_dtype=float_dtype(values.dtype) if numeric else None,
        block=(lambda: _checked_block(to_native_floats(values, mask))) if numeric else None,
    )


def _checked_block(block: Floats, names: tuple[str, ...] | None = None) -> Floats:
    if has_infinity(block):
        row, j = np.argwhere(np.isinf(block))[0]
        raise_infinity(column_label(names, int(j)), int(row))
    return block


def _array_from_nested(X: Any) -> NDArray[Any]:
    """Make an array of lists or of an array-like, keeping text and numbers apart where they are mixed."""
    nested = isinstance(X, list | tuple)
    if nested and X and all(isinstance(row, list | tuple) for row in X):
        return _objects_from_rows(X)
    try:
        array = np.asarray(X)
        if nested and array.dtype.kind in "US":
            array = np.array(X, dtype=object)
    except ValueError as error:
        raise InputError(
            f"X is not a table of rows and columns ({error})", fix="Give every row the same length."
        ) from None
    return _check_not_series(X, array)


def _objects_from_rows(X: Sequence[Sequence[Any]]) -> NDArray[Any]:
    """Make an array of Python objects, because numpy would turn every number beside a text into text."""
    width = len(X[0])
    for i, row in enumerate(X):
        if len(row) != width:
            raise InputError(
                f"Row {i} of X has {len(row)} values where row 0 has {width}",
                fix="Give every row the same length.",
            )
    if width and isinstance(X[0][0], list | tuple):
        raise InputError("Found array with dim 3, while dim <= 2 is required", fix=_RESHAPE)
    return np.fromiter(chain.from_iterable(X), object, len(X) * width).reshape(len(X), width)


def _check_not_series(X: Any, array: NDArray[Any]) -> NDArray[Any]:
    if array.ndim == 1 and nw.dependencies.is_into_series(X):
        raise InputError(
            f"Expected 2D array, got 1D array instead: X is a {type(X).__name__}",
            fix="Reshape your data, or pass a data frame with a single row or a single column.",
        )
    return array


def _check_shape(X: NDArray[Any]) -> tuple[int, int]:
    if X.dtype.names is not None:
        raise InputError(
            f"X is a structured array with the fields {', '.join(map(show_value, X.dtype.names))}",
            fix="Pass a data frame, or a plain array from numpy.lib.recfunctions.structured_to_unstructured.",
        )
    if X.ndim == 2:
        return X.shape[0], X.shape[1]
    if X.ndim > 2:
        raise InputError(f"Found array with dim {X.ndim}, while dim <= 2 is required", fix=_RESHAPE)
    kind = "scalar" if X.ndim == 0 else "1D"
    raise InputError(
        f"Expected 2D array, got {kind} array instead: {show_value(X.tolist() if X.size <= 20 else X)}",
        fix=_RESHAPE,
    )


def _check_kind(dtype: np.dtype[Any], column: str | int | None = None) -> None:
    if dtype.kind == "c":
        raise InputError(
            "Complex data not supported", column=column, fix="Pass the real and imaginary parts as columns."
        )
    if dtype.kind in "mM":
        raise_temporal(column)
    if dtype.kind == "V":
        raise InputError(f"The type {dtype} holds neither numbers nor text", column=column)


# --- scipy sparse ------------------------------------------------------------------------------------------


def _open_sparse(X: Any) -> Source:
    if X.ndim != 2:
        raise InputError(f"Expected 2D array, got {X.ndim}D array instead: a sparse array", fix=_RESHAPE)
    _check_kind(X.dtype)
    if X.dtype.kind not in "fiub":
        raise InputError(f"A sparse matrix must hold numbers, not {X.dtype}")
    csc = X.tocsc()
    if not csc.has_canonical_format:
        # Entries may be stored twice and then count as their sum; the user's own matrix stays as it is.
        csc = csc.copy() if csc is X else csc
        csc.sum_duplicates()
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


# --- data frames -------------------------------------------------------------------------------------------


def _as_frame(X: Any) -> Any | None:
    """Return the input if it is a data frame that narwhals reads, or can be made one without loss."""
    if nw.dependencies.is_into_dataframe(X):
        return X
    if isinstance(X, nw.LazyFrame) or hasattr(X, "collect_schema") or nw.dependencies.is_dask_dataframe(X):
        raise InputTypeError(
            f"X is a {type(X).__name__}, which has not been computed yet",
            fix="Call its collect() or compute() first.",
        )
    if nw.dependencies.is_into_series(X) or not hasattr(X, "__arrow_c_stream__"):
        return None
    try:
        import pyarrow as pa
    except ImportError:
        raise InputTypeError(
            f"Reading a {type(X).__name__} needs pyarrow", fix="Install it with: pip install pyarrow"
        ) from None
    return pa.table(X)


def _open_frame(X: Any, known: bool) -> Source:
    native = nw.to_native(X, pass_through=True)
    listed = native.column_names if hasattr(native, "column_names") else native.columns
    keys = listed.tolist() if hasattr(listed, "tolist") else list(listed)
    names = _string_names(keys)
    small = as_small_frame(native, (len(native), len(keys))) if known else None
    if small is not None:
        return _open_small_frame(small, (len(native), len(keys)), names)
    frame = nw.from_native(native, eager_only=True)
    if not keys:
        return Source((len(frame), 0), None, _no_column)
    series = list(frame.iter_columns())
    return Source((len(frame), len(keys)), names, lambda j: _series_column(series[j], column_label(names, j)))


def _open_small_frame(small: SmallFrame, shape: tuple[int, int], names: tuple[str, ...] | None) -> Source:
    objects, numbers = small.objects, small.numbers
    return Source(
        shape,
        names,
        lambda j: ObjectColumn(objects()[:, j], column_label(names, j)),
        block=None if numbers is None else lambda: _checked_block(numbers(), names),
    )


def _no_column(j: int) -> NoReturn:
    raise IndexError(j)


def _string_names(keys: list[Any]) -> tuple[str, ...] | None:
    seen = set()
    for key in keys:
        if key in seen:
            raise InputError(
                f"X has more than one column named {show_value(key)}",
                fix="Give every column a name of its own.",
            )
        seen.add(key)
    types = sorted({type(key).__qualname__ for key in keys})
    if len(types) > 1 and "str" in types:
        raise InputTypeError(
            "Feature names are only supported if all input features have string names, "
            f"but your input has {types} as feature name / column name types",
            fix="Make them all text, such as with X.columns = X.columns.astype(str).",
        )
    return tuple(keys) if types == ["str"] else None


def _series_column(series: nw.Series[Any], column: str | int) -> RawColumn:
    dtype = series.dtype
    if dtype.is_temporal():
        raise_temporal(column)
    if isinstance(dtype, nw.Categorical | nw.Enum):
        return _categorical_column(series, column)
    if isinstance(dtype, nw.Int128 | nw.UInt128 | nw.Decimal):
        series, dtype = series.cast(nw.Float64), nw.Float64()
    if isinstance(dtype, nw.Float32 | nw.Float64):
        floats = np.asarray(series.to_numpy(), np.float32 if isinstance(dtype, nw.Float32) else np.float64)
        return NumberColumn(floats, column)
    if dtype.is_integer() or isinstance(dtype, nw.Boolean):
        return _whole_column(series, column)
    # pandas keeps these as Python objects, of which narwhals looks only at the first.
    objects = isinstance(getattr(series.to_native(), "dtype", None), np.dtype)
    if isinstance(dtype, nw.String) and not objects:
        return _string_column(series, column)
    if not objects and series.null_count() == len(series):
        return NumberColumn(np.full(len(series), np.nan), column)
    values = series.to_numpy()
    if isinstance(values, np.ma.MaskedArray) or values.ndim != 1:
        raise InputTypeError(f"Each argument must be a string or a real number, not {dtype}", column=column)
    _check_kind(values.dtype, column)
    return (NumberColumn if values.dtype.kind in "fiub" else ObjectColumn)(values, column)


def _whole_column(series: nw.Series[Any], column: str | int) -> RawColumn:
    """Read integers and booleans with a mask, because through NaN great integers would be rounded."""
    if not series.null_count():
        values = series.to_numpy()
        if values.dtype != object:
            return NumberColumn(values, column)
    missing = series.is_null().to_numpy().astype(bool)
    boolean = isinstance(series.dtype, nw.Boolean)
    values = series.fill_null(False if boolean else 0).to_numpy()
    if values.dtype == object:
        values = values.astype(bool if boolean else np.int64)
    return NumberColumn(values, column, missing)


def _string_column(series: nw.Series[Any], column: str | int) -> RawColumn:
    """Code text inside the frame's own library, which need not make a Python object of every row."""
    native = series.to_native()
    dtype = getattr(native, "dtype", None)
    if getattr(dtype, "storage", None) == "pyarrow" or hasattr(dtype, "pyarrow_dtype"):
        native = native.array.__arrow_array__()  # pandas around Arrow
    if hasattr(native, "dictionary_encode"):
        return _dictionary_column(native.dictionary_encode(), column)
    missing = series.is_null().to_numpy().astype(bool)
    levels = sorted(series.drop_nulls().unique().to_list())
    if not levels:
        codes = np.full(len(series), -1, np.int32)
    else:
        filled = series.fill_null(levels[0])
        coded = filled.replace_strict(levels, list(range(len(levels))), return_dtype=nw.Int32)
        codes = np.where(missing, np.int32(-1), coded.to_numpy())
    return LevelColumn(np.array(levels, dtype=object), codes, column, declared=False)


def _categorical_column(series: nw.Series[Any], column: str | int) -> RawColumn:
    native = series.to_native()
    if series.implementation.is_pandas_like():
        if not hasattr(native, "cat"):  # pandas around an Arrow dictionary
            return _dictionary_column(native.array.__arrow_array__(), column)
        levels = native.cat.categories.to_numpy(dtype=object)
        return LevelColumn(levels, np.asarray(native.cat.codes), column, declared=True)
    if series.implementation.is_pyarrow():
        return _dictionary_column(native, column)
    text = _string_column(series.cast(nw.String), column)
    if not isinstance(series.dtype, nw.Enum):
        # The order of a polars Categorical depends on what else the process has read, so it is not kept.
        return text
    declared = native.dtype.categories.to_list()
    levels_found, codes = text.levels()
    position: dict[Category, int] = {level: i for i, level in enumerate(declared)}
    recoded = np.array([*(position[level] for level in levels_found), -1], np.int32)[codes]
    return LevelColumn(np.array(declared, dtype=object), recoded, column, declared=True)


def _dictionary_column(native: Any, column: str | int) -> RawColumn:
    chunks = native.unify_dictionaries().chunks
    levels = np.empty(len(chunks[0].dictionary), dtype=object)
    levels[:] = chunks[0].dictionary.to_pylist()
    signed = [chunk.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False) for chunk in chunks]
    # Arrow's dictionaries are an encoding, in order of appearance; only an ordered one is a declaration.
    return LevelColumn(levels, np.concatenate(signed), column, declared=bool(native.type.ordered))
