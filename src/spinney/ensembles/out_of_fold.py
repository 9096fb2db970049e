"""Out-of-fold answers: each row answered for by members that never saw it, computed once for all who ask."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold, check_cv
from sklearn.utils.validation import _check_method_params

from spinney.core.errors import InputError, show_value
from spinney.ensembles.responses import Method, answer
from spinney.members.base_estimators import make_member
from spinney.members.fitting import fit_member, run_jobs
from spinney.members.tables import take_rows

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
_FOLDS = 5


@dataclass(frozen=True)
class Lesson:
    """Hold what members learn from: rows X, targets y, and for each member the metadata of its ``fit``.

    ``sample_weight`` is among the metadata of a member that gets row weights. ``codes`` are the places of
    y among ``classes``; in regression they are y itself, and ``classes`` is None.
    """

    X: Any
    y: NDArray[Any]
    codes: NDArray[Any]
    classes: NDArray[Any] | None
    metadata: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class OutOfFold:
    """Hold the answers of each member for rows held out from it.

    ``rows`` (n_answers,) are positions in the training table, ascending: one that no fold holds out does not
    occur, one that several do occurs as often. ``answers`` has one array (n_answers, width) a member.
    """

    rows: NDArray[np.intp]
    answers: tuple[NDArray[np.float64], ...]


def read_splitter(cv: Any, y: NDArray[Any], classifier: bool) -> Any:
    """Give the splitter that ``cv`` asks for, in scikit-learn's manner; "loo" leaves one row out.

    None is 5 folds, or as many as the rows (in classification those of the most frequent class) allow.

    >>> read_splitter(None, np.array([0, 0, 0, 1]), classifier=True).n_splits
    3
    """
    if isinstance(cv, str):
        if cv != "loo":
            raise InputError(
                f"The cv is {show_value(cv)}; it takes None, a whole number of folds, a splitter, a list of "
                'splits, "loo" or "prefit".'
            )
        return LeaveOneOut()
    if cv is not None:
        return check_cv(cv, y, classifier=classifier)
    most = int(np.unique(y, return_counts=True)[1].max()) if classifier else len(y)
    if classifier and most >= 2:
        return StratifiedKFold(min(_FOLDS, most))
    if len(y) < 2:
        raise InputError(f"Out-of-fold predictions need at least 2 rows; n_samples={len(y)}.")
    return KFold(min(_FOLDS, len(y)))


def read_splits(splitter: Any, X: Any, y: NDArray[Any], groups: Any = None) -> list[Split]:
    """Draw the splits of a splitter once, so that every member is judged on the same ones."""
    with warnings.catch_warnings():
        # A class with fewer rows than folds is no news: its members then answer without it.
        warnings.filterwarnings("ignore", message="The least populated class")
        splits = [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y, groups)]
    if not splits or any(len(train) == 0 or len(test) == 0 for train, test in splits):
        raise InputError("The cv gives no split, or one without rows to fit or to predict.")
    return splits


def fit_members(
    members: Sequence[Any], lesson: Lesson, n_jobs: int | None, title: str | None = None
) -> list[Any]:
    """Fit a copy of each member to all rows."""
    calls = [(member, lesson.X, lesson.y, lesson.metadata[i]) for i, member in enumerate(members)]
    return run_jobs(_fit, calls, n_jobs, title)


def answer_out_of_fold(
    members: Sequence[Any],
    lesson: Lesson,
    splits: Sequence[Split],
    methods: Sequence[Method],
    n_jobs: int | None,
    title: str | None = None,
) -> OutOfFold:
    """Fit a copy of each member once a split, and let it answer for the rows that it did not see."""
    calls: list[tuple[Any, ...]] = [
        (member, lesson.X, lesson.y, lesson.metadata[i], split, methods[i], lesson.classes)
        for split in splits
        for i, member in enumerate(members)
    ]
    results = run_jobs(_fit_and_answer, calls, n_jobs, title)
    rows = np.concatenate([test for _, test in splits])
    order = np.argsort(rows, kind="stable")
    n = len(members)
    return OutOfFold(rows[order], tuple(np.concatenate(results[i::n])[order] for i in range(n)))


def _fit(member: Any, X: Any, y: NDArray[Any], metadata: Mapping[str, Any]) -> Any:
    others = {name: value for name, value in metadata.items() if name != "sample_weight"}
    return fit_member(make_member(member), X, y, metadata.get("sample_weight"), **others)


def _fit_and_answer(
    member: Any,
    X: Any,
    y: NDArray[Any],
    metadata: Mapping[str, Any],
    split: Split,
    method: Method,
    classes: NDArray[Any] | None,
) -> NDArray[np.float64]:
    """Fit to the rows of a split and answer for the others."""
    train, test = split
    fitted = _fit(member, take_rows(X, train), y[train], _check_method_params(X, dict(metadata), train))
    return answer(fitted, take_rows(X, test), method, classes)
