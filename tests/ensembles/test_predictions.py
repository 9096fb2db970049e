"""Predictions of members: out of fold, and aligned to one order of classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold, TimeSeriesSplit
from sklearn.svm import SVC, LinearSVC

import spinney as sp
from spinney.ensembles.predictions import FitTask, aligned_predictions, make_splits, make_splitter

X = np.arange(12.0)[:, None]
Y = np.arange(12.0)


def test_splitters_are_read_in_scikit_learns_manner():
    labels = np.array([0] * 8 + [1] * 4)
    assert isinstance(make_splitter(None, labels, True), StratifiedKFold)
    assert isinstance(make_splitter(None, Y, False), KFold)
    assert isinstance(make_splitter("loo", Y, False), LeaveOneOut)
    assert make_splitter(3, labels, True).n_splits == 3
    assert make_splitter(None, np.array([0, 0, 0, 1]), True).n_splits == 3
    assert make_splitter(None, np.array([0, 1, 2]), True).n_splits == 3  # no class has two rows
    assert make_splitter(None, Y[:2], False).n_splits == 2
    with pytest.raises(ValueError, match="at least 2 rows"):
        make_splitter(None, Y[:1], False)
    with pytest.raises(ValueError, match="prefit"):
        make_splitter("first", Y, False)


def held_out(cv):
    members = [sp.DecisionTreeRegressor()]
    task = FitTask(["tree"], members, [0], X, Y, Y, None, None, None, [{}], None, {})
    splits = make_splits(make_splitter(cv, Y, False), X, Y)
    return splits, task.predict_out_of_fold(splits, ["predict"], 1)


def test_no_row_is_predicted_by_a_member_that_saw_it():
    """Every target is another number, and a full tree predicts one that it saw."""
    _, found = held_out(KFold(4, shuffle=True, random_state=0))
    assert_array_equal(found.rows, np.arange(12))
    assert not (found.predictions[0][:, 0] == Y).any()


def test_rows_are_predicted_as_often_as_they_are_held_out():
    splits, found = held_out(TimeSeriesSplit(3))
    assert_array_equal(found.rows, np.arange(3, 12))
    for train, test in splits:
        assert (found.predictions[0][np.isin(found.rows, test), 0] <= Y[train].max()).all()
    twice = [(np.arange(6), np.arange(6, 12)), (np.arange(9), np.arange(9, 12))]
    _, found = held_out(twice)
    assert found.rows.tolist() == [6, 7, 8, 9, 9, 10, 10, 11, 11]
    assert found.predictions[0][:, 0].tolist() == [5, 5, 5, 5, 8, 5, 8, 5, 8]


# ---- aligned predictions ----

CLASSES = np.array(["a", "b", "c"])
ROWS = np.arange(8.0)[:, None]


def test_probabilities_of_a_class_never_seen_are_0():
    member = sp.DecisionTreeClassifier().fit(ROWS, list("aacc" * 2))
    probabilities = aligned_predictions(member, ROWS, "predict_proba", CLASSES)
    assert_array_equal(probabilities[:, [0, 2]], member.predict_proba(ROWS))
    assert_array_equal(probabilities[:, 1], 0.0)


def test_decisions_for_two_of_three_classes_are_spread():
    member = LinearSVC().fit(ROWS, list("aaaacccc"))
    decision = member.decision_function(ROWS)
    spread = aligned_predictions(member, ROWS, "decision_function", CLASSES)
    assert_allclose(spread[:, 2], decision)
    assert_allclose(spread[:, 0], -decision)
    assert_allclose(spread[:, 1], -np.abs(decision))
    assert aligned_predictions(member, ROWS, "decision_function", np.array(["a", "c"])).shape == (8, 1)


def test_labels_become_codes_and_numbers_stay():
    member = sp.DecisionTreeClassifier().fit(ROWS, list("bbccbbcc"))
    assert aligned_predictions(member, ROWS, "predict", CLASSES).ravel().tolist() == [1, 1, 2, 2, 1, 1, 2, 2]
    regressor = sp.DecisionTreeRegressor().fit(ROWS, ROWS[:, 0])
    assert_array_equal(aligned_predictions(regressor, ROWS, "predict", None), ROWS)


def test_predictions_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="'d', which is not a class"):
        aligned_predictions(sp.DecisionTreeClassifier().fit(ROWS, list("aabbccdd")), ROWS, "predict", CLASSES)
    with pytest.raises(ValueError, match="2 outputs"):
        aligned_predictions(
            sp.DecisionTreeRegressor().fit(ROWS, np.hstack([ROWS, ROWS])), ROWS, "predict", None
        )
    pairs = SVC(decision_function_shape="ovo").fit(ROWS, list("abcdabcd"))
    with pytest.raises(ValueError, match="shape"):
        aligned_predictions(pairs, ROWS, "decision_function", np.array(list("abcd")))
