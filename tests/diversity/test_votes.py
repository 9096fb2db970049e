import numpy as np
import pandas as pd
import polars as pl
import pytest

from spinney.core.errors import InputError
from spinney.diversity import votes as module
from spinney.diversity.votes import read_votes

ROWS = [["b", "a"], ["c", "c"], ["a", "b"]]


@pytest.mark.parametrize(
    "kind",
    [
        list,
        np.array,
        lambda rows: np.array(rows, dtype=object),
        np.asfortranarray,
        pd.DataFrame,
        lambda rows: pd.DataFrame(rows).astype("category"),
        lambda rows: pd.DataFrame(rows).astype("string"),
        lambda rows: pl.DataFrame(rows, orient="row"),
    ],
)
def test_labels_of_any_kind_become_codes_in_ascending_order(kind):
    votes = read_votes(kind(ROWS), ["c", "c", "d"])
    assert votes.classes.tolist() == ["a", "b", "c", "d"]
    assert votes.codes.tolist() == [[1, 2, 0], [0, 2, 1]]
    assert votes.truth.tolist() == [2, 2, 3]
    assert votes.correctness().codes.tolist() == [[0, 1, 0], [0, 1, 0]]


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, ">i4", bool])
def test_numbers_are_labels_by_value(dtype):
    votes = read_votes(np.array([[1, 0], [0, 0]], dtype=dtype), [1.0, 0.0])
    assert votes.codes.tolist() == [[1, 0], [0, 0]]
    assert votes.truth.tolist() == [1, 0]


@pytest.mark.parametrize(("n_classes", "itemsize"), [(256, 1), (257, 2), (70_000, 4)])
def test_codes_are_as_narrow_as_the_classes_allow(n_classes, itemsize):
    labels = np.random.default_rng(0).permutation(n_classes)[:, None] * 1000
    votes = read_votes(labels)
    assert votes.codes.dtype.itemsize == itemsize
    assert np.array_equal(votes.classes[votes.codes[0]], labels[:, 0])


@pytest.mark.parametrize("n_classes", [1, 16, 17, 40])
def test_many_texts_get_the_codes_of_few(n_classes):
    labels = np.array([f"t{code:02}" for code in range(n_classes)])
    codes = np.random.default_rng(0).permutation(np.arange(200) % n_classes)[:, None]
    for given in (labels[codes], labels.astype(object)[codes], labels.astype("S")[codes]):
        assert np.array_equal(read_votes(given).codes[0], codes[:, 0])


def test_blocks_do_not_change_the_codes(monkeypatch):
    labels = np.random.default_rng(0).integers(0, 600, (50, 7))
    y = np.arange(50) + 590
    whole = read_votes(labels, y)
    monkeypatch.setattr(module, "_BLOCK_VALUES", 20)
    cut = read_votes(labels, y)
    for name in ("codes", "classes", "truth"):
        assert np.array_equal(getattr(whole, name), getattr(cut, name))


def test_rows_of_weight_0_are_not_there():
    votes = read_votes([["a", "b"], ["z", "z"], ["b", "b"]], ["a", "y", "b"], sample_weight=[1, 0, 2])
    assert votes.classes.tolist() == ["a", "b"]
    assert votes.n_rows == 2 and votes.total == 3


@pytest.mark.parametrize("scale", [1e-300, 0.1, 1e300])
def test_weights_become_whole_numbers_of_the_same_proportions(scale):
    weights = np.array([1.0, 2.0, 3.5, 1 / 3]) * scale
    votes = read_votes([[0]] * 4, sample_weight=weights)
    assert np.array_equal(votes.weights, np.trunc(votes.weights))
    assert votes.total < 2**53
    np.testing.assert_allclose(votes.weights / votes.total, weights / weights.sum(), rtol=0, atol=1e-15)


def test_whole_weights_stay_as_they_are():
    assert read_votes([[0], [1]], sample_weight=[3, 2**40]).weights.tolist() == [3, 2**40]


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ([[0, 1.5]], r"The prediction 1\.5 is not a label in column 1, row 0"),
        ([[0.0, 1.0], [np.nan, 1.0]], r"The prediction nan is not a label in column 0, row 1"),
        ([[0.0, 1.0], [1.0, np.inf]], r"The prediction inf is not a label in column 1, row 1"),
        (np.array([["a", None]], dtype=object), r"The prediction None is not a label in column 1, row 0"),
        (np.array([["a", 1]], dtype=object), "labels of the types int, str"),
        ([0, 1, 0], r"shape \(3,\).*n_rows, n_members"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (np.empty((0, 2)), "no rows"),
        (np.empty((2, 0)), "0 columns"),
        ([["a"], ["a", "b"]], "not a matrix"),
    ],
)
def test_bad_predictions_are_named(predictions, message):
    with pytest.raises(InputError, match=message):
        read_votes(predictions)


def test_the_row_of_a_missing_label_is_that_of_the_table(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_VALUES", 4)
    predictions = np.full((9, 2), "a", dtype=object)
    predictions[7, 1] = None
    with pytest.raises(InputError, match="column 1, row 7"):
        read_votes(predictions)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a"], "3 rows"),
        (["a", None, "b"], "row 1"),
        ([["a", "b"]] * 3, "2 outputs"),
        ([1, 2, 3], "types int, str"),
    ],
)
def test_bad_truth_is_named(y, message):
    with pytest.raises(InputError, match=message):
        read_votes(ROWS, y)


def test_bad_weights_are_named():
    with pytest.raises(InputError, match="row 1"):
        read_votes(ROWS, sample_weight=[1, -1, 1])
    with pytest.raises(InputError, match="expected"):
        read_votes(ROWS, sample_weight=[1, 1])
