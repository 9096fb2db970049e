"""Roles of the columns of a source: features, target, weights and groups; batches split by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputError, InputTypeError, show_value
from spinney.data.columns import Source, open_source
from spinney.data.store.errors import SourceChangedError, located, prefixed
from spinney.data.store.sources import Batch, RowArrays, check_column, frame_column, frame_columns
from spinney.data.target import read_target


@dataclass(frozen=True)
class RowBatch:
    """Rows with their columns by role.

    Attributes
    ----------
    source : Source
        The features.
    target : ndarray or None
        Labels or values, checked.
    weights : ndarray of shape (n_rows,) or None
        Row weights, checked.
    group : ndarray of shape (n_rows,) or None
        Ids of the groups.
    where : str
        The file or partition.
    first_row : int
        Position of the first row in it.
    """

    source: Source
    target: NDArray[Any] | None
    weights: Floats | None
    group: NDArray[Any] | None
    where: str
    first_row: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.source.shape[0]


@dataclass(frozen=True)
class Roles:
    """Which columns have which role.

    Attributes
    ----------
    target : tuple of str or None
        Names of the columns of the target; None if it is given as arrays, or not at all.
    is_vector : bool
        Whether the target is one column given by its name, not in a list.
    weights, group : str or None
        Names of the columns of weights and groups.
    features : tuple of str or None
        Names of the features in order; None if the columns have no names.
    """

    target: tuple[str, ...] | None = None
    is_vector: bool = True
    weights: str | None = None
    group: str | None = None
    features: tuple[str, ...] | None = None

    @classmethod
    def read(
        cls,
        target: Any,
        sample_weight: Any,
        group: Any,
        features: Sequence[str] | None,
        names: Sequence[str] | None = None,
    ) -> tuple[Roles, RowArrays]:
        """Return the roles that are given by names, and the arrays that are given instead.

        Parameters
        ----------
        target : str, list of str, array-like or None
            The target.
        sample_weight, group : str, array-like or None
            Weights and groups.
        features : sequence of str or None
            The features.
        names : sequence of str or None, default=None
            Columns of a table in memory, where a list of other texts is the target itself.

        Returns
        -------
        roles : Roles
            Names.
        arrays : RowArrays
            Arrays.
        """
        named = isinstance(target, list | tuple) and bool(target)
        named = named and all(isinstance(name, str) and (names is None or name in names) for name in target)
        if features is not None and (isinstance(features, str) or not len(features)):
            raise InputTypeError("features must be a list of at least one column.")
        roles = cls(
            (target,) if isinstance(target, str) else tuple(target) if named else None,
            isinstance(target, str),
            sample_weight if isinstance(sample_weight, str) else None,
            group if isinstance(group, str) else None,
            None if features is None else tuple(features),
        )
        arrays = RowArrays(
            None if roles.target is not None else target,
            None if roles.weights is not None else sample_weight,
            None if roles.group is not None else group,
        )
        return roles, arrays

    def resolve(self, batch: Batch) -> Roles:
        """Return the roles with the features that the first batch has; raise an error for missing columns."""
        names = frame_columns(batch.frame)
        taken = [*(self.target or ()), *([self.weights] if self.weights else ())]
        taken += [self.group] if self.group else []
        with located(batch.where, 0):
            for name in self.target or ():
                check_column(name, names, "target")
            if self.weights is not None:
                check_column(self.weights, names, "sample_weight")
            if self.group is not None:
                check_column(self.group, names, "group")
            if names is None:
                if self.features is not None:
                    check_column(self.features[0], None, "features")
                return self
            if self.features is None:
                return replace(self, features=tuple(name for name in names if name not in taken))
            for name in self.features:
                check_column(name, names, "features")
                if name in taken:
                    raise InputError(f"The column {show_value(name)} is a feature and has another role, too.")
        return self

    @property
    def columns(self) -> list[str] | None:
        """Names of all columns that are needed, None if they have no names."""
        if self.features is None:
            return None
        extra = [name for name in (self.weights, self.group) if name is not None]
        return list(dict.fromkeys([*self.features, *(self.target or ()), *extra]))

    def split(self, batch: Batch) -> RowBatch:
        """Read the columns of a batch by their roles.

        Parameters
        ----------
        batch : Batch
            Rows of the source.

        Returns
        -------
        RowBatch
            The same rows.
        """
        with located(batch.where, batch.first_row):
            source = self._features(batch)
            n_rows = source.shape[0]
            target = self._target(batch, n_rows)
            given = batch.weights if self.weights is None else frame_column(batch.frame, self.weights)
            weights = None if given is None else read_weights(given, n_rows)
            ids = batch.group if self.group is None else frame_column(batch.frame, self.group)
            group = None if ids is None else _read_group(ids)
        return RowBatch(source, target, weights, group, batch.where, batch.first_row)

    def _features(self, batch: Batch) -> Source:
        source = open_source(batch.frame)
        if self.features is None:
            if source.names is not None:
                raise InputError("The columns have names here, and none in the batches before.")
            return source
        names = source.names
        if names == self.features:
            return source
        check_names(self.features, names)
        assert names is not None
        position = {name: j for j, name in enumerate(names)}
        order = [position[name] for name in self.features]
        return Source((source.shape[0], len(order)), self.features, lambda j: source.column(order[j]))

    def _target(self, batch: Batch, n_rows: int) -> NDArray[Any] | None:
        if self.target is None:
            return None if batch.target is None else read_target(batch.target, n_rows)
        names = frame_columns(batch.frame)
        for name in self.target:
            check_column(name, names, "target")
        columns = [np.asarray(frame_column(batch.frame, name)) for name in self.target]
        if self.is_vector:
            return _read_column(columns[0], n_rows, self.target[0])
        return np.stack(
            [_read_column(one, n_rows, name) for one, name in zip(columns, self.target, strict=True)], axis=1
        )


def _read_column(values: NDArray[Any], n_rows: int, name: str) -> NDArray[Any]:
    if values.dtype.kind in "US":  # libraries differ in how they hand out text
        values = values.astype(object)
    try:
        return read_target(values, n_rows)
    except InputError as error:
        if error.row is None:
            raise
        raise InputError("The target is missing or infinite", column=name, row=error.row) from error


def check_names(expected: Sequence[str], names: Sequence[str] | None) -> None:
    """Raise an error unless a batch has all columns."""
    if names is None:
        raise InputError("The columns have no names here, unlike in the batches before.")
    for name in expected:
        if name not in names:
            raise SourceChangedError(
                f"There is no column {show_value(name)}, which earlier rows have",
                fix="All files need the same columns.",
            )


def read_weights(values: Any, n_rows: int) -> Floats:
    """Return checked weights of some rows, which may all be 0.

    >>> read_weights([1, 0], 2).tolist()
    [1.0, 0.0]
    """
    try:
        weights = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"sample_weight must hold numbers ({error}).") from None
    weights = np.full(n_rows, float(weights)) if weights.ndim == 0 else weights
    if weights.shape != (n_rows,):
        raise InputError(f"sample_weight has shape {weights.shape}, expected {(n_rows,)}.")
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"Input sample_weight contains {weights[row]}",
            row=row,
            fix="Weights are finite numbers of at least 0.",
        )
    return np.ascontiguousarray(weights)


def _read_group(values: Any) -> NDArray[Any]:
    ids = np.asarray(values)
    if ids.ndim != 1:
        raise InputError(f"group must be 1-D; its shape is {ids.shape}.")
    if ids.dtype.kind == "f":
        missing = np.isnan(ids)
    else:
        missing = np.array([item is None for item in ids.tolist()]) if ids.dtype.kind == "O" else np.zeros(1)
    if missing.any():
        raise InputError("group is missing", row=int(np.argmax(missing)), fix="Give every row a group.")
    return ids


def where_changed(where: str, problem: str) -> SourceChangedError:
    """Return the error for a source that has other rows in the second pass than in the first."""
    return SourceChangedError(
        prefixed(where, f"{problem}: the source changed while it was read"),
        fix="Build the store from files that are not being written.",
    )
