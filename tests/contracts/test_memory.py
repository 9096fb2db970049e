"""Out of memory is a MemoryError, and the process lives on."""

import subprocess
import sys

import pytest

from contracts.learners import DEFAULTS

# First there is nothing left: the limit is what the process has, and blocks of 64 KB fill what the heap has
# free. Then allow a little more each time. Each class has a process of its own, forked from one that has
# imported everything.
_PROGRAM = """
import os, resource, sys
import numpy as np
import spinney as sp

rng = np.random.default_rng(0)
few = {"n_estimators": 4, "random_state": 0, "n_jobs": 2}
numbers, y = rng.normal(size=(15_000, 20)), rng.integers(0, 2, 15_000)

def limit(n_bytes):
    resource.setrlimit(resource.RLIMIT_AS, (n_bytes, resource.RLIM_INFINITY))

def fill():
    blocks = []
    try:
        while True:
            blocks.append(bytearray(1 << 16))
    except MemoryError:
        return blocks

def is_refused(model, X, n_bytes, full=False):
    limit(n_bytes)
    blocks = fill() if full else []
    try:
        model.fit(X, y)
    except MemoryError:
        blocks.clear()
        assert not any(name.endswith("_") for name in vars(model))
        return True
    finally:
        limit(resource.RLIM_INFINITY)
    return False

def check(kind):
    make = lambda: kind(**{name: few[name] for name in few if name in kind().get_params()})
    X = np.floor(8 * numbers) if kind is sp.ID3Classifier else numbers
    small = make().fit(X[:1000], y[:1000])
    now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    model = make()
    assert is_refused(model, X, now, full=True)
    for room in range(0, 64 << 20, 8 << 20):
        if not is_refused(model, X, now + room):
            break
    again = make().fit(X[:1000], y[:1000])
    assert (again.predict(X[:1000]) == small.predict(X[:1000])).all()

for name in sys.argv[1:]:
    kind = getattr(sp, name)
    if os.fork() == 0:
        check(kind)
        print(name, flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="sets the limit in Linux' way")
def test_too_little_memory_is_an_error_not_the_end():
    names = [learner.make.__name__ for learner in DEFAULTS]
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *names],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert run.stdout.split() == names, (run.returncode, run.stderr[-2000:])
