"""Stumps in compiled code: the rounds and the answers of the plain way, to the last bit."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import spinney as sp
from contracts.learners import mixed_data
from spinney.adaboost.algorithms import MAX_TOTAL, MIN_TOTAL, RESCALED_EXPONENT, RowWeights
from spinney.adaboost.rounds import StumpBoosting
from spinney.data.schema import read_table
from spinney.data.training_set import code_table
from spinney.native import core


def fit_plainly(model, monkeypatch, *data):
    """Fit through clones that are predicted and weighed row by row."""
    with monkeypatch.context() as patch:
        patch.setattr(StumpBoosting, "supports", staticmethod(lambda *_: False))
        return model.fit(*data)


@pytest.mark.parametrize(
    ("max_bins", "criterion"), [(255, "gini"), (7, "gini"), (None, "gini"), (255, "error"), (None, "error")]
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_same_ensemble_as_the_plain_way_makes(n_classes, max_bins, criterion, monkeypatch):
    X, y, weights = mixed_data("classifier", 400)
    y = np.minimum(y, n_classes - 1)
    for given in (weights, np.round(weights), None):
        make = lambda: sp.AdaBoostClassifier(  # noqa: E731
            sp.DecisionTreeClassifier(max_depth=1, max_bins=max_bins, criterion=criterion),
            n_estimators=60,
            ledger=True,
        )
        fast, plain = make().fit(X, y, given), fit_plainly(make(), monkeypatch, X, y, given)
        assert_array_equal(fast.estimator_weights_, plain.estimator_weights_)
        assert_array_equal(fast.estimator_errors_, plain.estimator_errors_)
        assert_array_equal(fast.ledger_.exponential_loss, plain.ledger_.exponential_loss)
        for mine, other in zip(fast, plain, strict=True):
            for name in ("kind", "feature", "threshold", "missing", "set_bits", "n_samples"):
                assert_array_equal(getattr(mine.tree_, name), getattr(other.tree_, name), err_msg=name)
            for name in ("value", "weight", "impurity"):
                assert_allclose(getattr(mine.tree_, name), getattr(other.tree_, name), rtol=1e-12)
        assert_array_equal(fast.decision_function(X), plain.decision_function(X))
        assert_array_equal(fast.feature_importances_ > 0, plain.feature_importances_ > 0)


def test_each_stump_is_the_tree_fitted_with_those_weights():
    X, y, _ = mixed_data("classifier", 300)
    table = read_table(X)
    matrix = code_table(table, None, None, 1)
    weights = RowWeights(np.ones(300))
    booster = core.StumpBooster(
        matrix, y.astype(np.int32), 3, weights.copies, weights.size, core.GrowOptions(n_threads=2)
    )
    for _ in range(40):
        assert_array_equal(booster.weights(), weights.steps)
        found = booster.learn()
        tree = sp.DecisionTreeClassifier(max_depth=1, max_bins=None).fit(X, y, weights.steps.astype(float))
        assert (found.kind[0], found.feature[0]) == (tree.tree_.kind[0], tree.tree_.feature[0])
        assert_array_equal(found.threshold[0], tree.tree_.threshold[0])
        assert_array_equal(booster.predictions(), tree.predict(X))
        wrong = booster.predictions() != y
        assert found.wrong[0] / found.total[0] == weights.fraction(wrong)
        weights.multiply_where(wrong, 2.5)
        booster.reweight(2.5, MIN_TOTAL, MAX_TOTAL, RESCALED_EXPONENT)


@pytest.mark.parametrize("algorithm", ["samme", "discrete"])
@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
@pytest.mark.parametrize("kind", ["noisy", "separable", "hopeless", "one class"])
def test_rounds_of_the_core_are_those_that_are_made_one_by_one(algorithm, learning_rate, kind):
    X, y, weights = mixed_data("classifier", 300)
    if algorithm == "discrete":
        y = np.minimum(y, 1)
    if kind == "separable":
        X = np.column_stack([y, np.arange(300) % 7])
        y = (X[:, 0] > 0).astype(int)
    elif kind == "hopeless":
        X, y, weights = np.zeros((300, 1)), np.arange(300) % 2, None
    elif kind == "one class":
        y = np.zeros(300, int)
    make = lambda **how: sp.AdaBoostClassifier(  # noqa: E731
        algorithm=algorithm, learning_rate=learning_rate, n_estimators=50, random_state=0, **how
    )
    at_once, one_by_one = make().fit(X, y, weights), make(ledger=True).fit(X, y, weights)
    continued = make(warm_start=True).set_params(n_estimators=20).fit(X, y, weights)
    continued.set_params(n_estimators=50).fit(X, y, weights)
    for other in (one_by_one, continued):
        assert len(at_once) == len(other)
        assert_array_equal(at_once.estimator_weights_, other.estimator_weights_)
        assert_array_equal(at_once.estimator_errors_, other.estimator_errors_)
        for mine, theirs in zip(at_once, other, strict=True):
            assert sp.io.dumps(mine) == sp.io.dumps(theirs)
        assert_array_equal(at_once.decision_function(X), other.decision_function(X))


def test_members_are_made_when_they_are_asked_for():
    X, y, _ = mixed_data("classifier", 300)
    base = sp.DecisionTreeClassifier(max_depth=1)
    model = sp.AdaBoostClassifier(base, n_estimators=20).fit(X, y)
    scores = model.decision_function(X)
    assert "estimators_" not in vars(model)
    base.set_params(max_depth=7, max_bins=3)  # a later change of the base estimator is none of the members
    noted = sp.AdaBoostClassifier(base.set_params(max_depth=1, max_bins=255), n_estimators=20).fit(X, y)
    noted.note = "no part of a model file, so that pickling keeps the attributes as they are"
    copies = [copy.copy(model), pickle.loads(pickle.dumps(model)), sp.io.loads(sp.io.dumps(model))]
    for other in (*copies, pickle.loads(pickle.dumps(noted)), copy.deepcopy(noted)):
        assert_array_equal(other.decision_function(X), scores)
        assert [sp.io.dumps(member) for member in other] == [sp.io.dumps(member) for member in model]
    assert {(member.max_depth, member.max_bins) for member in model} == {(1, 255)}
    with pytest.raises(AttributeError, match="has no attribute 'estimators_'"):
        _ = sp.AdaBoostClassifier().estimators_


def test_only_plain_stumps_take_this_way(monkeypatch):
    X, y, _ = mixed_data("classifier")
    made = []
    original = StumpBoosting.run
    monkeypatch.setattr(StumpBoosting, "run", lambda *given: made.append(1) or original(*given))
    for settings, expected in [
        ({}, 1),
        ({"estimator__max_depth": 2}, 0),
        ({"estimator__criterion": "entropy"}, 0),
        ({"estimator__criterion": "error"}, 1),
        ({"estimator__min_samples_leaf": 3}, 0),
        ({"estimator__missing": "fractional"}, 0),
        ({"resample": True}, 0),
        ({"algorithm": "samme.r"}, 0),
    ]:
        made.clear()
        model = sp.AdaBoostClassifier(sp.DecisionTreeClassifier(max_depth=1), n_estimators=2)
        model.set_params(**settings).fit(X, y)
        assert len(made) == expected, settings
        assert len(model) == 2


@pytest.mark.parametrize("algorithm", ["samme", "samme.r", "logit", "discrete", "real", "gentle"])
def test_tables_answer_as_the_members_do(algorithm):
    X, y, weights = mixed_data("classifier", 400)
    if algorithm in ("discrete", "real", "gentle"):
        y = np.minimum(y, 1)
    model = sp.AdaBoostClassifier(algorithm=algorithm, n_estimators=80).fit(X, y, weights)
    several = algorithm == "logit" and model.n_classes_ > 2  # what a round adds depends on all regressions
    has_tables = "_stumps" in vars(model) or model._tables is not None
    assert has_tables != several
    new, *_ = mixed_data("classifier", 300, seed=1)
    new.loc[3, "color"] = "never seen"
    *_, last = model.staged_decision_function(new)
    assert_array_equal(model.decision_function(new), last)
    for n_jobs in (1, 3):
        assert_array_equal(model.set_params(n_jobs=n_jobs).decision_function(new), last)


def test_tables_read_float32_and_single_rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 3)).astype(np.float32)
    X[::9, 1] = np.nan
    y = (X[:, 0] + np.nan_to_num(X[:, 1]) > 0).astype(int)
    model = sp.AdaBoostClassifier(n_estimators=200).fit(X, y)
    whole = model.decision_function(X)
    assert_array_equal(np.concatenate([model.decision_function(X[i : i + 1]) for i in range(40)]), whole[:40])
    assert_array_equal(model.decision_function(np.asfortranarray(X.astype(np.float64))), whole)
