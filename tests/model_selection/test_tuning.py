import json
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import spinney
from spinney.core.errors import InputError
from spinney.datasets import make_box
from spinney.model_selection import Choice, Integers, Uniform
from spinney.model_selection.search_space import draw_point, read_space
from spinney.model_selection.trial_file import read_trials

SAMPLERS = ["random", *(["optuna"] if find_spec("optuna") else [])]


@pytest.fixture(scope="module")
def box():
    X, y = make_box(100, frame=None)
    return X, np.where(np.random.default_rng(0).random(100) < 0.1, -y, y)


def numbers(found):
    return [(trial.params, trial.scores) for trial in found.trials]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_search_that_is_resumed_ends_as_one_without_interruption(box, tmp_path, sampler):
    path = tmp_path / "trials.jsonl"
    whole = spinney.tune("cart", *box, n_trials=7, cv=3, sampler=sampler)
    spinney.tune("cart", *box, n_trials=3, cv=3, sampler=sampler, path=path)
    with path.open("ab") as stream:
        stream.write(b'{"number": 3, "par')  # what a killed process leaves
    resumed = spinney.tune("cart", *box, n_trials=7, cv=3, sampler=sampler, path=path)
    assert numbers(resumed) == numbers(whole) and len(read_trials(path)[1]) == 7


def test_the_best_is_no_worse_than_the_default(box):
    found = spinney.tune("cart", *box, n_trials=6, cv=3, sampler="random")
    assert found.trials[0].params == {} and found.best.score >= found.trials[0].score
    assert found.fit(*box).max_depth == found.best_params.get("max_depth")
    assert found.to_frame().shape[0] == 6


def test_hopeless_trials_are_stopped_early(box):
    space = {"max_depth": Choice((1, 2)), "min_samples_leaf": Choice((1, 90))}
    found = spinney.tune(
        spinney.DecisionTreeClassifier(), *box, space=space, n_trials=14, cv=4, sampler="random"
    )
    stopped = [trial for trial in found.trials if trial.note == "stopped early"]
    assert stopped and all(trial.score is None and len(trial.scores) < 4 for trial in stopped)


def test_trials_of_another_search_are_refused(box, tmp_path):
    path = tmp_path / "trials.jsonl"
    spinney.tune("cart", *box, n_trials=1, cv=3, path=path, sampler="random")
    with pytest.raises(InputError, match="another search: cv"):
        spinney.tune("cart", *box, n_trials=2, cv=4, path=path, sampler="random")
    with pytest.raises(InputError, match="data"):
        spinney.tune("cart", box[0], -box[1], n_trials=2, cv=3, path=path, sampler="random")
    path.write_text("other\n")
    with pytest.raises(InputError, match="not a file of trials"):
        spinney.tune("cart", *box, n_trials=1, cv=3, path=path)


@pytest.mark.long
def test_a_killed_search_leaves_whole_lines(tmp_path):
    path = tmp_path / "trials.jsonl"
    code = (
        "import os, spinney\nfrom spinney.datasets import make_box\n"
        f"spinney.tune('cart', *make_box(60, frame=None), n_trials=50, cv=2, path={str(path)!r},"
        "sampler='random', callback=lambda trial: os.kill(os.getpid(), 9) if trial.number == 2 else None)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert run.returncode == -9
    assert [trial["number"] for trial in read_trials(path)[1]] == [0, 1, 2]
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_parameters_are_checked_before_the_first_trial(box):
    with pytest.raises(InputError, match="Did you mean 'max_depth'"):
        spinney.tune("cart", *box, space={"max_dept": (1, 3)})
    with pytest.raises(InputError, match="low, high"):
        spinney.tune("cart", *box, space={"max_depth": "deep"})
    with pytest.raises(InputError, match="not a valid range"):
        Uniform(0.0, 1.0, log=True)
    with pytest.raises(InputError, match="max_depth"):
        spinney.tune(spinney.DecisionTreeClassifier(max_depth=-1), *box, space={"min_samples_leaf": (1, 3)})
    with pytest.raises(InputError, match="no search space"):
        spinney.tune("naive-bayes", *box)


def test_draws_stay_within_their_ranges():
    space = read_space(
        {"a": (0.001, 10.0, "log"), "b": (3, 9), "c": ["x", None], "d": Integers(1, 100, log=True)}
    )
    points = [draw_point(space, [0, i]) for i in range(300)]
    assert all(0.001 <= p["a"] <= 10 and 3 <= p["b"] <= 9 and 1 <= p["d"] <= 100 for p in points)
    assert {p["b"] for p in points} == set(range(3, 10)) and {p["c"] for p in points} == {"x", None}
    assert sum(p["a"] < 0.1 for p in points) == pytest.approx(150, abs=30)


def test_encoded_learners_are_tuned_by_the_parameters_of_the_estimator(box):
    found = spinney.tune("svm", *box, n_trials=2, cv=2, sampler="random")
    assert set(found.trials[1].params) == {"estimator__C", "estimator__gamma"}
    own = spinney.tune("svm", *box, space={"C": (0.1, 1.0)}, n_trials=2, cv=2, sampler="random")
    assert set(own.trials[1].params) == {"estimator__C"}
