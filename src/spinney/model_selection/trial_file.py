"""The file of a search: one line per finished trial, so that an interrupted search continues where it was."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from spinney.core.errors import InputError
from spinney.io.files import replace_file

KIND = "spinney trials"


class TrialFile:
    """Trials as JSON lines: a header that describes the search, then one line per trial.

    A line is appended and flushed to disk after every trial. What a killed process left of its last line is
    ignored, and removed at the next start.

    Parameters
    ----------
    path : str or path
        The file; it is created if it does not exist.
    header : dict
        Description of the search. A file of another search is refused.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     TrialFile(f"{folder}/trials.jsonl", {"seed": 0}).append({"score": 1.0})
    ...     TrialFile(f"{folder}/trials.jsonl", {"seed": 0}).trials
    [{'score': 1.0}]
    """

    def __init__(self, path: str | os.PathLike[str], header: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.trials: list[dict[str, Any]] = []
        wanted = json.loads(json.dumps({"kind": KIND, **header}))
        if self.path.exists() and self.path.stat().st_size:
            found, self.trials = read_trials(self.path)
            different = sorted(key for key in wanted if key != "command" and found.get(key) != wanted[key])
            if different:
                raise InputError(
                    f"{str(self.path)!r} has the trials of another search: {', '.join(different)} differ",
                    fix="Pass the data and options of that search, or another file.",
                )
            wanted = found
        lines = [json.dumps(wanted), *(json.dumps(trial) for trial in self.trials)]
        replace_file(self.path, "".join(line + "\n" for line in lines).encode())

    def append(self, trial: Mapping[str, Any]) -> None:
        """Write one more trial.

        Parameters
        ----------
        trial : dict
            Plain values.
        """
        line = json.dumps(trial) + "\n"
        with self.path.open("ab") as stream:
            stream.write(line.encode())
            stream.flush()
            os.fsync(stream.fileno())
        self.trials.append(json.loads(line))


def read_trials(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the header and the complete trials of a file.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    tuple of dict and list of dict
        Header and trials.

    Examples
    --------
    >>> read_trials("trials.jsonl")  # doctest: +SKIP
    """
    lines = Path(path).read_bytes().split(b"\n")
    complete = []
    for line in lines[:-1]:  # what follows the last line end is not complete
        try:
            complete.append(json.loads(line))
        except ValueError:
            break
    if not complete or not isinstance(complete[0], dict) or complete[0].get("kind") != KIND:
        raise InputError(f"{os.fspath(path)!r} is not a file of trials", fix="Pass another file.")
    return complete[0], [trial for trial in complete[1:] if isinstance(trial, dict)]


def data_fingerprint(names: Any, y: Any, n_rows: int) -> str:
    """Return a hash of the number of rows, the names of the columns and the target.

    >>> data_fingerprint(["a"], np.array([1.0]), 1) == data_fingerprint(["b"], np.array([1.0]), 1)
    False
    """
    target = np.asarray(y)
    content = target.tobytes() if target.dtype.kind in "fiub" else repr(target.tolist()).encode()
    digest = hashlib.sha256(repr((list(names), n_rows)).encode())
    digest.update(content)
    return digest.hexdigest()[:16]
