"""TrainingSet: rows, target and weights of one fit."""

from dataclasses import replace

import numpy as np
import pytest

from spinney.core.errors import InputError
from spinney.data import read_table
from spinney.data.training_set import TrainingSet

X = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 3.0], [3.0, 4.0]])


def test_classes_are_encoded_in_ascending_order():
    training = TrainingSet.read(read_table(X), ["b", "a", "b", "a"], task="classification")
    assert training.y.ravel().tolist() == [1, 0, 1, 0]
    assert training.class_labels.tolist() == ["a", "b"]
    assert training.n_classes == (2,) and training.n_outputs == 1 and training.n_rows == 4
    assert training.strata.tolist() == [1, 0, 1, 0]
    assert training.encode_like(np.array(["a", "c"])).ravel().tolist() == [0, -1]


def test_values_keep_their_shape():
    training = TrainingSet.read(read_table(X), np.arange(8.0).reshape(4, 2), task="regression")
    assert training.y.shape == (4, 2) and training.class_labels is None and training.strata is None
    with pytest.raises(InputError, match="1 outputs where 2 are expected"):
        training.encode_like(np.array([1.0]))


def test_class_weights_multiply_row_weights():
    training = TrainingSet.read(
        read_table(X),
        [0, 1, 1, 1],
        [2.0, 1.0, 0.0, 1.0],
        task="classification",
        class_weight={0: 3.0, 1: 1.0},
    )
    assert training.weights.tolist() == [6.0, 1.0, 0.0, 1.0]
    assert training.n_weighted == 3
    assert replace(training, weights=None).full_weights.tolist() == [1.0] * 4
    assert replace(training, weights=None).n_weighted == 4


def test_the_target_is_classes_or_values():
    training = TrainingSet.read(read_table(X), ["b", "a", "b", "a"], task="classification")
    weights = np.ones(4)
    target = training.target(weights)
    assert target.classes is training.y and target.values is None and target.n_classes == (2,)
    assert target.weights is weights
    regression = TrainingSet.read(read_table(X), [1.0, 2.0, 3.0, 4.0], task="regression")
    assert regression.target(None).classes is None and regression.target(None).values is regression.y


def test_coding_tells_which_features_have_missing_values():
    training = TrainingSet.read(read_table(X), [0, 1, 0, 1], task="classification")
    assert training.matrix is None
    coded = training.coded(255)
    assert (coded.matrix.n_rows, coded.matrix.n_columns) == (4, 2)
    assert [feature.has_missing for feature in coded.table.schema.features] == [False, True]
    part = coded.select([1])
    assert part.matrix.n_columns == part.table.n_features == 1
    assert part.table.schema.features[0].has_missing


def test_splits_are_stratified_by_class():
    X = np.zeros((40, 1))
    training = TrainingSet.read(read_table(X), [0] * 20 + [1] * 20, task="classification", seed=7)
    held = training.hold_out(0.25)
    assert (held[:20].sum(), held[20:].sum()) == (5, 5)
    assert np.bincount(training.folds(4)).tolist() == [10] * 4


def test_negative_values_are_refused_where_a_loss_has_none():
    with pytest.raises(InputError, match="negative"):
        TrainingSet.read(read_table(X), [0.0, -1.0, 1.0, 1.0], task="regression", non_negative=True)
