"""Voting and stacking beside scikit-learn's: with the same members the answers are the same to 1e-10."""

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble as skl
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import spinney as sp

NAMES = np.array(["ash", "beech", "cedar"])


def classes(n_classes, n_rows=150, seed=0):
    X, y = make_classification(
        n_rows, 6, n_informative=4, n_classes=n_classes, random_state=seed, flip_y=0.2, class_sep=0.7
    )
    return X, NAMES[y], np.random.default_rng(seed).integers(1, 4, n_rows).astype(float)


def numbers(n_rows=120, seed=0):
    X, y = make_regression(n_rows, 5, noise=20.0, random_state=seed)
    return X, y, np.random.default_rng(seed).integers(1, 4, n_rows).astype(float)


CLASSIFIERS = [
    ("tree", sp.DecisionTreeClassifier(max_depth=3, random_state=0)),
    ("bayes", GaussianNB()),
    ("linear", make_pipeline(StandardScaler(), LogisticRegression())),
]
REGRESSORS = [
    ("tree", sp.DecisionTreeRegressor(max_depth=3, random_state=0)),
    ("linear", LinearRegression()),
    ("ridge", make_pipeline(StandardScaler(), Ridge())),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("weights", [None, [1, 2, 4], [3, 1, 0]])
@pytest.mark.parametrize("dropped", [False, True])
def test_votes(n_classes, voting, weights, dropped):
    X, y, _ = classes(n_classes)
    members = [*CLASSIFIERS[:2], ("linear", "drop")] if dropped else CLASSIFIERS
    ours = sp.VotingClassifier(members, voting=voting, weights=weights).fit(X, y)
    theirs = skl.VotingClassifier(members, voting=voting, weights=weights).fit(X, y)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-10)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    if voting == "soft":
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
        ours.set_params(flatten_transform=False)
        theirs.set_params(flatten_transform=False)
        assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-10)


@pytest.mark.parametrize("weights", [None, [1, 2, 4]])
def test_means(weights):
    X, y, rows = numbers()
    members = [REGRESSORS[0], REGRESSORS[1], ("plain ridge", Ridge())]
    ours = sp.VotingRegressor(members, weights=weights).fit(X, y, rows)
    theirs = skl.VotingRegressor(members, weights=weights).fit(X, y, sample_weight=rows)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-10)
    assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-10)


SPLITTERS = {
    "default": None,
    "3": 3,
    "k-fold": KFold(4, shuffle=True, random_state=1),
    "stratified": StratifiedKFold(3, shuffle=True, random_state=1),
    "loo": LeaveOneOut(),
}


@pytest.mark.parametrize(
    "n_classes, cv, passthrough",
    [
        (2, "default", False),
        (3, "default", True),
        (3, "3", False),
        (2, "k-fold", True),
        (3, "stratified", False),
        (2, "loo", False),
        (3, "loo", True),
    ],
)
def test_stacks_of_classifiers(n_classes, cv, passthrough):
    X, y, _ = classes(n_classes, 24 if cv == "loo" else 100)
    members = CLASSIFIERS[:2]
    final = LogisticRegression(max_iter=1000, tol=1e-10)
    settings = {"final_estimator": final, "cv": SPLITTERS[cv], "passthrough": passthrough}
    ours = sp.StackingClassifier(members, **settings).fit(X, y)
    theirs = skl.StackingClassifier(members, **settings).fit(X, y)
    assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-10)
    assert_allclose(ours.final_estimator_.coef_, theirs.final_estimator_.coef_, atol=1e-10)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-10)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert ours.stack_method_ == theirs.stack_method_


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", ["auto", "predict", "decision_function"])
def test_stacks_by_other_methods(n_classes, method):
    X, y, _ = classes(n_classes)
    members = [("svm", LinearSVC()), ("linear", LogisticRegression())]
    settings = {"final_estimator": GaussianNB(), "stack_method": method, "cv": 3}
    ours = sp.StackingClassifier(members, **settings).fit(X, y)
    theirs = skl.StackingClassifier(members, **settings).fit(X, y)
    assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-10)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)


@pytest.mark.parametrize("cv", ["default", "k-fold", "loo"])
@pytest.mark.parametrize("passthrough", [False, True])
def test_stacks_of_regressors(cv, passthrough):
    X, y, rows = numbers(30)
    members = [REGRESSORS[0], ("linear", LinearRegression())]
    settings = {"final_estimator": Ridge(), "cv": SPLITTERS[cv], "passthrough": passthrough}
    ours = sp.StackingRegressor(members, **settings).fit(X, y, rows)
    theirs = skl.StackingRegressor(members, **settings).fit(X, y, sample_weight=rows)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-10)
    assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-10)


def test_stacks_of_fitted_members():
    X, y, _ = classes(3)
    fitted = [
        ("tree", sp.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:50], y[:50])),
        ("neighbours", KNeighborsClassifier().fit(X[:50], y[:50])),
    ]
    settings = {"final_estimator": LogisticRegression(tol=1e-10), "cv": "prefit"}
    ours = sp.StackingClassifier(fitted, **settings).fit(X[50:], y[50:])
    theirs = skl.StackingClassifier(fitted, **settings).fit(X[50:], y[50:])
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    assert ours.estimators_[0] is fitted[0][1]


def test_a_frame_gives_the_same_as_its_numbers():
    X, y, _ = numbers()
    frame = pd.DataFrame(X, columns=list("abcde"))
    members = [("neighbours", KNeighborsRegressor()), ("linear", LinearRegression())]
    settings = {"final_estimator": Ridge(), "passthrough": True}
    ours = sp.StackingRegressor(members, **settings).fit(frame, y)
    theirs = skl.StackingRegressor(members, **settings).fit(frame, y)
    assert_allclose(ours.predict(frame), theirs.predict(frame), rtol=1e-10)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert ours.transform(frame).columns.tolist() == ours.get_feature_names_out().tolist()
