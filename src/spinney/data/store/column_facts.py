"""What the first pass over a source gathers of one column, and of the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.data.categories import sort_categories
from spinney.data.columns import Category, RawColumn
from spinney.data.store.manifest import TargetColumns
from spinney.data.target import encode_classes

_MAX_CLASSES = 1 << 16
"""Number of distinct targets up to which they are taken for classes."""
_MANY_VALUES = 4096
"""Values that are looked at first: most columns have more distinct ones among them than there are bins."""
_MAX_SAMPLED_VALUES = 256
"""Number of distinct values of a sample that are told apart: one more than there are bins."""


@dataclass(eq=False)
class NumberFacts:
    """The sample of a numeric column.

    Attributes
    ----------
    size : int
        Number of sampled rows.
    allocate : function of int
        Returns the array of the sample.
    """

    size: int
    allocate: Callable[[int], Floats]
    _values: NDArray[np.floating[Any]] | None = None
    _distinct: set[float] = field(default_factory=set)

    @property
    def sample(self) -> NDArray[np.floating[Any]]:
        """The values of the sampled rows, NaN if missing.  (size,)"""
        if self._values is None:
            self._values = self.allocate(self.size)
            self._values.fill(np.nan)
        return self._values

    @property
    def n_sampled_values(self) -> int:
        """Number of distinct values of the sample so far; more than 256 are not told apart."""
        return len(self._distinct)

    def add(self, values: NDArray[np.floating[Any]], begin: int) -> None:
        """Add the values of further sampled rows, from a position on."""
        self.sample[begin : begin + len(values)] = values
        for few in (values[:_MANY_VALUES], values[_MANY_VALUES:]):  # mostly the first ones tell
            if len(self._distinct) < _MAX_SAMPLED_VALUES:
                known = few[~np.isnan(few)]
                self._distinct.update(np.unique(known)[:_MAX_SAMPLED_VALUES].tolist())

    def merge(self, other: NumberFacts, begin: int) -> None:
        """Add the sample of later rows, from a position on."""
        if other.size:
            self.sample[begin : begin + other.size] = other.sample
            self._distinct |= other._distinct

    def __getstate__(self) -> dict[str, Any]:
        """Send values in four bytes where that loses nothing: samples are most of what a survey moves."""
        state = dict(vars(self))
        if self._values is not None:
            with np.errstate(over="ignore"):
                short = self._values.astype(np.float32)
            if np.array_equal(short, self._values, equal_nan=True):
                state["_values"] = short
        return state


@dataclass(eq=False)
class CategoryFacts:
    """The categories of a column and the weight of their rows.

    Declared categories keep their order if all batches declare the same.
    """

    _masses: dict[Category, float] = field(default_factory=dict)
    _declared: tuple[Category, ...] | None = None
    _is_declared: bool = True

    def add(self, raw: RawColumn, masses: Floats | None) -> bool:
        """Add the categories of some rows, and return whether there are any; a row of mass −1 counts 0."""
        levels, codes = raw.levels()
        if raw.declared:
            declared = tuple(levels)
            self._is_declared = self._is_declared and self._declared in (None, declared)
            self._declared = declared
        present = np.bincount(codes + 1, minlength=len(levels) + 1)[1:]
        mass: NDArray[Any] = present
        if masses is not None:
            mass = np.bincount(codes + 1, np.maximum(masses, 0.0), minlength=len(levels) + 1)[1:]
        if not raw.declared and present.any():
            self._is_declared = False
        for at in np.flatnonzero(present).tolist():
            level = levels[at]
            self._masses[level] = self._masses.get(level, 0.0) + float(mass[at])
        return bool(present.any())

    def merge(self, other: CategoryFacts) -> None:
        """Add the categories of later rows."""
        if other._declared is not None:
            self._is_declared = self._is_declared and self._declared in (None, other._declared)
            self._declared = other._declared
        self._is_declared = self._is_declared and other._is_declared
        for level, mass in other._masses.items():
            self._masses[level] = self._masses.get(level, 0.0) + mass

    def finish(self, column: str | int) -> tuple[tuple[Category, ...], Floats]:
        """Return the categories in order, and the mass of each."""
        levels: Sequence[Category] = list(self._masses)
        if self._declared is not None and self._is_declared:
            known = dict.fromkeys(levels)
            levels = [level for level in self._declared if level in known]
        else:
            levels = sort_categories(dict.fromkeys(levels), column)
        masses = np.array([self._masses[level] for level in levels], dtype=np.float64)
        kinds = {type(level) for level in levels}
        # Of numbers, a batch of integers gives int and another one float: together they are float.
        return tuple(map(float, levels) if kinds == {int, float} else levels), masses


@dataclass(eq=False)
class ColumnFacts:
    """What is known of a column so far.

    Attributes
    ----------
    label : str or int
        Name or position.
    categories : CategoryFacts
        Its categories, if it is categorical.
    numbers : NumberFacts
        Its sample, if it is numeric.
    forced : bool
        Whether its numbers are categories because the user says so.
    """

    label: str | int
    categories: CategoryFacts
    numbers: NumberFacts
    forced: bool = False
    _categorical_in: str | None = None
    _numeric_in: str | None = None
    _looks_categorical: bool = False

    @property
    def is_categorical(self) -> bool:
        """Whether the column is categorical; one without any value is what its type says."""
        return (
            self.forced
            or self._categorical_in is not None
            or (self._looks_categorical and self._numeric_in is None)
        )

    def add(
        self,
        raw: RawColumn,
        where: str,
        masses: Floats | None,
        chosen: NDArray[np.int64],
        begin: int,
    ) -> NDArray[Any] | None:
        """Add the values of some rows.

        Parameters
        ----------
        raw : RawColumn
            The column.
        where : str
            The file, for messages.
        masses : ndarray of shape (n_rows,) or None
            Integer weights, −1 for rows that do not count.
        chosen : ndarray of int
            Rows of the sample.
        begin : int
            Position of the first of them in the sample.

        Returns
        -------
        ndarray of shape (n_rows,) or None
            The numbers; None if there are categories.
        """
        if self.forced or raw.categorical:
            self._looks_categorical = True
            if self.categories.add(raw, masses):
                self._categorical_in = self._categorical_in or where or "the table"
                self._check_kind()
            return None
        values = raw.numbers()
        if self._numeric_in is None and not np.isnan(values).all():
            self._numeric_in = where or "the table"
        self._check_kind()
        if self._categorical_in is None:
            self.numbers.add(values[chosen], begin)
        return values

    def merge(self, other: ColumnFacts, begin: int) -> None:
        """Add what is known of the column in later rows, whose sample begins at a position."""
        self._looks_categorical = self._looks_categorical or other._looks_categorical
        self._categorical_in = self._categorical_in or other._categorical_in
        self._numeric_in = self._numeric_in or other._numeric_in
        self._check_kind()
        self.categories.merge(other.categories)
        if not self.is_categorical:
            self.numbers.merge(other.numbers, begin)

    def _check_kind(self) -> None:
        if self.forced or self._categorical_in is None or self._numeric_in is None:
            return
        raise InputError(
            f"The type of the column differs: categories in {self._categorical_in}, numbers in "
            f"{self._numeric_in}",
            column=self.label,
            fix="Convert it to one type, or name it in categorical_features.",
        )


@dataclass(eq=False)
class TargetFacts:
    """Types, labels and classes of the target so far."""

    _n_outputs: int = 0
    _is_vector: bool = True
    _dtype: np.dtype[Any] | None = None
    _distinct: list[set[Any]] | None = field(default_factory=list)
    _is_text: bool = False

    def add(self, target: NDArray[Any]) -> None:
        """Add the targets of some rows.  (n_rows,) or (n_rows, n_outputs)"""
        columns = target[:, None] if target.ndim == 1 else target
        if not self._n_outputs:
            self._n_outputs, self._is_vector = columns.shape[1], target.ndim == 1
            self._distinct = [set() for _ in range(self._n_outputs)]
            self._is_text = target.dtype.kind not in "biuf"
        if columns.shape[1] != self._n_outputs:
            raise InputError(
                f"The target has {columns.shape[1]} columns here, and {self._n_outputs} in the rows before."
            )
        if self._is_text != (target.dtype.kind not in "biuf"):
            raise InputError("The type of the target differs: numbers in some rows, text in others.")
        self._dtype = target.dtype if self._dtype is None else np.result_type(self._dtype, target.dtype)
        if self._distinct is None:
            return
        for known, column in zip(self._distinct, columns.T, strict=True):
            known.update(column.tolist() if target.dtype.kind == "O" else np.unique(column).tolist())
        if not self._is_text and any(len(known) > _MAX_CLASSES for known in self._distinct):
            self._distinct = None

    def finish(self) -> TargetColumns:
        """Return how the target is stored."""
        assert self._dtype is not None
        classes = self._classes()
        if self._is_text:
            return TargetColumns("<i4", self._n_outputs, self._is_vector, classes, classes)
        dtype = self._dtype.newbyteorder("<").str
        return TargetColumns(dtype, self._n_outputs, self._is_vector, None, classes)

    def _classes(self) -> tuple[NDArray[Any], ...] | None:
        """Return the classes as a classifier learns them from the same labels."""
        if self._distinct is None:
            return None
        found = []
        for known in self._distinct:
            labels = np.empty(len(known), dtype=object)
            labels[:] = list(known)
            try:
                (classes,) = encode_classes(labels.astype(self._dtype)).classes
            except InputError:
                if self._is_text:
                    raise
                return None
            found.append(classes)
        return tuple(found)
