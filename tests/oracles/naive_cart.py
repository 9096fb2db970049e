"""The best binary split of one node, found by trying every one: what a CART node's choice is held to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from oracles.naive_multiway import Column, entropy, is_missing, midpoint

Rows = list[int]
Impurity = Callable[[Rows], float]


@dataclass(frozen=True)
class Split:
    """One split: the rows that go left, and by how much it lowers the mean impurity of a row."""

    feature: int
    threshold: float | None  # None for a category set; infinity where only the missing rows go right
    missing_left: bool
    left: frozenset[int]
    gain: float


def gini(rows: Rows, y: Sequence[float], w: Sequence[float]) -> float:
    """Return 1 − Σ p²."""
    return 1 - math.fsum(p**2 for p in _shares(rows, y, w))


def class_error(rows: Rows, y: Sequence[float], w: Sequence[float]) -> float:
    """Return the share of the weight that the largest class leaves."""
    return 1 - max(_shares(rows, y, w))


def class_entropy(rows: Rows, y: Sequence[float], w: Sequence[float]) -> float:
    """Return −Σ p log2 p."""
    return entropy(_shares(rows, y, w))


def variance(rows: Rows, y: Sequence[float], w: Sequence[float]) -> float:
    """Return the weighted mean of squared distances from the mean."""
    mean = _mean(rows, y, w)
    return math.fsum(w[i] * (y[i] - mean) ** 2 for i in rows) / _weight(rows, w)


def absolute_error(rows: Rows, y: Sequence[float], w: Sequence[float]) -> float:
    """Return the weighted mean distance from a weighted median, which is one of the values."""
    return min(math.fsum(w[i] * abs(y[i] - y[m]) for i in rows) for m in rows) / _weight(rows, w)


def poisson(rows: Rows, y: Sequence[float], w: Sequence[float]) -> float:
    """Return the weighted mean of y ln(y / mean), infinite where the mean is 0."""
    mean = _mean(rows, y, w)
    if mean * _weight(rows, w) <= 1e-12:
        return math.inf
    return math.fsum(w[i] * y[i] * math.log(y[i] / mean) for i in rows if y[i] > 0) / _weight(rows, w)


IMPURITIES = {
    "gini": gini,
    "entropy": class_entropy,
    "log_loss": class_entropy,
    "error": class_error,
    "squared_error": variance,
    "absolute_error": absolute_error,
    "poisson": poisson,
}


def decrease(left: Rows, right: Rows, y: Sequence[float], w: Sequence[float], criterion: str) -> float:
    """Return the fall of impurity from a node to its two children."""
    w_left, w_right = _weight(left, w), _weight(right, w)
    total = w_left + w_right
    if criterion == "friedman_mse":
        return w_left * w_right / total**2 * (_mean(left, y, w) - _mean(right, y, w)) ** 2
    impurity = IMPURITIES[criterion]
    below = [impurity(left, y, w), impurity(right, y, w)]
    if math.inf in below:
        return -math.inf
    return impurity(left + right, y, w) - (w_left * below[0] + w_right * below[1]) / total


def all_splits(
    columns: Sequence[Column],
    kinds: Sequence[str],
    y: Sequence[float],
    w: Sequence[float],
    criterion: str,
    min_samples_leaf: int = 1,
    *,
    tie_width: float = 0.0,
) -> Iterator[Split]:
    """Yield every admissible split. Numbers closer than `tie_width` count as one (scikit-learn: 1e-7).

    Rows missing on a feature go left together or right together, and alone to the right of all the others.
    Category sets are enumerated, so a column has to have few categories.
    """
    alive = [row for row in range(len(y)) if w[row] > 0]
    for feature, (column, kind) in enumerate(zip(columns, kinds, strict=True)):
        missing = [row for row in alive if is_missing(column[row], kind)]
        for threshold, known in _ways(column, kind, alive, tie_width):
            for missing_left in [False, True] if missing else [False]:
                left = known + missing if missing_left else known
                right = [row for row in alive if row not in set(left)]
                if min(len(left), len(right)) >= max(1, min_samples_leaf):
                    gain = decrease(left, right, y, w, criterion)
                    if gain > -math.inf:
                        yield Split(feature, threshold, missing_left, frozenset(left), gain)


def best_split(
    columns: Sequence[Column],
    kinds: Sequence[str],
    y: Sequence[float],
    w: Sequence[float],
    criterion: str,
    min_samples_leaf: int = 1,
    *,
    tie_width: float = 0.0,
) -> Split | None:
    """Return the split with the largest decrease, of equals the first found, or None where there is none."""
    found = all_splits(columns, kinds, y, w, criterion, min_samples_leaf, tie_width=tie_width)
    return max(found, key=lambda split: split.gain, default=None)


def best_gain(
    columns: Sequence[Column],
    kinds: Sequence[str],
    y: Sequence[float],
    w: Sequence[float],
    criterion: str,
    min_samples_leaf: int = 1,
    *,
    tie_width: float = 0.0,
) -> float:
    """Return the largest decrease of impurity any split of these rows reaches, −inf where there is no split.

    >>> best_gain([[1.0, 2.0, 3.0, 4.0]], ["numeric"], [0, 0, 1, 1], [1, 1, 1, 1], "gini")
    0.5
    """
    split = best_split(columns, kinds, y, w, criterion, min_samples_leaf, tie_width=tie_width)
    return -math.inf if split is None else split.gain


def _ways(column: Column, kind: str, alive: Rows, tie_width: float) -> Iterator[tuple[float | None, Rows]]:
    """Yield each way to send known rows left: (threshold, those rows); all of them too, for the missing."""
    values = {row: v for row in alive if (v := column[row]) is not None and not is_missing(v, kind)}
    distinct = sorted(set(values.values()))
    if kind == "numeric":
        for low, high in pairwise(distinct):
            if high > low + tie_width:
                yield midpoint(low, high), [row for row, value in values.items() if value <= low]
        yield math.inf, list(values)
        return
    for size in range(1, len(distinct) + 1):
        for chosen in combinations(distinct, size):
            yield None, [row for row, value in values.items() if value in chosen]


def _weight(rows: Rows, w: Sequence[float]) -> float:
    return math.fsum(w[i] for i in rows)


def _mean(rows: Rows, y: Sequence[float], w: Sequence[float]) -> float:
    return math.fsum(w[i] * y[i] for i in rows) / _weight(rows, w)


def _shares(rows: Rows, y: Sequence[float], w: Sequence[float]) -> list[float]:
    total = _weight(rows, w)
    return [math.fsum(w[i] for i in rows if y[i] == label) / total for label in sorted({y[i] for i in rows})]
