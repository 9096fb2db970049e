"""Prediction: walks the rows of a table down the trees of an ensemble, in compiled code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from spinney.core.arrays import Floats
from spinney.native import core
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.tree_arrays import TreeArrays

# Memory for stages, several of which are computed at a time because the rows are read anew each time.
_STAGED_BYTES = 1 << 24

Columns = NDArray[Any] | list[NDArray[Any] | None]
Weights = Sequence[float] | Floats | None


class Rows(Protocol):
    """Rows to predict: `block` if they are one 2-D array, and the columns in any case."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def block(self) -> NDArray[np.floating[Any]] | None:
        """The rows as one array (n_rows, n_features), or None."""

    @property
    def columns(self) -> Sequence[NDArray[Any]]:
        """One array (n_rows,) per feature."""


class Predictor:
    """The trees of an ensemble, packed for prediction; a tree is an ensemble of one.

    Without ``outputs_per_round`` every tree has values for all outputs, and results have the shape
    (n_rows, n_outputs, width), as in a forest. With ``outputs_per_round=K`` tree t adds its one value to
    column t % K, and results have the shape (n_rows, K), as in boosting with K trees per round.

    Values are summed in float64 in the order of the trees: the bits are the same for any number of threads.
    Any number of threads may share a predictor.

    Parameters
    ----------
    trees : TreeEnsemble or TreeArrays
        The trees.
    outputs_per_round : int, optional
        Trees per boosting round.
    n_classes : sequence of int, optional
        Number of classes of each output; by default the full width of the values.

    Examples
    --------
    >>> predictor = Predictor(ensemble, outputs_per_round=1)           # doctest: +SKIP
    >>> predictor.sum(table, start=np.full((table.n_rows, 1), 0.5))   # doctest: +SKIP
    """

    __slots__ = (
        "_core",
        "_n_classes",
        "_n_trees",
        "_outputs_per_round",
        "_shape",
        "_step",
        "_trees",
        "_used",
    )

    def __init__(
        self,
        trees: TreeEnsemble | TreeArrays,
        outputs_per_round: int | None = None,
        n_classes: Sequence[int] | None = None,
    ) -> None:
        n_trees = 1 if isinstance(trees, TreeArrays) else trees.n_trees
        if outputs_per_round is not None and trees.value.shape[1:] != (1, 1):
            raise ValueError("outputs_per_round is for trees with one value per node.")
        if outputs_per_round is not None and n_trees % outputs_per_round:
            raise ValueError(f"{n_trees} trees are no rounds of {outputs_per_round}.")
        self._trees, self._n_trees, self._outputs_per_round = trees, n_trees, outputs_per_round
        self._n_classes = [] if n_classes is None else [int(k) for k in n_classes]
        self._step = outputs_per_round or 1  # trees per round
        self._shape = (outputs_per_round,) if outputs_per_round else trees.value.shape[1:]
        self._core: core.Predictor | None = None

    def __reduce__(self) -> tuple[type[Predictor], tuple[Any, ...]]:
        # The packed form belongs to this processor and this version; it is made again from the trees.
        return Predictor, (self._trees, self._outputs_per_round, self._n_classes or None)

    def _pack(self) -> core.Predictor:
        """Return the compiled predictor, made at first use."""
        if self._core is None:
            trees: Any = self._trees
            if isinstance(trees, TreeArrays):
                trees = SimpleNamespace(**trees.to_ensemble())
            packed = core.Predictor(trees, self._outputs_per_round or 0, self._n_classes)
            self._used: list[int] = packed.used_features
            self._core = packed
        return self._core

    # ---- one tree ----

    def value(self, table: Rows, n_threads: int = 1) -> Floats:
        """Return the value of each row: class proportions, or the mean.  -> (n_rows, n_outputs, width)

        For an ensemble of one tree.

        >>> predictor.value(table)[:, 0]  # doctest: +SKIP
        """
        packed = self._core or self._pack()
        return packed.values(used_columns(table, self._used), n_threads, table.n_rows)

    def classes(self, table: Rows, n_threads: int = 1) -> NDArray[np.int64]:
        """Return the class code with the largest value, the first of ties.

        -> (n_rows,), or (n_rows, n_outputs) for several outputs. For an ensemble of one tree.

        >>> model.classes_[predictor.classes(table)]  # doctest: +SKIP
        """
        packed = self._core or self._pack()
        out = packed.classes(used_columns(table, self._used), n_threads, table.n_rows)
        return out[:, 0] if out.shape[1] == 1 else out

    # ---- many trees ----

    def sum(
        self,
        table: Rows,
        n_threads: int = 1,
        *,
        weights: Weights = None,
        n_trees: int | None = None,
        start: Floats | None = None,
    ) -> Floats:
        """Return `start` plus the weighted sum of the values of the trees.  -> (n_rows, n_outputs, width)

        weights (n_trees,); n_trees: only the first so many trees; start (result's shape) is not changed.

        >>> predictor.sum(table, n_trees=50)  # doctest: +SKIP
        """
        total = self._sums(table, n_threads, weights, range(self._count(n_trees)), start, 1)
        return total.reshape(table.n_rows, *self._shape)

    def mean(
        self, table: Rows, n_threads: int = 1, *, weights: Weights = None, n_trees: int | None = None
    ) -> Floats:
        """Return the weighted mean of the values of the trees.  -> (n_rows, n_outputs, width)

        >>> predictor.mean(table)[:, 0]  # doctest: +SKIP
        """
        total = self.sum(table, n_threads, weights=weights, n_trees=n_trees)
        total /= self._total_weights(weights, n_trees)[-1]
        return total

    def staged_sum(
        self,
        table: Rows,
        n_threads: int = 1,
        *,
        weights: Weights = None,
        n_trees: int | None = None,
        start: Floats | None = None,
    ) -> Iterator[Floats]:
        """Yield the result of `sum` after one round of trees, after two, and so on.

        >>> for stage in predictor.staged_sum(table): ...  # doctest: +SKIP
        """
        n_stages = self._count(n_trees) // self._step
        at_once = max(1, _STAGED_BYTES // (8 * max(table.n_rows, 1) * int(np.prod(self._shape))))
        for first in range(0, n_stages, at_once):
            end = min(first + at_once, n_stages)
            trees = range(first * self._step, end * self._step)
            stages = self._sums(table, n_threads, weights, trees, start, end - first)
            yield from stages
            start = stages[-1]

    def staged_mean(
        self, table: Rows, n_threads: int = 1, *, weights: Weights = None, n_trees: int | None = None
    ) -> Iterator[Floats]:
        """Yield the result of `mean` for the first tree, the first two, and so on.

        >>> for stage in predictor.staged_mean(table): ...  # doctest: +SKIP
        """
        totals = self._total_weights(weights, n_trees)
        stages = self.staged_sum(table, n_threads, weights=weights, n_trees=n_trees)
        for stage, total in zip(stages, totals[self._step - 1 :: self._step], strict=True):
            yield stage / total

    def apply(self, table: Rows, n_threads: int = 1, *, n_trees: int | None = None) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, numbered within its tree.  -> (n_rows, n_trees)

        For a row divided by missing values: the leaf with the largest fraction, the first of ties.

        >>> predictor.apply(table)[0]  # doctest: +SKIP
        """
        packed = self._core or self._pack()
        columns = used_columns(table, self._used)
        return packed.apply(columns, n_threads, table.n_rows, self._count(n_trees))

    def decision_path(self, table: Rows, n_threads: int = 1) -> csr_array[np.float64, tuple[int, int]]:
        """Return the fraction of each row that reaches each node: 1 unless a missing value divided it.

        -> (n_rows, node_count), the nodes of all trees in their order

        >>> predictor.decision_path(table)[0].indices  # doctest: +SKIP
        """
        packed = self._core or self._pack()
        columns = used_columns(table, self._used)
        indptr, indices, fractions = packed.decision_path(columns, n_threads, table.n_rows)
        return csr_array((fractions, indices, indptr), shape=(table.n_rows, len(self._trees.kind)))

    def _count(self, n_trees: int | None) -> int:
        if n_trees is None:
            return self._n_trees
        if not 0 <= n_trees <= self._n_trees or n_trees % self._step:
            raise ValueError(f"n_trees={n_trees}: there are {self._n_trees} trees, {self._step} per round.")
        return n_trees

    def _total_weights(self, weights: Any, n_trees: int | None) -> Floats:
        n_trees = self._count(n_trees)
        if weights is None:
            return np.arange(1.0, n_trees + 1.0)
        return np.cumsum(np.asarray(weights, dtype=np.float64)[:n_trees])

    def _sums(
        self, table: Rows, n_threads: int, weights: Any, trees: range, start: Any, n_stages: int
    ) -> Floats:
        """Add trees to the start in equal stages; return the sums after each.  -> (n_stages, n_rows, …)"""
        if weights is not None:
            weights = np.ascontiguousarray(weights, dtype=np.float64)
        if start is not None:
            start = np.ascontiguousarray(start, dtype=np.float64)
        packed = self._core or self._pack()
        columns = used_columns(table, self._used)
        sums: Floats = packed.sum(
            columns, n_threads, table.n_rows, trees.start, len(trees), n_stages, weights, start
        )
        return sums.reshape(n_stages, table.n_rows, *self._shape)


def used_columns(table: Rows, used: Sequence[int]) -> Columns:
    """Return the block as it is, else only the columns that trees read: sparse tables make them on demand."""
    if table.block is not None:
        return table.block
    columns: list[NDArray[Any] | None] = [None] * len(table.columns)
    for j in used:
        columns[j] = table.columns[j]
    return columns
