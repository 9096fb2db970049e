"""Members get row weights by whichever argument takes them; parallel results come in order."""

import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
import sklearn
from joblib import parallel_config
from numpy.testing import assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import spinney as sp
from spinney.members.fitting import fit_member, run_jobs, takes_weights

RNG = np.random.default_rng(0)
X, Y, WEIGHTS = RNG.normal(size=(40, 3)), RNG.normal(size=40), RNG.integers(0, 3, 40).astype(float)


def test_a_pipeline_hands_weights_to_its_last_step():
    member = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), Ridge()))
    assert takes_weights(member)
    fitted = fit_member(member, X, Y, WEIGHTS)
    scaled = StandardScaler().fit_transform(StandardScaler().fit_transform(X))
    assert_array_equal(fitted.predict(X), Ridge().fit(scaled, Y, WEIGHTS).predict(scaled))
    assert not takes_weights(make_pipeline(StandardScaler(), KNeighborsRegressor()))
    assert not takes_weights(make_pipeline(StandardScaler(), "passthrough"))


def test_a_search_hands_weights_to_what_it_searches():
    search = GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=2)
    assert takes_weights(search)
    fitted = fit_member(search, X, Y, WEIGHTS)
    np.testing.assert_allclose(fitted.predict(X), Ridge().fit(X, Y, WEIGHTS).predict(X))
    assert not takes_weights(GridSearchCV(KNeighborsRegressor(), {"n_neighbors": [3]}))


def test_weights_that_a_member_does_not_take_are_refused_by_its_name():
    assert fit_member(KNeighborsRegressor(), X, Y).predict(X).shape == (40,)
    for member in (KNeighborsRegressor(), make_pipeline(StandardScaler(), KNeighborsRegressor())):
        with pytest.raises(ValueError, match="KNeighborsRegressor does not support sample weights"):
            fit_member(member, X, Y, WEIGHTS)


def test_with_metadata_routing_a_pipeline_is_asked_for_what_it_requests():
    with sklearn.config_context(enable_metadata_routing=True):
        deaf = make_pipeline(StandardScaler(), Ridge())
        asking = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False), Ridge().set_fit_request(sample_weight=True)
        )
        assert (takes_weights(deaf), takes_weights(asking)) == (False, True)
        fitted = fit_member(asking, X, Y, WEIGHTS)
    scaled = StandardScaler().fit_transform(X)
    assert_array_equal(fitted.predict(X), Ridge().fit(scaled, Y, WEIGHTS).predict(scaled))


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_results_come_in_order(n_jobs):
    assert run_jobs(pow, [(i, 2) for i in range(20)], n_jobs) == [i * i for i in range(20)]


def test_a_title_asks_for_progress_on_the_error_output(capsys):
    assert run_jobs(pow, [(2, 3)], 1) == [8]
    assert capsys.readouterr() == ("", "")
    assert run_jobs(pow, [(2, 3), (3, 2)], 1, "Raising powers") == [8, 9]
    out, err = capsys.readouterr()
    assert out == "" and "Raising powers" in err


def test_spinneys_own_members_run_in_threads_and_others_in_processes():
    def processes(member):
        # Defined here, because a worker process cannot import a test.
        return set(run_jobs(lambda _: os.getpid(), [(member,)] * 4, 2))

    assert processes(sp.DecisionTreeClassifier()) == {os.getpid()}
    assert os.getpid() not in processes(Ridge())
    assert os.getpid() not in processes(GridSearchCV(sp.DecisionTreeClassifier(), {}))


def test_the_configuration_of_the_caller_reaches_the_workers():
    with sklearn.config_context(enable_metadata_routing=True):
        found = run_jobs(lambda _: sklearn.get_config()["enable_metadata_routing"], [(Ridge(),)] * 2, 2)
    assert found == [True, True]


def test_a_wrong_number_of_jobs_is_refused():
    with pytest.raises(ValueError, match="n_jobs is 0"):
        run_jobs(pow, [(1, 2)], 0)


_PROGRAM = """
import os, signal
import numpy as np
import spinney as sp
from spinney.members.fitting import run_jobs

X, y = np.random.default_rng(0).normal(size=(1_000, 10)), np.arange(1_000) % 2

def fit(tree, job):
    if job == 1:  # from within a job, so that threads are at work however fast they are
        os.kill(os.getpid(), signal.SIGINT)
    for _ in range(300):  # many short stays in the core: one of them ends while the interpreter does
        tree.fit(X, y)

run_jobs(fit, [(sp.DecisionTreeClassifier(), job) for job in range(8)], 2)
"""


def test_a_program_that_is_interrupted_amid_threads_ends_as_any_other():
    run = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=False)
    assert run.returncode == -signal.SIGINT
    assert run.stderr.endswith("KeyboardInterrupt\n")


def test_joblibs_backend_of_plain_processes_fits_members():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(int)
    model = sp.BaggingRegressor(KNeighborsRegressor(), n_estimators=2, random_state=0)
    with parallel_config(backend="multiprocessing", n_jobs=2):
        predicted = model.fit(X, y).predict(X)
    assert_array_equal(model.fit(X, y).predict(X), predicted)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_members_leave_the_filters_of_warnings_alone(n_jobs):
    def look(position, member):
        return warnings.filters is before

    before = warnings.filters
    calls = [(position, sp.DecisionTreeClassifier()) for position in range(3)]
    assert run_jobs(look, calls, n_jobs) == [True] * 3
