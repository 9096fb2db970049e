"""The cases for diversity: all pairs of many members, beside scikit-learn's κ one pair at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import numpy as np
from sklearn.metrics import cohen_kappa_score

from benchmarks.harness import Comparison, Contender, Timed, compare

N_ROWS, N_MEMBERS = 100_000, 500
N_SAMPLED = 25  # pairs that scikit-learn is timed on; all of them would take the better part of an hour


@cache
def votes(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw members that are right four times in five."""
    draw = np.random.default_rng(0)
    y = draw.integers(0, n_classes, N_ROWS, dtype=np.int64)
    predictions = draw.integers(0, n_classes, (N_ROWS, N_MEMBERS), dtype=np.int64)
    right = draw.random((N_ROWS, N_MEMBERS), dtype=np.float32) < 0.8
    np.copyto(predictions, y[:, None], where=right)
    return predictions, y


def one_pair_at_a_time(predictions: np.ndarray) -> Timed:
    """Time some pairs, and give the time that all of them would take."""
    members = np.ascontiguousarray(predictions[:, : N_SAMPLED + 1].T)
    start = time.perf_counter()
    found = [cohen_kappa_score(members[0], other) for other in members[1:]]
    seconds = (time.perf_counter() - start) / N_SAMPLED * N_MEMBERS * (N_MEMBERS - 1) / 2
    return Timed(seconds, found)


def pairwise(case: str, n_classes: int) -> Comparison:
    """Return κ of all pairs."""
    predictions, _ = votes(n_classes)

    def ours() -> np.ndarray:
        from spinney.diversity import kappa

        return kappa(predictions)

    contenders = [
        Contender("Spinney", ours),
        Contender("scikit-learn", lambda: one_pair_at_a_time(predictions), memory=False),
    ]
    note = (
        f"κ of {N_MEMBERS} members × {N_ROWS:,} rows, {n_classes} classes; scikit-learn's time is that of "
        f"{N_SAMPLED} pairs, times the number of pairs"
    )
    return compare(case, contenders, input_megabytes=predictions.nbytes / 2**20, note=note)


def pairwise_two_classes() -> Comparison:
    """Return κ of all pairs for two classes."""
    return pairwise("diversity-pairs", 2)


def pairwise_many_classes() -> Comparison:
    """Return κ of all pairs for 26 classes."""
    return pairwise("diversity-pairs-26", 26)


def everything() -> Comparison:
    """Make the whole diagnosis."""
    predictions, y = votes(2)

    def ours() -> object:
        from spinney.diversity import diagnose

        return diagnose(predictions, None, y)

    note = f"every measure of {N_MEMBERS} members × {N_ROWS:,} rows, two classes; no peer has them all"
    size = predictions.nbytes / 2**20
    return compare("diversity-diagnose", [Contender("Spinney", ours)], input_megabytes=size, note=note)


CASES: dict[str, Callable[[], Comparison]] = {
    "diversity-pairs": pairwise_two_classes,
    "diversity-pairs-26": pairwise_many_classes,
    "diversity-diagnose": everything,
}
