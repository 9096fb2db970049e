"""Several base estimators in one bag, and early stopping of members by their out-of-bag rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import spinney as sp
from spinney.core.errors import InputError
from spinney.datasets import load_watermelon3
from spinney.io import dumps, loads

TREES = [sp.ID3Classifier(), sp.C45Classifier(), sp.DecisionTreeClassifier()]


def test_members_take_the_estimators_in_turn():
    X, y = load_watermelon3()
    model = sp.BaggingClassifier(TREES, n_estimators=7, random_state=0, oob_score=True).fit(X, y)
    assert [type(member) for member in model] == [type(TREES[t % 3]) for t in range(7)]
    for member, rows in zip(model, model.estimators_samples_, strict=True):
        alone = clone(member).fit(X, y, np.bincount(rows, minlength=17))
        assert_allclose(member.predict_proba(X), alone.predict_proba(X), atol=1e-12)
    mean = np.mean([member.predict_proba(X) for member in model], axis=0)
    assert_allclose(model.predict_proba(X), mean, atol=1e-12)
    again = loads(dumps(model))
    assert_allclose(again.predict_proba(X), mean, atol=1e-12)
    more = sp.BaggingClassifier(TREES, n_estimators=4, random_state=0, warm_start=True).fit(X, y)
    more.set_params(n_estimators=7).fit(X, y)
    assert_allclose(more.predict_proba(X), mean, atol=1e-12)


def test_members_of_a_list_must_be_estimators_of_the_task():
    X, y = load_watermelon3()
    for bad in ([], [sp.ID3Classifier(), "tree"], [sp.ID3Classifier(), sp.DecisionTreeRegressor()]):
        with pytest.raises(InputError, match="estimator"):
            sp.BaggingClassifier(bad).fit(X, y)


def test_networks_stop_early_by_their_out_of_bag_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] ** 2 + X[:, 1] + rng.normal(size=120)
    network = sp.NegativeCorrelationRegressor(1, max_iter=60, n_iter_no_change=4, random_state=0)
    model = sp.BaggingRegressor(network, 4, random_state=0, oob_early_stopping=True).fit(X, y)
    assert min(member.n_iter_ for member in model) < 60
    for member, rows in zip(model, model.estimators_samples_, strict=True):
        unseen = np.setdiff1d(np.arange(120), rows)
        weights = np.bincount(rows, minlength=120).astype(float)
        alone = sp.NegativeCorrelationRegressor(**member.get_params())
        alone.fit(X, y, weights, eval_set=(X[unseen], y[unseen]))
        assert alone.n_iter_ == member.n_iter_
        assert_allclose(alone.predict(X), member.predict(X))
    boosted = sp.GradientBoostingRegressor(n_estimators=30, early_stopping=False)
    for member in sp.BaggingRegressor(boosted, 2, random_state=0, oob_early_stopping=True).fit(X, y):
        assert member.do_early_stopping_
    with pytest.raises(InputError, match="oob_early_stopping needs"):
        sp.BaggingRegressor(oob_early_stopping=True).fit(X, y)
