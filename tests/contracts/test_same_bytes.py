"""The fitted model is the same to the last byte for any number of threads and any vector instructions."""

import hashlib
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from contracts.learners import LEARNERS, UNSUPERVISED, fewer, mixed_data
from spinney import native
from spinney.io import dumps

ALL = [*LEARNERS, *UNSUPERVISED]
each_learner = pytest.mark.parametrize("learner", ALL, ids=lambda learner: learner.name)
_ROWS = 3000


def fitted_bytes(learner, n_jobs):
    X, y, weights = mixed_data(learner.kind, fewer(learner, _ROWS))
    model = learner.with_threads(n_jobs).fit(X, y, weights)
    return dumps(model.set_params(n_jobs=None) if learner.has("n_jobs") else model)


@each_learner
def test_any_number_of_threads_gives_the_same_bytes(learner):
    expected = fitted_bytes(learner, 1)
    for n_jobs in (2, 3, 16):
        assert fitted_bytes(learner, n_jobs) == expected


@each_learner
def test_a_second_fit_gives_the_same_bytes(learner):
    X, y, weights = mixed_data(learner.kind, 200)
    model = learner().fit(X, y, weights)
    first = dumps(model)
    assert dumps(model.fit(X, y, weights)) == first


def digests():
    """Return one hash a learner; run by the test below in processes of their own."""
    return [hashlib.sha256(fitted_bytes(learner, 2)).hexdigest() for learner in LEARNERS]


def test_every_vector_level_gives_the_same_bytes():
    expected = digests()
    best = native.LEVELS.index(native.best_level())
    # A build for one machine may leave levels out.
    built = [level for level in native.LEVELS[: best + 1] if find_spec(f"spinney.native._core_{level}")]
    assert native.level in built
    for level in built:
        code = "from contracts.test_same_bytes import digests, native; print(native.level, *digests())"
        environment = os.environ | {"SPINNEY_VECTOR": level, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        used, *found = run.stdout.split()
        assert used == level
        assert found == expected
