"""A schema reads new data as the first data was read, by name and by value, whatever it comes in."""

import datetime
import timeit
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from spinney.core.errors import InputError, InputTypeError, SpinneyError, UnseenCategoryError
from spinney.data import Feature, Schema, Table, read_table

# --- what is learned ---------------------------------------------------------------------------------------


def test_a_schema_describes_its_features():
    schema = read_table(pd.DataFrame({"size": [1.5, 2.0], "color": ["red", "blue"]})).schema
    assert schema.features == (
        Feature("size", "numeric", (), "float64"),
        Feature("color", "categorical", ("blue", "red"), "int32"),
    )
    assert schema.has_names and schema.names == ("size", "color") and schema.n_features == 2
    assert schema.categorical.tolist() == [False, True]


@pytest.mark.parametrize(
    "chosen",
    [
        ["code"],
        ("code",),
        [1],
        {1},
        ["code", 1],
        range(1, 2),
        np.array([1]),
        np.array(["code"]),
        pd.Index(["code"]),
        [False, True],
        np.array([False, True]),
        pd.Series([False, True]),
    ],
)
def test_numbers_become_categories_on_request(chosen):
    table = read_table(
        pd.DataFrame({"size": [1.5, 2.0, 3.0], "code": [7, 3, 7]}), categorical_features=chosen
    )
    assert table.schema.categorical.tolist() == [False, True]
    assert table.schema.features[1].categories == (3, 7)
    assert table.column(1).tolist() == [1, 0, 1] and table.column(0).tolist() == [1.5, 2.0, 3.0]


@pytest.mark.parametrize("chosen", [None, "from_dtype", [], [False, False], np.array([], int)])
def test_without_a_request_the_type_decides(chosen):
    X = np.array([[1, 2], [3, 4]])
    table = read_table(X, categorical_features=chosen)
    assert not table.schema.categorical.any() and table.block is not None


def test_a_request_adds_to_what_the_types_say():
    frame = pl.DataFrame({"a": ["u", "v"], "b": [1, 2], "c": [1, 2]})
    assert read_table(frame, categorical_features=["b"]).schema.categorical.tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("chosen", "error", "match"),
    [
        (["colour"], InputError, "'colour'.*Did you mean 'color'"),
        (["zzz"], InputError, "'zzz'.*Columns: 'color', 'size'"),
        ([2], InputError, "position 2, but X has 2 features.*0 to 1"),
        ([-1], InputError, "position -1"),
        ([True], InputError, "mask of 1 values, but X has 2 features"),
        ([[0]], InputTypeError, r"names or positions, not \[0\]"),
        (np.array([[0]]), InputError, "one dimension, not 2"),
        ([0.5], InputTypeError, "0.5"),
        ("color", InputTypeError, "a list of names or positions, or a mask, not 'color'"),
        (3, InputTypeError, "not 3"),
        ([None], InputTypeError, "None"),
    ],
)
def test_a_request_that_fits_no_column_is_named(chosen, error, match):
    with pytest.raises(error, match=match):
        read_table(pd.DataFrame({"color": [1, 2], "size": [1, 2]}), categorical_features=chosen)


def test_names_cannot_be_requested_where_there_are_none():
    with pytest.raises(InputError, match=r"'a', but the columns of X have no names"):
        read_table(np.eye(2), categorical_features=["a"])


# --- categories by value -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "new",
    [
        pl.DataFrame({"c": pl.Series(["b", "z", "a", None], dtype=pl.Categorical)}),
        pl.DataFrame({"c": pl.Series(["b", "z", "a", None], dtype=pl.Enum(["z", "b", "a"]))}),
        pd.DataFrame({"c": pd.Categorical(["b", "z", "a", None], categories=["z", "b", "a"])}),
        pd.DataFrame({"c": ["b", "z", "a", None]}),
        pa.table({"c": pa.array(["b", "z", "a", None]).dictionary_encode()}),
    ],
)
def test_codes_of_another_frame_do_not_matter(new):
    pl.Series(["noise", "b"], dtype=pl.Categorical)
    fitted = read_table(pd.DataFrame({"c": pd.Categorical(["a", "b", "c"])}))
    assert fitted.schema.read(new).column(0).tolist() == [1, -1, 0, -1]


@pytest.mark.parametrize(
    "new",
    [
        np.array([[1], [0]]),
        np.array([[1.0], [0.0]], ">f4"),
        np.array([[True], [False]]),
        np.array([[1], [0]], dtype=np.uint8),
        [[np.int64(1)], [np.float32(0)]],
        [[Decimal(1)], [False]],
        np.array([[1], [0]], dtype=object),
        sparse.csr_array(np.array([[1], [0]])),
    ],
)
@pytest.mark.parametrize(
    "fitted", [np.array([[1], [0]]), np.array([[1.0], [0.0]]), np.array([[True], [False]])]
)
def test_equal_numbers_of_any_type_are_one_category(fitted, new):
    schema = read_table(fitted, categorical_features=[0]).schema
    assert schema.read(new, unseen="error").column(0).tolist() == [1, 0]


def test_text_and_numbers_are_never_equal():
    schema = read_table(np.array([[1], [2]]), categorical_features=[0]).schema
    assert schema.read([["1"], [b"1"], [1]]).column(0).tolist() == [-1, -1, 0]
    schema = read_table([["1"], ["2"]]).schema
    assert schema.read([[1], ["2"]]).column(0).tolist() == [-1, 1]


@pytest.mark.parametrize("unseen", ["missing", "error"])
@pytest.mark.parametrize(
    ("fitted", "new", "match"),
    [
        (["01", "02"], [1, 2], "only numbers, such as 1, .*fitted on text, such as '01'.*'c'.*dtype=str"),
        (["a", "b"], [1.5, np.nan], "only numbers, such as 1.5, .*fitted on text"),
        (["a", "b"], [True, False], "only booleans, .*fitted on text"),
        (["a", "b"], [b"a", b"b"], "only bytes, .*fitted on text"),
        ([True, False], ["True", "False"], "only text, such as '.*', .*fitted on booleans.*map"),
        (pd.Categorical([1, 2]), ["1", "2"], "only text, such as '1', .*fitted on numbers.*astype"),
        (["a", "b"], pd.Categorical([1, 2], categories=["a", 1, 2]), "only numbers, such as 1, "),
    ],
)
def test_a_column_that_changed_its_kind_is_an_error(fitted, new, match, unseen):
    schema = read_table(pd.DataFrame({"c": fitted})).schema
    frame = pd.DataFrame({"c": new})
    many = pd.concat([frame] * 600)  # more rows than are read at one go
    for X in (frame, many, frame.astype(object)):
        with pytest.raises(InputError, match=match):
            schema.read(X, unseen)


@pytest.mark.parametrize(
    ("fitted", "new"),
    [
        (["a", "b"], [None, None]),
        (["a", "b"], np.array([np.nan, np.nan])),
        (["a", "b"], ["z", 5]),
        ([None, None], ["z", "w"]),
        (pd.Categorical([7, 8]), [1.0, True]),
        ([True, False], [5, 6]),
    ],
)
def test_values_of_the_fitted_kind_and_missing_ones_are_no_change_of_kind(fitted, new):
    fitted = (
        fitted if isinstance(fitted, pd.Categorical) else pd.Series(fitted, dtype=object).astype("category")
    )
    schema = read_table(pd.DataFrame({"c": fitted})).schema
    assert schema.read(pd.DataFrame({"c": pd.Series(new, dtype=object)})).column(0).tolist() == [-1, -1]


def test_missing_values_are_not_unseen():
    schema = read_table([["a"], ["b"]]).schema
    assert schema.read([[None], [np.nan], [pd.NA]], unseen="error").column(0).tolist() == [-1, -1, -1]
    assert schema.read(np.full((2, 1), np.nan), unseen="error").column(0).tolist() == [-1, -1]


def test_an_unseen_category_is_missing_or_an_error():
    schema = read_table(pd.DataFrame({"color": ["red", "blue", None]})).schema
    new = pd.DataFrame({"color": [None, "red", "pink", "teal"]})
    assert schema.read(new).column(0).tolist() == [-1, 1, -1, -1]
    with pytest.raises(
        UnseenCategoryError, match=r"'pink' in column 'color', row 2.*'blue', 'red'"
    ) as caught:
        schema.read(new, unseen="error")
    assert (caught.value.column, caught.value.row, caught.value.value) == ("color", 2, "pink")
    with pytest.raises(InputError, match='"missing" or "error", not \'ignore\''):
        schema.read(new, unseen="ignore")


def test_text_where_everything_was_missing_is_told_as_it_is():
    schema = read_table(pd.DataFrame({"n": pd.Series([None, None], dtype=object)})).schema
    with pytest.raises(InputError, match=r"Found text 'a'.*column 'n', row 0.*nothing but missing values"):
        schema.read(pd.DataFrame({"n": ["a", "b"]}))


def test_a_numeric_feature_stays_numeric():
    schema = read_table(pd.DataFrame({"n": [1.5, 2.5]})).schema
    for new in (
        pd.DataFrame({"n": [True, False]}),
        pd.DataFrame({"n": pd.Categorical([1, 0])}),
        pl.DataFrame({"n": [1, 0]}),
        pd.DataFrame({"n": pd.Series([1, False], dtype=object)}),
    ):
        assert schema.read(new).column(0).tolist() == [1.0, 0.0]
    assert np.isnan(schema.read(pl.DataFrame({"n": pl.Series([None], dtype=pl.String)})).column(0)).all()
    for text in (["0.5", "many"], pd.Categorical(["0.5", "many"]), pd.array(["0.5", "many"], dtype=object)):
        with pytest.raises(InputError, match=r"text '0.5' where numbers are expected in column 'n', row 0"):
            schema.read(pd.DataFrame({"n": text}))


# --- names and shapes --------------------------------------------------------------------------------------


def reference_error(fitted, new):
    """Return what scikit-learn says of new data, the words that this library follows."""
    from sklearn.tree import DecisionTreeClassifier

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            DecisionTreeClassifier().fit(fitted, [0, 1]).predict(new)
        except ValueError as error:
            return str(error)
    return str(caught[0].message)


FITTED = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})


@pytest.mark.parametrize(
    ("fitted", "new"),
    [
        (FITTED, FITTED[["b", "a"]]),
        (FITTED, FITTED[["a"]]),
        (FITTED, FITTED.assign(c=1.0)),
        (FITTED, pd.DataFrame(np.ones((2, 7)), columns=list("tuvwxyz"))),
        (FITTED, pl.DataFrame({"b": [1.0], "a": [1.0]})),
        (FITTED.to_numpy(), np.ones((2, 3))),
        (FITTED.to_numpy(), np.ones((2, 1))),
    ],
)
def test_a_mismatch_is_told_in_the_words_of_scikit_learn(fitted, new):
    schema = read_table(fitted).schema
    with pytest.raises(ValueError) as caught:
        schema.read(new, estimator_name="DecisionTreeClassifier")
    assert str(caught.value) == reference_error(fitted, new)


@pytest.mark.parametrize(("fitted", "new"), [(FITTED, FITTED.to_numpy()), (FITTED.to_numpy(), FITTED)])
def test_names_on_one_side_only_are_warned_of(fitted, new):
    schema = read_table(fitted).schema
    with pytest.warns(UserWarning) as caught:
        table = schema.read(new, estimator_name="DecisionTreeClassifier")
    assert [str(warning.message) for warning in caught] == [reference_error(fitted, new)]
    assert [column.tolist() for column in table.columns] == [[1.0, 2.0], [3.0, 4.0]]


def test_names_that_match_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(FITTED).schema.read(pl.from_pandas(FITTED))
        read_table(FITTED.to_numpy()).schema.read(pd.DataFrame(FITTED.to_numpy()))


def test_hostile_names_are_escaped_in_errors():
    with pytest.raises(InputError) as caught:
        read_table(FITTED).schema.read(pd.DataFrame({"a": [1.0], "\x1b[31mb\nc": [1.0]}))
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("X", [np.ones(2), np.ones((0, 0)), np.ones((2, 2)) * 1j, [[1, 2], [3]], None])
def test_new_data_is_checked_like_the_first(X):
    for fitted in (np.eye(2), [["a", 1.0]]):
        with pytest.raises(InputError):
            read_table(fitted).schema.read(X)


# --- the short way for plain arrays ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_plain_array_is_taken_as_it_is(dtype):
    schema = read_table(np.eye(3)).schema
    X = np.asfortranarray(np.ones((4, 3), dtype))
    X[1, 1] = np.nan
    table = schema.read(X)
    assert table.block is X and table.n_rows == 4 and table.schema is schema


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_plain_array_with_an_infinity_is_refused(value, dtype):
    X = np.zeros((1, 3), dtype)
    X[0, 2] = value
    with pytest.raises(InputError, match=r"infinity.*column 2, row 0"):
        read_table(np.eye(3)).schema.read(X)


def test_a_misaligned_array_is_copied():
    X = np.frombuffer(bytes(33), dtype=np.uint8)[1:].view(np.float64).reshape(2, 2)
    table = read_table(np.eye(2)).schema.read(X)
    assert table.block is not X and table.block.flags.aligned


def test_reading_one_plain_row_takes_microseconds():
    schema, row = read_table(np.eye(20)).schema, np.ones((1, 20))
    best = min(timeit.repeat(lambda: schema.read(row), number=200, repeat=20)) / 200
    assert best < 20e-6  # it takes 1.5; the rest is for busy machines


# --- speed of large columns --------------------------------------------------------------------------------


def test_a_million_categories_are_read_in_seconds():
    rows = np.random.default_rng(0).permutation(1_000_000).reshape(-1, 1)
    start = timeit.default_timer()
    table = read_table(rows, categorical_features=[0])
    again = table.schema.read(rows.astype(float), unseen="error")
    assert timeit.default_timer() - start < 20
    np.testing.assert_array_equal(table.column(0), rows[:, 0])
    np.testing.assert_array_equal(again.column(0), rows[:, 0])


def test_a_million_rows_of_text_are_read_in_seconds():
    codes = np.random.default_rng(0).integers(0, 1000, 1_000_000)
    frame = pl.DataFrame({"a": np.array([f"level {i:03}" for i in range(1000)])[codes]})
    start = timeit.default_timer()
    for kind in (frame, frame.to_arrow()):
        np.testing.assert_array_equal(read_table(kind).column(0), codes)
    assert timeit.default_timer() - start < 10


# --- any input at all --------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.floats(width=32),
    st.floats(),
    st.integers(),
    st.integers(min_value=2**70),
    st.booleans(),
    st.decimals(),
)
SCALARS = st.one_of(
    NUMBERS,
    st.none(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.complex_numbers(),
    st.datetimes(),
    st.dates(),
    st.timedeltas(),
    st.fractions(),
    st.just(pd.NA),
    st.just(pd.NaT),
    st.just(np.datetime64("NaT")),
    st.sampled_from(
        [np.int8(3), np.float16(2), np.str_("s"), np.bool_(True), np.longdouble(1), np.uint64(2**64 - 1)]
    ),
    st.sampled_from([{}, [], (), {1}, object(), int, np.ones(2), float, b"", datetime.time(1)]),
)
ROWS = st.integers(0, 3).flatmap(
    lambda width: st.lists(st.lists(SCALARS, min_size=width, max_size=width), max_size=4)
)


def check_table(table):
    assert isinstance(table, Table)
    for feature, column in zip(table.schema.features, table.columns, strict=True):
        assert column.shape == (table.n_rows,) and column.dtype.name == feature.dtype
        if feature.kind == "numeric":
            assert not np.isinf(column).any()
        else:
            assert len(set(feature.categories)) == len(feature.categories)
            assert column.min() >= -1 and column.max() < len(feature.categories)
            assert {type(category) for category in feature.categories} <= {str, bytes, int, float, bool}


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(ROWS, st.sampled_from(["lists", "objects", "pandas"]), st.booleans())
@pytest.mark.filterwarnings("ignore")
def test_any_rows_give_a_table_or_an_error_of_ours(rows, form, forced):
    X = rows
    if form == "objects":
        X = np.empty((len(rows), len(rows[0]) if rows else 0), dtype=object)
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                X[i, j] = value
    elif form == "pandas":
        X = pd.DataFrame(rows, dtype=object)
    try:
        table = read_table(X, categorical_features=[0] if forced and rows and rows[0] else None)
    except SpinneyError as error:
        assert isinstance(error, ValueError | TypeError)
        return
    check_table(table)
    again = table.schema.read(X, unseen="error")
    for one, other in zip(table.columns, again.columns, strict=True):
        np.testing.assert_array_equal(one, other)
    assert Schema.from_state(table.schema.to_state()) == table.schema


JUNK = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.tuples(inner, inner)), max_leaves=8
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(JUNK)
@pytest.mark.filterwarnings("ignore")
def test_any_junk_gives_a_table_or_an_error_of_ours(X):
    schema = read_table([[1.0, "a"], [2.0, "b"]]).schema
    for read in (read_table, schema.read):
        try:
            check_table(read(X))
        except SpinneyError as error:
            assert isinstance(error, ValueError | TypeError)


COLUMN = st.one_of(
    st.lists(st.none() | st.floats(allow_infinity=False, allow_nan=False), min_size=5, max_size=5),
    st.lists(st.none() | st.integers(-(2**53), 2**53), min_size=5, max_size=5),
    st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])), min_size=5, max_size=5),
    st.lists(st.none() | st.booleans(), min_size=5, max_size=5),
).filter(lambda values: any(value is not None for value in values))


@settings(max_examples=100, deadline=None)
@given(st.lists(COLUMN, min_size=1, max_size=3))
def test_containers_agree_on_any_values(columns):
    named = {f"c{j}": values for j, values in enumerate(columns)}
    tables = [
        read_table([list(row) for row in zip(*columns, strict=True)]),
        read_table(pl.DataFrame(named)),
        read_table(pa.table(named)),
        read_table(pd.DataFrame(named, dtype=object)),
    ]
    for j, values in enumerate(columns):
        for table in tables:
            feature, column = table.schema.features[j], table.column(j)
            missing = np.isnan(column) if feature.kind == "numeric" else column < 0
            got = column.tolist() if feature.kind == "numeric" else [feature.categories[c] for c in column]
            assert [None if gone else value for gone, value in zip(missing, got, strict=True)] == values
            assert feature == Feature(feature.name, *vars_of(tables[0].schema.features[j]))


def vars_of(feature):
    return feature.kind, feature.categories, feature.dtype


def test_a_schema_is_told_which_features_have_missing_values():
    schema = read_table([[1.0, "a"], [2.0, "b"]]).schema
    assert not schema.has_missing
    told = schema.with_missing([False, True])
    assert [feature.has_missing for feature in told.features] == [False, True] and told.has_missing
    assert told.with_missing([False, False]) == schema


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_plain_arrays_are_read_as_any_other_array(dtype):
    X = np.array([[1.0, np.nan], [-0.0, 2.5], [3.0, 1e30]], dtype)
    plain, other = read_table(X), read_table(X.astype(X.dtype.newbyteorder()))
    assert plain.schema == other.schema
    assert plain.block is X
    np.testing.assert_array_equal(plain.block, other.block)
    for bad in (X[:0], X[:, :0], np.where(np.isnan(X), dtype(np.inf), X), X[0]):
        with pytest.raises(InputError):
            read_table(bad)
    assert read_table(X, categorical_features=[0]).schema.categorical.tolist() == [True, False]


def test_a_schema_whose_missing_flags_do_not_change_is_the_same_object():
    schema = read_table(np.eye(2)).schema
    assert schema.with_missing([False, False]) is schema
    assert schema.with_missing([False, True]).has_missing
    assert not read_table(np.eye(2)).schema.has_missing
