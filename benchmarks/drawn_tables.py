"""Tables drawn at random: sizes, kinds of columns and targets differ as those of real tables do.

A seed decides everything, so that a fresh seed gives tables that nobody has tuned to. Numbers of rows and of
columns are spread evenly over their logarithms and paired at random; so are the classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]

ROWS, COLUMNS, CLASSES = (300, 1_000_000), (4, 2_000), (3, 100)
MAX_CELLS = 24_000_000
TASKS = ("binary", "multi", "reg", "binary", "multi", "counts", "reg", "multi")
N_TEST = 20_000


@dataclass(frozen=True)
class TableSpec:
    """Shape and traits of a table that is to be drawn."""

    name: str
    n_rows: int
    n_columns: int
    task: str  # "binary", "multi", "reg" or "counts"
    n_classes: int = 2
    categorical: float = 0.0  # share of the columns
    max_levels: int = 10
    missing: float = 0.0  # share of the cells
    dominated: float = 0.0  # share of the columns of which nine tenths are one value
    few_valued: float = 0.0  # share of the columns
    density: float = 1.0  # below 1: a sparse matrix with this share of nonzero cells


def _spread(limits: tuple[int, int], n: int) -> list[int]:
    return [round(value) for value in np.geomspace(*limits, n)]


def draw_specs(n_tables: int, seed: int) -> list[TableSpec]:
    """Draw shapes and traits; the largest and the smallest of every range are among them."""
    draw = np.random.default_rng([seed, 17])
    rows, columns = _spread(ROWS, n_tables)[::-1], _spread(COLUMNS, n_tables)
    tasks = [TASKS[i % len(TASKS)] for i in range(n_tables)]
    draw.shuffle(tasks)
    specs = []
    # The longest table chooses first: the widest have too many cells for it.
    for i, (n_rows, task) in enumerate(zip(rows, tasks, strict=True)):
        fitting = [n for n in columns if n * n_rows <= MAX_CELLS] or [min(columns)]
        n_columns = int(draw.choice(fitting))
        columns.remove(n_columns)
        traits = _draw_traits(draw, n_columns)
        specs.append(TableSpec(f"drawn-{seed}-{i}", n_rows, n_columns, task, **traits))
    return _set_classes(specs)


def _set_classes(specs: list[TableSpec]) -> list[TableSpec]:
    """Set the numbers of classes: the more a table can have, the more it gets."""
    many = sorted((spec for spec in specs if spec.task == "multi"), key=_max_classes)
    numbers = _spread(CLASSES, max(2, len(many)))
    chosen = {
        spec.name: min(n, _max_classes(spec))
        for spec, n in zip(many, numbers[-len(many) :] if many else [], strict=True)
    }
    return [replace(spec, n_classes=chosen.get(spec.name, 2)) for spec in specs]


def _max_classes(spec: TableSpec) -> int:
    """Return how many classes have enough rows to be split, and no library needs minutes for."""
    cells = spec.n_rows * spec.n_columns
    return max(3, min(spec.n_rows // 40, 4_000 // spec.n_columns, 2 * MAX_CELLS // cells))


def _draw_traits(draw: np.random.Generator, n_columns: int) -> dict[str, Any]:
    if n_columns >= 100 and draw.random() < 0.5:
        return {"density": float(draw.choice([0.01, 0.05, 0.2]))}
    return {
        "categorical": float(draw.choice([0.0, 0.0, 0.3, 0.7])),
        "max_levels": int(draw.choice([5, 20, 100, 400])),
        "missing": float(draw.choice([0.0, 0.0, 0.05, 0.3])),
        "dominated": float(draw.choice([0.0, 0.0, 0.5, 0.9])),
        "few_valued": float(draw.choice([0.0, 0.3, 0.8])),
    }


def draw_table(spec: TableSpec) -> tuple[Any, NDArray[Any]]:
    """Draw a table of `n_rows` rows to learn from, and a quarter as many (at most 20,000) to test on."""
    draw = np.random.default_rng([spec.n_rows, spec.n_columns, sum(spec.name.encode())])
    n = spec.n_rows + min(N_TEST, max(spec.n_rows // 4, 4 * spec.n_classes))
    if spec.density < 1:
        X: Any = sparse.random_array(
            (n, spec.n_columns), density=spec.density, format="csr", rng=draw, dtype=np.float64
        )
        effect = X[:, : max(4, spec.n_columns // 4)].toarray() * 4
    else:
        X, effect = _draw_columns(spec, n, draw)
    return X, _draw_target(spec, effect, draw)


def _draw_columns(spec: TableSpec, n: int, draw: np.random.Generator) -> tuple[Any, Floats]:
    """Return the columns, and as numbers those that the target depends on."""
    numbers = draw.standard_normal((n, spec.n_columns), dtype=np.float32)
    n_categorical = round(spec.categorical * spec.n_columns)
    kinds = draw.random(spec.n_columns)
    for j in range(n_categorical, spec.n_columns):
        if kinds[j] < spec.dominated:
            numbers[draw.random(n) < 0.9, j] = 0
        elif kinds[j] > 1 - spec.few_valued:
            numbers[:, j] = np.round(numbers[:, j] * draw.choice([1, 2, 4]))
    levels = [int(draw.integers(2, spec.max_levels + 1)) for _ in range(n_categorical)]
    codes = [(draw.random(n) ** 1.5 * k).astype(np.int32) for k in levels]
    shown = draw.permutation(spec.n_columns)[: max(4, min(8, spec.n_columns))]
    effect = np.empty((n, len(shown)))
    for i, j in enumerate(shown):
        effect[:, i] = draw.standard_normal(levels[j])[codes[j]] if j < n_categorical else numbers[:, j]
    if spec.missing:
        for j in range(n_categorical, spec.n_columns):
            numbers[draw.random(n) < spec.missing, j] = np.nan
    if not n_categorical:
        return numbers, effect
    columns: dict[str, Any] = {}
    for j in range(spec.n_columns):
        if j >= n_categorical:
            columns[f"x{j}"] = numbers[:, j]
            continue
        gaps = draw.random(n) < spec.missing
        names = [f"v{code:03d}" for code in range(levels[j])]
        columns[f"x{j}"] = pd.Categorical.from_codes(np.where(gaps, -1, codes[j]), names)
    return pd.DataFrame(columns), effect


def _draw_target(spec: TableSpec, effect: Floats, draw: np.random.Generator) -> NDArray[Any]:
    """Draw a target that needs several columns at once, with noise."""
    n, d = effect.shape
    n_scores = spec.n_classes if spec.task == "multi" else 1
    first, second, slope = draw.integers(d, size=(3, n_scores))
    scores = effect[:, first] * effect[:, second] + 2 * np.sin(2 * effect[:, slope])
    scores += 2 * effect @ draw.standard_normal((d, n_scores)) / np.sqrt(d)
    if spec.task == "reg":
        return np.asarray(scores[:, 0] + draw.standard_normal(n))
    if spec.task == "counts":
        return np.asarray(draw.poisson(np.exp(np.clip(scores[:, 0] / 3, -3, 3))), dtype=np.float64)
    if spec.task == "binary":
        return np.asarray(scores[:, 0] + draw.logistic(size=n) > np.median(scores[:, 0]), dtype=np.int64)
    y = (scores + draw.gumbel(size=scores.shape)).argmax(axis=1)
    y[: spec.n_classes] = np.arange(spec.n_classes)  # every class is there
    return np.asarray(y, dtype=np.int64)
