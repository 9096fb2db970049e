"""Prediction: sends the rows of a table down a fitted tree, in compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from spinney.tree.tree_arrays import TreeArrays


class Rows(Protocol):
    """Hold what is to be predicted: `block` if the rows are one 2-D array, and the columns in any case."""

    @property
    def n_rows(self) -> int:
        """Count the rows."""

    @property
    def block(self) -> NDArray[np.floating[Any]] | None:
        """Give the rows as one array (n_rows, n_features), or None."""

    @property
    def columns(self) -> Sequence[NDArray[Any]]:
        """Give one array (n_rows,) a feature."""


class TreePredictor:
    """Pack a tree once, then predict any number of tables with it; many threads may share one.

    ``n_classes`` has the number of classes of each output; by default that is the full width of ``value``.

    >>> predictor = TreePredictor(model.tree_)                      # doctest: +SKIP
    >>> predictor.value(table, n_threads=2).shape                   # doctest: +SKIP
    (150, 1, 3)
    """

    __slots__ = ("_core", "_n_classes", "_n_outputs", "_tree", "_used")

    def __init__(self, tree: TreeArrays, n_classes: Sequence[int] | None = None) -> None:
        from spinney.native import core

        self._tree = tree
        self._n_outputs = tree.n_outputs
        self._n_classes = [int(k) for k in (tree.n_classes if n_classes is None else n_classes)]
        self._core: Any = core.Predictor(tree, self._n_classes)
        self._used: list[int] = self._core.used_features

    def __reduce__(self) -> tuple[type[TreePredictor], tuple[TreeArrays, list[int]]]:
        # The packed form belongs to this processor and this version; it is made again from the tree.
        return TreePredictor, (self._tree, self._n_classes)

    def value(self, table: Rows, n_threads: int = 1) -> NDArray[np.float64]:
        """Give each row's value: class proportions, or the mean.  -> (n_rows, n_outputs, width)

        >>> predictor.value(table)[:, 0]  # doctest: +SKIP
        """
        out: NDArray[np.float64] = self._core.values(used_columns(table, self._used), n_threads, table.n_rows)
        return out

    def classes(self, table: Rows, n_threads: int = 1) -> NDArray[np.int64]:
        """Give the number of each row's likeliest class, if tied the first.

        -> (n_rows,), or (n_rows, n_outputs) for several outputs

        >>> model.classes_[predictor.classes(table)]  # doctest: +SKIP
        """
        out: NDArray[np.int64] = self._core.classes(used_columns(table, self._used), n_threads, table.n_rows)
        return out[:, 0] if self._n_outputs == 1 else out

    def apply(self, table: Rows, n_threads: int = 1) -> NDArray[np.int64]:
        """Give the node that answers for each row; of several the heaviest, if tied the first.  -> (n_rows,)

        >>> predictor.apply(table)  # doctest: +SKIP
        """
        out: NDArray[np.int64] = self._core.apply(used_columns(table, self._used), n_threads, table.n_rows)
        return out

    def decision_path(self, table: Rows, n_threads: int = 1) -> csr_array[np.float64, tuple[int, int]]:
        """Give the share with which each row reaches each node: 1 unless a missing value divided it.

        -> (n_rows, n_nodes)

        >>> predictor.decision_path(table)[0].indices  # doctest: +SKIP
        """
        indptr, indices, shares = self._core.decision_path(
            used_columns(table, self._used), n_threads, table.n_rows
        )
        return csr_array((shares, indices, indptr), shape=(table.n_rows, self._tree.node_count))


def used_columns(table: Rows, used: Sequence[int]) -> NDArray[Any] | list[NDArray[Any] | None]:
    """Give the block as it is; of columns only those that trees read, as sparse tables make them late."""
    if table.block is not None:
        return table.block
    columns: list[NDArray[Any] | None] = [None] * len(table.columns)
    for j in used:
        columns[j] = table.columns[j]
    return columns
