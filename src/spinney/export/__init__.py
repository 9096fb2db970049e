"""Models outside of Python: C source and ONNX graphs; models of other libraries in Spinney's format."""

from spinney.export.c_source import to_c

__all__ = ["to_c"]
