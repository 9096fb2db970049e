"""Ask real tables whether Spinney's forests are as good as scikit-learn's, and what out of bag is worth.

    python -m benchmarks.forest_quality FOLDER [name ...]

FOLDER holds one table a file (.csv.gz or .parquet) whose last column is ``target``. Text is coded and gaps
are filled before either library sees the table, so that both learn from the same numbers, with the same
parameters. Differences are paired over seeds, each of which divides the rows and grows the forests anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from scipy import stats
from sklearn import ensemble
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import spinney as sp

CLASSES = (
    "credit_g_german", "diabetes_pima", "vehicle", "segment", "vowel", "spambase", "magic_telescope",
    "pendigits", "waveform5000", "page_blocks", "adult", "electricity",
)  # fmt: skip
NUMBERS = (
    "abalone", "boston_housing", "kin8nm", "cpu_act", "elevators", "california_housing", "bike_sharing_hour",
    "house_8L", "puma32H", "stock",
)  # fmt: skip
MOST_ROWS = 12_000


def read(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Read a table as numbers, at most MOST_ROWS of its rows drawn once."""
    path = next(folder.glob(f"{name}.*"))
    options = {"keep_default_na": False, "na_values": [""]}
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, **options)
    frame = frame.sample(min(MOST_ROWS, len(frame)), random_state=0)
    X, y = frame.drop(columns="target"), frame["target"]
    for column in X.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes]]:
        X[column] = X[column].astype("category").cat.codes
    X = X.astype(np.float64).fillna(X.median(numeric_only=True))
    return X.to_numpy(), y.to_numpy() if name in NUMBERS else y.astype("category").cat.codes.to_numpy()


def measures(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """The errors of a forest: misclassified and log-loss, or root mean square in standard deviations."""
    if not hasattr(model, "predict_proba"):
        return {"rmse": float(np.sqrt(np.mean((model.predict(X) - y) ** 2)) / y.std())}
    shares = np.clip(model.predict_proba(X), 1e-3, 1.0)
    shares /= shares.sum(axis=1, keepdims=True)
    return {
        "error": float(np.mean(model.classes_[shares.argmax(axis=1)] != y)),
        "log-loss": float(log_loss(y, shares, labels=model.classes_)),
    }


def compare(
    X: np.ndarray, y: np.ndarray, kind: str, n_seeds: int, max_bins: int | None
) -> list[dict[str, Any]]:
    """Fit both libraries' forest of one kind for every seed."""
    rows = []
    for seed in range(n_seeds):
        strata = y if kind.endswith("Classifier") else None
        parts = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=strata)
        X_train, X_test, y_train, y_test = parts
        oob = {"oob_score": True} if kind.startswith("Random") else {}
        settings = {"n_estimators": 100, "random_state": seed, "n_jobs": 2, **oob}
        ours = getattr(sp, kind)(max_bins=max_bins, **settings).fit(X_train, y_train)
        peer = getattr(ensemble, kind)(**settings).fit(X_train, y_train)
        said, said_by_peer = measures(ours, X_test, y_test), measures(peer, X_test, y_test)
        for name in said:
            row = {"seed": seed, "measure": name, "ours": said[name], "peer": said_by_peer[name]}
            if oob and name == "error":
                row |= {"oob": 1 - ours.oob_score_}
            if oob and name == "rmse":
                row |= {"oob": float(np.sqrt(1 - ours.oob_score_))}
            rows.append(row)
    return rows


def summary(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the means, and the chance of such a difference if there were none, paired over seeds."""
    difference = rows["ours"] - rows["peer"]
    same = bool((difference == 0).all())
    return {
        "ours": rows["ours"].mean(),
        "peer": rows["peer"].mean(),
        "difference": difference.mean(),
        "p": 1.0 if same else float(stats.ttest_1samp(difference, 0.0).pvalue),
    }


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("names", nargs=-1)
@click.option("--seeds", default=5, show_default=True)
@click.option("--exact", is_flag=True, help="Let Spinney look at every threshold instead of 255 bins.")
def main(folder: Path, names: tuple[str, ...], seeds: int, exact: bool) -> None:
    """Print a row for each table, kind of forest and measure, and the sign test over all tables."""
    console, found = Console(width=130), []
    for name in names or (*CLASSES, *NUMBERS):
        X, y = read(folder, name)
        task = "Regressor" if name in NUMBERS else "Classifier"
        for family in ("RandomForest", "ExtraTrees"):
            for row in compare(X, y, family + task, seeds, None if exact else 255):
                found.append(row | {"table": name, "kind": family})
        console.print(f"[dim]{name} done[/dim]")
    frame = pd.DataFrame(found)
    table = Table("table", "kind", "measure", "Spinney", "scikit-learn", "difference", "p", "out of bag")
    for (name, kind, measure), rows in frame.groupby(["table", "kind", "measure"], sort=False):
        got = summary(rows)
        oob = rows["oob"].mean() if "oob" in rows else np.nan
        cells = [f"{got[key]:.4f}" for key in ("ours", "peer", "difference", "p")]
        table.add_row(name, kind, measure, *cells, "–" if np.isnan(oob) else f"{oob:.4f}")
    console.print(table)
    for (kind, measure), rows in frame.groupby(["kind", "measure"], sort=False):
        means = rows.groupby("table")[["ours", "peer"]].mean()
        relative = (means["ours"] / means["peer"] - 1).to_numpy()
        p = stats.wilcoxon(relative).pvalue if len(relative) > 1 and relative.any() else 1.0
        console.print(
            f"{kind}, {measure}: better on {(relative < 0).sum()} of {len(relative)} tables, "
            f"mean {100 * relative.mean():+.2f} %, Wilcoxon over tables p = {p:.3f}"
        )
    judged = frame.dropna(subset="oob") if "oob" in frame else frame[:0]
    for measure, rows in judged.groupby("measure", sort=False):
        means = rows.groupby("table")[["ours", "oob"]].mean()
        gap = (means["oob"] - means["ours"]).to_numpy()
        console.print(
            f"out of bag less held out, {measure}: mean {gap.mean():+.4f} over {len(gap)} tables, "
            f"largest {np.abs(gap).max():.4f}, t-test p = {stats.ttest_1samp(gap, 0.0).pvalue:.3f}"
        )


if __name__ == "__main__":
    main()
