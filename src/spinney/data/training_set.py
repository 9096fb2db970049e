"""TrainingSet: everything that one call to ``fit`` learns from, read, checked and coded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.data.bin_mapper import MAX_BINS, BinMapper
from spinney.data.schema import CodedRows, LazyColumns, Table
from spinney.data.splits import folds, hold_out
from spinney.data.target import encode_classes, encode_like, encode_values, read_target
from spinney.data.weights import apply_class_weights, check_weights, row_weight
from spinney.native import core

Task = Literal["classification", "regression"]

# Lazy columns are coded in chunks of at most this many bytes.
_CHUNK_BYTES = 1 << 25


@dataclass(frozen=True)
class Target:
    """What a tree learns, as the core takes it.

    Attributes
    ----------
    classes : ndarray of shape (n_rows, n_outputs), int32, or None
        Class codes.
    n_classes : tuple of int
        Number of classes of every output.
    values : ndarray of shape (n_rows, n_outputs), float64, or None
        Values, in regression.
    weights : ndarray of shape (n_rows,), float64, or None
        Row weights, None if all are 1. Rows of weight 0 are left out.
    """

    classes: NDArray[np.int32] | None = None
    n_classes: tuple[int, ...] = ()
    values: Floats | None = None
    weights: Floats | None = None


@dataclass(frozen=True)
class TrainingSet:
    """Training rows as a table, an encoded target and weights, with seed and thread count.

    It belongs to no estimator: ensembles read it once and share it among their members. It is immutable;
    use ``dataclasses.replace(training, weights=...)`` for the same rows with other weights, targets or seed.

    Attributes
    ----------
    table : Table
        The features.
    y : ndarray of shape (n_rows, n_outputs)
        The target: class codes (int32), or values (float64) in regression.
    classes : tuple of ndarray
        Classes of every output; empty in regression.
    weights : ndarray of shape (n_rows,) or None
        Row weights, None if all are 1. Rows of weight 0 are left out.
    row_weight : float
        The weight that counts as one row in limits of numbers of rows: 1, or the mean of the given weights if
        it is below 1. Drawing or holding out rows does not change it.
    seed : int
        Seed of all draws.
    n_threads : int
        Number of threads.
    labels : ndarray of shape (n_rows,) or (n_rows, n_outputs), or None
        The target as it was given; class weights refer to it.
    matrix : CodeMatrix or None
        Bin or rank codes of the table, if `coded` has been called.
    bin_weights : ndarray of shape (n_rows,) or None
        Weights by which bins are chosen: the sample weights as they were given. Class weights and rows that
        are held out do not change the bins.

    Examples
    --------
    >>> from spinney.data import read_table
    >>> training = TrainingSet.read(read_table([[0.0], [1.0]]), ["a", "b"], task="classification")
    >>> training.y.ravel().tolist(), training.coded(255).matrix.n_columns
    ([0, 1], 1)
    """

    table: Table
    y: NDArray[Any]
    classes: tuple[NDArray[Any], ...] = ()
    weights: Floats | None = None
    seed: int = 0
    n_threads: int = 1
    labels: NDArray[Any] | None = None
    matrix: core.CodeMatrix | None = None
    row_weight: float = 1.0
    bin_weights: Floats | None = None

    @classmethod
    def read(
        cls,
        table: Table,
        y: Any,
        sample_weight: Any = None,
        *,
        task: Task,
        class_weight: Any = None,
        non_negative: bool = False,
        seed: int = 0,
        n_threads: int = 1,
    ) -> Self:
        """Read and check the target and weights of a table's rows.

        Parameters
        ----------
        table : Table
            The features.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Labels or values.
        sample_weight : array-like of shape (n_rows,), a number or None, default=None
            Row weights.
        task : {"classification", "regression"}
            Whether y is encoded as classes or as values.
        class_weight : dict, list of dict, "balanced" or None, default=None
            Weights of classes, which multiply the row weights.
        non_negative : bool, default=False
            Refuse negative values, as Poisson regression does.
        seed : int, default=0
            Seed of all draws.
        n_threads : int, default=1
            Number of threads.

        Returns
        -------
        TrainingSet
            The training set, not coded yet.
        """
        if table.dataset is not None:
            y, sample_weight = _own_rows(table.dataset, y, sample_weight)
        labels = read_target(y, table.n_rows)
        classes: tuple[NDArray[Any], ...] = ()
        codes: NDArray[Any]
        if task == "classification":
            encoded = encode_classes(labels)
            codes, classes = encoded.codes, encoded.classes
        else:
            codes = encode_values(labels, non_negative)
        weights = given = None if sample_weight is None else check_weights(sample_weight, table.n_rows)
        if class_weight is not None:
            weights = apply_class_weights(weights, class_weight, labels)
        unit = 1.0 if weights is None else row_weight(weights)
        return cls(
            table, codes, classes, weights, seed, n_threads, labels, row_weight=unit, bin_weights=given
        )

    @property
    def codes(self) -> core.CodeMatrix:
        """The codes; an error unless `coded` has been called."""
        if self.matrix is None:
            raise ValueError("The training set is not coded; call coded(max_bins) first.")
        return self.matrix

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    @property
    def n_outputs(self) -> int:
        """Number of target columns."""
        return int(self.y.shape[1])

    @property
    def n_classes(self) -> tuple[int, ...]:
        """Number of classes of every output; empty in regression."""
        return tuple(map(len, self.classes))

    @property
    def class_labels(self) -> Any:
        """The classes as estimators store them: an array, a list of arrays, or None in regression."""
        if not self.classes:
            return None
        return self.classes[0] if len(self.classes) == 1 else list(self.classes)

    @property
    def n_weighted(self) -> int:
        """Number of rows with a weight above 0."""
        return self.n_rows if self.weights is None else int(np.count_nonzero(self.weights))

    @property
    def full_weights(self) -> Floats:
        """Row weights, 1 where none were given.  (n_rows,)"""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    @property
    def strata(self) -> NDArray[np.int32] | None:
        """Class codes that splits of the rows are stratified by; None in regression or with many outputs."""
        return self.y[:, 0] if len(self.classes) == 1 else None

    def target(self, weights: Floats | None) -> Target:
        """Return the target with other row weights, as growers take it.

        Parameters
        ----------
        weights : ndarray of shape (n_rows,) or None
            Row weights.

        Returns
        -------
        Target
            The target.
        """
        if self.classes:
            return Target(classes=self.y, n_classes=self.n_classes, weights=weights)
        return Target(values=self.y, weights=weights)

    def coded(self, max_bins: int | BinMapper | None) -> Self:
        """Return the training set with bin codes, and a schema that tells which features have missing values.

        Parameters
        ----------
        max_bins : int, BinMapper or None
            Number of bins per numeric feature, at most 255, or known bins; None codes every distinct value by
            its rank.

        Returns
        -------
        TrainingSet
            The same rows with `matrix`.
        """
        known = max_bins if isinstance(max_bins, BinMapper) else None
        n_bins = MAX_BINS if isinstance(max_bins, BinMapper) else max_bins
        matrix = code_table(self.table, self.bin_weights, n_bins, self.n_threads)
        return self.with_matrix(matrix if known is None else known.code(self.table, matrix, self.bin_weights))

    def with_matrix(self, matrix: core.CodeMatrix) -> Self:
        """Return the training set with codes made elsewhere; see `coded`.

        Parameters
        ----------
        matrix : CodeMatrix
            Codes of the table.

        Returns
        -------
        TrainingSet
            The same rows with `matrix`.
        """
        schema = self.table.schema.with_missing(matrix.missing_columns)
        other = object.__new__(type(self))  # `replace` takes as long as growing a small tree
        vars(other).update(vars(self), table=self.table.with_schema(schema), matrix=matrix)
        return other

    def select(self, columns: list[int]) -> Self:
        """Return the training set of some columns; nothing is coded again.

        Parameters
        ----------
        columns : list of int
            Positions, in the new order.

        Returns
        -------
        TrainingSet
            The same rows.
        """
        matrix = None if self.matrix is None else self.matrix.select(columns)
        return replace(self, table=self.table.select(columns), matrix=matrix)

    def hold_out(self, fraction: float) -> NDArray[np.bool_]:
        """Choose rows to hold out, stratified by class.

        Parameters
        ----------
        fraction : float
            Fraction of the rows.

        Returns
        -------
        ndarray of shape (n_rows,), bool
            Mask of the rows held out.
        """
        return hold_out(fraction, self.seed, self.n_rows, self.strata)

    def folds(self, n_folds: int) -> NDArray[np.int64]:
        """Choose the folds of a cross-validation, stratified by class.

        Parameters
        ----------
        n_folds : int
            Number of folds.

        Returns
        -------
        ndarray of shape (n_rows,)
            The fold that holds out each row.
        """
        return folds(n_folds, self.seed, self.n_rows, self.strata)

    def encode_like(self, y: NDArray[Any]) -> NDArray[Any]:
        """Encode the targets of other rows.

        Parameters
        ----------
        y : ndarray of shape (n_other,) or (n_other, n_outputs)
            Labels or values.

        Returns
        -------
        ndarray of shape (n_other, n_outputs)
            Class codes, −1 for a class that is not in training; or values.
        """
        if self.classes:
            return encode_like(y, self.classes)
        values = encode_values(y, non_negative=False)
        if values.shape[1] != self.n_outputs:
            raise InputError(f"y has {values.shape[1]} outputs where {self.n_outputs} are expected.")
        return values


def _own_rows(dataset: CodedRows, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Return the target of a dataset, unless another is given, and its weights."""
    if sample_weight is not None:
        raise InputError(
            "sample_weight is given, but the bins of a dataset depend on its weights",
            fix="Pass sample_weight to BinnedDataset.build.",
        )
    if y is None and dataset.target is None:
        raise InputError(
            "The dataset was built without a target, and y is None",
            fix="Pass target to BinnedDataset.build, or y to fit.",
        )
    return dataset.target if y is None else y, dataset.weights


def code_table(table: Table, weights: Floats | None, max_bins: int | None, n_threads: int) -> core.CodeMatrix:
    """Code every column of a table.

    Parameters
    ----------
    table : Table
        The features.
    weights : ndarray of shape (n_rows,) or None
        Row weights, which the quantiles of the bins respect.
    max_bins : int or None
        Number of bins per numeric feature, at most 255; None codes every distinct value by its rank.
    n_threads : int
        Number of threads.

    Returns
    -------
    CodeMatrix
        The codes.
    """
    if table.dataset is not None:
        return table.dataset.code(table, weights, max_bins, n_threads)
    n_categories = [len(f.categories or ()) if f.kind == "categorical" else 0 for f in table.schema.features]
    columns = table.columns
    if table.block is not None or not isinstance(columns, LazyColumns):
        data = columns if table.block is None else table.block
        return core.build_codes(data, n_categories, weights, max_bins or 0, n_threads)
    step = max(n_threads, _CHUNK_BYTES // (8 * table.n_rows))
    coded = (
        core.build_codes(
            [columns[j] for j in range(begin, min(begin + step, len(columns)))],
            n_categories[begin : begin + step],
            weights,
            max_bins or 0,
            n_threads,
        )
        for begin in range(0, len(columns), step)
    )
    matrix = next(coded)
    for others in coded:
        matrix.extend(others)
    return matrix
