"""Predictions beside the columns of tables of every kind: order, types, names."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from spinney.core.errors import InputError
from spinney.members.joined import join_columns

PREDICTIONS = np.array([[0.5, 1.0], [0.25, 2.0]])
NAMES = ["tree", "forest"]


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_data_frame_stays_one_with_its_columns_as_they_are(make, last):
    X = make({"color": ["red", "blue"], "n": [1, 2]})
    joined = join_columns(PREDICTIONS, NAMES, X, last=last)
    assert type(joined) is type(X)
    is_arrow = isinstance(joined, pa.Table)
    columns = joined.to_pydict() if is_arrow else {name: list(joined[name]) for name in joined.columns}
    own = {"color": ["red", "blue"], "n": [1, 2]}
    new = {"tree": [0.5, 0.25], "forest": [1.0, 2.0]}
    assert columns == own | new
    assert list(columns) == [*own, *new] if last else list(columns) == [*new, *own]


def test_columns_of_a_frame_without_names_are_numbered():
    joined = join_columns(PREDICTIONS, NAMES, pd.DataFrame([[1.0], [2.0]], index=[7, 9]))
    assert list(joined.columns) == ["tree", "forest", "x0"]
    assert joined.index.tolist() == [7, 9] and joined["tree"].tolist() == [0.5, 0.25]


@pytest.mark.parametrize("last", [False, True])
def test_arrays_sparse_matrices_and_dicts_keep_their_kind(last):
    X = np.array([[3.0], [4.0]])
    order = (X, PREDICTIONS) if last else (PREDICTIONS, X)
    expected = np.hstack(order)
    assert_array_equal(join_columns(PREDICTIONS, NAMES, X, last=last), expected)
    joined = join_columns(PREDICTIONS, NAMES, sparse.csc_matrix(X), last=last)
    assert sparse.issparse(joined) and joined.format == "csr"
    assert_array_equal(joined.toarray(), expected)
    masked = join_columns(PREDICTIONS, NAMES, np.ma.masked_equal(X, 4.0), last=last)
    assert masked.mask.sum() == 1 and masked.mask[1, -1 if not last else 0]
    rows = join_columns(PREDICTIONS, NAMES, [{"a": 3.0}, {"a": 4.0}], last=last)
    assert [list(row.values()) for row in rows] == expected.tolist()
    columns = join_columns(PREDICTIONS, NAMES, {"a": [3.0, 4.0]}, last=last)
    assert list(columns) == (["a", *NAMES] if last else [*NAMES, "a"])


def test_numbers_beside_text_stay_numbers():
    joined = join_columns(PREDICTIONS, NAMES, np.array([["red"], ["blue"]]))
    assert joined.dtype == object and joined.tolist() == [[0.5, 1.0, "red"], [0.25, 2.0, "blue"]]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, dict, lambda X: [{"tree": 1}, {"tree": 2}]])
def test_a_column_with_the_name_of_a_prediction_is_an_error(make):
    with pytest.raises(InputError, match="X has a column named 'tree'"):
        join_columns(PREDICTIONS, NAMES, make({"tree": [1, 2]}))
