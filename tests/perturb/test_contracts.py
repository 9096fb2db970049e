"""The promises that every learner keeps, kept by those that make diversity."""

import multiprocessing
import os
import pickle
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import spinney as sp
from contracts.learners import ENSEMBLES, mixed_data
from contracts.test_bad_inputs import ODD, target, wrong_tables
from contracts.test_round_trip import WAYS
from spinney.persistence import UnsavableValue, dumps

LEARNERS = [learner for learner in ENSEMBLES if learner.make.__module__.startswith("spinney.perturb")]
DEFAULTS = [learner for learner in LEARNERS if "-" not in learner.name]
each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
each_default = pytest.mark.parametrize("learner", DEFAULTS, ids=lambda learner: learner.name)
IS_NETWORK = [learner for learner in DEFAULTS if learner.make.__name__.startswith("Negative")]


def test_all_learners_of_this_folder_are_here():
    import spinney.perturb

    assert {learner.make.__name__ for learner in DEFAULTS} == set(spinney.perturb.__all__)


@parametrize_with_checks([learner() for learner in LEARNERS if learner in DEFAULTS or "soft" in learner.name])
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
        proba = model.predict_proba(X)
        assert np.isfinite(proba).all() and (proba >= 0).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-9)
        assert set(np.unique(predicted).tolist()) <= set(model.classes_.tolist())
    return model


@each_default
@pytest.mark.parametrize("case", ODD)
def test_odd_tables_give_a_model(learner, case):
    n = ODD[case].shape[0] if hasattr(ODD[case], "shape") else len(ODD[case])
    check_works(learner, ODD[case], target(learner, n))


@each_learner
def test_one_class_or_one_value(learner):
    model = check_works(learner, np.arange(10.0)[:, None], np.full(10, 7))
    np.testing.assert_allclose(model.predict([[3.0], [np.nan], [99.0]]), 7, rtol=1e-12)


@each_learner
def test_a_class_without_weight_is_known_but_never_predicted(learner):
    if learner.kind == "regressor":
        pytest.skip("has no classes")
    X, y = np.arange(12.0)[:, None], np.array(list("aaabbbcccddd"))
    weights = np.where(np.isin(y, ["b", "d"]), 0.0, 1.0)
    model = check_works(learner, X, y, weights)
    assert model.classes_.tolist() == list("abcd")
    assert set(model.predict(X)) <= {"a", "c"}
    model = check_works(learner, X, y, (y == "c") * 1.0)
    assert set(model.predict(X)) == {"c"}


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@each_default
def test_any_numbers_give_a_valid_model(learner, data):
    n, d = data.draw(st.integers(2, 12)), data.draw(st.integers(1, 3))
    numbers = st.floats(allow_nan=True, allow_infinity=False) | st.sampled_from([0.0, -0.0, 1e308, 5e-324])
    X = data.draw(hnp.arrays(np.float64, (n, d), elements=numbers))
    if learner.kind == "classifier":
        y = data.draw(hnp.arrays(np.int64, n, elements=st.integers(-3, 3)))
    else:
        y = data.draw(hnp.arrays(np.float64, n, elements=st.floats(-1e100, 1e100)))
    weights = data.draw(hnp.arrays(np.float64, n, elements=st.floats(0.0, 1e6)).filter(np.any))
    check_works(learner, X, y, weights)


@each_default
def test_a_great_many_categories(learner):
    n = 3000
    X = pd.DataFrame({"id": [f"name {i}" for i in range(n)], "x": np.arange(n) % 17})
    small = {"n_estimators": 3} if "n_estimators" in learner().get_params() else {}
    model = learner(**small).fit(X, target(learner, n))
    assert len(model.predict(pd.DataFrame({"id": ["unheard of"], "x": [3]}))) == 1


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
    "estimator": [3, "tree", sp.DecisionTreeClassifier],
    "n_estimators": [0, 1.5, None, True],
    "flip_rate": [-0.1, 1.0, "much", 0.9],
    "voting": ["loud", None],
    "scale": [-1.0, np.inf, None],
    "bootstrap": [1, "yes", None],
    "random_state": ["seed", -1],
    "n_jobs": [0, 1.5],
    "code": ["huge", None, [[1], [1]], [[1, 0], [-1, 0]], [[2], [-1]], [[1, -1]], [["a"], ["b"]]],
    "code_size": [0.0, "large"],
    "n_candidates": [0, 1.5],
    "decoding": ["magic", None],
    "loss": ["squared", None],
    "response": ["transform", None],
    "penalty": [-0.1, 1.1, "auto"],
    "hidden_size": [0, 2.5],
    "alpha": [-1.0, np.nan],
    "learning_rate_init": [0.0, "adaptive"],
    "batch_size": [0, "all"],
    "max_iter": [0, 10.0],
    "tol": [-1.0, None],
    "n_iter_no_change": [0, None],
    "early_stopping": [1, None],
    "validation_fraction": [0.0, 1.0],
    "categorical_features": ["no such column", [9]],
    "unseen": ["ignore"],
    "verbose": [-1, "much"],
}


@each_default
@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_wrong_parameters_are_refused_by_name(learner, name):
    if name not in learner().get_params(deep=False):
        pytest.skip("has no such parameter")
    for value in BAD_PARAMETERS[name]:
        with pytest.raises(ValueError, match=name):
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
def test_a_bad_value_is_named_by_its_place_in_the_whole_table(learner):
    X = np.arange(24.0).reshape(12, 2)
    X[10, 1] = np.inf
    y = np.arange(12) // 3 if learner.kind == "classifier" else np.arange(12.0)
    with pytest.raises(ValueError, match="column 1, row 10"):
        learner().fit(X, y, np.arange(12) % 3 + 1)


@each_learner
def test_warnings_are_not_part_of_ordinary_use(learner):
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[::7, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner().fit(X, target(learner, 50)).predict(X)


@each_default
def test_progress_is_shown_on_the_error_output_if_asked_for(learner, capsys):
    X, y, _ = mixed_data(learner.kind, 50)
    learner().fit(X, y)
    assert capsys.readouterr() == ("", "")
    learner(verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert out == "" and learner.make.__name__ in err


@each_learner
def test_rows_of_weight_zero_and_copies(learner):
    X, y, _ = mixed_data(learner.kind, 60)
    weights = np.random.default_rng(1).integers(0, 4, 60)
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(60), weights))
    answer = "predict_proba" if learner.kind == "classifier" else "predict"
    one = learner().fit(X, y, weights)
    other = learner().fit(X.iloc[rows], y[rows])
    np.testing.assert_allclose(getattr(one, answer)(X), getattr(other, answer)(X), rtol=1e-12)


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
    assert again.n_features_in_ == 4
    assert again.feature_names_in_.tolist() == ["a", "b", "color", "noise"]
    if learner.kind == "classifier":
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert_array_equal(again.classes_, model.classes_)
        assert again.n_classes_ == model.n_classes_
    if hasattr(model, "ledger_"):
        assert again.ledger_.to_columns() == model.ledger_.to_columns()
    if way != "plain pickle":
        assert dumps(again) == dumps(model)
    assert_array_equal(again.fit(X, y, weights).predict(X), model.predict(X))


@each_default
def test_an_unfitted_model_can_be_stored(learner):
    again = pickle.loads(pickle.dumps(learner()))
    assert again.get_params() == learner().get_params()
    with pytest.raises(ValueError, match="not fitted"):
        again.predict([[1.0]])


def test_members_of_others_are_pickled_but_not_filed():
    X, y = np.arange(12.0)[:, None], np.arange(12) % 3
    model = sp.OutputCodeClassifier(KNeighborsClassifier(1)).fit(X, y)
    with pytest.raises(UnsavableValue, match="KNeighborsClassifier"):
        dumps(model)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@each_learner
def test_any_number_of_threads_gives_the_same_bytes(learner):
    X, y, weights = mixed_data(learner.kind, 300)
    if learner.make.__name__.startswith("Negative"):
        assert dumps(learner().fit(X, y, weights)) == dumps(learner().fit(X, y, weights))
        return
    found = {
        dumps(learner(n_jobs=n_jobs).fit(X, y, weights).set_params(n_jobs=None)) for n_jobs in (1, 2, 3, 16)
    }
    assert len(found) == 1


# ---- threads, processes, interrupts ----


@each_default
def test_ctrl_c_stops_a_fit_within_a_moment(learner):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100_000, 12)), rng.integers(0, 8, 100_000)
    model = learner(**({"max_iter": 1000} if learner in IS_NETWORK else {}))
    sent = []

    def interrupt():
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.4, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    # Counted in processor time, because other tests share this machine.
    assert time.process_time() - sent[0] < 0.25
    assert not any(name.endswith("_") for name in vars(model))
    model.fit(X[:300], y[:300]).predict(X[:300])


def _fit_in_child(learner, X, y, expected, answer):
    answer.put(bool((learner().fit(X, y).predict(X) == expected).all()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@each_default
def test_fit_then_fork_then_fit(learner):
    X, y, _ = mixed_data(learner.kind, 500)
    expected = learner().fit(X, y).predict(X)
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
    model = learner().fit(X, y, weights)
    expected = model.predict(X)
    with ThreadPoolExecutor(6) as pool:
        for found in pool.map(lambda _: model.predict(X), range(12)):
            assert_array_equal(found, expected)
        for found in pool.map(lambda _: learner().fit(X, y, weights).predict(X), range(6)):
            assert_array_equal(found, expected)
