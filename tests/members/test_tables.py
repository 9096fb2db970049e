"""Rows and columns of every kind of table, remembered features, and class codes."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

import spinney as sp
from spinney.core.errors import InputError
from spinney.io import ModelFileError
from spinney.members.tables import (
    check_described,
    check_input,
    count_rows,
    count_training_rows,
    describe_input,
    take_columns,
    take_rows,
)

NUMBERS = np.arange(12.0).reshape(4, 3)
TABLES = {
    "array": NUMBERS,
    "Fortran": np.asfortranarray(NUMBERS),
    "masked": np.ma.masked_equal(NUMBERS, 5.0),
    "objects": NUMBERS.astype(object),
    "lists": NUMBERS.tolist(),
    "csr": sparse.csr_array(NUMBERS),
    "csc": sparse.csc_matrix(NUMBERS),
    "coo": sparse.coo_array(NUMBERS),
    "dok": sparse.dok_array(NUMBERS),
    "pandas": pd.DataFrame(NUMBERS, columns=list("abc"), index=[7, 5, 7, 1]),
    "polars": pl.DataFrame(NUMBERS, schema=list("abc")),
    "Arrow": pa.table(pd.DataFrame(NUMBERS, columns=list("abc"))),
}
each_table = pytest.mark.parametrize("kind", TABLES)


def values(X):
    if sparse.issparse(X):
        return X.toarray()
    return X.to_pandas().to_numpy() if isinstance(X, pa.Table) else np.asarray(X, dtype=float)


@each_table
def test_rows_by_position_and_by_mask(kind):
    X = TABLES[kind]
    assert count_rows(X) == 4
    for rows in ([2, 0, 2], np.array([3, 1], dtype=np.uint32), np.array([True, False, False, True])):
        taken = take_rows(X, rows)
        assert_array_equal(values(taken), NUMBERS[rows])
        assert sparse.issparse(taken) == sparse.issparse(X)
        assert sparse.issparse(X) or type(taken) is type(X)


@each_table
def test_columns_by_position_and_by_mask(kind):
    X = TABLES[kind]
    for columns in ([2, 0], np.array([False, True, True])):
        taken = take_columns(X, columns)
        assert_array_equal(values(taken), NUMBERS[:, columns])
        assert sparse.issparse(X) or type(taken) is type(X)


def test_a_frame_keeps_names_types_and_missing_values():
    frame = pd.DataFrame({
        "color": pd.Categorical(["red", None, "blue"]),
        "n": pd.array([1, None, 3], dtype="Int64"),
        "text": pd.array(["a", None, "c"], dtype="string"),
    })  # fmt: skip
    taken = take_rows(frame, [2, 1])
    assert (taken.dtypes == frame.dtypes).all()
    assert taken.isna().to_numpy().tolist() == [[False] * 3, [True] * 3]
    assert take_columns(frame, [1]).columns.tolist() == ["n"]


def test_series_and_lists_have_rows_too():
    assert take_rows(pd.Series([1, 2, 3], index=[5, 6, 7]), [2]).tolist() == [3]
    assert take_rows(pl.Series([1, 2, 3]), [2, 1]).to_list() == [3, 2]
    assert take_rows(["a", "b", "c"], [True, False, True]) == ["a", "c"]


@pytest.mark.parametrize("wrong", [None, 3.0, np.array(1.0), {}, {"a"}, "text"])
def test_what_has_no_rows_is_refused(wrong):
    with pytest.raises(ValueError, match="2D array"):
        count_rows(wrong)


@each_table
def test_a_table_to_learn_from_has_rows(kind):
    assert count_training_rows(TABLES[kind]) == 4
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        count_training_rows(take_rows(TABLES[kind], []))


class Fitted(BaseEstimator):
    def fit(self, X):
        self.__dict__.update(describe_input(X))
        return self


def test_width_and_names_are_remembered_and_checked():
    frame = pd.DataFrame({"a": [1, 2], "color": ["red", None]})
    model = Fitted().fit(frame)
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["a", "color"]
    check_input(model, frame)
    with pytest.raises(ValueError, match="feature names"):
        check_input(model, frame.rename(columns={"a": "b"}))
    with pytest.raises(ValueError, match="3 features"):
        check_input(Fitted().fit([[1, 2]]), [[1, 2, 3]])
    with pytest.raises(NotFittedError):
        check_input(Fitted(), frame)


def test_a_description_sets_nothing_and_texts_have_no_features():
    assert describe_input(np.zeros((2, 5))) == {"n_features_in_": 5}
    assert describe_input(["some", "texts"]) == {}


@pytest.mark.parametrize(
    "width, names",
    [
        (2.5, None),
        (-1, None),
        (None, np.array(["a"], object)),
        (2, np.array(["a"], object)),
        (1, ["a"]),
        (1, np.array([3])),
        (1, np.array([["a"]], object)),
    ],
)
def test_features_from_a_file_are_counted_and_named(width, names):
    estimator = BaseEstimator()
    estimator.__dict__.update(n_features_in_=width, feature_names_in_=names)
    with pytest.raises(ModelFileError, match="features"):
        check_described(estimator)
    estimator.__dict__.update(describe_input(pd.DataFrame({"a": [1]})))
    check_described(estimator)


def test_rows_of_arrow_types_without_a_take_kernel() -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pa.table({"c": ["red", "red", "blue"], "n": [1, 1, 2], "b": [b"u", b"v", b"w"]})
    encoded = pa.table(
        {
            "c": plain["c"].cast(pa.string_view()),
            "n": pa.chunked_array([pc.run_end_encode(plain["n"].combine_chunks())]),
            "b": plain["b"].cast(pa.binary_view()),
        }
    )
    for X in (encoded, encoded.to_batches()[0]):
        assert take_rows(X, [2, 0]).to_pydict() == plain.take([2, 0]).to_pydict()
    frame = encoded.to_pandas(types_mapper=pd.ArrowDtype)
    assert take_rows(frame, [2, 0])["c"].tolist() == ["blue", "red"]
    assert take_rows(frame, [2, 0])["n"].tolist() == [2, 1]


def test_runs_of_dictionary_values_are_read_and_taken() -> None:
    import pyarrow as pa

    colors = pa.array(["red", "blue"]).dictionary_encode()
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([3, 8], pa.int16()), colors)
    X = pa.table({"c": pa.chunked_array([runs.slice(0, 5), runs.slice(5)]), "n": range(8)})
    y = [0, 0, 0, 1, 1, 1, 1, 1]
    assert take_rows(X.slice(1), [0, 1, 2, 6])["c"].to_pylist() == ["red", "red", "blue", "blue"]
    for model in (sp.DecisionTreeClassifier(), sp.BaggingClassifier(n_estimators=5, random_state=0)):
        assert model.fit(X.select(["c"]), y).predict(X.select(["c"]).slice(2)).tolist() == y[2:]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "model", [sp.VotingClassifier([("tree", sp.DecisionTreeClassifier())]), sp.GaussianNB()]
)
def test_a_record_batch_has_the_names_of_its_columns(model: Any) -> None:
    import pyarrow as pa

    batch = pa.record_batch({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0, 1.0, 0.0, 1.0]})
    model.fit(batch, [0, 0, 1, 1])
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.predict(batch).tolist() == model.predict(pa.Table.from_batches([batch])).tolist()


@pytest.mark.parametrize("X", [{}, [{}]])
def test_dicts_without_features_are_refused_by_name(X: object) -> None:
    model = sp.BaggingClassifier(n_estimators=2).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InputError):
        model.predict(X)
