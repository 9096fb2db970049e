import numpy as np
import pandas as pd
import pytest

import spinney as sp
from spinney.data.target import encode_classes, encode_labels, encode_like, encode_values, read_target
from spinney.data.weights import class_weights, class_weights_like
from spinney.io import dumps, loads


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, 1, 3, 2]),
        np.array([3, 1, 3, 2], dtype=np.uint8),
        np.array([-5, 2**62, 0, 0]),
        np.array([2**63, 5, 5], dtype=np.uint64),
        np.array([2.0, -1.0, 2.0]),
        np.array([1e300, 0.0]),
        np.array([True, False]),
        np.array([True, True]),
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "b"], dtype=object),
        np.array([2, 1.0, True], dtype=object),
        np.array([[1, 5], [2, 5], [1, 6]]),
    ],
)
def test_codes_are_those_of_numpys_unique(y):
    labels = encode_classes(y)
    for k, column in enumerate(y.reshape(len(y), -1).T):
        classes, codes = np.unique(column, return_inverse=True)
        assert labels.classes[k].tolist() == classes.tolist()
        assert labels.classes[k].dtype == y.dtype
        assert labels.codes[:, k].tolist() == codes.tolist()
    assert labels.codes.dtype == np.int32 and labels.codes.flags.c_contiguous
    assert np.array_equal(encode_like(y, labels.classes), labels.codes)


def test_continuous_labels_are_refused():
    for y in (np.array([0.5, 1.0]), np.array([0.5, 1.0], dtype=object)):
        with pytest.raises(ValueError, match="Unknown label type: continuous"):
            encode_classes(y)


def test_text_beside_numbers_stays_what_it_was():
    assert read_target(["1", "2"], 2).tolist() == ["1", "2"]
    with pytest.raises(ValueError, match="row 1"):
        read_target(["1", float("nan")], 2)


def test_text_and_numbers_in_a_list_are_text_as_in_scikit_learn():
    codes, classes = encode_labels(["foo", 1, "foo"], 3)
    assert (codes.tolist(), classes.tolist()) == ([1, 0, 1], ["1", "foo"])
    with pytest.raises(ValueError, match="types int, str"):
        encode_labels(np.array(["foo", 1], dtype=object), 2)


def test_poisson_targets_are_not_negative():
    with pytest.raises(ValueError, match=r"negative.*row 1"):
        encode_values(np.array([1.0, -1.0]), non_negative=True)
    with pytest.raises(ValueError, match="not positive"):
        encode_values(np.zeros(3), non_negative=True)


def test_class_weights_must_be_weights():
    y = np.array([0, 1, 1])
    assert class_weights("balanced", y).tolist() == [1.5, 0.75, 0.75]
    with pytest.raises(ValueError, match="class_weight"):
        class_weights({0: -1.0, 1: 1.0}, y)


def test_object_labels_are_searched_for_missing_ones_by_type():
    for gap in (None, float("nan"), np.float64("nan"), pd.NA, pd.NaT):
        with pytest.raises(ValueError, match=r"y contains NaN or another missing value.*row 2"):
            read_target(np.array(["a", "b", gap], dtype=object), 3)
    with pytest.raises(ValueError, match=r"y contains infinity.*row 1"):
        read_target(np.array(["a", float("inf")], dtype=object), 2)
    assert read_target(np.array(["a", 1.0], dtype=object), 2).tolist() == ["a", 1.0]


def test_other_rows_get_the_class_weights_of_training():
    y = np.array(["a", "b", "b", "b"])
    codes, other = encode_classes(y).codes, np.array([[1], [0], [-1], [0]])
    assert class_weights_like("balanced", y, codes, other).tolist() == [2 / 3, 2.0, 1.0, 2.0]
    assert class_weights_like({"a": 5.0}, y, codes, other).tolist() == [1.0, 5.0, 1.0, 5.0]
    both = np.array([[0, 7], [1, 8], [1, 7], [1, 8]])
    codes, other = encode_classes(both).codes, np.array([[0, 0], [1, 1], [-1, 1]])
    weights = class_weights_like([{0: 2.0, 1: 1.0}, {7: 3.0, 8: 10.0}], both, codes, other)
    assert weights.tolist() == [6.0, 10.0, 10.0]
    assert (
        class_weights_like("balanced", both, codes, codes).tolist()
        == class_weights("balanced", both).tolist()
    )


def test_codes_of_labels():
    codes, classes = encode_labels(pd.Series(["ripe", "unripe", "ripe"], dtype="category"), 3)
    assert (codes.tolist(), classes.tolist()) == ([0, 1, 0], ["ripe", "unripe"])
    codes, classes = encode_labels(np.array([3.0, -1.0, 3.0]), 3)
    assert (codes.tolist(), classes.tolist()) == ([1, 0, 1], [-1.0, 3.0])


@pytest.mark.parametrize(
    "y, n_rows, words",
    [
        (None, 2, "y is None"),
        ([0, 1], 3, "inconsistent"),
        ([0, None], 2, "row 1"),
        ([0.5, 1.2], 2, "continuous"),
        (np.zeros((2, 2)), 2, "2 outputs"),
    ],
)
def test_wrong_labels_are_refused(y, n_rows, words):
    with pytest.raises(ValueError, match=words):
        encode_labels(y, n_rows)


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 1 has no StringDType")
def test_labels_of_numpys_string_type_are_text_that_can_be_saved():
    labels = np.array(["b", "a", "b"], dtype=np.dtypes.StringDType())
    model = sp.DecisionTreeClassifier().fit([[0.0], [1.0], [0.0]], labels)
    assert loads(dumps(model)).predict([[1.0]]).tolist() == ["a"]
    missing = np.array(["b", None], dtype=np.dtypes.StringDType(na_object=None))
    with pytest.raises(ValueError, match="missing value"):
        sp.DecisionTreeClassifier().fit([[0.0], [1.0]], missing)
