"""Exit codes, and the errors of the command line that have one."""

from __future__ import annotations

from spinney.core.errors import InputError, ModelFileError, SpinneyError

SUCCESS = 0
INTERNAL = 1
USAGE = 2
FILE = 3
DATA = 4
MODEL = 5
PACKAGE = 6
INTERRUPTED = 130
BROKEN_PIPE = 141

MEANINGS = {
    SUCCESS: "success",
    INTERNAL: "an unexpected error, which is a fault of Spinney; --debug shows where",
    USAGE: "the command, an option or a parameter is not valid",
    FILE: "a file cannot be read or written, has an unknown format, or does not fit into memory",
    DATA: "the content of the data is not valid: ragged lines, a missing column, text among numbers, no rows",
    MODEL: "a model file is damaged, or the model cannot do what is asked",
    PACKAGE: "an optional package is not installed",
    INTERRUPTED: "interrupted by Ctrl-C",
    BROKEN_PIPE: "the reader of the output closed the pipe",
}
"""Meaning of every exit code."""


class CommandError(SpinneyError):
    """An error with an exit code of its own."""

    exit_code = INTERNAL


class OptionError(CommandError):
    """Options that do not fit together, or a parameter that does not exist."""

    exit_code = USAGE


class FileError(CommandError):
    """A file that cannot be read or written."""

    exit_code = FILE


class DataError(CommandError):
    """Data that cannot be learned from or predicted."""

    exit_code = DATA


class ModelError(CommandError):
    """A model that cannot do what is asked."""

    exit_code = MODEL


class ReaderGoneError(CommandError):
    """The reader of standard output has closed it; click would turn a BrokenPipeError into exit code 1."""

    exit_code = BROKEN_PIPE


def exit_code_of(error: BaseException) -> int:
    """Return the exit code of an error.

    >>> exit_code_of(InputError("A value is infinite")), exit_code_of(KeyError("x"))
    (4, 1)
    """
    if isinstance(error, CommandError):
        return error.exit_code
    for kinds, code in (
        ((KeyboardInterrupt,), INTERRUPTED),
        ((BrokenPipeError,), BROKEN_PIPE),
        ((ModelFileError,), MODEL),
        ((InputError,), DATA),
        ((ImportError,), PACKAGE),
        ((OSError, MemoryError), FILE),
    ):
        if isinstance(error, kinds):
            return code
    return INTERNAL
