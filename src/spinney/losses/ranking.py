"""Ranking losses: LambdaMART for NDCG and MAP, the pairwise logistic loss, and XE-NDCG."""

# ruff: noqa: D102  (the methods of the losses are documented in Loss)

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, ModelFileError, show_value
from spinney.losses.losses import IDENTITY, Loss
from spinney.native import core

Floats = NDArray[np.float64]
Gain = Literal["exponential", "linear"]

RANKING_LOSSES = ("ndcg", "map", "pairwise", "xendcg")
GAINS = ("exponential", "linear")
# 2^y − 1 is exact and sums of it do not lose digits up to here; LightGBM has the same limit.
_MAX_RELEVANCE = 30


@dataclass(frozen=True)
class RankingLoss(Loss):
    """Loss of the order of the rows of each query; y is their relevance.

    ``gradient`` and ``hessian`` take all rows for one query; `derivatives_of` takes several.

    Attributes
    ----------
    name : {"ndcg", "map", "pairwise", "xendcg"}
        What is optimised.
    gain : {"exponential", "linear"}
        Gain of relevance y in the NDCG: 2^y − 1, or y.
    sigma : float
        Steepness of the logistic function of score differences.
    n_top : int
        Pairs have a row among the first n_top by score; 0 takes all pairs.
    normalize : bool
        Whether gradients are normalised as in LightGBM's lambdarank.

    Examples
    --------
    >>> loss = RankingLoss("pairwise", normalize=False)
    >>> loss.gradient(np.array([1.0, 0.0]), np.zeros(2)).tolist()
    [-0.5, 0.5]
    """

    link = IDENTITY
    name: str = "ndcg"
    gain: str = "exponential"
    sigma: float = 1.0
    n_top: int = 0
    normalize: bool = True

    def __post_init__(self) -> None:
        valid = self.name in RANKING_LOSSES and self.gain in GAINS and type(self.n_top) is int
        valid = valid and self.n_top >= 0 and 0 < self.sigma < np.inf and type(self.normalize) is bool
        if not valid:
            raise ModelFileError(
                f"The ranking loss {show_value(self.name)} has parameters that are not sound."
            )

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return self.derivatives(y, score)[0]

    def hessian(self, y: Floats, score: Floats) -> Floats:
        return self.derivatives(y, score)[1]

    def derivatives(self, y: Floats, score: Floats) -> tuple[Floats, Floats]:
        rows = np.arange(len(y), dtype=np.int64)
        one = core.QuerySet(rows, np.array([0, len(y)], dtype=np.int64), gains(y, self.gain))
        return self.derivatives_of(one, score, 0, 1)

    def derivatives_of(
        self, queries: core.QuerySet, score: Floats, address: int, n_threads: int
    ) -> tuple[Floats, Floats]:
        """Return gradient and hessian of each row; ``address`` is that of XE-NDCG's random draws."""
        score = np.ascontiguousarray(score, dtype=np.float64)
        options = self.name, self.sigma, self.n_top, self.normalize
        return queries.gradients(*options, score, address, n_threads)

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        return np.zeros(1)

    def check_target(self, y: Floats, weights: Floats | None) -> None:
        check_relevance(y, self.gain)
        if self.name == "map" and not np.isin(y, (0.0, 1.0)).all():
            row = int(np.argmin(np.isin(y, (0.0, 1.0))))
            raise InputError(
                f'y is {show_value(float(y[row]))}, but loss="map" needs relevance 0 or 1',
                row=row,
                fix='Use loss="ndcg" for graded relevance, or pass y > 0.',
            )


def check_relevance(y: Floats, gain: str) -> None:
    """Raise InputError for relevance that the gain is not defined for."""
    if (y < 0).any():
        row = int(np.argmax(y < 0))
        raise InputError(
            f"y is {show_value(float(y[row]))}, but relevance must not be negative",
            row=row,
            fix="Add a constant, so that the least relevant rows have 0.",
        )
    bad = (y != np.floor(y)) | (y > _MAX_RELEVANCE)
    if gain == "exponential" and bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f'y is {show_value(float(y[row]))}, but gain="exponential" needs integers from 0 to '
            f"{_MAX_RELEVANCE}",
            row=row,
            fix='Set gain="linear", or round y to a few levels of relevance.',
        )


def gains(y: Floats, gain: str) -> Floats:
    """Return the gain of each relevance: 2^y − 1, or y.

    >>> gains(np.array([0.0, 1.0, 3.0]), "exponential").tolist()
    [0.0, 1.0, 7.0]
    """
    if gain == "linear":
        return np.ascontiguousarray(y, dtype=np.float64)
    return np.ldexp(1.0, y.astype(np.int32)) - 1.0
