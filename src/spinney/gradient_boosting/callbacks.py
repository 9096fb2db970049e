"""Callbacks: functions that are called after every round of boosting, to show progress or to stop."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, show_value
from spinney.core.progress import ProgressBar
from spinney.data.schema import Schema
from spinney.io import save

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
        Maximum number of rounds of this pass.
    train_score : float or None
        Newest score of the training rows, greater is better; None where none is computed.
    validation_score : float or None
        Newest score of the validation rows, greater is better; None where there are none.
    model : callable
        Call it for a fitted copy of the estimator in its current state.
    phase : {"fit", "search", "refit"}
        The pass: "search" finds the number of rounds on a part of the rows, "refit" fits that many on all
        rows; "fit" where there is only one pass.
    member : int
        Index of the member with ``n_members`` above 1.
    by_loss : bool
        Whether the scores are mean losses with the sign changed.

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
    phase: Literal["fit", "search", "refit"] = "fit"
    member: int = 0
    by_loss: bool = False


@runtime_checkable
class Callback(Protocol):
    """Called after every round. Return True to stop training.

    A plain function will do. An object may also have ``begin(n_done, n_rounds)``, called before the first
    round of the first pass, and ``end()``, which is called when training ends for any reason. Training that
    is stopped in the first of two passes has no second one.

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
    """Callback that shows the newest scores in a progress bar, or in messages of the logger ``spinney``.

    The bar is drawn on standard error, or in the output of a notebook cell. There are messages instead if the
    logger is enabled for INFO, such as after ``logging.basicConfig(level="INFO")``.

    Parameters
    ----------
    console : rich.console.Console or None, default=None
        Where to draw; None is standard error, or the notebook.
    every : int, default=1
        Number of rounds between two messages; 1 logs ten messages in all.

    Examples
    --------
    >>> model.fit(X, y, callbacks=[Progress()])  # doctest: +SKIP
    """

    def __init__(self, console: Console | None = None, every: int = 1) -> None:
        if not every > 0:
            raise InputError(f"every={every!r} of Progress must be a number above 0.")
        self.console, self.every = console, every
        self._bar: ProgressBar | None = None
        self._pass: tuple[str, int] | None = None

    def begin(self, n_done: int, n_rounds: int) -> None:
        """Draw the bar.

        Parameters
        ----------
        n_done : int
            Number of rounds of earlier fits.
        n_rounds : int
            Maximum number of rounds.
        """
        self._start("boosting", n_done, n_rounds)
        self._pass = None

    def _start(self, title: str, n_done: int, n_rounds: int) -> None:
        if self._bar is not None:
            self._bar.close(leave=False)  # of several passes the last bar is left
        bar = ProgressBar(title, n_rounds, shown=self.every, done=n_done, console=self.console)
        self._bar = bar.__enter__()

    def __call__(self, round: Round) -> None:
        """Redraw the bar; every pass replaces that of the pass before."""
        now = (round.phase, round.member)
        if now != self._pass:
            if self._pass is not None or round.phase == "refit":
                title = "boosting on all rows" if round.phase == "refit" else "boosting"
                self._start(title, round.number - 1, round.n_rounds)
            self._pass = now
        scores = {"train": round.train_score, "validation": round.validation_score}
        text = "  ".join(
            f"{name} loss {-score:.5g}" if round.by_loss else f"{name} {score:.5g}"
            for name, score in scores.items()
            if score is not None
        )
        if self._bar is not None:
            self._bar.update(round.number, text)

    def end(self) -> None:
        """Stop the bar, which stays on the screen."""
        if self._bar is not None:
            self._bar.__exit__()
            self._bar = None


class Checkpoint:
    """Callback that saves the current model every so many rounds or seconds.

    The file is replaced atomically: after a crash or a power failure ``path`` holds some complete checkpoint.
    It is a model file like any other; ``GradientBoostingClassifier.resume`` continues training from it.

    Parameters
    ----------
    path : str or path-like
        File to write.
    every : int or None, default=None
        Save after every ``every`` rounds.
    seconds : float or None, default=None
        Save once this many seconds have passed since the last time. Without either, every 60 seconds.
    metadata : dict or None, default=None
        Plain values to store beside the model, see `spinney.save`.

    Examples
    --------
    >>> model.fit(X, y, callbacks=[Checkpoint("run.spinney", every=50)])      # doctest: +SKIP
    >>> GradientBoostingClassifier.resume("run.spinney", X, y)                # doctest: +SKIP
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: int | None = None,
        seconds: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        for name, value in (("every", every), ("seconds", seconds)):
            if value is not None and not value > 0:
                raise InputError(f"The {name} of a Checkpoint is {value!r}; it must be a number above 0.")
        self.path, self.every, self.metadata = path, every, metadata
        self.seconds = 60.0 if every is None and seconds is None else seconds
        self._last = time.monotonic()

    def __repr__(self) -> str:
        return f"Checkpoint({os.fspath(self.path)!r}, every={self.every!r}, seconds={self.seconds!r})"

    def begin(self, n_done: int, n_rounds: int) -> None:
        """Start the clock, and check before the first round that the directory exists.

        Parameters
        ----------
        n_done : int
            Number of rounds of earlier fits.
        n_rounds : int
            Maximum number of rounds.
        """
        directory = Path(self.path).resolve().parent
        if not directory.is_dir():
            raise InputError(f"A Checkpoint cannot be saved to {str(self.path)!r}: there is no {directory}.")
        self._last = time.monotonic()

    def __call__(self, round: Round) -> None:
        """Save the model if it is due."""
        due = self.every is not None and round.number % self.every == 0
        due = due or (self.seconds is not None and time.monotonic() - self._last >= self.seconds)
        if due:
            save(round.model(), self.path, metadata=self.metadata)
            self._last = time.monotonic()


def fingerprint(schema: Schema, *arrays: NDArray[np.float64] | None) -> str:
    """Hash of the names and kinds of the columns, and of targets, weights and initial scores.

    The table itself is not hashed: that would take longer than a round of boosting.

    >>> from spinney.data import read_table
    >>> rows = read_table([[1.0]])
    >>> fingerprint(rows.schema, np.ones(1), None) == fingerprint(rows.schema, None, np.ones(1))
    False
    """
    digest = hashlib.sha256(repr([(f.name, f.kind, len(f.categories)) for f in schema.features]).encode())
    for array in arrays:
        content = b"" if array is None else np.ascontiguousarray(array, dtype="<f8").tobytes()
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()


def check_same_rows(expected: str | None, found: str, path: object) -> None:
    """Raise InputError if training would resume with other rows than it started with."""
    if expected is None:
        raise InputError(
            f"{str(path)!r} contains a finished model, not a checkpoint",
            fix="Load it, set warm_start=True and a larger n_estimators, and fit it to continue.",
        )
    if expected != found:
        raise InputError(
            f"The rows are not those that the checkpoint {str(path)!r} was trained on: the columns, "
            "y, sample_weight, init_score or the eval_set differ.",
            fix="Pass what was passed to fit, in the same order.",
        )


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
