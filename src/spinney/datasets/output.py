"""The form in which a data set is handed over: a data frame and a series, or numpy arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, show_value

Frame: TypeAlias = Literal["auto", "pandas", "polars"] | None


# A column: a list, or an array (n_rows,).
Values: TypeAlias = Sequence[Any] | NDArray[Any]


def hand_over(columns: Mapping[str, Values], target: str, y: Values, frame: Frame) -> tuple[Any, Any]:
    """Return (X, y) in the form that ``frame`` names; None stands for numpy arrays.

    >>> hand_over({"a": [1.0, 2.0]}, "label", ["u", "v"], None)
    (array([[1.],
           [2.]]), array(['u', 'v'], dtype=object))
    """
    if frame is None:
        return _array(list(columns.values())).T, _array(y)
    library = _installed() if frame == "auto" else frame
    if library == "pandas":
        import pandas as pd

        return pd.DataFrame(dict(columns)), pd.Series(y, name=target)
    if library == "polars":
        import polars as pl

        return pl.DataFrame(dict(columns)), pl.Series(target, y)
    raise InputError(f'frame must be "auto", "pandas", "polars" or None, not {show_value(frame)}')


def _installed() -> Literal["pandas", "polars"]:
    if find_spec("pandas") is not None:
        return "pandas"
    if find_spec("polars") is not None:
        return "polars"
    raise ImportError(
        "A data frame needs pandas or polars. Install one of them, or pass frame=None for numpy arrays."
    )


def _array(values: Values) -> NDArray[Any]:
    """Return numbers as numbers, and anything else as objects, so that text keeps None beside it."""
    array = np.array(values)
    return array if array.dtype.kind in "fi" else np.array(values, dtype=object)
