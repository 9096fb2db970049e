"""Results as data frames of pandas or polars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any


def free_name(name: str, taken: Mapping[str, Any]) -> str:
    """Return a column name that is not taken yet, with underscores behind it if need be.

    >>> free_name("row", {"row": 1})
    'row_'
    """
    while name in taken:
        name += "_"
    return name


def to_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return a pandas DataFrame, or a polars one if pandas is not installed.

    >>> to_frame({"node": [0, 1]}).shape
    (2, 1)
    """
    for library in ("pandas", "polars"):
        try:
            module = import_module(library)
        except ImportError:
            continue
        return module.DataFrame(dict(columns))
    raise ImportError("to_frame needs pandas or polars; pip install one of them, or call to_records instead.")
