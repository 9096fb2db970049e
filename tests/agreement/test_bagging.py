"""Bagging beside scikit-learn's: the same members from the same rows, the same accuracy from random ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import ensemble
from sklearn.base import clone
from sklearn.datasets import make_classification, make_friedman1
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import spinney as sp


@pytest.mark.parametrize(
    "estimator",
    [DecisionTreeClassifier(), LogisticRegression(), KNeighborsClassifier()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_members_given_the_same_rows_are_the_same(estimator):
    X, y = make_classification(200, 8, n_informative=5, n_classes=3, random_state=0)
    theirs = ensemble.BaggingClassifier(estimator, 6, max_features=0.7, random_state=0).fit(X, y)
    ours = sp.BaggingClassifier(estimator, 6, max_features=0.7, random_state=0).fit(X, y)
    # Each of our members as scikit-learn would fit it to our draws.
    members = []
    for member, rows, columns in zip(ours, ours.estimators_samples_, ours.estimators_features_, strict=True):
        one = clone(member)
        if isinstance(estimator, KNeighborsClassifier):
            one.fit(X[rows][:, columns], y[rows])
        else:
            one.fit(X[:, columns], y, np.bincount(rows, minlength=len(y)))
        members.append(one)
    theirs.estimators_, theirs.estimators_features_ = members, ours.estimators_features_
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-12, atol=1e-12)
    assert (ours.predict(X) == theirs.predict(X)).all()


def scores(make, problem, seeds):
    """Return the score of a model on rows it was not fitted to, of each seed."""
    found = []
    for seed in seeds:
        X, y = problem(seed)
        half = len(X) // 2
        found.append(make(seed).fit(X[:half], y[:half]).score(X[half:], y[half:]))
    return np.array(found)


def agree(ours, theirs):
    """Return whether the mean of paired differences is within its noise."""
    difference = ours - theirs
    return abs(difference.mean()) < 3.5 * difference.std(ddof=1) / np.sqrt(len(difference))


SETTINGS = {
    "bagging": {},
    "pasting": {"bootstrap": False, "max_samples": 0.4},
    "subspaces": {"bootstrap": False, "max_features": 0.5},
    "patches": {"max_samples": 0.5, "max_features": 0.5},
    "features twice": {"bootstrap_features": True},
}


def classification(seed):
    return make_classification(600, 10, n_informative=6, n_classes=3, flip_y=0.05, random_state=seed)


def regression(seed):
    return make_friedman1(600, 10, noise=1.0, random_state=seed)


def compare_classifiers(setting, seeds):
    more = SETTINGS[setting] | {"n_estimators": 20}
    ours = scores(lambda seed: sp.BaggingClassifier(random_state=seed, **more), classification, seeds)
    theirs = scores(lambda seed: ensemble.BaggingClassifier(random_state=seed, **more), classification, seeds)
    return ours, theirs


def compare_regressors(setting, seeds):
    more = SETTINGS[setting] | {"n_estimators": 20}
    ours = scores(lambda seed: sp.BaggingRegressor(random_state=seed, **more), regression, seeds)
    theirs = scores(lambda seed: ensemble.BaggingRegressor(random_state=seed, **more), regression, seeds)
    return ours, theirs


@pytest.mark.parametrize("compare", [compare_classifiers, compare_regressors])
def test_as_accurate_on_a_few_draws(compare):
    ours, theirs = compare("bagging", range(6))
    assert agree(ours, theirs)


@pytest.mark.long
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("compare", [compare_classifiers, compare_regressors])
def test_as_accurate_in_every_setting(compare, setting):
    ours, theirs = compare(setting, range(30))
    assert agree(ours, theirs)


@pytest.mark.long
def test_out_of_bag_scores_agree_in_the_mean():
    ours, theirs = [], []
    for seed in range(20):
        X, y = classification(seed)
        more = {"n_estimators": 50, "oob_score": True, "random_state": seed}
        ours.append(sp.BaggingClassifier(**more).fit(X, y).oob_score_)
        theirs.append(ensemble.BaggingClassifier(DecisionTreeClassifier(), **more).fit(X, y).oob_score_)
    assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=0.012)


def test_linear_members_agree_closely():
    # The mean of linear models hardly depends on the draws: the two must all but coincide.
    X, y = make_friedman1(400, 6, random_state=0)
    ours = sp.BaggingRegressor(Ridge(), 200, random_state=0).fit(X, y).predict(X)
    theirs = ensemble.BaggingRegressor(Ridge(), 200, random_state=0).fit(X, y).predict(X)
    assert np.abs(ours - theirs).max() < 0.05 * y.std()
