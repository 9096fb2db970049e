"""Test losses of every library at its own defaults, over many real tables.

    python -m benchmarks.quality run FOLDER OUT.jsonl [--half sealed] [--libraries "A;B"] [--splits N]
                                                      [--jobs 16] [--limit SECONDS] [--max-rows N]
    python -m benchmarks.quality report OUT.jsonl [...]

FOLDER holds one table per file (.csv.gz or .parquet, last column ``target``) and INDEX.md, whose ``task``
column says "binary", "multi(K)" or "reg". The tables are divided in two halves by a hash of their names:
parameters are developed on one half, and the other is opened to judge them. Every library sees the same rows:
at most 20,000 to train on, at most 20,000 others to test on. The loss is the log-loss, or the root mean
squared error over the standard deviation of the test targets. Every fit has a process of its own. Runs append
to OUT, and what is there already is not run again.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as RichTable
from scipy.stats import binomtest
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

from benchmarks.worker_processes import import_all, run_tasks

MAX_ROWS = 20_000
# Splits per table: pairs of a number of rows and the splits below it, else 1. One split of a small table has
# some dozens of test rows, and which library wins on them is partly chance.
N_SPLITS = ((2_000, 5), (10_000, 2))
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Split:
    """One division of a table into rows to train on and rows to test on."""

    table: str
    seed: int
    is_classification: bool
    X: pd.DataFrame
    y: NDArray[Any]
    X_test: pd.DataFrame
    y_test: NDArray[Any]
    n_threads: int = 2

    @property
    def categorical(self) -> list[str]:
        return [name for name in self.X.columns if self.X[name].dtype == "category"]


def half_of(name: str) -> str:
    """Return the half that a table belongs to: a hash of its name decides."""
    return "sealed" if hashlib.sha256(name.encode()).digest()[0] % 2 else "development"


class Listed(NamedTuple):
    """A table of the index: its file, task and number of rows."""

    path: Path
    task: str
    n_rows: int


def list_tables(folder: Path, half: str) -> dict[str, Listed]:
    """Return the tables of one half by name."""
    rows = re.findall(r"^\| (\w+) \|(.*)\|$", (folder / "INDEX.md").read_text(), re.MULTILINE)
    tables = {}
    for name, rest in rows:
        cells = [cell.strip() for cell in rest.split("|")]
        if (
            len(cells) > 7
            and cells[5].startswith(("binary", "multi", "reg"))
            and half in (half_of(name), "all")
        ):
            tables[name] = Listed(folder / cells[7], cells[5], int(cells[0]))
    return tables


def read_table(path: Path, is_classification: bool) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Read a table: text columns become categories, classes become codes, classes of one row are left out."""
    if path.suffix == ".parquet":
        frame = pd.read_parquet(path)
    else:
        frame = pd.read_csv(path, keep_default_na=False, na_values=[""], low_memory=False)
    frame = frame[frame["target"].notna()]
    target = frame.pop("target")
    if is_classification:
        counts = target.map(target.value_counts())
        frame, target = frame[counts > 1], target[counts > 1]
        y = pd.factorize(target, sort=True)[0]
    else:
        y = target.to_numpy(dtype=float)
    frame = frame.reset_index(drop=True)
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]) or frame[name].dtype == bool:
            frame[name] = frame[name].astype("str").where(frame[name].notna()).astype("category")
    return frame, y


def split_of(name: str, path: Path, task: str, seed: int, max_rows: int = MAX_ROWS) -> Split:
    """Return a split of a table, the same for every library."""
    is_classification = not task.startswith("reg")
    X, y = read_table(path, is_classification)
    n_test = min(MAX_ROWS, max(1, round(0.25 * len(X))))
    n_train = min(max_rows, len(X) - n_test)
    kind = StratifiedShuffleSplit if is_classification else ShuffleSplit
    n_classes = len(np.unique(y)) if is_classification else 0
    if is_classification and n_test < n_classes:
        n_test = n_classes
        n_train = min(n_train, len(X) - n_test)
    train, test = next(kind(1, train_size=n_train, test_size=n_test, random_state=seed).split(X, y))
    known = np.isin(y[test], y[train]) if is_classification else np.ones(len(test), bool)
    parts = []
    for rows in (train, test[known]):
        parts += [X.iloc[rows].reset_index(drop=True), y[rows]]
    return Split(name, seed, is_classification, parts[0], parts[1], parts[2], parts[3])


# ---- the libraries, each as its users call it ----

Predict = Callable[[pd.DataFrame], Floats]
Library = Callable[[Split], tuple[Predict, Any]]


def _proba_or_value(model: Any, is_classification: bool) -> Predict:
    return model.predict_proba if is_classification else model.predict


def spinney(split: Split, **params: Any) -> tuple[Predict, Any]:
    """Gradient boosting of Spinney."""
    import spinney as sp

    make = sp.GradientBoostingClassifier if split.is_classification else sp.GradientBoostingRegressor
    model = make(random_state=split.seed, n_jobs=split.n_threads, **params).fit(split.X, split.y)
    return _proba_or_value(model, split.is_classification), model


def catboost(split: Split, validation: bool = False, **params: Any) -> tuple[Predict, Any]:
    """CatBoost, text columns as categorical features; the test rows may be its validation rows."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    def as_text(X: pd.DataFrame) -> pd.DataFrame:
        return X.assign(
            **{name: X[name].astype("object").fillna("missing").astype(str) for name in split.categorical}
        )

    make = CatBoostClassifier if split.is_classification else CatBoostRegressor
    options = {
        "verbose": 0,
        "thread_count": split.n_threads,
        "random_seed": split.seed,
        "allow_writing_files": False,
    }
    model = make(cat_features=split.categorical, **options | params)
    held_out = (as_text(split.X_test), split.y_test) if validation else None
    model.fit(as_text(split.X), split.y, eval_set=held_out)
    predict = _proba_or_value(model, split.is_classification)
    return lambda X: predict(as_text(X)), model


def lightgbm(split: Split, **params: Any) -> tuple[Predict, Any]:
    """LightGBM, categories by their pandas type."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    make = LGBMClassifier if split.is_classification else LGBMRegressor
    plain = {name: f"c{i}" for i, name in enumerate(split.X.columns)}
    model = make(verbose=-1, n_jobs=split.n_threads, random_state=split.seed, **params)
    model.fit(split.X.rename(columns=plain), split.y)
    predict = _proba_or_value(model, split.is_classification)
    return lambda X: predict(X.rename(columns=plain)), model


def xgboost(split: Split, **params: Any) -> tuple[Predict, Any]:
    """XGBoost, categories by their pandas type."""
    from xgboost import XGBClassifier, XGBRegressor

    make = XGBClassifier if split.is_classification else XGBRegressor
    plain = {name: f"c{i}" for i, name in enumerate(split.X.columns)}
    model = make(enable_categorical=True, n_jobs=split.n_threads, random_state=split.seed, **params)
    model.fit(split.X.rename(columns=plain), split.y)
    predict = _proba_or_value(model, split.is_classification)
    return lambda X: predict(X.rename(columns=plain)), model


def _as_numbers(split: Split, max_levels: int) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return a function that replaces categories of more levels than a library takes by their codes."""
    many = [name for name in split.categorical if len(split.X[name].cat.categories) > max_levels]

    def convert(X: pd.DataFrame) -> pd.DataFrame:
        codes = {name: X[name].cat.codes.where(X[name].cat.codes >= 0).astype(float) for name in many}
        return X.assign(**codes)

    return convert


def hist_gradient_boosting(split: Split, **params: Any) -> tuple[Predict, Any]:
    """scikit-learn's HistGradientBoosting; columns of more than 255 levels as codes."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    convert = _as_numbers(split, 254)
    make = HistGradientBoostingClassifier if split.is_classification else HistGradientBoostingRegressor
    with threadpool_limits(split.n_threads):
        model = make(random_state=split.seed, **params).fit(convert(split.X), split.y)
    predict = _proba_or_value(model, split.is_classification)
    return lambda X: predict(convert(X)), model


def random_forest(split: Split, **params: Any) -> tuple[Predict, Any]:
    """scikit-learn's random forest on codes, missing values as they are."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    convert = _as_numbers(split, 0)
    make = RandomForestClassifier if split.is_classification else RandomForestRegressor
    model = make(n_jobs=split.n_threads, random_state=split.seed, **params).fit(convert(split.X), split.y)
    predict = _proba_or_value(model, split.is_classification)
    return lambda X: predict(convert(X)), model


LIBRARIES: dict[str, Library] = {
    "Spinney": spinney,
    "CatBoost": catboost,
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "HistGradientBoosting": hist_gradient_boosting,
    "RandomForest": random_forest,
    "Spinney, strong": partial(spinney, preset="strong"),
}

MODULES = ("spinney", "catboost", "lightgbm", "xgboost", "sklearn.ensemble")
AT_DEFAULTS = [name for name in LIBRARIES if name != "Spinney, strong"]

# ---- measuring ----


def loss_of(split: Split, predicted: Floats) -> float:
    """Return the log-loss, or the root mean squared error over the standard deviation of the test targets."""
    if split.is_classification:
        chosen = np.asarray(predicted, np.float64)[np.arange(len(predicted)), _codes_in(split)]
        return float(-np.log(np.clip(chosen, 1e-15, 1)).mean())
    spread = split.y_test.std() or 1.0
    return float(np.sqrt(((np.asarray(predicted).ravel() - split.y_test) ** 2).mean()) / spread)


def _codes_in(split: Split) -> NDArray[np.intp]:
    return np.searchsorted(np.unique(split.y), split.y_test)


def calibration_error(split: Split, predicted: Floats, n_bins: int = 15) -> float:
    """Return the expected calibration error of the predicted class (Guo et al. 2017)."""
    confidence, right = predicted.max(axis=1), predicted.argmax(axis=1) == _codes_in(split)
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    gaps = [
        abs(confidence[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean()
        for b in np.unique(bins)
    ]
    return float(np.sum(gaps))


def measure(split: Split, library: Library) -> dict[str, Any]:
    """Fit and test one library on one split."""
    # XGBoost takes classes as codes without gaps.
    y = np.searchsorted(np.unique(split.y), split.y) if split.is_classification else split.y
    begin, begin_cpu = time.perf_counter(), time.process_time()
    predict, _ = library(replace(split, y=y))
    row = {"fit": time.perf_counter() - begin, "cpu": time.process_time() - begin_cpu}
    begin = time.perf_counter()
    predicted = predict(split.X_test)
    row |= {"predict": time.perf_counter() - begin, "loss": loss_of(split, predicted)}
    if split.is_classification:
        row["calibration"] = calibration_error(split, predicted)
    return row


@dataclass(frozen=True)
class Plan:
    """What is measured, and how.

    Attributes
    ----------
    libraries : dict
        Libraries by name.
    n_splits : int or None
        Number of splits per table; None for several on small tables, see `N_SPLITS`.
    max_rows : int
        Number of training rows at most.
    n_threads, jobs : int
        Number of threads of each fit, and of fits at a time.
    limit : float or None
        Seconds after which a fit is ended.
    """

    libraries: dict[str, Library]
    n_splits: int | None = 1
    max_rows: int = MAX_ROWS
    n_threads: int = 1
    jobs: int = 1
    limit: float | None = None

    def splits_of(self, table: Listed) -> int:
        """Return the number of splits of a table."""
        if self.n_splits is not None:
            return self.n_splits
        return next((n for limit, n in N_SPLITS if table.n_rows < limit), 1)


def append_row(out: Path, row: dict[str, Any]) -> None:
    """Write one measurement at the end of a file."""
    with out.open("a") as file:
        file.write(json.dumps(row) + "\n")


@dataclass(frozen=True)
class Fit:
    """One library on one split of a table; a call measures it and writes the result."""

    table: str
    path: Path
    task: str
    seed: int
    name: str
    plan: Plan
    out: Path

    @property
    def row(self) -> dict[str, Any]:
        """What is known before the fit."""
        return {"table": self.table, "task": self.task, "seed": self.seed, "library": self.name}

    def __call__(self) -> None:
        warnings.simplefilter("ignore")
        split = split_of(self.table, self.path, self.task, self.seed, self.plan.max_rows)
        split, row = replace(split, n_threads=self.plan.n_threads), self.row | {"rows": len(split.X)}
        try:
            row |= measure(split, self.plan.libraries[self.name])
        except Exception as error:  # a library that fails on a table is reported, not hidden
            row |= {"error": f"{type(error).__name__}: {error}"[:200]}
        append_row(self.out, row)


def run_all(tables: dict[str, Listed], plan: Plan, out: Path) -> None:
    """Measure what is not in the file yet.

    Small tables come first, or last where several fits run at a time; libraries alternate on each split.
    """
    done = {(row["table"], row["seed"], row["library"]) for row in read_rows([out])}
    ordered = sorted(tables.items(), key=lambda item: item[1].path.stat().st_size, reverse=plan.jobs > 1)
    fits = [
        Fit(name, table.path, table.task, seed, library, plan, out)
        for name, table in ordered
        for seed in range(plan.splits_of(table))
        for library in plan.libraries
        if (name, seed, library) not in done
    ]
    import_all(MODULES)
    run_tasks(fits, plan.jobs, plan.limit, lambda fit, why: append_row(out, fit.row | {"error": why}))


def read_rows(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Read the measurements of some files."""
    return [json.loads(line) for path in paths if path.exists() for line in path.read_text().splitlines()]


# ---- reporting ----


def losses_by_table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return mean losses, one row per table and one column per library; splits that all libraries have."""
    frame = pd.DataFrame([row for row in rows if "loss" in row])
    wide = frame.pivot_table(index=["table", "seed"], columns="library", values="loss")
    return wide.dropna().groupby("table").mean()


def compare(losses: pd.DataFrame, ours: str, theirs: str) -> tuple[int, int, float]:
    """Return wins, tables, and the geometric mean of the loss ratio, each clipped to 0.5 … 2."""
    ratio = (losses[ours] + 1e-6) / (losses[theirs] + 1e-6)
    return int((ratio < 1).sum()), len(ratio), float(np.exp(np.log(ratio.clip(0.5, 2)).mean()))


@click.group(help=__doc__)
def main() -> None:
    """Run or report."""


@main.command("run")
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--half", default="development", type=click.Choice(["development", "sealed", "all"]))
@click.option("--libraries", "names", default=";".join(AT_DEFAULTS), help="Names, separated by semicolons.")
@click.option("--splits", default=None, type=int, help="Per table; by its number of rows if not given.")
@click.option("--tables", "chosen", default="", help="Names, separated by commas; all where empty.")
@click.option("--max-rows", default=MAX_ROWS, help="Number of training rows at most.")
@click.option("--threads", default=1, help="Threads of each fit.")
@click.option("--jobs", default=1, help="Fits at a time.")
@click.option("--limit", default=None, type=float, help="Seconds after which a fit is ended.")
def run_command(
    folder: Path,
    out: Path,
    half: str,
    names: str,
    splits: int | None,
    chosen: str,
    max_rows: int,
    threads: int,
    jobs: int,
    limit: float | None,
) -> None:
    """Measure libraries on the tables of one half."""
    known = list_tables(folder, half)
    tables = {name: known[name] for name in chosen.split(",")} if chosen else known
    libraries = {name: LIBRARIES[name] for name in names.split(";")}
    run_all(tables, Plan(libraries, splits, max_rows, threads, jobs, limit), out)


@main.command("report")
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--ours", default="Spinney")
def report_command(paths: tuple[Path, ...], ours: str) -> None:
    """Print losses per table, wins and mean ratios."""
    rows = read_rows(paths)
    losses, console = losses_by_table(rows), Console(width=160)
    table = RichTable("table", *losses.columns)
    for name, row in losses.iterrows():
        table.add_row(str(name), *(f"{value:.4f}" for value in row))
    console.print(table)
    frame = pd.DataFrame([row for row in rows if "loss" in row])
    means = frame.groupby("library")[["fit", "cpu", "calibration"]].agg(
        {"fit": "sum", "cpu": "sum", "calibration": "mean"}
    )
    ranks = losses.rank(axis=1).mean()
    for library in ranks.sort_values().index:
        wins, n, ratio = compare(losses, ours, library) if library != ours else (0, len(losses), 1.0)
        console.print(
            f"{library:22s} mean rank {ranks[library]:.2f}, fit {means.fit[library]:7.1f} s "
            f"(CPU {means.cpu[library]:7.1f} s), calibration error {means.calibration[library]:.4f}, "
            f"{ours} wins {wins} of {n}, ratio {ratio:.3f}, sign test p = {binomtest(wins, n).pvalue:.1g}"
        )
    _report_strata(losses, frame, ours, console)
    best = losses.drop(columns=ours).min(axis=1)
    worse = (losses[ours] / best).sort_values(ascending=False)
    console.print("More than 5 % worse than the best of the others:")
    for name, ratio in worse[worse > 1.05].items():
        console.print(f"  {name}: {ratio:.3f}, best {losses.loc[name].drop(ours).idxmin()}")


def _report_strata(losses: pd.DataFrame, frame: pd.DataFrame, ours: str, console: Console) -> None:
    """Print wins and ratios by task and by number of rows."""
    facts = frame.drop_duplicates("table").set_index("table").loc[losses.index]
    strata = {
        "two classes": facts["task"].str.startswith("binary"),
        "more classes": facts["task"].str.startswith("multi"),
        "regression": facts["task"].str.startswith("reg"),
        "fewer than 1,000 rows": facts["rows"] < 1000,
        "1,000 to 5,000 rows": facts["rows"].between(1000, 4999),
        "5,000 rows or more": facts["rows"] >= 5000,
    }
    others = [library for library in losses.columns if library != ours]
    table = RichTable("wins of tables, ratio", *others)
    for label, chosen in strata.items():
        results = [compare(losses[chosen], ours, library) for library in others]
        table.add_row(label, *(f"{wins} of {n}, {ratio:.3f}" for wins, n, ratio in results))
    console.print(table)


if __name__ == "__main__":
    main()
