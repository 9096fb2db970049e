"""Categories of more levels than codes: neighbours in the order of their mean target share one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from spinney.data.schema import Schema
from spinney.data.table import Column, Table
from spinney.gradient_boosting.target_statistics import level_sums
from spinney.native import core
from spinney.tree.grower import code_table

Floats = NDArray[np.float64]

MOST_GROUPS = 255
"""What a byte tells apart, beside a missing value."""


def code_grouped(
    table: Table,
    features: Sequence[int],
    targets: Floats,
    weights: Floats,
    smoothing: float,
    max_bins: int,
    n_threads: int,
) -> core.CodeMatrix:
    """Code a table; levels of these features share codes with those of a like target.

    targets (n_rows, n_targets), weights (n_rows,); ``smoothing`` rows of the mean target are added to each
    level.
    """
    groups = {j: _groups_of(table, j, targets, weights, smoothing) for j in features}
    matrix = code_table(_join(table, groups), weights, max_bins, n_threads)
    for j, group in groups.items():
        matrix.group_categories(j, group)
    return matrix


def _groups_of(
    table: Table, j: int, targets: Floats, weights: Floats, smoothing: float
) -> NDArray[np.uint32]:
    """Give each level of a feature its group.  -> (n_levels,)"""
    total, sums = level_sums(table, j, targets - np.average(targets, axis=0, weights=weights), weights)
    total, sums = total[:-1], sums[:-1]  # missing values have a code of their own
    means = sums / (total + max(smoothing, 1e-300))[:, None]
    if means.shape[1] > 1:  # of several classes, along the line on which levels differ most
        line = np.linalg.svd(means * np.sqrt(total)[:, None], full_matrices=False)[2][0]
        means = means @ (line * np.sign(line[np.abs(line).argmax()]))[:, None]  # either end may come first
    return group_levels(means[:, 0], total, MOST_GROUPS)


def group_levels(value: Floats, mass: Floats, most: int) -> NDArray[np.uint32]:
    """Make at most so many groups of neighbours in value, such that the heaviest of several is light.

    value, mass (n_levels,)  ->  (n_levels,)

    >>> group_levels(np.array([0.3, 0.1, 0.2, 0.9]), np.array([1.0, 1.0, 1.0, 9.0]), 3).tolist()
    [1, 0, 0, 2]
    """
    order = np.argsort(value, kind="stable")
    ends = np.cumsum(mass[order])
    low, high = 0.0, float(ends[-1])
    for _ in range(60):  # halve what a group may weigh, until nothing more is to be told apart
        middle = (low + high) / 2
        low, high = (low, middle) if len(_pack(ends, middle, most)) <= most else (middle, high)
    first = _pack(ends, high, most)
    group = np.empty(len(order), dtype=np.uint32)
    group[order] = np.searchsorted(first, np.arange(len(order)), side="right") - 1
    return group


def _pack(ends: Floats, cap: float, most: int) -> list[int]:
    """Give the first level of each group when all take what they may; one too many is enough to know."""
    first: list[int] = []
    at = 0
    while at < len(ends) and len(first) <= most:
        first.append(at)
        before = ends[at - 1] if at > 0 else 0.0
        at = max(at + 1, int(np.searchsorted(ends, before + cap, side="right")))
    return first


def _join(table: Table, groups: dict[int, NDArray[np.uint32]]) -> Table:
    """Give the table with groups in place of levels."""

    def make(j: int) -> Column:
        column = table.column(j)
        if j not in groups:
            return column
        return np.where(column < 0, -1, groups[j].astype(np.int32)[column]).astype(np.int32)

    features = list(table.schema.features)
    for j, group in groups.items():
        features[j] = replace(features[j], categories=tuple(range(int(group.max()) + 1)))
    return table.replace(Schema(tuple(features), table.schema.has_names), make)
