"""Dates as features: the parts of a date, missing dates, what new rows may look like, errors."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from spinney import DateExpander, GradientBoostingRegressor, expand_dates
from spinney.data.dates import PARTS
from spinney.io import dumps, loads

MOMENTS = [datetime.datetime(2026, 11, 17, 8, 30), None, datetime.datetime(2024, 2, 29, 23, 59, 59)]
DAYS = [one and one.date() for one in MOMENTS]
EXPECTED = {
    "year": [2026, 2024], "quarter": [4, 1], "month": [11, 2], "week": [47, 9], "day": [17, 29],
    "day_of_week": ["Tue", "Thu"], "day_of_year": [321, 60], "is_weekend": [0, 0],
    "hour": [8, 23], "minute": [30, 59], "second": [0, 59],
    "elapsed": [20774 + 8.5 / 24, 19783 - 1 / 86400],
}  # fmt: skip
FRAMES = {
    "pandas": lambda columns: pd.DataFrame(columns, index=[5, 6, 7]),
    "polars": pl.DataFrame,
    "arrow": pa.table,
}


def as_lists(frame):
    return frame.to_dict("list") if isinstance(frame, pd.DataFrame) else frame.to_pydict() if isinstance(frame, pa.Table) else frame.to_dict(as_series=False)  # fmt: skip # noqa: E501


@pytest.mark.parametrize("library", FRAMES)
def test_the_parts_of_a_moment_are_those_of_the_calendar(library):
    frame = FRAMES[library]({"t": MOMENTS, "price": [1.0, 2.0, 3.0]})
    found = expand_dates(frame, parts=PARTS)
    assert type(found) is type(frame)
    columns = as_lists(found)
    assert list(columns) == [*(f"t_{part}" for part in PARTS), "price"]
    for part, expected in EXPECTED.items():
        values = columns[f"t_{part}"]
        assert pd.isna(values[1]), part
        if part == "day_of_week":
            assert values[::2] == expected
        else:
            assert values[::2] == pytest.approx(expected, abs=1e-9), part


@pytest.mark.parametrize("library", FRAMES)
def test_a_date_has_no_hour_and_a_duration_is_a_number_of_days(library):
    lengths = [datetime.timedelta(hours=12), None, datetime.timedelta(days=2)]
    columns = as_lists(expand_dates(FRAMES[library]({"day": DAYS, "length": lengths})))
    assert list(columns) == ["day_year", "day_month", "day_day", "day_day_of_week", "day_elapsed", "length_elapsed"]  # fmt: skip # noqa: E501
    assert columns["day_elapsed"][0] == 20774 and columns["length_elapsed"][::2] == [0.5, 2.0]


def test_weekends_and_time_zones():
    week = pd.DataFrame({"t": pd.date_range("2026-11-16", periods=7)})
    assert expand_dates(week, parts=["is_weekend"])["t_is_weekend"].tolist() == [0.0] * 5 + [1.0] * 2
    tokyo = pd.DataFrame({"t": pd.to_datetime(["2026-11-17 06:00"]).tz_localize("Asia/Tokyo")})
    row = expand_dates(tokyo).iloc[0]
    assert (row.t_hour, row.t_day, row.t_elapsed) == (6, 17, 20773.875)  # its own clock; elapsed in UTC


def test_new_rows_may_have_text_and_other_types_and_get_the_same_columns():
    rows = pd.DataFrame({"t": pd.to_datetime(MOMENTS), "price": [1.0, 2.0, 3.0]}, index=[5, 6, 7])
    expander = DateExpander().fit(rows)
    expected = expander.transform(rows)
    assert expected.index.tolist() == [5, 6, 7]
    assert expander.get_feature_names_out().tolist() == expected.columns.tolist()
    text = rows.assign(t=["2026-11-17T08:30", None, "2024-02-29 23:59:59"])
    pd.testing.assert_frame_equal(expander.transform(text), expected)
    days = expander.transform(pl.DataFrame({"t": DAYS, "price": [1.0, 2.0, 3.0]}))
    assert days["t_hour"].to_list()[::2] == [0.0, 0.0]
    again = loads(dumps(expander))
    pd.testing.assert_frame_equal(again.transform(text), expected)
    kept = DateExpander(keep=True, parts=["year"]).fit_transform(rows)
    assert kept.columns.tolist() == ["t", "t_year", "price"]


def test_named_columns_of_text_are_read_and_others_are_left_alone():
    frame = pd.DataFrame({"a": ["2026-01-02"], "b": ["2026-01-02"]})
    assert expand_dates(frame).columns.tolist() == ["a", "b"]
    assert expand_dates(frame, ["a"], ["month"]).iloc[0].tolist() == [1.0, "2026-01-02"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: expand_dates(np.zeros((2, 2))), "data frame"),
        (lambda: expand_dates(pd.DataFrame({"a": [1]}), ["b"]), "'b'"),
        (lambda: expand_dates(pd.DataFrame({"a": [1]}), ["a"]), "column 'a'"),
        (lambda: expand_dates(pd.DataFrame({"a": ["17.11.2026"]}), ["a"]), "column 'a', row 0"),
        (lambda: expand_dates(pd.DataFrame({"a": [1]}), parts=["century"]), "day_of_week"),
        (lambda: expand_dates(pd.DataFrame({"a": [1]}), parts="year"), "list"),
        (
            lambda: (
                DateExpander().fit(pd.DataFrame({"t": pd.to_datetime(MOMENTS)})).transform(pd.DataFrame())
            ),
            "'t'",
        ),
    ],
)
def test_errors_name_the_column_and_the_remedy(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_a_model_learns_from_expanded_dates_and_names_the_remedy_without():
    days = pd.date_range("2024-01-01", periods=730)
    X = pd.DataFrame({"day": days})
    y = (days.day_of_week >= 5) * 2.0 + (days.month == 12) * 3.0
    model = GradientBoostingRegressor(n_estimators=60, early_stopping=False)
    with pytest.raises(ValueError, match="expand_dates"):
        model.fit(X, y)
    assert model.fit(expand_dates(X), y).score(expand_dates(X), y) > 0.98
