"""Answers of members: put in the classes of the ensemble, whichever a member met."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from spinney.bagging import answers
from spinney.bagging.answers import give_numbers, give_scores, give_shares, give_votes, mean_answer
from spinney.core.errors import InputError

THREE = [np.array(["a", "b", "c"])]


def member(classes=None, **says):
    given = {name: (lambda X, value=value: np.asarray(value)) for name, value in says.items()}
    if "predict_proba" in says and isinstance(says["predict_proba"], list) and isinstance(classes, list):
        given["predict_proba"] = lambda X: [np.asarray(part) for part in says["predict_proba"]]
    return SimpleNamespace(classes_=classes, **given)


def test_votes():
    votes = give_votes(member(predict=["c", "a"]), None, THREE)
    assert_array_equal(votes, [[0, 0, 1], [1, 0, 0]])


def test_votes_for_several_outputs():
    both = [np.array([0, 1]), np.array(["x", "y", "z"])]
    votes = give_votes(member(predict=np.array([[1, "x"], [0, "z"]], dtype=object)), None, both)
    assert_array_equal(votes, [[0, 1, 1, 0, 0], [1, 0, 0, 0, 1]])


def test_shares_of_classes_never_met_are_zero():
    shares = give_shares(member(np.array(["a", "c"]), predict_proba=[[0.3, 0.7]]), None, THREE)
    assert_array_equal(shares, [[0.3, 0.0, 0.7]])


def test_members_without_probabilities_vote():
    assert_array_equal(give_shares(member(predict=["b"]), None, THREE), [[0, 1, 0]])


def test_shares_of_several_outputs():
    both = [np.array([0, 1]), np.array([5, 6, 7])]
    two = member([np.array([0, 1]), np.array([5, 7])], predict_proba=[[[0.2, 0.8]], [[0.4, 0.6]]])
    assert_array_equal(give_shares(two, None, both), [[0.2, 0.8, 0.4, 0.0, 0.6]])
    # Some classifiers of several labels give one column a label.
    one_column = member([np.array([0, 1])] * 2, predict=[[1, 6]])
    one_column.predict_proba = lambda X: np.array([[0.9, 0.2]])
    assert_array_equal(give_shares(one_column, None, both), [[0, 1, 0, 1, 0]])


def test_scores():
    two = [np.array(["a", "b"])]
    assert_array_equal(give_scores(member(two[0], decision_function=[1.0, -2.0]), None, two), [1.0, -2.0])
    met_all = member(THREE[0], decision_function=[[1.0, 2.0, 3.0]])
    assert_array_equal(give_scores(met_all, None, THREE), [[1.0, 2.0, 3.0]])


def test_scores_of_classes_never_met_are_the_least():
    met_two = member(np.array(["a", "c"]), decision_function=[1.5, -0.5])
    assert_array_equal(give_scores(met_two, None, THREE), [[-1.5, -1.5, 1.5], [0.5, -0.5, -0.5]])
    four = [np.array(list("abcd"))]
    met_three = member(np.array(["a", "b", "d"]), decision_function=[[3.0, 1.0, 2.0]])
    assert_array_equal(give_scores(met_three, None, four), [[3.0, 1.0, 1.0, 2.0]])


def test_scores_of_pairs_cannot_be_placed():
    pairs = member(np.array(list("abcd")), decision_function=[[1.0] * 6])
    with pytest.raises(InputError, match="scores pairs"):
        give_scores(pairs, None, [np.array(list("abcde"))])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_of_rows_give_the_mean_of_all(n_jobs, monkeypatch):
    monkeypatch.setattr(answers, "_BLOCK", 7)
    X = np.random.default_rng(0).normal(size=(30, 3))
    members = [SimpleNamespace(predict=lambda part, k=k: k * part[:, 0]) for k in range(3)]
    features = [np.array([0, 1]), np.array([1, 2]), np.array([2, 2])]
    found = mean_answer(members, features, X, 3, give_numbers, n_jobs)
    assert_allclose(found, (X[:, 1] + 2 * X[:, 2]) / 3)
