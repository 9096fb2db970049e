"""The promises that every learner keeps, kept by AdaBoost: checks, bad input, files, threads, Ctrl-C."""

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
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier as ScikitTree
from sklearn.utils.estimator_checks import parametrize_with_checks

import spinney as sp
from contracts.learners import ENSEMBLES, mixed_data
from contracts.test_bad_inputs import ODD, target, wrong_tables
from contracts.test_round_trip import WAYS
from spinney.persistence import ModelFileError, UnsavableValue, dumps, loads

LEARNERS = [learner for learner in ENSEMBLES if learner.make.__name__.startswith("AdaBoost")]
DEFAULTS = [learner for learner in LEARNERS if "-" not in learner.name]
each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
each_default = pytest.mark.parametrize("learner", DEFAULTS, ids=lambda learner: learner.name)


def is_determined(learner):
    """Which rows are drawn or held out depends on how many there are, so a weight is then no count."""
    return not {"resample", "n_iter_no_change"} & set(dict(learner.params))


@parametrize_with_checks([learner() for learner in LEARNERS])
def test_scikit_learns_checks(estimator, check):
    by_chance = estimator.resample or estimator.n_iter_no_change is not None
    if by_chance and "equivalence" in check.func.__name__:
        pytest.skip("which rows are drawn or held out depends on how many there are")
    check(estimator)


# ---- input ----


def check_works(learner, X, y, weights=None):
    model = learner().fit(X, y, weights)
    predicted = model.predict(X)
    assert len(predicted) == len(y)
    assert np.isfinite(model.feature_importances_).all()
    if learner.kind == "regressor":
        assert np.isfinite(predicted).all()
    else:
        assert np.isfinite(model.decision_function(X)).all()
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-9)
        assert set(np.unique(predicted).tolist()) <= set(model.classes_.tolist())
    return model


@each_learner
@pytest.mark.parametrize("case", ODD)
def test_odd_tables_give_a_model(learner, case):
    n = ODD[case].shape[0] if hasattr(ODD[case], "shape") else len(ODD[case])
    if n < 2 and "n_iter_no_change" in dict(learner.params):
        pytest.skip("one row cannot be held out")
    check_works(learner, ODD[case], target(learner, n))


@each_learner
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
    "learning_rate": [0.0, -1.0, np.inf, "fast"],
    "algorithm": ["SAMME", None, 1],
    "loss": ["absolute", None],
    "random_state": ["seed", -1],
    "resample": [1, "yes", None],
    "warm_start": [1, None],
    "validation_fraction": [0.0, 1.0, None],
    "n_iter_no_change": [0, 1.5],
    "tol": [-1.0, None],
    "ledger": [1, "rounds"],
    "verbose": [-1, "much"],
    "n_jobs": [0, 1.5],
}


@each_default
@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_wrong_parameters_are_refused_by_name(learner, name):
    if name not in learner().get_params():
        pytest.skip("has no such parameter")
    for value in BAD_PARAMETERS[name]:
        with pytest.raises(ValueError, match=name):
            learner(**{name: value}).fit(np.arange(12.0).reshape(6, 2), target(learner, 6))


@each_default
def test_every_parameter_has_a_bad_value_above(learner):
    assert set(learner().get_params(deep=False)) <= set(BAD_PARAMETERS)


def test_wrong_parameters_of_members_are_refused_too():
    with pytest.raises(ValueError, match="max_depth of DecisionTreeClassifier"):
        sp.AdaBoostClassifier(sp.DecisionTreeClassifier(max_depth=0)).fit([[0.0], [1.0]], [0, 1])


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
    with_inf[3, 1] = np.inf
    with pytest.raises(ValueError, match="column 1, row 3"):
        model.fit(with_inf, target(learner, 6))
    assert vars(model) == before


@each_learner
def test_warnings_are_not_part_of_ordinary_use(learner):
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[::7, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner(n_jobs=2).fit(X, target(learner, 50)).predict(X)


@pytest.mark.parametrize("learner", filter(is_determined, LEARNERS), ids=lambda learner: learner.name)
def test_rows_of_weight_zero_do_not_count(learner):
    random = np.random.default_rng(0)
    X, weights = random.normal(size=(60, 2)), random.integers(0, 3, 60).astype(float)
    y, kept = target(learner, 60), weights > 0
    whole, part = learner().fit(X, y, weights), learner().fit(X[kept], y[kept], weights[kept])
    assert_array_equal(whole.predict(X), part.predict(X))
    assert_array_equal(whole.estimator_errors_, part.estimator_errors_)


# ---- files and bytes ----


@each_learner
@pytest.mark.parametrize("way", WAYS)
def test_a_stored_model_is_the_same_model(learner, way, tmp_path):
    X, y, weights = mixed_data(learner.kind)
    model = learner().fit(X, y, weights)
    again = WAYS[way](model, tmp_path)
    assert type(again) is type(model)
    assert str(again.get_params()) == str(model.get_params())
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(list(again.staged_predict(X))[3], list(model.staged_predict(X))[3])
    assert_array_equal(again.estimator_weights_, model.estimator_weights_)
    assert again.feature_names_in_.tolist() == ["a", "b", "color", "noise"]
    if learner.kind == "classifier":
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert_array_equal(again.classes_, model.classes_)
        assert again.n_classes_ == model.n_classes_ == 3
    if way != "plain pickle":
        assert dumps(again) == dumps(model)
    assert_array_equal(again.fit(X, y, weights).predict(X), model.predict(X))


@each_default
def test_an_unfitted_model_can_be_stored(learner):
    again = pickle.loads(pickle.dumps(learner()))
    assert again.get_params() == learner().get_params()
    with pytest.raises(ValueError, match="not fitted"):
        again.predict([[1.0]])


def test_other_libraries_members_are_pickled_but_fit_in_no_file():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    for estimator in (ScikitTree(max_depth=1), LogisticRegression()):
        model = sp.AdaBoostClassifier(estimator, n_estimators=3).fit(X, y)
        assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
        with pytest.raises(UnsavableValue, match="estimator"):
            dumps(model)


DAMAGES = {
    "no members": ("estimators_", []),
    "members that are none": ("estimators_", [1.0, 2.0, 3.0]),
    "unfitted members": ("estimators_", [sp.DecisionTreeClassifier()] * 3),
    "other members": ("estimators_", [sp.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])] * 3),
    "fewer weights": ("estimator_weights_", np.ones(2)),
    "weights of text": ("estimator_weights_", "heavy"),
    "infinite weights": ("estimator_weights_", np.array([1.0, np.inf, 1.0])),
    "errors of whole numbers": ("estimator_errors_", np.ones(3, int)),
    "no classes": ("classes_", np.empty(0)),
    "double classes": ("classes_", np.array([1, 1])),
    "other classes": ("classes_", np.array([5, 6])),
    "another algorithm": ("algorithm_", "logit"),
    "no algorithm": ("algorithm_", "guess"),
    "features": ("n_features_in_", 7),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_content_that_does_not_agree_is_refused(damage, monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    model = sp.AdaBoostClassifier(n_estimators=3).fit(X, y)
    honest, (name, value) = type(model)._get_state, DAMAGES[damage]

    def dishonest(self):
        state = honest(self)
        return {**state, "fitted": {**state["fitted"], name: value}}

    monkeypatch.setattr(sp.AdaBoostClassifier, "_get_state", dishonest, raising=False)
    data = dumps(model)
    monkeypatch.undo()
    with pytest.raises(ModelFileError):
        loads(data)


@each_learner
def test_any_number_of_threads_gives_the_same_bytes(learner):
    X, y, weights = mixed_data(learner.kind, 1000)
    found = {
        dumps(learner(n_jobs=n_jobs).fit(X, y, weights).set_params(n_jobs=None)) for n_jobs in (1, 2, 3, 16)
    }
    assert len(found) == 1


@each_learner
def test_a_second_fit_gives_the_same_bytes(learner):
    X, y, weights = mixed_data(learner.kind, 200)
    model = learner().fit(X, y, weights)
    first = dumps(model)
    assert dumps(model.fit(X, y, weights)) == first


# ---- threads, processes, interrupts ----


@pytest.mark.parametrize("n_jobs", [1, 2])
@each_default
def test_ctrl_c_stops_a_fit_within_a_moment(learner, n_jobs):
    random = np.random.default_rng(0)
    X = random.normal(size=(200_000, 12))
    y = random.integers(0, 2, 200_000) if learner.kind == "classifier" else X.sum(axis=1)
    model = learner(n_jobs=n_jobs, n_estimators=5000)
    sent = []

    def interrupt():
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    for delay in (0.1, 0.6):
        timer = threading.Timer(delay, interrupt)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        # Counted in processor time, because other tests share this machine.
        assert time.process_time() - sent.pop() < 0.2 * n_jobs + 0.05
        assert not any(name.endswith("_") for name in vars(model))
    model.set_params(n_estimators=5).fit(X[:500], y[:500]).predict(X[:500])


def _fit_in_child(learner, X, y, expected, answer):
    answer.put(bool((learner(n_jobs=2).fit(X, y).predict(X) == expected).all()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@each_default
def test_fit_then_fork_then_fit(learner):
    X, y, _ = mixed_data(learner.kind, 5000)
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
