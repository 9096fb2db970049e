"""Results as data frames of pandas or polars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def to_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return a pandas DataFrame, or a polars one if pandas is not installed.

    >>> to_frame({"node": [0, 1]}).shape
    (2, 1)
    """
    try:
        import pandas as pd
    except ImportError:
        pass
    else:
        return pd.DataFrame(dict(columns))
    try:
        import polars as pl
    except ImportError:
        raise ImportError(
            "to_frame needs pandas or polars; pip install one of them, or call to_records instead."
        ) from None
    return pl.DataFrame(dict(columns))
