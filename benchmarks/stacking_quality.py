"""Test whether the default stack is at least as good as its best member on real tables, in pairs over splits.

    python -m benchmarks.stacking_quality FOLDER [name ...]

FOLDER is that of `benchmarks.quality`. The tables are the first ten by name of its development half with 300
to 5,000 rows. Losses are those of `benchmarks.quality`: log-loss, or root mean squared error over the
standard deviation of the test targets; errors are the shares of misclassified rows. The best member of a
table is chosen in hindsight, by its mean loss over all splits, which favours it.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from scipy import stats

import spinney as sp
from benchmarks.quality import Split, list_tables, read_table, split_of

N_TABLES, ROWS = 10, (300, 5_000)
TEST_SHARE = 0.25


def chosen_tables(folder: Path, half: str) -> list[str]:
    """Return the names of the tables that are measured, where none are given."""
    names = []
    for name, table in sorted(list_tables(folder, half).items()):
        n_rows = len(read_table(table.path, not table.task.startswith("reg"))[0])
        if ROWS[0] <= n_rows <= ROWS[1]:
            names.append(name)
        if len(names) == N_TABLES:
            break
    return names


def loss_of(split: Split, model: Any) -> tuple[float, float]:
    """Return the loss and the share of misclassified rows (NaN in regression) of a fitted model."""
    if not split.is_classification:
        away = model.predict(split.X_test) - split.y_test
        return float(np.sqrt(np.mean(away**2)) / split.y_test.std()), np.nan
    shares = model.predict_proba(split.X_test)
    own = shares[np.arange(len(split.y_test)), np.searchsorted(model.classes_, split.y_test)]
    return float(-np.log(np.clip(own, 1e-6, 1.0)).mean()), float(
        np.mean(model.predict(split.X_test) != split.y_test)
    )


def measure(name: str, path: Path, task: str, n_splits: int) -> pd.DataFrame:
    """Return loss and error of the stack and of each member on each split."""
    rows = []
    for seed in range(n_splits):
        split = split_of(name, path, task, seed)
        make = sp.StackingClassifier if split.is_classification else sp.StackingRegressor
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stack = make(random_state=split.seed).fit(split.X, split.y)
        for member, model in {**stack.named_estimators_, "stack": stack}.items():
            loss, error = loss_of(split, model)
            rows.append({
                "table": name, "split": split.seed, "model": member, "loss": loss, "error": error,
            })  # fmt: skip
    return pd.DataFrame(rows)


def p_worse(stack: pd.Series, best: pd.Series) -> float:
    """Return how likely a mean difference as bad is if there is none, by the corrected t-test."""
    difference = (stack - best).to_numpy()
    n = len(difference)
    spread = np.sqrt((1 / n + TEST_SHARE / (1 - TEST_SHARE)) * difference.var(ddof=1))
    return float(stats.t.sf(difference.mean() / spread, n - 1)) if spread > 0 else 0.5


def summary(found: pd.DataFrame) -> dict[str, Any]:
    """Compare the stack with the best member of one table."""
    losses = found.pivot(index="split", columns="model", values="loss")
    errors = found.pivot(index="split", columns="model", values="error")
    means = losses.mean()
    best = str(means.drop("stack").idxmin())
    row = {"best": best, "loss of best": means[best], "loss of stack": means["stack"]}
    row |= {"wins": int((losses["stack"] < losses[best]).sum()), "splits": len(losses)}
    row |= {"p worse": p_worse(losses["stack"], losses[best])}
    if errors["stack"].notna().all():
        first = str(errors.mean().drop("stack").idxmin())
        row |= {"fewest errors": first, "error of it": errors[first].mean()}
        row |= {"error of stack": errors["stack"].mean(), "p more": p_worse(errors["stack"], errors[first])}
    return row


def cells(name: str, row: dict[str, Any]) -> list[str]:
    """Return the cells of one table."""
    ratio = row["loss of stack"] / row["loss of best"]
    out = [name, row["best"], f"{row['loss of best']:.4f}", f"{row['loss of stack']:.4f}", f"{ratio:.3f}"]
    out += [f"{row['wins']} of {row['splits']}", f"{row['p worse']:.2f}"]
    if "fewest errors" not in row:
        return [*out, "–", "–", "–"]
    both = f"{row['error of it']:.4f}", f"{row['error of stack']:.4f}"
    return [*out, f"{row['fewest errors']} {both[0]}", both[1], f"{row['p more']:.2f}"]


HEADINGS = (
    "table", "best member", "its loss", "stack", "ratio", "wins", "p (worse)",
    "fewest errors", "stack", "p (more)",
)  # fmt: skip


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("names", nargs=-1)
@click.option("--splits", default=5, help="Number of splits into training and test rows.")
@click.option("--half", default="development", help="Half of the tables, see benchmarks.quality.")
@click.option("--out", type=click.Path(path_type=Path), help="JSON lines to append the measurements to.")
def main(folder: Path, names: tuple[str, ...], splits: int, half: str, out: Path | None) -> None:
    """Print one row a table: losses and errors of the best member and of the stack, and paired tests."""
    tables = list_tables(folder, "all")
    page = Table(*HEADINGS)
    console = Console(width=160)
    ratios = []
    for name in names or chosen_tables(folder, half):
        found = measure(name, tables[name].path, tables[name].task, splits)
        if out is not None:
            with out.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in found.to_dict("records"))
        row = summary(found)
        ratios.append(row["loss of stack"] / row["loss of best"])
        page.add_row(*cells(name, row))
        console.print(*cells(name, row))
    console.print(page)
    console.print(f"geometric mean of the ratios: {np.exp(np.mean(np.log(ratios))):.3f}")


if __name__ == "__main__":
    main()
