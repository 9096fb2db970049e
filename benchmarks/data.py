"""The tables that benchmarks run on, made from a seed so that nothing has to be fetched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

N_TEST = 20_000
LEVELS = (2, 3, 5, 8, 12, 24)  # of the categorical columns


@dataclass
class Problem:
    """The rows to learn from and the rows to be scored on."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray

    @property
    def megabytes(self) -> float:
        """Return the size of the training matrix."""
        if isinstance(self.X, np.ndarray):
            return float(self.X.nbytes) / 2**20
        return float(self.X.memory_usage(index=False, deep=False).sum()) / 2**20

    def head(self, n_rows: int) -> Problem:
        """Return the same problem with only the first rows to learn from."""
        X = self.X[:n_rows] if isinstance(self.X, np.ndarray) else self.X.iloc[:n_rows]
        return Problem(X, self.y[:n_rows], self.X_test, self.y_test)


def normal_problem(n_rows: int, n_features: int = 28, seed: int = 0) -> Problem:
    """Draw standard-normal float32 features and two classes that need several of them at once, with noise."""
    X, y = _normal_rows(n_rows, n_features, np.random.default_rng([seed, 0]))
    X_test, y_test = _normal_rows(N_TEST, n_features, np.random.default_rng([seed, 1]))
    return Problem(X, y, X_test, y_test)


def mixed_problem(n_rows: int, seed: int = 0) -> Problem:
    """Draw a data frame of eight numeric and six categorical columns with gaps, and three classes.

    Numbers are real, rounded or counts; categories have 2 to 24 levels; 6 % of the cells are missing.
    The rule behind the classes and the test rows depend on the seed alone: sizes can be compared.
    """
    rule = np.random.default_rng([seed, 2])
    effects = [rule.normal(0, 1, levels) for levels in LEVELS]
    X, y = _mixed_rows(n_rows, effects, np.random.default_rng([seed, 0]))
    X_test, y_test = _mixed_rows(N_TEST, effects, np.random.default_rng([seed, 1]))
    return Problem(X, y, X_test, y_test)


def _normal_rows(n: int, n_features: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = draw.standard_normal((n, n_features), dtype=np.float32)
    signal = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + np.abs(X[:, 3]) - 0.8 + 0.5 * X[:, 4] * (X[:, 5] > 0)
    return X, (draw.random(n) < 1 / (1 + np.exp(-2.5 * signal))).astype(np.int64)


def _mixed_rows(
    n: int, effects: list[np.ndarray], draw: np.random.Generator
) -> tuple[pd.DataFrame, np.ndarray]:
    import pandas as pd

    numbers = draw.standard_normal((n, 8))
    numbers[:, 4:6] = np.round(numbers[:, 4:6], 1)
    numbers[:, 6] = draw.poisson(3, n)
    codes = np.column_stack([(draw.random(n) ** 1.5 * levels).astype(int) for levels in LEVELS])
    by_code = np.column_stack([effect[codes[:, j]] for j, effect in enumerate(effects)])
    first = numbers[:, 0] * (codes[:, 1] == 0) + by_code[:, 3] + 0.7 * np.abs(numbers[:, 1])
    second = numbers[:, 2] + by_code[:, 4] * (numbers[:, 4] > 0) + 0.2 * numbers[:, 6]
    scores = 2 * np.column_stack([first, second, np.full(n, 0.8)]) + draw.gumbel(size=(n, 3))
    y = np.array(["ash", "beech", "cedar"], dtype=object)[scores.argmax(axis=1)]
    return pd.DataFrame(_columns(numbers, codes, draw.random((n, 14)) < 0.06)), y


def _columns(numbers: np.ndarray, codes: np.ndarray, gaps: np.ndarray) -> dict[str, np.ndarray]:
    """Name the columns, write categories as strings, and take out the cells in `gaps`."""
    columns = {}
    for j in range(numbers.shape[1]):
        columns[f"number{j}"] = np.where(gaps[:, j], np.nan, numbers[:, j])
    for j in range(codes.shape[1]):
        names = np.array([f"v{code}" for code in range(LEVELS[j])], dtype=object)[codes[:, j]]
        names[gaps[:, numbers.shape[1] + j]] = None
        columns[f"category{j}"] = names
    return columns
