"""What scikit-learn's estimators accept, warn of and answer, ours do, too."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils import estimator_html_repr

import spinney as sp
from spinney.core.errors import InputError
from spinney.io import dumps, loads

X = np.arange(30.0)[:, None]
Y = (X[:, 0] > 9).astype(int)
TREE = sp.DecisionTreeClassifier()
CLASSIFIERS = [
    sp.DecisionTreeClassifier(),
    sp.C45Classifier(),
    sp.ObliqueTreeClassifier(random_state=0),
    sp.RandomForestClassifier(3, random_state=0),
    sp.BaggingClassifier(random_state=0),
    sp.BaggingClassifier(voting="hard", random_state=0),
    sp.AdaBoostClassifier(n_estimators=3),
    sp.VotingClassifier([("tree", TREE)]),
    sp.StackingClassifier([("tree", TREE)]),
    sp.LogisticRegression(),
    sp.CategoricalNB(),
]


@pytest.mark.parametrize("learner", CLASSIFIERS, ids=lambda learner: type(learner).__name__)
def test_a_batch_without_rows_has_no_predictions(learner):
    model = learner.fit(X, Y)
    assert model.predict(X[:0]).shape == (0,)
    if hasattr(model, "predict_proba"):
        assert model.predict_proba(X[:0]).shape == (0, 2)
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(X[:0], Y[:0])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.cut(X[:, 0], 4)),
        pd.Series(pd.arrays.IntervalArray.from_breaks(np.arange(31))),
        pd.Series(pd.period_range("2024-01", periods=30, freq="M")),
        pd.Series(pd.period_range("2024-01", periods=30, freq="M")).astype("category"),
    ],
    ids=["cut", "interval", "period", "period-category"],
)
def test_intervals_and_periods_are_categories_in_their_order(column):
    frame = pd.DataFrame({"when": column})
    model = sp.DecisionTreeRegressor().fit(frame, X[:, 0])
    assert model.score(frame, X[:, 0]) > 0.9
    levels = model.schema_.features[0].categories
    assert levels == tuple(map(str, pd.Index(column).astype("category").categories))
    assert_array_equal(loads(dumps(model)).predict(frame[:3]), model.predict(frame)[:3])


def test_the_members_of_adaboost_regression_need_no_weights():
    model = sp.AdaBoostRegressor(KNeighborsRegressor(2), n_estimators=4, random_state=0).fit(X, X[:, 0])
    assert model.score(X, X[:, 0]) > 0.9
    more = model.set_params(n_estimators=6, warm_start=True).fit(X, X[:, 0])
    assert len(more.estimators_) == 6


@pytest.mark.parametrize("learner", [sp.BaggingClassifier, sp.RandomForestClassifier])
def test_samples_may_be_larger_than_the_table(learner):
    model = learner(n_estimators=2, max_samples=1.5, random_state=0).fit(X, Y)
    assert {len(rows) for rows in model.estimators_samples_} == {45}


def test_samples_without_replacement_may_not():
    with pytest.raises(InputError, match="without replacement"):
        sp.BaggingClassifier(max_samples=1.5, bootstrap=False).fit(X, Y)


def test_dropped_members_have_their_name():
    model = sp.VotingClassifier([("tree", TREE), ("none", "drop")]).fit(X, Y)
    assert model.named_estimators_["none"] == "drop"
    assert model.named_estimators_["tree"] is model.estimators_[0]


@pytest.mark.parametrize("learner", [sp.BaggingClassifier, sp.RandomForestClassifier])
def test_a_warm_start_without_new_members_warns(learner):
    model = learner(n_estimators=2, warm_start=True, random_state=0).fit(X, Y)
    with pytest.warns(UserWarning, match="Warm-start fitting without increasing n_estimators"):
        model.fit(X, Y)


@pytest.mark.parametrize("learner", [sp.BaggingClassifier, sp.RandomForestClassifier])
def test_rows_without_an_out_of_bag_prediction_warn(learner):
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        learner(n_estimators=1, oob_score=True, random_state=0).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner(n_estimators=50, oob_score=True, random_state=0).fit(X, Y)


@pytest.mark.parametrize("ensemble", [sp.VotingClassifier, sp.StackingClassifier])
def test_the_diagram_in_notebooks_shows_every_member(ensemble):
    model = ensemble([("first", sp.DecisionTreeClassifier()), ("second", sp.C45Classifier())])
    boxes = estimator_html_repr(model).count('<div class="sk-parallel-item">')
    assert boxes == (3 if ensemble is sp.StackingClassifier else 2)  # with the final estimator
