"""A table gives each column, and makes it only when asked where that saves memory."""

import numpy as np
import pytest
from scipy import sparse

from spinney.data import read_table
from spinney.data.schema import LazyColumns


def test_columns_of_a_block_are_views_of_it():
    X = np.arange(6.0).reshape(3, 2)
    table = read_table(X)
    assert table.block is X
    assert table.n_rows == 3 and table.n_features == 2 and len(table.columns) == 2
    assert all(np.shares_memory(column, X) for column in table.columns)
    assert table.column(1).tolist() == [1.0, 3.0, 5.0]
    assert repr(table) == "Table(n_rows=3, n_features=2)"


def test_lazy_columns_are_a_sequence():
    made = []
    columns = LazyColumns(4, lambda j: made.append(j) or np.array([j]))
    assert len(columns) == 4 and made == []
    assert columns[-1].tolist() == [3]
    assert [column.tolist() for column in columns] == [[0], [1], [2], [3]]
    assert made == [3, 0, 1, 2, 3]
    with pytest.raises(IndexError):
        columns[4]


def test_a_sparse_matrix_is_never_dense_as_a_whole():
    n_rows, n_features = 1_000_000, 100_000  # 800 GB if it were dense
    X = sparse.coo_array(([2.5, -1.0], ([7, 9], [3, 99_999])), shape=(n_rows, n_features))
    table = read_table(X)
    assert table.block is None
    assert table.column(3)[7] == 2.5 and np.count_nonzero(table.column(3)) == 1
    assert table.column(99_999)[9] == -1.0
