"""Votes: what each member answers to each row, as codes, with the true answers and the weights of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, show_value
from spinney.core.parameters import check_weights
from spinney.data.target import encode_classes, read_target
from spinney.diversity.members import member_predictions

_BLOCK_VALUES = 1 << 20
_FEW_LABELS = 16
_EXACT_BITS = 53  # whole numbers of so many bits are exact in float64, and so are their sums


@dataclass(frozen=True, eq=False)
class Votes:
    """Hold the class that each member votes for, as codes (n_members, n_rows), and what they stand for.

    ``truth`` holds the codes of y, or None. ``weights`` are whole numbers whose sum float64 holds exactly, or
    None: no sum over rows depends on its order then. All measures are ratios, so their scale drops out.
    """

    codes: NDArray[Any]
    classes: NDArray[Any]
    truth: NDArray[Any] | None
    weights: NDArray[np.float64] | None

    @property
    def n_members(self) -> int:
        """Count the members."""
        return int(self.codes.shape[0])

    @property
    def n_rows(self) -> int:
        """Count the rows that have a weight above 0."""
        return int(self.codes.shape[1])

    @property
    def total(self) -> float:
        """Give the weight of all rows together."""
        return float(self.n_rows if self.weights is None else self.weights.sum())

    def mean(self, by_row: NDArray[Any]) -> float:
        """Average over rows, by weight.  by_row (n_rows,)"""
        return float(np.average(by_row, weights=self.weights))

    def judged(self) -> Votes:
        """Turn the votes for classes into votes that are wrong (0) or right (1)."""
        right = self.codes == self.truth
        return Votes(right.view(np.uint8), np.array(["wrong", "right"]), None, self.weights)

    def blocks(self, values: int = _BLOCK_VALUES) -> Iterator[slice]:
        """Cut the rows into blocks of about so many votes, to bound the memory of what is made from them."""
        yield from _blocks(self.n_rows, max(1, values // self.n_members))


def read_votes(
    predictions: Any,
    y: Any = None,
    X: Any = None,
    sample_weight: Any = None,
    *,
    min_members: int = 1,
) -> Votes:
    """Read predictions (n_rows, n_members), or those of a fitted ensemble for X, and y where it is given.

    >>> votes = read_votes([["a", "b"], ["b", "b"]], ["a", "b"])
    >>> votes.codes.tolist(), votes.truth.tolist()
    ([[0, 1], [1, 1]], [0, 1])
    """
    matrix = read_matrix(predictions, X)
    if matrix.ndim != 2:
        raise InputError(
            f"The predictions have the shape {matrix.shape}",
            fix="Give one row a row of the data and one column a member, (n_rows, n_members).",
        )
    n_rows, n_members = matrix.shape
    check_size(n_rows, n_members, min_members)
    truth = None if y is None else read_target(y, n_rows)
    if truth is not None and truth.ndim == 2:
        raise InputError(f"y has {truth.shape[1]} outputs; diversity is measured for one output at a time.")
    weights = check_weights(sample_weight, n_rows)
    if weights is not None:
        # Whole numbers first: a weight that is nothing beside the others adds no label.
        weights = _whole(weights)
        kept = weights > 0
        if not kept.all():
            matrix, weights = matrix[kept], weights[kept]
            truth = truth if truth is None else truth[kept]
    return _encode(matrix, truth, weights)


def read_matrix(predictions: Any, X: Any) -> NDArray[Any]:
    """Give the predictions as an array; those of a fitted ensemble are made from X."""
    if X is not None:
        return member_predictions(predictions, X)
    model = predictions[0] if isinstance(predictions, list | tuple) and predictions else predictions
    if hasattr(model, "predict"):
        raise InputError(
            f"To measure a fitted {type(model).__name__}, rows to predict are needed",
            fix="Give them as X=….",
        )
    try:
        return np.asarray(predictions)
    except ValueError as error:
        raise InputError(f"The predictions are no matrix (n_rows, n_members): {error}.") from None


def check_size(n_rows: int, n_members: int, min_members: int = 1) -> None:
    """Raise an error where there is nothing to measure."""
    if n_rows == 0:
        raise InputError("The predictions have no rows.")
    if n_members < min_members:
        raise InputError(
            f"The predictions have {n_members} column{'s' if n_members != 1 else ''}",
            fix=f"This measure needs at least {min_members} member{'s' if min_members != 1 else ''}, "
            "one a column.",
        )


def _whole(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale weights to whole numbers whose sum is exact; weights that are such numbers stay as they are."""
    total = float(weights.sum())
    if total < 2.0**_EXACT_BITS and np.all(weights == np.trunc(weights)):
        return weights
    # A power of two, so that scaling itself is exact; one bit is left for what rounding adds.
    _, exponent = np.frexp(total)
    return np.rint(np.ldexp(weights, _EXACT_BITS - 1 - int(exponent)))


def _blocks(n_rows: int, size: int) -> Iterator[slice]:
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


# ---- labels to codes ----


def _encode(matrix: NDArray[Any], truth: NDArray[Any] | None, weights: NDArray[np.float64] | None) -> Votes:
    """Give each label a code; blocks of rows are turned in one go, each a contiguous piece of memory."""
    n_rows, n_members = matrix.shape
    code_of: dict[Any, int] = {}
    codes = np.empty((n_members, n_rows), dtype=np.uint8)
    for rows in _blocks(n_rows, max(1, _BLOCK_VALUES // n_members)):
        block = _codes(matrix[rows], code_of, rows.start)
        codes = codes.astype(_code_type(len(code_of)), copy=False)
        codes[:, rows] = block.T
    coded_truth = None if truth is None else _codes(truth[:, None], code_of, 0)[:, 0]
    ranks, classes = _ascending(list(code_of))
    ranks = ranks.astype(_code_type(len(classes)))
    if not np.array_equal(ranks, np.arange(len(ranks))):
        for member in codes:
            member[:] = ranks[member]
    return Votes(codes, classes, None if coded_truth is None else ranks[coded_truth], weights)


def _codes(block: NDArray[Any], code_of: dict[Any, int], first_row: int) -> NDArray[np.int32]:
    """Code a block (n_rows, n_members), adding to code_of the labels that are new."""
    flat = block.ravel()
    if flat.dtype.kind == "f":
        wrong = ~(flat == np.trunc(flat)) | np.isinf(flat)
        if wrong.any():
            _refuse(flat, int(np.argmax(wrong)), block.shape[1], first_row)
    labels, places = _distinct(flat)
    missing = _missing(labels)
    if missing is not None:
        _refuse(flat, int(np.argmax(places == missing)), block.shape[1], first_row)
    table = np.array([code_of.setdefault(label, len(code_of)) for label in labels], dtype=np.int32)
    codes: NDArray[np.int32] = table[places].reshape(block.shape)
    return codes


def _distinct(flat: NDArray[Any]) -> tuple[list[Any], NDArray[Any]]:
    """Give the distinct labels, and the place of each entry's label among them."""
    if flat.dtype.kind in "biuf":
        encoded = encode_classes(flat)
        return encoded.classes[0].tolist(), encoded.codes[:, 0]
    if flat.dtype.kind in "US":
        labels, places = _compared(flat)
        if places.min() >= 0:
            return labels, places
    # Looking labels up takes a fraction of the time of sorting them.
    items = flat.tolist()
    labels = list(dict.fromkeys(items))
    place_of = {label: place for place, label in enumerate(labels)}
    return labels, np.fromiter(map(place_of.__getitem__, items), np.int32, len(items))


def _compared(flat: NDArray[Any]) -> tuple[list[Any], NDArray[np.int32]]:
    """Find labels by comparing all entries with one after another; those beyond the first few stay at −1.

    Ten times as fast as making a Python object of each text.
    """
    labels: list[Any] = []
    places = np.full(len(flat), -1, dtype=np.int32)
    while len(labels) < _FEW_LABELS and places.min() < 0:
        label = flat[np.argmin(places)]
        places[flat == label] = len(labels)
        labels.append(label.item())
    return labels, places


def _missing(labels: list[Any]) -> int | None:
    """Give the place of the first label that is None, NaN or the like."""
    try:
        read_target(np.fromiter(labels, dtype=object, count=len(labels)), len(labels))
    except InputError as error:
        return error.row
    return None


def _refuse(flat: NDArray[Any], place: int, n_members: int, first_row: int) -> None:
    value = flat[place]
    raise InputError(
        f"The prediction {show_value(value.item() if isinstance(value, np.generic) else value)} is no label",
        column=place % n_members,
        row=first_row + place // n_members,
        fix="Give every member's label for every row; for regression there is error_ambiguity.",
    )


def _ascending(labels: list[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Give the rank of each label, and the labels in ascending order."""
    try:
        order = sorted(range(len(labels)), key=labels.__getitem__)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels})
        raise InputError(
            f"The predictions and y hold labels of the types {', '.join(kinds)}, which cannot be compared",
            fix="Convert the labels to one type, numbers or strings.",
        ) from None
    ranks = np.empty(len(labels), dtype=np.int64)
    ranks[order] = np.arange(len(labels))
    classes = np.array([labels[place] for place in order])
    return ranks, classes


def _code_type(n_classes: int) -> type[np.unsignedinteger[Any]]:
    return np.uint8 if n_classes <= 1 << 8 else np.uint16 if n_classes <= 1 << 16 else np.uint32
