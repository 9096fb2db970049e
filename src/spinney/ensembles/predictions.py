"""Predictions of the members of an ensemble: columns in one order of classes, for new rows or out of fold."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold, check_cv
from sklearn.utils.validation import _check_method_params

from spinney.core.errors import InputError, show_value
from spinney.data.target import encode_like
from spinney.members.base_estimators import make_member
from spinney.members.fitting import fit_member, run_jobs
from spinney.members.tables import take_rows

Array = NDArray[np.float64]
Method = Literal["predict_proba", "decision_function", "predict", "votes"]
"""Prediction method of a member; "votes" are the labels of ``predict`` as one-hot rows."""
Split = tuple[NDArray[np.intp], NDArray[np.intp]]
_N_FOLDS = 5

# ---- one fitted member ----


def choose_method(name: str, estimator: Any, allowed: Sequence[Method]) -> Method:
    """Return the first of the allowed prediction methods that a member has.

    >>> from sklearn.svm import LinearSVC
    >>> choose_method("svm", LinearSVC(), METHODS)
    'decision_function'
    """
    for method in allowed:
        if hasattr(estimator, method):
            return method
    raise InputError(
        f"The member {show_value(name)}, a {type(estimator).__name__}, has no {' or '.join(allowed)}",
        fix="Choose another method, or another member.",
    )


def aligned_predictions(member: Any, X: Any, method: Method, classes: NDArray[Any] | None) -> Array:
    """Return the predictions of a fitted member as columns in the order of ``classes``.  -> (n_rows, width)

    Probabilities: one column per class. Decision values: one column for two classes, else one per class.
    Labels: one column of class codes. A class that the member has not seen gets probability 0, or the
    smallest decision value of the row. Regression, ``classes`` None: one column of values.
    """
    predicted = getattr(member, "predict" if method == "votes" else method)(X)
    if classes is None:
        values = np.asarray(predicted, dtype=np.float64)
        if values.ndim == 2 and values.shape[1] != 1:
            raise InputError(f"{type(member).__name__} predicts {values.shape[1]} outputs; one is expected.")
        return values.reshape(-1, 1)
    if method in ("predict", "votes"):
        codes = _label_codes(member, predicted, classes)
        return np.eye(len(classes))[codes] if method == "votes" else codes.astype(np.float64)[:, None]
    return _align_columns(member, np.asarray(predicted, dtype=np.float64), method, classes)


def class_indices(member: Any, classes: NDArray[Any]) -> NDArray[np.int32]:
    """Return the index in ``classes`` of each class of a member.

    >>> from spinney import DecisionTreeClassifier
    >>> member = DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "c"])
    >>> class_indices(member, np.array(["a", "b", "c"])).tolist()
    [0, 2]
    """
    own = getattr(member, "classes_", None)
    return np.arange(len(classes), dtype=np.int32) if own is None else _label_codes(member, own, classes)


def _label_codes(member: Any, labels: Any, classes: NDArray[Any]) -> NDArray[np.int32]:
    """Return the codes of labels of a member; raise InputError for one that is not among the classes."""
    array = np.asarray(labels)
    codes = encode_like(array, [classes])[:, 0]
    if (codes < 0).any():
        label = show_value(array[int(np.argmin(codes))])
        raise InputError(
            f"{type(member).__name__} predicts {label}, which is not a class of the ensemble",
            fix="Fit every member to the same labels.",
        )
    return codes


def _align_columns(member: Any, values: Array, method: Method, classes: NDArray[Any]) -> Array:
    """Put the columns of a member into the order of all classes."""
    indices = class_indices(member, classes)
    single = values.ndim == 1 or values.shape[1] == 1
    if method == "decision_function" and len(classes) == 2 and single and len(indices) == 2:
        return values.reshape(-1, 1)
    if method == "decision_function" and single:
        # One value decides between two classes: it is for the second, and as much against the first.
        values = np.column_stack([-values.ravel(), values.ravel()])
    if values.ndim != 2 or values.shape[1] != len(indices):
        raise InputError(
            f"{method} of {type(member).__name__} returned an array of shape {values.shape} "
            f"for {len(indices)} classes."
        )
    if len(indices) == len(classes) and (indices == np.arange(len(classes))).all():
        return values
    unseen = 0.0 if method == "predict_proba" else values.min(axis=1, keepdims=True)
    aligned = np.zeros((len(values), len(classes))) + unseen
    aligned[:, indices] = values
    return aligned


# ---- members fitted together ----


@dataclass(frozen=True)
class FitTask:
    """What ``fit`` was given: the named members and the data that each of them is fitted to.

    ``members`` are unfitted or, with cv="prefit", fitted; ``indices`` are their positions among the given
    estimators, without those dropped. ``codes`` are y as indices of ``classes``; in regression they are y
    itself and ``classes`` is None. ``metadata`` has the keyword arguments of the ``fit`` of each member,
    ``sample_weight`` included.
    """

    names: Sequence[str]
    members: Sequence[Any]
    indices: Sequence[int]
    X: Any
    y: NDArray[Any]
    codes: NDArray[Any]
    classes: NDArray[Any] | None
    weights: Array | None
    seed: int | None
    metadata: Sequence[Mapping[str, Any]]
    groups: Any
    final_metadata: Mapping[str, Any]

    def select(self, chosen: NDArray[np.intp]) -> Self:
        """Return the task of the chosen members only."""
        columns = (self.names, self.members, self.indices, self.metadata)
        names, members, indices, metadata = ([column[i] for i in chosen] for column in columns)
        return replace(self, names=names, members=members, indices=indices, metadata=metadata)

    def target_columns(self) -> Array:
        """Return the target as one-hot classes or one column of values.  -> (n_rows, width)"""
        return self.codes[:, None] if self.classes is None else np.eye(len(self.classes))[self.codes]

    def fit_members(self, n_jobs: int | None, title: str | None = None) -> list[Any]:
        """Return a copy of each member, fitted to all rows."""
        calls = [(member, self.X, self.y, self.metadata[i]) for i, member in enumerate(self.members)]
        return run_jobs(_fit, calls, n_jobs, title)

    def predict_out_of_fold(
        self,
        splits: Sequence[Split],
        methods: Sequence[Method],
        n_jobs: int | None,
        title: str | None = None,
    ) -> OutOfFold:
        """Fit a copy of each member per split, and predict the rows that it did not see."""
        calls: list[tuple[Any, ...]] = [
            (member, self.X, self.y, self.metadata[i], split, methods[i], self.classes)
            for split in splits
            for i, member in enumerate(self.members)
        ]
        results = run_jobs(_fit_and_predict, calls, n_jobs, title)
        rows = np.concatenate([test for _, test in splits])
        order, n = np.argsort(rows, kind="stable"), len(self.members)
        return OutOfFold(rows[order], tuple(np.concatenate(results[i::n])[order] for i in range(n)))


@dataclass(frozen=True)
class OutOfFold:
    """Predictions of each member for rows that it was not fitted to.

    ``rows`` (n,) are positions in the training table, ascending; a row occurs as often as a split holds it
    out. ``predictions`` has one array (n, width) per member.
    """

    rows: NDArray[np.intp]
    predictions: Sequence[Array]


def make_splitter(cv: Any, y: NDArray[Any], classifier: bool) -> Any:
    """Return the splitter for ``cv`` as scikit-learn reads it; "loo" is leave-one-out.

    None is 5 folds, or fewer if there are fewer rows (in classification, rows of the most frequent class).

    >>> make_splitter(None, np.array([0, 0, 0, 1]), classifier=True).n_splits
    3
    """
    if isinstance(cv, str):
        if cv != "loo":
            raise InputError(
                f"cv is {show_value(cv)}; it must be None, a number of folds, a splitter, a list of splits, "
                '"loo" or "prefit".'
            )
        return LeaveOneOut()
    if cv is not None:
        return check_cv(cv, y, classifier=classifier)
    max_count = int(np.unique(y, return_counts=True)[1].max()) if classifier else len(y)
    if classifier and max_count >= 2:
        return StratifiedKFold(min(_N_FOLDS, max_count))
    if len(y) < 2:
        raise InputError(f"Out-of-fold predictions need at least 2 rows; n_samples={len(y)}.")
    return KFold(min(_N_FOLDS, len(y)))


def make_splits(splitter: Any, X: Any, y: NDArray[Any], groups: Any = None) -> list[Split]:
    """Return the splits of a splitter, drawn once so that every member gets the same ones."""
    with warnings.catch_warnings():
        # Members fitted without a class that has fewer rows than folds are supported.
        warnings.filterwarnings("ignore", message="The least populated class")
        splits = [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y, groups)]
    if not splits or any(len(train) == 0 or len(test) == 0 for train, test in splits):
        raise InputError("cv yields no split, or one without rows to fit or to predict.")
    return splits


def _fit(member: Any, X: Any, y: NDArray[Any], metadata: Mapping[str, Any]) -> Any:
    others = {name: value for name, value in metadata.items() if name != "sample_weight"}
    return fit_member(make_member(member), X, y, metadata.get("sample_weight"), **others)


def _fit_and_predict(
    member: Any,
    X: Any,
    y: NDArray[Any],
    metadata: Mapping[str, Any],
    split: Split,
    method: Method,
    classes: NDArray[Any] | None,
) -> Array:
    """Fit to the training rows of a split and predict its test rows."""
    train, test = split
    fitted = _fit(member, take_rows(X, train), y[train], _check_method_params(X, dict(metadata), train))
    return aligned_predictions(fitted, take_rows(X, test), method, classes)
