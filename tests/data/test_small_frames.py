"""Small frames are read at one go, and give what reading them column by column gives."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from spinney.core.errors import InputError
from spinney.data import Table, frames, read_table
from spinney.data.columns import open_source
from spinney.data.frames import open_small_frame

GREAT = 2**53 + 1  # float64 has no such number

PANDAS = {
    "floats": [np.array([1.5, np.nan, -0.0]), np.array([0.1, 0.2, np.nan], np.float32)],
    "integers": [
        np.array([GREAT, -GREAT, 3]),
        np.array([2**64 - 1, 1, 2], np.uint64),
        np.array([1, 2, 3], np.int8),
    ],
    "booleans": [np.array([True, False, True]), np.array([1.5, 2.5, 3.5])],
    "nullable": [pd.array([GREAT, None, 3], "Int64"), pd.array([True, None, False], "boolean")],
    "arrow": [pd.array([GREAT, None, 3], "int64[pyarrow]"), pd.array(["a", None, "b"], "string[pyarrow]")],
    "text": [["a", None, "b"], pd.array(["a", None, "b"], "string"), pd.Categorical(["u", None, "v"])],
    "codes": [pd.Categorical([GREAT, None, 3]), pd.Categorical([1.5, None, 2.5])],
    "objects": [np.array([1, None, 2.5], object), np.array(["a", np.nan, "b"], object)],
    "temporal": [pd.to_datetime(["2020-01-01", None, None])],
    "dates": [pd.array([None, None, None], "date32[pyarrow]")],
    "complex": [np.array([1j, 2, 3])],
}
POLARS = {
    "floats": [pl.Series([1.5, None, float("nan")]), pl.Series([0.1, 0.2, None], dtype=pl.Float32)],
    "integers": [pl.Series([GREAT, None, 3]), pl.Series([2**64 - 1, 1, 2], dtype=pl.UInt64)],
    "mixed": [
        pl.Series([GREAT, 2, 3]),
        pl.Series([0.1, 0.2, None], dtype=pl.Float32),
        pl.Series([1, 2, 3], dtype=pl.Int8),
    ],
    "booleans": [pl.Series([True, None, False]), pl.Series([1, 2, 3])],
    "text": [pl.Series(["a", None, "b"]), pl.Series(["a", None, "b"], dtype=pl.Categorical)],
    "declared": [pl.Series(["a", None, "b"], dtype=pl.Enum(["b", "a"]))],
    "nothing": [pl.Series([None, None, None])],
    "decimal": [pl.Series(["1.5", None, "2"]).cast(pl.Decimal(10, 2))],
    "temporal": [pl.Series([datetime.date(2020, 1, 1), None, None])],
}
FRAMES = [
    *(
        pytest.param(pd.DataFrame(dict(zip("abc", columns, strict=False))), id=f"pandas {name}")
        for name, columns in PANDAS.items()
    ),
    *(
        pytest.param(pl.DataFrame(dict(zip("abc", columns, strict=False))), id=f"polars {name}")
        for name, columns in POLARS.items()
    ),
]


def _outcome(read):
    try:
        table: Table = read()
    except InputError as error:
        return type(error), str(error)
    return [np.asarray(table.column(j), np.float64).tolist() for j in range(table.n_features)]


@pytest.mark.parametrize("categorical", [None, "all"])
@pytest.mark.parametrize("frame", FRAMES)
def test_at_one_go_and_by_columns_are_the_same(frame, categorical):
    try:
        schema = read_table(frame, None if categorical is None else range(frame.shape[1])).schema
    except InputError:  # columns that cannot be read at all are refused by either way
        schema = read_table(pd.DataFrame({name: [1.0] for name in frame.columns})).schema
    by_columns = _outcome(lambda: schema.read_source(open_source(frame), "missing"))
    np.testing.assert_equal(_outcome(lambda: schema.read(frame)), by_columns)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_small_frame_of_numbers_becomes_one_block(make):
    frame = make({"a": [1, 2], "b": [0.5, np.nan]})
    block = read_table(frame).schema.read(frame).block
    assert block.dtype == np.float64
    np.testing.assert_array_equal(block, [[1, 0.5], [2, np.nan]])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_an_infinity_is_named_by_its_column(make):
    frame = make({"a": [1.0, 2.0], "b": [0.5, np.inf]})
    with pytest.raises(InputError, match=r"infinity.*column 'b', row 1"):
        read_table(make({"a": [1.0], "b": [1.0]})).schema.read(frame)


def test_large_frames_are_not_copied_at_one_go():
    frame = pd.DataFrame({"a": np.zeros(1001)})
    assert open_small_frame(frame, frame.shape, ("a",)) is None
    column = read_table(frame).schema.read(frame).column(0)
    assert np.shares_memory(column, frame["a"].to_numpy())


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("value", [1.5, "a"])
def test_a_small_frame_is_not_asked_for_its_columns_one_by_one(make, value, monkeypatch):
    frame = make({f"c{j}": [value] for j in range(3)})
    schema = read_table(frame).schema
    monkeypatch.setattr(frames, "_series_column", None)  # which takes 0.1 ms a column
    assert schema.read(frame).column(2).tolist() == [value if value == 1.5 else 0]


@pytest.mark.parametrize("n_rows", [4, 2000])
def test_batches_with_other_dictionaries_have_the_codes_of_their_values(n_rows):
    schema = read_table(pd.DataFrame({"a": pd.Categorical(["u", "v", "w"])})).schema
    values = np.resize(["w", "u", None, "z"], n_rows)
    frames = [
        pd.DataFrame({"a": pd.Categorical(values, categories)}) for categories in (list("uwz"), list("zwu"))
    ]
    for frame in [*frames, *frames]:  # the dictionary of a batch before must not be taken for its own
        assert schema.read(frame).column(0)[:4].tolist() == [2, 0, -1, -1]
        with pytest.raises(InputError, match="'z'"):
            schema.read(frame, unseen="error")
