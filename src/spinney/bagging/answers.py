"""What fitted members answer: shares of classes, votes, scores or numbers, and the mean over members."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spinney.bagging.draws import Bags
from spinney.bagging.fitting import take_features
from spinney.core.errors import InputError
from spinney.core.parameters import thread_count
from spinney.members.fitting import run_jobs
from spinney.members.tables import count_rows, take_rows

Array: TypeAlias = NDArray[Any]
# The classes of each output, ascending.
Classes: TypeAlias = Sequence[Array]
# What one member says of the rows of a table: (n_rows, …).
Answer: TypeAlias = Callable[[Any, Any], NDArray[np.float64]]

# Rows that are answered together: few enough for the answers of one member to stay in cache.
_BLOCK = 1 << 14


# ---- one member ----


def give_votes(member: Any, X: Any, classes: Classes) -> NDArray[np.float64]:
    """Give 1 to the class that the member predicts, 0 to others.  -> (n_rows, classes of all outputs)"""
    predicted = np.asarray(member.predict(X))
    columns = predicted[:, None] if predicted.ndim == 1 else predicted
    votes = np.zeros((len(columns), sum(map(len, classes))))
    begin = 0
    for k, known in enumerate(classes):
        votes[np.arange(len(columns)), begin + np.searchsorted(known, columns[:, k])] = 1.0
        begin += len(known)
    return votes


def give_shares(member: Any, X: Any, classes: Classes) -> NDArray[np.float64]:
    """Give the member's probability of each class, votes where it knows none, 0 to classes it never met.

    -> (n_rows, classes of all outputs)
    """
    if not hasattr(member, "predict_proba"):
        return give_votes(member, X, classes)
    given = member.predict_proba(X)
    outputs = [given] if len(classes) == 1 else given
    if not isinstance(outputs, list) or len(outputs) != len(classes):
        # With several outputs some classifiers give the probability of one class alone.
        return give_votes(member, X, classes)
    met = [member.classes_] if len(classes) == 1 else member.classes_
    shares = np.zeros((len(outputs[0]), sum(map(len, classes))))
    begin = 0
    for known, labels, values in zip(classes, met, outputs, strict=True):
        shares[:, begin + np.searchsorted(known, np.asarray(labels))] = values
        begin += len(known)
    return shares


def give_scores(member: Any, X: Any, classes: Classes) -> NDArray[np.float64]:
    """Give the member's ``decision_function``; a class that it never met has the least score of the row.

    -> (n_rows,) with two classes, else (n_rows, n_classes)
    """
    scores = np.asarray(member.decision_function(X), dtype=np.float64)
    known, met = classes[0], member.classes_
    if len(met) == len(known):
        return scores
    by_class = np.stack([-scores, scores], axis=1)[:, -len(met) :] if scores.ndim == 1 else scores
    if by_class.shape[1] != len(met):
        raise InputError(
            f"A {type(member).__name__} met {len(met)} of {len(known)} classes and scores pairs of them",
            fix='Ask for one score a class (decision_function_shape="ovr"), or call predict_proba.',
        )
    all_scores = np.repeat(by_class.min(axis=1, keepdims=True), len(known), axis=1)
    all_scores[:, np.searchsorted(known, met)] = by_class
    return all_scores[:, 1] if len(known) == 2 else all_scores


def give_numbers(member: Any, X: Any) -> NDArray[np.float64]:
    """Give the member's prediction.  -> (n_rows,) or (n_rows, n_outputs)"""
    return np.asarray(member.predict(X), dtype=np.float64)


# ---- classes ----


def by_output(values: Any) -> list[Any]:
    """Give what belongs to each output as a list, also of one."""
    return values if type(values) is list else [values]


def describe_classes(classes: Any) -> dict[str, Any]:
    """Give the fitted attributes that tell of the classes, those of several outputs a list."""
    if type(classes) is list:
        return {"classes_": classes, "n_classes_": np.array(list(map(len, classes)), dtype=np.intp)}
    return {"classes_": classes, "n_classes_": len(classes)}


def split_shares(shares: NDArray[np.float64], classes: Any) -> list[NDArray[np.float64]]:
    """Give the shares (n_rows, classes of all outputs) of each output apart."""
    widths = [len(labels) for labels in by_output(classes)]
    return np.split(shares, np.cumsum(widths)[:-1], axis=1)


def likeliest(shares: list[NDArray[np.float64]], classes: Any) -> Array:
    """Give the class with the largest share, the first of several.  -> (n_rows,) or (n_rows, n_outputs)"""
    chosen = [
        labels.take(part.argmax(axis=1)) for labels, part in zip(by_output(classes), shares, strict=True)
    ]
    return np.stack(chosen, axis=1) if type(classes) is list else chosen[0]


# ---- all members ----


def mean_answer(
    members: Sequence[Any],
    features: Sequence[Array],
    X: Any,
    n_columns: int,
    answer: Answer,
    n_jobs: int | None,
) -> NDArray[np.float64]:
    """Give the mean over the members of what each says of its columns of X.  -> (n_rows, …)

    Blocks of rows are answered side by side, each by one member after the other: the sum has one order.
    """

    def answer_block(rows: slice) -> NDArray[np.float64]:
        block = X if rows == slice(0, n_rows) else take_rows(X, np.arange(n_rows)[rows])
        total = sum(
            answer(member, take_features(block, columns, n_columns))
            for member, columns in zip(members, features, strict=True)
        )
        return np.asarray(total) / len(members)

    n_rows = count_rows(X)
    starts = range(0, max(n_rows, 1), _BLOCK)
    blocks = [slice(start, min(start + _BLOCK, n_rows)) for start in starts]
    if len(blocks) == 1:
        return answer_block(blocks[0])
    return np.concatenate(run_jobs(answer_block, [(rows,) for rows in blocks], n_jobs))


def answers_left_out(
    members: Sequence[Any], bags: Bags, X: Any, answer: Answer, n_jobs: int | None
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Give for each member the rows that it did not see, and what it says of them."""

    def answer_unseen(t: int) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        rows = bags.left_out(t)
        if not len(rows):
            return None
        return rows, answer(members[t], take_features(take_rows(X, rows), bags.columns(t), bags.n_columns))

    at_a_time = 4 * thread_count(n_jobs)  # all at once would take the memory of all answers
    for first in range(0, len(members), at_a_time):
        numbers = range(first, min(first + at_a_time, len(members)))
        parts = run_jobs(answer_unseen, [(t,) for t in numbers], n_jobs)
        yield from (part for part in parts if part is not None)
