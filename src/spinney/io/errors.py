"""Errors of model files, and `require`, the check that raises the error for a damaged one."""
# ruff: noqa: N818  (the names say what the file is, so that `except CorruptModelFile` reads well)

from spinney.core.errors import ModelFileError, SpinneyError


class NotAModelFile(ModelFileError):
    """The bytes do not begin as a model file does."""


class UnsupportedVersion(ModelFileError):
    """The file was written in a format that this version of Spinney does not read."""


class CorruptModelFile(ModelFileError):
    """The file is damaged, or its content does not describe a valid model."""


class UnknownClass(ModelFileError):
    """The file names a class that is not defined in this process."""


class UnsavableValue(SpinneyError, TypeError):
    """A model has a value which a model file cannot store."""


def require(condition: object, problem: str) -> None:
    """Raise the error for a damaged model file unless a condition is true.

    Parameters
    ----------
    condition : bool
        What a valid file satisfies.
    problem : str
        What is wrong otherwise; a phrase without a full stop.

    Raises
    ------
    CorruptModelFile
        If the condition is false.

    Examples
    --------
    >>> require(2 + 2 == 4, "the sum is wrong")
    >>> require(False, "the tree has no root")
    Traceback (most recent call last):
    ...
    spinney.io.errors.CorruptModelFile: The model file is damaged: the tree has no root. Save the model again.
    """
    if not condition:
        raise CorruptModelFile(f"The model file is damaged: {problem}.", fix="Save the model again.")
