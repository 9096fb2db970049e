"""The promises that every learner keeps, kept by combinations: checks, bad input, files, threads, Ctrl-C."""

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
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import spinney as sp
from contracts.learners import ENSEMBLES, mixed_data
from contracts.test_bad_inputs import ODD, target, wrong_tables
from contracts.test_round_trip import WAYS
from spinney.combine import LeastSquaresRegressor, MultiResponseClassifier
from spinney.persistence import ModelFileError, UnsavableValue, dumps, loads

LEARNERS = [one for one in ENSEMBLES if one.make.__module__.startswith("spinney.combine")]
DEFAULTS = [one for one in LEARNERS if "-" not in one.name]
LEVEL_TWO = [MultiResponseClassifier(), LeastSquaresRegressor(positive=False)]
each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
each_default = pytest.mark.parametrize("learner", DEFAULTS, ids=lambda learner: learner.name)


@parametrize_with_checks([*(learner() for learner in LEARNERS), *LEVEL_TWO])
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
    if n < 2 and not learner.name.endswith(("VotingClassifier", "VotingRegressor")):
        with pytest.raises(ValueError, match=r"n_samples|n_splits"):
            learner().fit(ODD[case], target(learner, n))
    else:
        check_works(learner, ODD[case], target(learner, n))


@each_learner
def test_one_class_or_one_value(learner):
    model = check_works(learner, np.arange(10.0)[:, None], np.full(10, 7))
    np.testing.assert_allclose(model.predict([[3.0], [np.nan], [99.0]]), 7)


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
        (np.zeros((6, 2)), "2 outputs"),
        (np.zeros((6, 2, 2)), "1d array"),
        (np.ones(6) * 1j, "[Cc]omplex"),
    ],
)
def test_wrong_targets_are_refused_with_the_row(learner, y, words):
    with pytest.raises(ValueError, match=words):
        learner().fit(np.arange(12.0).reshape(6, 2), y)


@each_default
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
    "estimators": [
        None,
        [],
        "trees",
        [sp.C45Classifier()],
        [("a", 3)],
        [("a", sp.C45Classifier)],
        [(1, "drop")],
    ],
    "voting": ["loud", None],
    "weights": ["equal", [1], [-1, 1], [0, 0]],
    "rule": ["unanimity", None],
    "quorum": [-0.1, 1.0, "half"],
    "reject_label": [],
    "cv": ["folds", 1, 2.5, []],
    "n_jobs": [0, 1.5],
    "flatten_transform": [1, None],
    "random_state": ["seed", -1],
    "verbose": [-1, "much"],
    "final_estimator": [3, "tree"],
    "stack_method": ["guess", None],
    "passthrough": [1, "yes"],
    "scoring": [3, "no such scorer"],
    "n_steps": [0, 1.5, None],
    "n_initial": [0, 1.5],
    "replacement": [1, None],
    "n_bags": [0, 1.5],
    "bag_fraction": [0.0, 1.5, "half"],
}


@each_default
@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_wrong_parameters_are_refused_by_name(learner, name):
    if name not in learner().get_params(deep=False):
        pytest.skip("has no such parameter")
    settings = {"weights": "learned"} if name == "cv" and "weights" in learner().get_params() else {}
    words = "estimator|All" if name == "estimators" else "cv|n_splits|split" if name == "cv" else name
    for value in BAD_PARAMETERS[name]:
        with pytest.raises(ValueError, match=words):
            learner(**settings | {name: value}).fit(np.arange(12.0).reshape(6, 2), target(learner, 6))


@each_default
def test_every_parameter_has_a_bad_value_above(learner):
    assert set(learner().get_params(deep=False)) <= set(BAD_PARAMETERS)


@pytest.mark.parametrize(
    "estimators, words",
    [
        ([("a", sp.C45Classifier()), ("a", sp.C45Classifier())], "not unique"),
        ([("cv", sp.C45Classifier())], "conflict"),
        ([("a__b", sp.C45Classifier())], "__"),
        ([("a", sp.DecisionTreeRegressor())], "'a', a DecisionTreeRegressor, should be a classifier"),
        ([("a", "drop")], "dropped"),
    ],
)
def test_wrong_members_are_refused_by_name(estimators, words):
    with pytest.raises(ValueError, match=words):
        sp.VotingClassifier(estimators).fit([[0.0], [1.0]], [0, 1])


@each_learner
def test_a_failed_fit_leaves_the_model_as_it_was(learner):
    X = np.arange(24.0).reshape(12, 2)
    model = learner()
    with pytest.raises(ValueError):
        model.fit(X, [np.nan] * 12)
    assert not any(name.endswith("_") for name in vars(model))
    model.fit(X, target(learner, 12))
    before = vars(model).copy()
    with_inf = X.copy()
    with_inf[3, 1] = np.inf  # found by the members only
    with pytest.raises(ValueError, match="column 1"):
        model.fit(with_inf, target(learner, 12))
    assert vars(model) == before


@each_learner
def test_warnings_are_not_part_of_ordinary_use(learner):
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[::7, 1] = np.nan
    y = np.append(target(learner, 49), 2)  # a class of one row
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner(n_jobs=2).fit(X, y).predict(X)


# ---- files and bytes ----


@each_learner
@pytest.mark.parametrize("way", WAYS)
def test_a_stored_model_is_the_same_model(learner, way, tmp_path):
    X, y, weights = mixed_data(learner.kind, 150)
    model = learner().fit(X, y, weights)
    again = WAYS[way](model, tmp_path)
    assert type(again) is type(model)
    assert str(again.get_params()) == str(model.get_params())
    assert_array_equal(again.predict(X), model.predict(X))
    assert list(again.named_estimators_) == list(model.named_estimators_)
    assert again.n_features_in_ == 4
    assert again.feature_names_in_.tolist() == ["a", "b", "color", "noise"]
    if learner.kind == "classifier":
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert_array_equal(again.classes_, model.classes_)
    if way != "plain pickle":
        assert dumps(again) == dumps(model)
    assert_array_equal(again.fit(X, y, weights).predict(X), model.predict(X))


@each_learner
def test_an_unfitted_model_can_be_stored(learner):
    again = loads(dumps(learner()))
    assert str(again.get_params()) == str(learner().get_params())
    with pytest.raises(ValueError, match="not fitted"):
        again.predict([[1.0]])


def test_other_members_are_pickled_but_not_written_to_files():
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    model = sp.VotingClassifier([("linear", LogisticRegression())]).fit(X, y)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    with pytest.raises(UnsavableValue, match="LogisticRegression"):
        dumps(model)
    with pytest.raises(UnsavableValue, match=r"'cv'.*KFold"):
        dumps(sp.StackingRegressor([("tree", sp.DecisionTreeRegressor())], cv=KFold(3)))


def _damages():
    def put(name, value):
        return lambda fitted: fitted.__setitem__(name, value)

    return {
        "no members": put("estimators_", []),
        "members of text": put("estimators_", ["oak", "elm"]),
        "a member less": lambda fitted: fitted["estimators_"].pop(),
        "members as a tuple": lambda fitted: fitted.__setitem__("estimators_", tuple(fitted["estimators_"])),
        "names": put("_names", ["a", 2]),
        "no classes": lambda fitted: fitted.pop("classes_"),
        "other classes": put("classes_", np.array(["x", "y"])),
        "double classes": put("classes_", np.array([0, 0, 1, 2])),
        "negative weights": put("weights_", np.array([2.0, -1.0])),
        "weights without end": put("weights_", np.array([np.inf, 1.0])),
        "one weight": put("weights_", np.array([1.0])),
        "no final estimator": put("final_estimator_", 3),
        "unknown method": put("stack_method_", ["guess", "predict"]),
        "one method": put("stack_method_", ["predict"]),
        "path": put("path_", [[("cart", "good")]]),
        "unknown attribute": put("oracle_", 1),
    }


@pytest.mark.parametrize("damage", _damages())
@pytest.mark.parametrize(
    "make",
    [sp.VotingClassifier, sp.StackingClassifier, sp.EnsembleSelectionClassifier],
    ids=lambda m: m.__name__,
)
def test_content_that_does_not_agree_is_refused(make, damage, monkeypatch):
    X, y, _ = mixed_data("classifier", 100)
    members = [(f"depth {d}", sp.DecisionTreeClassifier(max_depth=d)) for d in (1, 3)]
    settings = {"n_bags": 8, "random_state": 1} if make is sp.EnsembleSelectionClassifier else {}
    model = make(members, **settings).fit(X, y)
    assert len(model.estimators_) == 2
    touched = {
        "weights": "weights_",
        "weight": "weights_",
        "final": "final_estimator_",
        "method": "stack_method_",
    }
    touched["path"] = "path_"
    if any(word in damage and not hasattr(model, name) for word, name in touched.items()):
        pytest.skip("has no such part")
    honest = make._get_state

    def dishonest(self):
        state = honest(self)
        fitted = {name: list(v) if type(v) is list else v for name, v in state["fitted"].items()}
        _damages()[damage](fitted)
        return {**state, "fitted": fitted}

    monkeypatch.setattr(make, "_get_state", dishonest, raising=False)
    data = dumps(model)
    monkeypatch.undo()
    with pytest.raises(ModelFileError):
        loads(data)


@each_learner
def test_any_number_of_threads_gives_the_same_bytes(learner):
    X, y, weights = mixed_data(learner.kind, 500)
    found = {dumps(learner(n_jobs=n_jobs).fit(X, y, weights).set_params(n_jobs=None)) for n_jobs in (1, 2, 7)}
    assert len(found) == 1


# ---- threads, processes, interrupts ----


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("learner", [DEFAULTS[0], DEFAULTS[-1]], ids=lambda learner: learner.name)
def test_ctrl_c_stops_a_fit_within_a_moment(learner, n_jobs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150_000, 12))
    y = rng.integers(0, 2, 150_000) if learner.kind == "classifier" else rng.normal(size=150_000)
    model = learner(n_jobs=n_jobs)
    for name in dict(learner.params)["estimators"]:
        model.set_params(**{f"{name[0]}__max_depth": None})
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
def test_fit_then_fork_then_fit():
    learner = next(one for one in DEFAULTS if one.make is sp.StackingClassifier)
    X, y, _ = mixed_data(learner.kind, 500)
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
    X, y, weights = mixed_data(learner.kind, 200)
    model = learner(n_jobs=2).fit(X, y, weights)
    expected = model.predict(X)
    with ThreadPoolExecutor(6) as pool:
        for found in pool.map(lambda _: model.predict(X), range(12)):
            assert_array_equal(found, expected)
        for found in pool.map(lambda _: learner(n_jobs=2).fit(X, y, weights).predict(X), range(4)):
            assert_array_equal(found, expected)


def test_least_squares_refuses_what_is_too_large():
    for large in (1e160, 1.7e308):
        with pytest.raises(ValueError, match="too large"):
            LeastSquaresRegressor().fit([[1.0], [2.0], [3.0]], [large, -large, large])
