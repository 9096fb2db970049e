"""Threads change the time of a fit, not one byte of the model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from spinney import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.io import dumps


def frame(n, seed=0):
    """Numbers, few values, categories and gaps."""
    rng = np.random.default_rng(seed)
    columns = {f"x{j}": rng.normal(size=n).round(2) for j in range(9)}
    columns |= {f"bit{j}": rng.integers(0, 2, n) for j in range(20)}
    columns |= {f"few{j}": rng.integers(0, 5, n).astype(float) for j in range(4)}
    for j in range(3):
        columns[f"c{j}"] = pd.Categorical.from_codes(
            rng.integers(0, 3 + 9 * j, n), [*map(str, range(3 + 9 * j))]
        )
    X = pd.DataFrame(columns)
    for name in ("x1", "few1"):
        X.loc[rng.random(n) < 0.1, name] = np.nan
    return X, X["x0"] * X["bit0"] + X["few0"] + X["c1"].cat.codes % 3 + rng.normal(size=n)


@pytest.mark.parametrize("loss", ["classes", "weighted classes", "two classes", "numbers", "quantiles"])
@pytest.mark.parametrize("n_rows", [700, 6_000, 40_000])
def test_any_number_of_threads_gives_the_same_bytes(loss, n_rows):
    X, target = frame(n_rows)
    rng = np.random.default_rng(1)
    rounds = {700: 10, 6_000: 4, 40_000: 2}[n_rows]
    options = {"n_estimators": rounds, "early_stopping": False, "random_state": 0, "preset": "classic"}
    weights = rng.integers(0, 4, n_rows) if loss == "weighted classes" else None
    if loss == "numbers":
        make, y = GradientBoostingRegressor, target.to_numpy()
        options |= {"subsample": 0.7, "max_features": 0.5}
    elif loss == "quantiles":
        make, y = GradientBoostingRegressor, target.to_numpy()
        options |= {"loss": "quantile", "quantile": [0.1, 0.5, 0.9]}
    else:
        edges = [0.5] if loss == "two classes" else [0.1, 0.3, 0.5, 0.8]
        make, y = GradientBoostingClassifier, np.digitize(target, np.quantile(target, edges))
    models = [dumps(make(**options, n_jobs=n).fit(X, y, weights).ensemble_) for n in (1, 2, 3, 7)]
    assert len(set(models)) == 1
