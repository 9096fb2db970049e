"""Checkpoints: the model saved during training, from which training resumes to the same bytes."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError
from spinney.data.schema import Schema
from spinney.gradient_boosting.callbacks import Round
from spinney.io import save


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

    Examples
    --------
    >>> model.fit(X, y, callbacks=[Checkpoint("run.spinney", every=50)])      # doctest: +SKIP
    >>> GradientBoostingClassifier.resume("run.spinney", X, y)                # doctest: +SKIP
    """

    def __init__(
        self, path: str | os.PathLike[str], every: int | None = None, seconds: float | None = None
    ) -> None:
        for name, value in (("every", every), ("seconds", seconds)):
            if value is not None and not value > 0:
                raise InputError(f"The {name} of a Checkpoint is {value!r}; it must be a number above 0.")
        self.path, self.every = path, every
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
            save(round.model(), self.path)
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
