"""Folds of a cross-validation: stratified, of whole groups, or in the order of time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, TimeSeriesSplit

from spinney.core.errors import InputError, show_value
from spinney.core.seeds import draw_word
from spinney.data.splits import folds, hold_out

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Positions of the training rows, and of the rows held out."""


def make_folds(
    codes: NDArray[np.int32] | None,
    n_rows: int,
    cv: Any = 5,
    *,
    repeats: int = 1,
    groups: Any = None,
    order: Any = None,
    seed: int = 0,
) -> list[Split]:
    """Return the splits of a cross-validation.

    codes (n_rows,) are class codes, None in regression.

    >>> [test.tolist() for train, test in make_folds(None, 6, 3, order=np.arange(6))]
    [[3], [4], [5]]
    """
    if not isinstance(cv, int | np.integer) or isinstance(cv, bool):
        return _given_splits(cv, codes, n_rows, groups)
    n_folds = int(cv)
    if n_folds < 2:
        raise InputError(f"cv is {n_folds}; it takes at least 2 folds.")
    if n_folds > n_rows:
        raise InputError(f"cv is {n_folds}, but there are {n_rows} rows", fix="Use fewer folds.")
    if order is not None:
        return _in_order(order, n_rows, n_folds)
    if groups is not None:
        return [
            split
            for repeat in range(repeats)
            for split in _group_splits(codes, np.asarray(groups), n_rows, n_folds, seed + repeat)
        ]
    splits = []
    for repeat in range(repeats):
        fold = folds(n_folds, draw_word(seed, repeat), n_rows, codes)
        splits += [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]
    return splits


def split_once(
    codes: NDArray[np.int32] | None,
    n_rows: int,
    fraction: float,
    *,
    groups: Any = None,
    order: Any = None,
    seed: int = 0,
) -> Split:
    """Return one split that holds out a fraction of the rows, of the groups, or the last ones in time.

    >>> split_once(None, 10, 0.3, order=np.arange(10))[1].tolist()
    [7, 8, 9]
    """
    if not 0 < fraction < 1:
        raise InputError(f"The fraction of rows to hold out is {fraction}; it must be between 0 and 1.")
    if order is not None:
        ranks = np.argsort(np.asarray(order), kind="stable")
        n_held = min(max(round(fraction * n_rows), 1), n_rows - 1)
        return np.sort(ranks[:-n_held]), np.sort(ranks[-n_held:])
    if groups is not None:
        of_groups = np.unique(np.asarray(groups), return_inverse=True)[1]
        n_groups = int(of_groups.max()) + 1
        if n_groups < 2:
            raise InputError("All rows are of one group; a hold-out of whole groups needs at least 2.")
        held = hold_out(fraction, seed, n_groups)[of_groups]
    else:
        held = hold_out(fraction, seed, n_rows, codes)
    return np.flatnonzero(~held), np.flatnonzero(held)


def _in_order(order: Any, n_rows: int, n_folds: int) -> list[Split]:
    """Train on the past, test on what follows; the first part is trained on only."""
    keys = np.asarray(order)
    if len(keys) != n_rows:
        raise InputError(f"The time order has {len(keys)} entries for {n_rows} rows.")
    ranks = np.argsort(keys, kind="stable")
    splitter = TimeSeriesSplit(n_folds)
    return [(np.sort(ranks[train]), np.sort(ranks[test])) for train, test in splitter.split(ranks)]


def _group_splits(
    codes: NDArray[np.int32] | None, groups: NDArray[Any], n_rows: int, n_folds: int, seed: int
) -> list[Split]:
    if len(groups) != n_rows:
        raise InputError(f"groups has {len(groups)} entries for {n_rows} rows.")
    n_groups = len(np.unique(groups))
    if n_groups < n_folds:
        raise InputError(
            f"cv is {n_folds}, but there are {n_groups} groups", fix="Use at most one fold per group."
        )
    kind = GroupKFold if codes is None else StratifiedGroupKFold
    splitter = kind(n_folds, shuffle=True, random_state=seed % 2**32)
    labels = np.zeros(n_rows) if codes is None else codes
    return [(train, test) for train, test in splitter.split(labels[:, None], labels, groups)]


def _given_splits(cv: Any, codes: NDArray[np.int32] | None, n_rows: int, groups: Any) -> list[Split]:
    """Return the splits of a scikit-learn splitter, or of an iterable of pairs of positions."""
    if hasattr(cv, "split") and hasattr(cv, "get_n_splits"):
        labels = np.zeros(n_rows) if codes is None else codes
        cv = cv.split(np.zeros((n_rows, 1)), labels, groups)
    if not isinstance(cv, Iterable) or isinstance(cv, str):
        raise InputError(
            f"cv is {show_value(cv)}", fix="It takes a number of folds, a splitter, or pairs of positions."
        )
    return [(np.asarray(train, np.intp), np.asarray(test, np.intp)) for train, test in cv]
