"""The ledger of gradient boosting: a record of its rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import ModelFileError
from spinney.core.ledger import CandidateLedger, Ledger
from spinney.gradient_boosting.defaults import Value, check_chosen
from spinney.io import Persistent
from spinney.tree.grower import Grown

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class GradientLedger(Ledger, Persistent):
    """Record of the rounds of gradient boosting, one row per round; round 0 is the constant.

    Attributes
    ----------
    train_loss : ndarray of shape (n_rounds + 1,)
        Mean training loss after the round, NaN where it was not computed.
    validation_loss : ndarray of shape (n_rounds + 1,)
        Mean loss of the validation rows after the round, NaN where there are none.
    n_leaves : ndarray of shape (n_rounds + 1,)
        Number of leaves of the trees of the round.
    gain : ndarray of shape (n_rounds + 1,)
        Total gain of the splits of the round.
    candidates : tuple of CandidateLedger
        Split candidates of every tree with ``ledger="full"``, else empty.
    chosen_parameters : dict
        Parameters that were chosen, as in ``chosen_`` of the model.

    Examples
    --------
    >>> model.ledger_.to_frame().plot(y=["train_loss", "validation_loss"])  # doctest: +SKIP
    """

    optional_columns = ("validation_loss",)
    counter = ("round", 0)

    train_loss: NDArray[np.float64]
    validation_loss: NDArray[np.float64]
    n_leaves: NDArray[np.int64]
    gain: NDArray[np.float64]
    candidates: tuple[CandidateLedger, ...] = ()
    chosen_parameters: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.check_columns()
        check_chosen(self.chosen_parameters)

    def first_rounds(self, n_rounds: int, n_trees: int) -> GradientLedger:
        """Return the ledger of the first rounds.

        Parameters
        ----------
        n_rounds : int
            Number of rounds to keep.
        n_trees : int
            Number of trees per round.

        Returns
        -------
        GradientLedger
            The constant and these rounds.
        """
        columns: dict[str, Any] = {name: getattr(self, name)[: n_rounds + 1] for name in self.column_types}
        return replace(self, **columns, candidates=self.candidates[: n_rounds * n_trees])

    def __repr__(self) -> str:
        return f"GradientLedger({len(self) - 1} rounds)"

    def _get_state(self) -> dict[str, Any]:
        state = super()._get_state()
        return {**state, "candidates": [candidates.to_state() for candidates in self.candidates]}

    def _set_state(self, state: dict[str, Any]) -> None:
        candidates = state.get("candidates")
        if not isinstance(candidates, list) or not all(isinstance(part, dict) for part in candidates):
            raise ModelFileError("The candidates of the ledger must be a list of tables.")
        super()._set_state(
            {**state, "candidates": tuple(CandidateLedger.from_state(part) for part in candidates)}
        )


class LedgerBuilder:
    """Ledger under construction; it continues the ledger of earlier rounds if there is one.

    >>> builder = LedgerBuilder(["density"])
    >>> builder.add(train_loss=0.7, validation_loss=0.8, grown=[])
    >>> builder.finish().to_records()[0]["validation_loss"]
    0.8
    """

    def __init__(self, feature_names: Sequence[str], earlier: GradientLedger | None = None) -> None:
        self._names = feature_names
        self._columns: dict[str, list[Any]] = {
            name: [] if earlier is None else getattr(earlier, name).tolist()
            for name in GradientLedger.column_types
        }
        self._candidates = [] if earlier is None else list(earlier.candidates)

    def add(self, train_loss: float, validation_loss: float, grown: Sequence[Grown]) -> None:
        """Record one round: its losses, and its trees with their candidates."""
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

    @property
    def train_losses(self) -> Floats:
        """Training loss of the rounds so far."""
        return np.array(self._columns["train_loss"], dtype=np.float64)

    def finish(self, chosen: Mapping[str, Value] | None = None) -> GradientLedger:
        """Return the ledger of all rounds so far, with the parameters that were chosen."""
        arrays: dict[str, Any] = {
            name: np.array(self._columns[name], dtype=dtype)
            for name, dtype in GradientLedger.column_types.items()
        }
        return GradientLedger(
            **arrays, candidates=tuple(self._candidates), chosen_parameters=dict(chosen or {})
        )


def join_ledgers(ledgers: Sequence[GradientLedger]) -> GradientLedger:
    """Return the ledger of members whose rounds follow each other; only the first has its constant."""
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(one, name)[min(i, 1) :] for i, one in enumerate(ledgers)])
        for name in GradientLedger.column_types
    }
    candidates = tuple(part for one in ledgers for part in one.candidates)
    return GradientLedger(**arrays, candidates=candidates)
