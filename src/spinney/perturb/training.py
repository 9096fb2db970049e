"""Training a stack of networks together, batch by batch, with a ledger of errors and ambiguity by epoch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from spinney.core.frames import to_frame
from spinney.core.seeds import stream
from spinney.io import CorruptModelFile, Persistent
from spinney.perturb.networks import BATCHES, Array, Networks, Objective, spread

_DECAY, _DECAY_SQUARES, _LEAST = 0.9, 0.999, 1e-8
_COLUMNS = ("members", "ensemble", "ambiguity", "validation")


class Adam:
    """Step each number by its own running mean of slopes over their size (Kingma and Ba, 2015).

    No step depends on another number's slope: with no penalty each network goes its own way, as if alone.
    A line search or a curvature of all networks together would tie them to one another.
    """

    def __init__(self, arrays: tuple[Array, ...], rate: float) -> None:
        self._rate, self._time = rate, 0
        self._means = [np.zeros_like(a) for a in arrays]
        self._squares = [np.zeros_like(a) for a in arrays]

    def step(self, arrays: tuple[Array, ...], slopes: tuple[Array, ...]) -> None:
        """Change the arrays in place."""
        self._time += 1
        rate = self._rate * np.sqrt(1.0 - _DECAY_SQUARES**self._time) / (1.0 - _DECAY**self._time)
        for i, (array, slope) in enumerate(zip(arrays, slopes, strict=True)):
            self._means[i] += (1.0 - _DECAY) * (slope - self._means[i])
            self._squares[i] += (1.0 - _DECAY_SQUARES) * (slope * slope - self._squares[i])
            np.subtract(array, rate * self._means[i] / (np.sqrt(self._squares[i]) + _LEAST), out=array)


@dataclass(frozen=True)
class Schedule:
    """Say how training goes on, and when it ends: after ``patience`` epochs without a gain of ``tol``.

    A title asks for a progress bar, which is drawn on the error output.
    """

    batch_size: int
    learning_rate: float
    max_epochs: int
    tol: float
    patience: int
    title: str | None = None


@dataclass(frozen=True, eq=False)
class Examples:
    """Hold what to learn: inputs (n_rows, n_inputs), target (n_rows, n_outputs), weights (n_rows,)."""

    inputs: Array
    target: Array
    weights: Array

    def __len__(self) -> int:
        return len(self.inputs)

    def take(self, rows: Any) -> Examples:
        """Give some of the rows, their weights unchanged."""
        return Examples(self.inputs[rows], self.target[rows], self.weights[rows])


@dataclass(frozen=True, eq=False)
class EpochLedger(Persistent):
    """Hold for each epoch the members' error Ē, their mean's error E, their ambiguity Ā, and E on other rows.

    All are in units of the targets' variance in regression, and Brier scores in classification; means over
    the batches of the epoch as each was met. ``validation`` is NaN where no rows were held out.

    >>> ledger = EpochLedger(np.array([1.0]), np.array([0.8]), np.array([0.2]), np.array([np.nan]))
    >>> ledger.to_records()[0]["ambiguity"]
    0.2
    """

    members: Array
    ensemble: Array
    ambiguity: Array
    validation: Array

    def __post_init__(self) -> None:
        columns = [getattr(self, name) for name in _COLUMNS]
        valid = all(isinstance(c, np.ndarray) and c.dtype == np.float64 and c.ndim == 1 for c in columns)
        if not valid or len({len(column) for column in columns}) != 1:
            raise CorruptModelFile("The ledger of epochs is no table of numbers.")

    def __len__(self) -> int:
        return len(self.members)

    def __repr__(self) -> str:
        return f"EpochLedger({len(self)} epochs)"

    def to_columns(self) -> dict[str, list[Any]]:
        """Give the table by column; ``validation`` only where rows were held out."""
        columns: dict[str, list[Any]] = {"epoch": list(range(1, len(self) + 1))}
        columns |= {name: getattr(self, name).tolist() for name in _COLUMNS}
        if np.isnan(self.validation).all():
            del columns["validation"]
        return columns

    def to_records(self) -> list[dict[str, Any]]:
        """Give the table as one dict an epoch."""
        columns = self.to_columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_frame(self) -> Any:
        """Give the table as a pandas DataFrame, or a polars one where there is no pandas."""
        return to_frame(self.to_columns())


def train(
    networks: Networks,
    examples: Examples,
    objective: Objective,
    schedule: Schedule,
    seed: int,
    held_out: Examples | None = None,
) -> tuple[Networks, EpochLedger]:
    """Train all networks on the same batches; with rows held out, give them as they did best there."""
    arrays = tuple(array.copy() for array in networks.arrays)
    adam = Adam(arrays, schedule.learning_rate)
    rng = stream(seed, BATCHES)
    epochs: list[tuple[float, ...]] = []
    least, waited, kept = np.inf, 0, networks
    for _ in _counted(schedule):
        found = _run_epoch(arrays, networks.link, adam, examples, objective, schedule.batch_size, rng)
        validation = np.nan
        if held_out is not None:
            now = Networks.of((array.copy() for array in arrays), networks.link)
            shares = held_out.weights / held_out.weights.sum()
            validation = spread(now.outputs(held_out.inputs), held_out.target, shares).ensemble
        epochs.append((*found, validation))
        watched = found[0] - objective.penalty * found[2] if held_out is None else validation
        waited = 0 if watched < least - schedule.tol else waited + 1
        if held_out is not None and watched < least:
            kept = now
        least = min(least, watched)
        if waited > schedule.patience:
            break
    if held_out is None:
        kept = Networks.of(arrays, networks.link)
    return kept, EpochLedger(*np.array(epochs, dtype=np.float64).reshape(-1, 4).T.copy())


def _counted(schedule: Schedule) -> Iterable[int]:
    epochs = range(schedule.max_epochs)
    if schedule.title is None:
        return epochs
    return track(epochs, schedule.title, console=Console(stderr=True))


def _run_epoch(
    arrays: tuple[Array, ...],
    link: str,
    adam: Adam,
    examples: Examples,
    objective: Objective,
    batch_size: int,
    rng: np.random.Generator,
) -> tuple[float, float, float]:
    """Step through all rows once, in an order drawn anew; give Ē, E and Ā of the batches as they were met."""
    n_rows = len(examples)
    order = rng.permutation(n_rows)
    total = np.zeros(3)
    for begin in range(0, n_rows, batch_size):
        batch = examples.take(order[begin : begin + batch_size])
        slopes, outputs = objective.gradient(
            arrays, link, batch.inputs, batch.target, batch.weights / len(batch)
        )
        total += spread(outputs, batch.target, batch.weights / n_rows)
        adam.step(arrays, slopes)
    return float(total[0]), float(total[1]), float(total[2])
