"""Rows and predictions as JSON, exact: Python writes the shortest text that gives the same float again."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

METHODS = ("predict", "predict_proba", "decision_function")


def plain(array: NDArray[Any]) -> Any:
    return array.tolist()


def plain_rows(rows: Any) -> dict[str, Any]:
    """Describe an array, or a data frame column by column; a missing cell is None."""
    if not hasattr(rows, "columns"):
        return {"array": np.asarray(rows).tolist(), "dtype": str(np.asarray(rows).dtype)}
    columns = {
        str(name): [None if value is None or value != value else value for value in rows[name].tolist()]
        for name in rows.columns
    }
    return {"frame": columns, "dtypes": {str(name): str(rows[name].dtype) for name in rows.columns}}


def rows_from(described: dict[str, Any]) -> Any:
    """Make the rows that `plain_rows` described."""
    if "array" in described:
        return np.array(described["array"], dtype=described["dtype"])
    import pandas as pd

    frame = {}
    for name, values in described["frame"].items():
        numeric = described["dtypes"][name].startswith(("int", "float", "bool"))
        frame[name] = pd.Series(values, dtype=described["dtypes"][name] if numeric else object)
    return pd.DataFrame(frame)
