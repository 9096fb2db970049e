"""RoundLedger: errors, weights and losses of AdaBoost by round, and the bounds of the exponential loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.elementary import exp
from spinney.core.ledger import Ledger
from spinney.io import Persistent

Floats = NDArray[np.float64]
_MAX_EXPONENT = 700.0  # larger exponents overflow


@dataclass(frozen=True, eq=False, repr=False)
class RoundLedger(Ledger, Persistent):
    """Record of AdaBoost, one row per round.

    Attributes
    ----------
    round : ndarray of shape (n_rounds,)
        Number of the round, from 1.
    error : ndarray of shape (n_rounds,)
        Weighted error ε of the member.
    weight : ndarray of shape (n_rounds,)
        Weight α of the member.
    z : ndarray of shape (n_rounds,)
        Factor by which the round multiplied the exponential loss.
    exponential_loss : ndarray of shape (n_rounds,)
        Mean of exp(−y F) over the training rows.
    train_error : ndarray of shape (n_rounds,)
        Training error of the ensemble.
    product_bound : ndarray of shape (n_rounds,)
        Π 2√(ε(1 − ε)), an upper bound of the exponential loss, which with two classes is an upper bound of
        the training error; NaN for algorithms without such a theorem.
    edge_bound : ndarray of shape (n_rounds,)
        exp(−2 Σ (½ − ε)²), a weaker bound; NaN likewise.

    Examples
    --------
    >>> from spinney import AdaBoostClassifier
    >>> from spinney.datasets import load_xor
    >>> AdaBoostClassifier(algorithm="discrete", n_estimators=3, ledger=True).fit(*load_xor()).ledger_.round
    array([1, 2, 3])
    """

    row_name = "rounds"

    round: NDArray[np.int64]
    error: Floats
    weight: Floats
    z: Floats
    exponential_loss: Floats
    train_error: Floats
    product_bound: Floats
    edge_bound: Floats

    def __post_init__(self) -> None:
        self.check_columns()

    @classmethod
    def from_rows(cls, rows: list[dict[str, float]]) -> RoundLedger:
        """Build a ledger from one dict per round."""
        columns: dict[str, Any] = {
            name: np.array([row[name] for row in rows], dtype) for name, dtype in cls.column_types.items()
        }
        return cls(**columns)

    def __getitem__(self, rounds: slice) -> RoundLedger:
        columns: dict[str, Any] = {name: getattr(self, name)[rounds] for name in self.column_types}
        return RoundLedger(**columns)


def exponential(own_scores: Floats) -> Floats:
    """Return the exponential loss of each row from the score of its true class.  (n_rows,)"""
    return np.asarray(exp(np.clip(-own_scores, None, _MAX_EXPONENT)))


def error_bound(error: float, n_classes: int, log_odds: float) -> float:
    """Upper bound of the factor by which a member multiplies the exponential loss: 2√(ε(1 − ε)) for K = 2.

    ``log_odds`` is ν (ln((1 − ε)/ε) + ln(K − 1)).

    >>> round(error_bound(0.25, 2, math.log(3.0)), 6), round(2 * math.sqrt(0.25 * 0.75), 6)
    (0.866025, 0.866025)
    """
    k = n_classes
    return float((1 - error) * exp(-(k - 1) / k * log_odds) + error * exp(log_odds / k))


def edge_bound(error: float, n_classes: int, learning_rate: float) -> float:
    """Weaker bound from the edge γ = 1 − 1/K − ε alone, exp(−2γ²) (Pinsker); NaN for ν above 1.

    The loss is convex in the step, so a fraction ν of the best step gains at least a fraction ν of its gain.
    """
    if learning_rate > 1:
        return math.nan
    edge = 1 - 1 / n_classes - error
    return 1 - learning_rate * (1 - float(exp(-2 * edge * edge)))
