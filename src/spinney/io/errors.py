"""The errors of model files: what is wrong with a file, or with a value that should go into one."""
# ruff: noqa: N818  (the names say what the file is, so that `except CorruptModelFile` reads well)

from spinney.core.errors import ModelFileError, SpinneyError


class NotAModelFile(ModelFileError):
    """Say that the bytes do not begin as a model file does."""


class UnsupportedVersion(ModelFileError):
    """Say that the file was written in a format this version of Spinney does not read."""


class CorruptModelFile(ModelFileError):
    """Say that the file is damaged, or that its content describes no valid model."""


class UnknownClass(ModelFileError):
    """Say that the file names a class that is not defined in this process."""


class UnsavableValue(SpinneyError, TypeError):
    """Say that a model holds a value which a model file cannot hold."""
