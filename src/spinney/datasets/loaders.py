"""Reference data sets of the textbooks: watermelons, tic-tac-toe, XOR and box, each as (X, y)."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from importlib.util import find_spec
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from spinney.core.errors import InputError, show_value

Frame: TypeAlias = Literal["auto", "pandas", "polars"] | None
Language: TypeAlias = Literal["en", "zh"]
Values: TypeAlias = Sequence[Any] | NDArray[Any]
"""A column: a list, or an array (n_rows,)."""

_ID, _TARGET, _NUMERIC = "编号", "好瓜", ("密度", "含糖率")
_SQUARES = [
    f"{row}-{column}-square" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right")
]
_LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def load_watermelon3(language: Language = "en", frame: Frame = "auto") -> tuple[Any, Any]:
    """Load watermelon data set 3.0: 17 melons with six categorical features, density and sugar.

    Parameters
    ----------
    language : {"en", "zh"}, default="en"
        Language of the names and categories; the original is Chinese.
    frame : {"auto", "pandas", "polars"} or None, default="auto"
        Type of the result: a data frame and a series, of the library that is installed by default, or NumPy
        arrays if None.

    Returns
    -------
    X : DataFrame or ndarray of shape (17, 8)
        The features.
    y : Series or ndarray of shape (17,)
        Whether the melon is ripe, "yes" or "no".

    Examples
    --------
    >>> X, y = load_watermelon3(frame=None)
    >>> X.shape, X[0, 3], y[0]
    ((17, 8), 'clear', 'yes')
    """
    return _load("watermelon3.csv", language, frame)


def load_watermelon2_missing(language: Language = "en", frame: Frame = "auto") -> tuple[Any, Any]:
    """Load watermelon data set 2.0α: 17 melons with six categorical features and missing values.

    Parameters
    ----------
    language : {"en", "zh"}, default="en"
        Language of the names and categories; the original is Chinese.
    frame : {"auto", "pandas", "polars"} or None, default="auto"
        Type of the result: a data frame and a series, of the library that is installed by default, or NumPy
        arrays if None.

    Returns
    -------
    X : DataFrame or ndarray of shape (17, 6)
        The features; a missing value is None.
    y : Series or ndarray of shape (17,)
        Whether the melon is ripe, "yes" or "no".

    Examples
    --------
    >>> X, y = load_watermelon2_missing(frame=None)
    >>> X.shape, X[0, 0] is None
    ((17, 6), True)
    """
    return _load("watermelon2_missing.csv", language, frame)


def load_tic_tac_toe(frame: Frame = "auto") -> tuple[Any, Any]:
    """Load the 958 boards on which a game of tic-tac-toe can end if x begins.

    Parameters
    ----------
    frame : {"auto", "pandas", "polars"} or None, default="auto"
        Type of the result: a data frame and a series, of the library that is installed by default, or NumPy
        arrays if None.

    Returns
    -------
    X : DataFrame or ndarray of shape (958, 9)
        The squares: "x", "o", or "b" for blank.
    y : Series or ndarray of shape (958,)
        "positive" if x has won, else "negative".

    Examples
    --------
    >>> X, y = load_tic_tac_toe(frame=None)
    >>> X.shape, int((y == "positive").sum())
    ((958, 9), 626)
    """
    won, rest = [], []
    for board in product("xob", repeat=9):
        lead = board.count("x") - board.count("o")
        x_wins, o_wins = _wins(board, "x"), _wins(board, "o")
        # The winner moved last, which also excludes boards where both have a line.
        if x_wins and not o_wins and lead == 1:
            won.append(board)
        elif not x_wins and ((o_wins and lead == 0) or (not o_wins and lead == 1 and "b" not in board)):
            rest.append(board)
    columns = dict(zip(_SQUARES, map(list, zip(*won, *rest, strict=True)), strict=True))
    return as_frame(columns, "class", ["positive"] * len(won) + ["negative"] * len(rest), frame)


def load_xor(frame: Frame = "auto") -> tuple[Any, Any]:
    """Load the four points of the XOR problem, which no single split can separate.

    Parameters
    ----------
    frame : {"auto", "pandas", "polars"} or None, default="auto"
        Type of the result: a data frame and a series, of the library that is installed by default, or NumPy
        arrays if None.

    Returns
    -------
    X : DataFrame or ndarray of shape (4, 2)
        The points (1, 0), (-1, 0), (0, 1), (0, -1).
    y : Series or ndarray of shape (4,)
        1 for the first two points, -1 for the others.

    Examples
    --------
    >>> X, y = load_xor(frame=None)
    >>> y.tolist()
    [1, 1, -1, -1]
    """
    return as_frame({"x1": [1.0, -1.0, 0.0, 0.0], "x2": [0.0, 0.0, 1.0, -1.0]}, "y", [1, 1, -1, -1], frame)


def make_box(n: int = 150, random_state: Any = 0, frame: Frame = "auto") -> tuple[Any, Any]:
    """Draw random points of the unit square, labelled by whether both coordinates are below 0.6.

    Parameters
    ----------
    n : int, default=150
        Number of points.
    random_state : int, RandomState, Generator or None, default=0
        Seed or random number generator.
    frame : {"auto", "pandas", "polars"} or None, default="auto"
        Type of the result: a data frame and a series, of the library that is installed by default, or NumPy
        arrays if None.

    Returns
    -------
    X : DataFrame or ndarray of shape (n, 2)
        The points.
    y : Series or ndarray of shape (n,)
        1 if both coordinates are below 0.6, else -1.

    Examples
    --------
    >>> X, y = make_box(n=20, frame=None)
    >>> X.shape, sorted(set(y.tolist()))
    ((20, 2), [-1, 1])
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InputError(f"n must be an integer of at least 1, not {show_value(n)}")
    is_generator = isinstance(random_state, np.random.Generator)
    points = (random_state if is_generator else check_random_state(random_state)).uniform(size=(n, 2))
    inside = (points < 0.6).all(axis=1)
    return as_frame({"x1": points[:, 0], "x2": points[:, 1]}, "y", np.where(inside, 1, -1), frame)


def as_frame(columns: Mapping[str, Values], target: str, y: Values, frame: Frame) -> tuple[Any, Any]:
    """Return (X, y) as a data frame and a series of the given library, or as NumPy arrays if it is None.

    >>> as_frame({"a": [1.0, 2.0]}, "label", ["u", "v"], None)
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


def _installed() -> str:
    for library in ("pandas", "polars"):
        if find_spec(library) is not None:
            return library
    raise ImportError(
        "A data frame needs pandas or polars. Install one of them, or pass frame=None for numpy arrays."
    )


def _array(values: Values) -> NDArray[Any]:
    """Return numbers as a numeric array and anything else as objects, so that text may contain None."""
    array = np.array(values)
    return array if array.dtype.kind in "fi" else np.array(values, dtype=object)


def _wins(board: tuple[str, ...], player: str) -> bool:
    return any(all(board[square] == player for square in line) for line in _LINES)


def _load(file: str, language: Language, frame: Frame) -> tuple[Any, Any]:
    if language not in ("en", "zh"):
        raise InputError(f'language must be "en" or "zh", not {show_value(language)}')
    header, *rows = _read_csv(file)
    english = dict(_read_csv("watermelon_english.csv")) if language == "en" else {}
    columns = {
        english.get(name, name): [_read_value(value, name in _NUMERIC, english) for value in values]
        for name, *values in zip(header, *rows, strict=True)
        if name != _ID
    }
    target = english.get(_TARGET, _TARGET)
    y = columns.pop(target)
    return as_frame(columns, target, y, frame)


def _read_csv(file: str) -> Iterator[list[str]]:
    return csv.reader(files("spinney.datasets").joinpath(file).read_text(encoding="utf-8").splitlines())


def _read_value(value: str, numeric: bool, english: Mapping[str, str]) -> float | str | None:
    if not value:
        return None
    return float(value) if numeric else english.get(value, value)
