"""scikit-learn's own checks of estimators, on every learner, with no expected failures."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from contracts.learners import LEARNERS


@parametrize_with_checks([learner() for learner in LEARNERS])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
