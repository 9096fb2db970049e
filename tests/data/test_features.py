"""A schema's plain data comes back the same, and a damaged one is refused."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.core.errors import ModelFileError
from spinney.data import Feature, Schema, read_table
from spinney.data.features import features_from_state


def categorical(*values, name="x0"):
    return Feature(name, "categorical", values, "int32")


@pytest.mark.parametrize(
    "features",
    [
        [Feature("x0", "numeric", (), "float32"), Feature("x1", "numeric", (), "float64")],
        [categorical("乌黑", "", "a\x00b")],
        [categorical(1, -5, 2**62)],
        [categorical(2**80, -(2**80), 0)],
        [categorical(0.5, -0.0, 1e308)],
        [categorical(False, True)],
        [categorical(b"\x00\xff", b"")],
        [categorical(1, 2.5, False)],
        [categorical("a", 1, b"a")],
        [categorical()],
        [replace(categorical("a"), has_missing=True), Feature("x1", "numeric", (), "float64")],
        [categorical("a"), Feature("x1", "numeric", (), "float64", has_missing=True)],
    ],
)
def test_a_schema_comes_back_the_same_to_the_type(features):
    schema = Schema(tuple(features), has_names=False)
    again = Schema.from_state(copy.deepcopy(schema.to_state()))
    assert again == schema
    for one, other in zip(again.features, schema.features, strict=True):
        assert [type(value) for value in one.categories] == [type(value) for value in other.categories]


def test_names_come_back():
    schema = Schema(
        (categorical("u", name="色泽"), Feature("size", "numeric", (), "float64")), has_names=True
    )
    assert Schema.from_state(schema.to_state()) == schema


def test_the_state_survives_a_model_file():
    container = pytest.importorskip("spinney.io.container")
    rows = [["a", 1.5, True, b"x", 2**70], ["b", None, None, b"", 1]]
    schema = read_table(rows, categorical_features=[4]).schema
    assert Schema.from_state(container.decode(container.encode(schema.to_state()))) == schema


STATE = Schema(
    (
        categorical("u", "v", name="a"),
        Feature("b", "numeric", (), "float64"),
        categorical(1, 2, name="c"),
    ),
    has_names=True,
).to_state()


@pytest.mark.parametrize(
    "changes",
    [
        {"n_features": 0},
        {"n_features": -1},
        {"n_features": 2},
        {"n_features": 10**9},
        {"n_features": True},
        {"n_features": 3.0},
        {"n_features": None},
        {"names": ["a", "b"]},
        {"names": ["a", "b", "b"]},
        {"names": ["a", "b", 3]},
        {"names": "abc"},
        {"dtypes": np.array([2, 1, 3], np.uint8)},
        {"dtypes": np.array([2, 1, 2], np.int64)},
        {"dtypes": np.array([[2, 1, 2]], np.uint8)},
        {"dtypes": np.array([1, 1, 1], np.uint8)},
        {"dtypes": [2, 1, 2]},
        {"dtypes": np.array([], np.uint8)},
        {"categories": []},
        {"categories": None},
        {"categories": [["u"], ["v"], ["w"]]},
        {"categories": [["u", "u"], [1]]},
        {"categories": [["u"], [1, True]]},
        {"categories": [["u"], [None]]},
        {"categories": [["u"], [[1]]]},
        {"categories": [["u"], [float("nan")]]},
        {"categories": [["u"], "uv"]},
        {"categories": [["u"], np.array([1, 1])]},
        {"categories": [["u"], np.array([[1, 2]])]},
        {"categories": [["u"], np.array([np.inf])]},
        {"categories": [["u"], np.array([np.nan])]},
        {"categories": [["u"], np.array(["a"])]},
        {"categories": [["u"], np.array([object()])]},
        {"categories": [["u"], np.array([1j])]},
        {"has_missing": np.array([True, False])},
        {"has_missing": np.array([[True, False, True]])},
        {"has_missing": np.array([1, 0, 1], np.uint8)},
        {"has_missing": [True, False, True]},
        {"has_missing": None},
        {"more": 1},
    ],
)
def test_a_damaged_state_is_refused(changes):
    with pytest.raises(ModelFileError, match="model file is damaged"):
        Schema.from_state({**STATE, **changes})


@pytest.mark.parametrize("state", [None, [], "schema", {}, {"n_features": 1}, {**STATE, 3: 4}])
def test_what_is_no_state_is_refused(state):
    with pytest.raises(ModelFileError):
        Schema.from_state(state)


PLAIN = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=3),
        st.binary(max_size=3),
        st.sampled_from([np.arange(3), np.zeros(3, np.uint8), np.ones((2, 2)), np.array(["a"]), np.array(5)]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=6,
)


@settings(max_examples=250, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(STATE)), PLAIN, max_size=4))
def test_any_change_is_refused_or_gives_a_sound_schema(changes):
    try:
        features, has_names = features_from_state({**STATE, **changes})
    except ModelFileError:
        return
    assert len(features) == len({feature.name for feature in features}) and type(has_names) is bool
    assert all(type(feature.has_missing) is bool for feature in features)
    assert all(bool(feature.categories) <= (feature.dtype == "int32") for feature in features)
