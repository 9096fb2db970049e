"""scikit-learn's own checks of estimators, on every class and kind of setting, with no expected failures."""

import pytest

import spinney as sp
from contracts.checks import each_check
from contracts.learners import EACH_CLASS, EACH_KIND, UNSUPERVISED, depends_on_chance

OTHERS = [learner for learner in EACH_KIND if learner not in EACH_CLASS]


@each_check([learner() for learner in (*EACH_CLASS, *UNSUPERVISED)], [learner() for learner in OTHERS])
def test_scikit_learns_checks(estimator, check):
    if depends_on_chance(estimator.get_params(deep=False)) and "equivalence" in check.func.__name__:
        pytest.skip("which rows are held out or drawn depends on how many there are")
    if isinstance(estimator, sp.IsolationForest) and "equivalence" in check.func.__name__:
        pytest.skip("rows are drawn in proportion to their weights")
    check(estimator)
