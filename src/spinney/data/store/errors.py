"""Errors of binned stores, and the place in a source that an error is about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from spinney.core.errors import InputError, SpinneyError


class StoreError(SpinneyError, ValueError):
    """A binned store that is damaged, incomplete or not what it claims to be."""


class SourceChangedError(StoreError):
    """A source that is not the one that a binned store was built from."""


@contextmanager
def located(where: str, first_row: int) -> Iterator[None]:
    """Name the file, and count rows from its beginning, in errors about a batch of its rows.

    Parameters
    ----------
    where : str
        The file or partition; empty if the rows are those of the user's own table.
    first_row : int
        Row of the file that the batch begins with.

    Examples
    --------
    >>> with located("file 'a.csv'", 100):
    ...     raise InputError("A value is infinite", column="x", row=3)
    Traceback (most recent call last):
    spinney.core.errors.InputError: In file 'a.csv': A value is infinite in column 'x', row 103
    """
    try:
        yield
    except SpinneyError as error:
        text = str(error)
        if error.row is not None:
            text = text.replace(f"row {error.row}", f"row {error.row + first_row}", 1)
            error.row += first_row
        error.args = (f"In {where}: {text}" if where else text,)
        raise


def prefixed(where: str, text: str) -> str:
    """Return a message with the file that it is about before it.

    >>> prefixed("file 'a.csv'", "No target."), prefixed("", "No target.")
    ("In file 'a.csv': No target.", 'No target.')
    """
    return f"In {where}: {text}" if where else text


def missing_library(name: str, what: str) -> InputError:
    """Return the error for an optional library that is not installed."""
    return InputError(f"Reading {what} needs {name}", fix=f"Install it with: pip install {name}")
