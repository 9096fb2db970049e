"""MultiOutputLoss: one loss for each of several outputs."""

# ruff: noqa: D102  (the methods of the losses are documented in Loss)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, ModelFileError
from spinney.losses.losses import Link, Loss

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MultiOutputLoss(Loss):
    """Mean over several outputs of a loss, each with its own raw score; y and scores have one column each.

    Attributes
    ----------
    loss : Loss
        The loss of an output.
    n_outputs : int
        Number of outputs.

    Examples
    --------
    >>> from spinney.losses.losses import SquaredLoss
    >>> MultiOutputLoss(SquaredLoss(), 2).value(np.array([[1.0, 2.0]]), np.zeros((1, 2))).tolist()
    [1.25]
    """

    loss: Loss
    n_outputs: int

    def __post_init__(self) -> None:
        valid = isinstance(self.loss, Loss) and type(self.n_outputs) is int and self.n_outputs > 1
        if not valid or isinstance(self.loss, MultiOutputLoss):
            raise ModelFileError("The loss of several outputs is not sound.")
        if self.loss.changes:
            raise InputError(
                f"{type(self.loss).__name__} changes from round to round; several outputs do not allow that",
                fix="Fit one model per output.",
            )

    @property
    def core_name(self) -> str:  # type: ignore[override]
        return self.loss.core_name

    @property
    def link(self) -> Link | None:  # type: ignore[override]
        return self.loss.link

    @property
    def parameter(self) -> float:
        return self.loss.parameter

    @property
    def parameters(self) -> tuple[float, ...]:
        return self.loss.parameters

    @property
    def has_value(self) -> bool:
        return self.loss.has_value

    def _columns(self, function: Callable[..., Floats], y: Floats, score: Floats) -> Floats:
        """Apply a function of one output to each.  -> (n_rows, n_outputs)"""
        return np.stack([function(y[:, k], score[:, k]) for k in range(self.n_outputs)], axis=1)

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return self._columns(self.loss.gradient, y, score)

    def hessian(self, y: Floats, score: Floats) -> Floats:
        return self._columns(self.loss.hessian, y, score)

    def value(self, y: Floats, score: Floats) -> Floats:
        mean: Floats = self._columns(self.loss.value, y, score).mean(axis=1)
        return mean

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        return np.concatenate([self.loss.constant(column, weights) for column in y.T])

    def check_target(self, y: Floats, weights: Floats | None) -> None:
        for column in y.T:
            self.loss.check_target(column, weights)
