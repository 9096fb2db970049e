"""Callbacks: what is called after each round of boosting, to show progress, to stop, or to keep a copy."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from spinney.core.errors import InputError, show_value


@dataclass(frozen=True)
class Round:
    """Tell a callback how far training is.

    number : rounds done so far; ``n_rounds`` is how many there may be.
    train_score, validation_score : the newest scores, greater is better; None where none is computed.
    model : call it for a fitted copy of the estimator as it is now.
    """

    number: int
    n_rounds: int
    train_score: float | None
    validation_score: float | None
    model: Callable[[], Any]


@runtime_checkable
class Callback(Protocol):
    """Be called after each round; anything true as the answer ends the training.

    A plain function does. An object may also have ``begin(n_done, n_rounds)``, called before the first round,
    and ``end()``, called in any case when training is over.

    >>> def stop_at_ten(round):
    ...     return round.number >= 10
    >>> isinstance(stop_at_ten, Callback)
    True
    """

    def __call__(self, round: Round) -> object:
        """Look at a round; return something true to stop."""


class StopAfter:
    """Stop after so many seconds, or once a score is reached.

    The score is that on the validation rows, or where there are none on the training rows. Which round is
    the last then depends on the clock, so ``seconds`` is the one thing that makes two fits differ.

    >>> StopAfter(seconds=60)
    StopAfter(seconds=60, score=None)
    """

    def __init__(self, seconds: float | None = None, score: float | None = None) -> None:
        if seconds is None and score is None:
            raise InputError("StopAfter takes seconds, a score, or both.")
        self.seconds, self.score = seconds, score
        self._start = time.monotonic()

    def __repr__(self) -> str:
        return f"StopAfter(seconds={self.seconds!r}, score={self.score!r})"

    def begin(self, n_done: int, n_rounds: int) -> None:
        """Start the clock."""
        self._start = time.monotonic()

    def __call__(self, round: Round) -> bool:
        """Tell whether the time is over or the score is reached."""
        reached = round.train_score if round.validation_score is None else round.validation_score
        if self.score is not None and reached is not None and reached >= self.score:
            return True
        return self.seconds is not None and time.monotonic() - self._start >= self.seconds


class Progress:
    """Show a bar with the rounds done, the newest scores and the time left, on the terminal's error stream.

    >>> model.fit(X, y, callbacks=[Progress()])  # doctest: +SKIP
    """

    def __init__(self, console: Any = None) -> None:
        self.console = console
        self._bar: Any = None
        self._task: Any = None

    def begin(self, n_done: int, n_rounds: int) -> None:
        """Draw the bar."""
        from rich import progress
        from rich.console import Console

        self._bar = progress.Progress(
            progress.TextColumn("boosting"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.fields[scores]}"),
            progress.TimeRemainingColumn(),
            console=self.console or Console(stderr=True),
        )
        self._bar.start()
        self._task = self._bar.add_task("boosting", total=n_rounds, completed=n_done, scores="")

    def __call__(self, round: Round) -> None:
        """Move the bar on."""
        named = {"train": round.train_score, "validation": round.validation_score}
        words = "  ".join(f"{name} {score:.5g}" for name, score in named.items() if score is not None)
        self._bar.update(self._task, completed=round.number, scores=words)

    def end(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def check_callbacks(callbacks: Any) -> list[Callback]:
    """Read the ``callbacks`` of ``fit``: None, one callable or several.

    >>> check_callbacks(None)
    []
    """
    if callbacks is None:
        return []
    found = list(callbacks) if isinstance(callbacks, Sequence) else [callbacks]
    for callback in found:
        if not callable(callback):
            raise InputError(
                f"callbacks has {show_value(callback)}, which cannot be called",
                fix="A callback is a function of a Round, or Progress(), StopAfter(…) or Checkpoint(…).",
            )
    return found


class Callbacks:
    """Call several callbacks as one, in a ``with`` block that begins and ends them.

    >>> with Callbacks([lambda round: round.number == 2], n_done=0, n_rounds=5) as called:
    ...     [called(Round(number, 5, None, None, lambda: None)) for number in (1, 2)]
    [False, True]
    """

    def __init__(self, callbacks: Sequence[Callback], n_done: int, n_rounds: int) -> None:
        self._callbacks, self._n_done, self._n_rounds = callbacks, n_done, n_rounds
        self._begun: list[Callback] = []

    def __enter__(self) -> Callbacks:
        try:
            for callback in self._callbacks:
                self._begun.append(callback)
                if hasattr(callback, "begin"):
                    callback.begin(self._n_done, self._n_rounds)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for callback in self._begun:
            if hasattr(callback, "end"):
                callback.end()

    def __call__(self, round: Round) -> bool:
        """Call each one; tell whether any wants to stop."""
        # All are called before any is asked: one that stops keeps none of those after it from its call.
        answers = [callback(round) for callback in self._callbacks]
        return any(map(bool, answers))
