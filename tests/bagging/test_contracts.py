"""The promises that every learner keeps, kept by bagging: checks, bad input, files, threads, Ctrl-C."""

import multiprocessing
import os
import pickle
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

import spinney as sp
from contracts.learners import ENSEMBLES, mixed_data
from contracts.test_bad_inputs import ODD, target, wrong_tables
from contracts.test_round_trip import WAYS
from spinney.persistence import dumps

LEARNERS = [learner for learner in ENSEMBLES if learner.make.__name__.startswith("Bagging")]
DEFAULTS = [learner for learner in LEARNERS if "-" not in learner.name]
each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
each_default = pytest.mark.parametrize("learner", DEFAULTS, ids=lambda learner: learner.name)


# Pruning rows are a matter of chance, so that a weight of 2 need not prune as a row twice does.
@parametrize_with_checks(
    [learner() for learner in LEARNERS if learner in DEFAULTS or "votes" in learner.name]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# ---- input ----


def check_works(learner, X, y, weights=None):
    model = learner().fit(X, y, weights)
    predicted = model.predict(X)
    assert len(predicted) == len(y)
    if learner.kind == "regressor":
        assert np.isfinite(predicted).all()
    else:
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-9)
        assert set(np.unique(predicted).tolist()) <= set(model.classes_.tolist())
    return model


@each_learner
@pytest.mark.parametrize("case", ODD)
def test_odd_tables_give_a_model(learner, case):
    n = ODD[case].shape[0] if hasattr(ODD[case], "shape") else len(ODD[case])
    check_works(learner, ODD[case], target(learner, n))


@each_default
def test_one_class_or_one_value(learner):
    model = check_works(learner, np.arange(10.0)[:, None], np.full(10, 7))
    assert set(model.predict([[3.0], [np.nan], [99.0]]).tolist()) == {7}


@each_default
@pytest.mark.parametrize("case", wrong_tables())
def test_wrong_tables_are_refused_with_the_place(learner, case):
    X, words = wrong_tables()[case]
    with pytest.raises(ValueError, match=words):
        learner().fit(X, target(learner, 6))


@each_default
@pytest.mark.parametrize(
    "y, words",
    [
        (None, "target y is None"),
        ([0, 1, 0], "inconsistent numbers of samples"),
        ([0, 1, np.nan, 1, 0, 1], "row 2"),
        ([0, 1, 1, 1, np.inf, 1], "row 4"),
        (np.zeros((6, 2, 2)), "1d array"),
        (np.ones(6) * 1j, "[Cc]omplex"),
    ],
)
def test_wrong_targets_are_refused_with_the_row(learner, y, words):
    with pytest.raises(ValueError, match=words):
        learner().fit(np.arange(12.0).reshape(6, 2), y)


@each_learner
def test_wrong_weights_are_refused_with_the_row(learner):
    X = np.arange(12.0).reshape(6, 2)
    for weights, words in [
        ([1, 1, -1, 1, 1, 1], "row 2"),
        ([1, 1, 1, np.nan, 1, 1], "row 3"),
        (np.zeros(6), "non-zero"),
        (np.ones(5), "expected"),
    ]:
        with pytest.raises(ValueError, match=words):
            learner().fit(X, target(learner, 6), weights)


BAD_PARAMETERS = {
    "estimator": [3, "tree", sp.DecisionTreeClassifier],
    "n_estimators": [0, 1.5, None, True],
    "max_samples": [0, 0.0, 1.5, "all"],
    "max_features": [0, 0.0, 1.5, 3, None],
    "bootstrap": [1, "yes", None],
    "bootstrap_features": [1, "yes"],
    "oob_score": ["accuracy", 1],
    "warm_start": [1, None],
    "n_jobs": [0, 1.5],
    "random_state": ["seed", -1],
    "verbose": [-1, "much"],
    "voting": ["loud", None],
    "parameter_distributions": [3, ["max_depth"], {"max_depth": 3}, {"no_such": [1]}],
    "oob_pruning": [1, None],
}


@each_default
@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_wrong_parameters_are_refused_by_name(learner, name):
    if name == "voting" and learner.kind == "regressor":
        pytest.skip("has no such parameter")
    for value in BAD_PARAMETERS[name]:
        words = "max_depth|no_such|parameter_dist" if name == "parameter_distributions" else name
        with pytest.raises(ValueError, match=words):
            learner(**{name: value}).fit(np.arange(12.0).reshape(6, 2), target(learner, 6))


@each_default
def test_every_parameter_has_a_bad_value_above(learner):
    assert set(learner().get_params(deep=False)) <= set(BAD_PARAMETERS)


@each_learner
def test_a_failed_fit_leaves_the_model_as_it_was(learner):
    X = np.arange(12.0).reshape(6, 2)
    model = learner()
    with pytest.raises(ValueError):
        model.fit(X, [np.nan] * 6)
    assert not any(name.endswith("_") for name in vars(model))
    model.fit(X, target(learner, 6))
    before = vars(model).copy()
    with_inf = X.copy()
    with_inf[3, 1] = np.inf  # found by the members only
    with pytest.raises(ValueError, match="column 1, row 3"):
        model.fit(with_inf, target(learner, 6))
    assert vars(model) == before


@each_learner
def test_warnings_are_not_part_of_ordinary_use(learner):
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[::7, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner(oob_score=True, n_jobs=2).fit(X, target(learner, 50)).predict(X)


# ---- files and bytes ----


@each_learner
@pytest.mark.parametrize("way", WAYS)
def test_a_stored_model_is_the_same_model(learner, way, tmp_path):
    X, y, weights = mixed_data(learner.kind)
    model = learner(oob_score=True, n_estimators=4).fit(X, y, weights)
    again = WAYS[way](model, tmp_path)
    assert type(again) is type(model)
    assert str(again.get_params()) == str(model.get_params())
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.oob_score_ == model.oob_score_
    assert again.n_features_in_ == 4
    assert again.feature_names_in_.tolist() == ["a", "b", "color", "noise"]
    for name in ("estimators_samples_", "estimators_features_"):
        for found, expected in zip(getattr(again, name), getattr(model, name), strict=True):
            assert_array_equal(found, expected)
    if learner.kind == "classifier":
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert_array_equal(again.oob_decision_function_, model.oob_decision_function_)
        assert_array_equal(again.classes_, model.classes_)
        assert again.n_classes_ == model.n_classes_
    else:
        assert_array_equal(again.oob_prediction_, model.oob_prediction_)
    if way != "plain pickle":
        assert dumps(again) == dumps(model)
    assert_array_equal(again.fit(X, y, weights).predict(X), model.predict(X))


@each_default
def test_an_unfitted_model_can_be_stored(learner):
    again = pickle.loads(pickle.dumps(learner()))
    assert again.get_params() == learner().get_params()
    with pytest.raises(ValueError, match="not fitted"):
        again.predict([[1.0]])


@each_learner
def test_any_number_of_threads_gives_the_same_bytes(learner):
    X, y, weights = mixed_data(learner.kind, 1000)
    found = {
        dumps(learner(n_jobs=n_jobs, oob_score=True).fit(X, y, weights).set_params(n_jobs=None))
        for n_jobs in (1, 2, 3, 16)
    }
    assert len(found) == 1


# ---- threads, processes, interrupts ----


@pytest.mark.parametrize("n_jobs", [1, 2])
@each_default
def test_ctrl_c_stops_a_fit_within_a_moment(learner, n_jobs):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100_000, 12)), rng.integers(0, 2, 100_000)
    model = learner(n_jobs=n_jobs, n_estimators=50)
    sent = []

    def interrupt():
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    # Counted in processor time, because other tests share this machine.
    assert time.process_time() - sent[0] < 0.2 * n_jobs + 0.05
    assert not any(name.endswith("_") for name in vars(model))
    model.fit(X[:500], y[:500]).predict(X[:500])


def _fit_in_child(learner, X, y, expected, answer):
    answer.put(bool((learner(n_jobs=2).fit(X, y).predict(X) == expected).all()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@each_default
def test_fit_then_fork_then_fit(learner):
    X, y, _ = mixed_data(learner.kind, 1000)
    expected = learner(n_jobs=2).fit(X, y).predict(X)
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    child = context.Process(target=_fit_in_child, args=(learner, X, y, expected, answer))
    child.start()
    try:
        assert answer.get(timeout=60)
    finally:
        child.join(timeout=10)
        assert not child.is_alive()


@each_default
def test_many_threads_fit_and_predict_at_once(learner):
    X, y, weights = mixed_data(learner.kind, 300)
    model = learner(n_jobs=2).fit(X, y, weights)
    expected = model.predict(X)
    with ThreadPoolExecutor(6) as pool:
        for found in pool.map(lambda _: model.predict(X), range(12)):
            assert_array_equal(found, expected)
        for found in pool.map(lambda _: learner(n_jobs=2).fit(X, y, weights).predict(X), range(6)):
            assert_array_equal(found, expected)
