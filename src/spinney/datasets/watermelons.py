"""The watermelon tables: which melons are ripe, told from how they look, sound and feel."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from spinney.core.errors import InputError, show_value
from spinney.datasets.output import Frame, hand_over

Language: TypeAlias = Literal["en", "zh"]

_ID, _TARGET = "编号", "好瓜"
_NUMERIC = ("密度", "含糖率")
_ENGLISH_NAMES = {
    "色泽": "color",
    "根蒂": "root",
    "敲声": "sound",
    "纹理": "texture",
    "脐部": "navel",
    "触感": "touch",
    "密度": "density",
    "含糖率": "sugar",
    "好瓜": "ripe",
}
_ENGLISH_VALUES = {
    "青绿": "green",
    "乌黑": "black",
    "浅白": "white",
    "蜷缩": "curled",
    "稍蜷": "slightly curled",
    "硬挺": "stiff",
    "浊响": "muffled",
    "沉闷": "dull",
    "清脆": "crisp",
    "清晰": "clear",
    "稍糊": "slightly blurry",
    "模糊": "blurry",
    "凹陷": "sunken",
    "稍凹": "slightly sunken",
    "平坦": "flat",
    "硬滑": "hard and smooth",
    "软粘": "soft and sticky",
    "是": "yes",
    "否": "no",
}


def load_watermelon3(language: Language = "en", frame: Frame = "auto") -> tuple[Any, Any]:
    """Load watermelon data set 3.0: 17 melons, six features of text, density and sugar; y is "yes" or "no".

    ``language`` "zh" gives the Chinese original. ``frame`` is "pandas", "polars", None for numpy arrays, or
    "auto" for whichever data-frame library is installed.

    >>> X, y = load_watermelon3(frame=None)
    >>> X.shape, X[0, 3], y[0]
    ((17, 8), 'clear', 'yes')
    """
    return _load("watermelon3.csv", language, frame)


def load_watermelon2_missing(language: Language = "en", frame: Frame = "auto") -> tuple[Any, Any]:
    """Load watermelon data set 2.0α: 17 melons, six features of text with missing values; y is "yes" or "no".

    ``language`` and ``frame`` are as in load_watermelon3.

    >>> X, y = load_watermelon2_missing(frame=None)
    >>> X.shape, X[0, 0] is None
    ((17, 6), True)
    """
    return _load("watermelon2_missing.csv", language, frame)


def _load(file: str, language: Language, frame: Frame) -> tuple[Any, Any]:
    if language not in ("en", "zh"):
        raise InputError(f'language must be "en" or "zh", not {show_value(language)}')
    text = files("spinney.datasets").joinpath(file).read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    columns: dict[str, list[Any]] = {}
    for name, *values in zip(header, *rows, strict=True):
        if name != _ID:
            shown = _ENGLISH_NAMES[name] if language == "en" else name
            columns[shown] = [_read_value(value, name in _NUMERIC, language) for value in values]
    target = _ENGLISH_NAMES[_TARGET] if language == "en" else _TARGET
    y = columns.pop(target)
    return hand_over(columns, target, y, frame)


def _read_value(value: str, numeric: bool, language: Language) -> float | str | None:
    if not value:
        return None
    if numeric:
        return float(value)
    return _ENGLISH_VALUES[value] if language == "en" else value
