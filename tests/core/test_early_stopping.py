"""Early stopping by a score that should rise."""

import math

from spinney.core.early_stopping import EarlyStopping


def test_stops_after_iterations_without_improvement():
    stopping = EarlyStopping(2, 0.0)
    assert [stopping.update(score) for score in (1.0, 2.0, 2.0, 1.5)] == [False, False, False, True]
    assert (stopping.best_iter, stopping.n_iter, stopping.best_score) == (2, 4, 2.0)


def test_gains_up_to_the_tolerance_are_no_improvement_but_add_up():
    stopping = EarlyStopping(2, 0.5)
    assert [stopping.update(score) for score in (0.0, 0.4, 0.6, 0.9)] == [False] * 4
    assert stopping.best_iter == 3


def test_compared_with_the_best_so_far_small_gains_never_add_up():
    stopping = EarlyStopping(3, 0.5, best_so_far=True)
    assert [stopping.update(score) for score in (0.0, 0.4, 0.6, 0.9)] == [False, False, False, True]
    assert (stopping.best_iter, stopping.best_score) == (1, 0.9)


def test_nan_is_no_improvement():
    stopping = EarlyStopping(1, 0.0)
    assert stopping.update(math.nan)
    assert not stopping.update(-5.0)
