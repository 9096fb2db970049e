"""Values typed on the command line: parameters, times and sizes."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from spinney.cli.failures import OptionError

_WORDS = {"none": None, "null": None, "true": True, "false": False}
_SECONDS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_BYTES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def parse_value(text: str) -> Any:
    """Return the value of ``--set parameter=value``: a number, a word, a JSON list, or text.

    >>> parse_value("0.1"), parse_value("None"), parse_value("[1, 2]"), parse_value("gini")
    (0.1, None, [1, 2], 'gini')
    """
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return json.loads(text)
    except ValueError:
        return text


def parse_pairs(given: tuple[str, ...], option: str) -> dict[str, str]:
    """Return the parts of ``name=value`` options.

    >>> parse_pairs(("max_depth=3",), "--set")
    {'max_depth': '3'}
    """
    pairs = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise OptionError(f"{option} {text!r} is not of the form name=value.")
        pairs[name.strip()] = value.strip()
    return pairs


def parse_seconds(text: str) -> float:
    """Return a time in seconds.

    >>> parse_seconds("90"), parse_seconds("5m"), parse_seconds("1.5h")
    (90.0, 300.0, 5400.0)
    """
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]*)\s*", text.lower())
    if found is None or found[2] not in _SECONDS or float(found[1]) <= 0:
        raise OptionError(f"{text!r} is not a time", fix="Write 90, 90s, 5m or 1h.")
    return float(found[1]) * _SECONDS[found[2]]


def parse_bytes(text: str) -> int:
    """Return a size in bytes.

    >>> parse_bytes("4GB"), parse_bytes("500m")
    (4000000000, 500000000)
    """
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]?)i?b?\s*", text.lower())
    if found is None or float(found[1]) <= 0:
        raise OptionError(f"{text!r} is not a size", fix="Write 500MB or 4GB.")
    return int(float(found[1]) * _BYTES[found[2]])


def show_bytes(n: float) -> str:
    """Return a size as text.

    >>> show_bytes(5_368_709_120), show_bytes(812)
    ('5.4 GB', '812 bytes')
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n:.0f} bytes"


def show_seconds(seconds: float) -> str:
    """Return a time as text.

    >>> show_seconds(0.0123), show_seconds(75.0), show_seconds(2.5)
    ('12 ms', '1:15 min', '2.5 s')
    """
    if seconds < 1:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)}:{int(seconds % 60):02d} min"


def count_of(n: int, noun: str) -> str:
    """Return a number of things.

    >>> count_of(1, "tree"), count_of(1200, "tree")
    ('1 tree', '1,200 trees')
    """
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def show_value(value: Any) -> str:
    """Return a value of a table as text: whole numbers without a decimal point, others shortly.

    >>> show_value(49.0), show_value(0.123456789), show_value("pro"), show_value(float("nan"))
    ('49', '0.123457', 'pro', 'missing')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    return str(value)


def show_score(value: float) -> str:
    """Return a score as text with four significant digits, or four decimals for values up to 1.

    >>> show_score(0.91234), show_score(1234.5), show_score(float("nan"))
    ('0.9123', '1234', '–')
    """
    if math.isnan(value):
        return "–"
    return f"{value:.4f}" if abs(value) < 10 else f"{value:.4g}"
