"""Gradient boosting on a Dask cluster of two processes, beside LightGBM's and XGBoost's.

    python -m benchmarks.distributed [--rows 400000] [--trees 20] [--repeats 3] [--limit 180]

For each library, in turns: seconds of a fit by the clock and of the processor (client with its scheduler,
workers), bytes that were moved between processes, peak memory of workers; then what happens when a worker is
killed in the middle of a fit: it ends, raises an error, or has not ended after so many seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

LIBRARIES = ("spinney", "lightgbm", "xgboost")
N_COLUMNS = 28


def make_model(library: str, n_trees: int, client: object):
    if library == "spinney":
        from spinney.distributed import DaskGradientBoostingClassifier

        return DaskGradientBoostingClassifier(
            n_estimators=n_trees, preset="classic", early_stopping=False, random_state=0, client=client
        )
    if library == "lightgbm":
        from lightgbm import DaskLGBMClassifier

        return DaskLGBMClassifier(n_estimators=n_trees, num_leaves=31, verbose=-1, client=client)
    from xgboost.dask import DaskXGBClassifier

    model = DaskXGBClassifier(
        n_estimators=n_trees, max_leaves=31, max_depth=0, grow_policy="lossguide", tree_method="hist"
    )
    model.client = client
    return model


def peak_memory() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def processor_seconds() -> float:
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def bytes_moved() -> int:
    """Return the bytes that were sent between processes of this machine so far; Linux counts them."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    (counts,) = (line.split(":")[1].split() for line in lines if line.strip().startswith("lo:"))
    return int(counts[0])


def run_one(library: str, n_rows: int, n_trees: int, kill_after: float | None) -> dict[str, object]:
    """Fit in this process; kill a worker so many seconds after the fit began."""
    import dask.array as da

    from distributed import Client, LocalCluster, wait

    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n_rows, N_COLUMNS), dtype=np.float32)
        y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.standard_normal(n_rows) > 0).astype(np.int32)
        step = n_rows // 4
        Xd, yd = (da.from_array(a, chunks=(step, *a.shape[1:])).persist() for a in (X, y))
        wait([Xd, yd])
        make_model(library, 1, client).fit(Xd, yd)  # imports
        pids = client.run(os.getpid)
        if kill_after is not None:
            threading.Timer(kill_after, os.kill, (next(iter(pids.values())), signal.SIGKILL)).start()
        before, own, moved = client.run(processor_seconds), processor_seconds(), bytes_moved()
        began = time.perf_counter()
        model = make_model(library, n_trees, client).fit(Xd, yd)
        seconds = time.perf_counter() - began
        found: dict[str, object] = {"seconds": round(seconds, 2)}
        if kill_after is None:
            found["client_cpu"] = round(processor_seconds() - own, 2)
            found["moved_mb"] = round((bytes_moved() - moved) / 1e6, 1)
            after = client.run(processor_seconds)
            found["worker_cpu"] = [round(after[one] - before[one], 2) for one in before]
            found["worker_mb"] = list(client.run(peak_memory).values())
        if library == "spinney":
            found["traffic"] = vars(model.traffic_)
        return found


def run_apart(library: str, n_rows: int, n_trees: int, kill_after: float | None, limit: float) -> object:
    """Run in a process of its own, which is stopped with its workers at the limit."""
    command = [sys.executable, "-m", "benchmarks.distributed", "--one", library]
    command += ["--rows", str(n_rows), "--trees", str(n_trees)]
    command += [] if kill_after is None else ["--kill-after", str(kill_after)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"has not ended after {limit:.0f} s"
    lines = [line for line in out.splitlines() if line.startswith("{")]
    if process.returncode == 0 and lines:
        return json.loads(lines[-1])
    return "error: " + (errors.strip().splitlines() or ["none"])[-1][:150]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=180.0)
    parser.add_argument("--one", choices=LIBRARIES)
    parser.add_argument("--kill-after", type=float)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(run_one(args.one, args.rows, args.trees, args.kill_after)))
        return
    seconds = dict.fromkeys(LIBRARIES, 10.0)
    for _ in range(args.repeats):
        for library in LIBRARIES:
            whole = run_apart(library, args.rows, args.trees, None, args.limit)
            print(library, "whole:", whole, flush=True)
            seconds[library] = whole["seconds"] if isinstance(whole, dict) else seconds[library]
    for library in LIBRARIES:
        killed = run_apart(library, args.rows, args.trees, seconds[library] / 2, args.limit)
        print(library, "a worker killed:", killed, flush=True)


if __name__ == "__main__":
    main()
