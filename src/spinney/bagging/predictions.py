"""Predictions of members over the classes of the ensemble, their means, and out-of-bag predictions."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spinney.bagging.fitting import take_features
from spinney.bagging.sampling import BootstrapSamples
from spinney.core.arrays import mean_of_scaled, sum_scale
from spinney.core.errors import InputError
from spinney.core.parameters import thread_count
from spinney.data.target import by_output, most_probable
from spinney.members.fitting import run_jobs
from spinney.members.tables import count_rows, take_rows

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
# Classes of each output, ascending.
Classes: TypeAlias = Sequence[Array]
# Function of a member, a table and metadata that returns predictions (n_rows, …).
Predict: TypeAlias = Callable[..., Floats]
# Out-of-bag rows of one member, and its predictions (n_out_of_bag, …).
Part: TypeAlias = tuple[NDArray[np.int64], Floats]

# Rows predicted together: few enough for the predictions of one member to stay in cache.
_BLOCK_ROWS = 1 << 14
_MAX_MEMBERS = 1 << 30  # for the room that sums of predictions need


# ---- one member ----


def member_votes(member: Any, X: Any, classes: Classes, **metadata: Any) -> Floats:
    """Return 1 for the predicted class and 0 for others.  -> (n_rows, classes of all outputs)"""
    predicted = np.asarray(member.predict(X, **metadata))
    columns = predicted[:, None] if predicted.ndim == 1 else predicted
    votes = np.zeros((len(columns), sum(map(len, classes))))
    begin = 0
    for k, known in enumerate(classes):
        votes[np.arange(len(columns)), begin + np.searchsorted(known, columns[:, k])] = 1.0
        begin += len(known)
    return votes


def member_probabilities(member: Any, X: Any, classes: Classes, **metadata: Any) -> Floats:
    """Return class probabilities, 0 for classes the member has not seen; votes if it has no probabilities.

    -> (n_rows, classes of all outputs)
    """
    if not hasattr(member, "predict_proba"):
        return member_votes(member, X, classes, **metadata)
    predicted = member.predict_proba(X, **metadata)
    outputs = [predicted] if len(classes) == 1 else predicted
    if not isinstance(outputs, list) or len(outputs) != len(classes):
        # Some multilabel classifiers return the probability of the positive class only.
        return member_votes(member, X, classes, **metadata)
    seen = [member.classes_] if len(classes) == 1 else member.classes_
    probabilities = np.zeros((len(outputs[0]), sum(map(len, classes))))
    begin = 0
    for known, labels, values in zip(classes, seen, outputs, strict=True):
        probabilities[:, begin + np.searchsorted(known, np.asarray(labels))] = values
        begin += len(known)
    return probabilities


def member_scores(member: Any, X: Any, classes: Classes, **metadata: Any) -> Floats:
    """Return ``decision_function``; classes the member has not seen get the minimum score of the row.

    -> (n_rows,) with two classes, else (n_rows, n_classes)
    """
    scores = np.asarray(member.decision_function(X, **metadata), dtype=np.float64)
    known, seen = classes[0], member.classes_
    if len(seen) == len(known):
        return scores
    by_class = np.stack([-scores, scores], axis=1)[:, -len(seen) :] if scores.ndim == 1 else scores
    if by_class.shape[1] != len(seen):
        raise InputError(
            f"A {type(member).__name__} saw {len(seen)} of {len(known)} classes and scores pairs of them",
            fix='Use one score per class (decision_function_shape="ovr"), or call predict_proba.',
        )
    all_scores = np.repeat(by_class.min(axis=1, keepdims=True), len(known), axis=1)
    all_scores[:, np.searchsorted(known, seen)] = by_class
    return all_scores[:, 1] if len(known) == 2 else all_scores


def member_values(member: Any, X: Any, **metadata: Any) -> Floats:
    """Return the predicted values.  -> (n_rows,) or (n_rows, n_outputs)"""
    return np.asarray(member.predict(X, **metadata), dtype=np.float64)


def split_outputs(probabilities: Floats, classes: Any) -> list[Floats]:
    """Split probabilities (n_rows, classes of all outputs) into one array per output."""
    widths = [len(labels) for labels in by_output(classes)]
    return np.split(probabilities, np.cumsum(widths)[:-1], axis=1)


def side_by_side(outputs: Sequence[Floats]) -> Floats:
    """Return the probabilities of one output as they are, those of several as one array.

    (n_rows, n_classes), or (n_rows, most classes, n_outputs) with 0 for classes that an output lacks

    >>> side_by_side([np.ones((4, 2)), np.ones((4, 3))]).shape
    (4, 3, 2)
    """
    if len(outputs) == 1:
        return outputs[0]
    width = max(part.shape[1] for part in outputs)
    padded = np.zeros((len(outputs[0]), width, len(outputs)))
    for k, part in enumerate(outputs):
        padded[:, : part.shape[1], k] = part
    return padded


# ---- all members ----


def mean_prediction(
    members: Sequence[Any],
    features: Sequence[Array],
    X: Any,
    n_columns: int,
    predict: Predict,
    n_jobs: int | None,
    metadata: Mapping[str, Any] | None = None,
) -> Floats:
    """Return the mean over the members of ``predict(member, columns of X, **metadata)``.  -> (n_rows, …)

    Blocks of rows are predicted in parallel, each by one member after the other: the order of summation is
    the same for any number of jobs. Metadata go to the members as they are, with all rows.
    """
    metadata = metadata or {}

    def predict_block(rows: slice) -> Floats:
        block = X if rows == slice(0, n_rows) else take_rows(X, np.arange(n_rows)[rows])
        total = sum(
            predict(member, take_features(block, columns, n_columns), **metadata) * scale
            for member, columns in zip(members, features, strict=True)
        )
        return mean_of_scaled(np.asarray(total), len(members), scale)

    scale = sum_scale(len(members))

    n_rows = count_rows(X)
    starts = range(0, max(n_rows, 1), _BLOCK_ROWS)
    blocks = [slice(start, min(start + _BLOCK_ROWS, n_rows)) for start in starts]
    if len(blocks) == 1 or metadata:
        return predict_block(slice(0, n_rows))
    return np.concatenate(run_jobs(predict_block, [(rows,) for rows in blocks], n_jobs))


# ---- out of bag ----


def out_of_bag_parts(
    samples: BootstrapSamples,
    n_members: int,
    predict: Callable[[int, NDArray[np.int64]], Floats],
    n_jobs: int | None,
) -> Iterator[Part]:
    """Yield the out-of-bag rows of each member that has any, and ``predict(member number, rows)``."""

    def predict_unseen(t: int) -> Part | None:
        rows = samples.out_of_bag_rows(t)
        return (rows, predict(t, rows)) if len(rows) else None

    chunk = 4 * thread_count(n_jobs)  # bounds the memory of predictions that wait to be summed
    for first in range(0, n_members, chunk):
        jobs = [(t,) for t in range(first, min(first + chunk, n_members))]
        yield from (part for part in run_jobs(predict_unseen, jobs, n_jobs) if part is not None)


def out_of_bag_mean(n_rows: int, parts: Iterable[Part]) -> tuple[Floats, NDArray[np.int64]]:
    """Return the mean out-of-bag prediction per row, NaN if there is none, and the number of predictions.

    Parameters
    ----------
    n_rows : int
        Number of training rows.
    parts : iterable of (rows, predictions)
        Out-of-bag rows of each member, each once, and its predictions (n_out_of_bag, …). They are summed in
        this order.

    Returns
    -------
    mean : ndarray of shape (n_rows, …)
    n_predictions : ndarray of shape (n_rows,)

    Examples
    --------
    >>> mean, n_predictions = out_of_bag_mean(3, [([0, 1], np.array([2.0, 4.0])), ([1], np.array([8.0]))])
    >>> mean.tolist(), n_predictions.tolist()
    ([2.0, 6.0, nan], [1, 2, 0])
    """
    total: Floats | None = None
    scale = sum_scale(_MAX_MEMBERS)
    n_predictions = np.zeros(n_rows, dtype=np.int64)
    for rows, predictions in parts:
        if total is None:
            total = np.zeros((n_rows, *predictions.shape[1:]))
        total[rows] += predictions * scale
        n_predictions[rows] += 1
    if total is None or not n_predictions.any():
        raise InputError(
            "Out of bag estimation only available if bootstrap=True or if samples are smaller than the "
            "table: every member has seen all rows",
            fix="Draw fewer rows by max_samples, add members, or set oob_score=False.",
        )
    divisor = np.where(n_predictions, n_predictions, np.nan).reshape(-1, *[1] * (total.ndim - 1))
    return mean_of_scaled(total, divisor, scale), n_predictions


def out_of_bag_attributes(
    oob_score: bool | Callable[..., float],
    y: Array,
    predictions: Any,
    n_predictions: NDArray[np.int64],
    weights: Floats | None,
    classes: Any = None,
) -> dict[str, Any]:
    """Return the fitted attributes about out-of-bag rows.

    Parameters
    ----------
    oob_score : bool or callable
        The parameter of the estimator; True is accuracy or R².
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Labels or values.
    predictions : list of ndarray, or ndarray
        Mean probabilities (n_rows, n_classes) of each output, or mean values of the shape of y.
    n_predictions : ndarray of shape (n_rows,)
        Number of out-of-bag predictions per row; rows without any are not scored.
    weights : ndarray of shape (n_rows,) or None
        Sample weights.
    classes : ndarray, list of ndarray or None
        The ``classes_`` of a classifier.

    Returns
    -------
    dict
        ``oob_score_``, and ``oob_decision_function_`` or ``oob_prediction_``.
    """
    if classes is None:
        default, predicted = r_squared, predictions
        fitted = {"oob_prediction_": predictions}
    else:
        default, predicted = accuracy, most_probable(predictions, classes)
        fitted = {"oob_decision_function_": side_by_side(predictions)}
    expected = np.ones(len(y), np.bool_) if weights is None else weights > 0
    if (expected & (n_predictions == 0)).any():
        warnings.warn(
            "Some inputs do not have OOB scores. This probably means too few estimators were used to compute "
            "any reliable oob estimates.",
            UserWarning,
            stacklevel=4,
        )
    score = oob_score if callable(oob_score) else default
    return fitted | {"oob_score_": out_of_bag_score(score, y, predicted, n_predictions > 0, weights)}


def out_of_bag_score(
    score: Callable[..., float],
    y: Array,
    predicted: Array,
    has_prediction: NDArray[np.bool_],
    weights: Floats | None = None,
) -> float:
    """Score the rows with an out-of-bag prediction, weighted if the score has a ``sample_weight`` argument.

    >>> from sklearn.metrics import accuracy_score
    >>> has_prediction = np.array([True, True, False])
    >>> out_of_bag_score(accuracy_score, np.array([0, 1, 1]), np.array([0, 0, 0]), has_prediction)
    0.5
    """
    if weights is None:
        return float(score(y[has_prediction], predicted[has_prediction]))
    scored = has_prediction & (weights > 0)
    more = {"sample_weight": weights[scored]} if _has_weight_argument(score) else {}
    return float(score(y[scored], predicted[scored], **more))


def accuracy(y: Array, predicted: Array, sample_weight: Floats | None = None) -> float:
    """Return the fraction of rows for which every output is predicted correctly.

    >>> accuracy(np.array([[0, 1], [1, 1]]), np.array([[0, 1], [1, 0]]))
    0.5
    """
    correct = y == predicted
    return float(np.average(correct if correct.ndim == 1 else correct.all(axis=1), weights=sample_weight))


def r_squared(y: Array, predicted: Array, sample_weight: Floats | None = None) -> float:
    """Return the coefficient of determination, R².

    >>> r_squared(np.array([0.0, 2.0]), np.array([0.0, 1.0]))
    0.5
    """
    if len(y) < 2:
        raise InputError(
            "R² needs two rows out of bag, and there is one",
            fix="Add members or rows, or set oob_score to a function such as mean_squared_error.",
        )
    # R² does not depend on the unit: half of the exponent is room for the squares of large targets.
    exponent = np.frexp(max(np.abs(y).max(), np.abs(predicted).max()))[1]
    unit = 2.0 ** -max(int(exponent) - 400, 0)
    from sklearn.metrics import r2_score

    return float(r2_score(y * unit, predicted * unit, sample_weight=sample_weight))


def _has_weight_argument(score: Callable[..., float]) -> bool:
    try:
        return "sample_weight" in inspect.signature(score).parameters
    except (TypeError, ValueError):  # built-in functions may have no signature
        return False
