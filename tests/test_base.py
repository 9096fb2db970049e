"""What learners that keep a schema share."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from spinney.base import ReadsTables, describe_features
from spinney.data.schema import read_table


class Reader(ReadsTables, BaseEstimator):
    """Learn a schema and nothing else."""

    def __init__(self, unseen="missing", n_jobs=None):
        self.unseen = unseen
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        self.schema_ = read_table(X).schema
        return self


class Hasty(Reader):
    _rows_worth_threads = 2


def test_reading_before_the_fit_says_so():
    with pytest.raises(NotFittedError, match="Reader"):
        Reader()._table([[1.0]])


def test_a_table_is_read_by_the_schema_of_the_fit():
    table = Reader().fit([[1.0, 2.0], [3.0, 4.0]])._table([[5.0, np.nan]])
    assert table.n_rows == 1
    with pytest.raises(ValueError, match="3 features, but Reader is expecting 2"):
        Reader().fit([[1.0, 2.0]])._table([[1.0, 2.0, 3.0]])


def test_an_attribute_that_is_missing_after_the_fit_is_not_called_unfitted():
    reader = Reader().fit([[1.0]])
    del reader.unseen
    with pytest.raises(AttributeError, match="unseen"):
        reader._table([[1.0]])


def test_few_rows_are_not_worth_threads():
    few = read_table(np.zeros((2, 1)))
    assert Reader(n_jobs=3)._threads_for(few) == 1
    assert Hasty(n_jobs=3)._threads_for(few) == 3


def test_tags_say_what_can_be_read():
    tags = Reader().__sklearn_tags__().input_tags
    assert tags.sparse and tags.allow_nan and tags.categorical and tags.string


def test_features_have_names_where_the_input_had():
    pd = pytest.importorskip("pandas")
    named = describe_features(read_table(pd.DataFrame({"a": [1.0], "b": [2.0]})).schema)
    assert named["n_features_in_"] == 2
    assert named["feature_names_in_"].tolist() == ["a", "b"]
    assert describe_features(read_table([[1.0, 2.0]]).schema) == {"n_features_in_": 2}
