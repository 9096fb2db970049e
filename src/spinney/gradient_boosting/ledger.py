"""The ledger of gradient boosting: one row a round, and where asked every candidate split of every tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import ModelFileError
from spinney.core.frames import to_frame
from spinney.core.ledger import CandidateLedger
from spinney.io import Persistent
from spinney.tree.grower import Grown

_COLUMN_TYPES: dict[str, type[np.generic]] = {
    "train_loss": np.float64,
    "validation_loss": np.float64,
    "n_leaves": np.int64,
    "gain": np.float64,
}


@dataclass(frozen=True, eq=False)
class GradientLedger(Persistent):
    """Hold one row a round, from round 0, the constant, on.

    ``train_loss`` and ``validation_loss`` are mean losses after the round, NaN where not computed;
    ``n_leaves`` and ``gain`` those of the round's trees together. ``candidates`` has one `CandidateLedger` a
    tree if they were asked for.

    >>> model.ledger_.to_frame().plot(y=["train_loss", "validation_loss"])  # doctest: +SKIP
    """

    train_loss: NDArray[np.float64]
    validation_loss: NDArray[np.float64]
    n_leaves: NDArray[np.int64]
    gain: NDArray[np.float64]
    candidates: tuple[CandidateLedger, ...] = ()

    def __post_init__(self) -> None:
        for name, dtype in _COLUMN_TYPES.items():
            column = getattr(self, name)
            sound = isinstance(column, np.ndarray) and column.dtype == np.dtype(dtype) and column.ndim == 1
            if not sound or len(column) != len(self.train_loss):
                raise ModelFileError(f"The ledger's column {name!r} is not one of {np.dtype(dtype)} a round.")

    def __len__(self) -> int:
        return len(self.train_loss)

    def __repr__(self) -> str:
        return f"GradientLedger({len(self) - 1} rounds)"

    def to_columns(self) -> dict[str, list[Any]]:
        """Give the rounds by column; that of the validation rows only where there are some."""
        columns: dict[str, list[Any]] = {"round": list(range(len(self)))}
        for name in _COLUMN_TYPES:
            if name != "validation_loss" or not np.isnan(self.validation_loss).all():
                columns[name] = getattr(self, name).tolist()
        return columns

    def to_records(self) -> list[dict[str, Any]]:
        """Give the rounds as one dict each."""
        columns = self.to_columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_frame(self) -> Any:
        """Give the rounds as a pandas DataFrame, or a polars one where there is no pandas."""
        return to_frame(self.to_columns())

    def _get_state(self) -> dict[str, Any]:
        state = super()._get_state()
        return {**state, "candidates": [candidates.to_state() for candidates in self.candidates]}

    def _set_state(self, state: dict[str, Any]) -> None:
        candidates = state.get("candidates")
        if not isinstance(candidates, list) or not all(isinstance(part, dict) for part in candidates):
            raise ModelFileError("The ledger's candidates are no list of tables.")
        super()._set_state(
            {**state, "candidates": tuple(CandidateLedger.from_state(part) for part in candidates)}
        )


class RoundLog:
    """Collect the ledger while training goes on, after the rounds of one that was kept before.

    >>> log = RoundLog(["density"])
    >>> log.add(train_loss=0.7, validation_loss=0.8, grown=[])
    >>> log.finish().to_records()[0]["validation_loss"]
    0.8
    """

    def __init__(self, feature_names: Sequence[str], before: GradientLedger | None = None) -> None:
        self._names = feature_names
        self._columns: dict[str, list[Any]] = {
            name: [] if before is None else getattr(before, name).tolist() for name in _COLUMN_TYPES
        }
        self._candidates = [] if before is None else list(before.candidates)

    def add(self, train_loss: float, validation_loss: float, grown: Sequence[Grown]) -> None:
        """Write down one round: its losses, and its trees with their candidates."""
        n_leaves = sum(one.tree.n_leaves for one in grown)
        gain = float(sum(one.tree.impurity.sum() for one in grown))
        row = (train_loss, validation_loss, n_leaves, gain)
        for column, entry in zip(self._columns.values(), row, strict=True):
            column.append(entry)
        self._candidates += [
            CandidateLedger.from_candidates(self._names, one.candidates, one.tree.depth, one.tree.n_samples)
            for one in grown
            if len(one.candidates)
        ]

    def finish(self) -> GradientLedger:
        """Give the ledger of all rounds so far."""
        arrays: dict[str, Any] = {
            name: np.array(self._columns[name], dtype=dtype) for name, dtype in _COLUMN_TYPES.items()
        }
        return GradientLedger(**arrays, candidates=tuple(self._candidates))
