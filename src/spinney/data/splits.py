"""Splits of the training rows: held-out rows, and the folds of a cross-validation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError
from spinney.core.seeds import stream

_HOLD_OUT, _FOLDS = 1, 2


def hold_out(
    fraction: float, seed: int, n_rows: int, strata: NDArray[np.int32] | None = None
) -> NDArray[np.bool_]:
    """Return a mask of rows to hold out, the same fraction of each stratum; at least one row on each side.

    strata (n_rows,) are class codes, None in regression.  -> (n_rows,)

    >>> int(hold_out(0.25, seed=0, n_rows=8).sum())
    2
    """
    if n_rows < 2:
        raise InputError(
            f"Pruning by held-out rows needs at least 2 rows; n_samples = {n_rows}",
            fix="Pass an eval_set instead.",
        )
    held = np.zeros(n_rows, dtype=np.bool_)
    order = _spread(stream(seed, _HOLD_OUT), n_rows, strata)
    n_held = min(max(round(fraction * n_rows), 1), n_rows - 1)
    # Rows of a stratum are adjacent: even steps take the same fraction of each.
    held[order[np.floor((np.arange(n_held) + 0.5) * n_rows / n_held).astype(np.int64)]] = True
    return held


def folds(n_folds: int, seed: int, n_rows: int, strata: NDArray[np.int32] | None = None) -> NDArray[np.int64]:
    """Return the fold that holds out each row, each stratum spread evenly.  -> (n_rows,)

    >>> np.bincount(folds(3, seed=0, n_rows=7)).tolist()
    [3, 2, 2]
    """
    fold = np.empty(n_rows, dtype=np.int64)
    fold[_spread(stream(seed, _FOLDS), n_rows, strata)] = np.arange(n_rows) % n_folds
    return fold


def _spread(random: np.random.Generator, n_rows: int, strata: NDArray[np.int32] | None) -> NDArray[np.int64]:
    """Return the rows in random order, those of a stratum adjacent."""
    order = random.permutation(n_rows)
    return order if strata is None else order[np.argsort(strata[order], kind="stable")]
