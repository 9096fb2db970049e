"""Model files: saving and loading, the container format, and the classes that it may contain."""

from spinney.core.errors import ModelFileError
from spinney.io.errors import (
    CorruptModelFile,
    NotAModelFile,
    UnknownClass,
    UnsavableValue,
    UnsupportedVersion,
    require,
)
from spinney.io.files import dumps, load, loads, save
from spinney.io.state import Persistent

__all__ = [
    "CorruptModelFile",
    "ModelFileError",
    "NotAModelFile",
    "Persistent",
    "UnknownClass",
    "UnsavableValue",
    "UnsupportedVersion",
    "dumps",
    "load",
    "loads",
    "require",
    "save",
]
