"""Out of memory is a MemoryError, and the process lives on."""

import subprocess
import sys

import pytest

from contracts.learners import DEFAULTS

each_default = pytest.mark.parametrize("learner", DEFAULTS, ids=lambda learner: learner.name)

# Allow a little more than what the process has when the data is there, then take the limit away again.
_PROGRAM = """
import resource, sys
import numpy as np
import spinney as sp

rng = np.random.default_rng(0)
few = {"n_estimators": 4, "random_state": 0, "n_jobs": 2}
kind = getattr(sp, sys.argv[1])
make = lambda: kind(**{name: few[name] for name in few if name in kind().get_params()})
X, y = rng.normal(size=(15_000, 20)), rng.integers(0, 2, 15_000)
X = np.floor(8 * X) if sys.argv[1] == "ID3Classifier" else X
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
print("alive")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="sets the limit in Linux' way")
@each_default
def test_too_little_memory_is_an_error_not_the_end(learner):
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM, learner.make.__name__],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert run.stdout.strip() == "alive", (run.returncode, run.stderr[-2000:])
