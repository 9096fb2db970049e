"""The errors that Spinney raises; messages say what is wrong, where, and how to fix it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import islice
from typing import Any

_MAX_LENGTH = 60
_MAX_VALUES = 8


def show_value(value: object) -> str:
    """Return a value as text for an error message, shortened and escaped.

    >>> show_value("ripe")
    "'ripe'"
    """
    text = repr(value)
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 1] + "…"


def show_values(values: Sequence[object]) -> str:
    """Return the first few values as text for an error message.

    >>> show_values([1, 2])
    '1, 2'
    """
    shown = [show_value(value) for value in islice(values, _MAX_VALUES)]
    if len(values) > _MAX_VALUES:
        shown.append(f"… ({len(values)} in all)")
    return ", ".join(shown)


def suggest_columns(name: object, columns: Sequence[str]) -> str:
    """Return how to fix the name of a column that does not exist.

    >>> suggest_columns("colour", ["color", "size"]), suggest_columns(3, ["color", "size"])
    ("Did you mean 'color'?", "Columns: 'color', 'size'.")
    """
    near = difflib.get_close_matches(name, columns, n=3) if isinstance(name, str) else []
    return f"Did you mean {show_values(near)}?" if near else f"Columns: {show_values(columns)}."


def show_column(column: str | int) -> str:
    """Return the name of a column for an error message, or its position if it has none.

    >>> show_column("density"), show_column(3)
    ("column 'density'", 'column 3')
    """
    return f"column {column if isinstance(column, int) else show_value(column)}"


class SpinneyError(Exception):
    """Base class of Spinney's errors.

    Parameters
    ----------
    problem : str
        What is wrong, without a full stop if `column` or `row` is given.
    column : str, int or None, default=None
        Name or position of the column.
    row : int or None, default=None
        Position of the row.
    fix : str or None, default=None
        How to fix it; a sentence.

    Examples
    --------
    >>> str(SpinneyError("A value is infinite", column="x", row=3, fix="Replace it by NaN."))
    "A value is infinite in column 'x', row 3. Replace it by NaN."
    """

    def __init__(
        self,
        problem: str,
        *,
        column: str | int | None = None,
        row: int | None = None,
        fix: str | None = None,
    ) -> None:
        self.column, self.row = column, row
        places = [] if column is None else [show_column(column)]
        places += [] if row is None else [f"row {row}"]
        message = f"{problem} in {', '.join(places)}" if places else problem
        if fix is not None:
            message = f"{message.rstrip('.')}. {fix}"
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        # The message is complete: __init__ in another process would append the column and row again.
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(kind: type[SpinneyError], args: tuple[Any, ...], attributes: dict[str, Any]) -> SpinneyError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error


class InputError(SpinneyError, ValueError):
    """Invalid value of the data or of an argument."""


class InputTypeError(InputError, TypeError):
    """Invalid type of the data or of an argument; a ValueError, too, like all invalid input."""


class UnseenCategoryError(InputError):
    """A category at predict time that was not seen during fit.

    Parameters
    ----------
    column : str or int
        Name or position of the column.
    row : int
        Position of the row.
    value : object
        The category.
    known : sequence
        The categories seen during fit.

    Examples
    --------
    >>> str(UnseenCategoryError("color", 4, "pink", ["black", "green"]))[:56]
    "Unseen category 'pink' in column 'color', row 4. Known c"
    """

    def __init__(self, column: str | int, row: int, value: object, known: Sequence[object]) -> None:
        self.value = value
        super().__init__(
            f"Unseen category {show_value(value)}",
            column=column,
            row=row,
            fix=f"Known categories: {show_values(known) or 'none'}. "
            "Correct the value, or let unseen categories count as missing.",
        )


class ModelFileError(SpinneyError, ValueError):
    """A model file, or a part of one, that is damaged or not what it claims to be."""
