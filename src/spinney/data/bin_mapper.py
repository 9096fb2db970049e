"""BinMapper: the bins of numeric columns, by which other rows are coded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.data.schema import Table
from spinney.io import Persistent, require
from spinney.native import core

MAX_BINS = 255
Extents = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False, repr=False)
class BinMapper(Persistent):
    """Bins of numeric columns that were learned from other rows.

    The members of a forest have it as `max_bins`, so that a clone of a member splits at the thresholds of the
    forest, whatever rows it is fitted to.

    Attributes
    ----------
    begin : ndarray of shape (n_columns + 1,)
        The bins of column j are ``begin[j]`` to ``begin[j + 1]``; a column without bins of its own has none.
    lo, hi : ndarray of shape (n_bins,)
        Least and greatest value of each bin, ascending within a column.

    Examples
    --------
    >>> from spinney import RandomForestRegressor
    >>> X = np.arange(600.0).reshape(300, 2)
    >>> forest = RandomForestRegressor(2, random_state=0).fit(X, X[:, 0])
    >>> forest[0].max_bins
    BinMapper(n_columns=2, n_bins=510)
    """

    begin: NDArray[np.int64]
    lo: Floats
    hi: Floats

    def _check_state(self) -> None:
        arrays = self.begin, self.lo, self.hi
        types = np.int64, np.float64, np.float64
        valid = all(
            isinstance(x, np.ndarray) and x.dtype == t and x.ndim == 1
            for x, t in zip(arrays, types, strict=True)
        )
        require(valid, "the bins of columns are not arrays of numbers")
        sizes = np.diff(self.begin)
        n = len(self.lo)
        valid = len(self.begin) > 0 and self.begin[0] == 0 and self.begin[-1] == n and len(self.hi) == n
        require(valid and bool(((sizes >= 0) & (sizes <= MAX_BINS)).all()), "the bins of columns do not fit")
        ascending = self.hi[:-1] < self.lo[1:]
        ascending[self.begin[(self.begin > 0) & (self.begin < n)] - 1] = True
        require(
            bool((self.lo <= self.hi).all() and ascending.all()), "the bins of a column are not ascending"
        )

    def __repr__(self) -> str:
        return f"BinMapper(n_columns={self.n_columns}, n_bins={len(self.lo)})"

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    @property
    def n_columns(self) -> int:
        """Number of columns, categorical ones included."""
        return len(self.begin) - 1

    def equals(self, other: BinMapper | None) -> bool:
        """Return whether another mapper has the same bins.

        Parameters
        ----------
        other : BinMapper or None
            Another mapper.

        Returns
        -------
        bool
            Whether all arrays are equal.
        """
        return other is not None and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in ("begin", "lo", "hi")
        )

    @classmethod
    def from_codes(cls, matrix: core.CodeMatrix) -> Self | None:
        """Return the bins of a coded table.

        Parameters
        ----------
        matrix : CodeMatrix
            Codes of a table.

        Returns
        -------
        BinMapper or None
            The bins of columns some bin of which has more than one value: those of others follow from the
            values that are there. None if there is no such column.
        """
        # Categories, and ranks of more values, have no such bins.
        columns = [j if matrix.n_bins(j) <= MAX_BINS else None for j in range(matrix.n_columns)]
        none = np.empty(0)
        all_lo = [none if j is None else matrix.lo(j) for j in columns]
        all_hi = [none if j is None else matrix.hi(j) for j in columns]
        sizes = np.array([len(one) for one in all_lo], np.int64)
        lo, hi = np.concatenate([none, *all_lo]), np.concatenate([none, *all_hi])
        wide = np.cumsum(np.r_[0, lo != hi])[np.cumsum(np.r_[0, sizes])]
        has_wide = wide[1:] > wide[:-1]
        if not has_wide.any():
            return None
        kept = np.repeat(has_wide, sizes)
        return cls(np.cumsum(np.r_[0, sizes * has_wide]), lo[kept], hi[kept])

    def code(self, table: Table, matrix: core.CodeMatrix, weights: Floats | None) -> core.CodeMatrix:
        """Code a table by these bins.

        A value outside of all bins belongs to the next one, which is widened by it.

        Parameters
        ----------
        table : Table
            Rows.
        matrix : CodeMatrix
            Codes of the same rows, for the columns without bins here.
        weights : ndarray of shape (n_rows,) or None
            Row weights; rows of weight 0 widen no bin.

        Returns
        -------
        CodeMatrix
            The codes.

        Raises
        ------
        InputError
            If the table has other columns.
        """
        features = table.schema.features
        if table.dataset is not None or len(features) != self.n_columns:
            found = "a BinnedDataset" if table.dataset is not None else f"{len(features)} features"
            raise InputError(
                f"max_bins is the bins of another model, of {self.n_columns} features, but X has {found}",
                fix="Set max_bins=255, or fit to rows of the same features.",
            )
        bins: list[Extents | None] = []
        categories: list[NDArray[np.uint32] | None] = []
        codes: list[NDArray[np.uint8] | NDArray[np.uint32]] = []
        for j, feature in enumerate(features):
            is_number, own = feature.kind == "numeric", slice(self.begin[j], self.begin[j + 1])
            if is_number and own.start < own.stop:
                coded, extents = _code_column(table.columns[j], (self.lo[own], self.hi[own]), weights)
                codes.append(coded)
                bins.append(extents)
            else:
                codes.append(matrix.codes(j))
                bins.append((matrix.lo(j), matrix.hi(j)) if is_number else None)
            categories.append(None if is_number else matrix.bin_of_category(j))
        out = core.allocate_codes(table.n_rows, bins, categories)
        for j, column in enumerate(codes):
            core.write_codes(out, j, 0, column)
        return out


def _code_column(
    column: NDArray[Any], bins: Extents, weights: Floats | None
) -> tuple[NDArray[np.uint8], Extents]:
    """Return the codes of a column, and its bins, widened by its values."""
    codes = np.empty((1, len(column)), np.uint8)
    coder = core.BinCoder([bins], sampled=True)
    coder.code([column], weights, codes, 0, 1)
    return codes[0], coder.extents(0)
