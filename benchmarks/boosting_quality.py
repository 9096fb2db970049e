"""Ask real tables whether boosting loses no more on test rows than scikit-learn's, for every loss of both.

    python -m benchmarks.boosting_quality FOLDER [name ...] [--splits N] [--rows N]

FOLDER holds one table a file (.csv.gz or .parquet) whose last column is ``target``. Both learners have 100
rounds, default parameters and no early stopping, and see the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import (
    log_loss,
    mean_absolute_error,
    mean_gamma_deviance,
    mean_pinball_loss,
    mean_poisson_deviance,
    mean_squared_error,
)
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

import spinney as sp

CLASSES = (
    "adult", "bank_marketing", "credit_default_30k", "magic_telescope", "electricity", "hmeq", "pendigits",
    "wall_robot", "waveform5000", "splice",
)  # fmt: skip
NUMBERS = (
    "california_housing_ocean", "bike_sharing_hour", "kin8nm", "cpu_act", "abalone", "diamonds", "bank32nh",
    "house_8L", "delta_elevators", "beijing_pm25",
)  # fmt: skip

Floats = NDArray[np.float64]
Metric = Callable[[Any, Any], float]
LOSSES: dict[str, tuple[dict[str, Any], Metric]] = {
    "squared_error": ({}, mean_squared_error),
    "absolute_error": ({}, mean_absolute_error),
    "quantile": ({"quantile": 0.8}, lambda y, p: float(mean_pinball_loss(y, p, alpha=0.8))),
    "poisson": ({}, mean_poisson_deviance),
    "gamma": ({}, mean_gamma_deviance),
}


def read(folder: Path, name: str, most_rows: int) -> tuple[pd.DataFrame, pd.Series]:
    """Read a table, its text columns as categories, in random order and not too long."""
    path = next(path for path in sorted(folder.iterdir()) if path.name.split(".")[0] == name)
    if path.suffix == ".parquet":
        frame = pd.read_parquet(path)
    else:
        frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
    frame = frame.sample(min(len(frame), most_rows), random_state=0).reset_index(drop=True)
    text = frame.select_dtypes(exclude="number").columns.difference(["target"])
    frame[text] = frame[text].astype("category")
    return frame.drop(columns="target"), frame["target"]


def compare_classes(X: pd.DataFrame, y: pd.Series, n_splits: int) -> Floats:
    """Return the test log-loss of Spinney's and of scikit-learn's boosting.  -> (n_splits, 2)"""
    found = []
    for seed in range(n_splits):
        parts = train_test_split(X, y.astype(str), test_size=0.25, stratify=y.astype(str), random_state=seed)
        X_train, X_test, y_train, y_test = parts
        learners = (
            sp.GradientBoostingClassifier(preset="classic", early_stopping=False, random_state=seed),
            HistGradientBoostingClassifier(early_stopping=False, random_state=seed),
        )
        fitted = [learner.fit(X_train, y_train) for learner in learners]
        found.append([log_loss(y_test, m.predict_proba(X_test), labels=m.classes_) for m in fitted])
    return np.array(found)


def compare_numbers(X: pd.DataFrame, y: pd.Series, loss: str, n_splits: int) -> Floats:
    """Return the test loss of both for one loss.  -> (n_splits, 2)"""
    params, metric = LOSSES[loss]
    found = []
    for seed in range(n_splits):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=seed)
        learners = (
            sp.GradientBoostingRegressor(
                loss, preset="classic", early_stopping=False, random_state=seed, **params
            ),
            HistGradientBoostingRegressor(loss=loss, early_stopping=False, random_state=seed, **params),
        )
        found.append([metric(y_test, learner.fit(X_train, y_train).predict(X_test)) for learner in learners])
    return np.array(found)


def standard_error(both: Floats) -> float:
    """Return the standard error of the ratio of mean losses: that of the paired differences, over the mean.

    Splits share rows, so the true one is somewhat larger.
    """
    if len(both) < 2:
        return float("nan")
    differences = both[:, 0] - both[:, 1]
    return float(differences.std(ddof=1) / np.sqrt(len(both)) / both[:, 1].mean())


def takes(loss: str, y: pd.Series) -> bool:
    """Return whether a loss takes these targets."""
    return bool({"poisson": (y >= 0).all(), "gamma": (y > 0).all()}.get(loss, True))


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("names", nargs=-1)
@click.option("--splits", default=3, help="How many random divisions into 75 % and 25 %.")
@click.option("--rows", default=20_000, help="The most rows of a table that are used.")
def main(folder: Path, names: tuple[str, ...], splits: int, rows: int) -> None:
    """Print the ratio of both test losses for each table and loss."""
    console, ratios, doubts = Console(), [], []
    table = Table("table", "loss", "Spinney", "scikit-learn", "ratio", "±")
    # One thread each: the comparison is of losses, and scikit-learn's threads wait actively for a free core.
    with threadpool_limits(1):
        for name in names or CLASSES + NUMBERS:
            X, y = read(folder, name, rows)
            classes = name in CLASSES or not pd.api.types.is_numeric_dtype(y)
            for loss in ["log_loss"] if classes else [loss for loss in LOSSES if takes(loss, y)]:
                both = compare_classes(X, y, splits) if classes else compare_numbers(X, y, loss, splits)
                ours, theirs = both.mean(axis=0)
                ratios.append(ours / theirs)
                doubts.append(standard_error(both))
                found = (f"{ours:.5g}", f"{theirs:.5g}", f"{ratios[-1]:.4f}", f"{doubts[-1]:.4f}")
                table.add_row(name, loss, *found)
    console.print(table)
    over = np.array(ratios) - 1.01
    console.print(
        f"{len(ratios)} comparisons of {splits} splits: median ratio {np.median(ratios):.4f}, "
        f"{np.sum(over > 0)} above 1.01, "
        f"{np.sum(over > 2 * np.array(doubts))} by more than two standard errors"
    )


if __name__ == "__main__":
    main()
