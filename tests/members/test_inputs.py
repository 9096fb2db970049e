"""An ensemble remembers how many features it saw, and their names; labels get codes in ascending order."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from spinney.io import ModelFileError
from spinney.members.inputs import check_described, check_input, describe_input, encode, remember_input


class Fitted(BaseEstimator):
    def fit(self, X):
        remember_input(self, X)
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


def test_codes_of_labels():
    codes, classes = encode(pd.Series(["ripe", "unripe", "ripe"], dtype="category"))
    assert (codes.tolist(), classes.tolist()) == ([0, 1, 0], ["ripe", "unripe"])
    codes, classes = encode(np.array([3.0, -1.0, 3.0]), 3)
    assert (codes.tolist(), classes.tolist()) == ([1, 0, 1], [-1.0, 3.0])


@pytest.mark.parametrize(
    "y, n_rows, words",
    [
        (None, 2, "y is None"),
        (None, None, "y is None"),
        ([0, 1], 3, "inconsistent"),
        ([0, None], 2, "row 1"),
        ([0.5, 1.2], 2, "continuous"),
        (np.zeros((2, 2)), 2, "2 outputs"),
    ],
)
def test_wrong_labels_are_refused(y, n_rows, words):
    with pytest.raises(ValueError, match=words):
        encode(y, n_rows)


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
