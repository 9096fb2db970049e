"""Every kind of input gives the same table for the same data."""

import datetime
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from loops import for_each
from spinney.core.errors import InputError, InputTypeError
from spinney.data import read_table


def decoded(table):
    """Return each column as the values it stands for, None where missing."""
    out = []
    for feature, column in zip(table.schema.features, table.columns, strict=True):
        assert column.shape == (table.n_rows,) and column.dtype == feature.dtype
        if feature.kind == "numeric":
            out.append([None if np.isnan(value) else float(value) for value in column])
        else:
            out.append([None if code < 0 else feature.categories[code] for code in column])
    return out


COLUMNS = {
    "number": [1.5, None, -2.0, 0.25],
    "count": [3, 1, None, 7],
    "color": ["red", None, "blue", "red"],
    "flag": [True, False, None, True],
}
PANDAS = pd.DataFrame(COLUMNS).astype({"count": "Int64", "flag": "boolean"})
POLARS = pl.DataFrame(COLUMNS)
INPUTS = {
    "pandas": PANDAS,
    "pandas objects": pd.DataFrame(COLUMNS, dtype=object),
    "pandas arrow": PANDAS.convert_dtypes(dtype_backend="pyarrow"),
    "pandas categorical": PANDAS.astype({"color": "category", "flag": "category"}),
    "polars": POLARS,
    "polars categorical": POLARS.with_columns(pl.col("color").cast(pl.Categorical)),
    "polars enum": POLARS.with_columns(pl.col("color").cast(pl.Enum(["blue", "red"]))),
    "polars chunks": pl.concat([POLARS[:1], POLARS[1:]], rechunk=False),
    "polars decimal": POLARS.with_columns(pl.col("number").cast(pl.Decimal(10, 2))),
    "arrow": POLARS.to_arrow(),
    "arrow dictionary": POLARS.with_columns(pl.col("color").cast(pl.Categorical)).to_arrow(),
    "arrow batch": pa.record_batch(COLUMNS),
    "narwhals": nw.from_native(POLARS),
    "numpy objects": np.array(list(zip(*COLUMNS.values(), strict=True)), dtype=object),
    "lists": [list(row) for row in zip(*COLUMNS.values(), strict=True)],
    "tuples": tuple(zip(*COLUMNS.values(), strict=True)),
}


@pytest.mark.parametrize("kind", INPUTS)
def test_every_input_is_the_same_table(kind):
    table = read_table(INPUTS[kind])
    assert decoded(table) == list(COLUMNS.values())
    assert table.block is None
    assert [feature.categories for feature in table.schema.features] == [
        (),
        (),
        ("blue", "red"),
        (False, True),
    ]
    assert table.schema.has_names is (kind not in ("numpy objects", "lists", "tuples"))


@for_each("fitted", INPUTS)
@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.filterwarnings("ignore:X ")
def test_every_schema_reads_every_input(fitted, kind):
    schema = read_table(INPUTS[fitted]).schema
    table = schema.read(INPUTS[kind], unseen="error")
    assert table.schema is schema
    for column, own in zip(table.columns, read_table(INPUTS[fitted]).columns, strict=True):
        np.testing.assert_array_equal(column, own)


# --- numpy -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", ">f8", ">f4", ">f2", "i1", "u8", ">i4", "g"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_plain_numbers_are_a_block(dtype, order):
    X = np.array([[1, 2], [3, 4], [5, 6]], dtype=dtype, order=order)
    X.flags.writeable = False
    block = read_table(X).block
    assert block.dtype == (np.float32 if X.dtype.kind == "f" and X.itemsize <= 4 else np.float64)
    assert block.dtype.isnative and block.tolist() == [[1, 2], [3, 4], [5, 6]]
    if X.dtype in (np.dtype("f8"), np.dtype("f4")):
        assert block is X


@pytest.mark.parametrize("cut", [np.s_[::2], np.s_[:, ::-1], np.s_[::-1, 1:], np.s_[1:2]])
def test_views_are_not_copied(cut):
    X = np.arange(20.0).reshape(5, 4)
    table = read_table(X[cut])
    assert np.shares_memory(table.block, X)
    assert [column.tolist() for column in table.columns] == X[cut].T.tolist()


def test_subclasses_and_array_likes_are_read_as_arrays(tmp_path):
    class ArrayLike:
        def __array__(self, dtype=None, copy=None):
            return np.eye(2)

    on_disk = np.memmap(tmp_path / "x", dtype="f8", mode="w+", shape=(2, 2))
    on_disk[:] = np.eye(2)
    for X in (np.asmatrix(np.eye(2)), ArrayLike(), on_disk, [np.array([1.0, 0.0]), np.array([0.0, 1.0])]):
        block = read_table(X).block
        assert type(block) is np.ndarray and block.tolist() == [[1, 0], [0, 1]]
    assert np.shares_memory(read_table(on_disk).block, on_disk)


def test_masked_values_are_missing():
    mask = [[False, True], [False, False]]
    floats = np.ma.array([[1.0, np.inf], [3.0, 4.0]], mask=mask)
    np.testing.assert_array_equal(read_table(floats).block, [[1, np.nan], [3, 4]])
    assert np.isinf(floats.data[0, 1])
    integers = np.ma.array([[1, 2], [3, 4]], mask=mask)
    np.testing.assert_array_equal(read_table(integers).block, [[1, np.nan], [3, 4]])
    assert decoded(read_table(integers, categorical_features=[1])) == [[1, 3], [None, 4]]
    assert decoded(read_table(np.ma.array([[True, True], [False, False]], mask=mask))) == [
        [True, False],
        [None, False],
    ]
    assert decoded(read_table(np.ma.array([["a", "b"], ["c", "d"]], mask=mask))) == [["a", "c"], [None, "d"]]
    assert decoded(read_table(np.ma.array([[1.0, 2.0]]))) == [[1.0], [2.0]]


@pytest.mark.parametrize("dtype", ["U5", "S5", object, np.dtypes.StringDType()])
def test_text_arrays_are_categorical(dtype):
    X = np.array([["a", "1"], ["b", "1"]], dtype=dtype)
    values = [[b"a", b"b"], [b"1", b"1"]] if dtype == "S5" else [["a", "b"], ["1", "1"]]
    assert decoded(read_table(X)) == values


def test_nothing_is_written_to_the_input():
    X = np.array([[1, "a", None], [2, "b", np.nan]], dtype=object)
    before = X.copy()
    read_table(X)
    assert all(one is other for one, other in zip(X.ravel(), before.ravel(), strict=True))


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (np.ones(3), "Expected 2D array, got 1D array instead(.|\n)*Reshape your data"),
        ([1.0, 2.0], "Expected 2D array, got 1D array instead(.|\n)*Reshape your data"),
        (["a", "b"], "Expected 2D array, got 1D array instead(.|\n)*Reshape your data"),
        ([], "Expected 2D array, got 1D array instead(.|\n)*Reshape your data"),
        (pd.Series([1.0]), "Expected 2D array, got 1D array instead(.|\n)*Reshape your data"),
        (pl.Series([1.0]), "Expected 2D array, got 1D array instead(.|\n)*Reshape your data"),
        (np.float64(3), "Expected 2D array, got scalar array"),
        (None, "Expected 2D array, got scalar array"),
        ("text", "Expected 2D array, got scalar array"),
        ({"a"}, "Expected 2D array, got scalar array"),
        (np.ones((2, 2, 2)), "dim 3"),
        ([[[1.0]]], "dim 3"),
        (
            np.ones((0, 3)),
            r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required\.",
        ),
        (pd.DataFrame({"a": []}), r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (np.ones((12, 0)), r"0 feature\(s\) \(shape=\(\d*, 0\)\) while a minimum of \d* is required\."),
        (pd.DataFrame(index=[0, 1]), r"0 feature\(s\) \(shape=\(2, 0\)\)"),
        (pl.DataFrame(), r"0 sample\(s\)"),
        ([[]], r"0 feature\(s\)"),
        (sparse.csr_array((0, 2)), r"0 sample\(s\)"),
        (np.ones((2, 2)) * 1j, "Complex data not supported"),
        ([[1j]], "Complex data not supported"),
        (sparse.csr_array(np.eye(2) * 1j), "Complex data not supported"),
        (pd.DataFrame({"a": [1j]}), "Complex data not supported in column 'a'"),
        (np.zeros(2, [("a", int), ("b", float)]), "structured array with the fields 'a', 'b'"),
        (np.zeros((2, 2), "V3"), "neither numbers nor text"),
        (np.zeros((2, 2), "M8[D]"), "Convert the column first"),
        (np.zeros((2, 2), "m8[D]"), "Convert the column first"),
        ([[1, 2], [3]], "Row 1 of X has 1 values where row 0 has 2"),
        ([np.ones(2), np.ones(3)], "same length"),
        (np.array([[1, 2], [3, np.inf]]), "infinity or a value too large.*column 1, row 1"),
        (np.array([[1, 2], [-np.inf, 3]], "f4"), "infinity.*column 0, row 1"),
        (np.array([[np.longdouble("1e400")]]), "infinity.*column 0, row 0"),
        ([[0], [10**400]], "infinity.*column 0, row 1"),
        (pd.DataFrame({"a": [1, np.inf]}), "infinity.*column 'a', row 1"),
        (pl.DataFrame({"a": [1.0, -np.inf]}), "infinity.*column 'a', row 1"),
        (sparse.coo_array(([1.0, np.inf], ([0, 1], [0, 2])), shape=(2, 3)), "infinity.*column 2, row 1"),
        ([["a"], [3]], r"types str \('a'\) and number \(3\) are mixed in column 0"),
        ([["a"], [b"b"]], r"types str \('a'\) and bytes \(b'b'\) are mixed in column 0"),
        (sparse.coo_array([1.0, 2.0]), "Expected 2D array, got 1D array instead"),
    ],
)
def test_what_cannot_be_read_is_named(X, match):
    with pytest.raises(InputError, match=match):
        read_table(X)


@pytest.mark.parametrize(
    "cells", [(np.ones((2, 2)), np.ones((2, 3))), (np.ones(2), 1.0), ({}, {}), (1.0, [1, 2])]
)
def test_cells_that_hold_arrays_or_lists_are_type_errors(cells):
    with pytest.raises(InputTypeError, match=r"argument must be a string or a real number.*column 0, row \d"):
        read_table([[cell] for cell in cells])


def test_objects_that_are_no_values_are_type_errors():
    with pytest.raises(InputTypeError, match=r"argument must be .* string.* number.*column 1, row 0"):
        read_table(np.array([[1.0, {"foo": "bar"}]], dtype=object))


# --- scipy sparse ------------------------------------------------------------------------------------------


@pytest.fixture(params=[0, 1 << 23], ids=["by column", "as dense"])
def max_dense_cells(request, monkeypatch):
    """Read sparse matrices column by column, as large ones, or as dense ones."""
    monkeypatch.setattr("spinney.data.readers._MAX_DENSE_CELLS", request.param)
    return request.param


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dok", "lil", "bsr", "dia"])
@for_each("make", ["array", "matrix"])
@for_each("dtype", [np.float32, np.float64, np.int32])
def test_sparse_of_every_form_is_as_its_dense_twin(form, make, dtype, max_dense_cells):
    dense = np.array([[0, 2, 0], [3, 0, 0], [0, 0, 0], [5, 6, 0]], dtype)
    X = getattr(sparse, f"{form}_{make}")(dense)
    table = read_table(X)
    assert (table.block is None) == (max_dense_cells == 0) and len(table.columns) == 3
    for j, column in enumerate(table.columns):
        assert column.dtype == (np.float32 if dtype == np.float32 else np.float64)
        np.testing.assert_array_equal(column, dense[:, j])
    assert table.schema == read_table(dense).schema


@pytest.mark.usefixtures("max_dense_cells")
def test_sparse_duplicates_add_up_and_the_input_stays_as_it_is():
    X = sparse.csc_array((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(2, 1))
    assert read_table(X).column(0).tolist() == [3.0, 0.0]
    assert X.nnz == 2


@pytest.mark.usefixtures("max_dense_cells")
def test_sparse_columns_may_be_categorical_and_missing():
    X = sparse.csr_array(np.array([[0.0, 7.0], [np.nan, 0.0], [2.0, 7.0]]))
    table = read_table(X, categorical_features=[1])
    assert decoded(table) == [[0.0, None, 2.0], [7, 0, 7]]
    assert decoded(table.schema.read(X.tocoo(), unseen="error")) == [[0.0, None, 2.0], [7, 0, 7]]
    assert decoded(read_table(sparse.csr_array(np.eye(2, dtype=bool)))) == [[True, False], [False, True]]


@pytest.mark.usefixtures("max_dense_cells")
def test_sparse_unseen_categories_are_found_at_once():
    X = sparse.csr_array(np.array([[1], [2]]))
    schema = read_table(X, categorical_features=[0]).schema
    with pytest.raises(InputError, match="Unseen category 5 in column 0, row 1"):
        schema.read(sparse.csr_array(np.array([[1], [5]])), unseen="error")


# --- data frames -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "match"),
    [
        (
            pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])}),
            "column 'day'.*Convert the column first",
        ),
        (pd.DataFrame({"day": [datetime.date(2020, 1, 1)]}), "column 'day', row 0.*Convert the column"),
        (pd.DataFrame({"day": pd.to_timedelta(["1D"])}), "column 'day'"),
        (pd.DataFrame({"day": pd.Categorical([pd.Timestamp("2020-01-01")])}), "column 'day', row 0"),
        (pl.DataFrame({"day": [datetime.datetime(2020, 1, 1)]}), "column 'day'.*Convert the column"),
        (pl.DataFrame({"day": [datetime.time(1)]}), "column 'day'"),
        (pa.table({"day": [datetime.date(2020, 1, 1)]}), "column 'day'"),
    ],
)
def test_dates_are_refused_with_advice(frame, match):
    with pytest.raises(InputError, match=match):
        read_table(frame)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"odd": [[1], [2]]}),
        pl.DataFrame({"odd": [[1], [2]]}),
        pl.DataFrame({"odd": [[1], None]}),
        pl.DataFrame({"odd": [{"a": 1}]}),
        pl.DataFrame({"odd": [[1, 2]]}, schema={"odd": pl.Array(pl.Int64, 2)}),
        pa.table({"odd": [{"a": 1}]}),
        pa.table({"odd": [[1]]}),
    ],
)
def test_nested_and_foreign_columns_are_refused_by_name(frame):
    with pytest.raises(InputTypeError, match=r"argument must be a string or a real number.*column 'odd'"):
        read_table(frame)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
    ],
)
def test_two_columns_of_one_name_are_refused(frame):
    with pytest.raises(InputError, match="more than one column named 'a'"):
        read_table(frame)


def test_names_that_are_not_text_are_no_names():
    for columns in ([3, 7], pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]), [0.5, 1.5]):
        table = read_table(pd.DataFrame([[1, "x"]], columns=columns))
        assert not table.schema.has_names and table.schema.names == ("x0", "x1")
        assert decoded(table) == [[1.0], ["x"]]
    with pytest.raises(
        TypeError, match="Feature names are only supported if all input features have string names"
    ):
        read_table(pd.DataFrame([[1, 2]], columns=["a", 1]))


def test_frames_not_yet_computed_are_refused():
    with pytest.raises(InputTypeError, match=r"LazyFrame.*collect"):
        read_table(pl.LazyFrame({"a": [1]}))
    with pytest.raises(InputTypeError, match=r"LazyFrame.*collect"):
        read_table(nw.from_native(pl.LazyFrame({"a": [1]})))


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (pl.Series([1.5, None], dtype=pl.Float32), "float32"),
        (pl.Series([1.5, float("nan")]), "float64"),
        (pl.Series([1, None], dtype=pl.UInt8), "float64"),
        (pl.Series([1, None], dtype=pl.Int128), "float64"),
        (pl.Series([None, None]), "float64"),
        (pl.Series([Decimal("1.5"), None]), "float64"),
        (pd.array([1.5, None], dtype="Float32"), "float32"),
        (pd.array([1, None], dtype="Int8"), "float64"),
        (np.array([1.0, np.nan], "f2"), "float32"),
        (pd.arrays.SparseArray([0.0, np.nan]), "float64"),
        (pd.array([Decimal("1.5"), None], dtype=pd.ArrowDtype(pa.decimal128(5, 2))), "float64"),
        (pd.Series([Decimal("1.5"), None], dtype=object), "float64"),
        (pd.Series([None, None], dtype=object), "float64"),
        (pd.Series([1, pd.NA], dtype=object), "float64"),
    ],
)
def test_number_columns_of_frames(column, dtype):
    frame = pl.DataFrame({"a": column}) if isinstance(column, pl.Series) else pd.DataFrame({"a": column})
    feature = read_table(frame).schema.features[0]
    values = read_table(frame).column(0)
    # Models must not depend on the type that equal numbers have.
    assert (feature.kind, feature.dtype, values.dtype.name) == ("numeric", "float64", dtype)
    assert np.isnan(values[1])


def test_float_columns_of_frames_are_not_copied():
    X = np.asfortranarray(np.random.default_rng(0).random((50, 3)))
    for frame in (pd.DataFrame(X, columns=list("abc"), copy=False), pl.DataFrame(X, schema=list("abc"))):
        first, second = read_table(frame), read_table(frame)
        assert all(np.shares_memory(a, b) for a, b in zip(first.columns, second.columns, strict=True))


def test_great_integers_beside_missing_values_are_exact_categories():
    great = 2**53 + 1
    for frame in (
        pl.DataFrame({"id": [great, None, great - 1]}),
        pa.table({"id": [great, None, great - 1]}),
        pd.DataFrame({"id": pd.array([great, None, great - 1], dtype="Int64")}),
        pd.DataFrame({"id": pd.array([great, None, great - 1], dtype="int64[pyarrow]")}),
        [[great], [None], [great - 1]],
    ):
        assert decoded(read_table(frame, categorical_features=[0])) == [[great, None, great - 1]]


def test_an_all_missing_text_column_is_categorical_without_categories():
    for frame in (
        pl.DataFrame({"a": pl.Series([None, None], dtype=pl.String)}),
        pd.DataFrame({"a": pd.Series([None, None], dtype="str")}),
        pd.DataFrame({"a": pd.Categorical([None, None])}),
    ):
        table = read_table(frame)
        assert table.schema.features[0].categories == () and table.column(0).tolist() == [-1, -1]
        assert table.schema.read(pl.DataFrame({"a": ["new", None]})).column(0).tolist() == [-1, -1]


def test_arrow_dictionaries_differ_from_chunk_to_chunk():
    chunks = [pa.array([5, None, 3], pa.int64()).dictionary_encode(), pa.array([9, 3]).dictionary_encode()]
    assert decoded(read_table(pa.table({"a": pa.chunked_array(chunks)}))) == [[5, None, 3, 9, 3]]
    inside = pd.array(["u", None, "v"], dtype=pd.ArrowDtype(pa.dictionary(pa.uint8(), pa.string())))
    assert decoded(read_table(pd.DataFrame({"a": inside}))) == [["u", None, "v"]]


def test_declared_orders_are_kept_and_other_categories_sorted():
    sizes = ["small", "medium", "large"]
    rows = ["large", "small", None, "medium"]
    declared = [
        pd.DataFrame({"size": pd.Categorical(rows, categories=sizes)}),
        pl.DataFrame({"size": pl.Series(rows, dtype=pl.Enum(sizes))}),
        pa.table({"size": pa.DictionaryArray.from_arrays(pa.array([2, 0, None, 1]), sizes, ordered=True)}),
    ]
    for frame in declared:
        assert read_table(frame).schema.features[0].categories == tuple(sizes)
    free = [pl.DataFrame({"size": rows}), pl.DataFrame({"size": pl.Series(rows, dtype=pl.Categorical)})]
    for frame in free:
        assert read_table(frame).schema.features[0].categories == ("large", "medium", "small")


def test_declared_levels_that_no_row_has_are_left_out():
    frame = pd.DataFrame({"size": pd.Categorical(["b", "a"], categories=["c", "b", "a"])})
    assert read_table(frame).schema.features[0].categories == ("b", "a")


def test_a_signaling_nan_in_a_frame_is_an_error_of_ours():
    with pytest.raises(InputError, match=r"not a number .*column 'a'"):
        read_table(pd.DataFrame({"a": [Decimal("sNaN")]}, dtype=object))


def test_pandas_objects_are_judged_by_all_rows():
    column = pd.Series(["a"] * 5000 + [3], dtype=object)
    with pytest.raises(InputError, match="are mixed in column 'late'"):
        read_table(pd.DataFrame({"late": column}))


@pytest.mark.parametrize(
    "column",
    [
        pd.array(["b", None, "a", "b"], dtype="str"),
        pd.array(["b", None, "a", "b"], dtype="string[python]"),
        pd.array(["b", None, "a", "b"], dtype="string[pyarrow]"),
        pd.array(["b", None, "a", "b"], dtype=pd.ArrowDtype(pa.large_string())),
        pa.chunked_array([["b", None], pa.array([], pa.string()), ["a", "b"]]),
        pl.Series(["b", None, "a", "b"]),
    ],
    ids=lambda column: f"{type(column).__name__} {getattr(column, 'dtype', '')}",
)
def test_text_is_coded_alike_however_it_is_stored(column):
    make = {"pa": pa.table, "pl": pl.DataFrame}
    frame = make.get(
        "pa" if isinstance(column, pa.ChunkedArray) else "pl" if isinstance(column, pl.Series) else ""
    )
    table = read_table((frame or pd.DataFrame)({"c": column}))
    assert table.schema.features[0].categories == ("a", "b")
    assert table.column(0).tolist() == [1, -1, 0, 1]
