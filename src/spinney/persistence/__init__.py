"""The model file: a container that knows nothing of learners, the classes it may hold, saving and loading."""

from spinney.base.errors import ModelFileError
from spinney.persistence.errors import (
    CorruptModelFile,
    NotAModelFile,
    UnknownClass,
    UnsavableValue,
    UnsupportedVersion,
)
from spinney.persistence.files import dumps, load, loads, save
from spinney.persistence.state import Persistent

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
    "save",
]
