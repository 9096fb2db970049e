"""Out-of-fold answers: which splits, which rows, and what a fold never sees."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold, TimeSeriesSplit

import spinney as sp
from spinney.ensembles.out_of_fold import Lesson, answer_out_of_fold, read_splits, read_splitter

X = np.arange(12.0)[:, None]
Y = np.arange(12.0)


def test_splitters_are_read_in_scikit_learns_manner():
    labels = np.array([0] * 8 + [1] * 4)
    assert isinstance(read_splitter(None, labels, True), StratifiedKFold)
    assert isinstance(read_splitter(None, Y, False), KFold)
    assert isinstance(read_splitter("loo", Y, False), LeaveOneOut)
    assert read_splitter(3, labels, True).n_splits == 3
    assert read_splitter(None, np.array([0, 0, 0, 1]), True).n_splits == 3
    assert read_splitter(None, np.array([0, 1, 2]), True).n_splits == 3  # no class has two rows
    assert read_splitter(None, Y[:2], False).n_splits == 2
    with pytest.raises(ValueError, match="at least 2 rows"):
        read_splitter(None, Y[:1], False)
    with pytest.raises(ValueError, match="prefit"):
        read_splitter("first", Y, False)


def held_out(cv):
    lesson = Lesson(X, Y, Y, None, [{}])
    splits = read_splits(read_splitter(cv, Y, False), X, Y)
    return splits, answer_out_of_fold([sp.DecisionTreeRegressor()], lesson, splits, ["predict"], 1)


def test_no_row_is_answered_by_a_member_that_saw_it():
    """Every target is another number, and a full tree answers with one that it saw."""
    _, found = held_out(KFold(4, shuffle=True, random_state=0))
    assert_array_equal(found.rows, np.arange(12))
    assert not (found.answers[0][:, 0] == Y).any()


def test_rows_are_answered_as_often_as_they_are_held_out():
    splits, found = held_out(TimeSeriesSplit(3))
    assert_array_equal(found.rows, np.arange(3, 12))
    for train, test in splits:
        assert (found.answers[0][np.isin(found.rows, test), 0] <= Y[train].max()).all()
    twice = [(np.arange(6), np.arange(6, 12)), (np.arange(9), np.arange(9, 12))]
    _, found = held_out(twice)
    assert found.rows.tolist() == [6, 7, 8, 9, 9, 10, 10, 11, 11]
    assert found.answers[0][:, 0].tolist() == [5, 5, 5, 5, 8, 5, 8, 5, 8]
