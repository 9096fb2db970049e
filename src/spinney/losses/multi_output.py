"""Losses of several outputs: one loss for all, or the log loss of each with any number of classes."""

# ruff: noqa: D102  (the methods of the losses are documented in Loss)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, ModelFileError
from spinney.losses.losses import LOGIT, MULTI_LOGIT, Link, LogLoss, Loss, SoftmaxLoss

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


@dataclass(frozen=True)
class MultiClassOutputsLoss(Loss):
    """Mean over several outputs of the log loss of each, which may have any number of classes.

    An output has one raw score per class where there are more than two, else one; those of one output follow
    those of the output before. Derivatives are computed here, not in the compiled core.

    Attributes
    ----------
    n_classes : tuple of int
        Number of classes of each output.

    Examples
    --------
    >>> loss = MultiClassOutputsLoss((2, 3))
    >>> loss.n_scores, loss.value(np.array([[1.0, 2.0]]), np.zeros((1, 4))).round(4).tolist()
    (4, [0.8959])
    """

    bounds_steps = True
    n_classes: tuple[int, ...]

    def __post_init__(self) -> None:
        valid = type(self.n_classes) is tuple and len(self.n_classes) > 1
        if not valid or not all(type(n) is int and n >= 1 for n in self.n_classes):
            raise ModelFileError("The numbers of classes of several outputs are not sound.")

    @property
    def _sizes(self) -> list[int]:
        """Number of raw scores of each output."""
        return [n if n > 2 else 1 for n in self.n_classes]

    @property
    def n_scores(self) -> int:
        """Number of raw scores of a row."""
        return sum(self._sizes)

    def _parts(self, y: Floats, score: Floats) -> list[tuple[Loss, Floats, Floats]]:
        """Return the loss, the targets and the raw scores of each output."""
        return [
            (SoftmaxLoss(n), column, np.ascontiguousarray(part)) if n > 2 else (LogLoss(), column, part[:, 0])
            for n, column, part in zip(self.n_classes, y.T, self.by_output(score), strict=True)
        ]

    def by_output(self, columns: Floats) -> list[Floats]:
        """Return the columns of each output, of raw scores or what was computed from them."""
        ends = [0, *accumulate(self._sizes)]
        return [columns[:, begin:end] for begin, end in pairwise(ends)]

    def indicators(self, y: Floats) -> Floats:
        """Return class codes as one column per raw score: an indicator per class, or the code itself."""
        columns = [
            code[:, None] == np.arange(n) if n > 2 else code[:, None]
            for n, code in zip(self.n_classes, y.T, strict=True)
        ]
        return np.hstack(columns).astype(np.float64)

    def probabilities(self, score: Floats) -> list[Floats]:
        """Return the class probabilities of each output, (n_rows, n_classes) each."""
        each = []
        for n, part in zip(self.n_classes, self.by_output(score), strict=True):
            if n > 2:
                each.append(MULTI_LOGIT.mean(np.ascontiguousarray(part)))
            elif n == 2:
                second = LOGIT.mean(part)
                each.append(np.hstack([1.0 - second, second]))
            else:
                each.append(np.ones((len(part), 1)))
        return each

    def gradient(self, y: Floats, score: Floats) -> Floats:
        return np.column_stack([loss.gradient(*known) for loss, *known in self._parts(y, score)])

    def hessian(self, y: Floats, score: Floats) -> Floats:
        return np.column_stack([loss.hessian(*known) for loss, *known in self._parts(y, score)])

    def value(self, y: Floats, score: Floats) -> Floats:
        each = [loss.value(*known) for loss, *known in self._parts(y, score)]
        return np.asarray(np.mean(each, axis=0))

    def constant(self, y: Floats, weights: Floats | None) -> Floats:
        nothing = np.zeros((len(y), self.n_scores))
        return np.concatenate([loss.constant(column, weights) for loss, column, _ in self._parts(y, nothing)])
