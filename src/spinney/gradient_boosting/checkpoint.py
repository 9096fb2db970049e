"""Checkpoints: a copy of the model on disk every so often, from which training goes on to the same bytes."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError
from spinney.data.schema import Schema
from spinney.gradient_boosting.callbacks import Round
from spinney.io import save


class Checkpoint:
    """Save the model so far to ``path`` after every ``every`` rounds, or once ``seconds`` have passed.

    The file appears whole or not at all, and the one before it stays until then: after a crash, or a loss of
    power, ``path`` holds some complete checkpoint. `GradientBoostingClassifier.resume` goes on from it; it is
    also a model file like any other. By default it is written every 60 seconds.

    >>> model.fit(X, y, callbacks=[Checkpoint("run.spinney", every=50)])      # doctest: +SKIP
    >>> GradientBoostingClassifier.resume("run.spinney", X, y)                # doctest: +SKIP
    """

    def __init__(
        self, path: str | os.PathLike[str], every: int | None = None, seconds: float | None = None
    ) -> None:
        for name, value in (("every", every), ("seconds", seconds)):
            if value is not None and not value > 0:
                raise InputError(f"The {name} of a Checkpoint is {value!r}; it takes a number above 0.")
        self.path, self.every = path, every
        self.seconds = 60.0 if every is None and seconds is None else seconds
        self._last = time.monotonic()

    def __repr__(self) -> str:
        return f"Checkpoint({os.fspath(self.path)!r}, every={self.every!r}, seconds={self.seconds!r})"

    def begin(self, n_done: int, n_rounds: int) -> None:
        """Start the clock, and find out before the first round whether there is a directory to write to."""
        directory = Path(self.path).resolve().parent
        if not directory.is_dir():
            raise InputError(f"A Checkpoint cannot be saved to {str(self.path)!r}: there is no {directory}.")
        self._last = time.monotonic()

    def __call__(self, round: Round) -> None:
        """Save the model if it is time to."""
        due = self.every is not None and round.number % self.every == 0
        due = due or (self.seconds is not None and time.monotonic() - self._last >= self.seconds)
        if due:
            save(round.model(), self.path)
            self._last = time.monotonic()


def fingerprint(schema: Schema, *arrays: NDArray[np.float64] | None) -> str:
    """Tell trainings apart by the names and kinds of their columns, their targets, weights and scores.

    The table itself is not read: that would take longer than a round of boosting.

    >>> from spinney.data import read_table
    >>> rows = read_table([[1.0]])
    >>> fingerprint(rows.schema, np.ones(1), None) == fingerprint(rows.schema, None, np.ones(1))
    False
    """
    seen = hashlib.sha256(repr([(f.name, f.kind, len(f.categories)) for f in schema.features]).encode())
    for array in arrays:
        content = b"" if array is None else np.ascontiguousarray(array, dtype="<f8").tobytes()
        seen.update(len(content).to_bytes(8, "little") + content)
    return seen.hexdigest()


def check_same_rows(expected: Any, found: str, path: object) -> None:
    """Raise InputError where training would go on with other rows than it began with."""
    if expected is None:
        raise InputError(
            f"{str(path)!r} holds a finished model, not a checkpoint",
            fix="Load it and fit it with warm_start=True and more n_estimators to go on.",
        )
    if expected != found:
        raise InputError(
            f"The rows are not those that the checkpoint {str(path)!r} was training on: the columns, "
            "y, sample_weight, init_score or the eval_set differ.",
            fix="Pass what was passed to fit, in the same order.",
        )
