"""Callbacks: functions that are called after every round of boosting, to show progress or to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from spinney.core.errors import InputError, show_value
from spinney.core.progress import ProgressBar

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Round:
    """State of training after a round, passed to callbacks.

    Attributes
    ----------
    number : int
        Number of rounds done so far.
    n_rounds : int
        Maximum number of rounds.
    train_score : float or None
        Newest score of the training rows, greater is better; None where none is computed.
    validation_score : float or None
        Newest score of the validation rows, greater is better; None where there are none.
    model : callable
        Call it for a fitted copy of the estimator in its current state.

    Examples
    --------
    >>> def print_every_tenth(round):
    ...     if round.number % 10 == 0:
    ...         print(round.number, round.train_score)
    """

    number: int
    n_rounds: int
    train_score: float | None
    validation_score: float | None
    model: Callable[[], Any]


@runtime_checkable
class Callback(Protocol):
    """Called after every round. Return True to stop training.

    A plain function will do. An object may also have ``begin(n_done, n_rounds)``, called before the first
    round, and ``end()``, which is called when training ends for any reason.

    >>> def stop_at_ten(round):
    ...     return round.number >= 10
    >>> isinstance(stop_at_ten, Callback)
    True
    """

    def __call__(self, round: Round) -> object:
        """Return True to stop training."""


class StopAfter:
    """Callback that stops training after a time limit, or once a score is reached.

    The score is that of the validation rows, or of the training rows where there are none. With a time limit
    the number of rounds depends on the speed of the machine: it is the only setting with which two fits
    differ.

    Parameters
    ----------
    seconds : float or None, default=None
        Time limit in seconds.
    score : float or None, default=None
        Score to reach.

    Examples
    --------
    >>> StopAfter(seconds=60)
    StopAfter(seconds=60, score=None)
    """

    def __init__(self, seconds: float | None = None, score: float | None = None) -> None:
        if seconds is None and score is None:
            raise InputError("StopAfter needs seconds, a score, or both.")
        self.seconds, self.score = seconds, score
        self._start = time.monotonic()

    def __repr__(self) -> str:
        return f"StopAfter(seconds={self.seconds!r}, score={self.score!r})"

    def begin(self, n_done: int, n_rounds: int) -> None:
        """Start the clock.

        Parameters
        ----------
        n_done : int
            Number of rounds of earlier fits.
        n_rounds : int
            Maximum number of rounds.
        """
        self._start = time.monotonic()

    def __call__(self, round: Round) -> bool:
        """Return True once the time is over or the score is reached."""
        reached = round.train_score if round.validation_score is None else round.validation_score
        if self.score is not None and reached is not None and reached >= self.score:
            return True
        return self.seconds is not None and time.monotonic() - self._start >= self.seconds


class Progress:
    """Callback that shows a progress bar with the newest scores on standard error.

    Parameters
    ----------
    console : rich.console.Console or None, default=None
        Where to draw; None is standard error.

    Examples
    --------
    >>> model.fit(X, y, callbacks=[Progress()])  # doctest: +SKIP
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console
        self._bar: ProgressBar | None = None

    def begin(self, n_done: int, n_rounds: int) -> None:
        """Draw the bar.

        Parameters
        ----------
        n_done : int
            Number of rounds of earlier fits.
        n_rounds : int
            Maximum number of rounds.
        """
        self._bar = ProgressBar("boosting", n_rounds, done=n_done, console=self.console).__enter__()

    def __call__(self, round: Round) -> None:
        """Redraw the bar."""
        scores = {"train": round.train_score, "validation": round.validation_score}
        text = "  ".join(f"{name} {score:.5g}" for name, score in scores.items() if score is not None)
        if self._bar is not None:
            self._bar.update(round.number, text)

    def end(self) -> None:
        """Stop the bar and leave it on the screen."""
        if self._bar is not None:
            self._bar.__exit__()
            self._bar = None


def check_callbacks(callbacks: Any) -> list[Callback]:
    """Read the ``callbacks`` argument of ``fit``: None, one callable or several.

    >>> check_callbacks(None)
    []
    """
    if callbacks is None:
        return []
    found = list(callbacks) if isinstance(callbacks, Sequence) else [callbacks]
    for callback in found:
        if not callable(callback):
            raise InputError(
                f"callbacks contains {show_value(callback)}, which cannot be called",
                fix="A callback is a function of a Round, or Progress(), StopAfter(…) or Checkpoint(…).",
            )
    return found


class Callbacks:
    """Several callbacks as one; a context manager that calls their ``begin`` and ``end``.

    >>> with Callbacks([lambda round: round.number == 2], n_done=0, n_rounds=5) as call:
    ...     [call(Round(number, 5, None, None, lambda: None)) for number in (1, 2)]
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
        """Call every callback; return True if any of them stops training."""
        # All are called first: a callback that stops must not keep the ones after it from being called.
        results = [callback(round) for callback in self._callbacks]
        return any(map(bool, results))
