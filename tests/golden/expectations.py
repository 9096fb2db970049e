"""What golden model files must predict: the rows once for all models, the predictions per format version.

- `rows.json`: the tables by name, exact, as Python writes the shortest text that gives the same float again.
- `v<version>/models.json`: class and table of each model.
- `v<version>/expected.npz`: the predictions, one array per model and method.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent
ROWS = HERE / "rows.json"
METHODS = ("predict", "predict_proba", "decision_function")


class Expectation(NamedTuple):
    """Class of a model, name of its table, and its predictions per method."""

    cls: str
    rows: str
    expected: dict[str, NDArray[Any]]


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


def read_rows() -> dict[str, Any]:
    """Return the tables by name, as `plain_rows` describes them."""
    tables: dict[str, Any] = json.loads(ROWS.read_text())
    return tables


def name_of_rows(rows: Any) -> str:
    """Return the name of a table that is stored already."""
    described = plain_rows(rows)
    return next(name for name, stored in read_rows().items() if stored == described)


def read_expectations(folder: Path) -> dict[str, Expectation]:
    """Return the expectations of a format version by the names of the model files."""
    if not (folder / "models.json").exists():
        return {}
    models = json.loads((folder / "models.json").read_text())
    found = {name: Expectation(model["class"], model["rows"], {}) for name, model in models.items()}
    with np.load(folder / "expected.npz") as arrays:
        for key in arrays.files:
            name, _, method = key.rpartition("/")
            found[name].expected[method] = arrays[key]
    return found


def write_expectations(folder: Path, found: dict[str, Expectation]) -> None:
    """Store the expectations of a format version, sorted by name."""
    found = dict(sorted(found.items()))
    models = [
        f"{json.dumps(name)}: {json.dumps({'class': model.cls, 'rows': model.rows})}"
        for name, model in found.items()
    ]
    (folder / "models.json").write_text("{\n" + ",\n".join(models) + "\n}\n")
    arrays = {
        f"{name}/{method}": array for name, model in found.items() for method, array in model.expected.items()
    }
    np.savez_compressed(folder / "expected.npz", **arrays)
