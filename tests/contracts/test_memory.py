"""Out of memory is a MemoryError, and the process lives on."""

import os
import subprocess
import sys

import pytest

from contracts.learners import DEFAULTS

# Allow a little more than what the process has when the data is there, then take the limit away again. Each
# class has a process of its own, forked from one that has imported everything.
_PROGRAM = """
import os, resource, sys
import numpy as np
import spinney as sp

rng = np.random.default_rng(0)
few = {"n_estimators": 4, "random_state": 0, "n_jobs": 2}
numbers, y = rng.normal(size=(15_000, 20)), rng.integers(0, 2, 15_000)

def check(kind):
    make = lambda: kind(**{name: few[name] for name in few if name in kind().get_params()})
    X = np.floor(8 * numbers) if kind is sp.ID3Classifier else numbers
    small = make().fit(X[:1000], y[:1000])
    now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    model = make()
    refused = 0
    for room in range(0, 64 << 20, 8 << 20):
        resource.setrlimit(resource.RLIMIT_AS, (now + room, resource.RLIM_INFINITY))
        try:
            model.fit(X, y)
        except MemoryError:
            refused += 1
            assert not any(name.endswith("_") for name in vars(model))
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        if hasattr(model, "n_features_in_"):
            break
    assert refused
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


# Arrays are mapped, not taken from what the heap has left over from earlier fits: the limit counts every one.
_MALLOC = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}


@pytest.mark.skipif(sys.platform != "linux", reason="sets the limit in Linux' way")
def test_too_little_memory_is_an_error_not_the_end():
    names = [learner.make.__name__ for learner in DEFAULTS]
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *names],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env=os.environ | _MALLOC,
    )
    assert run.stdout.split() == names, (run.returncode, run.stderr[-2000:])
