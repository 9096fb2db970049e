"""Inputs as raw columns: `Source`, arrays and lists, and how a column becomes numbers or categories."""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from typing import Any, Literal, NoReturn, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spinney.core.cached_attribute import cached_attribute
from spinney.core.errors import InputError, InputTypeError, show_value

Floats: TypeAlias = NDArray[np.floating[Any]]
Codes: TypeAlias = NDArray[np.int32]
Category: TypeAlias = str | int | float | bool | bytes
Content: TypeAlias = Literal["missing", "bool", "number", "text"]

# Scanning for infinities a few rows at a time keeps the scratch array in cache.
_SCAN_SIZE = 1 << 18
EXACT_INTEGER = 2.0**53
# Missing values of libraries that need not be installed are known by the names of their types.
MISSING_TYPES = frozenset({"NoneType", "NAType", "NaTType", "MaskedConstant", "Null"})
RESHAPE = (
    "Reshape your data with X.reshape(-1, 1) if it has a single feature, "
    "or X.reshape(1, -1) if it is a single sample."
)


class RawColumn(Protocol):
    """One column of an input, which reads as numbers, or as distinct values and a code per row."""

    @property
    def categorical(self) -> bool:
        """Whether the type of the column makes it categorical."""

    @property
    def declared(self) -> bool:
        """Whether the values come in an order that the user declared."""

    def numbers(self) -> Floats:
        """Return the values as float32 or float64, NaN if missing; infinity is an error."""

    def levels(self) -> tuple[Sequence[Category], Codes]:
        """Return the distinct values, and the position of each row's value, -1 if missing."""


def float_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type that numbers are stored as: float32 if that loses nothing, else float64.

    >>> float_dtype(np.dtype("float16")), float_dtype(np.dtype("int8"))
    (dtype('float32'), dtype('float64'))
    """
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


def to_native_floats(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> Floats:
    """Return numbers as aligned float32 or float64 in native byte order, copied only if necessary."""
    dtype, floats = values.dtype, values
    if not (dtype.isnative and dtype.kind == "f" and dtype.itemsize in (4, 8) and values.flags.aligned):
        with np.errstate(over="ignore"):  # what overflows becomes infinite, and is found as such
            floats = values.astype(float_dtype(dtype), copy=not values.flags.aligned)
    if missing is not None and missing.any():
        floats = floats.copy() if np.may_share_memory(floats, values) else floats
        floats[missing] = np.nan
    return floats


def has_infinity(values: Floats) -> bool:
    """Return whether any value is infinite.

    >>> has_infinity(np.array([1.0, np.nan])), has_infinity(np.array([-np.inf]))
    (False, True)
    """
    if values.size <= _SCAN_SIZE:
        return bool(np.count_nonzero(np.isinf(values)))
    # Walk along the outer axis of the memory, so that each step reads one contiguous stretch.
    outer = values.T if values.ndim == 2 and abs(values.strides[1]) > abs(values.strides[0]) else values
    step = max(1, _SCAN_SIZE * len(outer) // values.size)
    return any(np.count_nonzero(np.isinf(outer[i : i + step])) for i in range(0, len(outer), step))


def raise_infinity(column: str | int, row: int | None) -> NoReturn:
    """Raise the error for an infinite value, or one too large for float64."""
    raise InputError(
        "Input X contains infinity or a value too large for float64",
        column=column,
        row=row,
        fix="Replace it by a finite number, or by NaN if it is missing.",
    )


def raise_temporal(column: str | int | None, row: int | None = None) -> NoReturn:
    """Raise the error for dates and times, which have no numeric value of their own."""
    raise InputError(
        "Dates, times and durations cannot be features: found one",
        column=column,
        row=row,
        fix="Convert the column first: spinney.expand_dates(X) makes numbers and categories of dates.",
    )


class NumberColumn:
    """Numbers or booleans of any NumPy type, with an optional mask of the missing rows."""

    declared = False

    def __init__(
        self, values: NDArray[Any], column: str | int, missing: NDArray[np.bool_] | None = None
    ) -> None:
        self._values, self._column, self._missing = values, column, missing

    @property
    def categorical(self) -> bool:
        """Whether the values are booleans."""
        return bool(self._values.dtype.kind == "b")

    def numbers(self) -> Floats:
        """Return the values as floats."""
        floats = to_native_floats(self._values, self._missing)
        if has_infinity(floats):
            raise_infinity(self._column, int(np.argmax(np.isinf(floats))))
        return floats

    def levels(self) -> tuple[Sequence[Category], Codes]:
        """Return the distinct numbers in ascending order; floats that are integers become int."""
        values, missing = self._values, self._missing
        if values.dtype.kind == "f":
            values = self.numbers()
            missing = np.isnan(values)
        present = slice(None) if missing is None else ~missing
        distinct, inverse = np.unique(values[present], return_inverse=True)
        codes = np.full(len(values), -1, np.int32)
        codes[present] = inverse
        if distinct.dtype.kind == "f" and np.all(np.abs(distinct) <= EXACT_INTEGER):
            distinct = distinct.astype(np.int64) if np.all(distinct == np.trunc(distinct)) else distinct
        return distinct.tolist(), codes


def _is_range(kind: type) -> bool:
    """Return True for the intervals and periods of pandas, which are categories by their text."""
    return kind.__name__ in ("Interval", "Period") and kind.__module__.partition(".")[0] == "pandas"


class ObjectColumn:
    """Python objects: text, numbers, or both, with any kind of missing value among them."""

    declared = False

    def __init__(
        self,
        values: NDArray[Any],
        column: str | int,
        row_of: Callable[[int], int | None] = lambda position: position,
    ) -> None:
        self._values = values
        self._items: list[Any] = values.tolist()
        self._column, self._row_of = column, row_of
        self._contents: dict[type, Content] | None = None

    @property
    def categorical(self) -> bool:
        """Whether there is text, or nothing but booleans."""
        contents = set(self._types().values())
        if "text" in contents:
            return True
        if "bool" not in contents:
            return False
        # NaN is a float and yet marks a missing boolean.
        return "number" not in contents or all(isinstance(level, bool) for level in self.levels()[0])

    def numbers(self) -> Floats:
        """Return the values as float64; text is an error."""
        types = self._types()
        for kind, content in types.items():
            if content == "text":
                position = self._first(kind)
                raise InputError(
                    f"Found text {show_value(self._items[position])} where numbers are expected",
                    column=self._column,
                    row=self._row_of(position),
                    fix="At fit the column held numbers, or nothing but missing values. Convert it to "
                    "numbers, or fit the model again on rows that have text in it.",
                )
        values = self._values
        if any(content == "missing" and kind is not type(None) for kind, content in types.items()):
            values = values.copy()
            values[[types[type(item)] == "missing" for item in self._items]] = None
        try:
            floats: Floats = values.astype(np.float64)
        except (OverflowError, ValueError, TypeError):
            floats = np.array([self._plain(i, item) for i, item in enumerate(self._items)], np.float64)
        if has_infinity(floats):
            raise_infinity(self._column, self._row_of(int(np.argmax(np.isinf(floats)))))
        return floats

    def levels(self) -> tuple[Sequence[Category], Codes]:
        """Return the distinct values in order of appearance, as plain Python values."""
        kinds = self._types().keys()
        try:
            codes = dict.fromkeys(self._items, -1)
        except TypeError as error:  # a signaling NaN, or a number of the user's own without a hash
            raise InputTypeError(f"A value is not hashable ({error})", column=self._column) from None
        levels: list[Category] = []
        if kinds <= {str}:  # the common case, where every item is plain already
            levels = list(codes)
            codes = dict(zip(levels, range(len(levels)), strict=True))
        else:
            for item in codes:
                plain = self._plain(None, item)
                if plain is not None:
                    codes[item] = len(levels)
                    levels.append(plain)
        return levels, np.fromiter(map(codes.__getitem__, self._items), np.int32, len(self._items))

    def _types(self) -> dict[type, Content]:
        if self._contents is None:
            self._contents = {kind: self._content(kind) for kind in dict.fromkeys(map(type, self._items))}
        return self._contents

    def _content(self, kind: type) -> Content:
        if kind.__name__ in MISSING_TYPES:
            return "missing"
        if issubclass(kind, bool | np.bool_):
            return "bool"
        if issubclass(kind, np.timedelta64):  # numpy counts it among the integers
            raise_temporal(self._column, self._row_of(self._first(kind)))
        if issubclass(kind, numbers.Real | Decimal):
            return "number"
        if issubclass(kind, str | bytes) or _is_range(kind):
            return "text"
        row = self._row_of(self._first(kind))
        if issubclass(kind, datetime.date | datetime.time | datetime.timedelta | np.datetime64):
            raise_temporal(self._column, row)
        if issubclass(kind, numbers.Complex):
            raise InputError(
                "Complex data not supported: found a complex number", column=self._column, row=row
            )
        raise InputTypeError(
            f"Each argument must be a string or a real number, not {kind.__name__!r}: found one",
            column=self._column,
            row=row,
        )

    def _first(self, kind: type) -> int:
        return next(i for i, item in enumerate(self._items) if type(item) is kind)

    def _plain(self, position: int | None, item: Any) -> Category | None:
        """Return an item as a plain Python value, None if it is missing."""
        content = self._types()[type(item)]
        if content == "missing":
            return None
        if content == "text":
            # The value itself, where a subclass such as an enumeration would print its own name.
            if isinstance(item, str):
                return str.__str__(item)
            return bytes(item) if isinstance(item, bytes) else str(item)
        if content == "bool":
            return bool(item)
        if isinstance(item, numbers.Integral) and position is None:
            return int(item)
        try:
            value = float(item)
        except OverflowError:
            value = float("inf")
        except (ValueError, TypeError) as error:
            raise InputError(f"A value is not a number ({error})", column=self._column) from None
        if math.isinf(value):
            position = next(i for i, other in enumerate(self._items) if other is item)
            raise_infinity(self._column, self._row_of(position))
        return None if math.isnan(value) else value


class LevelColumn:
    """Values that the input has coded already: a pandas, polars or Arrow categorical.

    ``dictionary`` holds the coded values: an array, or an index of pandas, which is never changed, so that
    what was derived from it can be kept.
    """

    categorical = True

    def __init__(
        self, dictionary: Any, codes: NDArray[np.integer[Any]], column: str | int, declared: bool
    ) -> None:
        self.dictionary, self.codes, self.declared = dictionary, codes, declared
        self._column = column

    @cached_attribute
    def _levels(self) -> ObjectColumn:
        return ObjectColumn(np.asarray(self.dictionary, dtype=object), self._column, self._first_row)

    def numbers(self) -> Floats:
        """Return the values as floats; text is an error."""
        taken: Floats = np.append(self._levels.numbers(), np.nan)[self.codes]
        return taken

    def levels(self) -> tuple[Sequence[Category], Codes]:
        """Return the coded values, those without rows included."""
        levels, codes = self._levels.levels()
        return levels, np.append(codes, np.int32(-1))[self.codes]

    def own_levels(self) -> tuple[Sequence[Category], Codes]:
        """Return the coded values, and the position of each entry of the dictionary among them."""
        return self._levels.levels()

    def _first_row(self, level: int) -> int | None:
        rows = np.flatnonzero(self.codes == level)
        return int(rows[0]) if len(rows) else None


# ---- sources ----


@dataclass(frozen=True, slots=True)
class Source:
    """An input as columns.

    Attributes
    ----------
    shape : tuple (n_rows, n_features)
        Size of the input.
    names : tuple of str or None
        Names of the columns.
    column : function of int
        Returns the column at a position.
    number_dtype : dtype or None
        Type of every column if all are plain numbers, known without reading them.
    block : function or None
        Returns the whole input as one checked array, if that takes no filling in of zeros.
    lazy : bool
        Whether to make a column at each use rather than to keep it.
    unordered : bool
        Whether the order of the columns means nothing, as in a dict.
    """

    shape: tuple[int, int]
    names: tuple[str, ...] | None
    column: Callable[[int], RawColumn]
    number_dtype: np.dtype[Any] | None = None
    block: Callable[[], Floats] | None = None
    lazy: bool = False
    unordered: bool = False

    def in_order(self, names: Sequence[str]) -> Source:
        """Return the columns in the order of the names, if they are those and have no order of their own."""
        if not self.unordered or self.names is None or self.names == tuple(names):
            return self
        if set(self.names) != set(names):
            return self
        position = {name: j for j, name in enumerate(self.names)}
        order = [position[name] for name in names]
        return Source(self.shape, tuple(names), lambda j: self.column(order[j]))


def column_label(names: Sequence[str] | None, j: int) -> str | int:
    """Return the name of column ``j`` in error messages, or its position."""
    return j if names is None else names[j]


def default_names(n_features: int) -> list[str]:
    """Return the names of columns that have none.

    >>> default_names(2)
    ['x0', 'x1']
    """
    return [f"x{j}" for j in range(n_features)]


def string_names(keys: list[Any]) -> tuple[str, ...] | None:
    """Return the names of columns if they are text, None if none is; InputError for others.

    >>> string_names(["a", "b"]), string_names([0, 1])
    (('a', 'b'), None)
    """
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


def open_source(X: Any, *, known: bool = False) -> Source:
    """Open any supported input as columns.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        The input.
    known : bool, default=False
        Whether the kinds of the columns are known already, so that only the values matter.

    Returns
    -------
    Source
        The input as columns.

    Examples
    --------
    >>> open_source(np.eye(3)).shape
    (3, 3)
    """
    if isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray):
        return open_array(np.asarray(X))
    from spinney.data.readers import open_other

    return open_other(X, known)


def open_array(X: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> Source:
    """Open a plain array, with an optional mask of the missing values."""
    shape = check_shape(X)
    check_kind(X.dtype)
    if X.dtype.kind not in "fiub":
        if missing is not None:
            X = X.astype(object)
            X[missing] = None
        return Source(shape, None, lambda j: ObjectColumn(X[:, j], j))

    def column(j: int) -> RawColumn:
        return NumberColumn(X[:, j], j, None if missing is None else missing[:, j])

    if X.dtype.kind == "b":
        return Source(shape, None, column)
    block = lambda: checked_block(to_native_floats(X, missing))  # noqa: E731
    return Source(shape, None, column, number_dtype=float_dtype(X.dtype), block=block)


def checked_block(block: Floats, names: tuple[str, ...] | None = None) -> Floats:
    """Return the block; raise an error that names the first infinite value."""
    if has_infinity(block):
        row, j = np.argwhere(np.isinf(block))[0]
        raise_infinity(column_label(names, int(j)), int(row))
    return block


def array_from_nested(X: Any) -> NDArray[Any]:
    """Make an array of nested lists or an array-like; text and numbers that are mixed stay apart."""
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
    return array


def _objects_from_rows(X: Sequence[Sequence[Any]]) -> NDArray[Any]:
    """Make an array of Python objects, because NumPy would turn every number beside a text into text."""
    width = len(X[0])
    for i, row in enumerate(X):
        if len(row) != width:
            raise InputError(
                f"Row {i} of X has {len(row)} values where row 0 has {width}",
                fix="Give every row the same length.",
            )
    if width and isinstance(X[0][0], list | tuple):
        raise InputError("Found array with dim 3, while dim <= 2 is required", fix=RESHAPE)
    return np.fromiter(chain.from_iterable(X), object, len(X) * width).reshape(len(X), width)


def check_shape(X: NDArray[Any]) -> tuple[int, int]:
    """Return the shape; raise an error unless there are rows and columns."""
    if X.dtype.names is not None:
        raise InputError(
            f"X is a structured array with the fields {', '.join(map(show_value, X.dtype.names))}",
            fix="Pass a data frame, or a plain array from numpy.lib.recfunctions.structured_to_unstructured.",
        )
    if X.ndim == 2:
        return X.shape[0], X.shape[1]
    if X.ndim > 2:
        raise InputError(f"Found array with dim {X.ndim}, while dim <= 2 is required", fix=RESHAPE)
    kind = "scalar" if X.ndim == 0 else "1D"
    raise InputError(
        f"Expected 2D array, got {kind} array instead: {show_value(X.tolist() if X.size <= 20 else X)}",
        fix=RESHAPE,
    )


def check_not_empty(shape: tuple[int | None, int | None]) -> None:
    """Raise an error if a table has no rows or no columns; None is not checked."""
    for count, what in zip(shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise InputError(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
            )


def check_kind(dtype: np.dtype[Any], column: str | int | None = None) -> None:
    """Raise an error for complex numbers, dates and records."""
    if dtype.kind == "c":
        raise InputError(
            "Complex data not supported", column=column, fix="Pass the real and imaginary parts as columns."
        )
    if dtype.kind in "mM":
        raise_temporal(column)
    if dtype.kind == "V":
        raise InputError(f"The type {dtype} holds neither numbers nor text", column=column)
