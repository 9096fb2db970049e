"""Ask real tables whether a stack of mixed members is as good as its best member, in pairs over splits.

    python -m benchmarks.stacking_quality FOLDER [name ...]

FOLDER holds one table a file (.csv.gz or .parquet) whose last column is ``target``. The best member is chosen
in hindsight, by its mean error over all splits, which favours it.
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
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import spinney as sp

CLASSES = (
    "credit_g_german", "diabetes_pima", "vehicle", "segment", "car", "cmc", "yeast", "vowel", "splice",
    "ionosphere", "heart_statlog", "ilpd",
)  # fmt: skip
NUMBERS = ("abalone", "auto_mpg", "boston_housing", "bodyfat", "kin8nm", "stock")
MOST_ROWS = 2000


def prepared(learner: Any) -> Any:
    """Put what a linear model or neighbours need in front of them: scaled numbers, coded categories."""
    text = make_column_selector(dtype_include=["object", "string", "category", "bool"])
    numbers = make_column_selector(dtype_include="number")
    before = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), text),
    )
    return make_pipeline(before, learner)


def members(classes: bool) -> list[tuple[str, Any]]:
    """Return mixed members: Spinney's trees, alone and bagged, scikit-learn's linear model and neighbours."""
    if classes:
        return [
            ("tree", sp.DecisionTreeClassifier(max_depth=5)),
            ("bagging", sp.BaggingClassifier(n_estimators=25, random_state=0)),
            ("linear", prepared(LogisticRegression(max_iter=2000))),
            ("neighbours", prepared(KNeighborsClassifier(10))),
        ]
    return [
        ("tree", sp.DecisionTreeRegressor(max_depth=6)),
        ("bagging", sp.BaggingRegressor(n_estimators=25, random_state=0)),
        ("linear", prepared(Ridge())),
        ("neighbours", prepared(KNeighborsRegressor(10))),
    ]


def read(folder: Path, name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Read a table, at most MOST_ROWS of its rows drawn once."""
    path = next(folder.glob(f"{name}.*"))
    options = {"keep_default_na": False, "na_values": [""]}
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, **options)
    frame = frame.sample(min(MOST_ROWS, len(frame)), random_state=0)
    return frame.drop(columns="target"), frame["target"]


def errors(X: pd.DataFrame, y: pd.Series, classes: bool, n_repeats: int, final: Any = None) -> pd.DataFrame:
    """Return the error of each member and of the stack on each split: misclassified, or root mean square."""
    splitter = RepeatedStratifiedKFold if classes else RepeatedKFold
    stack = (sp.StackingClassifier if classes else sp.StackingRegressor)(members(classes), final)
    rows = []
    for train, test in splitter(n_splits=5, n_repeats=n_repeats, random_state=0).split(X, y):
        fitted = clone(stack).fit(X.iloc[train], y.iloc[train])
        models = {**fitted.named_estimators_, "stack": fitted}
        truth, unseen = y.iloc[test].to_numpy(), X.iloc[test]
        predicted = {name: model.predict(unseen) for name, model in models.items()}
        rows.append({
            name: np.mean(found != truth) if classes else np.sqrt(np.mean((found - truth) ** 2))
            for name, found in predicted.items()
        })  # fmt: skip
    return pd.DataFrame(rows)


def compare(found: pd.DataFrame, n_splits: int = 5) -> dict[str, Any]:
    """Compare the stack with the best member, by the corrected resampled t-test of Nadeau and Bengio."""
    means = found.mean()
    best = str(means.drop("stack").idxmin())
    difference = (found["stack"] - found[best]).to_numpy()
    n = len(difference)
    spread = np.sqrt((1 / n + 1 / (n_splits - 1)) * difference.var(ddof=1))
    p_worse = float(stats.t.sf(difference.mean() / spread, n - 1)) if spread > 0 else 0.5
    return {"best": best, "of the best": means[best], "of the stack": means["stack"], "p_worse": p_worse}


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("names", nargs=-1)
@click.option("--repeats", default=2, help="How many times five folds are drawn.")
def main(folder: Path, names: tuple[str, ...], repeats: int) -> None:
    """Print one row a table: the errors, and how likely a difference as bad is if there is none."""
    table = Table("table", "best member", "its error", "stack", "ratio", "p (worse)", "verdict")
    console = Console()
    for name in names or (*CLASSES, *NUMBERS):
        X, y = read(folder, name)
        found = compare(errors(X, y, name not in NUMBERS, repeats))
        ratio = found["of the stack"] / found["of the best"] if found["of the best"] else 1.0
        verdict = "better" if ratio < 1 else "worse" if found["p_worse"] < 0.05 else "no worse"
        numbers = [f"{found[column]:.4f}" for column in ("of the best", "of the stack")]
        table.add_row(name, found["best"], *numbers, f"{ratio:.3f}", f"{found['p_worse']:.2f}", verdict)
    console.print(table)


if __name__ == "__main__":
    main()
