"""Partitions of a Dask collection in the order of the rows, and the blocks that they are cut into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, InputTypeError
from spinney.data.arrow import with_plain_types
from spinney.data.store.roles import Roles, RowBatch
from spinney.data.store.sources import Batch, frame_columns, slice_rows
from spinney.distributed.cluster import Cluster


def is_collection(X: Any) -> bool:
    """Return whether X is a Dask DataFrame, Series or Array."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "to_delayed")


def collect(cluster: Cluster, values: Any) -> Any:
    """Return a Dask collection in the memory of this process, anything else as it is."""
    if not is_collection(values):
        return values
    return cluster.compute_all(lambda: [values])[0]


def count_rows(part: Any) -> int:
    """Return the number of rows of a partition."""
    return int(part.shape[0])


@dataclass(frozen=True)
class Piece:
    """Some rows of one partition."""

    part: int
    begin: int
    end: int


@dataclass(frozen=True, eq=False)
class Partitions:
    """The partitions of a table.

    Attributes
    ----------
    delayed : list of Delayed
        The partitions.
    ends : ndarray of shape (n_partitions + 1,)
        First row of each partition among all rows, and the number of rows.
    names : tuple of str or None
        Names of the columns.
    """

    delayed: list[Any]
    ends: NDArray[np.int64]
    names: tuple[str, ...] | None

    @classmethod
    def read(cls, X: Any, cluster: Cluster) -> Partitions:
        """Count the rows of the partitions of a Dask DataFrame or Array."""
        from dask import delayed

        if not is_collection(X) or len(getattr(X, "shape", ())) != 2:
            raise InputTypeError(
                f"X is a {type(X).__name__}, not a Dask DataFrame or a Dask Array of two axes",
                fix="Make one by dask.dataframe.from_pandas, or fit the estimator without Dask.",
            )
        if hasattr(X, "rechunk") and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        parts = np.ravel(np.asarray(X.to_delayed(), dtype=object)).tolist()
        counts = cluster.compute_all(lambda: [delayed(count_rows)(part) for part in parts])
        ends = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        if not ends[-1]:
            raise InputError("Found array with 0 sample(s): all partitions are empty.")
        names = frame_columns(X._meta) if hasattr(X, "columns") else None  # noqa: SLF001 (Dask's way)
        return cls(parts, ends, None if names is None else tuple(names))

    @property
    def n_rows(self) -> int:
        """Number of rows of all partitions."""
        return int(self.ends[-1])

    def pieces(self, begin: int, end: int) -> list[Piece]:
        """Return the rows from `begin` to `end` as rows of partitions; empty partitions are left out."""
        first = int(np.searchsorted(self.ends, begin, side="right")) - 1
        found = []
        for part in range(first, len(self.delayed)):
            start = int(self.ends[part])
            if start >= end:
                break
            own = Piece(part, max(begin - start, 0), min(end, int(self.ends[part + 1])) - start)
            if own.begin < own.end:
                found.append(own)
        return found


def read_piece(
    frame: Any, piece: Piece, names: Sequence[str] | None, weights: NDArray[np.float64] | None
) -> RowBatch:
    """Return some rows of a partition; `weights` are theirs."""
    rows = slice_rows(with_plain_types(frame), piece.begin, piece.end)
    roles = Roles(features=None if names is None else tuple(names))
    return roles.split(Batch(rows, f"partition {piece.part}", piece.begin, None, weights))
