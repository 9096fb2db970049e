"""Pruning of fitted ensembles: who is kept, that the rest predicts as the class says, and what is refused."""

from itertools import combinations

import numpy as np
import pytest
import sklearn.ensemble as skl
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.tree import DecisionTreeClassifier as ScikitTree

import spinney as sp
from contracts.learners import mixed_data
from spinney.diversity import kappa, member_predictions, pair_mean
from spinney.io import dumps, loads

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = np.where(X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=300) > 0, "same", "other")
TRAIN, HELD = np.arange(150), np.arange(150, 300)

ENSEMBLES = {
    "bagging": lambda: sp.BaggingClassifier(n_estimators=12, max_features=0.7, random_state=0),
    "bagged votes": lambda: sp.BaggingClassifier(n_estimators=12, voting="hard", random_state=0),
    "forest": lambda: sp.RandomForestClassifier(n_estimators=12, random_state=0),
    "AdaBoost": lambda: sp.AdaBoostClassifier(
        sp.DecisionTreeClassifier(max_depth=2), n_estimators=12, random_state=0
    ),
    "voting": lambda: sp.VotingClassifier(
        [(str(d), sp.DecisionTreeClassifier(max_depth=1 + d % 5, random_state=d)) for d in range(12)]
    ),
    "scikit-learn's bagging": lambda: skl.BaggingClassifier(
        n_estimators=12, max_features=0.7, random_state=0
    ),
    "scikit-learn's forest": lambda: skl.RandomForestClassifier(n_estimators=12, random_state=0),
    "scikit-learn's AdaBoost": lambda: skl.AdaBoostClassifier(ScikitTree(max_depth=2), n_estimators=12),
}


@pytest.mark.parametrize("name", ENSEMBLES)
@pytest.mark.parametrize("by", ["error", "kappa", "individual"])
def test_the_smaller_ensemble_is_made_of_members_of_the_larger(name, by):
    large = ENSEMBLES[name]().fit(X[TRAIN], Y[TRAIN])
    before = large.predict(X)
    small = sp.prune_ensemble(large, X[HELD], Y[HELD], 5, by=by)
    assert type(small) is type(large)
    assert len(small.estimators_) == 5
    kept = [any(one is other for one in small.estimators_) for other in large.estimators_]
    if sum(kept) != 5:  # those of ours were made again from their state
        kept = np.isin(np.arange(12), _matching(small, large))
    assert sum(kept) == 5
    assert_array_equal(member_predictions(small, X), member_predictions(large, X)[:, kept])
    assert set(small.predict(X)) <= {"same", "other"}
    assert_array_equal(large.predict(X), before)
    assert len(large.estimators_) == 12


def _matching(small, large):
    found, wanted = member_predictions(large, X).T.tolist(), member_predictions(small, X).T.tolist()
    return [found.index(one) for one in wanted]


def naive_greedy_error(answers, y, size):
    """Try each member with the plurality of those chosen; ties in votes go to the first class."""
    chosen, classes = [], np.unique(y)
    while len(chosen) < size:
        errors = {}
        for m in range(answers.shape[1]):
            if m not in chosen:
                votes = np.stack(
                    [(answers[:, [*chosen, m]] == label).sum(axis=1) for label in classes], axis=1
                )
                errors[m] = np.mean(classes[votes.argmax(axis=1)] != y)
        chosen.append(min(errors, key=errors.get))
    return sorted(chosen)


def test_by_error_the_helpful_ones_are_kept_step_by_step():
    large = ENSEMBLES["bagging"]().fit(X[TRAIN], Y[TRAIN])
    answers = member_predictions(large, X[HELD])
    small = sp.prune_ensemble(large, X[HELD], Y[HELD], 4)
    expected = naive_greedy_error(answers, Y[HELD], 4)
    assert_array_equal(member_predictions(small, X), member_predictions(large, X)[:, expected])
    assert [f.tolist() for f in small.estimators_features_] == [
        large.estimators_features_[i].tolist() for i in expected
    ]
    assert [s.tolist() for s in small.estimators_samples_] == [
        large.estimators_samples_[i].tolist() for i in expected
    ]


def test_by_kappa_the_pairs_that_agree_least_are_kept():
    large = ENSEMBLES["bagging"]().fit(X[TRAIN], Y[TRAIN])
    matrix = kappa(member_predictions(large, X[HELD]))
    least = min(combinations(range(12), 2), key=lambda pair: matrix[pair])
    small = sp.prune_ensemble(large, X[HELD], Y[HELD], 2, by="kappa")
    assert_array_equal(member_predictions(small, X), member_predictions(large, X)[:, sorted(least)])
    half = sp.prune_ensemble(large, X[HELD], Y[HELD], 0.5, by="kappa")
    assert len(half) == 6
    kept = kappa(member_predictions(half, X[HELD]))
    assert pair_mean(kept) < pair_mean(matrix)


def test_boosted_members_keep_their_weights():
    large = ENSEMBLES["AdaBoost"]().fit(X[TRAIN], Y[TRAIN])
    small = sp.prune_ensemble(large, X[HELD], Y[HELD], 3, by="individual")
    places = [large.estimator_weights_.tolist().index(weight) for weight in small.estimator_weights_]
    assert places == sorted(places)
    assert_allclose(small.estimator_errors_, large.estimator_errors_[places])
    assert_array_equal(loads(dumps(small)).predict(X), small.predict(X))


def test_a_pruned_bagging_ensemble_is_saved_and_forgets_its_oob_score():
    large = sp.BaggingClassifier(n_estimators=8, oob_score=True, random_state=0).fit(X[TRAIN], Y[TRAIN])
    small = sp.prune_ensemble(large, X[HELD], Y[HELD], 3)
    assert hasattr(large, "oob_score_") and not hasattr(small, "oob_score_")
    again = loads(dumps(small))
    assert_array_equal(again.predict_proba(X), small.predict_proba(X))
    assert [s.tolist() for s in again.estimators_samples_] == [s.tolist() for s in small.estimators_samples_]
    kept = [rows.tolist() for rows in small.estimators_samples_]
    small.set_params(warm_start=True, n_estimators=9).fit(X[TRAIN], Y[TRAIN])
    rows = [one.tolist() for one in small.estimators_samples_]
    assert rows[:3] == kept and len(set(map(tuple, rows))) == 9  # none is drawn twice
    assert len(small.set_params(warm_start=False).fit(X[TRAIN], Y[TRAIN])) == 9


def test_an_ensemble_is_pruned_twice_and_its_members_stay_what_they_were():
    for make in (sp.BaggingClassifier, sp.RandomForestClassifier):
        large = make(n_estimators=9, random_state=0).fit(X[TRAIN], Y[TRAIN])
        once = sp.prune_ensemble(large, X[HELD], Y[HELD], 5, by="individual")
        twice = sp.prune_ensemble(once, X[HELD], Y[HELD], 2, by="individual")
        straight = sp.prune_ensemble(large, X[HELD], Y[HELD], 2, by="individual")
        assert dumps(twice) == dumps(straight)
        states = [member.random_state for member in large.estimators_]
        assert all(member.random_state in states for member in twice.estimators_)


def test_a_pruned_forest_keeps_no_targets_of_leaves():
    frame, y, _ = mixed_data("regressor")
    large = sp.RandomForestRegressor(n_estimators=6, keep_targets=True, random_state=0).fit(frame, y)
    small = sp.prune_ensemble(large, frame, y, 2)
    assert_allclose(small.predict(frame), member_predictions(small, frame).mean(axis=1))
    with pytest.raises(ValueError, match="keep_targets"):
        small.predict_quantiles(frame, [0.5])


def test_regressors_are_pruned_by_squared_error():
    frame, y, weights = mixed_data("regressor")
    large = sp.BaggingRegressor(n_estimators=8, random_state=0).fit(frame[:150], y[:150])
    small = sp.prune_ensemble(large, frame[150:], y[150:], 3, sample_weight=weights[150:])
    best_pair = min(
        combinations(range(8), 1),
        key=lambda one: np.average(
            (large.estimators_[one[0]].predict(frame[150:]) - y[150:]) ** 2, weights=weights[150:]
        ),
    )
    kept = member_predictions(small, frame)
    assert member_predictions(large, frame)[:, best_pair[0]].tolist() in kept.T.tolist()
    assert_allclose(small.predict(frame), kept.mean(axis=1))
    with pytest.raises(ValueError, match="by of prune_ensemble is 'kappa'"):
        sp.prune_ensemble(large, frame, y, 3, by="kappa")


@pytest.mark.parametrize("size", [0, 13, 1.0, 0.0, True, "few"])
def test_a_wrong_size_is_refused(size):
    large = ENSEMBLES["bagging"]().fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(ValueError, match="size"):
        sp.prune_ensemble(large, X[HELD], Y[HELD], size)


def test_what_cannot_be_pruned_is_refused():
    with pytest.raises(ValueError, match="not fitted"):
        sp.prune_ensemble(sp.BaggingClassifier(), X, Y, 2)
    stack = sp.StackingClassifier([("a", sp.DecisionTreeClassifier())]).fit(X, Y)
    with pytest.raises(ValueError, match="final estimator"):
        sp.prune_ensemble(stack, X, Y, 1)
    with pytest.raises(ValueError, match=r"part of the prediction|separated"):
        sp.prune_ensemble(skl.GradientBoostingClassifier(n_estimators=3).fit(X, Y), X, Y, 2)
