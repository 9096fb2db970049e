"""Models outside of Python: C source and ONNX graphs; models of other libraries in Spinney's format."""

from spinney.export.c_source import to_c
from spinney.export.imported import ImportedClassifier, ImportedRegressor
from spinney.export.importing import import_model
from spinney.export.onnx_graph import to_onnx
from spinney.export.rows import RowPredictor, compile_row

__all__ = [
    "ImportedClassifier",
    "ImportedRegressor",
    "RowPredictor",
    "compile_row",
    "import_model",
    "to_c",
    "to_onnx",
]
