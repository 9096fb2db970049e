"""Small data frames as one array: a call for each column would take longer than the prediction itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import chain
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

# Beyond these, reading column by column is as fast, and copies less.
_MOST_ROWS = 1000
_MOST_VALUES = 1 << 20


class SmallFrame:
    """Hold a small frame of pandas or polars, to be read whole.

    ``numbers`` gives all values as float64 (n_rows, n_columns), None where not all columns are numbers or
    booleans; ``objects`` gives them as Python objects, None or the like where missing.
    """

    __slots__ = ("numbers", "objects")

    def __init__(
        self, numbers: Callable[[], NDArray[np.float64]] | None, objects: Callable[[], NDArray[Any]]
    ) -> None:
        self.numbers, self.objects = numbers, cache(objects)


def as_small_frame(native: Any, shape: tuple[int, int]) -> SmallFrame | None:
    """See a frame as a whole, None if it is large, of another library, or has columns of unusual types.

    >>> import polars as pl
    >>> as_small_frame(pl.DataFrame({"a": [1, None], "b": ["u", "v"]}), (2, 2)).objects().tolist()
    [[1, 'u'], [None, 'v']]
    """
    if shape[0] > _MOST_ROWS or shape[0] * shape[1] > _MOST_VALUES or not shape[1]:
        return None
    if nw.dependencies.is_pandas_dataframe(native):
        return _small_pandas(native)
    if nw.dependencies.is_polars_dataframe(native):
        return _small_polars(native, shape)
    return None


def _small_pandas(frame: Any) -> SmallFrame | None:
    plain = True
    for dtype in set(frame.dtypes.tolist()):
        if not isinstance(dtype, np.dtype) or dtype.kind not in "fiub":
            plain = False
            if not _reads_as_objects(dtype):
                return None

    def numbers() -> NDArray[np.float64]:
        with np.errstate(over="ignore"):  # what overflows becomes infinite, and is found as such
            floats: NDArray[np.float64] = frame.to_numpy(np.float64)
        return floats

    return SmallFrame(numbers if plain else None, lambda: frame.to_numpy(object))


def _reads_as_objects(dtype: Any) -> bool:
    """Tell whether pandas gives a column of this type as the values that reading it alone would give."""
    if isinstance(dtype, np.dtype) or dtype.kind != "O":
        return dtype.kind in "fiubO"
    if hasattr(dtype, "categories"):
        # Text stays text; numbers with gaps would come as floats, which round great integers.
        return bool(dtype.categories.dtype.kind == "O")
    return str(dtype).removeprefix("large_").startswith("str")


def _small_polars(frame: Any, shape: tuple[int, int]) -> SmallFrame | None:
    plain = True
    for dtype in set(frame.dtypes):
        number = dtype.is_float() or (dtype.is_integer() and "128" not in str(dtype))
        if not number:
            plain = False
            if not (str(dtype) in ("String", "Boolean", "Null") or str(dtype).startswith(("Cat", "Enum"))):
                return None

    def numbers() -> NDArray[np.float64]:
        floats: NDArray[np.float64] = frame.to_numpy().astype(np.float64, copy=False)
        return floats

    def objects() -> NDArray[Any]:
        return np.fromiter(chain.from_iterable(frame.rows()), object, shape[0] * shape[1]).reshape(shape)

    return SmallFrame(numbers if plain else None, objects)
