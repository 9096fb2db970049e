"""EvaluationRows: the rows that a report describes, and parts of tables of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.data.queries import Queries
from spinney.data.schema import Table, read_table
from spinney.data.target import read_target
from spinney.data.weights import check_weights
from spinney.members.tables import count_rows, take_rows

Positions = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class EvaluationRows:
    """Rows with their target, weights and typed columns.

    Attributes
    ----------
    X : table
        The rows as the model takes them.
    y : ndarray of shape (n_rows,) or None
        Target of one output, if there is one.
    weight : ndarray of shape (n_rows,)
        Row weights.
    table : Table
        The rows as typed columns.
    position : ndarray of shape (n_rows,)
        Row numbers in the table that was passed.
    n_total : int
        Number of rows that were passed.
    query : ndarray of shape (n_rows,) or None
        Number of the query of each row, for rankers.
    """

    X: Any
    y: NDArray[Any] | None
    weight: Floats
    table: Table
    position: Positions
    n_total: int
    query: NDArray[np.int64] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    def take(self, chosen: NDArray[Any]) -> EvaluationRows:
        """Return some of the rows, by position."""
        return replace(
            self,
            X=take_rows(self.X, chosen),
            y=None if self.y is None else self.y[chosen],
            weight=self.weight[chosen],
            table=self.table.take(chosen),
            position=self.position[chosen],
            query=None if self.query is None else self.query[chosen],
        )

    def sample(self, n_rows: int, seed: int) -> EvaluationRows:
        """Return at most so many rows, drawn without replacement and in their order."""
        if self.n_rows <= n_rows:
            return self
        return self.take(draw(self.n_rows, n_rows, seed))


def draw(n: int, n_drawn: int, seed: int) -> Positions:
    """Draw positions without replacement, in ascending order.

    >>> draw(3, 5, 0).tolist()
    [0, 1, 2]
    """
    if n <= n_drawn:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, n_drawn, replace=False))


def plain_number(value: float) -> str:
    """Return a number with four significant digits and without an exponent, unless it is very large or small.

    >>> plain_number(12520.3), plain_number(0.25), plain_number(1e-9)
    ('12520', '0.25', '1e-09')
    """
    if value and not 1e-5 < abs(value) < 1e9:
        return f"{value:.4g}"
    digits = 4 if abs(value) < 1e4 else len(str(int(abs(value))))
    return np.format_float_positional(value, precision=digits, fractional=False, trim="-")


def read_rows(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    output: int = 0,
    max_rows: int,
    seed: int,
) -> EvaluationRows:
    """Read rows; of more than max_rows a random sample, of several outputs one."""
    n_total = count_rows(X)
    if n_total == 0:
        raise InputError("X has no rows to report on")
    target = None if y is None else _one_output(read_target(y, n_total), output)
    given = None if sample_weight is None else check_weights(sample_weight, n_total)
    weight = np.ones(n_total) if given is None else given
    if weight.sum() <= 0:
        raise InputError("All rows have the weight 0", fix="Pass rows with positive weights.")
    query = None if qid is None else _query_numbers(n_total, qid)
    position = draw(n_total, max_rows, seed)
    if len(position) < n_total:
        X = take_rows(X, position)
    table = read_table(X, _categorical(model, X))
    return EvaluationRows(
        X,
        None if target is None else target[position],
        weight[position],
        table,
        position,
        n_total,
        None if query is None else query[position],
    )


def _one_output(target: NDArray[Any], output: int) -> NDArray[Any]:
    if target.ndim == 1:
        return target
    if not 0 <= output < target.shape[1]:
        raise InputError(f"output is {output}, but y has {target.shape[1]} outputs", fix="Count from 0.")
    column: NDArray[Any] = target[:, output]
    return column


def _query_numbers(n_rows: int, qid: ArrayLike) -> NDArray[np.int64]:
    queries = Queries.read(n_rows, qid=qid)
    numbers = np.empty(n_rows, np.int64)
    numbers[queries.rows] = np.repeat(np.arange(len(queries.begin) - 1), np.diff(queries.begin))
    return numbers


def _categorical(model: Any, X: Any) -> list[str] | list[int] | None:
    """Return the columns that the model reads as categories, so that numbers among them are read alike."""
    schema = getattr(model, "schema_", None)
    if schema is None or not schema.categorical.any() or sparse.issparse(X):
        return None
    chosen = np.flatnonzero(schema.categorical).tolist()
    return [schema.names[j] for j in chosen] if schema.has_names else chosen


def mix_rows(X: Any, base: NDArray[Any], donors: Mapping[int, NDArray[Any]]) -> Any:
    """Return rows of a table in which some columns are taken from other rows of it.

    Parameters
    ----------
    X : table
        The rows.
    base : ndarray of shape (n_made,)
        Row that gives all other columns.
    donors : mapping of int to ndarray of shape (n_made,)
        Position of a column -> the rows that give its values.

    Returns
    -------
    table
        A table of the same kind, if it is a data frame; else an array.

    Examples
    --------
    >>> mix_rows(np.array([[1, 2], [3, 4]]), np.array([0, 0]), {1: np.array([0, 1])}).tolist()
    [[1, 2], [1, 4]]
    """
    if isinstance(X, Mapping):
        return {name: take_rows(X[name], donors.get(j, base)) for j, name in enumerate(X)}
    table: Any = X
    if hasattr(table, "iloc"):
        made = table.iloc[base].reset_index(drop=True)
        for j, rows in donors.items():
            made.isetitem(j, table.iloc[rows, j].reset_index(drop=True))
        return made
    if sparse.issparse(X):
        table = table.tocsr()
        made = table[base].tolil()
        for j, rows in donors.items():
            made[:, [j]] = table[:, [j]].tocsr()[rows]
        return made.tocsr()
    if hasattr(table, "columns"):
        frame = nw.from_native(table, eager_only=True)
        taken = [frame[frame.columns[j]][rows.tolist()] for j, rows in donors.items()]
        return frame[base.tolist()].with_columns(*taken).to_native()
    array = np.asarray(X, dtype=object) if isinstance(X, list | tuple) else np.asarray(X)
    made = array[base].copy()
    for j, rows in donors.items():
        made[:, j] = array[rows, j]
    return made
