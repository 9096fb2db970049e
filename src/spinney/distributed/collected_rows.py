"""CollectedRows: the codes of all blocks of a cluster in the memory of one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.data.schema import Column, Schema
from spinney.data.store.files import many_categories
from spinney.data.store.manifest import Bins
from spinney.data.store.table import BinnedTable, StoredRows
from spinney.distributed.block_table import decode_column
from spinney.native import core


@dataclass(eq=False)
class CollectedRows(StoredRows):
    """Codes, target and weights of all rows.

    Attributes
    ----------
    schema : Schema
        The columns.
    max_bins : int
        Number of bins of a numeric column at most.
    extents, category_bins : sequence
        Bins of numeric columns, and of categories.
    target, weights : ndarray or None
        Of all rows.
    codes : ndarray of shape (n_features, n_rows)
        Bin codes.
    categories : ndarray of shape (n_wide, n_rows) or None
        Categories of columns with more than 255.
    """

    schema: Schema
    max_bins: int
    extents: Sequence[Bins | None]
    category_bins: Sequence[NDArray[np.uint32] | None]
    target: Any
    weights: Floats | None
    codes: NDArray[np.uint8]
    categories: NDArray[np.int32] | None = None
    group: None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[1])

    def table(self) -> BinnedTable:
        """Return the columns as a table."""
        return BinnedTable(self.schema, self.n_rows, self, range(self.schema.n_features))

    def column(self, j: int) -> Column:
        """Return a column with a value of its bin, or the category, of each row."""
        wide, bins = many_categories(self.category_bins), self.extents[j]
        own = self.categories[wide.index(j)] if j in wide and self.categories is not None else None
        return decode_column(self.schema, j, self.codes[j], None if bins is None else bins[0], own)

    def matrix(self, columns: Sequence[int] | None = None, *, exact: bool = False) -> core.CodeMatrix:
        """Return the codes as growers take them."""
        if exact:
            raise InputError(
                "max_bins=None asks for exact splits, and the rows of a cluster have bins",
                fix=f"Set max_bins={self.max_bins}.",
            )
        chosen = list(range(self.schema.n_features)) if columns is None else list(columns)
        extents, categories = [self.extents[j] for j in chosen], [self.category_bins[j] for j in chosen]
        matrix = core.allocate_codes(self.n_rows, extents, categories)
        for i, j in enumerate(chosen):
            core.write_codes(matrix, i, 0, np.ascontiguousarray(self.codes[j]))
        return matrix


def in_order(results: Mapping[int, NDArray[Any]]) -> NDArray[Any]:
    """Join the arrays (width, n_rows) of blocks."""
    return np.concatenate([results[block] for block in sorted(results)], axis=1)
