"""Dates as features: columns of dates, times and durations turned into numbers and categories."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from spinney.core.errors import InputError, InputTypeError, show_value
from spinney.io import Persistent, require

Kind = Literal["date", "datetime", "time", "duration"]

_WEEKDAYS = np.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], dtype=object)
_OF_DATE = ("year", "quarter", "month", "week", "day", "day_of_week", "day_of_year", "is_weekend", "elapsed")
_OF_TIME = ("hour", "minute", "second")
_OF_KIND: Mapping[Kind, tuple[str, ...]] = {
    "date": _OF_DATE,
    "datetime": _OF_DATE + _OF_TIME,
    "time": _OF_TIME,
    "duration": ("elapsed",),
}
PARTS = _OF_DATE + _OF_TIME
"""Names of the parts that a column can be turned into."""

DEFAULT_PARTS = ("year", "month", "day", "day_of_week", "hour", "minute", "elapsed")
"""Parts that a column is turned into unless others are named."""

_SECONDS_PER_DAY = 86_400.0


def expand_dates(
    X: Any, columns: Sequence[str] | None = None, parts: Sequence[str] = DEFAULT_PARTS, keep: bool = False
) -> Any:
    """Turn the columns of dates, times and durations of a data frame into numbers and categories.

    The new columns depend on the types of the columns alone, never on their values, so that training rows
    and new rows get the same ones. A missing date has missing parts. Use `DateExpander` in a pipeline, or
    where new rows may have their dates as text.

    Parameters
    ----------
    X : data frame
        A data frame of pandas, polars or Arrow.
    columns : sequence of str or None, default=None
        Columns to expand; None is all columns of dates, times and durations. Named columns of text are read
        as dates in ISO format (2026-11-17, 2026-11-17 08:30:00; with an offset: in UTC).
    parts : sequence of str
        What to make of a column: "year", "quarter", "month", "week" (of the ISO year), "day", "day_of_week"
        (a category, "Mon" to "Sun"), "day_of_year", "is_weekend", "hour", "minute", "second", and "elapsed",
        days since 1970-01-01 00:00 UTC with fractions, for durations days. A column gets those that its type
        has: a date has no hour, and a time of day nothing but hour, minute and second. By default year,
        month, day, day_of_week, hour, minute and elapsed.
    keep : bool, default=False
        Whether the columns themselves stay in the frame, where an estimator would refuse them.

    Returns
    -------
    data frame
        A frame of the same library. The parts of "sold" are "sold_year", "sold_month", … in its place.

    Examples
    --------
    >>> import pandas as pd
    >>> sales = pd.DataFrame({"sold": pd.to_datetime(["2026-11-17", None]), "price": [3.0, 4.0]})
    >>> expand_dates(sales, parts=["month", "day_of_week"]).columns.tolist()
    ['sold_month', 'sold_day_of_week', 'price']
    """
    return DateExpander(columns, parts=parts, keep=keep).fit_transform(X)


class DateExpander(TransformerMixin, BaseEstimator, Persistent):  # type: ignore[misc]
    """Transformer that turns columns of dates, times and durations into numbers and categories.

    It remembers which columns are dates: new rows may have them as text in ISO format, and rows without such
    a column are refused.

    Parameters
    ----------
    columns : sequence of str or None, default=None
        Columns to expand; None is all columns of dates, times and durations. Named columns of text are read
        as dates in ISO format.
    parts : sequence of str
        What to make of a column, see `expand_dates`.
    keep : bool, default=False
        Whether the columns themselves stay in the frame.

    Attributes
    ----------
    kinds_ : dict
        Kind of every expanded column: "date", "datetime", "time" or "duration".
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from spinney import DecisionTreeClassifier
    >>> X = pd.DataFrame({"sold": pd.date_range("2026-11-02", periods=14)})
    >>> model = make_pipeline(DateExpander(parts=["is_weekend"]), DecisionTreeClassifier())
    >>> model = model.fit(X, X["sold"].dt.day_of_week >= 5)
    >>> model.predict(pd.DataFrame({"sold": ["2026-12-25", "2026-12-26"]})).tolist()
    [False, True]
    """

    _required_attributes: ClassVar[tuple[str, ...]] = ("kinds_", "n_features_in_", "feature_names_in_")

    def __init__(
        self,
        columns: Sequence[str] | None = None,
        *,
        parts: Sequence[str] = DEFAULT_PARTS,
        keep: bool = False,
    ) -> None:
        self.columns, self.parts, self.keep = columns, parts, keep

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the columns of dates.

        Parameters
        ----------
        X : data frame
            Rows.
        y : object, default=None
            Ignored.

        Returns
        -------
        self
            This transformer.
        """
        _check_parts(self.parts)
        frame = _open_frame(X)
        _check_columns(self.columns, frame.columns)
        series = {name: frame[name] for name in (self.columns or frame.columns)}
        kinds = {name: _kind_of(values, named=self.columns is not None) for name, values in series.items()}
        self.kinds_ = {name: kind for name, kind in kinds.items() if kind is not None}
        self.n_features_in_ = len(frame.columns)
        self.feature_names_in_ = np.array(frame.columns, dtype=object)
        return self

    def transform(self, X: Any) -> Any:
        """Expand the columns of dates.

        Parameters
        ----------
        X : data frame
            Rows with the columns of the fit.

        Returns
        -------
        data frame
            A frame of the same library.
        """
        check_is_fitted(self)
        frame = _open_frame(X)
        missing = [name for name in self.kinds_ if name not in frame.columns]
        if missing:
            raise InputError(f"X has no column {show_value(missing[0])}, which was a date during fit")
        columns = []
        for name in frame.columns:
            kind = self.kinds_.get(name)
            if kind is None or self.keep:
                columns.append(frame[name])
            if kind is not None:
                columns += _expand(_as_kind(frame[name], kind), kind, self._parts_of(kind), frame)
        return nw.to_native(frame.select(*columns))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns after `transform`.

        Parameters
        ----------
        input_features : object, default=None
            Ignored: names are those of the fit.

        Returns
        -------
        ndarray of str
            Names.
        """
        check_is_fitted(self)
        names: list[str] = []
        for name in self.feature_names_in_:
            kind = self.kinds_.get(name)
            names += [name] if kind is None or self.keep else []
            names += [f"{name}_{part}" for part in self._parts_of(kind)] if kind is not None else []
        return np.array(names, dtype=object)

    def _parts_of(self, kind: Kind) -> list[str]:
        return [part for part in self.parts if part in _OF_KIND[kind]]

    def _check_state(self) -> None:
        if hasattr(self, "kinds_"):
            names: list[Any] = getattr(self.feature_names_in_, "tolist", list)()
            valid = isinstance(self.kinds_, dict) and all(isinstance(name, str) for name in names)
            require(
                valid and len(names) == self.n_features_in_, "the columns of a DateExpander are not names"
            )
            known = all(name in names and kind in _OF_KIND for name, kind in self.kinds_.items())
            require(known, "a DateExpander expands columns that it does not have")
            _check_parts(self.parts)


def _check_parts(parts: Sequence[str]) -> None:
    unknown = [part for part in parts if part not in PARTS]
    if isinstance(parts, str) or unknown or not parts:
        raise InputError(
            f"parts={show_value(parts)} must be a list of parts", fix=f"Parts are {', '.join(PARTS)}."
        )


def _check_columns(columns: Sequence[str] | None, known: Sequence[str]) -> None:
    unknown = [name for name in columns or () if name not in known]
    if isinstance(columns, str) or unknown:
        raise InputError(
            f"X has no column {show_value(columns if isinstance(columns, str) else unknown[0])}",
            fix="Name columns of X, as a list.",
        )


def _open_frame(X: Any) -> nw.DataFrame[Any]:
    if not nw.dependencies.is_into_dataframe(X):
        raise InputTypeError(
            f"Dates are expanded in data frames, and X is a {type(X).__name__}",
            fix="Pass a data frame of pandas, polars or Arrow.",
        )
    return nw.from_native(X, eager_only=True)


def _kind_of(series: nw.Series[Any], named: bool) -> Kind | None:
    """Return the kind of a column, None if it holds no dates; a named column must hold some."""
    dtype = series.dtype
    found = next((kind for known, kind in _KINDS_OF_TYPES if dtype == known), None)
    if dtype == nw.Object:
        first = next((value for value in series.to_list() if isinstance(value, _OBJECTS)), None)
        found = next((kind for cls, kind in _KINDS_OF_OBJECTS if isinstance(first, cls)), None)
    if found is not None or not named:
        return found
    if dtype in (nw.String, nw.Object, nw.Categorical, nw.Enum):
        return "datetime"
    raise InputError(f"The column holds {dtype}, not dates", column=series.name)


_KINDS_OF_TYPES: tuple[tuple[Any, Kind], ...] = (
    (nw.Date, "date"),
    (nw.Datetime, "datetime"),
    (nw.Time, "time"),
    (nw.Duration, "duration"),
)
_KINDS_OF_OBJECTS: tuple[tuple[type, Kind], ...] = (
    (datetime.datetime, "datetime"),
    (datetime.date, "date"),
    (datetime.time, "time"),
    (datetime.timedelta, "duration"),
)
_OBJECTS = tuple(cls for cls, _ in _KINDS_OF_OBJECTS)
_READERS: Mapping[Kind, Callable[[str], Any]] = {
    "date": datetime.datetime.fromisoformat,
    "datetime": datetime.datetime.fromisoformat,
    "time": datetime.time.fromisoformat,
}


def _as_kind(series: nw.Series[Any], kind: Kind) -> nw.Series[Any]:
    """Return a column of dates as it is, and read one of text or objects."""
    if series.dtype == nw.Date and kind == "datetime":
        return series.cast(nw.Datetime("us"))
    if series.dtype in (nw.Date, nw.Datetime, nw.Duration):
        return series
    values = [_read(value, kind, series.name, row) for row, value in enumerate(series.to_list())]
    dtype = nw.Duration("us") if kind == "duration" else nw.Datetime("us")
    return nw.new_series(series.name, values, dtype, backend=series.implementation)


def _read(value: Any, kind: Kind, column: str, row: int) -> Any:
    """Return a value of a column of text or objects as a datetime, a timedelta or None."""
    if value is None or value != value or value == "":  # noqa: PLR0124 (NaN, NaT)
        return None
    if isinstance(value, str) and kind in _READERS:
        try:
            value = _READERS[kind](value.strip())
        except ValueError:
            raise InputError(
                f"{show_value(value)} is not a date in ISO format", column=column, row=row,
                fix="Write dates as 2026-11-17 or 2026-11-17 08:30:00, or convert the column first.",
            ) from None  # fmt: skip
    if isinstance(value, datetime.time):
        return datetime.datetime.combine(datetime.date(1970, 1, 1), value)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time())
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.UTC).replace(tzinfo=None)
    if not isinstance(value, datetime.datetime | datetime.timedelta):
        raise InputError(f"{show_value(value)} is not a {kind}", column=column, row=row)
    return value


def _expand(
    series: nw.Series[Any], kind: Kind, parts: Sequence[str], frame: nw.DataFrame[Any]
) -> list[nw.Series[Any]]:
    """Return the parts of a column as columns."""
    columns = []
    for part in parts:
        values = _part(series, kind, part)
        columns.append(
            nw.new_series(
                f"{series.name}_{part}", values, nw.String if part == "day_of_week" else nw.Float64,
                backend=frame.implementation,
            )
        )  # fmt: skip
        if nw.dependencies.is_pandas_dataframe(nw.to_native(frame)):
            columns[-1] = nw.maybe_set_index(columns[-1], index=nw.maybe_get_index(frame))
    return columns


def _part(series: nw.Series[Any], kind: Kind, part: str) -> Any:
    """Return one part of a column as float64 with NaN for missing, or as text with None for missing."""
    if part == "elapsed":
        return _elapsed(series, kind)
    methods = {
        "day_of_week": "weekday",
        "is_weekend": "weekday",
        "day_of_year": "ordinal_day",
        "quarter": "month",
    }
    if part == "week":
        return _floats(series.dt.to_string("%V").cast(nw.Float64)) if len(series) else np.zeros(0)
    numbers = _floats(getattr(series.dt, methods.get(part, part))())
    if part == "quarter":
        return np.ceil(numbers / 3)
    if part == "is_weekend":
        return np.where(np.isnan(numbers), np.nan, numbers >= 6)
    if part == "day_of_week":
        missing = np.isnan(numbers)
        names = _WEEKDAYS[np.where(missing, 1, numbers).astype(np.int64) - 1]
        return [None if gap else name for gap, name in zip(missing, names, strict=True)]
    return numbers


def _elapsed(series: nw.Series[Any], kind: Kind) -> NDArray[np.float64]:
    """Return days since 1970 in UTC, or the days of a duration."""
    if kind == "duration":
        return _floats(series.dt.total_microseconds()) / (1e6 * _SECONDS_PER_DAY)
    return _floats(series.dt.timestamp("us")) / (1e6 * _SECONDS_PER_DAY)


def _floats(series: nw.Series[Any]) -> NDArray[np.float64]:
    missing = series.is_null().to_numpy()
    values = series.fill_null(0).to_numpy().astype(np.float64)
    return np.where(missing | np.isnan(values), np.nan, values)
