"""Seconds of gradient boosting by number of rows and of threads, beside LightGBM: what each core adds.

    python -m benchmarks.scaling [--rows 1000,10000] [--threads 1,2,4] [--libraries NAMES] [--out FILE]

Drawn tables of 28 columns and two classes, 100 rounds of 31 leaves (50 rounds from a million rows on),
binning included. Every library has a process of its own for each number of threads, since thread pools of one
would wait in the way of the other; of several runs the median is kept. The table of results is printed, and
the phases of Spinney's core; FILE gets everything as JSON. Only NumPy, Spinney and LightGBM are needed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.data import Problem, normal_problem

N_ROWS = (1_000, 10_000, 100_000, 1_000_000)
THREADS = (1, 2, 4, 8, 16)
N_LEAVES, RATE = 31, 0.1
# No further run of a table is begun after so many seconds: the whole page is to take under four minutes.
ENOUGH_SECONDS, MAX_RUNS = 1.5, 9


def n_rounds(n_rows: int) -> int:
    """Return the number of rounds on a table."""
    return 100 if n_rows < 1_000_000 else 50


def fit_spinney(problem: Problem, n_threads: int) -> dict[str, float]:
    """Fit Spinney's booster; return the seconds by phase."""
    import spinney
    from spinney.native import core

    made: list[Any] = []
    original = core.Booster

    def booster(*arguments: Any) -> Any:
        made.append(original(*arguments))
        return made[-1]

    core.Booster = booster  # type: ignore[misc,assignment]
    try:
        spinney.GradientBoostingClassifier(
            preset="classic",
            early_stopping=False,
            n_estimators=n_rounds(len(problem.y)),
            max_leaf_nodes=N_LEAVES,
            learning_rate=RATE,
            random_state=0,
            n_jobs=n_threads,
        ).fit(problem.X, problem.y)
    finally:
        core.Booster = original  # type: ignore[misc]
    return dict(made[-1].times)


def fit_lightgbm(problem: Problem, n_threads: int, **options: Any) -> dict[str, float]:
    """Fit LightGBM by its own interface, which needs no other library."""
    import lightgbm

    settings = {"objective": "binary", "num_leaves": N_LEAVES, "learning_rate": RATE, "seed": 0}
    settings |= {"num_threads": n_threads, "verbose": -1} | options
    rows = lightgbm.Dataset(problem.X, problem.y, params=settings)
    lightgbm.train(settings, rows, n_rounds(len(problem.y)))
    return {}


def fit_quantised(problem: Problem, n_threads: int) -> dict[str, float]:
    """Fit LightGBM with quantised gradients."""
    return fit_lightgbm(problem, n_threads, use_quantized_grad=True)


FITS: dict[str, Callable[[Problem, int], dict[str, float]]] = {
    "Spinney": fit_spinney,
    "LightGBM": fit_lightgbm,
    "quantised": fit_quantised,
}


def measure(name: str, n_threads: int, rows: tuple[int, ...]) -> list[dict[str, Any]]:
    """Measure one library with one number of threads on every table, in this process."""
    fit = FITS[name]
    fit(normal_problem(500), n_threads)  # loads code, starts threads
    found = []
    for n in rows:
        problem = normal_problem(n)
        seconds, phases = [], []
        begin = time.perf_counter()
        while not seconds or (len(seconds) < MAX_RUNS and time.perf_counter() - begin < ENOUGH_SECONDS):
            start = time.perf_counter()
            phases.append(fit(problem, n_threads))
            seconds.append(time.perf_counter() - start)
        found.append(
            {
                "library": name,
                "threads": n_threads,
                "rows": n,
                "seconds": statistics.median(seconds),
                "best": min(seconds),
                "runs": len(seconds),
                "phases": {key: statistics.median(run[key] for run in phases) for key in phases[0]},
            }
        )
    return found


def measure_apart(name: str, n_threads: int, rows: tuple[int, ...]) -> list[dict[str, Any]]:
    """Measure in a process of its own; a library that is not there gives nothing."""
    command = [sys.executable, "-m", "benchmarks.scaling", "--one", name]
    command += ["--threads", str(n_threads), "--rows", ",".join(map(str, rows))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"{name}, {n_threads} threads: {reason}", file=sys.stderr)
        return []
    return list(json.loads(done.stdout.splitlines()[-1]))


def print_results(found: list[dict[str, Any]], rows: tuple[int, ...], threads: tuple[int, ...]) -> None:
    """Print seconds by rows and threads, LightGBM's times over Spinney's, and Spinney's phases."""
    seconds = {(r["library"], r["rows"], r["threads"]): r["seconds"] for r in found}
    print("seconds: " + " / ".join(FITS) + "; then LightGBM and quantised, as multiples of Spinney's time")
    for n in rows:
        for t in threads:
            times = [seconds.get((name, n, t)) for name in FITS]
            if times[0] is None:
                continue
            shown = " / ".join("-" if s is None else f"{s:.3f}" for s in times)
            ratios = "  ".join("-" if s is None else f"{s / times[0]:.2f}" for s in times[1:])
            print(f"{n:>9,} rows  {t:>2} threads  {shown:<24}  {ratios}")
    for r in found:
        if r["phases"]:
            parts = "  ".join(f"{name} {1e3 * s:.1f}" for name, s in r["phases"].items())
            print(f"{r['rows']:>9,} rows  {r['threads']:>2} threads  ms: {parts}")


def numbers(text: str) -> tuple[int, ...]:
    """Read whole numbers with commas in between."""
    return tuple(int(part) for part in text.split(","))


def main() -> None:
    """Measure everything, or one library with one number of threads."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=numbers, default=N_ROWS)
    parser.add_argument("--threads", type=numbers, default=THREADS)
    parser.add_argument("--libraries", default=",".join(FITS))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one, given.threads[0], given.rows)))
        return
    begin = time.perf_counter()
    found = []
    for t in given.threads:
        for name in given.libraries.split(","):
            found += measure_apart(name, t, given.rows)
    print_results(found, given.rows, given.threads)
    print(f"{time.perf_counter() - begin:.0f} s in all")
    if given.out:
        facts = {"machine": platform.machine(), "cpus": os.cpu_count(), "results": found}
        given.out.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
