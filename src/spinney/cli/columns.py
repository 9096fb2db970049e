"""Columns of a data file: their kinds, recognised or chosen, and their values as learners take them."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.cli.failures import DataError, OptionError
from spinney.core.errors import show_values, suggest_columns

Kind: TypeAlias = Literal["numeric", "categorical", "date", "identifier"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?Z?")
_N_LOOKED_AT = 1_000
_MAX_ODD_VALUES = 3
_MAX_ODD_SHARE = 0.1
_MIN_NUMBERS = 20
_MIN_ROWS_OF_IDENTIFIER = 50


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a file.

    Parameters
    ----------
    name : str
        Its name.
    values : ndarray of shape (n_rows,)
        Numbers with NaN, dates with NaT, or texts with None.
    kind : {"numeric", "categorical", "date", "identifier"}
        How it is used: identifiers are left out, dates become several numbers.

    Examples
    --------
    >>> recognise("size", np.array(["1", "2.5", None], dtype=object)).kind
    'numeric'
    """

    name: str
    values: NDArray[Any]
    kind: Kind

    @property
    def n_missing(self) -> int:
        """Number of missing values."""
        return int(missing_rows(self.values).sum())

    def summary(self) -> str:
        """Range of numbers and dates, or the most frequent categories.

        Returns
        -------
        str
            A short text.
        """
        known = self.values[~missing_rows(self.values)]
        if not len(known):
            return "no values"
        if self.kind == "numeric":
            return f"{known.min():g} … {known.max():g}"
        if self.kind == "date":
            return f"{known.min()} … {known.max()}".replace("T00:00:00", "")
        labels, counts = np.unique(known.astype(str), return_counts=True)
        if self.kind == "identifier":
            return f"{len(labels):,} different values"
        shown = [str(labels[at]) for at in np.argsort(-counts, kind="stable")[:4]]
        more = f" · … ({len(labels):,})" if len(labels) > len(shown) else ""
        return " · ".join(text if len(text) <= 16 else text[:15] + "…" for text in shown) + more


def missing_rows(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask of missing values.

    >>> missing_rows(np.array([1.0, np.nan])).tolist()
    [False, True]
    """
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind == "M":
        return np.asarray(np.isnat(values))
    if values.dtype.kind == "O":
        return np.array([value is None for value in values.tolist()], dtype=np.bool_)
    return np.zeros(len(values), dtype=np.bool_)


def recognise(name: str, values: NDArray[Any], kind: str | None = None, typed: bool = False) -> Column:
    """Return a column with its kind, which is recognised unless it is given.

    Text that reads as numbers is numeric. Text with nothing but dates (2024-12-31, 2024-12-31 23:59) is a
    date. Text that differs in nearly all rows is an identifier. Other text is categorical, and all text of a
    file with types (``typed``): it has numbers and dates as such.

    >>> recognise("day", np.array(["2024-12-31", None], dtype=object)).kind
    'date'
    """
    if kind is not None and kind not in KINDS:
        near = difflib.get_close_matches(kind, KINDS, n=1)
        fix = f"Did you mean {near[0]}?" if near else f"Kinds: {', '.join(KINDS)}."
        raise OptionError(f"{kind!r} is not a kind of column", fix=fix)
    if values.dtype.kind != "O":
        return Column(name, *_of_typed(values, kind))
    if kind in ("categorical", "identifier"):
        return Column(name, values, kind)
    has_types = typed and kind is None
    numbers = None if has_types else as_numbers(values)
    if kind == "numeric" or numbers is not None:
        return Column(name, _require_numbers(name, values) if numbers is None else numbers, "numeric")
    if kind == "date" or (not has_types and _looks_like_dates(values)):
        return Column(name, _as_dates(name, values), "date")
    counts = Counter(values.tolist())
    n_known = len(values) - counts.pop(None, 0)
    if not has_types:
        _check_odd_values(name, values, counts)
    is_identifier = n_known >= _MIN_ROWS_OF_IDENTIFIER and len(counts) > 0.95 * n_known
    return Column(name, values, "identifier" if is_identifier else "categorical")


def _of_typed(values: NDArray[Any], kind: str | None) -> tuple[NDArray[Any], Kind]:
    """Return the values and the kind of a column that has a type in its file."""
    own: Kind = {"b": "categorical", "M": "date"}.get(values.dtype.kind, "numeric")  # type: ignore[assignment]
    if kind in (None, own):
        return (as_texts(values), own) if values.dtype.kind == "b" else (values, own)
    if kind in ("categorical", "identifier"):
        return as_texts(values), kind  # type: ignore[return-value]
    if kind == "numeric":
        return values.astype("datetime64[s]").astype(np.float64), "numeric"
    raise OptionError(f"A column of {values.dtype} cannot be used as {kind}.")


def as_numbers(values: NDArray[Any]) -> NDArray[Any] | None:
    """Return texts as numbers, integers if none is missing and all are; None if one is not a number.

    >>> as_numbers(np.array(["1", " 2"], dtype=object)).tolist(), as_numbers(np.array(["x"], dtype=object))
    ([1, 2], None)
    """
    items = values.tolist()
    if not any(item is not None for item in items):
        return np.full(len(items), np.nan)
    try:
        floats = np.array([np.nan if item is None else float(item) for item in items])
    except (TypeError, ValueError):
        return None
    if any(item is not None and "_" in item for item in items if isinstance(item, str)):
        return None  # Python reads 1_000 as a number, nobody else does
    whole = np.isfinite(floats).all() and (floats == np.round(floats)).all() and np.abs(floats).max() < 2**53
    return floats.astype(np.int64) if whole else floats


def as_texts(values: NDArray[Any]) -> NDArray[Any]:
    """Return values as texts: 3, not 3.0, and None for missing ones.

    >>> as_texts(np.array([1.0, np.nan])).tolist(), as_texts(np.array([True])).tolist()
    (['1', None], ['True'])
    """
    missing = missing_rows(values)
    texts = np.empty(len(values), dtype=object)
    for at, (value, gone) in enumerate(zip(values.tolist(), missing.tolist(), strict=True)):
        if not gone:
            whole = isinstance(value, float) and value.is_integer()
            texts[at] = str(int(value)) if whole else str(value)
    return texts


def _require_numbers(name: str, values: NDArray[Any]) -> NDArray[Any]:
    for row, value in enumerate(values.tolist()):
        if value is not None and not _is_number(value):
            raise DataError(
                f"{value!r} is not a number", column=name, row=row,
                fix=f"Correct it, or pass --missing {value!r} or --type {name}=categorical.",
            )  # fmt: skip
    raise DataError("The values are not numbers", column=name, fix=f"Set --type {name}=categorical.")


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return "_" not in value


def _check_odd_values(name: str, values: NDArray[Any], counts: Mapping[str, int]) -> None:
    """Raise DataError for a column of numbers that has a few values of text, such as "unknown"."""
    odd = [value for value in counts if not _is_number(value)]
    share = sum(counts[value] for value in odd) / max(sum(counts.values()), 1)
    if len(odd) > _MAX_ODD_VALUES or share > _MAX_ODD_SHARE or len(counts) - len(odd) < _MIN_NUMBERS:
        return
    row = values.tolist().index(odd[0])
    options = " ".join(f"--missing {value!r}" for value in odd)
    raise DataError(
        f"Text among numbers: {show_values(odd)}", column=name, row=row,
        fix=f"Correct it, count it as missing by {options}, or set --type {name}=categorical.",
    )  # fmt: skip


# ---- dates ----


def _looks_like_dates(values: NDArray[Any]) -> bool:
    known = list(islice((value for value in values.tolist() if value is not None), _N_LOOKED_AT))
    return bool(known) and all(_DATE.fullmatch(value) for value in known)


def _as_dates(name: str, values: NDArray[Any]) -> NDArray[np.datetime64]:
    dates = np.full(len(values), np.datetime64("NaT"), dtype="datetime64[s]")
    for row, value in enumerate(values.tolist()):
        if value is not None:
            try:
                dates[row] = np.datetime64(value.rstrip("Z"), "s")
            except ValueError:
                raise DataError(
                    f"{value!r} is not a date such as 2024-12-31", column=name, row=row,
                    fix=f"Correct it, or set --type {name}=categorical.",
                ) from None  # fmt: skip
    return dates


def expand_date(name: str, dates: NDArray[np.datetime64], with_time: bool = False) -> dict[str, NDArray[Any]]:
    """Return the parts of a date as `expand_dates` makes them, hour and minute only if there are times.

    >>> list(expand_date("d", np.array(["2024-12-31"], dtype="datetime64[s]")))
    ['d_year', 'd_month', 'd_day', 'd_day_of_week', 'd_elapsed']
    """
    from spinney.core.frames import to_frame
    from spinney.data.dates import DEFAULT_PARTS, expand_dates

    known = dates[~np.isnat(dates)]
    has_time = with_time or bool((known != known.astype("datetime64[D]")).any())
    parts = [part for part in DEFAULT_PARTS if has_time or part not in ("hour", "minute")]
    frame = expand_dates(to_frame({name: dates}), columns=[name], parts=parts)  # type: ignore[dict-item]
    return {str(part): _plain_part(np.asarray(frame[part])) for part in frame.columns}


def _plain_part(values: NDArray[Any]) -> NDArray[Any]:
    """Return a part of dates as numbers, or as texts with None."""
    if values.dtype.kind in "fiu":
        return values.astype(np.float64)
    return np.array([value if isinstance(value, str) else None for value in values.tolist()], dtype=object)


# ---- features ----


def features_of(columns: Sequence[Column], with_time: bool = False) -> dict[str, NDArray[Any]]:
    """Return the features as a dict of columns: identifiers left out, dates expanded.

    >>> features_of([Column("size", np.array([1.0]), "numeric")])
    {'size': array([1.])}
    """
    found: dict[str, NDArray[Any]] = {}
    for column in columns:
        if column.kind == "date":
            found |= expand_date(column.name, column.values, with_time)
        elif column.kind != "identifier":
            found[column.name] = column.values
    return found


def find_column(columns: Mapping[str, Any], name: str, what: str) -> Any:
    """Return a column by name; raise DataError with the name that was meant.

    >>> find_column({"color": 1}, "color", "target")
    1
    """
    if name not in columns:
        raise DataError(f"There is no {what} column {name!r}", fix=suggest_columns(name, list(columns)))
    return columns[name]
