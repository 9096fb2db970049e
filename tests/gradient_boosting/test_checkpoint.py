"""A checkpoint is a whole file or none, and training goes on from it to the same bytes, whatever ended it."""

import itertools
import multiprocessing
import os
import random
import signal

import numpy as np
import pytest

import spinney as sp
from spinney import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.gradient_boosting import Checkpoint
from spinney.io import dumps, files
from spinney.native import core


def problem(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    X[::9, 0] = np.nan
    names = np.array([f"place {i}" for i in range(n)], dtype=object)[rng.integers(0, n, n)]
    return np.column_stack([X.astype(object), names]), np.digitize(
        np.nan_to_num(X[:, 0]) + X[:, 1] ** 2, [0, 1]
    )


SETTINGS = {
    "plain": {},
    "draws": {"sampling": "mvs", "subsample": 0.6, "max_features": 2, "colsample_bytree": 0.8},
    "stopping": {"early_stopping": True, "n_iter_no_change": 3, "ledger": True},
    "scorer": {"early_stopping": True, "scoring": "accuracy", "ledger": "full"},
    "statistics": {"categorical_encoding": "ordered", "early_stopping": True},
}


class DeathError(Exception):
    pass


def die_at(number):
    def callback(round):
        if round.number == number:
            raise DeathError

    return callback


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("died_at", [1, 7, 13])
def test_resumed_training_ends_with_the_same_bytes(name, died_at, tmp_path):
    X, y = problem()
    settings = {"n_estimators": 16, "random_state": 5, "max_leaf_nodes": 6} | SETTINGS[name]
    whole = GradientBoostingClassifier(**settings, preset="classic").fit(X, y)
    path = tmp_path / "run.spinney"
    try:
        GradientBoostingClassifier(**settings, preset="classic").fit(
            X, y, callbacks=[Checkpoint(path, every=1), die_at(died_at)]
        )
    except DeathError:
        pass
    else:
        assert whole.n_iter_ < died_at
    resumed = GradientBoostingClassifier.resume(path, X, y)
    assert dumps(resumed) == dumps(whole)


def test_resuming_with_weights_and_an_eval_set(tmp_path):
    X, y = problem()
    rng = np.random.default_rng(1)
    weights, start = rng.random(200), rng.normal(size=300)
    given = {"init_score": start[:200], "eval_set": (X[200:], y[200:] * 1.0, rng.random(100), start[200:])}
    model = GradientBoostingRegressor(n_estimators=12, random_state=0, max_leaf_nodes=4, preset="classic")
    whole = sp.load(dumps(model)).fit(X[:200], y[:200], weights, **given)
    path = tmp_path / "run.spinney"
    with pytest.raises(DeathError):
        model.fit(X[:200], y[:200], weights, **given, callbacks=[Checkpoint(path, every=2), die_at(9)])
    assert sp.load(path).n_iter_ == 8
    resumed = GradientBoostingRegressor.resume(path, X[:200], y[:200], weights, **given)
    assert dumps(resumed) == dumps(whole)


def test_a_checkpoint_is_a_model_and_says_how_often(tmp_path):
    X, y = problem()
    path = tmp_path / "run.spinney"
    times = []
    GradientBoostingClassifier(n_estimators=10, preset="classic").fit(
        X, y, callbacks=[Checkpoint(path, every=4), lambda round: times.append(path.exists())]
    )
    assert times == [False] * 3 + [True] * 7
    kept = sp.load(path)
    assert kept.n_iter_ == 8
    assert kept.predict(X).shape == (300,)
    assert list(tmp_path.iterdir()) == [path]


def test_checkpoints_by_the_clock(tmp_path, monkeypatch):
    X, y = problem()
    clock = [0.0]
    monkeypatch.setattr("spinney.gradient_boosting.callbacks.time.monotonic", lambda: clock[0])
    path, written = tmp_path / "run.spinney", []

    def tick(round):
        written.append(sp.load(path).n_iter_ if path.exists() else 0)
        clock[0] += 1.0

    GradientBoostingClassifier(n_estimators=8, preset="classic").fit(
        X, y, callbacks=[Checkpoint(path, seconds=3.0), tick]
    )
    assert written == [0, 0, 0, 4, 4, 4, 7, 7]
    assert Checkpoint(path).seconds == 60.0


def test_the_wrong_rows_or_file_are_refused(tmp_path):
    X, y = problem()
    path = tmp_path / "run.spinney"
    model = GradientBoostingClassifier(n_estimators=4, preset="classic").fit(
        X, y, callbacks=Checkpoint(path, every=1)
    )
    with pytest.raises(ValueError, match="rows are not those"):
        GradientBoostingClassifier.resume(path, X, y[::-1])
    with pytest.raises(ValueError, match="rows are not those"):
        GradientBoostingClassifier.resume(path, X, y, np.ones(300))
    with pytest.raises(ValueError, match="eval_set differ"):
        GradientBoostingClassifier.resume(path, X, y, eval_set=(X, y))
    with pytest.raises(ValueError, match="holds a GradientBoostingClassifier"):
        GradientBoostingRegressor.resume(path, X, y)
    sp.save(model, path)
    with pytest.raises(ValueError, match="a finished model"):
        GradientBoostingClassifier.resume(path, X, y)
    with pytest.raises(ValueError, match="there is no"):
        model.fit(X, y, callbacks=Checkpoint(tmp_path / "nowhere" / "run.spinney"))
    for bad in ({"every": 0}, {"seconds": -1.0}):
        with pytest.raises(ValueError, match="above 0"):
            Checkpoint(path, **bad)


# ---- kill -9 ----


def train(path, where, count):
    """Train and be killed at a call inside a write, or at a poll of the core; run in a forked process."""
    calls = itertools.count(1)

    def deadly(module, name):
        original = getattr(module, name)

        def call(*args, **kwargs):
            if next(calls) == count:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*args, **kwargs)

        setattr(module, name, call)

    if where == "poll":
        signal.signal(signal.SIGINT, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        core.interrupt_at_poll(count)
    else:
        deadly(*{"sync": (os, "fsync"), "rename": (files.Path, "replace")}[where])
    GradientBoostingClassifier(**LONG).fit(*problem(), callbacks=Checkpoint(path, every=1))


LONG = {
    "preset": "classic",
    "n_estimators": 60,
    "random_state": 1,
    "early_stopping": True,
    "n_iter_no_change": 60,
}


def train_and_kill(path, where, count):
    """Train in another process, killed at the given call inside a write or the given poll of the core."""
    child = multiprocessing.get_context("fork").Process(target=train, args=(path, where, count), daemon=True)
    child.start()
    child.join(timeout=120)
    return child.exitcode


def check_survival(path, whole, where, count):
    assert train_and_kill(path, where, count) in (-signal.SIGKILL, 0)
    X, y = problem()
    if not path.exists():  # killed before the first round was kept: begin anew
        return 0
    resumed = GradientBoostingClassifier.resume(path, X, y)
    assert dumps(resumed) == dumps(whole)
    return 1


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill and fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(("where", "count"), [("sync", 12), ("rename", 12), ("poll", 200)])
def test_killed_inside_a_write_or_a_round(where, count, tmp_path):
    whole = GradientBoostingClassifier(**LONG).fit(*problem())
    assert check_survival(tmp_path / "run.spinney", whole, where, count) == 1


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill and fork")
def test_killed_at_fifty_moments(tmp_path):
    draw = random.Random(0)
    core.interrupt_at_poll(2**40)
    whole = GradientBoostingClassifier(**LONG).fit(*problem())
    n_polls = 2**40 - core.polls_until_interrupt()
    core.interrupt_at_poll(0)
    survived = 0
    for trial in range(50):
        where, n = draw.choice([("poll", n_polls), ("poll", n_polls), ("sync", 80), ("rename", 80)])
        survived += check_survival(tmp_path / f"run{trial}.spinney", whole, where, draw.randint(1, n))
    assert survived >= 40
