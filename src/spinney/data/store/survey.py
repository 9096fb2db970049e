"""The first pass over a source: schema, bins, categories, labels and weights, learned as in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.data.categories import chosen_columns
from spinney.data.columns import Source, column_label, default_names
from spinney.data.features import Feature
from spinney.data.schema import Schema
from spinney.data.store.column_facts import CategoryFacts, ColumnFacts, NumberFacts, TargetFacts
from spinney.data.store.errors import SourceChangedError, located
from spinney.data.store.manifest import Bins, TargetColumns
from spinney.data.store.roles import RowBatch
from spinney.native import core

Counted: TypeAlias = dict[int, tuple[Floats, Floats]]
"""Distinct values of columns in ascending order, and the mass of each."""

_COUNTED_VALUES = 1 << 22
"""Number of distinct values of all columns together that are counted at first; rarely are more needed."""


@dataclass(frozen=True)
class WeightFacts:
    """What has to be known of the weights before bins can be learned.

    Attributes
    ----------
    n_rows, n_positive : int
        Number of rows, and of those with a positive weight.
    varied : bool
        Whether the weights differ.
    greatest : float
        The greatest weight.
    """

    n_rows: int
    n_positive: int
    varied: bool = False
    greatest: float = 1.0

    @classmethod
    def measure(cls, parts: Iterable[tuple[int, Floats | None]]) -> WeightFacts:
        """Count the rows of all parts, each with its number of rows and its weights."""
        n_rows, n_positive, first, varied, greatest = 0, 0, None, False, 0.0
        for n_part, weights in parts:
            n_rows += n_part
            if weights is None or not len(weights):
                n_positive += n_part
                continue
            first = float(weights[0]) if first is None else first
            n_positive += int(np.count_nonzero(weights))
            varied = varied or bool((weights != first).any())
            greatest = max(greatest, float(weights.max()))
        if n_rows and not n_positive:
            raise InputError(
                "Sample weights must contain at least one non-zero number.",
                fix="A row of weight 0 is left out.",
            )
        return cls(n_rows, n_positive, varied, greatest or 1.0)

    @property
    def scale(self) -> float:
        """Factor that turns weights into integers, once rounded."""
        return core.mass_scale(self.greatest, self.n_rows)

    def masses(self, weights: Floats) -> Floats:
        """Return the integer masses of rows, −1 for those of weight 0."""
        return np.where(weights > 0, np.rint(weights * self.scale), -1.0)


@dataclass(frozen=True)
class Survey:
    """What the first pass has learned.

    Attributes
    ----------
    facts : WeightFacts
        Numbers of rows.
    schema : Schema
        The columns.
    bins : tuple
        (lo, hi) of every numeric column, None of a categorical one.
    category_bins : tuple
        Bin of every category of a categorical column, None of a numeric one.
    sampled : bool
        Whether the bins come from a sample.
    target : TargetColumns or None
        The target.
    has_weights, has_group : bool
        Whether there are weights, and groups.
    """

    facts: WeightFacts
    schema: Schema
    bins: tuple[Bins | None, ...]
    category_bins: tuple[NDArray[np.uint32] | None, ...]
    sampled: bool
    target: TargetColumns | None
    has_weights: bool
    has_group: bool


@dataclass(frozen=True)
class SurveyPart:
    """What some consecutive rows add to a survey: partitions may be surveyed apart, and are then merged.

    Attributes
    ----------
    names : tuple of str or None
        Names of the columns.
    n_rows, n_kept : int
        Number of rows, and of those in the sample of bin edges.
    columns : list of ColumnFacts
        What is known of each column.
    counted : list of (values, masses) or None
        Distinct values of each column, None where they were not counted.
    sample_weights : ndarray of shape (n_kept,) or None
        Weights of the sampled rows, where weights vary.
    """

    names: tuple[str, ...] | None
    n_rows: int
    n_kept: int
    columns: list[ColumnFacts]
    counted: list[tuple[Floats, Floats] | None]
    sample_weights: Floats | None


class Surveyor:
    """Learns what a store needs from the batches of one pass.

    Parameters
    ----------
    facts : WeightFacts
        Numbers of rows.
    max_bins : int
        Number of bins per numeric column at most.
    categorical_features : object
        Columns whose numbers are categories.
    n_threads : int
        Number of threads.
    allocate : function of int
        Returns an array of so many float64 for the sample of a column.
    edge_rows : (int, int) or None, default=None
        The rows that are looked at, numbered among those that edges are learned from: all rows, those of
        positive weight where weights vary. None is all.
    """

    def __init__(
        self,
        facts: WeightFacts,
        max_bins: int,
        categorical_features: Any,
        n_threads: int,
        allocate: Callable[[int], Floats],
        edge_rows: tuple[int, int] | None = None,
    ) -> None:
        self._facts, self._max_bins, self._n_threads = facts, max_bins, n_threads
        self._categorical_features, self._allocate = categorical_features, allocate
        n_edge_rows = facts.n_positive if facts.varied else facts.n_rows
        self._sample = core.edge_sample(n_edge_rows)
        begin, end = edge_rows or (0, n_edge_rows)
        self._n_sample = end - begin
        if self.sampled:
            self._n_sample = int(np.diff(np.searchsorted(self._sample, [begin, end]))[0])
        self._n_counted, self._n_kept, self._n_rows = begin, 0, 0
        self._sample_weights = np.empty(self._n_sample) if facts.varied else None
        self._columns: list[ColumnFacts] = []
        self._names: tuple[str, ...] | None = None
        self._counter: core.ValueCounter | None = None
        self._target: TargetFacts | None = None
        self._has_weights = self._has_group = False

    @property
    def sampled(self) -> bool:
        """Whether bins come from a sample."""
        return len(self._sample) > 0

    def add(self, batch: RowBatch) -> None:
        """Look at the rows of a batch."""
        if not batch.n_rows:
            return
        with located(batch.where, batch.first_row):
            self._start(batch)
            self._check_width(batch.source)
            masses = self._masses(batch.weights)
            chosen = self._choose_rows(batch.n_rows, batch.weights)
            numbers: list[Any] = []
            for j, column in enumerate(self._columns):
                raw = batch.source.column(j)
                numbers.append(column.add(raw, batch.where, masses, chosen, self._n_kept))
            if batch.target is not None:
                self._target = TargetFacts() if self._target is None else self._target
                self._target.add(batch.target)
            elif self._target is not None:
                raise InputError("There is no target here, unlike in the batches before.")
        self._count(numbers, masses)
        if self._sample_weights is not None and batch.weights is not None:
            self._sample_weights[self._n_kept : self._n_kept + len(chosen)] = batch.weights[chosen]
        self._n_kept += len(chosen)
        self._n_rows += batch.n_rows

    def _start(self, batch: RowBatch) -> None:
        """Learn the width of the table from the first rows."""
        if self._columns:
            found = batch.weights is not None, batch.group is not None
            if found != (self._has_weights, self._has_group):
                raise InputError("Some batches have weights or groups, and others have none.")
            return
        source = batch.source
        if not source.shape[1]:
            raise InputError("The source has no columns to learn from.")
        self._has_weights, self._has_group = batch.weights is not None, batch.group is not None
        forced = chosen_columns(self._categorical_features, source)
        self._start_columns(source.names, [j in forced for j in range(source.shape[1])])

    def _start_columns(self, names: tuple[str, ...] | None, forced: Sequence[bool]) -> None:
        """Begin to gather facts of every column."""
        self._names = names
        self._columns = [
            ColumnFacts(
                column_label(names, j),
                CategoryFacts(),
                NumberFacts(self._n_sample, self._allocate),
                forced=one,
            )
            for j, one in enumerate(forced)
        ]
        if self.sampled:
            limit = min(max(_COUNTED_VALUES // len(self._columns), 4096), 65536)
            self._counter = core.ValueCounter(len(self._columns), limit)

    def _check_width(self, source: Source) -> None:
        if source.shape[1] != len(self._columns):
            n_found, n_before = source.shape[1], len(self._columns)
            raise InputError(f"There are {n_found} columns here, {n_before} in the rows before.")

    def _masses(self, weights: Floats | None) -> Floats | None:
        return self._facts.masses(weights) if self._facts.varied and weights is not None else None

    def _choose_rows(self, n_rows: int, weights: Floats | None) -> NDArray[np.int64]:
        """Return the rows of a batch that edges are learned from."""
        rows = np.flatnonzero(weights) if self._facts.varied and weights is not None else np.arange(n_rows)
        if self.sampled:
            first, last = np.searchsorted(self._sample, [self._n_counted, self._n_counted + len(rows)])
            chosen = rows[self._sample[first:last] - self._n_counted]
        else:
            chosen = rows
        self._n_counted += len(rows)
        return chosen

    def _count(self, numbers: Sequence[Any], masses: Floats | None) -> None:
        """Count the values of columns that may have few, as long as their sample has."""
        if self._counter is None:
            return
        for j, column in enumerate(self._columns):
            if numbers[j] is not None and column.numbers.n_sampled_values > self._max_bins:
                self._counter.drop(j)
        active = [x if self._counter.complete(j) else None for j, x in enumerate(numbers)]
        if any(x is not None for x in active):
            self._counter.add(active, masses, self._n_threads)

    # ---- rows that are looked at elsewhere ----

    def part(self) -> SurveyPart:
        """Return what the rows so far add to the survey of all rows.

        Returns
        -------
        SurveyPart
            The part.
        """
        counter, n = self._counter, len(self._columns)
        counted = [counter.read(j) if counter is not None and counter.complete(j) else None for j in range(n)]
        weights = None if self._sample_weights is None else self._sample_weights[: self._n_kept]
        return SurveyPart(self._names, self._n_rows, self._n_kept, self._columns, counted, weights)

    def merge(self, part: SurveyPart) -> None:
        """Add the rows of a part, which follow those so far.

        Parameters
        ----------
        part : SurveyPart
            The part.
        """
        if not part.n_rows:
            return
        if not self._columns:
            self._start_columns(part.names, [column.forced for column in part.columns])
        for j, (own, other) in enumerate(zip(self._columns, part.columns, strict=True)):
            own.merge(other, self._n_kept)
            counted = part.counted[j]
            if self._counter is None or own.is_categorical:
                continue
            if counted is None:
                self._counter.drop(j)
            elif self._counter.complete(j) and len(counted[0]):
                alone: list[Any] = [None] * len(self._columns)
                alone[j] = counted[0]
                self._counter.add(alone, counted[1], 1)
        if self._sample_weights is not None and part.sample_weights is not None:
            self._sample_weights[self._n_kept : self._n_kept + part.n_kept] = part.sample_weights
        self._n_kept += part.n_kept
        self._n_rows += part.n_rows

    # ---- results ----

    def finish(self, count_again: Callable[[list[int]], Counted]) -> Survey:
        """Learn the bins.

        Parameters
        ----------
        count_again : function of a list of int
            Reads some columns once more, and returns their distinct values and masses.

        Returns
        -------
        Survey
            The results.
        """
        if not self._n_rows:
            raise InputError("Found array with 0 sample(s): the source has no rows.")
        if self._n_rows != self._facts.n_rows:
            raise SourceChangedError(
                f"The source has {self._n_rows} rows, and had {self._facts.n_rows} when they were counted: "
                "it changed while it was read."
            )
        names = self._names or default_names(len(self._columns))
        features: list[Feature] = []
        category_bins: list[NDArray[np.uint32] | None] = []
        for name, column in zip(names, self._columns, strict=True):
            if column.is_categorical:
                categories, masses = column.categories.finish(column.label)
                features.append(Feature(name, "categorical", categories, "int32"))
                category_bins.append(core.bins_of_categories(masses))
            else:
                features.append(Feature(name, "numeric", (), "float64"))
                category_bins.append(None)
        schema = Schema(tuple(features), self._names is not None)
        return Survey(
            self._facts,
            schema,
            tuple(self._learn_bins(count_again)),
            tuple(category_bins),
            self.sampled,
            None if self._target is None else self._target.finish(),
            self._has_weights,
            self._has_group,
        )

    def _learn_bins(self, count_again: Callable[[list[int]], Counted]) -> list[Bins | None]:
        bins: list[Bins | None] = [None] * len(self._columns)
        numeric = [j for j, column in enumerate(self._columns) if not column.is_categorical]
        for j in numeric:  # one at a time: the samples of many columns may be on disk
            sample = self._columns[j].numbers.sample
            bins[j] = core.learn_bins([sample], self._sample_weights, self._max_bins, 1)[0]
        if not self.sampled:
            return bins
        # A column with few values in the sample has few in all, or some were missed: only all rows can tell.
        few = [j for j in numeric if np.array_equal(*bins[j])]  # type: ignore[misc]
        for j, (values, masses) in self._count_values(few, count_again).items():
            bins[j] = core.bins_of_masses(values, masses, self._max_bins)
        return bins

    def _count_values(self, columns: Sequence[int], count_again: Callable[[list[int]], Counted]) -> Counted:
        """Return the distinct values and their masses of columns with few values in the sample."""
        assert self._counter is not None
        counted = {j: self._counter.read(j) for j in columns if self._counter.complete(j)}
        again = [j for j in columns if j not in counted]
        return counted | count_again(again) if again else counted


def count_values(
    batches: Iterable[RowBatch], columns: Sequence[int], facts: WeightFacts, n_threads: int
) -> Counted:
    """Return the distinct values and their masses of some numeric columns.

    Parameters
    ----------
    batches : iterable of RowBatch
        The rows.
    columns : sequence of int
        Positions.
    facts : WeightFacts
        Numbers of rows.
    n_threads : int
        Number of threads.

    Returns
    -------
    dict
        (values, masses) by position.
    """
    counter = core.ValueCounter(len(columns), facts.n_rows)
    for batch in batches:
        with located(batch.where, batch.first_row):
            values = [batch.source.column(j).numbers() for j in columns]
        masses = facts.masses(batch.weights) if facts.varied and batch.weights is not None else None
        counter.add(values, masses, n_threads)
    return {j: counter.read(i) for i, j in enumerate(columns)}
