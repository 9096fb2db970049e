"""Tables as numbers for networks: standardized columns, 0 and 1 for categories, flags for missing values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.bagging.sampling import row_order
from spinney.data import Schema, Table
from spinney.io import CorruptModelFile, Persistent

# A feature with more categories has columns for the most frequent ones, and one for all others.
MOST_CATEGORIES = 32
# Far beyond training a network has nothing to say, but it must not overflow.
_FARTHEST = 1e6


def merge_rows(
    table: Table, target: NDArray[Any], weights: NDArray[np.float64]
) -> tuple[Table, NDArray[Any], NDArray[np.float64]]:
    """Give each distinct row once, with the weight of all its copies, in an order of their own.

    Rows of no weight are left out. So a network cannot tell a row of weight 3 from three equal rows, however
    they are shuffled, not even by rounding. target (n_rows, n_outputs), weights (n_rows,).

    >>> from spinney.data import read_table
    >>> table, y = read_table([[1.0], [2.0], [1.0]]), np.zeros((3, 1))
    >>> sorted(merge_rows(table, y, np.ones(3))[2].tolist())
    [1.0, 2.0]
    """
    order = row_order(table, target)
    order = order[weights[order] > 0]
    new = np.ones(len(order), np.bool_)
    new[1:] = (target[order[1:]] != target[order[:-1]]).any(axis=1)
    for j in range(table.n_features):
        column = table.column(j)[order]
        new[1:] |= (column[1:] != column[:-1]) & ((column[1:] == column[1:]) | (column[:-1] == column[:-1]))
    rows = order[new]
    columns = [table.column(j)[rows] for j in range(table.n_features)]
    merged = Table(table.schema, len(rows), None, columns)
    return merged, target[rows], np.add.reduceat(weights[order], np.flatnonzero(new))


@dataclass(frozen=True, eq=False)
class InputCoding(Persistent):
    """Hold, for each feature, how it becomes columns.

    A numeric feature is (x / size − center) / scale, 0 where it is missing. ``places`` lists for each
    category of each categorical feature, one after the other, its column among those of its feature, −1 for
    one that had no weight; it has ``widths`` columns. ``flagged`` features have one more column, which is 1
    where the value is missing. All but places are (n_features,).
    """

    size: NDArray[np.float64]
    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    flagged: NDArray[np.bool_]
    widths: NDArray[np.int64]
    places: NDArray[np.int64]

    @property
    def n_columns(self) -> int:
        """Count the columns that a table becomes."""
        return int(self.widths.sum() + self.flagged.sum())

    def check(self, schema: Schema) -> None:
        """Raise CorruptModelFile if this does not code tables of the schema."""
        n, numeric = schema.n_features, ~schema.categorical
        counts = [len(feature.categories) for feature in schema.features]
        arrays = {"size": "f8", "center": "f8", "scale": "f8", "flagged": "?", "widths": "i8"}
        valid = all(
            isinstance(getattr(self, name), np.ndarray)
            and getattr(self, name).dtype == np.dtype(dtype)
            and getattr(self, name).shape == (n,)
            for name, dtype in arrays.items()
        )
        valid = valid and isinstance(self.places, np.ndarray) and self.places.dtype == np.int64
        valid = valid and self.places.shape == (sum(counts),)
        valid = valid and bool((self.size > 0).all() and (self.scale > 0).all())
        valid = valid and bool(np.isfinite([self.size, self.center, self.scale]).all())
        valid = valid and bool((self.widths >= 0).all() and (self.widths[numeric] == 1).all())
        if valid:
            last = np.repeat(self.widths, counts)
            valid = bool(((self.places >= -1) & (self.places < last)).all())
            valid = valid and int(self.widths.max()) <= MOST_CATEGORIES + 1
        if not valid:
            raise CorruptModelFile("How the inputs of a network are coded does not fit its features.")

    def apply(self, table: Table) -> NDArray[np.float64]:
        """Give a table as numbers.  -> (n_rows, n_columns)"""
        coded = np.zeros((table.n_rows, self.n_columns))
        begin, place = 0, 0
        for j, feature in enumerate(table.schema.features):
            column, width = table.column(j), int(self.widths[j])
            if feature.kind == "numeric":
                missing = np.isnan(column)
                with np.errstate(over="ignore"):
                    standard = (column / self.size[j] - self.center[j]) / self.scale[j]
                coded[:, begin] = np.where(missing, 0.0, np.clip(standard, -_FARTHEST, _FARTHEST))
            else:
                n_categories = len(feature.categories)
                places = np.append(self.places[place : place + n_categories], -1)[column]
                missing, known = column < 0, np.flatnonzero(places >= 0)
                coded[known, begin + places[known]] = 1.0
                place += n_categories
            begin += width
            if self.flagged[j]:
                coded[:, begin] = missing
                begin += 1
        return coded


def learn_coding(table: Table, weights: NDArray[np.float64]) -> InputCoding:
    """Learn the coding of a table, rows counting by weight (n_rows,).

    >>> from spinney.data import read_table
    >>> table = read_table([[1.0, "a"], [3.0, "b"], [None, "a"]])
    >>> learn_coding(table, np.ones(3)).apply(table).tolist()
    [[-1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]]
    """
    n = table.n_features
    size, center, scale = np.ones(n), np.zeros(n), np.ones(n)
    flagged, widths, places = np.zeros(n, np.bool_), np.ones(n, np.int64), [np.empty(0, np.int64)]
    for j, feature in enumerate(table.schema.features):
        column = table.column(j)
        if feature.kind == "numeric":
            missing = np.isnan(column)
            size[j], center[j], scale[j] = moments(column[~missing].astype(np.float64), weights[~missing])
        else:
            missing = column < 0
            n_categories = len(feature.categories)
            totals = np.bincount(column[~missing], weights[~missing], minlength=n_categories)
            places.append(_places(np.asarray(totals, np.float64)))
            widths[j] = places[-1].max(initial=-1) + 1
        flagged[j] = bool(weights[missing].any())
    return InputCoding(size, center, scale, flagged, widths, np.concatenate(places))


def moments(numbers: NDArray[np.float64], weights: NDArray[np.float64]) -> tuple[float, float, float]:
    """Give the size of the numbers, a power of 2, and mean and deviation of them divided by it."""
    used = weights > 0
    numbers, weights = numbers[used], weights[used]
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest < np.finfo(np.float64).tiny:  # none, zeros, or numbers too small to divide by
        return 1.0, 0.0, 1.0
    size = 2.0 ** min(int(np.frexp(largest)[1]), 1023)
    scaled = numbers / size
    mean = float(np.average(scaled, weights=weights))
    deviation = float(np.sqrt(np.average(np.square(scaled - mean), weights=weights)))
    # What rounding leaves of a constant is no deviation.
    return size, mean, deviation if deviation > 1e-13 else 1.0


def _places(totals: NDArray[np.float64]) -> NDArray[np.int64]:
    """Give the heaviest categories a column each, in their order, others the last one, −1 without weight.

    totals (n_categories,) are their weights.
    """
    order = np.argsort(-totals, kind="stable")
    heavy = np.sort(order[: MOST_CATEGORIES if np.count_nonzero(totals) > MOST_CATEGORIES + 1 else None])
    heavy = heavy[totals[heavy] > 0]
    places = np.where(totals > 0, len(heavy), -1).astype(np.int64)
    places[heavy] = np.arange(len(heavy))
    return places
