"""Queries of ranking: which rows are ranked against each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputError, show_value

Int64s = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows grouped by query.

    Attributes
    ----------
    rows : ndarray of shape (n_listed,)
        Row numbers, query after query; within a query in ascending order.
    begin : ndarray of shape (n_queries + 1,)
        Where each query begins in `rows`.

    Examples
    --------
    >>> queries = Queries.read(5, qid=["b", "a", "b", "b", "a"])
    >>> queries.rows.tolist(), queries.begin.tolist()
    ([0, 2, 3, 1, 4], [0, 3, 5])
    """

    rows: Int64s
    begin: Int64s

    @classmethod
    def read(cls, n_rows: int, group: Any = None, qid: Any = None, of: str = "") -> Queries:
        """Read sizes of consecutive groups, or one query id per row; without both, all rows are one query.

        ``of`` precedes the names of the arguments in messages, such as "eval_".
        """
        if group is not None and qid is not None:
            raise InputError(
                f"Both {of}group and {of}qid are given", fix="Pass one of them: sizes of queries, or ids."
            )
        if qid is not None:
            return cls._by_id(qid, n_rows, f"{of}qid")
        sizes = np.array([n_rows]) if group is None else _read_sizes(group, n_rows, f"{of}group")
        return cls(
            np.arange(n_rows, dtype=np.int64), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        )

    @classmethod
    def _by_id(cls, qid: Any, n_rows: int, name: str) -> Queries:
        ids = _one_dimensional(qid, name)
        if len(ids) != n_rows:
            raise InputError(
                f"{name} has {len(ids)} entries, X has {n_rows} rows", fix="Pass one query id per row."
            )
        missing = _is_missing(ids)
        if missing.any():
            raise InputError(f"{name} is missing", row=int(np.argmax(missing)), fix="Give every row a query.")
        try:
            _, first, codes = np.unique(ids, return_index=True, return_inverse=True)
        except TypeError as error:
            raise InputError(f"{name} must contain numbers or text, not both ({error}).") from None
        place = np.empty(len(first), dtype=np.int64)  # queries are numbered as they first occur
        place[np.argsort(first)] = np.arange(len(first))
        codes = place[codes]
        begin = np.concatenate([[0], np.cumsum(np.bincount(codes))])
        return cls(np.argsort(codes, kind="stable").astype(np.int64), begin.astype(np.int64))

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.begin) - 1

    @property
    def query_of_listed(self) -> Int64s:
        """Query of each listed row.  (n_listed,)"""
        return np.repeat(np.arange(self.n_queries), np.diff(self.begin))

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the value of its query for each row; all rows must be listed.  -> (n_rows,)"""
        out = np.empty(len(self.rows), dtype=values.dtype)
        out[self.rows] = values[self.query_of_listed]
        return out

    def mean(self, values: Floats) -> Floats:
        """Return the mean of a value per row over the rows of each query.  -> (n_queries,)"""
        total = np.bincount(self.query_of_listed, values[self.rows], minlength=self.n_queries)
        return total / np.diff(self.begin)

    def where(self, mask: NDArray[np.bool_]) -> Queries:
        """Return the queries with only the rows where ``mask`` (n_rows,) is True; empty ones are dropped."""
        kept = mask[self.rows]
        sizes = np.bincount(self.query_of_listed[kept], minlength=self.n_queries)
        begin = np.concatenate([[0], np.cumsum(sizes[sizes > 0])])
        return Queries(self.rows[kept], begin.astype(np.int64))


def _one_dimensional(values: Any, name: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{name} must be 1-D; its shape is {array.shape}.")
    return array


def _is_missing(ids: NDArray[Any]) -> NDArray[np.bool_]:
    if ids.dtype.kind == "f":
        return np.isnan(ids.astype(np.float64))
    if ids.dtype.kind != "O":
        return np.zeros(len(ids), dtype=np.bool_)
    missing = [one is None or (isinstance(one, float) and math.isnan(one)) for one in ids.tolist()]
    return np.array(missing, dtype=np.bool_)


def _read_sizes(group: Any, n_rows: int, name: str) -> Int64s:
    """Return the checked sizes of consecutive queries."""
    given = _one_dimensional(group, name)
    numbers = given.dtype.kind in "iuf"
    bad = np.flatnonzero(~((given > 0) & (given == np.floor(given)))) if numbers else np.arange(len(given))
    if len(bad) or not len(given):
        what = f"entry {bad[0]} is {show_value(given.tolist()[bad[0]])}" if len(bad) else "it is empty"
        raise InputError(
            f"{name} must contain positive numbers of rows; {what}",
            fix="Pass the number of rows of each query, or one query id per row as qid.",
        )
    if given.sum() != n_rows:
        raise InputError(
            f"The sizes in {name} add up to {int(given.sum())}, but there are {n_rows} rows",
            fix="Pass the number of rows of each query, in the order of the rows.",
        )
    return given.astype(np.int64)
