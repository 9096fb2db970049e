"""A process that exits while daemon threads fit and predict ends as it would without them."""

import subprocess
import sys
import textwrap


def test_daemon_threads_at_exit_do_not_abort_the_process() -> None:
    script = """
        import threading
        import numpy as np, spinney as sp
        X = np.random.default_rng(0).normal(size=(5000, 8))
        y = (X[:, 0] > 0).astype(int)
        model = sp.RandomForestClassifier(5).fit(X[:500], y[:500])
        works = [
            lambda: sp.RandomForestClassifier(20, n_jobs=2).fit(X, y),
            lambda: sp.DecisionTreeClassifier(max_bins=None).fit(X, y),
            lambda: model.predict(X),
        ]

        def run(work, event):
            while True:
                work()
                event.set()

        started = [threading.Event() for _ in 2 * works]
        for work, event in zip(2 * works, started):
            threading.Thread(target=run, args=(work, event), daemon=True).start()
        for event in started:
            event.wait()
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
