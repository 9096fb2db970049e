"""Predictions of members over the classes of the ensemble, whichever classes a member has seen."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from spinney.bagging import predictions
from spinney.bagging.predictions import (
    mean_prediction,
    member_probabilities,
    member_scores,
    member_values,
    member_votes,
)
from spinney.core.errors import InputError

THREE = [np.array(["a", "b", "c"])]


def member(classes=None, **says):
    given = {name: (lambda X, value=value: np.asarray(value)) for name, value in says.items()}
    if "predict_proba" in says and isinstance(says["predict_proba"], list) and isinstance(classes, list):
        given["predict_proba"] = lambda X: [np.asarray(part) for part in says["predict_proba"]]
    return SimpleNamespace(classes_=classes, **given)


def test_votes():
    votes = member_votes(member(predict=["c", "a"]), None, THREE)
    assert_array_equal(votes, [[0, 0, 1], [1, 0, 0]])


def test_votes_for_several_outputs():
    both = [np.array([0, 1]), np.array(["x", "y", "z"])]
    votes = member_votes(member(predict=np.array([[1, "x"], [0, "z"]], dtype=object)), None, both)
    assert_array_equal(votes, [[0, 1, 1, 0, 0], [1, 0, 0, 0, 1]])


def test_probabilities_of_unseen_classes_are_zero():
    probabilities = member_probabilities(
        member(np.array(["a", "c"]), predict_proba=[[0.3, 0.7]]), None, THREE
    )
    assert_array_equal(probabilities, [[0.3, 0.0, 0.7]])


def test_members_without_probabilities_vote():
    assert_array_equal(member_probabilities(member(predict=["b"]), None, THREE), [[0, 1, 0]])


def test_probabilities_of_several_outputs():
    both = [np.array([0, 1]), np.array([5, 6, 7])]
    two = member([np.array([0, 1]), np.array([5, 7])], predict_proba=[[[0.2, 0.8]], [[0.4, 0.6]]])
    assert_array_equal(member_probabilities(two, None, both), [[0.2, 0.8, 0.4, 0.0, 0.6]])
    # Some classifiers of several labels give one column per label.
    one_column = member([np.array([0, 1])] * 2, predict=[[1, 6]])
    one_column.predict_proba = lambda X: np.array([[0.9, 0.2]])
    assert_array_equal(member_probabilities(one_column, None, both), [[0, 1, 0, 1, 0]])


def test_scores():
    two = [np.array(["a", "b"])]
    assert_array_equal(member_scores(member(two[0], decision_function=[1.0, -2.0]), None, two), [1.0, -2.0])
    seen_all = member(THREE[0], decision_function=[[1.0, 2.0, 3.0]])
    assert_array_equal(member_scores(seen_all, None, THREE), [[1.0, 2.0, 3.0]])


def test_scores_of_unseen_classes_are_the_minimum():
    seen_two = member(np.array(["a", "c"]), decision_function=[1.5, -0.5])
    assert_array_equal(member_scores(seen_two, None, THREE), [[-1.5, -1.5, 1.5], [0.5, -0.5, -0.5]])
    four = [np.array(list("abcd"))]
    seen_three = member(np.array(["a", "b", "d"]), decision_function=[[3.0, 1.0, 2.0]])
    assert_array_equal(member_scores(seen_three, None, four), [[3.0, 1.0, 1.0, 2.0]])


def test_scores_of_pairs_cannot_be_placed():
    pairs = member(np.array(list("abcd")), decision_function=[[1.0] * 6])
    with pytest.raises(InputError, match="scores pairs"):
        member_scores(pairs, None, [np.array(list("abcde"))])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_of_rows_give_the_mean_of_all(n_jobs, monkeypatch):
    monkeypatch.setattr(predictions, "_BLOCK_ROWS", 7)
    X = np.random.default_rng(0).normal(size=(30, 3))
    members = [SimpleNamespace(predict=lambda part, k=k: k * part[:, 0]) for k in range(3)]
    features = [np.array([0, 1]), np.array([1, 2]), np.array([2, 2])]
    found = mean_prediction(members, features, X, 3, member_values, n_jobs)
    assert_allclose(found, (X[:, 1] + 2 * X[:, 2]) / 3)
