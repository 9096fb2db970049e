"""Expressions: how the predictions of a model are computed from the columns of a table.

Every exporter writes these few kinds of nodes, and so serves every model that can be described by them. An
expression has a vector of `width` numbers per row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.data.schema import Schema
from spinney.tree.ensemble import TreeEnsemble


@dataclass(frozen=True, eq=False)
class Feature:
    """A column of the input table: a number, or the code of a category, −1 if it is missing."""

    index: int


@dataclass(frozen=True, eq=False)
class CategoryMeans:
    """A number per category of a feature; ``means`` (n_categories + 1,) ends with that of missing values."""

    index: int
    means: Floats


@dataclass(frozen=True, eq=False)
class Computed:
    """A column of an expression, such as the prediction of a member of a stack."""

    of: Expression
    index: int


Column: TypeAlias = Feature | CategoryMeans | Computed


@dataclass(frozen=True, eq=False)
class Trees:
    """``start`` plus the values of the trees, added in their order, divided by ``divisor``.

    With ``per_round`` K, tree t has one value and adds it to output t % K; without, it has one per output.
    """

    columns: tuple[Column, ...]
    ensemble: TreeEnsemble
    start: Floats
    per_round: int | None = None
    divisor: float = 1.0

    @property
    def width(self) -> int:
        """Number of outputs."""
        return len(self.start)


@dataclass(frozen=True, eq=False)
class Linear:
    """Coefficients (width, n_numbers) times numeric columns, plus the intercept (width,).

    Column j takes ``widths[j]`` numbers: itself, or one-hot categories where ``one_hot[j]``. The numbers of a
    missing value are those of ``fill`` (n_numbers,), NaN where missing values are errors.
    """

    columns: tuple[Column, ...]
    widths: tuple[int, ...]
    one_hot: tuple[bool, ...]
    fill: Floats
    coefficients: Floats
    intercept: Floats

    @property
    def width(self) -> int:
        """Number of outputs."""
        return len(self.intercept)


@dataclass(frozen=True, eq=False)
class KernelSum:
    """Σ coefficient · kernel(support vector, row) + intercept, with the kernels of `spinney.SVC`.

    vectors (n_vectors, n_columns); coefficients (n_vectors,).
    """

    columns: tuple[Column, ...]
    kernel: Literal["poly", "rbf", "laplacian", "sigmoid"]
    gamma: float
    coef0: float
    degree: int
    vectors: Floats
    coefficients: Floats
    intercept: float

    @property
    def width(self) -> int:
        """Number of outputs."""
        return 1


@dataclass(frozen=True, eq=False)
class Constant:
    """The same numbers for every row."""

    values: Floats

    @property
    def width(self) -> int:
        """Number of outputs."""
        return len(self.values)


Function: TypeAlias = Literal[
    "sigmoid", "softmax", "exp", "complement", "normalize", "center", "simplex", "log"
]
"""1 / (1 + exp(−factor·x)); softmax; exp(x clipped to ±500); (1 − p, p); x / Σx; x − mean(x); the nearest
distribution; log(max(x, factor))."""


@dataclass(frozen=True, eq=False)
class Apply:
    """A function of another expression."""

    function: Function
    of: Expression
    factor: float = 1.0

    @property
    def width(self) -> int:
        """Number of outputs."""
        return 2 if self.function == "complement" else self.of.width


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """Σ weight · part over parts of the same width, divided by ``divisor``."""

    parts: tuple[Expression, ...]
    weights: tuple[float, ...]
    divisor: float = 1.0

    @property
    def width(self) -> int:
        """Number of outputs."""
        return self.parts[0].width


@dataclass(frozen=True, eq=False)
class Place:
    """Outputs of another expression at given positions among ``width``; 0 at the others."""

    of: Expression
    positions: tuple[int, ...]
    width: int


@dataclass(frozen=True, eq=False)
class Decision:
    """Index of the largest output, the first of equals; with ``above``, whether the last one exceeds it."""

    of: Expression
    above: float | None = None


@dataclass(frozen=True, eq=False)
class OneHot:
    """1 at the index of a decision, 0 elsewhere."""

    decision: Decision
    width: int


Expression: TypeAlias = Trees | Linear | KernelSum | Constant | Apply | WeightedSum | Place | OneHot


@dataclass(frozen=True, eq=False)
class Scoring:
    """Predictions of a fitted model.

    Attributes
    ----------
    name : str
        Class of the model.
    schema : Schema
        Features of the input.
    response : expression
        Probabilities of the classes, or predicted values.
    scores : expression or None
        What `decision_function` returns, where the model has one.
    decision : Decision or None
        Index of the predicted class.
    classes : ndarray or None
        Class labels.
    """

    name: str
    schema: Schema
    response: Expression
    scores: Expression | None = None
    decision: Decision | None = None
    classes: NDArray[Any] | None = None


def own_columns(schema: Schema) -> tuple[Column, ...]:
    """Return the columns of a table, unchanged.

    >>> from spinney.data import read_table
    >>> [column.index for column in own_columns(read_table([[1.0, 2.0]]).schema)]
    [0, 1]
    """
    return tuple(Feature(j) for j in range(schema.n_features))


def same_inputs(schemas: list[Schema]) -> bool:
    """Return whether tables of these schemas are read in the same way.

    >>> from spinney.data import read_table
    >>> same_inputs([read_table([[1.0]]).schema, read_table([["red"]]).schema])
    False
    """
    kinds = [[(one.name, one.kind, one.categories) for one in schema.features] for schema in schemas]
    return all(kind == kinds[0] for kind in kinds)


def zeros(width: int) -> Floats:
    """Return the start of a sum.

    >>> zeros(2).tolist()
    [0.0, 0.0]
    """
    return np.zeros(width)
