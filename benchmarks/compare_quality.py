"""How good is the winner of `spinney.compare`, by hindsight?

    python -m benchmarks.compare_quality run FOLDER OUT.jsonl [--time 60] [--tables a,b] [--processor-time]
    python -m benchmarks.compare_quality report OUT.jsonl COMPARE.md

FOLDER is that of `benchmarks.quality`. The tables are chosen by a rule: those of its development half with
3,000 to 50,000 rows that no one looked at while the ranking was developed, in the order of a hash of their
names, the first ten. At most 3,000 rows are compared on, within the time budget; all other rows, at most
20,000, are the test rows. By hindsight, every learner that `compare` considered, skipped for lack of time or
not, and its ensemble are fitted to the same rows and scored on the test rows. Learners are ranked and judged
by the log-loss, or the root mean squared error.
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from benchmarks.quality import list_tables, read_table

USED_BEFORE = (
    "california_housing", "credit_g_german", "qsar_biodeg", "hmeq",
    "electricity", "bike_sharing_hour", "waveform5000", "optdigits", "avila",
    "mammography", "delta_ailerons", "nursery", "spambase", "house_8L",
    "higgs_11k", "pol", "mushroom", "elevators", "poker_25k", "amazon_employee_access",
    "splice", "page_blocks", "cpu_act", "bank_marketing", "letter",
    "pendigits", "beijing_pm25", "kr_vs_kp", "jm1", "2dplanes",
)  # fmt: skip
"""Tables that were looked at already: while the ranking was developed, or in a run of this program."""
N_TABLES = 10
N_ROWS = (3_000, 50_000)
MAX_TRAIN, MAX_TEST = 3_000, 20_000
MARGIN = 0.01
FLOOR = 0.001
"""Log-losses below this count as this: tables that are predicted without error have no best learner."""


def count_processor_time() -> None:
    """Let the budget of `compare` count processor time, for a machine that has other work to do."""
    from spinney.model_selection import budget, cross_validation, race

    for module in (budget, cross_validation, race):
        module.perf_counter = time.process_time  # type: ignore[attr-defined]


def choose_tables(folder: Path) -> list[str]:
    """Return the names of the tables by the rule of this module."""
    tables = list_tables(folder, "development")
    fitting = [
        name
        for name, table in tables.items()
        if name not in USED_BEFORE and N_ROWS[0] <= table.n_rows <= N_ROWS[1]
    ]
    return sorted(fitting, key=lambda name: hashlib.sha256(f"compare {name}".encode()).digest())[:N_TABLES]


def run_table(folder: Path, name: str, seconds: float, n_jobs: int | None = None) -> dict[str, Any]:
    """Compare on one table, and score every candidate on the test rows."""
    import spinney
    from spinney.model_selection.learners import find_learner
    from spinney.model_selection.metrics import default_metric, find_metric

    path, kind, _ = list_tables(folder, "development")[name]
    task: Any = "regression" if kind.startswith("reg") else "classification"
    X, y = read_table(path, task == "classification")
    order = np.random.default_rng(0).permutation(len(X))
    n_train = min(len(X) // 2, MAX_TRAIN)
    train, test = order[:n_train], order[n_train : n_train + MAX_TEST]
    test = test[np.isin(y[test], y[train])] if task == "classification" else test
    loss = "rmse" if task == "regression" else "log_loss"
    found = spinney.compare(X.iloc[train], y[train], scoring=loss, task=task, time=seconds, n_jobs=n_jobs)
    judges = [find_metric(one, task) for one in (loss, default_metric(task, len(np.unique(y[train]))))]
    candidates = {entry.name: entry.estimator for entry in found.entries}
    for other, why in found.skipped.items():
        if why == "no time left":
            candidates[other] = find_learner(other).make(task)
    scores = {}
    for label, estimator in candidates.items():
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores[label] = _score(estimator, X, y, train, test, judges, n_jobs)
        click.echo(f"  {label} {scores[label]} {time.process_time() - begin:.1f} s", err=True)
    return {
        "table": name, "task": kind, "n_train": n_train, "n_test": len(test),
        "metrics": [m.name for m in judges],
        "budget": seconds, "seconds": found.seconds, "n_folds": found.n_folds,
        "ranking": [[entry.name, entry.score, len(entry.scores[loss])] for entry in found.entries],
        "n_rows_used": found.n_rows_used, "notes": {entry.name: entry.note for entry in found.entries},
        "skipped": found.skipped, "test": scores,
    }  # fmt: skip


def _score(
    estimator: Any, X: pd.DataFrame, y: Any, train: Any, test: Any, judges: Any, n_jobs: int | None
) -> list[float]:
    from spinney.members.fitting import fit_member
    from spinney.model_selection.metrics import predict_all
    from spinney.model_selection.problem import seeded_copy

    try:
        model = fit_member(seeded_copy(estimator, 0, n_jobs), X.iloc[train], y[train], None)
        predicted = predict_all(model, X.iloc[test], getattr(model, "classes_", None))
    except (ValueError, MemoryError, ArithmeticError) as error:
        click.echo(f"  failed: {error}", err=True)
        return [float("nan")] * len(judges)
    return [float(metric(y[test], predicted, None)) for metric in judges]


# ---- the page ----


def judge(run: dict[str, Any]) -> dict[str, Any]:
    """Return the winner, the best by hindsight, and how far the winner is behind."""
    winner = run["ranking"][0][0]
    losses = {name: values[0] for name, values in run["test"].items() if np.isfinite(values[0])}
    best = min(losses, key=losses.__getitem__)
    metric = run["metrics"][1]
    sign = -1 if metric == "rmse" else 1
    second = {name: values[1] for name, values in run["test"].items() if np.isfinite(values[1])}
    top = max(second.values(), key=lambda value: sign * value)
    floor = 0.0 if metric == "rmse" else FLOOR
    behind = max(losses[winner], floor) / max(losses[best], floor) - 1
    return {
        "table": run["table"], "winner": winner, "best": best, "loss": losses[winner],
        "best_loss": losses[best], "behind": behind, "metric": metric,
        "behind_metric": sign * (top - second[winner]) / abs(top), "seconds": run["seconds"],
        "budget": run["budget"], "skipped": [k for k, why in run["skipped"].items() if why == "no time left"],
    }  # fmt: skip


def page(runs: list[dict[str, Any]]) -> str:
    """Return the page of the results."""
    rows = [judge(run) for run in runs]
    n_within = sum(row["behind"] <= MARGIN for row in rows)
    n_metric = sum(row["behind_metric"] <= MARGIN for row in rows)
    n_train, budget = max(run["n_train"] for run in runs), runs[0]["budget"]
    rules = (
        "Written by `python -m benchmarks.compare_quality`, which has the rules: real tables chosen by a "
        f"hash of their names, at most {n_train:,} rows to compare on within {budget:g} seconds, and "
        f"the other rows (at most {MAX_TEST:,}) to judge. Every learner that was considered and the ensemble "
        "of the best are then fitted to the same rows, and their losses on the test rows are compared with "
        f"that of the winner; log-losses below {FLOOR:g} count as {FLOOR:g}."
    )
    verdict = (
        f"**The winner's loss is within {MARGIN:.0%} of that of the best learner on {n_within} of "
        f"{len(rows)} tables**; by the metric that `compare` ranks by unless told otherwise, the winner is "
        "within "
        f"{MARGIN:.0%} of the best on {n_metric}."
    )
    headings = (
        "table", "winner", "log-loss or RMSE", "best by hindsight", "its loss", "behind",
        "behind by default metric", "time (budget)", "not tried",
    )  # fmt: skip
    lines = ["# `compare` by hindsight", "", rules, "", verdict, "", "| " + " | ".join(headings) + " |"]
    lines.append("|---|---|--:|---|--:|--:|---|--:|---|")
    for row in rows:
        lines.append(
            f"| {row['table']} | {row['winner']} | {row['loss']:.4g} | {row['best']} | "
            f"{row['best_loss']:.4g} | {row['behind']:.1%} | {row['behind_metric']:.1%} ({row['metric']}) | "
            f"{row['seconds']:.0f} s ({row['budget']:g} s) | {', '.join(row['skipped']) or '–'} |"
        )
    return "\n".join(lines) + "\n"


@click.group()
def main() -> None:
    """Judge the winners of compare by hindsight."""


@main.command("run")
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--time", "seconds", default=60.0)
@click.option("--tables", default="", help="Names, separated by commas; the rule's ten if empty.")
@click.option(
    "--processor-time", is_flag=True, help="Count processor time instead of the clock, on one thread."
)
def run_command(folder: Path, out: Path, seconds: float, tables: str, processor_time: bool) -> None:
    """Run the tables that OUT does not have yet."""
    if processor_time:
        count_processor_time()
    done = {json.loads(line)["table"] for line in out.read_text().splitlines()} if out.exists() else set()
    for name in tables.split(",") if tables else choose_tables(folder):
        if name not in done:
            click.echo(name, err=True)
            record = run_table(folder, name, seconds, 1 if processor_time else None)
            with out.open("a") as stream:
                stream.write(json.dumps(record) + "\n")
            shown = judge(record)
            click.echo(f"{name}: {shown['winner']} {shown['behind']:+.2%} behind {shown['best']}", err=True)


@main.command("report")
@click.argument("results", type=click.Path(path_type=Path, exists=True))
@click.argument("target", type=click.Path(path_type=Path))
def report_command(results: Path, target: Path) -> None:
    """Write the page of results."""
    target.write_text(page([json.loads(line) for line in results.read_text().splitlines()]))


if __name__ == "__main__":
    main()
