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


def require(condition: object, problem: str) -> None:
    """Raise the error for a damaged model file unless a condition holds.

    Parameters
    ----------
    condition : bool
        What a valid file satisfies.
    problem : str
        What is wrong otherwise, a phrase without a full stop.

    Raises
    ------
    CorruptModelFile
        If the condition is false.

    Examples
    --------
    >>> require(2 + 2 == 4, "the sum is wrong")
    """
    if not condition:
        raise CorruptModelFile(f"The model file is damaged: {problem}.", fix="Save the model again.")
