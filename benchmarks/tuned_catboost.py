"""CatBoost tuned by random search beside Spinney's presets.

    python -m benchmarks.tuned_catboost FOLDER OUT.jsonl [--trials 30] [--seconds 120] [--jobs 16]
    python -m benchmarks.quality report OUT.jsonl --ours "Spinney, strong"

Tables, splits and losses are those of benchmarks.quality. The first trial has CatBoost's defaults, the others
are drawn from the search space of TabArena. Trials are compared by their loss on 20 % of the training rows,
which also stop them early; the best one is fitted again on all rows, with as many more rounds as there are
more rows.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.quality import (
    LIBRARIES,
    MAX_ROWS,
    Library,
    Plan,
    Predict,
    Split,
    catboost,
    list_tables,
    run_all,
)

VALIDATION, PATIENCE, MAX_ROUNDS = 0.2, 50, 1000


def draw_trial(rng: np.random.Generator) -> dict[str, Any]:
    """Draw parameters from the search space."""

    def log_uniform(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    return {
        "learning_rate": log_uniform(5e-3, 0.1),
        "bootstrap_type": "Bernoulli",
        "subsample": float(rng.uniform(0.7, 1.0)),
        "grow_policy": str(rng.choice(["SymmetricTree", "Depthwise"])),
        "depth": int(rng.integers(4, 9)),
        "colsample_bylevel": float(rng.uniform(0.85, 1.0)),
        "l2_leaf_reg": log_uniform(1e-4, 5.0),
        "leaf_estimation_iterations": round(log_uniform(1, 20)),
        "one_hot_max_size": round(log_uniform(8, 100)),
        "max_ctr_complexity": int(rng.integers(2, 6)),
    }


def held_out(split: Split) -> Split:
    """Return a split of the training rows alone: those of the trials, and those that judge them."""
    rows = np.arange(len(split.X))
    counts = np.bincount(split.y) if split.is_classification else np.array([len(rows)])
    strata = split.y if split.is_classification and counts[counts > 0].min() > 1 else None
    train, test = train_test_split(rows, test_size=VALIDATION, random_state=split.seed, stratify=strata)
    known = np.isin(split.y[test], split.y[train]) if split.is_classification else np.ones(len(test), bool)
    test = test[known]
    X = split.X
    return Split(
        split.table,
        split.seed,
        split.is_classification,
        X.iloc[train].reset_index(drop=True),
        split.y[train],
        X.iloc[test].reset_index(drop=True),
        split.y[test],
        split.n_threads,
    )


def tuned(split: Split, n_trials: int, seconds: float) -> tuple[Predict, Any]:
    """Fit the best of several trials; no trial begins after the given time."""
    inner, rng = held_out(split), np.random.default_rng(split.seed)
    best: tuple[float, int, dict[str, Any]] | None = None
    begin = time.perf_counter()
    for trial in range(n_trials):
        if trial and time.perf_counter() - begin > seconds:
            break
        params: dict[str, Any] = draw_trial(rng) if trial else {}
        stops = {"iterations": MAX_ROUNDS, "early_stopping_rounds": PATIENCE}
        _, model = catboost(inner, validation=True, **params | stops)
        loss = next(iter(model.get_best_score()["validation"].values()))
        if best is None or loss < best[0]:
            best = loss, model.tree_count_, params
    assert best is not None
    _, rounds, params = best
    n_rounds = max(1, round(rounds / (1 - VALIDATION)))
    if "learning_rate" not in params:  # of the trial with CatBoost's own
        params = {"learning_rate": _own_rate(inner)}
    return catboost(split, **params, iterations=n_rounds)


def _own_rate(split: Split) -> float:
    """Return the learning rate that CatBoost chooses for 1,000 rounds with a validation set."""
    _, model = catboost(split, validation=True, iterations=MAX_ROUNDS, early_stopping_rounds=1)
    return float(model.learning_rate_)


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--half", default="development", type=click.Choice(["development", "sealed", "all"]))
@click.option("--trials", default=30)
@click.option("--seconds", default=120.0, help="Time after which no trial of a table begins.")
@click.option("--splits", default=1)
@click.option("--max-rows", default=MAX_ROWS, help="Number of training rows at most.")
@click.option("--jobs", default=1, help="Fits at a time, one thread each.")
@click.option("--limit", default=None, type=float, help="Seconds after which a fit is ended.")
def main(
    folder: Path,
    out: Path,
    half: str,
    trials: int,
    seconds: float,
    splits: int,
    max_rows: int,
    jobs: int,
    limit: float | None,
) -> None:
    """Measure tuned CatBoost, and Spinney's presets, on the tables of one half."""
    libraries: dict[str, Library] = {
        "CatBoost, tuned": partial(tuned, n_trials=trials, seconds=seconds),
        **{name: LIBRARIES[name] for name in ("Spinney", "Spinney, strong")},
    }
    run_all(list_tables(folder, half), Plan(libraries, splits, max_rows, 1, jobs, limit), out)


if __name__ == "__main__":
    main()
