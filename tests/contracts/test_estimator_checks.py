"""scikit-learn's own checks of estimators, on every learner, with no expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from contracts.learners import HOLDING_OUT, LEARNERS


@parametrize_with_checks([learner() for learner in LEARNERS])
def test_scikit_learns_checks(estimator, check):
    if estimator.pruning in HOLDING_OUT and "equivalence" in check.func.__name__:
        pytest.skip("which rows are held out depends on how many there are")
    check(estimator)
