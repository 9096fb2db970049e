"""Values of expressions for whole tables, computed by the code that the estimators predict with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.elementary import exp, expit, log, softmax
from spinney.data.schema import LazyColumns, Schema, Table
from spinney.export.expressions import (
    Apply,
    CategoryMeans,
    Column,
    Computed,
    Constant,
    Decision,
    Expression,
    Feature,
    KernelSum,
    Linear,
    OneHot,
    Place,
    Trees,
    WeightedSum,
)
from spinney.native import core
from spinney.tree.predictor import Predictor

_MAX_EXPONENT = 500.0
_MAX_CELLS = 1 << 23
"""Cells of the matrix of a linear model that are made at a time, 64 MiB."""
_KERNEL_TYPES = {"poly": 1, "rbf": 2, "laplacian": 3, "sigmoid": 4}
"""Numbers of kernels in the core."""


@dataclass(frozen=True, eq=False)
class TableValues:
    """Values of the expressions of a model for the rows of a table.

    Attributes
    ----------
    name : str
        Class of the model, for messages.
    table : Table
        The rows.
    n_threads : int
        Number of threads.
    predictors : dict of int to Predictor
        Packed trees by the identity of their expression; what is missing is added.
    """

    name: str
    table: Table
    n_threads: int
    predictors: dict[int, Predictor]
    _known: dict[int, Floats] = field(default_factory=dict)
    _uses: Counter[int] = field(default_factory=Counter)

    def of(self, expression: Expression) -> Floats:
        """Return the values of an expression.  -> (n_rows, width)"""
        self._uses.clear()
        self._count(expression)
        return self._value(expression)

    def chosen(self, decision: Decision) -> NDArray[np.intp]:
        """Return the index that a decision chooses for each row.  -> (n_rows,)"""
        return _choose(decision, self.of(decision.of))

    def _count(self, expression: Expression) -> None:
        """Count how often each expression is used, so that its values are kept until the last time."""
        self._uses[id(expression)] += 1
        if self._uses[id(expression)] == 1:
            for part in _parts(expression):
                self._count(part)

    def _value(self, expression: Expression) -> Floats:
        key = id(expression)
        found = self._known.pop(key, None)
        if found is None:
            found = self._functions[type(expression)](self, expression)
        self._uses[key] -= 1
        if self._uses[key]:
            self._known[key] = found
        return found

    def _column(self, column: Column) -> NDArray[Any]:
        """Return numbers, or codes of categories.  -> (n_rows,)"""
        if isinstance(column, Computed):
            return np.ascontiguousarray(self._value(column.of)[:, column.index])
        values = self.table.column(column.index)
        return column.means[values] if isinstance(column, CategoryMeans) else values

    def _is_table(self, columns: tuple[Column, ...]) -> bool:
        """Return whether columns are those of the table, in their order."""
        return len(columns) == self.table.n_features and all(
            isinstance(column, Feature) and column.index == j for j, column in enumerate(columns)
        )

    # ---- kinds of expressions ----

    def _trees(self, one: Trees) -> Floats:
        table = self.table
        if not self._is_table(one.columns):
            columns = LazyColumns(len(one.columns), lambda j: self._column(one.columns[j]))
            table = Table(Schema((), False), self.table.n_rows, None, columns)
        if id(one) not in self.predictors:
            self.predictors[id(one)] = Predictor(one.ensemble, one.per_round)
        shape = (one.per_round,) if one.per_round else one.ensemble.value.shape[1:]
        start = None
        if one.start.any():
            start = np.broadcast_to(one.start.reshape(shape), (table.n_rows, *shape))
        sums = self.predictors[id(one)].sum(table, self.n_threads, start=start)
        if one.divisor != 1.0:
            sums /= one.divisor
        return sums.reshape(table.n_rows, one.width)

    def _linear(self, one: Linear) -> Floats:
        n_rows, block = self.table.n_rows, self.table.block
        arguments = (np.ascontiguousarray(one.coefficients), one.intercept, self.n_threads)
        if block is not None and self._is_table(one.columns) and not np.isnan(block).any():
            return core.matrix_product(block, *arguments)
        columns = [self._column(column) for column in one.columns]
        out, step = np.empty((n_rows, one.width)), max(1, _MAX_CELLS // max(1, len(one.fill)))
        for begin in range(0, n_rows, step):
            rows = slice(begin, min(begin + step, n_rows))
            out[rows] = core.matrix_product(self._coded(one, columns, rows), *arguments)
        return out

    def _coded(self, one: Linear, columns: list[NDArray[Any]], rows: slice) -> Floats:
        """Return the numbers that a linear model multiplies.  -> (n_rows, n_numbers)"""
        coded = np.zeros((rows.stop - rows.start, len(one.fill)))
        begin = 0
        for j, (column, width, one_hot) in enumerate(zip(columns, one.widths, one.one_hot, strict=True)):
            values = column[rows]
            missing = values < 0 if one_hot else np.isnan(values)
            if one_hot:
                present = np.flatnonzero(~missing)
                coded[present, begin + values[present]] = 1.0
            else:
                coded[:, begin] = values
            if missing.any():
                fill = one.fill[begin : begin + width]
                if np.isnan(fill).any():
                    self._refuse_missing(one.columns[j], rows.start + int(np.argmax(missing)))
                coded[missing, begin : begin + width] = fill
            begin += width
        return coded

    def _refuse_missing(self, column: Column, row: int) -> None:
        from spinney.data.coding import raise_missing  # imports SciPy

        raise_missing(self.table.schema, column.index, row, self.name)

    def _kernel_sum(self, one: KernelSum) -> Floats:
        matrix = np.empty((self.table.n_rows, len(one.columns)))
        for j, column in enumerate(one.columns):
            matrix[:, j] = self._column(column)
            missing = np.isnan(matrix[:, j])
            if missing.any():
                self._refuse_missing(column, int(np.argmax(missing)))
        return core.kernel_sums(
            core.SvmRows(matrix, None, None, matrix.shape[1]),
            core.SvmRows(np.ascontiguousarray(one.vectors), None, None, matrix.shape[1]),
            core.Kernel(_KERNEL_TYPES[one.kernel], one.gamma, one.coef0, one.degree),
            np.array([[0, 0, len(one.vectors), 0]], np.int64),
            np.ascontiguousarray(one.coefficients),
            np.array([one.intercept]),
            self.n_threads,
        )

    def _constant(self, one: Constant) -> Floats:
        return np.tile(one.values, (self.table.n_rows, 1))

    def _apply(self, one: Apply) -> Floats:
        return np.asarray(_APPLIED[one.function](self._value(one.of), one.factor))

    def _weighted_sum(self, one: WeightedSum) -> Floats:
        total = one.weights[0] * self._value(one.parts[0])
        for part, weight in zip(one.parts[1:], one.weights[1:], strict=True):
            total += weight * self._value(part)
        total /= one.divisor
        return total

    def _place(self, one: Place) -> Floats:
        out = np.zeros((self.table.n_rows, one.width))
        out[:, list(one.positions)] = self._value(one.of)
        return out

    def _one_hot(self, one: OneHot) -> Floats:
        out = np.zeros((self.table.n_rows, one.width))
        out[np.arange(len(out)), _choose(one.decision, self._value(one.decision.of))] = 1.0
        return out

    _functions: ClassVar[dict[type, Callable[..., Floats]]] = {
        Trees: _trees,
        Linear: _linear,
        KernelSum: _kernel_sum,
        Constant: _constant,
        Apply: _apply,
        WeightedSum: _weighted_sum,
        Place: _place,
        OneHot: _one_hot,
    }


def _choose(decision: Decision, values: Floats) -> NDArray[np.intp]:
    if decision.above is None:
        return np.asarray(values.argmax(axis=1))
    return (values[:, -1] > decision.above).astype(np.intp)


def _parts(one: Expression) -> list[Expression]:
    """Return the expressions that another is computed from, as often as it takes their values."""
    if isinstance(one, Trees | Linear | KernelSum):
        return [column.of for column in one.columns if isinstance(column, Computed)]
    if isinstance(one, WeightedSum):
        return list(one.parts)
    if isinstance(one, OneHot):
        return [one.decision.of]
    return [] if isinstance(one, Constant) else [one.of]


# ---- functions of `Apply` ----


def _project(sums: Floats) -> Floats:
    """Return the nearest distribution to each row."""
    ranked = -np.sort(-sums, axis=1)
    excess = (np.cumsum(ranked, axis=1) - 1.0) / np.arange(1, sums.shape[1] + 1)
    n_positive = np.maximum((ranked > excess).sum(axis=1), 1)
    return np.asarray(np.maximum(sums - excess[np.arange(len(sums)), n_positive - 1][:, None], 0.0))


def _normalize(each: Floats) -> Floats:
    return np.asarray(each / np.maximum(each.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny))


_APPLIED: dict[str, Callable[[Floats, float], Any]] = {
    "sigmoid": lambda scores, factor: expit(factor * scores),
    "softmax": lambda scores, _: softmax(scores),
    "log": lambda shares, factor: log(np.maximum(shares, factor)),
    "exp": lambda scores, _: exp(np.clip(scores, -_MAX_EXPONENT, _MAX_EXPONENT)),
    "complement": lambda mean, _: np.column_stack([1.0 - mean[:, 0], mean[:, 0]]),
    "normalize": lambda each, _: _normalize(each),
    "center": lambda scores, _: scores - scores.mean(axis=1, keepdims=True),
    "simplex": lambda sums, _: _project(sums),
}
