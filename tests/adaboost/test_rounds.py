"""Rounds: samples by weight, seeds by round, and when to stop."""

import numpy as np
from numpy.testing import assert_array_equal

import spinney as sp
from spinney.adaboost.rounds import Draws, draw_rows
from spinney.core.early_stopping import EarlyStopping


def test_rows_are_drawn_by_weight():
    steps = np.array([0, 1, 2, 0, 7], dtype=np.int64) << 40
    total = sum(draw_rows(steps, np.random.default_rng(seed)) for seed in range(3000))
    assert total.sum() == 9000 and total[0] == total[3] == 0
    assert_array_equal((total / 9000).round(1), [0.0, 0.1, 0.2, 0.0, 0.7])


def test_each_round_has_draws_of_its_own():
    draws = Draws(7, seeds_members=True)
    first = [draws.of_round(t).integers(10**9) for t in range(5)]
    assert len(set(first)) == 5
    assert [draws.of_round(t).integers(10**9) for t in range(5)] == first
    assert Draws(7, seeds_members=False).member_seed(np.random.default_rng(0)) is None


def test_members_get_seeds_only_from_an_ensemble_that_has_one():
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    estimator = sp.DecisionTreeClassifier(max_depth=2, max_features=1)
    seeds = [
        one.random_state for one in sp.AdaBoostClassifier(estimator, n_estimators=4, random_state=1).fit(X, y)
    ]
    assert len(set(seeds)) == 4 and None not in seeds
    assert [one.random_state for one in sp.AdaBoostClassifier(estimator, n_estimators=2).fit(X, y)] == [
        None
    ] * 2


def test_early_stopping_compares_with_the_last_improvement():
    stopping = EarlyStopping(n_iter_no_change=2, tol=0.1)
    stopped = [stopping.update(-error) for error in (0.5, 0.45, 0.3, 0.25, 0.21)]
    assert stopped == [False, False, False, False, True]
    assert stopping.best_iter == 3
