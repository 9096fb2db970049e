"""The rows of one block as a table, decoded from their bins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.data.schema import Column, LazyColumns, Schema, Table
from spinney.data.store.table import decode


def decode_column(
    schema: Schema,
    j: int,
    codes: NDArray[np.uint8],
    lo: Floats | None,
    categories: NDArray[np.int32] | None,
) -> Column:
    """Return a column from its codes; `categories` are those of a column with more than 255."""
    if lo is not None:
        return decode(codes, lo)
    if categories is not None:
        return categories
    levels: NDArray[np.int32] = codes.astype(np.int32)
    levels[levels == len(schema.features[j].categories)] = -1
    return levels


def block_table(
    schema: Schema,
    lo: Sequence[Floats | None],
    codes: NDArray[np.uint8],
    categories: NDArray[np.int32] | None,
) -> Table:
    """Return the rows of a block; a number is the least value of its bin.

    lo (n_features,) of (n_bins,), None of categorical columns; codes (n_features, n_rows);
    categories (n_wide, n_rows)
    """
    sizes = [len(feature.categories) for feature in schema.features]
    wide = [j for j, size in enumerate(sizes) if size > 255]

    def column(j: int) -> Column:
        own = categories[wide.index(j)] if j in wide and categories is not None else None
        return decode_column(schema, j, codes[j], lo[j], own)

    return Table(schema, codes.shape[1], None, LazyColumns(len(sizes), column))
