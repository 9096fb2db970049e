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
from spinney.io.files import dumps, from_json, load, loads, replace_file, save, to_json
from spinney.io.state import Persistent
from spinney.io.summary import ModelFileSummary, inspect_file

__all__ = [
    "CorruptModelFile",
    "ModelFileError",
    "ModelFileSummary",
    "NotAModelFile",
    "Persistent",
    "UnknownClass",
    "UnsavableValue",
    "UnsupportedVersion",
    "dumps",
    "from_json",
    "inspect_file",
    "load",
    "loads",
    "replace_file",
    "require",
    "save",
    "to_json",
]
