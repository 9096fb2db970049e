"""Fitting of members of any kind: copies with their own seeds, fitted to the rows and columns of a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_method_params, has_fit_parameter

from spinney.bagging.sampling import BootstrapSamples
from spinney.data.schema import name_copies
from spinney.members.base_estimators import draw_parameters, make_member
from spinney.members.fitting import fit_member, run_jobs, takes_sample_as_weights
from spinney.members.tables import take_columns, take_rows


def make_members(
    estimators: Sequence[Any],
    distributions: Mapping[str, Any] | None,
    samples: BootstrapSamples,
    numbers: Sequence[int],
) -> list[Any]:
    """Return a copy of one of the base estimators, in turn, per member number, with own parameters."""
    return [
        make_member(
            estimators[t % len(estimators)],
            samples.estimator_seed(t),
            **draw_parameters(distributions or {}, samples.parameter_seed(t)),
        )
        for t in numbers
    ]


def fit_members(
    members: Sequence[Any],
    numbers: Sequence[int],
    X: Any,
    y: NDArray[Any],
    samples: BootstrapSamples,
    n_jobs: int | None,
    title: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    oob_early_stopping: bool = False,
) -> list[Any]:
    """Fit each member to the sample of its number; a title shows a progress bar.

    ``metadata`` are further arguments of their ``fit``; those with one entry per row are sampled, too.
    ``oob_early_stopping`` passes a member its out-of-bag rows to stop by.
    """
    jobs = [
        (member, X, y, samples, t, metadata or {}, oob_early_stopping)
        for member, t in zip(members, numbers, strict=True)
    ]
    return run_jobs(_fit_to_sample, jobs, n_jobs, title)


def stops_early(estimator: Any) -> bool:
    """Return True for estimators that can stop early by rows given as ``eval_set``.

    >>> from spinney import DecisionTreeClassifier, GradientBoostingClassifier
    >>> stops_early(GradientBoostingClassifier()), stops_early(DecisionTreeClassifier())
    (True, False)
    """
    return "early_stopping" in estimator.get_params(deep=False) and has_fit_parameter(estimator, "eval_set")


def _fit_to_sample(
    member: Any,
    X: Any,
    y: NDArray[Any],
    samples: BootstrapSamples,
    t: int,
    metadata: Mapping[str, Any],
    oob_early_stopping: bool,
) -> Any:
    table, weights = take_features(X, samples.columns(t), samples.n_columns), samples.member_weights(t)
    unseen = samples.out_of_bag_rows(t) if oob_early_stopping else np.empty(0, np.int64)
    held_out: dict[str, Any] = {}
    if oob_early_stopping:
        member.set_params(early_stopping=len(unseen) > 0)
    if len(unseen):
        judged = None if samples.weights is None else samples.weights[unseen]
        held_out = {"eval_set": (take_rows(table, unseen), y[unseen], judged)}
    if weights is None or takes_sample_as_weights(member):
        return fit_member(member, table, y, weights, **metadata, **held_out)
    rows = samples.rows(t)
    kept = samples.weights[rows] if samples.weights is not None and samples.keeps_weights else None
    others = _check_method_params(X, dict(metadata), rows)
    return fit_member(member, take_rows(table, rows), y[rows], kept, **others, **held_out)


def takes_all(columns: NDArray[np.int64], n_columns: int) -> bool:
    """Return True if the columns of a sample are all columns, each once.

    >>> takes_all(np.array([0, 1]), 2), takes_all(np.array([0, 0]), 2)
    (True, False)
    """
    return len(columns) == n_columns and bool((columns == np.arange(n_columns)).all())


def take_features(X: Any, columns: NDArray[np.int64], n_columns: int) -> Any:
    """Return the columns of a sample, X itself if it has all columns.

    A column that was drawn twice gets a second name: "age", "age (2)".

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
