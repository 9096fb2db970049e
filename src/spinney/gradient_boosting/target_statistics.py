"""Ordered target statistics: categories of many levels as numbers, each row's made without its own target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import ModelFileError
from spinney.core.seeds import stream
from spinney.data.schema import Feature, Schema
from spinney.data.table import Column, Table
from spinney.io import Persistent

Floats = NDArray[np.float64]

_ORDER = 101
"""The purpose of the draw that puts the rows in order."""
PRIOR_WEIGHT = 1.0
"""The mean of all rows counts as so many rows in the mean of each category."""


@dataclass(frozen=True, eq=False)
class TargetStatistics(Persistent):
    """Hold a mean target for each category of some features.

    ``features`` are their positions; ``means`` has for each an array (n_categories + 1, n_targets), whose
    last row is for missing values and categories never seen. There is one target, or one a class where there
    are more than two.

    In training a row's own number is the mean over the rows before it in a random order, so that it tells
    nothing of the row's own target; a new row gets the mean over all training rows.
    """

    features: tuple[int, ...]
    means: tuple[Floats, ...]

    def __post_init__(self) -> None:
        if len(self.features) != len(self.means) or not self.features:
            raise ModelFileError("The target statistics do not have one array for each of their features.")
        for array in self.means:
            sound = isinstance(array, np.ndarray) and array.ndim == 2 and array.dtype == np.float64
            if not sound or array.shape[1] != self.n_targets or not np.isfinite(array).all():
                raise ModelFileError("A target statistic is no table of finite numbers.")

    @property
    def n_targets(self) -> int:
        """Count the targets of which there is a mean."""
        return int(self.means[0].shape[1])

    def equals(self, other: TargetStatistics) -> bool:
        """Tell whether two have the same numbers: whether they were learned from the same rows."""
        return self.features == other.features and all(
            np.array_equal(one, two) for one, two in zip(self.means, other.means, strict=True)
        )

    def validate(self, schema: Schema) -> None:
        """Raise ModelFileError unless each feature is a categorical one of the schema with all levels."""
        for feature, array in zip(self.features, self.means, strict=True):
            sound = type(feature) is int and 0 <= feature < schema.n_features
            if not sound or len(array) != len(schema.features[feature].categories) + 1:
                raise ModelFileError("The target statistics do not fit the categories of the schema.")
        if len(set(self.features)) != len(self.features):
            raise ModelFileError("The target statistics have a feature twice.")

    # ---- learning ----

    @classmethod
    def learn(
        cls, table: Table, features: Sequence[int], targets: Floats, weights: Floats
    ) -> TargetStatistics:
        """Take the means over all rows; targets (n_rows, n_targets), weights (n_rows,)."""
        prior = np.average(targets, axis=0, weights=weights)
        means = []
        for j in features:
            total, away = level_sums(table, j, targets - prior, weights)
            means.append(prior + away / (total + PRIOR_WEIGHT)[:, None])
        return cls(tuple(features), tuple(means))

    def encode(self, table: Table) -> Table:
        """Give the table with numbers for the features, as new rows are encoded.

        A feature's first number stands in its place, those of further classes come after all columns.
        """
        return self._replace(table, lambda place, level: self.means[place][level])

    def encode_ordered(self, table: Table, targets: Floats, weights: Floats, seed: int) -> Table:
        """Give the training table with numbers for the features, each row's from the rows before it.

        Rows of weight 0 are held out: they get what a new row gets.
        """
        prior = np.average(targets, axis=0, weights=weights)
        rank = np.empty(table.n_rows, dtype=np.int64)
        rank[stream(seed, _ORDER).permutation(table.n_rows)] = np.arange(table.n_rows)
        away, held = targets - prior, weights == 0

        def numbers(place: int, level: NDArray[np.int64]) -> Floats:
            order = np.lexsort((rank, level))
            total = _sums_before(weights[order], level[order])
            out = np.empty_like(targets)
            for k in range(self.n_targets):
                before = _sums_before((weights * away[:, k])[order], level[order])
                out[order, k] = prior[k] + before / (total + PRIOR_WEIGHT)
            out[held] = self.means[place][level[held]]
            return out

        return self._replace(table, numbers)

    # ---- the encoded table ----

    def _replace(self, table: Table, numbers: Callable[[int, NDArray[np.int64]], Floats]) -> Table:
        n = table.n_features

        @lru_cache(maxsize=1)
        def numbers_of(place: int) -> Floats:
            return numbers(place, _levels(table, self.features[place])[0])

        def make(j: int) -> Column:
            extra, k = divmod(j - n, self.n_targets - 1) if j >= n else (-1, -1)
            place = extra if j >= n else self._place(j)
            if place < 0:
                return table.column(j)
            return np.ascontiguousarray(numbers_of(place)[:, k + 1])

        return table.replace(self.schema(table.schema), make)

    def _place(self, feature: int) -> int:
        return self.features.index(feature) if feature in self.features else -1

    def schema(self, schema: Schema) -> Schema:
        """Give the schema of the encoded table."""
        features = list(schema.features)
        for j in self.features:
            features[j] = replace(features[j], kind="numeric", categories=(), dtype="float64")
        features += [
            Feature(f"{schema.names[j]} (class {k})", "numeric", (), "float64")
            for j in self.features
            for k in range(1, self.n_targets)
        ]
        return Schema(tuple(features), schema.has_names)

    def origin(self, n_features: int) -> NDArray[np.int64]:
        """Give for each column of the encoded table the feature that it was made of."""
        extra = np.repeat(np.array(self.features, dtype=np.int64), self.n_targets - 1)
        return np.concatenate([np.arange(n_features), extra])


def many_levels(schema: Schema, limit: int) -> list[int]:
    """List the categorical features with more than ``limit`` categories."""
    return [j for j, feature in enumerate(schema.features) if len(feature.categories) > limit]


def level_sums(table: Table, j: int, targets: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Add up the weights, and the weighted targets, of each category of a feature and of missing values.

    targets (n_rows, n_targets), weights (n_rows,)  ->  (n_categories + 1,), (n_categories + 1, n_targets)
    """
    level, n_levels = _levels(table, j)
    sums: Floats = np.column_stack(
        [np.bincount(level, part, n_levels) for part in (weights, *(weights * targets.T))]
    )
    return sums[:, 0], sums[:, 1:]


def _levels(table: Table, j: int) -> tuple[NDArray[np.int64], int]:
    """Give each row's category, the number of categories where it is missing, and how many that makes."""
    n_categories = len(table.schema.features[j].categories)
    codes = table.column(j).astype(np.int64)
    return np.where(codes < 0, n_categories, codes), n_categories + 1


def _sums_before(values: Floats, group: NDArray[np.int64]) -> Floats:
    """Add up the values before each one in its own group; groups are side by side.  values, group (n,)"""
    before = np.cumsum(values) - values
    first = np.flatnonzero(np.diff(group, prepend=-1))
    return before - np.repeat(before[first], np.diff(first, append=len(group)))
