"""What a fitted member answers for rows: one array of columns that mean the same for every member."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, show_value
from spinney.data.target import encode_like

Method = Literal["predict_proba", "decision_function", "predict"]
METHODS: tuple[Method, ...] = get_args(Method)


def choose_method(name: str, estimator: Any, wanted: Sequence[Method]) -> Method:
    """Give the method by which a member answers: the first of those wanted that it has.

    >>> from sklearn.svm import LinearSVC
    >>> choose_method("svm", LinearSVC(), METHODS)
    'decision_function'
    """
    for method in wanted:
        if hasattr(estimator, method):
            return method
    raise InputError(
        f"The member {show_value(name)}, a {type(estimator).__name__}, has no {' or '.join(wanted)}",
        fix="Choose another method, or another member.",
    )


def answer(member: Any, X: Any, method: Method, classes: NDArray[Any] | None) -> NDArray[np.float64]:
    """Give the answers of a fitted member as columns in the order of ``classes``.  -> (n_rows, width)

    Probabilities: one column a class. Decisions: one column for two classes, else one a class. Labels: the
    codes, one column. A class that the member has never seen gets probability 0, or the least decision of
    the row. Regression, ``classes`` None: the predictions, one column.
    """
    given = getattr(member, method)(X)
    if classes is None:
        values = np.asarray(given, dtype=np.float64)
        if values.ndim == 2 and values.shape[1] != 1:
            raise InputError(f"{type(member).__name__} predicts {values.shape[1]} outputs; one is expected.")
        return values.reshape(-1, 1)
    if method == "predict":
        return label_codes(member, given, classes).astype(np.float64)[:, None]
    return _by_class(member, np.asarray(given, dtype=np.float64), method, classes)


def shares(answers: NDArray[np.float64], method: Method, classes: NDArray[Any] | None) -> NDArray[np.float64]:
    """Give answers as what can be averaged: a label becomes a 1 in the column of its class.

    >>> shares(np.array([[1.0], [0.0]]), "predict", np.array(["a", "b"])).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if classes is None or method != "predict":
        return answers
    return np.eye(len(classes))[answers[:, 0].astype(np.intp)]


def label_codes(member: Any, labels: Any, classes: NDArray[Any]) -> NDArray[np.int32]:
    """Give the codes of labels that a member predicted; an error for one that is no class.  -> (n_rows,)"""
    array = np.asarray(labels)
    codes = encode_like(array, [classes])[:, 0]
    if (codes < 0).any():
        _refuse_label(member, array[int(np.argmin(codes))])
    return codes


def class_places(member: Any, classes: NDArray[Any]) -> NDArray[np.int32]:
    """Give for each class of a member its place among ``classes``.

    >>> from spinney import DecisionTreeClassifier
    >>> member = DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "c"])
    >>> class_places(member, np.array(["a", "b", "c"])).tolist()
    [0, 2]
    """
    own = getattr(member, "classes_", None)
    return np.arange(len(classes), dtype=np.int32) if own is None else label_codes(member, own, classes)


def _by_class(
    member: Any, values: NDArray[np.float64], method: Method, classes: NDArray[Any]
) -> NDArray[np.float64]:
    """Put the columns of a member into the order of all classes."""
    places = class_places(member, classes)
    single = values.ndim == 1 or values.shape[1] == 1
    if method == "decision_function" and len(classes) == 2 and single and len(places) == 2:
        return values.reshape(-1, 1)
    if method == "decision_function" and single:
        # One number decides between two classes: for the second, and as much against the first.
        values = np.column_stack([-values.ravel(), values.ravel()])
    if values.ndim != 2 or values.shape[1] != len(places):
        raise InputError(
            f"{method} of {type(member).__name__} gives an array of shape {values.shape} "
            f"for {len(places)} classes."
        )
    if len(places) == len(classes) and (places == np.arange(len(classes))).all():
        return values
    unseen = 0.0 if method == "predict_proba" else values.min(axis=1, keepdims=True)
    filled = np.zeros((len(values), len(classes))) + unseen
    filled[:, places] = values
    return filled


def _refuse_label(member: Any, label: object) -> None:
    raise InputError(
        f"{type(member).__name__} predicts {show_value(label)}, which is no class of the ensemble",
        fix="Fit every member to the same labels.",
    )
