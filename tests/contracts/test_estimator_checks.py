"""scikit-learn's own checks of estimators, on every class and kind of setting, with no expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import spinney as sp
from contracts.learners import EACH_KIND, UNSUPERVISED, depends_on_chance


@parametrize_with_checks([learner() for learner in (*EACH_KIND, *UNSUPERVISED)])
def test_scikit_learns_checks(estimator, check):
    if depends_on_chance(estimator.get_params(deep=False)) and "equivalence" in check.func.__name__:
        pytest.skip("which rows are held out or drawn depends on how many there are")
    if isinstance(estimator, sp.IsolationForest) and "equivalence" in check.func.__name__:
        pytest.skip("rows are drawn in proportion to their weights")
    check(estimator)
