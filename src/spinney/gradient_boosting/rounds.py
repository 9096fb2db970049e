"""The rounds of gradient boosting: trees from the core's booster, scores, callbacks, and the end of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError
from spinney.gradient_boosting.callbacks import Callback, Callbacks, Round
from spinney.gradient_boosting.ledger import RoundLog
from spinney.gradient_boosting.validation import Judge, LossJudge, Patience, Watched
from spinney.losses.losses import Loss
from spinney.native import core
from spinney.tree.grower import Grown
from spinney.tree.tree_arrays import TreeArrays

Floats = NDArray[np.float64]


@dataclass
class History:
    """Hold the scores after each round, that of the constant first; none where they are not followed."""

    train: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)


@dataclass
class Training:
    """Run a booster: grow trees round by round, follow scores, call callbacks, and stop when it is time.

    ``watched`` are the training and the validation rows, None where their score is not followed; ``judge``
    scores them, ``patience`` then ends the training (None: it goes on to the last round).
    """

    booster: core.Booster
    loss: Loss
    y: Floats
    judge: Judge | None = None
    train: Watched | None = None
    validation: Watched | None = None
    patience: Patience | None = None
    log: RoundLog | None = None
    history: History = field(default_factory=History)
    trees: list[TreeArrays] = field(default_factory=list)

    def run(
        self, n_done: int, n_rounds: int, callbacks: Sequence[Callback], snapshot: Callable[[], Any]
    ) -> None:
        """Grow the rounds after ``n_done`` up to ``n_rounds``; ``snapshot`` makes the model as it is."""
        if not (callbacks or self.judge or self.log):
            self._grow(n_rounds - n_done)
            return
        if n_done == 0:
            self._follow([])
        else:
            self._go_on(n_done)
        with Callbacks(callbacks, n_done, n_rounds) as call:
            stop, number = False, n_done
            while number < n_rounds and not stop and not (self.patience and self.patience.is_over):
                self._follow(self._grow(1))
                number += 1
                train, validation = (
                    scores[-1] if scores else None for scores in (self.history.train, self.history.validation)
                )
                stop = call(Round(number, n_rounds, train, validation, snapshot))

    def _go_on(self, n_done: int) -> None:
        """Take up the scores where training left off; where they were not followed, from now on."""
        for rows, scores in ((self.train, self.history.train), (self.validation, self.history.validation)):
            if rows is not None and self.judge is not None and not scores:
                scores.extend([*[np.nan] * n_done, rows.score(self.judge)])
        if self.patience is not None:
            self.patience.see(*(self.history.validation or self.history.train))

    def _grow(self, n_rounds: int) -> list[Grown]:
        """Grow the trees of some rounds; give each with its candidates."""
        if n_rounds == 0:
            return []
        if self.loss.core_name:
            raw = self.booster.run(self.loss.core_name, self.loss.parameter, n_rounds)
        else:
            raw = [tree for _ in range(n_rounds) for tree in self._step()]
        grown = [Grown(TreeArrays.from_grown(tree), tree.candidates) for tree in raw]
        self.trees += [one.tree for one in grown]
        return grown

    def _step(self) -> list[core.GrownTree]:
        """Grow one round of a loss that the core does not know."""
        scores = self.booster.scores
        given = scores[:, 0] if scores.shape[1] == 1 else scores
        slopes = []
        for name in ("gradient", "hessian"):
            slope = np.asarray(getattr(self.loss, name)(self.y, given), dtype=np.float64)
            if slope.shape != given.shape:
                raise InputError(
                    f"The {name} of {type(self.loss).__name__} has shape {slope.shape}",
                    fix=f"It must have the shape of the scores, {given.shape}.",
                )
            if not np.isfinite(slope).all():
                row = int(np.argwhere(~np.isfinite(slope))[0][0])
                raise InputError(f"The {name} of {type(self.loss).__name__} is not finite", row=row)
            slopes.append(np.ascontiguousarray(slope.reshape(scores.shape)))
        gradient, hessian = slopes
        return self.booster.step(gradient, hessian)

    def _follow(self, grown: Sequence[Grown]) -> None:
        """Bring scores and ledger up to the newest round."""
        followed = (self.train, self.history.train), (self.validation, self.history.validation)
        losses = [np.nan, np.nan]
        for place, (rows, scores) in enumerate(followed):
            if rows is None:
                continue
            if grown:
                rows.add([one.tree for one in grown])
            if self.judge is not None:
                scores.append(rows.score(self.judge))
            if self.log is not None and self.loss.has_value:
                by_loss = isinstance(self.judge, LossJudge)
                losses[place] = -scores[-1] if by_loss else -rows.score(LossJudge(self.loss))
        if self.log is not None:
            self.log.add(losses[0], losses[1], grown)
        if self.patience is not None:
            self.patience.see((self.history.validation or self.history.train)[-1])
