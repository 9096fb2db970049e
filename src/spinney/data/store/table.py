"""BinnedTable: the columns of a store as a table, decoded where they are used."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.data.schema import CodedRows, Column, LazyColumns, Schema, Table
from spinney.native import core


class StoredRows(CodedRows):
    """Base class of datasets with codes on disk.

    Attributes
    ----------
    max_bins : int
        Number of bins of a numeric column at most.
    """

    max_bins: int

    def column(self, j: int) -> Column:
        """Return a column with a value of its bin, or the category, of each row."""
        raise NotImplementedError

    def code_source(self) -> Any:
        """Return what gradient boosting reads the codes from, where they are not in files of this machine.

        Returns
        -------
        CodeSource or None
            The codes in blocks; None if they are copied to memory.
        """
        return None

    def matrix(self, columns: Sequence[int] | None = None, *, exact: bool = False) -> core.CodeMatrix:
        """Return the codes of some columns."""
        raise NotImplementedError

    def code(
        self, table: Table, weights: Floats | None, max_bins: int | None, n_threads: int
    ) -> core.CodeMatrix:
        """Return the stored codes, and code the columns of a table that are not stored.

        Parameters
        ----------
        table : Table
            The rows.
        weights : ndarray of shape (n_rows,) or None
            Row weights, for the bins of columns that are not stored.
        max_bins : int or None
            Number of bins that the learner asks for, which has to be that of the store; None: exact ranks.
        n_threads : int
            Number of threads.

        Returns
        -------
        CodeMatrix
            The codes.
        """
        assert isinstance(table, BinnedTable)
        if max_bins is not None and max_bins != self.max_bins:
            raise InputError(
                f"max_bins is {max_bins}, and the dataset was built with max_bins={self.max_bins}",
                fix=f"Set max_bins={self.max_bins}, or build the dataset again.",
            )
        own = [j for j, at in enumerate(table.stored) if at is not None]
        matrix = self.matrix([at for at in table.stored if at is not None], exact=max_bins is None)
        other = [j for j, at in enumerate(table.stored) if at is None]
        if not other:
            return matrix
        for j in other:
            n_categories = [len(table.schema.features[j].categories)]
            matrix.extend(
                core.build_codes([table.column(j)], n_categories, weights, max_bins or 0, n_threads)
            )
        position = {j: i for i, j in enumerate([*own, *other])}
        return matrix.select([position[j] for j in range(table.n_features)])


class BinnedTable(Table):
    """Table of a store, some of whose columns may have been replaced by others in memory.

    A numeric column that is decoded has the least value of each row's bin. That is where the row goes in
    every tree that was grown on these bins.

    Parameters
    ----------
    schema : Schema
        Description of the columns.
    n_rows : int
        Number of rows.
    dataset : StoredRows
        The store.
    stored : sequence of int or None
        Column of the store that each column is, None for one that `make` returns.
    make : function of int or None, default=None
        Returns the columns that are not in the store.
    """

    __slots__ = ("_make", "dataset", "stored")
    dataset: StoredRows

    def __init__(
        self,
        schema: Schema,
        n_rows: int,
        dataset: StoredRows,
        stored: Sequence[int | None],
        make: Callable[[int], Column] | None = None,
    ) -> None:
        self.dataset, self.stored, self._make = dataset, tuple(stored), make
        super().__init__(schema, n_rows, None, LazyColumns(len(self.stored), self._column))

    def _column(self, j: int) -> Column:
        at = self.stored[j]
        if at is not None:
            return self.dataset.column(at)
        assert self._make is not None
        return self._make(j)

    def with_schema(self, schema: Schema) -> BinnedTable:
        """Return the same columns with another schema.

        Parameters
        ----------
        schema : Schema
            The schema.

        Returns
        -------
        BinnedTable
            The table.
        """
        return BinnedTable(schema, self.n_rows, self.dataset, self.stored, self._make)

    def select(self, columns: Sequence[int]) -> BinnedTable:
        """Return the table of some columns.

        Parameters
        ----------
        columns : sequence of int
            Positions, in the new order.

        Returns
        -------
        BinnedTable
            The table.
        """
        chosen = list(columns)
        make = self._make
        return BinnedTable(
            self.schema.select(chosen),
            self.n_rows,
            self.dataset,
            [self.stored[j] for j in chosen],
            None if make is None else lambda i: make(chosen[i]),
        )

    def replace(self, schema: Schema, make: Callable[[int], Column], changed: Collection[int]) -> BinnedTable:
        """Return a table with some columns replaced; the others are still those of the store.

        Parameters
        ----------
        schema : Schema
            Description of the new columns.
        make : function of int
            Returns the column at a position.
        changed : collection of int
            Positions of the columns that are not those of this table; those beyond its width always are.

        Returns
        -------
        BinnedTable
            The table.
        """
        kept = [
            self.stored[j] if j < self.n_features and j not in changed else None
            for j in range(schema.n_features)
        ]
        return BinnedTable(schema, self.n_rows, self.dataset, kept, make)


def decode(codes: NDArray[np.uint8], lo: Floats) -> Floats:
    """Return the least value of each row's bin, NaN if it is missing.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,)
        Bin codes.
    lo : ndarray of shape (n_bins,)
        Least value of each bin.

    Returns
    -------
    ndarray of shape (n_rows,)
        The values.

    Examples
    --------
    >>> decode(np.array([1, 2, 0], np.uint8), np.array([0.5, 7.0])).tolist()
    [7.0, nan, 0.5]
    """
    values: Any = np.append(lo, np.nan)
    decoded: Floats = values[codes]
    return decoded
