"""A process that exits while daemon threads fit and predict ends as it would without them."""

import subprocess
import sys
import textwrap

import pytest

WORK = {
    "forest": "sp.RandomForestClassifier(20, n_jobs=2).fit(X, y)",
    "tree": "sp.DecisionTreeClassifier(max_bins=None).fit(X, y)",
    "predict": "model.predict(X)",
}


@pytest.mark.parametrize("work", WORK)
def test_daemon_threads_at_exit_do_not_abort_the_process(work: str) -> None:
    script = f"""
        import threading
        import numpy as np, spinney as sp
        X = np.random.default_rng(0).normal(size=(5000, 8))
        y = (X[:, 0] > 0).astype(int)
        model = sp.RandomForestClassifier(5).fit(X[:500], y[:500])
        started = [threading.Event() for _ in range(4)]

        def run(event):
            while True:
                {WORK[work]}
                event.set()

        for event in started:
            threading.Thread(target=run, args=(event,), daemon=True).start()
        for event in started:
            event.wait()
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
