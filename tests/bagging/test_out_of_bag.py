"""Out-of-bag predictions: the mean over the members that did not see a row, and no others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import spinney as sp
from oracles.naive_bagging import out_of_bag_answers
from spinney.bagging.predictions import out_of_bag_mean, out_of_bag_score
from spinney.core.errors import InputError


def classes(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.5 * rng.normal(size=n), [-0.5, 0.5])]


CLASSIFIERS = {
    "trees": {},
    "votes": {"voting": "hard"},
    "patches": {"max_samples": 0.5, "max_features": 0.5},
    "pasting": {"bootstrap": False, "max_samples": 0.8},
    "rows taken": {"estimator": KNeighborsClassifier(3)},
    "columns twice": {"estimator": KNeighborsClassifier(3), "bootstrap_features": True},
}


@pytest.mark.parametrize("setting", CLASSIFIERS)
def test_only_members_that_did_not_see_the_row_answer(setting):
    X, y = classes()
    model = sp.BaggingClassifier(n_estimators=6, oob_score=True, random_state=1, **CLASSIFIERS[setting])
    model.fit(X, y)

    def say(member, row):
        if model.voting == "hard":
            return (member.predict(row)[:, None] == model.classes_).astype(float)
        proba = np.zeros((1, 3))
        proba[:, np.searchsorted(model.classes_, member.classes_)] = member.predict_proba(row)
        return proba

    expected = out_of_bag_answers(model, X, say)
    seen_by_all = [row for row, answer in enumerate(expected) if answer is None]
    assert 0 < len(seen_by_all) < 40
    predicted_rows = np.setdiff1d(np.arange(80), seen_by_all)
    found = model.oob_decision_function_
    assert np.isnan(found[seen_by_all]).all()
    assert_allclose(found[predicted_rows], np.array([expected[row] for row in predicted_rows]), atol=1e-12)
    right = model.classes_[found[predicted_rows].argmax(axis=1)] == y[predicted_rows]
    assert model.oob_score_ == pytest.approx(right.mean())


@pytest.mark.parametrize("estimator", [None, KNeighborsRegressor(2)])
def test_regressors_too(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, 2.0, 0.0]
    model = sp.BaggingRegressor(estimator, n_estimators=5, oob_score=True, random_state=0).fit(X, y)
    expected = out_of_bag_answers(model, X, lambda member, row: member.predict(row))
    predicted_rows = [row for row in range(60) if expected[row] is not None]
    assert len(predicted_rows) < 60
    assert_allclose(model.oob_prediction_[predicted_rows], [expected[row] for row in predicted_rows])
    assert np.isnan(np.delete(model.oob_prediction_, predicted_rows)).all()
    assert model.oob_score_ == pytest.approx(
        r2_score(y[predicted_rows], model.oob_prediction_[predicted_rows])
    )


def test_rows_without_weight_are_not_judged():
    X, y = classes()
    weights = np.random.default_rng(1).integers(0, 3, 80).astype(float)
    model = sp.BaggingClassifier(n_estimators=30, oob_score=True, random_state=0).fit(X, y, weights)
    probabilities = model.oob_decision_function_
    predicted_rows = ~np.isnan(probabilities[:, 0])
    assert not predicted_rows[weights == 0].any()
    predicted = model.classes_[probabilities[predicted_rows].argmax(axis=1)]
    expected = accuracy_score(y[predicted_rows], predicted, sample_weight=weights[predicted_rows])
    assert model.oob_score_ == pytest.approx(expected)


def test_a_score_of_ones_own():
    X, y = classes()
    seen = []

    def error(truth, predicted):
        seen.append((truth, predicted))
        return (truth != predicted).mean()

    model = sp.BaggingClassifier(n_estimators=20, oob_score=error, random_state=0).fit(X, y)
    default = sp.BaggingClassifier(n_estimators=20, oob_score=True, random_state=0).fit(X, y)
    assert model.oob_score_ == pytest.approx(1 - default.oob_score_)
    assert seen[0][0].shape == seen[0][1].shape
    assert set(seen[0][1]) <= {"a", "b", "c"}
    weighted = sp.BaggingClassifier(oob_score=error, random_state=0).fit(X, y, np.full(80, 0.5))
    assert 0 <= weighted.oob_score_ <= 1  # a score without weights is asked without


def test_out_of_bag_error_is_near_held_out_error():
    differences = []
    for seed in range(8):
        X, y = classes(900, seed)
        model = sp.BaggingClassifier(n_estimators=40, oob_score=True, random_state=seed).fit(X[:300], y[:300])
        differences.append(model.oob_score_ - model.score(X[300:], y[300:]))
        on_training_rows = model.score(X[:300], y[:300])
        assert on_training_rows > model.oob_score_ + 0.1
    # Eight differences, each with a standard deviation of about 0.03.
    assert abs(np.mean(differences)) < 0.035


def test_nothing_out_of_bag_is_an_error():
    X, y = classes()
    with pytest.raises(InputError, match="Out of bag estimation only available"):
        sp.BaggingClassifier(bootstrap=False, oob_score=True).fit(X, y)
    with pytest.raises(InputError, match="Out of bag estimation only available"):
        out_of_bag_mean(3, [])


def test_one_row_out_of_bag_has_no_r_squared():
    X, y = np.arange(3.0)[:, None], np.arange(3.0)
    more = {"n_estimators": 1, "bootstrap": False, "max_samples": 2, "random_state": 0}
    with pytest.raises(InputError, match="two rows out of bag"):
        sp.BaggingRegressor(oob_score=True, **more).fit(X, y)
    model = sp.BaggingRegressor(oob_score=lambda y, predicted: np.abs(y - predicted).max(), **more).fit(X, y)
    assert model.oob_score_ >= 1.0


def test_several_outputs():
    X, y = classes()
    both = np.stack([y, np.where(X[:, 1] > 0, "up", "low")], axis=1)
    model = sp.BaggingClassifier(n_estimators=40, oob_score=True, random_state=0).fit(X, both)
    assert model.oob_decision_function_.shape == (80, 3, 2)
    first, second = np.moveaxis(model.oob_decision_function_, 2, 0)
    predicted = np.stack([model.classes_[0][first.argmax(1)], model.classes_[1][second.argmax(1)]], axis=1)
    assert model.oob_score_ == pytest.approx((predicted == both).all(axis=1).mean())


def test_means_and_scores_of_arrays():
    parts = [([0, 2], np.array([[1.0, 0.0], [0.5, 0.5]])), ([2], np.array([[1.0, 0.0]]))]
    mean, n_predictions = out_of_bag_mean(3, parts)
    assert_array_equal(mean, [[1.0, 0.0], [np.nan, np.nan], [0.75, 0.25]])
    assert_array_equal(n_predictions, [1, 0, 2])
    y, predicted, predicted_rows = np.array([1, 2, 3]), np.array([1, 0, 0]), np.array([True, False, True])
    assert out_of_bag_score(accuracy_score, y, predicted, predicted_rows) == 0.5
    assert out_of_bag_score(accuracy_score, y, predicted, predicted_rows, np.array([3.0, 1, 1])) == 0.75
    assert out_of_bag_score(accuracy_score, y, predicted, predicted_rows, np.array([3.0, 1, 0])) == 1.0


def test_members_that_take_weights_and_that_do_not_leave_the_same_rows_out():
    X, y = classes()
    samples = [
        sp.BaggingClassifier(estimator, random_state=0).fit(X, y).estimators_samples_
        for estimator in (None, KNeighborsClassifier(), LogisticRegression())
    ]
    for of_trees, of_neighbours, of_lines in zip(*samples, strict=True):
        assert_array_equal(of_trees, of_neighbours)
        assert_array_equal(of_trees, of_lines)
