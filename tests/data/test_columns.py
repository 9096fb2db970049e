"""Raw columns turn into numbers or categories exactly, and say where they cannot."""

import datetime
import enum
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from spinney.core.errors import InputError, InputTypeError
from spinney.data.columns import (
    LevelColumn,
    NumberColumn,
    ObjectColumn,
    float_dtype,
    has_infinity,
    to_native_floats,
)


def objects(*values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def decoded(raw):
    levels, codes = raw.levels()
    assert codes.dtype == np.int32
    return [None if code < 0 else levels[code] for code in codes]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("f2", "f4"),
        (">f2", "f4"),
        ("f4", "f4"),
        (">f4", "f4"),
        ("f8", "f8"),
        ("g", "f8"),
        ("i1", "f8"),
        ("?", "f8"),
    ],
)
def test_numbers_are_kept_in_the_least_type_that_loses_nothing(given, kept):
    assert float_dtype(np.dtype(given)) == np.dtype(kept)
    assert to_native_floats(np.zeros(2, given)).dtype == np.dtype(kept)


def test_numbers_that_are_fine_are_not_copied_and_misaligned_ones_are():
    fine = np.arange(12.0).reshape(3, 4)[:, ::2]
    assert to_native_floats(fine) is fine
    misaligned = np.frombuffer(bytes(17), dtype=np.uint8)[1:].view(np.float64)
    assert not misaligned.flags.aligned
    assert to_native_floats(misaligned).flags.aligned


def test_masking_does_not_touch_the_input():
    values = np.array([1.0, 2.0])
    floats = to_native_floats(values, np.array([False, True]))
    assert values.tolist() == [1.0, 2.0] and np.isnan(floats[1])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("place", [(0, 0), (-1, -1), (123_456, 1)])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinity_is_found_anywhere_in_a_great_array(order, place, value):
    X = np.zeros((200_000, 3), np.float32, order=order)
    X[0, 1] = np.nan
    X[5] = np.finfo(np.float32).max
    assert not has_infinity(X)
    X[place] = value
    assert has_infinity(X) and has_infinity(X[::-1]) and has_infinity(X[:, ::-1])


def test_the_infinite_row_is_named():
    with pytest.raises(InputError, match=r"Input X contains infinity.*column 'a', row 2"):
        NumberColumn(np.array([1.0, np.nan, -np.inf]), "a").numbers()


def test_number_levels_are_sorted_exact_and_whole_where_they_can_be():
    great = 2**63 - 1
    assert decoded(NumberColumn(np.array([great, great - 1, great]), 0)) == [great, great - 1, great]
    assert NumberColumn(np.array([3.0, np.nan, 1.0]), 0).levels()[0] == [1, 3]
    assert all(type(level) is int for level in NumberColumn(np.array([3.0, 1.0]), 0).levels()[0])
    assert decoded(NumberColumn(np.array([0.5, 1.0, np.nan]), 0)) == [0.5, 1.0, None]
    assert decoded(NumberColumn(np.array([5, 6]), 0, np.array([True, False]))) == [None, 6]
    assert decoded(NumberColumn(np.array([True, False]), 0)) == [True, False]
    with pytest.raises(InputError, match="row 1"):
        NumberColumn(np.array([0.5, np.inf]), 0).levels()


class _Named(str, enum.Enum):  # noqa: UP042 - StrEnum prints its value, this prints its name
    RED = "red"


class NAType:
    """Stands for the missing value of a library that is not installed."""


@pytest.mark.parametrize(
    ("values", "categorical"),
    [
        ((1, 2.5, None), False),
        (("a", None, float("nan")), True),
        ((True, None, float("nan")), True),
        ((np.True_, False), True),
        ((True, 2), False),
        ((True, 0.5), False),
        ((None, None), False),
        ((float("nan"),), False),
        ((b"x",), True),
        ((Decimal("1.5"), Fraction(1, 3)), False),
        ((NAType(), "a"), True),
    ],
)
def test_objects_are_categorical_if_text_or_nothing_but_booleans(values, categorical):
    assert ObjectColumn(objects(*values), 0).categorical is categorical


def test_object_numbers_of_every_kind_become_floats():
    values = (1, 2.5, None, np.float32(0.5), Decimal("1.25"), Fraction(1, 4), True, np.int8(-3), NAType())
    expected = [1, 2.5, np.nan, 0.5, 1.25, 0.25, 1, -3, np.nan]
    np.testing.assert_array_equal(ObjectColumn(objects(*values), 0).numbers(), expected)


def test_object_levels_are_plain_python_values():
    values = ("a", _Named.RED, np.str_("b"), None, float("nan"), NAType(), "a")
    levels, codes = ObjectColumn(objects(*values), 0).levels()
    assert levels == ["a", "red", "b"] and codes.tolist() == [0, 1, 2, -1, -1, -1, 0]
    assert {type(level) for level in levels} == {str}
    levels, _ = ObjectColumn(
        objects(np.int64(7), np.True_, np.float64(2.5), Decimal("0.5"), 10**30), 0
    ).levels()
    assert [type(level) for level in levels] == [int, bool, float, float, int]


@pytest.mark.parametrize("value", [10**400, Decimal("1e400"), float("inf"), Fraction(10**400), -(10**400)])
def test_objects_beyond_float64_are_infinities(value):
    with pytest.raises(InputError, match=r"infinity or a value too large.*column 'n', row 1"):
        ObjectColumn(objects(1.0, value), "n").numbers()


@pytest.mark.parametrize(
    ("value", "error", "match"),
    [
        ({"a": 1}, InputTypeError, "argument must be .* string.* number.*'dict'"),
        ([1], InputTypeError, "'list'"),
        (np.ones(2), InputTypeError, "'ndarray'"),
        (object(), InputTypeError, "'object'"),
        (1j, InputError, "Complex data not supported"),
        (np.complex64(1), InputError, "Complex data not supported"),
        (datetime.datetime(2020, 1, 1), InputError, "Convert the column first"),
        (datetime.timedelta(1), InputError, "Convert the column first"),
        (np.datetime64("2020-01-01"), InputError, "Convert the column first"),
        (np.timedelta64(1, "D"), InputError, "Convert the column first"),
    ],
)
def test_objects_that_are_no_values_are_named(value, error, match):
    raw = ObjectColumn(objects(1.0, value), "odd")
    for read in (raw.numbers, raw.levels, lambda: raw.categorical):
        with pytest.raises(error, match=f"{match}(.|\n)*column 'odd', row 1|column 'odd', row 1.*{match}"):
            read()


def test_text_is_no_number():
    with pytest.raises(InputError, match="text 'many' where numbers are expected in column 'n', row 1"):
        ObjectColumn(objects(1, "many"), "n").numbers()


@pytest.mark.parametrize("read", ["numbers", "levels"])
def test_a_signaling_nan_is_an_error_of_ours(read):
    with pytest.raises((InputError, InputTypeError), match="column 0"):
        getattr(ObjectColumn(objects(Decimal("sNaN")), 0), read)()


def test_coded_columns_are_read_by_value():
    raw = LevelColumn(objects(5, 3, None), np.array([1, 0, -1, 2, 1]), 0, declared=True)
    assert decoded(raw) == [3, 5, None, None, 3]
    np.testing.assert_array_equal(raw.numbers(), [3, 5, np.nan, np.nan, 3])
    with pytest.raises(InputError, match="column 'c', row 2"):
        LevelColumn(objects(1, "a"), np.array([0, 0, 1]), "c", declared=True).numbers()
