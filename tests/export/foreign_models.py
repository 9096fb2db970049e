"""Random models of other libraries, by library and seed, and rows to compare them on."""

import numpy as np
import pandas as pd


def random_rows(seed: int, categorical: bool) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return features with missing values and ties, class codes and a target."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(60, 400)), int(rng.integers(1, 6))
    columns = {f"n{j}": np.round(rng.normal(size=n) * 3, int(rng.integers(0, 6))) for j in range(k)}
    X = pd.DataFrame(columns)
    if rng.random() < 0.7:
        X = X.mask(rng.random(X.shape) < 0.15)
    if categorical:
        text = [f"level {i}" for i in range(int(rng.integers(2, 40)))]
        X["color"] = pd.Categorical(rng.choice(text, n))
        X["month"] = pd.Categorical(rng.integers(1, 13, n))
        X["color"] = X["color"].mask(rng.random(n) < 0.1)
    z = np.nan_to_num(X["n0"].to_numpy()) + rng.normal(size=n)
    if categorical:
        z = z + 2 * np.isin(X["month"].astype(int), [2, 5, 6, 11])
    n_classes = int(rng.integers(2, 5))
    y = np.digitize(z, np.quantile(z, np.linspace(0, 1, n_classes + 1)[1:-1]))
    return X, y, z


def edges(X: pd.DataFrame, thresholds: np.ndarray) -> pd.DataFrame:
    """Return rows with numbers at thresholds and beside them, in float64 and float32, and missing ones."""
    single = thresholds.astype(np.float32)
    near = [thresholds, np.nextafter(thresholds, np.inf), np.nextafter(thresholds, -np.inf)]
    near += [single, np.nextafter(single, np.float32(np.inf)), np.nextafter(single, -np.float32(np.inf))]
    values = np.concatenate(
        [np.asarray(part, np.float64) for part in near] + [[0.0, -0.0, 1e30, -1e30, np.nan]]
    )
    rows = X.iloc[np.arange(len(values)) % len(X)].reset_index(drop=True)
    for j, name in enumerate(name for name in X.columns if name.startswith("n")):
        rows[name] = np.roll(values, 7 * j)
    return rows
