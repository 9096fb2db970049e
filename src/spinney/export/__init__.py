"""Models outside of Python: C source and ONNX graphs; models of other libraries in Spinney's format.

Names are imported on first use, so that a predictor loads without the learners that are described here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spinney.export.c_source import to_c
    from spinney.export.imported import ImportedClassifier, ImportedRegressor
    from spinney.export.importing import import_model
    from spinney.export.onnx_graph import to_onnx
    from spinney.export.rows import RowPredictor, compile_row
    from spinney.export.table_predictor import TablePredictor, to_predictor

_MODULES = {
    "ImportedClassifier": "imported",
    "ImportedRegressor": "imported",
    "RowPredictor": "rows",
    "TablePredictor": "table_predictor",
    "compile_row": "rows",
    "import_model": "importing",
    "to_c": "c_source",
    "to_onnx": "onnx_graph",
    "to_predictor": "table_predictor",
}

__all__ = [
    "ImportedClassifier",
    "ImportedRegressor",
    "RowPredictor",
    "TablePredictor",
    "compile_row",
    "import_model",
    "to_c",
    "to_onnx",
    "to_predictor",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'spinney.export' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"spinney.export.{_MODULES[name]}"), name)
    return value
