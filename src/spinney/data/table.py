"""Table: an input as one typed column a feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from spinney.data.schema import Schema

# float32 or float64 with NaN for missing, or int32 category codes with -1 for missing.
Column: TypeAlias = NDArray[Any]


class LazyColumns(Sequence[Column]):
    """Make each column when it is asked for, so that a sparse matrix is never dense as a whole.

    >>> columns = LazyColumns(2, lambda j: np.full(3, float(j)))
    >>> len(columns), columns[1].tolist()
    (2, [1.0, 1.0, 1.0])
    """

    __slots__ = ("_length", "_make")

    def __init__(self, length: int, make: Callable[[int], Column]) -> None:
        self._length, self._make = length, make

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Column: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Column]: ...
    def __getitem__(self, index: int | slice) -> Column | Sequence[Column]:
        chosen = range(self._length)[index]
        if isinstance(chosen, range):
            return LazyColumns(len(chosen), lambda j: self._make(chosen[j]))
        return self._make(chosen)


class Table:
    """Hold the columns of an input, all of ``n_rows`` rows, and the schema that describes them.

    ``block`` is the 2-D array (n_rows, n_features) when the input was one plain numeric matrix, else None.

    >>> from spinney.data import read_table
    >>> table = read_table([[1.0, "red"], [2.5, "blue"]])
    >>> [column.tolist() for column in table.columns]
    [[1.0, 2.5], [1, 0]]
    """

    __slots__ = ("_columns", "block", "n_rows", "schema")

    def __init__(
        self,
        schema: Schema,
        n_rows: int,
        block: NDArray[np.floating[Any]] | None,
        columns: Sequence[Column] | None = None,
    ) -> None:
        self.schema, self.n_rows, self.block, self._columns = schema, n_rows, block, columns

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return self.schema.n_features

    @property
    def columns(self) -> Sequence[Column]:
        """Return one array (n_rows,) a feature, made on demand where that saves memory."""
        if self._columns is None:
            self._columns = LazyColumns(self.n_features, self._column_of_block)
        return self._columns

    def with_schema(self, schema: Schema) -> Table:
        """Return the same columns under another description of them."""
        return Table(schema, self.n_rows, self.block, self._columns)

    def select(self, columns: Sequence[int]) -> Table:
        """Return the table of some columns, in the order in which they are named; none is copied."""
        chosen, source = list(columns), self.columns
        return Table(
            self.schema.select(chosen),
            self.n_rows,
            None,
            LazyColumns(len(chosen), lambda i: source[chosen[i]]),
        )

    def take(self, rows: NDArray[np.integer[Any]]) -> Table:
        """Return the table of some rows, each column copied when it is asked for."""
        if self.block is not None:
            return Table(self.schema, len(rows), self.block[rows])
        source = self.columns
        return Table(self.schema, len(rows), None, LazyColumns(self.n_features, lambda j: source[j][rows]))

    def replace(self, schema: Schema, make: Callable[[int], Column]) -> Table:
        """Return other columns of the same rows, made on demand where this table's own are."""
        columns: Sequence[Column] = LazyColumns(schema.n_features, make)
        lazy = isinstance(self.columns, LazyColumns)
        return Table(schema, self.n_rows, None, columns if lazy else list(columns))

    def column(self, j: int) -> Column:
        """Return column ``j`` as an array (n_rows,)."""
        return self.columns[j]

    def _column_of_block(self, j: int) -> Column:
        assert self.block is not None
        return self.block[:, j]

    def __repr__(self) -> str:
        return f"Table(n_rows={self.n_rows}, n_features={self.n_features})"
