"""Predictions of the members of an ensemble: columns in one order of classes, for new rows or out of fold."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.utils.validation import _check_method_params

from spinney.core.errors import InputError, show_value
from spinney.data.target import by_output, encode_like
from spinney.members.base_estimators import make_member
from spinney.members.fitting import fit_member, run_jobs
from spinney.members.tables import take_rows

Array = NDArray[np.float64]
Classes = NDArray[Any] | list[NDArray[Any]] | None
"""Classes of a classifier, of each output if there are several; None in regression."""
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
        f"The member {show_value(name)}, a {type(estimator).__name__}, does not implement the method "
        f"{' or '.join(allowed)}",
        fix="Choose another method, or another member.",
    )


def aligned_predictions(member: Any, X: Any, method: Method, classes: Classes, n_outputs: int = 1) -> Array:
    """Return the predictions of a fitted member as columns in the order of ``classes``.  -> (n_rows, width)

    Probabilities: one column per class. Decision values: one column for two classes, else one per class.
    Labels: one column of class codes. A class that the member has not seen gets probability 0, or the
    smallest decision value of the row. Regressors, ``classes`` is None or not: one column of values. Several
    outputs are side by side.
    """
    predicted: Any = getattr(member, "predict" if method == "votes" else method)(X)
    if sparse.issparse(predicted):
        predicted = cast("Any", predicted).toarray()
    if classes is None or is_regressor(member):
        return _value_columns(member, predicted, n_outputs)
    outputs = by_output(classes)
    parts = _split_outputs(member, predicted, method, len(outputs))
    owns = by_output(getattr(member, "classes_", None))
    # Some classifiers of several labels number these instead of naming the classes of each.
    owns = owns if len(owns) == len(outputs) else [None] * len(outputs)
    columns = [
        _output_columns(member, part, method, known, own)
        for part, known, own in zip(parts, outputs, owns, strict=True)
    ]
    return columns[0] if len(columns) == 1 else np.hstack(columns)


def _value_columns(member: Any, predicted: Any, n_outputs: int) -> Array:
    """Return the values of a regressor, one column per output."""
    values = np.asarray(predicted, dtype=np.float64)
    values = values if values.ndim == 2 else values.reshape(-1, 1)
    if values.shape[1] != n_outputs:
        expected = "one is" if n_outputs == 1 else f"{n_outputs} are"
        raise InputError(f"{type(member).__name__} predicts {values.shape[1]} outputs; {expected} expected.")
    return values


def _split_outputs(member: Any, predicted: Any, method: Method, n_outputs: int) -> list[Any]:
    """Return the predictions of each output.

    Classifiers of several outputs return labels (n_rows, n_outputs), and probabilities as a list of arrays
    or, like decision values, as the columns of one array if each output has two classes.
    """
    if n_outputs == 1:
        return [predicted]
    if not isinstance(predicted, list):
        array = np.asarray(predicted)
        columns = list(array.T) if array.ndim == 2 else [array]
        predicted = columns if method != "predict_proba" else [np.stack([1 - p, p], axis=1) for p in columns]
    if len(predicted) != n_outputs:
        raise InputError(f"{type(member).__name__} predicts {len(predicted)} outputs, and y has {n_outputs}.")
    return list(predicted)


def _output_columns(member: Any, predicted: Any, method: Method, classes: NDArray[Any], own: Any) -> Array:
    """Return the columns of one output."""
    if method in ("predict", "votes"):
        codes = _label_codes(member, predicted, classes)
        return np.eye(len(classes))[codes] if method == "votes" else codes.astype(np.float64)[:, None]
    return _align_columns(member, np.asarray(predicted, dtype=np.float64), method, classes, own)


def split_columns(columns: Array, classes: Classes) -> list[Array]:
    """Return the probabilities of each output, which are side by side.

    >>> [part.shape for part in split_columns(np.ones((4, 5)), [np.arange(2), np.arange(3)])]
    [(4, 2), (4, 3)]
    """
    widths = [1] if classes is None else [len(labels) for labels in by_output(classes)]
    return np.split(columns, np.cumsum(widths)[:-1], axis=1)


def class_indices(member: Any, classes: NDArray[Any], own: Any) -> NDArray[np.int32]:
    """Return the index in ``classes`` of each class of a member, whose own are None if it names none.

    >>> from spinney import DecisionTreeClassifier
    >>> member = DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "c"])
    >>> class_indices(member, np.array(["a", "b", "c"]), member.classes_).tolist()
    [0, 2]
    """
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


def _align_columns(member: Any, values: Array, method: Method, classes: NDArray[Any], own: Any) -> Array:
    """Put the columns of a member into the order of all classes of an output."""
    indices = class_indices(member, classes, own)
    single = values.ndim == 1 or values.shape[1] == 1
    if method == "decision_function" and len(classes) == 2 and single and len(indices) == 2:
        return values.reshape(-1, 1)
    if method == "decision_function" and single:
        # One value decides between two classes: it is for the second, and as much against the first.
        column = values.reshape(-1, 1)
        values = column if len(indices) == 1 else np.hstack([-column, column])
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
    itself and ``classes`` is None. y and codes are (n_rows,), or (n_rows, n_outputs). Regressors among the
    members of a classifier are fitted to the codes. ``metadata`` has the keyword arguments of the ``fit`` of
    each member, ``sample_weight`` included.
    """

    names: Sequence[str]
    members: Sequence[Any]
    indices: Sequence[int]
    X: Any
    y: NDArray[Any]
    codes: NDArray[Any]
    classes: Classes
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

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""
        return 1 if self.codes.ndim == 1 else self.codes.shape[1]

    def target_columns(self) -> Array:
        """Return the target as one-hot classes or columns of values.  -> (n_rows, width)"""
        codes = self.codes.reshape(len(self.codes), -1)
        if self.classes is None:
            return codes
        outputs = by_output(self.classes)
        return np.hstack([np.eye(len(labels))[codes[:, k]] for k, labels in enumerate(outputs)])

    def _target_of(self, member: Any) -> NDArray[Any]:
        """Return what a member learns."""
        return self.codes if self.classes is not None and is_regressor(member) else self.y

    def fit_members(self, n_jobs: int | None, title: str | None = None) -> list[Any]:
        """Return a copy of each member, fitted to all rows."""
        calls = [
            (member, self.X, self._target_of(member), self.metadata[i])
            for i, member in enumerate(self.members)
        ]
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
            (member, self.X, self._target_of(member), self.metadata[i], split, methods[i], self.classes)
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
    from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold, check_cv

    if isinstance(cv, str):
        if cv != "loo":
            raise InputError(
                f"cv is {show_value(cv)}; it must be None, a number of folds, a splitter, a list of splits, "
                '"loo" or "prefit".'
            )
        return LeaveOneOut()
    if cv is not None:
        return check_cv(cv, y, classifier=classifier)
    classifier = classifier and y.ndim == 1  # several outputs have no classes to stratify by
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
        # Splitters count rows, and those of a dict are not its length.
        rows = np.zeros((len(y), 1)) if isinstance(X, dict) else X
        splits = [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(rows, y, groups)]
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
    classes: Classes,
) -> Array:
    """Fit to the training rows of a split and predict its test rows."""
    train, test = split
    if method == "predict_proba" and isinstance(classes, np.ndarray) and (y[train] == y[train[0]]).all():
        # Many classifiers refuse a single class, which there may be if another has fewer rows than folds.
        return np.tile((classes == y[train[0]]).astype(np.float64), (len(test), 1))
    fitted = _fit(member, take_rows(X, train), y[train], _check_method_params(X, dict(metadata), train))
    n_outputs = 1 if y.ndim == 1 else y.shape[1]
    return aligned_predictions(fitted, take_rows(X, test), method, classes, n_outputs)
