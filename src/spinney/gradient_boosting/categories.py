"""Categorical features with many levels: encoded by ordered target statistics, or grouped by mean target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import chunk_bincount, chunk_mean
from spinney.core.cached_attribute import cached_attribute
from spinney.core.errors import ModelFileError
from spinney.core.seeds import stream
from spinney.data.features import Feature
from spinney.data.schema import Column, Schema, Table
from spinney.data.training_set import code_table
from spinney.io import Persistent
from spinney.native import core

Floats = NDArray[np.float64]

MAX_GROUPS = 255
"""Number of bin codes of a byte, without the missing bin."""

_ORDER_STREAM = 101
_PRIOR_WEIGHT = 1.0
"""Number of rows of the overall mean that are added to the mean of each category."""
# categorical_encoding="auto" encodes features with more categories than the first, and fewer rows per
# category than the second. On real tables subset splits did better where there are more rows per category.
_AUTO_MIN_LEVELS, _AUTO_MAX_ROWS_PER_LEVEL = 50, 250


@dataclass(frozen=True, eq=False)
class TargetStatistics(Persistent):
    """Mean targets of the categories of some features.

    ``features`` are column indices; ``means`` has an array (n_categories + 1, n_targets) for each, whose last
    row is for missing values and unseen categories. There is one target, or one per class where there are
    more than two classes.

    A training row is encoded by the mean of the rows before it in a random order, so that its own target does
    not leak into its features; a new row gets the mean of all training rows.
    """

    features: tuple[int, ...]
    means: tuple[Floats, ...]

    def __post_init__(self) -> None:
        if len(self.features) != len(self.means) or not self.features:
            raise ModelFileError("The target statistics do not have one array per feature.")
        for array in self.means:
            sound = isinstance(array, np.ndarray) and array.ndim == 2 and array.dtype == np.float64
            if not sound or array.shape[1] != self.n_targets or not np.isfinite(array).all():
                raise ModelFileError("A target statistic is not a table of finite numbers.")

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return int(self.means[0].shape[1])

    def equals(self, other: TargetStatistics) -> bool:
        """Return True if both have the same means, learned from the same rows."""
        return self.features == other.features and all(
            np.array_equal(one, two) for one, two in zip(self.means, other.means, strict=True)
        )

    def validate(self, schema: Schema) -> None:
        """Raise ModelFileError unless every feature is categorical in the schema, with as many categories."""
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
        """Compute the means of all rows; targets (n_rows, n_targets), weights (n_rows,)."""
        prior = chunk_mean(targets, weights)
        means = []
        for j in features:
            total, away = level_sums(table, j, targets - prior, weights)
            means.append(prior + away / (total + _PRIOR_WEIGHT)[:, None])
        return cls(tuple(features), tuple(means))

    def encode(self, table: Table) -> Table:
        """Return the table with the features encoded as for new rows.

        The first class replaces the feature; columns for further classes are appended.
        """
        return self._replace(table, lambda index, level, k: self._columns[index][k][level])

    @cached_attribute
    def _columns(self) -> list[Floats]:
        """The means of each feature, target by target.  each (n_targets, n_categories + 1)"""
        return [np.ascontiguousarray(array.T) for array in self.means]

    def encode_ordered(self, table: Table, targets: Floats, weights: Floats, seed: int) -> Table:
        """Return the training table with the features encoded, each row by the rows before it.

        Rows of weight 0 are held out and encoded like new rows.
        """
        prior = chunk_mean(targets, weights)
        rank = np.empty(table.n_rows, dtype=np.int64)
        rank[stream(seed, _ORDER_STREAM).permutation(table.n_rows)] = np.arange(table.n_rows)
        away, held = targets - prior, weights == 0

        @lru_cache(maxsize=1)
        def values(index: int) -> Floats:
            level = _levels(table, self.features[index])[0]
            order = np.lexsort((rank, level))
            total = _sums_before(weights[order], level[order])
            out = np.empty_like(targets)
            for k in range(self.n_targets):
                before = _sums_before((weights * away[:, k])[order], level[order])
                out[order, k] = prior[k] + before / (total + _PRIOR_WEIGHT)
            out[held] = self.means[index][level[held]]
            return out

        return self._replace(table, lambda index, level, k: np.ascontiguousarray(values(index)[:, k]))

    # ---- the encoded table ----

    def _replace(self, table: Table, values: Callable[[int, NDArray[np.int64], int], Column]) -> Table:
        """values(index, level, k): of the k-th target, for the level of each row in the index-th feature."""
        n, place = table.n_features, {j: index for index, j in enumerate(self.features)}

        def make(j: int) -> Column:
            if j >= n:
                index, k = divmod(j - n, self.n_targets - 1)
                return values(index, level_of(index), k + 1)
            return values(place[j], level_of(place[j]), 0) if j in place else table.column(j)

        @lru_cache(maxsize=1)
        def level_of(index: int) -> NDArray[np.int64]:
            return _levels(table, self.features[index])[0]

        return table.replace(self.schema(table.schema), make, self.features)

    def schema(self, schema: Schema) -> Schema:
        """Return the schema of the encoded table."""
        plain, encoded = self._last_schema
        if plain is schema and encoded is not None:
            return encoded
        features = list(schema.features)
        for j in self.features:
            features[j] = replace(features[j], kind="numeric", categories=(), dtype="float64")
        features += [
            Feature(f"{schema.names[j]} (class {k})", "numeric", (), "float64")
            for j in self.features
            for k in range(1, self.n_targets)
        ]
        out = Schema(tuple(features), schema.has_names)
        self.__dict__["_last_schema"] = (schema, out)
        return out

    @cached_attribute
    def _last_schema(self) -> tuple[Schema | None, Schema | None]:
        """The schema that was encoded last, and what came out: batches have the same one."""
        return None, None

    def origin(self, n_features: int) -> NDArray[np.int64]:
        """Return the feature that each column of the encoded table comes from."""
        extra = np.repeat(np.array(self.features, dtype=np.int64), self.n_targets - 1)
        return np.concatenate([np.arange(n_features), extra])


def features_to_encode(table: Table, encoding: str) -> list[int]:
    """Features to encode: all categorical ones if "ordered", else those with many small categories."""
    if encoding == "ordered":
        return many_levels(table.schema, 0)
    return many_levels(table.schema, max(_AUTO_MIN_LEVELS, table.n_rows // _AUTO_MAX_ROWS_PER_LEVEL))


def many_levels(schema: Schema, limit: int) -> list[int]:
    """Categorical features with more than ``limit`` categories."""
    return [j for j, feature in enumerate(schema.features) if len(feature.categories) > limit]


def level_sums(table: Table, j: int, targets: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Sum weights and weighted targets per category of a feature; missing values come last.

    targets (n_rows, n_targets), weights (n_rows,)  ->  (n_categories + 1,), (n_categories + 1, n_targets)
    """
    level, n_levels = _levels(table, j)
    sums: Floats = np.column_stack(
        [chunk_bincount(level, part, n_levels) for part in (weights, *(weights * targets.T))]
    )
    return sums[:, 0], sums[:, 1:]


def _levels(table: Table, j: int) -> tuple[NDArray[np.int64], int]:
    """Return the level of each row, where missing values are an extra level, and the number of levels."""
    n_categories = len(table.schema.features[j].categories)
    codes = table.column(j).astype(np.int64)
    return np.where(codes < 0, n_categories, codes), n_categories + 1


def _sums_before(values: Floats, group: NDArray[np.int64]) -> Floats:
    """Sum the earlier values of the same group; groups are contiguous.  values, group (n,) -> (n,)"""
    before = np.cumsum(values) - values
    first = np.flatnonzero(np.diff(group, prepend=-1))
    return before - np.repeat(before[first], np.diff(first, append=len(group)))


# ---- groups of categories: levels with similar mean targets share a bin code ----


def code_grouped(
    table: Table,
    features: Sequence[int],
    targets: Floats,
    weights: Floats,
    smoothing: float,
    bin_weights: Floats | None,
    max_bins: int,
    n_threads: int,
) -> core.CodeMatrix:
    """Code a table; levels of the given features share codes with levels of similar mean target.

    targets (n_rows, n_targets), weights (n_rows,); ``smoothing`` rows of the overall mean are added to every
    level. ``bin_weights`` (n_rows,) choose the bins of the other columns.
    """
    groups = {j: _groups(table, j, targets, weights, smoothing) for j in features}
    matrix = code_table(_with_groups(table, groups), bin_weights, max_bins, n_threads)
    for j, group in groups.items():
        matrix.group_categories(j, group)
    return matrix


def _groups(table: Table, j: int, targets: Floats, weights: Floats, smoothing: float) -> NDArray[np.uint32]:
    """Return the group of each level of a feature.  -> (n_levels,)"""
    total, sums = level_sums(table, j, targets - chunk_mean(targets, weights), weights)
    total, sums = total[:-1], sums[:-1]  # the last is the missing bin
    means = sums / (total + max(smoothing, 1e-300))[:, None]
    if means.shape[1] > 1:  # several classes are projected onto their first principal component
        axis = np.linalg.svd(means * np.sqrt(total)[:, None], full_matrices=False)[2][0]
        means = means @ (axis * np.sign(axis[np.abs(axis).argmax()]))[:, None]  # the sign is arbitrary
    return group_levels(means[:, 0], total, MAX_GROUPS)


def group_levels(value: Floats, mass: Floats, max_groups: int) -> NDArray[np.uint32]:
    """Group levels adjacent in value into at most ``max_groups`` groups with a minimal largest mass.

    value, mass (n_levels,)  ->  (n_levels,)

    >>> group_levels(np.array([0.3, 0.1, 0.2, 0.9]), np.array([1.0, 1.0, 1.0, 9.0]), 3).tolist()
    [1, 0, 1, 2]
    """
    order = np.argsort(value, kind="stable")
    ends = np.cumsum(mass[order])
    low, high = 0.0, float(ends[-1])
    for _ in range(60):  # bisect the mass that a group may have
        middle = (low + high) / 2
        low, high = (low, middle) if len(_pack(ends, middle, max_groups)) <= max_groups else (middle, high)
    first = _pack(ends, high, max_groups)
    group = np.empty(len(order), dtype=np.uint32)
    group[order] = np.searchsorted(first, np.arange(len(order)), side="right") - 1
    return group


def _pack(ends: Floats, max_mass: float, max_groups: int) -> list[int]:
    """Return the first level of each group if groups are filled greedily; stops after one too many."""
    first: list[int] = []
    at = 0
    while at < len(ends) and len(first) <= max_groups:
        first.append(at)
        before = ends[at - 1] if at > 0 else 0.0
        at = max(at + 1, int(np.searchsorted(ends, before + max_mass, side="right")))
    return first


def _with_groups(table: Table, groups: dict[int, NDArray[np.uint32]]) -> Table:
    """Return the table with groups instead of levels."""

    def make(j: int) -> Column:
        column = table.column(j)
        if j not in groups:
            return column
        return np.where(column < 0, -1, groups[j].astype(np.int32)[column]).astype(np.int32)

    features = list(table.schema.features)
    for j, group in groups.items():
        features[j] = replace(features[j], categories=tuple(range(int(group.max()) + 1)))
    return table.replace(Schema(tuple(features), table.schema.has_names), make, groups)
