"""Every error says what, where and how to mend it, and survives a trip to another process."""

import copy
import pickle

import pytest

from spinney.core.errors import (
    InputError,
    InputTypeError,
    ModelFileError,
    SpinneyError,
    UnseenCategoryError,
    show_column,
    show_value,
    show_values,
)


def test_a_message_has_problem_place_and_fix():
    error = InputError("A value is negative", column="weight", row=3, fix="Use zero.")
    assert str(error) == "A value is negative in column 'weight', row 3. Use zero."
    assert (error.column, error.row) == ("weight", 3)


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ({}, "Bad"),
        ({"column": 0}, "Bad in column 0"),
        ({"row": 2}, "Bad in row 2"),
        ({"fix": "Do so."}, "Bad. Do so."),
    ],
)
def test_places_that_are_unknown_are_left_out(places, message):
    assert str(SpinneyError("Bad", **places)) == message


def test_errors_are_caught_as_the_built_in_kind():
    assert issubclass(InputError, ValueError) and issubclass(InputTypeError, TypeError)
    assert issubclass(InputTypeError, ValueError)
    assert issubclass(ModelFileError, ValueError) and issubclass(UnseenCategoryError, InputError)
    for kind in (InputError, InputTypeError, UnseenCategoryError, ModelFileError):
        assert issubclass(kind, SpinneyError)


@pytest.mark.parametrize(
    "error",
    [
        InputError("Bad", column="a", row=1, fix="Mend."),
        InputTypeError("Bad", column=0),
        ModelFileError("Damaged"),
        UnseenCategoryError("color", 4, "pink", ["black", "green"]),
    ],
)
@pytest.mark.parametrize("again", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
def test_errors_travel_between_processes(error, again):
    other = again(error)
    assert type(other) is type(error)
    assert str(other) == str(error)
    assert (other.column, other.row) == (error.column, error.row)


def test_an_unseen_category_is_named_with_those_that_are_known():
    error = UnseenCategoryError("color", 4, "pink", [f"c{i}" for i in range(20)])
    assert error.value == "pink"
    for part in ("'pink'", "column 'color'", "row 4", "'c0'", "20 in all"):
        assert part in str(error)
    assert "'c15'" not in str(error)


def test_hostile_values_stay_short_and_on_their_line():
    assert "\n" not in show_column("a\nb\x1b[31m") and "\x1b" not in show_column("a\nb\x1b[31m")
    assert len(show_value("x" * 10_000)) <= 60
    assert show_values([]) == ""
