"""Random small tables with what goes wrong in real ones: ties, gaps, odd weights, useless columns."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class RandomTable:
    """One table; `None` is missing, categorical cells are codes 0, 1, …"""

    columns: list[list[float | None]]
    kinds: list[str]  # "numeric" or "categorical"
    y: list[int]
    target: list[float]  # a non-negative number for each row, for regression
    weights: list[float]

    @property
    def rows(self) -> list[list[float | None]]:
        """Return the cells row by row."""
        return [list(row) for row in zip(*self.columns, strict=True)]

    def frame(self) -> pd.DataFrame:
        """Return the table as a data frame; code 2 is the string "c02", so that the order is kept."""
        import pandas as pd

        cells: dict[str, pd.Series] = {}
        for i, (column, kind) in enumerate(zip(self.columns, self.kinds, strict=True)):
            if kind == "numeric":
                cells[f"x{i}"] = pd.Series(
                    [float("nan") if v is None else v for v in column], dtype="float64"
                )
            else:
                names = [None if v is None else f"c{int(v):02d}" for v in column]
                cells[f"x{i}"] = pd.Series(names, dtype="object")
        return pd.DataFrame(cells)


def random_table(
    seed: int,
    *,
    max_rows: int = 120,
    max_columns: int = 7,
    max_levels: int = 6,
    kinds: tuple[str, ...] = ("numeric", "categorical"),
    missing: bool = True,
) -> RandomTable:
    """Draw a table; the same seed gives the same table."""
    draw = random.Random(seed)
    n = draw.randint(5, max_rows)
    chosen = [draw.choice(kinds) for _ in range(draw.randint(1, max_columns))]
    columns = [_column(draw, kind, n, max_levels) for kind in chosen]
    y, target = _targets(draw, columns, n)
    if missing:
        rate = draw.choice([0.0, 0.05, 0.2, 0.4])
        columns = [[None if draw.random() < rate else value for value in column] for column in columns]
        if draw.random() < 0.1:
            columns[draw.randrange(len(columns))] = [None] * n
    return RandomTable(columns, chosen, y, target, _weights(draw, n))


def _column(draw: random.Random, kind: str, n: int, max_levels: int) -> list[float | None]:
    if kind == "categorical":
        levels = draw.randint(1, max_levels)
        return [draw.randrange(levels) for _ in range(n)]
    shape = draw.choice(["real", "real", "few", "integers", "constant", "wide"])
    few = [round(draw.gauss(0, 1), 2) for _ in range(draw.randint(2, 5))]
    make: dict[str, Callable[[], float]] = {
        "real": lambda: draw.gauss(0, 1),
        "few": lambda: draw.choice(few),
        "integers": lambda: float(draw.randint(-10, 10)),
        "constant": lambda: 3.5,
        "wide": lambda: draw.choice([-1, 1]) * 10 ** draw.uniform(-6, 6),
    }
    return [make[shape]() for _ in range(n)]


def _targets(draw: random.Random, columns: list[list[float | None]], n: int) -> tuple[list[int], list[float]]:
    """Make the answers depend on the first columns, with noise, so that trees have something to find."""
    n_classes = draw.choice([1, 2, 2, 2, 3, 3, 5, 12])
    noise = draw.choice([0.0, 0.1, 0.5, 1.0])
    signals = []
    for column in columns[:2]:
        middle = sorted(v for v in column if v is not None)[n // 2]
        signals.append([v is not None and v < middle for v in column])
    y: list[int] = []
    target: list[float] = []
    for row in range(n):
        code = sum(2**i for i, signal in enumerate(signals) if signal[row])
        y.append(draw.randrange(n_classes) if draw.random() < noise else code % n_classes)
        target.append(float(draw.randint(0, 4)) if draw.random() < 0.3 else code + draw.random())
    return y, target


def _weights(draw: random.Random, n: int) -> list[float]:
    """Draw weights of one of four kinds, never all 0."""
    kind = draw.choice(["ones", "integers", "reals", "with zeros"])
    make: dict[str, Callable[[], float]] = {
        "ones": lambda: 1.0,
        "integers": lambda: float(draw.randint(1, 4)),
        "reals": lambda: draw.uniform(0.05, 3.0),
        "with zeros": lambda: draw.choice([0.0, 1.0, 2.5]),
    }
    weights = [make[kind]() for _ in range(n)]
    return weights if any(weights) else [1.0] * n
