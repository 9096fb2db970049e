"""Prediction: walks the rows of a table down the trees of an ensemble, in compiled code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats, mean_of_scaled, sum_scale
from spinney.data.schema import Table
from spinney.data.target import by_output
from spinney.native import core
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.tree_arrays import TreeArrays

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Memory for stages, several of which are computed at a time because the rows are read anew each time.
_STAGED_BYTES = 1 << 24

Columns = NDArray[Any] | list[NDArray[Any] | None]


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
        "_overflows",
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
        self._core: core.Predictor | None = None

    def __reduce__(self) -> tuple[type[Predictor], tuple[Any, ...]]:
        # The packed form belongs to this processor and this version; it is made again from the trees.
        return Predictor, (self._trees, self._outputs_per_round, self._n_classes or None)

    def of(self, trees: TreeEnsemble | TreeArrays) -> Predictor:
        """Return the predictor of other trees with the same outputs and classes."""
        return Predictor(trees, self._outputs_per_round, self._n_classes or None)

    @property
    def _shape(self) -> tuple[int, ...]:
        """Shape of the result of one row."""
        per_round = self._outputs_per_round
        return (per_round,) if per_round else self._trees.value.shape[1:]

    def _pack(self) -> core.Predictor:
        """Return the compiled predictor, made at first use."""
        if self._core is None:
            trees: Any = self._trees
            if isinstance(trees, TreeArrays):
                trees = SimpleNamespace(**trees.to_ensemble())
            packed = core.Predictor(trees, self._outputs_per_round or 0, self._n_classes)
            self._used: list[int] = packed.used_features
            value = self._trees.value
            largest = max(abs(float(value.max())), abs(float(value.min())))
            self._overflows = largest > np.finfo(np.float64).max / self._n_trees
            self._core = packed
        return self._core

    # ---- one tree ----

    def value(self, table: Table, n_threads: int = 1) -> Floats:
        """Return the value of each row: class proportions, or the mean.  -> (n_rows, n_outputs, width)

        For an ensemble of one tree.

        >>> predictor.value(table)[:, 0]  # doctest: +SKIP
        """
        packed = self._core or self._pack()
        return packed.values(used_columns(table, self._used), n_threads, table.n_rows)

    def classes(self, table: Table, n_threads: int = 1) -> NDArray[np.int64]:
        """Return the class code with the largest value, the first of ties.

        -> (n_rows,), or (n_rows, n_outputs) for several outputs. For an ensemble of one tree.

        >>> model.classes_[predictor.classes(table)]  # doctest: +SKIP
        """
        packed = self._core or self._pack()
        out = packed.classes(used_columns(table, self._used), n_threads, table.n_rows)
        return out[:, 0] if out.shape[1] == 1 else out

    # ---- many trees ----

    def sum(self, table: Table, n_threads: int = 1, *, start: Floats | None = None) -> Floats:
        """Return `start` plus the sum of the values of the trees.  -> (n_rows, n_outputs, width)

        start (result's shape) is not changed.

        >>> predictor.sum(table)  # doctest: +SKIP
        """
        total: Floats = self._sums(table, n_threads, range(self._n_trees), start, 1)[0]
        return total

    def mean(self, table: Table, n_threads: int = 1) -> Floats:
        """Return the mean of the values of the trees.  -> (n_rows, n_outputs, width)

        >>> predictor.mean(table)[:, 0]  # doctest: +SKIP
        """
        self._core or self._pack()
        if not self._overflows:
            total = self.sum(table, n_threads)
            total /= self._n_trees
            return total
        scale = sum_scale(self._n_trees)
        scaled = Predictor(replace(self._trees, value=self._trees.value * scale))
        return mean_of_scaled(scaled.sum(table, n_threads), self._n_trees, scale)

    def staged_sum(
        self, table: Table, n_threads: int = 1, *, start: Floats | None = None
    ) -> Iterator[Floats]:
        """Yield the result of `sum` after one round of trees, after two, and so on.

        >>> for stage in predictor.staged_sum(table): ...  # doctest: +SKIP
        """
        n_stages = self._n_trees // self._step
        at_once = max(1, _STAGED_BYTES // (8 * max(table.n_rows, 1) * int(np.prod(self._shape))))
        for first in range(0, n_stages, at_once):
            end = min(first + at_once, n_stages)
            trees = range(first * self._step, end * self._step)
            stages = self._sums(table, n_threads, trees, start, end - first)
            yield from stages
            start = stages[-1]

    def apply(self, table: Table, n_threads: int = 1) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, numbered within its tree.  -> (n_rows, n_trees)

        For a row divided by missing values: the leaf with the largest fraction, the first of ties.

        >>> predictor.apply(table)[0]  # doctest: +SKIP
        """
        packed = self._core or self._pack()
        columns = used_columns(table, self._used)
        return packed.apply(columns, n_threads, table.n_rows)

    def decision_path(self, table: Table, n_threads: int = 1) -> csr_array[np.float64, tuple[int, int]]:
        """Return the fraction of each row that reaches each node: 1 unless a missing value divided it.

        -> (n_rows, node_count), the nodes of all trees in their order

        >>> predictor.decision_path(table)[0].indices  # doctest: +SKIP
        """
        from scipy.sparse import csr_array

        packed = self._core or self._pack()
        columns = used_columns(table, self._used)
        indptr, indices, fractions = packed.decision_path(columns, n_threads, table.n_rows)
        return csr_array((fractions, indices, indptr), shape=(table.n_rows, len(self._trees.kind)))

    def _sums(
        self, table: Table, n_threads: int, trees: range, start: Floats | None, n_stages: int
    ) -> Floats:
        """Add trees to the start in equal stages; return the sums after each.  -> (n_stages, n_rows, …)"""
        if start is not None:
            start = np.ascontiguousarray(start, dtype=np.float64)
        packed = self._core or self._pack()
        columns = used_columns(table, self._used)
        sums: Floats = packed.sum(columns, n_threads, table.n_rows, trees.start, len(trees), n_stages, start)
        return sums.reshape(n_stages, table.n_rows, *self._shape)


def used_columns(table: Table, used: Sequence[int]) -> Columns:
    """Return the block as it is, else only the columns that trees read: sparse tables make them on demand."""
    if table.block is not None:
        return table.block
    columns: list[NDArray[Any] | None] = [None] * len(table.columns)
    for j in used:
        columns[j] = table.columns[j]
    return columns


# ---- values as predictions ----


def split_classes(value: Floats, classes: Any) -> list[Floats]:
    """Split class proportions (n_rows, n_outputs, width) into an array per output, without padding."""
    return [value[:, k, : len(labels)] for k, labels in enumerate(by_output(classes))]


def as_probabilities(value: Floats, classes: Any) -> Any:
    """Return class proportions as ``predict_proba`` does: an array, or a list of them for several outputs."""
    parts = split_classes(value, classes)
    return parts if type(classes) is list else parts[0]


def as_targets(value: Floats) -> Floats:
    """Return values (n_rows, n_outputs, 1) in the shape of the target, (n_rows,) or (n_rows, n_outputs)."""
    return value[:, 0, 0] if value.shape[1] == 1 else value[:, :, 0]
