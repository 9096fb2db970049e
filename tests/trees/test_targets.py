import numpy as np
import pytest

from spinney.trees.targets import class_weights, encode_classes, encode_like, encode_values, read_target


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
