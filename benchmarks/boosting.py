"""The cases for gradient boosting: Spinney beside every peer, test loss beside time, and time by phase.

    python -m benchmarks.boosting [case ...] [--data FOLDER] [--peers NAMES] [--repeats N] [--phases] [--cpu]

Every library makes 100 rounds of 31 leaves (CatBoost 32) at a learning rate of 0.1 with up to 255 bins on two
threads, binning included. FOLDER holds ``covtype.parquet`` and ``acs_income.parquet`` with a last column
``target``; without it only the drawn tables are measured.

Where other programs want the same cores, threads that wait for each other by spinning take many times as long
as they should, and times say nothing. There --cpu measures what is left to measure: the processor time of
each library on one thread.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from benchmarks.data import Problem, normal_problem
from benchmarks.harness import Comparison, Contender, NotMeasuredError, Timed, compare, status_megabytes
from benchmarks.trees import N_JOBS, spinney

N_TREES, N_LEAVES, RATE = 100, 31, 0.1
SIZES = (1_000, 10_000, 50_000, 100_000, 500_000, 1_000_000)
REAL = ("covtype", "acs_income")
SHARE = 0.75  # of a real table, to learn from


_threads = [N_JOBS]


def n_jobs() -> int:
    """Return the number of threads that every library has."""
    return _threads[0]


# ---- the contenders ----


def fit_spinney(problem: Problem, **parameters: Any) -> Any:
    """Fit Spinney's booster."""
    settings = {"n_estimators": N_TREES, "max_leaf_nodes": N_LEAVES, "learning_rate": RATE}
    model = spinney(
        "GradientBoostingClassifier",
        preset="classic",
        early_stopping=False,
        random_state=0,
        n_jobs=n_jobs(),
        **settings,
        **parameters,
    )
    return model.fit(problem.X, problem.y)


def fit_lightgbm(problem: Problem, **parameters: Any) -> Any:
    """Fit LightGBM."""
    from lightgbm import LGBMClassifier

    settings = {"n_estimators": N_TREES, "num_leaves": N_LEAVES, "learning_rate": RATE, "random_state": 0}
    return LGBMClassifier(n_jobs=n_jobs(), verbose=-1, **settings, **parameters).fit(problem.X, problem.y)


def fit_xgboost(problem: Problem) -> Any:
    """Fit XGBoost with histograms, leaf by leaf as the others."""
    from xgboost import XGBClassifier

    model = XGBClassifier(
        tree_method="hist",
        grow_policy="lossguide",
        max_leaves=N_LEAVES,
        max_depth=0,
        n_estimators=N_TREES,
        learning_rate=RATE,
        enable_categorical=True,
        n_jobs=n_jobs(),
        random_state=0,
    )
    return model.fit(problem.X, problem.y)


def fit_catboost(problem: Problem) -> Any:
    """Fit CatBoost with its symmetric trees, which are its fastest."""
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(
        iterations=N_TREES,
        depth=5,
        learning_rate=RATE,
        thread_count=n_jobs(),
        verbose=0,
        allow_writing_files=False,
        random_seed=0,
    )
    return model.fit(problem.X, problem.y, cat_features=_categorical(problem))


def fit_scikit(problem: Problem) -> Any:
    """Fit scikit-learn's HistGradientBoosting, which takes no more than 255 categories."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    if any(problem.X[name].nunique() > 255 for name in _categorical(problem)):
        raise NotMeasuredError("takes no more than 255 categories")
    model = HistGradientBoostingClassifier(
        max_iter=N_TREES,
        max_leaf_nodes=N_LEAVES,
        learning_rate=RATE,
        early_stopping=False,
        categorical_features="from_dtype",
        random_state=0,
    )
    with threadpool_limits(n_jobs()):
        return model.fit(problem.X, problem.y)


FITS: dict[str, tuple[str, Callable[[Problem], Any]]] = {
    "spinney": ("Spinney", fit_spinney),
    "sampled": (
        "Spinney, sampling='mvs', subsample=0.3",
        lambda problem: fit_spinney(problem, sampling="mvs", subsample=0.3),
    ),
    "lightgbm": ("LightGBM", fit_lightgbm),
    "quantised": (
        "LightGBM, quantised gradients",
        lambda problem: fit_lightgbm(problem, use_quantized_grad=True),
    ),
    "xgboost": ("XGBoost hist", fit_xgboost),
    "catboost": ("CatBoost", fit_catboost),
    "scikit": ("scikit-learn HistGradientBoosting", fit_scikit),
}


def _categorical(problem: Problem) -> list[str]:
    if isinstance(problem.X, np.ndarray):
        return []
    return list(problem.X.select_dtypes("category").columns)


def test_loss(model: Any, problem: Problem) -> float:
    """Return the log-loss on rows not seen."""
    return float(log_loss(problem.y_test, model.predict_proba(problem.X_test)[:, 1]))


# ---- the tables ----


@cache
def table(case: str, folder: Path | None = None) -> Problem:
    """Return the table of a case: drawn, with so many rows, or a real one out of the folder."""
    if case not in REAL:
        return normal_problem(int(case))
    import pandas as pd

    if folder is None:
        raise NotMeasuredError(f"{case} needs --data")
    frame = pd.read_parquet(folder / f"{case}.parquet").sample(frac=1, random_state=0)
    y = frame.pop("target").to_numpy()
    y = (y == 2).astype(np.int64) if case == "covtype" else y.astype(np.int64)  # its most frequent class
    text = frame.select_dtypes(exclude="number").columns
    frame[text] = frame[text].astype("category")
    n = int(SHARE * len(frame))
    X = frame if len(text) else frame.to_numpy(np.float32)
    X_train, X_test = (X[:n], X[n:]) if isinstance(X, np.ndarray) else (X.iloc[:n], X.iloc[n:])
    return Problem(X_train, y[:n], X_test, y[n:])


# ---- measuring ----


def compare_boosting(
    case: str,
    names: Sequence[str] = tuple(FITS),
    repeats: int = 5,
    folder: Path | None = None,
    cpu: bool = False,
) -> Comparison:
    """Fit the libraries in turn; memory is that of a process for each, for OpenMP does not outlive a fork.

    With ``cpu`` times are those of the processor; they mean something on one thread only.
    """
    problem = table(case, folder)

    def contender(name: str) -> Contender:
        label, fit = FITS[name]

        def run() -> Any:
            begin = time.process_time()
            model = fit(problem)
            return Timed(time.process_time() - begin, model) if cpu else model

        return Contender(label, run, lambda model: test_loss(model, problem), memory=False)

    clock = "processor time, " if cpu else ""
    note = (
        f"{len(problem.y):,} × {problem.X.shape[1]}, {N_TREES} rounds × {N_LEAVES} leaves, learning rate "
        f"{RATE}, {n_jobs()} thread(s), {clock}binning included; the score is the log-loss: less is better"
    )
    given = problem.megabytes
    found = compare(
        f"boosting-{case}",
        [contender(name) for name in names],
        repeats=repeats,
        input_megabytes=given,
        note=note,
    )
    for name, measurement in zip(names, found.measurements, strict=True):
        if measurement.seconds:
            measurement.peak_megabytes = memory_of(name, case, folder)
    return found


def memory_of(name: str, case: str, folder: Path | None) -> float | None:
    """Return the memory that a fit takes on top of its table, in a process that has done nothing else."""
    command = [sys.executable, "-m", "benchmarks.boosting", case, "--memory", name]
    if folder is not None:
        command += ["--data", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return float(done.stdout) if done.returncode == 0 else None


def fit_and_peak(name: str, problem: Problem) -> float:
    """Fit few rows first, so that a library's own code is not counted; then give what the fit takes."""
    _, fit = FITS[name]
    fit(problem.head(1_000))
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark is now the present size
    before = status_megabytes("VmRSS")
    model = fit(problem)
    peak = status_megabytes("VmHWM") - before
    del model
    return peak


def phases(case: str, repeats: int, folder: Path | None = None) -> dict[str, float]:
    """Return the median seconds of each phase of Spinney's fit; what the core does not count is "other"."""
    from spinney.gradient_boosting import training_set as gradient_training
    from spinney.native import core

    problem = table(case, folder)
    runs: list[dict[str, float]] = []
    made: list[Any] = []
    seconds = {"bin": 0.0}
    original_booster, original_code = core.Booster, gradient_training.code_table

    def booster(*arguments: Any) -> Any:
        made.append(original_booster(*arguments))
        return made[-1]

    def code(*arguments: Any) -> Any:
        begin = time.perf_counter()
        matrix = original_code(*arguments)
        seconds["bin"] = time.perf_counter() - begin
        return matrix

    core.Booster, gradient_training.code_table = booster, code  # type: ignore[misc,assignment]
    try:
        for _ in range(repeats):
            begin = time.perf_counter()
            fit_spinney(problem)
            total = time.perf_counter() - begin
            times = {"bin": seconds["bin"], **made.pop().times}
            runs.append({**times, "other": total - sum(times.values()), "total": total})
    finally:
        core.Booster, gradient_training.code_table = original_booster, original_code  # type: ignore[misc]
    return {name: float(np.median([run[name] for run in runs])) for name in runs[0]}


CASES: dict[str, Callable[[], Comparison]] = {
    f"boosting-{n_rows}": (lambda n_rows=n_rows: compare_boosting(str(n_rows))) for n_rows in SIZES
}


@click.command(help=__doc__)
@click.argument("cases", nargs=-1)
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--peers", default=",".join(FITS), help="Which contenders, with commas in between.")
@click.option("--repeats", default=5)
@click.option("--phases", "by_phase", is_flag=True, help="Print Spinney's time by phase instead.")
@click.option("--cpu", is_flag=True, help="Measure the processor time of one thread: for busy machines.")
@click.option("--memory", default="", hidden=True, help="Print the memory that one contender's fit takes.")
def main(
    cases: tuple[str, ...],
    data: Path | None,
    peers: str,
    repeats: int,
    by_phase: bool,
    cpu: bool,
    memory: str,
) -> None:
    """Print one table for all cases."""
    from benchmarks.run import HEADINGS, table_row

    cases = cases or (*map(str, SIZES), *(REAL if data else ()))
    _threads[0] = 1 if cpu else N_JOBS
    if memory:
        print(fit_and_peak(memory, table(cases[0], data)))
        return
    console = Console(width=None if sys.stdout.isatty() else 160)
    for case in cases:
        if by_phase:
            found = phases(case, repeats, data)
            line = "  ".join(f"{name} {1e3 * seconds:.1f} ms" for name, seconds in found.items())
            console.print(f"{case}: {line}", highlight=False)
            continue
        comparison = compare_boosting(case, peers.split(","), repeats, data, cpu)
        shown = Table(*HEADINGS)
        for measurement in comparison.measurements:
            shown.add_row(*table_row(comparison, measurement))
        console.print(shown)
        console.print(f"{comparison.case}: {comparison.note}", highlight=False)


if __name__ == "__main__":
    main()
