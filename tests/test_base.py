"""The base classes of estimators."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from spinney.base import Estimator, TableEstimator, describe_features, parameters
from spinney.core.errors import ModelFileError
from spinney.data.schema import read_table
from spinney.io import dumps, loads


@parameters
class Reader(TableEstimator):
    """Learn a schema and nothing else."""

    unseen: str = "missing"
    n_jobs: int | None = None

    def fit(self, X, y=None):
        return self._set_fitted(schema_=read_table(X).schema)


class Hasty(Reader):
    _min_rows_for_threads = 2


def test_reading_before_the_fit_says_so():
    with pytest.raises(NotFittedError, match="Reader"):
        Reader()._read_table([[1.0]])


def test_a_table_is_read_by_the_schema_of_the_fit():
    table = Reader().fit([[1.0, 2.0], [3.0, 4.0]])._read_table([[5.0, np.nan]])
    assert table.n_rows == 1
    with pytest.raises(ValueError, match="3 features, but Reader is expecting 2"):
        Reader().fit([[1.0, 2.0]])._read_table([[1.0, 2.0, 3.0]])


def test_an_attribute_that_is_missing_after_the_fit_is_not_called_unfitted():
    reader = Reader().fit([[1.0]])
    del reader.schema_
    with pytest.raises(AttributeError, match="schema_"):
        reader._read_table([[1.0]])


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


@parameters
class Counter(Estimator):
    """Count rows; ``best_`` is there only if asked for."""

    _required_attributes = ("count_",)
    _state_attributes = ("best_",)
    _transient_attributes = ("_double",)

    best: bool = False

    def fit(self, X, y=None):
        return self._set_fitted(count_=len(X), best_=max(X) if self.best else None)

    def _derived(self, fitted):
        return {"_double": 2 * fitted["count_"]}

    def _check_fitted(self):
        if self.count_ < 0:
            raise ModelFileError("A count is negative.")


def test_fitted_attributes_are_replaced_all_together():
    model = Counter(best=True).fit([3, 4])
    model.note = "kept"
    assert (model.count_, model.best_, model._double) == (2, 4, 4)
    model.set_params(best=False).fit([1])
    assert vars(model) == {"best": False, "note": "kept", "count_": 1, "_double": 2}


def test_a_failed_fit_changes_nothing():
    model = Counter().fit([1])
    before = dict(vars(model))
    with pytest.raises(TypeError):
        model.fit(None)
    assert vars(model) == before


def test_derived_attributes_come_back_from_a_file():
    model = loads(dumps(Counter(best=True).fit([3, 4])))
    assert vars(model) == {"best": True, "count_": 2, "best_": 4, "_double": 4}
    assert vars(loads(dumps(Counter()))) == {"best": False}


def test_what_a_file_holds_is_checked():
    model = Counter().fit([3, 4])
    model.count_ = -1
    with pytest.raises(ModelFileError, match="negative"):
        loads(dumps(model))


def test_a_schema_comes_back_from_a_file():
    model = loads(dumps(Reader().fit([[1.0, "a"]])))
    assert model.n_features_in_ == 2
    assert model.schema_ == read_table([[1.0, "a"]]).schema


def test_parameters_follow_a_constructor_that_is_replaced(monkeypatch):
    class Own(Estimator, persistent_name=""):
        def __init__(self, depth=1):
            self.depth = depth

    assert Own().get_params() == {"depth": 1}
    names = Own._get_param_names()
    names.append("changed")
    assert Own._get_param_names() == ["depth"]
    monkeypatch.setattr(Own, "__init__", lambda self, width=2: setattr(self, "width", width))
    assert Own().get_params() == {"width": 2}


def test_an_attribute_may_be_added_while_a_model_is_used():
    reader = Reader().fit([[1.0]])

    class Name(str):
        """A name that adds an attribute when it is looked at, as another thread may do at any time."""

        __slots__ = ()

        def __hash__(self):
            vars(reader)[f"lazy{len(vars(reader))}"] = 1
            return super().__hash__()

        def endswith(self, *suffix):
            vars(reader)[f"lazy{len(vars(reader))}"] = 1
            return super().endswith(*suffix)

    reader.__dict__ = dict.fromkeys((Name("first"), Name("second")), 1) | vars(reader)
    check_is_fitted(reader)
    assert "schema_" in reader._fitted_attributes()
    assert "schema_" not in reader._unfitted_attributes()
