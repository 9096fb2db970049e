"""RoundLedger: what each round of AdaBoost did, with the losses and the bounds that theory gives for them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.frames import to_frame
from spinney.io import CorruptModelFile, Persistent

_EXPONENT = 700.0  # exp of more would be infinite


@dataclass(frozen=True, eq=False)
class RoundLedger(Persistent):
    """Hold one row a round of AdaBoost.

    ``error`` is the weighted error ε of the round's member and ``weight`` its weight α in the score.
    ``exponential_loss`` is J, the mean of exp(−y F) over the training rows; ``z`` is what the round
    multiplied it by; ``train_error`` is that of the ensemble so far. ``product_bound``, Π 2√(ε(1 − ε)), and
    ``edge_bound``, exp(−2 Σ (½ − ε)²), are never below the loss, nor with two classes is that below the
    error; they are NaN where no such theorem is known.

    >>> from spinney import AdaBoostClassifier
    >>> from spinney.datasets import load_xor
    >>> AdaBoostClassifier(algorithm="discrete", n_estimators=3, ledger=True).fit(*load_xor()).ledger_.round
    array([1, 2, 3])
    """

    round: NDArray[np.int64]
    error: NDArray[np.float64]
    weight: NDArray[np.float64]
    z: NDArray[np.float64]
    exponential_loss: NDArray[np.float64]
    train_error: NDArray[np.float64]
    product_bound: NDArray[np.float64]
    edge_bound: NDArray[np.float64]

    def __post_init__(self) -> None:
        for field in fields(self):
            column, dtype = getattr(self, field.name), np.int64 if field.name == "round" else np.float64
            if not isinstance(column, np.ndarray) or column.dtype != dtype or column.ndim != 1:
                raise CorruptModelFile(f"Column {field.name!r} of the ledger is no list of {dtype.__name__}.")
            if len(column) != len(self.round):
                raise CorruptModelFile(f"Column {field.name!r} of the ledger is not as long as the others.")

    @classmethod
    def from_rows(cls, rows: list[dict[str, float]]) -> RoundLedger:
        """Build a ledger from one dict a round."""
        columns: dict[str, Any] = {
            field.name: np.array([row[field.name] for row in rows], np.float64) for field in fields(cls)
        }
        return cls(**columns | {"round": columns["round"].astype(np.int64)})

    def __len__(self) -> int:
        return len(self.round)

    def __getitem__(self, rounds: slice) -> RoundLedger:
        return RoundLedger(**{field.name: getattr(self, field.name)[rounds] for field in fields(self)})

    def __repr__(self) -> str:
        return f"RoundLedger({len(self)} rounds)"

    def to_columns(self) -> dict[str, list[Any]]:
        """Give the table by column."""
        return {field.name: getattr(self, field.name).tolist() for field in fields(self)}

    def to_records(self) -> list[dict[str, Any]]:
        """Give the table as one dict a round."""
        columns = self.to_columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_frame(self) -> Any:
        """Give the table as a pandas DataFrame, or a polars one where there is no pandas.

        >>> model.ledger_.to_frame().plot(x="round", y=["train_error", "product_bound"])  # doctest: +SKIP
        """
        return to_frame(self.to_columns())


def exponential(own_scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the exponential loss of each row from the score of its own class.  (n_rows,)"""
    return np.exp(np.clip(-own_scores, None, _EXPONENT))


def error_bound(error: float, n_classes: int, log_odds: float) -> float:
    """Give the most by which a member of this error multiplies the exponential loss: 2√(ε(1 − ε)) for K = 2.

    ``log_odds`` is ν (ln((1 − ε)/ε) + ln(K − 1)).

    >>> round(error_bound(0.25, 2, math.log(3.0)), 6), round(2 * math.sqrt(0.25 * 0.75), 6)
    (0.866025, 0.866025)
    """
    k = n_classes
    return (1 - error) * math.exp(-(k - 1) / k * log_odds) + error * math.exp(log_odds / k)


def edge_bound(error: float, n_classes: int, learning_rate: float) -> float:
    """Give the same from the edge γ = 1 − 1/K − ε alone, exp(−2γ²) (Pinsker); NaN for ν above 1.

    A loss is convex in the step, so a part ν of the best step gains at least the part ν of what that gains.
    """
    if learning_rate > 1:
        return math.nan
    edge = 1 - 1 / n_classes - error
    return 1 - learning_rate * (1 - math.exp(-2 * edge * edge))
