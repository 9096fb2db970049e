"""The errors that Spinney raises; each builds its message from what went wrong, where, and how to mend it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

_LONGEST_VALUE = 60
_MOST_VALUES = 8


def show_value(value: object) -> str:
    """Write a value for an error message, cut short and escaped, so that hostile text stays on its line.

    >>> show_value("ripe")
    "'ripe'"
    """
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def show_values(values: Sequence[object]) -> str:
    """List the first few values for an error message.

    >>> show_values([1, 2])
    '1, 2'
    """
    shown = [show_value(value) for value in islice(values, _MOST_VALUES)]
    if len(values) > _MOST_VALUES:
        shown.append(f"… ({len(values)} in all)")
    return ", ".join(shown)


def show_column(column: str | int) -> str:
    """Name a column for an error message: by its name, or by its position where there are no names.

    >>> show_column("density"), show_column(3)
    ("column 'density'", 'column 3')
    """
    return f"column {column if isinstance(column, int) else show_value(column)}"


class SpinneyError(Exception):
    """Say what went wrong, in which column and row, and how to mend it.

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
        # The message is finished: building it again in another process would say everything twice.
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(kind: type[SpinneyError], args: tuple[Any, ...], attributes: dict[str, Any]) -> SpinneyError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error


class InputError(SpinneyError, ValueError):
    """Report data or an argument with a value that cannot be used."""


class InputTypeError(InputError, TypeError):
    """Report data or an argument of a type that cannot be used; a ValueError too, like all bad input."""


class UnseenCategoryError(InputError):
    """Report a category that was not there when the model was fitted.

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
    """Report a model file, or a part of one, that is damaged or not what it says it is."""
