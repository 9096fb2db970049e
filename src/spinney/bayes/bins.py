"""Bins of numeric columns for naive Bayes: intervals of about equal weight."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.data.schema import Table
from spinney.io import require


def learn_edges(table: Table, max_bins: int, weights: Floats | None) -> list[Floats]:
    """Return the edges between the bins of each feature; none for categorical features.

    >>> from spinney.data.schema import read_table
    >>> learn_edges(read_table([[1.0], [2.0], [3.0], [4.0]]), 2, None)
    [array([2.5])]
    """
    edges = []
    for j, feature in enumerate(table.schema.features):
        if feature.kind == "categorical":
            edges.append(np.zeros(0))
            continue
        column = np.asarray(table.column(j), np.float64)
        used = ~np.isnan(column)
        if weights is not None:
            used &= weights > 0
        edges.append(_column_edges(column[used], max_bins, None if weights is None else weights[used]))
    return edges


def _column_edges(values: Floats, max_bins: int, weights: Floats | None) -> Floats:
    """Return at most max_bins − 1 edges, midway between values."""
    levels, codes = np.unique(values, return_inverse=True)
    if len(levels) < 2:
        return np.zeros(0)
    total = len(values) if weights is None else float(weights.sum())
    share = np.cumsum(np.bincount(codes, weights))[:-1] / total
    wanted = np.arange(1, max_bins) / max_bins
    # The first value up to which there is at least the wanted share, but for rounding.
    last = np.unique(np.minimum(np.searchsorted(share, wanted - 1e-12), len(levels) - 2))
    if len(levels) <= max_bins:
        last = np.arange(len(levels) - 1)
    return np.asarray(levels[last] + 0.5 * (levels[last + 1] - levels[last]))


def bin_codes(table: Table, edges: list[Floats]) -> NDArray[np.int32]:
    """Return the bin of each number and the code of each category, −1 for missing.  -> (n_rows, n_features)

    >>> from spinney.data.schema import read_table
    >>> bin_codes(read_table([[1.0], [4.0], [float("nan")]]), [np.array([2.5])]).tolist()
    [[0], [1], [-1]]
    """
    out = np.empty((table.n_rows, table.n_features), np.int32)
    for j, feature in enumerate(table.schema.features):
        column = table.column(j)
        if feature.kind == "categorical":
            out[:, j] = column
        else:
            out[:, j] = np.searchsorted(edges[j], column)
            out[np.isnan(column), j] = -1
    return out


def check_edges(edges: Any, n_features: int) -> None:
    """Raise ModelFileError unless edges read from a model file are valid."""
    require(type(edges) is list and len(edges) == n_features, "there are not edges of each feature")
    for one in edges:
        valid = isinstance(one, np.ndarray) and one.dtype == np.float64 and one.ndim == 1
        require(valid and bool((np.diff(one) > 0).all()), "the edges of bins do not ascend")
