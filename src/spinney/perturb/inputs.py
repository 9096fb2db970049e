"""Tables as numeric inputs of networks: standardized columns, one-hot categories, missing indicators."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.bagging.sampling import row_order
from spinney.data import Schema, Table
from spinney.io import Persistent, require
from spinney.perturb.networks import Array, weighted_sum

# A feature with more categories has columns for the most frequent ones, and one column for all others.
MAX_CATEGORIES = 32
# Values far outside the training data are clipped so that nothing overflows.
_MAX_INPUT = 1e6


def merge_rows(table: Table, target: NDArray[Any], weights: Array) -> tuple[Table, NDArray[Any], Array]:
    """Merge equal rows, adding up their weights, into an order that does not depend on the given one.

    Rows of weight 0 are dropped. A row of weight 3 thus trains exactly as three equal rows do, in any order.
    target (n_rows, n_outputs), weights (n_rows,).

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
    return merged, target[rows], np.asarray(np.bincount(np.cumsum(new) - 1, weights[order]), float)


@dataclass(frozen=True, eq=False)
class InputCoding(Persistent):
    """How each feature becomes input columns.

    A numeric feature becomes (x / size − center) / scale, 0 if missing. A categorical feature becomes
    ``widths`` one-hot columns; ``places`` has, feature after feature, the column of each category among
    those of its feature, −1 for a category without weight. ``flagged`` features have one more column that
    is 1 for missing values. All arrays but places are (n_features,).
    """

    size: Array
    center: Array
    scale: Array
    flagged: NDArray[np.bool_]
    widths: NDArray[np.int64]
    places: NDArray[np.int64]

    @property
    def n_columns(self) -> int:
        """Number of input columns."""
        return int(self.widths.sum() + self.flagged.sum())

    def check(self, schema: Schema) -> None:
        """Raise CorruptModelFile if this coding does not fit tables of the schema."""
        counts = [len(feature.categories) for feature in schema.features]
        arrays = {"size": "f8", "center": "f8", "scale": "f8", "flagged": "?", "widths": "i8", "places": "i8"}
        valid = all(
            isinstance(array, np.ndarray)
            and array.dtype == np.dtype(arrays[name])
            and array.shape == (sum(counts) if name == "places" else schema.n_features,)
            for name, array in vars(self).items()
        )
        valid = valid and bool(
            (self.size > 0).all()
            and (self.scale > 0).all()
            and np.isfinite([self.size, self.center, self.scale]).all()
            and (self.widths >= 0).all()
            and (self.widths <= MAX_CATEGORIES + 1).all()
            and (self.widths[~schema.categorical] == 1).all()
            and ((self.places >= -1) & (self.places < np.repeat(self.widths, counts))).all()
        )
        require(valid, "the input coding of the networks does not fit their features")

    def apply(self, table: Table) -> Array:
        """Return the inputs of a table.  -> (n_rows, n_columns)"""
        coded = np.zeros((table.n_rows, self.n_columns))
        begin, place = 0, 0
        for j, feature in enumerate(table.schema.features):
            column = table.column(j)
            if feature.kind == "numeric":
                missing = np.isnan(column)
                with np.errstate(over="ignore"):
                    standard = (column / self.size[j] - self.center[j]) / self.scale[j]
                coded[:, begin] = np.where(missing, 0.0, np.clip(standard, -_MAX_INPUT, _MAX_INPUT))
            else:
                n_categories = len(feature.categories)
                places = np.append(self.places[place : place + n_categories], -1)[column]
                missing, known = column < 0, np.flatnonzero(places >= 0)
                coded[known, begin + places[known]] = 1.0
                place += n_categories
            begin += int(self.widths[j])
            if self.flagged[j]:
                coded[:, begin] = missing
                begin += 1
        return coded


def learn_coding(table: Table, weights: Array) -> InputCoding:
    """Learn the coding of a table, with row weights (n_rows,).

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
            totals = np.bincount(column[~missing], weights[~missing], minlength=len(feature.categories))
            places.append(_places(np.asarray(totals, np.float64)))
            widths[j] = places[-1].max(initial=-1) + 1
        flagged[j] = bool(weights[missing].any())
    return InputCoding(size, center, scale, flagged, widths, np.concatenate(places))


def moments(values: Array, weights: Array) -> tuple[float, float, float]:
    """Return a power of 2 that bounds the values, and mean and deviation of the values divided by it."""
    values, weights = values[weights > 0], weights[weights > 0]
    largest = float(np.abs(values).max(initial=0.0))
    if largest < np.finfo(np.float64).tiny:  # no values, zeros, or values too small to divide by
        return 1.0, 0.0, 1.0
    size = math.ldexp(1.0, min(math.frexp(largest)[1], 1023))
    scaled, total = values / size, math.fsum(weights.tolist())
    mean = weighted_sum(scaled, weights) / total
    deviation = math.sqrt(weighted_sum(np.square(scaled - mean), weights) / total)
    return size, mean, deviation if deviation > 1e-13 else 1.0  # less is the rounding of a constant


def _places(totals: Array) -> NDArray[np.int64]:
    """Return the column of each category: its own for the heaviest, one for the others, −1 without weight.

    totals (n_categories,) are their weights.
    """
    order = np.argsort(-totals, kind="stable")
    heavy = np.sort(order[: MAX_CATEGORIES if np.count_nonzero(totals) > MAX_CATEGORIES + 1 else None])
    heavy = heavy[totals[heavy] > 0]
    places = np.where(totals > 0, len(heavy), -1).astype(np.int64)
    places[heavy] = np.arange(len(heavy))
    return places
