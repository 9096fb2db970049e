"""Readers of data frames: pandas, polars, Arrow, and every other library that narwhals reads."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import chain
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from spinney.core.cached_attribute import cached_attribute
from spinney.core.errors import InputTypeError
from spinney.data.arrow import with_plain_types
from spinney.data.columns import (
    Category,
    Floats,
    LevelColumn,
    NumberColumn,
    ObjectColumn,
    RawColumn,
    Source,
    check_kind,
    checked_block,
    column_label,
    raise_temporal,
    string_names,
)


def as_frame(X: Any) -> Any | None:
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


def open_frame(X: Any, known: bool) -> Source:
    """Open a data frame; see `spinney.data.columns.open_source`."""
    native = with_plain_types(nw.to_native(X, pass_through=True))
    listed = native.column_names if hasattr(native, "column_names") else native.columns
    keys = listed.tolist() if hasattr(listed, "tolist") else list(listed)
    names, shape = string_names(keys), (len(native), len(keys))
    small = open_small_frame(native, shape, names) if known else None
    if small is not None:
        return small
    if nw.dependencies.is_pandas_dataframe(native):
        return Source(shape, names, PandasColumns(native, names).column)
    series = list(nw.from_native(native, eager_only=True).iter_columns())
    return Source(shape, names, lambda j: _series_column(series[j], column_label(names, j)))


def is_series(values: Any) -> bool:
    """Return whether values are a column of a data frame.

    >>> is_series([1.0])
    False
    """
    return bool(nw.dependencies.is_into_series(values))


def open_series(values: Any, column: str | int) -> RawColumn:
    """Open a column of a data frame, which is called by its name or position in messages."""
    return _series_column(nw.from_native(values, series_only=True), column)


def _is_plain_number(dtype: Any) -> bool:
    """Return True for NumPy's own types of floats of 4 and 8 bytes, integers and booleans."""
    if not isinstance(dtype, np.dtype):
        return False
    return dtype.kind in "iub" or dtype in (np.float32, np.float64)


class PandasColumns:
    """The columns of a pandas frame; the common types without narwhals, which takes 0.1 ms per column.

    Columns of plain numbers of a small frame are taken a type at a time. Those of a large one are taken one
    by one, so that they are not copied.
    """

    def __init__(self, native: Any, names: tuple[str, ...] | None) -> None:
        self._native, self._names = native, names

    def column(self, j: int) -> RawColumn:
        """Open a column."""
        label, dtype = column_label(self._names, j), self._dtypes[j]
        plain = self._numbers.get(j)
        if plain is not None:
            return NumberColumn(plain, label)
        if type(dtype).__name__ == "CategoricalDtype" and not _is_range_type(dtype.categories.dtype):
            return LevelColumn(dtype.categories, self._series(j).array.codes, label, declared=True)
        return self._open(j, label)

    def _open(self, j: int, label: str | int) -> RawColumn:
        """Open a column of another type."""
        series = self._series(j)
        if _is_plain_number(series.dtype):
            return NumberColumn(series.to_numpy(), label)
        return _series_column(nw.from_native(series, series_only=True), label)

    def _series(self, j: int) -> Any:
        # By its name, which takes half the time, where that is sure to be a name.
        return self._native.iloc[:, j] if self._names is None else self._native[self._names[j]]

    @cached_attribute
    def _dtypes(self) -> list[Any]:
        dtypes: list[Any] = self._native.dtypes.tolist()
        return dtypes

    @cached_attribute
    def _numbers(self) -> dict[int, NDArray[Any]]:
        """Columns of plain numbers by position."""
        places: dict[Any, list[int]] = {}
        if self._native.size > _MAX_VALUES:
            return {}
        for j, dtype in enumerate(self._dtypes):
            if _is_plain_number(dtype):
                places.setdefault(dtype, []).append(j)
        found: dict[int, NDArray[Any]] = {}
        for positions in places.values():
            block = np.asfortranarray(self._native.take(positions, axis=1).to_numpy())
            found.update(zip(positions, block.T, strict=True))
        return found


class SmallPandasColumns(PandasColumns):
    """The columns of a frame of few rows, where those of text are taken together."""

    def _open(self, j: int, label: str | int) -> RawColumn:
        return ObjectColumn(self._objects[j], label)

    @cached_attribute
    def _objects(self) -> dict[int, NDArray[Any]]:
        places = [
            j
            for j, dtype in enumerate(self._dtypes)
            if not hasattr(dtype, "categories") and not _is_plain_number(dtype)
        ]
        return dict(zip(places, self._native.take(places, axis=1).to_numpy(object).T, strict=True))


def _series_column(series: nw.Series[Any], column: str | int) -> RawColumn:
    if _is_range_type(getattr(series.to_native(), "dtype", None)):
        # Each interval or period is a category, in their order.
        series = nw.from_native(series.to_native().astype("category"), series_only=True)
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
        return _integer_column(series, column)
    # pandas keeps these as Python objects, of which narwhals looks only at the first.
    objects = isinstance(getattr(series.to_native(), "dtype", None), np.dtype)
    if isinstance(dtype, nw.String) and not objects:
        return _string_column(series, column)
    if not objects and series.null_count() == len(series):
        return NumberColumn(np.full(len(series), np.nan), column)
    values = series.to_numpy()
    if isinstance(values, np.ma.MaskedArray) or values.ndim != 1:
        raise InputTypeError(f"Each argument must be a string or a real number, not {dtype}", column=column)
    check_kind(values.dtype, column)
    return (NumberColumn if values.dtype.kind in "fiub" else ObjectColumn)(values, column)


def _integer_column(series: nw.Series[Any], column: str | int) -> RawColumn:
    """Read integers and booleans with a mask, because NaN would round large integers."""
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


def _is_range_type(dtype: Any) -> bool:
    """Return True for the types of intervals, such as those of ``pandas.cut``, and of periods."""
    return type(dtype).__name__ in ("IntervalDtype", "PeriodDtype")


def _categorical_column(series: nw.Series[Any], column: str | int) -> RawColumn:
    native = series.to_native()
    if series.implementation.is_pandas_like():
        if not hasattr(native, "cat"):  # pandas around an Arrow dictionary
            return _dictionary_column(native.array.__arrow_array__(), column)
        categories = native.cat.categories
        if _is_range_type(categories.dtype):
            categories = categories.astype(str)  # "(0.0, 7.5]" and "2024-01", which model files can hold
        levels = categories.to_numpy(dtype=object)
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
    if not chunks:
        return LevelColumn(np.empty(0, dtype=object), np.empty(0, np.int64), column, declared=False)
    levels = np.empty(len(chunks[0].dictionary), dtype=object)
    levels[:] = chunks[0].dictionary.to_pylist()
    signed = [chunk.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False) for chunk in chunks]
    # Arrow's dictionaries are an encoding, in order of appearance; only an ordered one is a declaration.
    return LevelColumn(levels, np.concatenate(signed), column, declared=bool(native.type.ordered))


# --- small data frames as one array: a call per column would take longer than the prediction itself ---------

# Above these sizes, reading column by column is as fast, and copies less.
_MAX_ROWS = 1000
_MAX_VALUES = 1 << 20


def open_small_frame(native: Any, shape: tuple[int, int], names: tuple[str, ...] | None) -> Source | None:
    """Open a frame to be read as a whole, None if it is large, of another library or has unusual types.

    >>> import polars as pl
    >>> source = open_small_frame(pl.DataFrame({"a": [1, None], "b": ["u", "v"]}), (2, 2), ("a", "b"))
    >>> source.column(0).numbers().tolist(), source.block
    ([1.0, nan], None)
    """
    numbers: Callable[[], Any]
    column: Callable[[int], RawColumn]
    if shape[0] > _MAX_ROWS or shape[0] * shape[1] > _MAX_VALUES or not shape[1]:
        return None
    if nw.dependencies.is_pandas_dataframe(native):
        kinds = {_pandas_kind(dtype) for dtype in native.dtypes.tolist()}
        numbers, column = partial(native.to_numpy, np.float64), SmallPandasColumns(native, names).column
    elif nw.dependencies.is_polars_dataframe(native):
        kinds = {_polars_kind(dtype) for dtype in set(native.dtypes)}
        numbers = native.to_numpy

        @cache
        def objects() -> NDArray[Any]:
            return np.fromiter(chain.from_iterable(native.rows()), object, shape[0] * shape[1]).reshape(shape)

        column = lambda j: ObjectColumn(objects()[:, j], column_label(names, j))  # noqa: E731
    else:
        return None

    def block() -> Floats:
        with np.errstate(over="ignore"):  # what overflows becomes infinite, and is found as such
            return checked_block(np.asarray(numbers(), np.float64), names)

    return (
        None if None in kinds else Source(shape, names, column, block=block if kinds == {"number"} else None)
    )


def _pandas_kind(dtype: Any) -> Literal["number", "object", "codes"] | None:
    """Return how a column is read: None if ``to_numpy(object)`` has other values than the column alone."""
    if isinstance(dtype, np.dtype):
        return "number" if dtype.kind in "fiub" else "object" if dtype.kind == "O" else None
    if _is_range_type(dtype):
        return None
    if hasattr(dtype, "categories"):
        return None if _is_range_type(dtype.categories.dtype) else "codes"
    if dtype.kind != "O":
        return "object" if dtype.kind in "fiub" else None
    return "object" if str(dtype).removeprefix("large_").startswith("str") else None


def _polars_kind(dtype: Any) -> Literal["number", "object"] | None:
    if dtype.is_float() or (dtype.is_integer() and "128" not in str(dtype)):
        return "number"
    return "object" if str(dtype).startswith(("String", "Boolean", "Null", "Cat", "Enum")) else None
