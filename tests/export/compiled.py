"""Models compiled from their C source, called by ctypes."""

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import spinney as sp

_FLAGS = ["-std=c99", "-O0", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC"]


class CompiledModel:
    """The functions of one model in a shared library."""

    def __init__(self, library: ctypes.CDLL, name: str, n_features: int) -> None:
        self.library, self.name, self.n_features = library, name, n_features

    def has(self, function: str) -> bool:
        return hasattr(self.library, f"{self.name}_{function}")

    def code(self, column: int, category: Any) -> float:
        text = isinstance(category, str | bytes)
        function = self.library[f"{self.name}_{'category' if text else 'category_number'}"]
        function.restype = ctypes.c_double
        function.argtypes = [ctypes.c_int, ctypes.c_char_p if text else ctypes.c_double]
        return function(column, category.encode() if isinstance(category, str) else category)

    def rows(self, X: Any, categorical: Any) -> np.ndarray:
        """Return a table as the rows that C reads, the codes of categories by its own functions."""
        columns = [
            X.iloc[:, j].tolist() if hasattr(X, "iloc") else X[:, j].tolist() for j in range(X.shape[1])
        ]
        for j in np.flatnonzero(categorical).tolist():
            codes = {
                value: self.code(j, value)
                for value in set(columns[j])
                if value == value and value is not None
            }
            columns[j] = [codes.get(value, np.nan) if value == value else np.nan for value in columns[j]]
        return np.ascontiguousarray(np.array(columns, dtype=np.float64).T)

    def numbers(self, function: str, rows: np.ndarray, width: int) -> np.ndarray:
        call, out = self.library[f"{self.name}_{function}"], np.empty((len(rows), width))
        call.argtypes, call.restype = [ctypes.c_void_p, ctypes.c_void_p], None
        for row, numbers in zip(rows, out, strict=True):
            call(row.ctypes.data, numbers.ctypes.data)
        return out

    def classes(self, rows: np.ndarray) -> np.ndarray:
        call = self.library[f"{self.name}_predict_class"]
        call.argtypes = [ctypes.c_void_p]
        return np.array([call(row.ctypes.data) for row in rows])

    def label(self, index: int) -> bytes:
        call = self.library[f"{self.name}_class_label"]
        call.restype = ctypes.c_char_p
        return call(index)


def compile_models(folder: Path, models: dict[str, Any]) -> dict[str, CompiledModel]:
    """Write and compile models by name into one library, warnings being errors."""
    for name, model in models.items():
        source = sp.to_c(model, name=name)
        assert source.isascii()
        (folder / f"{name}.c").write_text(source)
    files = [str(folder / f"{name}.c") for name in models]
    subprocess.run(["cc", *_FLAGS, "-o", str(folder / "models.so"), *files, "-lm"], check=True)
    library = ctypes.CDLL(str(folder / "models.so"))
    return {name: CompiledModel(library, name, model.n_features_in_) for name, model in models.items()}
