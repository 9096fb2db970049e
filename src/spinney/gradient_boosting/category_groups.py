"""Categorical features with more than 255 levels: levels with similar mean targets share a bin code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from spinney.data.schema import Column, Schema, Table
from spinney.data.training_set import code_table
from spinney.gradient_boosting.target_statistics import level_sums
from spinney.native import core

Floats = NDArray[np.float64]

MAX_GROUPS = 255
"""Number of bin codes of a byte, without the missing bin."""


def code_grouped(
    table: Table,
    features: Sequence[int],
    targets: Floats,
    weights: Floats,
    smoothing: float,
    max_bins: int,
    n_threads: int,
) -> core.CodeMatrix:
    """Code a table; levels of the given features share codes with levels of similar mean target.

    targets (n_rows, n_targets), weights (n_rows,); ``smoothing`` rows of the overall mean are added to every
    level.
    """
    groups = {j: _groups(table, j, targets, weights, smoothing) for j in features}
    matrix = code_table(_with_groups(table, groups), weights, max_bins, n_threads)
    for j, group in groups.items():
        matrix.group_categories(j, group)
    return matrix


def _groups(table: Table, j: int, targets: Floats, weights: Floats, smoothing: float) -> NDArray[np.uint32]:
    """Return the group of each level of a feature.  -> (n_levels,)"""
    total, sums = level_sums(table, j, targets - np.average(targets, axis=0, weights=weights), weights)
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
    return table.replace(Schema(tuple(features), table.schema.has_names), make)
