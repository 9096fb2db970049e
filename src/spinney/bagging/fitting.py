"""Fitting members: each made with seeds of its own and given the rows and columns of its bag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from spinney.bagging.draws import Bags
from spinney.data.schema import name_copies
from spinney.members.base_estimators import draw_parameters, make_member
from spinney.members.fitting import fit_member, run_jobs, takes_weights
from spinney.members.tables import take_columns, take_rows


def make_members(
    estimator: Any, distributions: Mapping[str, Any] | None, bags: Bags, numbers: Sequence[int]
) -> list[Any]:
    """Copy the estimator for each member number, with seeds and random hyper-parameters of its own."""
    return [
        make_member(
            estimator, bags.estimator_seed(t), **draw_parameters(distributions or {}, bags.parameter_seed(t))
        )
        for t in numbers
    ]


def fit_members(
    members: Sequence[Any],
    numbers: Sequence[int],
    X: Any,
    y: NDArray[Any],
    bags: Bags,
    n_jobs: int | None,
    title: str | None = None,
) -> list[Any]:
    """Fit each member to the bag of its number.  A title asks for a progress bar."""
    jobs = [(member, X, y, bags, t) for member, t in zip(members, numbers, strict=True)]
    return run_jobs(_fit_to_bag, jobs, n_jobs, title)


def _fit_to_bag(member: Any, X: Any, y: NDArray[Any], bags: Bags, t: int) -> Any:
    table, weights = take_features(X, bags.columns(t), bags.n_columns), bag_weights(bags, t)
    if weights is None or takes_weights(member):
        return fit_member(member, table, y, weights)
    rows = bags.rows(t)
    kept = bags.weights[rows] if bags.weights is not None and bags.carries_weights else None
    return fit_member(member, take_rows(table, rows), y[rows], kept)


def bag_weights(bags: Bags, t: int) -> NDArray[np.float64] | None:
    """Give the bag of member t as row weights, None where every row is in it once.  -> (n_rows,)"""
    weights = bags.counts(t).astype(np.float64)
    if bags.carries_weights:
        assert bags.weights is not None
        weights *= bags.weights
    return None if (weights == 1).all() else weights


def takes_all(columns: NDArray[np.int64], n_columns: int) -> bool:
    """Tell whether the columns of a bag are all that there are, each once.

    >>> takes_all(np.array([0, 1]), 2), takes_all(np.array([0, 0]), 2)
    (True, False)
    """
    return len(columns) == n_columns and bool((columns == np.arange(n_columns)).all())


def take_features(X: Any, columns: NDArray[np.int64], n_columns: int) -> Any:
    """Take the columns of a bag; where all are taken, the table itself.

    A column drawn twice has a name of its own each time: "age", "age (2)".

    >>> import pandas as pd
    >>> list(take_features(pd.DataFrame({"age": [3], "size": [1]}), np.array([0, 0]), 2).columns)
    ['age', 'age (2)']
    """
    if takes_all(columns, n_columns):
        return X
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or len(set(columns.tolist())) == len(columns):
        return take_columns(X, columns)
    names = name_copies([str(name) for name in frame.columns], columns.tolist())
    return frame.select(
        nw.nth(j).alias(name) for j, name in zip(columns.tolist(), names, strict=True)
    ).to_native()
