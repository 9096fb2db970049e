"""Times of every learner beside its peers over many tables, so that no choice can be tuned to one of them.

    python -m benchmarks.tables run OUT.jsonl [--data FOLDER] [--threads N ...] [--seed S] [--jobs A,B]
    python -m benchmarks.tables page OUT.jsonl [...] [--write]
    python -m benchmarks.tables all [--data FOLDER]

Tables are drawn from a seed (`benchmarks.drawn_tables`); where FOLDER holds real ones (see
`benchmarks.quality`), 32 of them are measured too: 16 of the half to develop on and 16 of the sealed one,
chosen by a hash of their names. Gradient boosting has equal rounds, leaves, bins, learning rate and λ in all
libraries. Peers alternate with Spinney; what is kept is the median. On one thread the ratio is that of
processor time, which other programs on the machine hardly change, with more threads that of elapsed time.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.drawn_tables import draw_specs, draw_table
from benchmarks.quality import Listed, half_of, list_tables, read_table

N_DRAWN, N_REAL, MIN_REAL_ROWS = 18, 32, 300
MAX_TRAIN, MAX_TEST = 60_000, 20_000
SETTINGS = {"learning_rate": 0.1, "n_estimators": 50}
N_LEAVES, L2, MIN_LEAF = 31, 1.0, 20
N_TREES, FOREST_ROWS, STUMPS, STUMP_ROWS = 20, 8_000, 50, 10_000
MAX_REPEATS, ENOUGH_SECONDS = 5, 1.0


@dataclass
class Case:
    """A table, divided into rows to learn from and rows to predict."""

    name: str
    half: str  # "drawn", "development" or "sealed"
    task: str  # "binary", "multi", "reg" or "counts"
    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]
    n_threads: int = 1

    @property
    def classifies(self) -> bool:
        return self.task in ("binary", "multi")

    @property
    def n_classes(self) -> int:
        return len(np.unique(self.y)) if self.classifies else 1

    @property
    def rounds(self) -> int:
        """Fewer rounds where the table is large or has many classes: the page must not take all day."""
        trees = max(1, self.n_classes if self.n_classes > 2 else 1)
        cost = trees * (self.X.shape[0] * self.X.shape[1] * 4e-9 + self.X.shape[1] * 2e-5 + 1e-4)
        return int(np.clip(1.0 / cost, 10, SETTINGS["n_estimators"]))

    def rows(self, n: int) -> Case:
        """Return the case with at most n rows to learn from, and numbers as scikit-learn takes them."""
        X, X_test = (_as_matrix(part) for part in (self.X[:n], self.X_test))
        y, y_test = self.y[:n], self.y_test
        return Case(self.name, self.half, self.task, X, y, X_test, y_test, self.n_threads)


def _as_matrix(X: Any) -> Any:
    """Return numbers: a category is its code."""
    if isinstance(X, pd.DataFrame):
        columns = [
            X[name].cat.codes.where(X[name].cat.codes >= 0) if X[name].dtype == "category" else X[name]
            for name in X.columns
        ]
        return np.column_stack([column.to_numpy(np.float32, na_value=np.nan) for column in columns])
    return X.astype(np.float32) if sparse.issparse(X) else np.asarray(X, np.float32)


# ---- the tables ----


def cases(folder: Path | None, n_drawn: int, n_real: int, seed: int, names: str) -> Iterator[Case]:
    """Yield the tables one by one, small ones first among the drawn."""
    wanted = set(filter(None, names.split(",")))
    for spec in draw_specs(n_drawn, seed)[::-1] if n_drawn else []:
        if not wanted or spec.name in wanted:
            X, y = draw_table(spec)
            yield Case(
                spec.name, "drawn", spec.task, X[: spec.n_rows], y[: spec.n_rows],
                X[spec.n_rows :], y[spec.n_rows :],
            )  # fmt: skip
    if folder is not None:
        for name, table in _choose_real(folder, n_real, wanted).items():
            yield _real_case(name, table.path, table.task)


def _choose_real(folder: Path, n_real: int, wanted: set[str]) -> dict[str, Listed]:
    """Choose as many of either half, by another hash of their names than the one that divides them."""
    tables = list_tables(folder, "all")
    if wanted:
        return {name: tables[name] for name in tables if name in wanted}
    out = {}
    for half in ("development", "sealed"):
        names = sorted(
            (name for name in tables if half_of(name) == half and tables[name].n_rows >= MIN_REAL_ROWS),
            key=lambda name: sha256(f"speed {name}".encode()).digest(),
        )
        out |= {name: tables[name] for name in names[: n_real // 2]}
    return out


def _real_case(name: str, path: Path, task: str) -> Case:
    is_classification = not task.startswith("reg")
    X, y = read_table(path, is_classification)
    draw = np.random.default_rng(0)
    order = draw.permutation(len(X))
    n = min(MAX_TRAIN, round(0.75 * len(X)))
    train, test = order[:n], order[n : n + MAX_TEST]
    if is_classification:  # codes without gaps, and no class that is not learnt
        known = np.unique(y[train])
        test = test[np.isin(y[test], known)]
        y = np.searchsorted(known, y)
    kind = "reg" if not is_classification else "binary" if y[train].max() == 1 else "multi"
    X.columns = [f"x{j}" for j in range(X.shape[1])]
    X_all = X if (X.dtypes == "category").any() else X.to_numpy(np.float64)

    def take(rows: NDArray[np.intp]) -> Any:
        return X_all.iloc[rows].reset_index(drop=True) if isinstance(X_all, pd.DataFrame) else X_all[rows]

    return Case(name, half_of(name), kind, take(train), y[train], take(test), y[test])


# ---- gradient boosting ----


def boost_spinney(case: Case) -> Any:
    """Fit Spinney as LightGBM grows its trees."""
    import spinney

    loss = {"counts": "poisson", "reg": "squared_error"}.get(case.task, "log_loss")
    make = spinney.GradientBoostingClassifier if case.classifies else spinney.GradientBoostingRegressor
    model = make(
        loss=loss,
        preset="classic",
        early_stopping=False,
        max_leaf_nodes=N_LEAVES,
        l2_regularization=L2,
        min_samples_leaf=MIN_LEAF,
        random_state=0,
        n_jobs=case.n_threads,
        **SETTINGS | {"n_estimators": case.rounds},
    )
    return model.fit(case.X, case.y)


def boost_lightgbm(case: Case, **options: Any) -> Any:
    """Fit LightGBM."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    if case.task == "counts":
        options["objective"] = "poisson"
    make = LGBMClassifier if case.classifies else LGBMRegressor
    model = make(
        num_leaves=N_LEAVES,
        reg_lambda=L2,
        min_child_samples=MIN_LEAF,
        random_state=0,
        n_jobs=case.n_threads,
        verbose=-1,
        **SETTINGS | {"n_estimators": case.rounds} | options,
    )
    return model.fit(case.X, case.y)


def boost_xgboost(case: Case) -> Any:
    """Fit XGBoost's histograms, leaf-wise."""
    from xgboost import XGBClassifier, XGBRegressor

    options = {"objective": "count:poisson"} if case.task == "counts" else {}
    make = XGBClassifier if case.classifies else XGBRegressor
    model = make(
        tree_method="hist",
        grow_policy="lossguide",
        max_leaves=N_LEAVES,
        max_depth=0,
        reg_lambda=L2,
        enable_categorical=True,
        random_state=0,
        n_jobs=case.n_threads,
        **SETTINGS | {"n_estimators": case.rounds} | options,
    )
    return model.fit(case.X, case.y)


def boost_catboost(case: Case) -> Any:
    """Fit CatBoost's symmetric trees, for prediction: tables of numbers only."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    small = case.rows(2_000)
    make = CatBoostClassifier if case.classifies else CatBoostRegressor
    model = make(
        depth=5,
        thread_count=case.n_threads,
        verbose=0,
        allow_writing_files=False,
        random_seed=0,
        **{"learning_rate": 0.1, "iterations": case.rounds},
    )
    return model.fit(small.X, small.y)


# ---- the other learners, beside scikit-learn ----


def _pair(kind: str, case: Case) -> tuple[Any, Any]:
    """Return Spinney's class and scikit-learn's."""
    import sklearn.ensemble
    import sklearn.tree

    import spinney

    name = kind + ("Classifier" if case.classifies else "Regressor")
    return getattr(spinney, name), getattr(sklearn.tree if "Decision" in name else sklearn.ensemble, name)


def fit_trees(kind: str, side: int, case: Case) -> Any:
    """Fit one tree, a forest or AdaBoost: side 0 is Spinney, 1 scikit-learn."""
    options: dict[str, Any] = {"random_state": 0}
    if kind in ("RandomForest", "ExtraTrees"):
        options |= {"n_estimators": N_TREES, "n_jobs": case.n_threads}
    elif kind == "AdaBoost":
        options |= {"n_estimators": STUMPS} | ({"n_jobs": case.n_threads} if side == 0 else {})
    elif side == 0:
        options |= {"n_jobs": case.n_threads}
    return _pair(kind, case)[side](**options).fit(case.X, case.y)


Fit = Callable[[Case], Any]
BOOSTERS: dict[str, Fit] = {
    "Spinney": boost_spinney,
    "LightGBM": boost_lightgbm,
    "LightGBM quantised": partial(boost_lightgbm, use_quantized_grad=True),
    "XGBoost": boost_xgboost,
}


def _beside_scikit_learn(kind: str) -> dict[str, Fit]:
    return {"Spinney": partial(fit_trees, kind, 0), "scikit-learn": partial(fit_trees, kind, 1)}


# The most rows to learn from, and the contenders.
JOBS: dict[str, tuple[int | None, dict[str, Fit]]] = {
    "boosting": (None, BOOSTERS),
    "random forest": (FOREST_ROWS, _beside_scikit_learn("RandomForest")),
    "extra-trees": (FOREST_ROWS, _beside_scikit_learn("ExtraTrees")),
    "tree": (FOREST_ROWS, _beside_scikit_learn("DecisionTree")),
    "AdaBoost": (STUMP_ROWS, _beside_scikit_learn("AdaBoost")),
}


def suits(job: str, case: Case) -> bool:
    """Whether a learner takes a table, and the peer does not take minutes."""
    if job == "AdaBoost":  # scikit-learn's takes no missing values; a stump separates few of many classes
        whole = not sparse.issparse(case.X) and not pd.isna(pd.DataFrame(case.X)).any(axis=None)
        return case.task == "binary" and whole and case.X.shape[1] <= 100
    return job == "boosting" or case.X.shape[1] <= 500


# ---- measuring ----


def alternate(
    contenders: dict[str, Callable[[], Any]],
) -> tuple[dict[str, tuple[float, float]], dict[str, Any]]:
    """Run the contenders in turn; return median elapsed and processor seconds, and what they returned."""
    clocks: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    results: dict[str, Any] = {}
    begin = time.perf_counter()
    for repeat in range(MAX_REPEATS + 1):
        for name, run in contenders.items():
            gc.collect()
            start, start_cpu = time.perf_counter(), time.process_time()
            results[name] = run()
            clocks[name].append((time.perf_counter() - start, time.process_time() - start_cpu))
        if time.perf_counter() - begin > ENOUGH_SECONDS * len(contenders) and repeat:
            break
    kept = {name: runs[1:] for name, runs in clocks.items()}  # the first loads code and memory
    medians = {
        name: (statistics.median(w for w, _ in runs), statistics.median(c for _, c in runs))
        for name, runs in kept.items()
    }
    return medians, results


def loss_of(case: Case, model: Any) -> float:
    """Return the log-loss, or the root mean squared error over the standard deviation of the test targets."""
    if case.classifies:
        proba = np.asarray(model.predict_proba(case.X_test), np.float64)
        return float(-np.log(np.clip(proba[np.arange(len(proba)), case.y_test], 1e-15, 1)).mean())
    error = np.asarray(model.predict(case.X_test)).ravel() - case.y_test
    return float(np.sqrt((error**2).mean()) / (case.y_test.std() or 1.0))


def measure(case: Case, job: str, level: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one learner on one table: for fitting, and for prediction."""
    limit, fits = JOBS[job]
    if limit:
        case = case.rows(limit)
    facts = {
        "table": case.name,
        "half": case.half,
        "task": case.task,
        "rows": case.X.shape[0],
        "columns": case.X.shape[1],
        "classes": case.n_classes,
        "rounds": case.rounds if job == "boosting" else 0,
        "threads": case.n_threads,
        "level": level,
    }
    seconds, models = alternate({name: partial(fit, case) for name, fit in fits.items()})
    losses = {name: loss_of(case, model) for name, model in models.items()}
    yield facts | {"job": job, "seconds": seconds, "loss": losses}
    if job in ("tree", "AdaBoost"):
        return
    if job == "boosting":
        del models["LightGBM quantised"]  # its trees are LightGBM's
        if isinstance(case.X, np.ndarray) and case.task != "counts" and find_spec("catboost"):
            models["CatBoost"] = boost_catboost(case)
    calls = {
        name: partial(model.predict_proba if case.classifies else model.predict, case.X_test)
        for name, model in models.items()
    }
    seconds, _ = alternate(calls)
    yield facts | {"job": f"{job}, prediction", "rows": case.X_test.shape[0], "seconds": seconds}


@click.group(help=__doc__)
def main() -> None:
    """Measure, or write the page."""


@main.command("run")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--threads", multiple=True, type=int, default=(1,))
@click.option("--seed", default=1, help="Of the drawn tables.")
@click.option("--drawn", default=N_DRAWN, help="Number of drawn tables.")
@click.option("--real", default=N_REAL, help="Number of real tables.")
@click.option("--half", default="", help="Only tables of one half.")
@click.option("--jobs", default=",".join(JOBS))
@click.option("--tables", default="", help="Names, with commas in between.")
def run_command(
    out: Path,
    data: Path | None,
    threads: tuple[int, ...],
    seed: int,
    drawn: int,
    real: int,
    half: str,
    jobs: str,
    tables: str,
) -> None:
    """Append measurements to OUT, one line per table, learner and number of threads."""
    from spinney.native import level

    warnings.simplefilter("ignore")
    for case in cases(data, drawn, real, seed, tables):
        if half and case.half != half:
            continue
        for n_threads in threads:
            case.n_threads = n_threads
            for job in jobs.split(","):
                if suits(job, case):
                    with out.open("a") as file:
                        for row in measure(case, job, level):
                            file.write(json.dumps(row) + "\n")
                            _show(row)


def _show(row: dict[str, Any]) -> None:
    clock = 1 if row["threads"] == 1 else 0
    seconds = {name: pair[clock] for name, pair in row["seconds"].items()}
    own = seconds.pop("Spinney")
    ratios = "  ".join(f"{name} {spent / own:.2f}" for name, spent in seconds.items())
    size = f"{row['rows']}×{row['columns']} {row['task']} {row['classes']}"
    line = f"{row['table']:24} {size:24} {row['job']:26} {row['threads']} {1e3 * own:9.2f} ms  {ratios}"
    print(line, flush=True)


@main.command("page")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--write", is_flag=True, help="Write TABLES.md instead of printing it.")
@click.option("--note", default="", help="What a reader has to know about this run.")
def page_command(paths: tuple[Path, ...], write: bool, note: str = "") -> None:
    """Report median, quartiles and the worst ratio, and every table's own."""
    from benchmarks.tables_page import PAGE, make_page

    rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    page = make_page(rows, note)
    if write:
        PAGE.write_text(page)
    else:
        print(page)


@main.command("all")
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--seed", default=1)
def all_command(data: Path | None, seed: int) -> None:
    """Measure on one, two and all threads, and some tables with AVX2 forced; then write the page."""
    n_cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    more = [f"--threads={n}" for n in sorted({min(2, n_cpus), n_cpus}) if n > 1]
    given = [f"--seed={seed}", *([f"--data={data}"] if data else [])]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "measured.jsonl"
        command = [sys.executable, "-m", "benchmarks.tables", "run", str(out), *given]
        subprocess.run([*command, "--threads=1"], check=True)
        if more:
            subprocess.run([*command, *more, "--drawn=9", "--real=16"], check=True)
        avx2 = subprocess.run(
            [*command, "--drawn=9", "--real=10", "--jobs=boosting,random forest"],
            check=False,
            env=os.environ | {"SPINNEY_VECTOR": "avx2"},
        )
        if avx2.returncode:
            print("without AVX2: `make build-all` compiles the core for it")
        page_command.callback((out,), write=True)  # type: ignore[misc]


if __name__ == "__main__":
    main()
