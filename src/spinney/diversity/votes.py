"""Votes: the predicted labels of all members as codes, and exact counts of how often each two agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, show_value
from spinney.data.target import encode_classes, read_target
from spinney.data.weights import check_weights
from spinney.diversity.members import member_predictions

_BLOCK_VALUES = 1 << 20
_FEW_LABELS = 16
_EXACT_BITS = 53  # integers of so many bits are exact in float64, and so are their sums
# Block sizes such that the arrays made from a block stay in the second-level cache.
_BITS_BLOCK = 1 << 23
_PRODUCT_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class Votes:
    """Predicted classes of all members.

    codes (n_members, n_rows) are indices into ``classes``; ``truth`` (n_rows,) has the codes of y, or is
    None. ``weights`` (n_rows,) are integers whose sum is exact in float64, or None, so no sum depends on the
    order of the rows. All measures are ratios, so the scale of the weights does not matter.
    """

    codes: NDArray[Any]
    classes: NDArray[Any]
    truth: NDArray[Any] | None
    weights: NDArray[np.float64] | None

    @property
    def n_members(self) -> int:
        """Number of members."""
        return int(self.codes.shape[0])

    @property
    def n_rows(self) -> int:
        """Number of rows with a weight above 0."""
        return int(self.codes.shape[1])

    @property
    def total(self) -> float:
        """Sum of the weights of all rows."""
        return float(self.n_rows if self.weights is None else self.weights.sum())

    def mean(self, by_row: NDArray[Any]) -> float:
        """Weighted mean over rows.  by_row (n_rows,)"""
        return float(np.average(by_row, weights=self.weights))

    def correctness(self) -> Votes:
        """Return votes of the classes wrong (0) and correct (1)."""
        if self.truth is None:
            raise InputError(
                "This measure compares correct and wrong predictions, and y is None",
                fix="Give the true labels as y.",
            )
        correct = self.codes == self.truth
        return Votes(correct.view(np.uint8), np.array(["wrong", "correct"]), None, self.weights)

    def blocks(self, values: int = _BLOCK_VALUES) -> Iterator[slice]:
        """Yield blocks of rows with about so many votes, to bound the memory of arrays made from them."""
        size = max(1, values // self.n_members)
        for start in range(0, self.n_rows, size):
            yield slice(start, min(start + size, self.n_rows))


def read_votes(
    predictions: Any, y: Any = None, X: Any = None, sample_weight: Any = None, *, min_members: int = 1
) -> Votes:
    """Read predictions (n_rows, n_members), or those of a fitted ensemble for X, and y if it is given.

    >>> votes = read_votes([["a", "b"], ["b", "b"]], ["a", "b"])
    >>> votes.codes.tolist(), votes.truth.tolist()
    ([[0, 1], [1, 1]], [0, 1])
    """
    matrix = read_matrix(predictions, X, (2,))
    n_rows, n_members = matrix.shape
    check_size(n_rows, n_members, min_members)
    truth = None if y is None else read_target(y, n_rows)
    if truth is not None and truth.ndim == 2:
        raise InputError(f"y has {truth.shape[1]} outputs; diversity is measured for one output at a time.")
    weights = check_weights(sample_weight, n_rows)
    if weights is not None:
        # Integers first: a row whose weight is negligible beside the others adds no label.
        weights = _integer_weights(weights)
        kept = weights > 0
        if not kept.all():
            matrix, weights = matrix[kept], weights[kept]
            truth = truth if truth is None else truth[kept]
    return _encode(matrix, truth, weights)


def read_matrix(predictions: Any, X: Any, n_axes: tuple[int, ...] = (2, 3)) -> NDArray[Any]:
    """Return the predictions as an array; those of a fitted ensemble are computed from X."""
    if X is not None:
        matrix = member_predictions(predictions, X)
    else:
        model = predictions[0] if isinstance(predictions, list | tuple) and predictions else predictions
        if hasattr(model, "predict"):
            raise InputError(
                f"To measure a fitted {type(model).__name__}, rows to predict are needed",
                fix="Give them as X=….",
            )
        try:
            matrix = np.asarray(predictions)
        except ValueError as error:
            raise InputError(f"The predictions are not a matrix (n_rows, n_members): {error}.") from None
    if matrix.ndim not in n_axes:
        raise InputError(
            f"The predictions have the shape {matrix.shape}",
            fix="Give one row per row of the data and one column per member, (n_rows, n_members).",
        )
    return matrix


def check_size(n_rows: int, n_members: int, min_members: int = 1) -> None:
    """Raise an error if there are no rows or too few members."""
    if n_rows == 0:
        raise InputError("The predictions have no rows.")
    if n_members < min_members:
        raise InputError(
            f"The predictions have {n_members} column{'s' if n_members != 1 else ''}",
            fix=f"This measure needs at least {min_members} member{'s' if min_members != 1 else ''}, "
            "one per column.",
        )


def _integer_weights(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale weights to integers whose sum is exact; weights that are such integers stay as they are."""
    total = float(weights.sum())
    if total < 2.0**_EXACT_BITS and np.all(weights == np.trunc(weights)):
        return weights
    # A power of two, so that scaling itself is exact; one bit is left for rounding.
    _, exponent = np.frexp(total)
    return np.rint(np.ldexp(weights, _EXACT_BITS - 1 - int(exponent)))


# ---- labels to codes ----


def _encode(matrix: NDArray[Any], truth: NDArray[Any] | None, weights: NDArray[np.float64] | None) -> Votes:
    """Encode labels (n_rows, n_members) as codes (n_members, n_rows), block by block of rows."""
    n_rows, n_members = matrix.shape
    code_of: dict[Any, int] = {}
    codes, size = np.empty((n_members, n_rows), dtype=np.uint8), max(1, _BLOCK_VALUES // n_members)
    for start in range(0, n_rows, size):
        block = _codes(matrix[start : start + size], code_of, start)
        codes = codes.astype(np.min_scalar_type(len(code_of) - 1), copy=False)
        codes[:, start : start + size] = block.T
    coded_truth = None if truth is None else _codes(truth[:, None], code_of, 0)[:, 0]
    ascending = encode_classes(np.fromiter(code_of, dtype=object, count=len(code_of)))
    classes = ascending.classes[0]
    ranks = ascending.codes[:, 0].astype(np.min_scalar_type(len(classes) - 1))
    if not np.array_equal(ranks, np.arange(len(ranks))):
        for member in codes:
            member[:] = ranks[member]
    return Votes(codes, classes, None if coded_truth is None else ranks[coded_truth], weights)


def _codes(block: NDArray[Any], code_of: dict[Any, int], first_row: int) -> NDArray[np.int32]:
    """Encode a block (n_rows, n_members) and add new labels to code_of."""
    flat = block.ravel()
    if flat.dtype.kind == "f":
        wrong = ~(flat == np.trunc(flat)) | np.isinf(flat)
        if wrong.any():
            _refuse(flat, int(np.argmax(wrong)), block.shape[1], first_row)
    labels, indices = _distinct(flat)
    try:
        read_target(np.fromiter(labels, dtype=object, count=len(labels)), len(labels))
    except InputError as error:  # a label is None, NaN or the like
        _refuse(flat, int(np.argmax(indices == error.row)), block.shape[1], first_row)
    table = np.array([code_of.setdefault(label, len(code_of)) for label in labels], dtype=np.int32)
    codes: NDArray[np.int32] = table[indices].reshape(block.shape)
    return codes


def _distinct(flat: NDArray[Any]) -> tuple[list[Any], NDArray[Any]]:
    """Return the distinct labels, and the index of each entry's label among them."""
    if flat.dtype.kind in "biuf":
        encoded = encode_classes(flat)
        return encoded.classes[0].tolist(), encoded.codes[:, 0]
    if flat.dtype.kind in "US":
        labels, indices = _compared(flat)
        if indices.min() >= 0:
            return labels, indices
    # Looking labels up takes a fraction of the time of sorting them.
    items = flat.tolist()
    labels = list(dict.fromkeys(items))
    index_of = {label: index for index, label in enumerate(labels)}
    return labels, np.fromiter(map(index_of.__getitem__, items), np.int32, len(items))


def _compared(flat: NDArray[Any]) -> tuple[list[Any], NDArray[np.int32]]:
    """Find labels by comparing all entries with one label after another; −1 beyond the first few labels.

    Ten times as fast as creating a Python string for each entry.
    """
    labels: list[Any] = []
    indices = np.full(len(flat), -1, dtype=np.int32)
    while len(labels) < _FEW_LABELS and indices.min() < 0:
        label = flat[np.argmin(indices)]
        indices[flat == label] = len(labels)
        labels.append(label.item())
    return labels, indices


def _refuse(flat: NDArray[Any], index: int, n_members: int, first_row: int) -> None:
    value = flat[index].item() if isinstance(flat[index], np.generic) else flat[index]
    raise InputError(
        f"The prediction {show_value(value)} is not a label",
        column=index % n_members,
        row=first_row + index // n_members,
        fix="Give every member's label for every row; for regression use error_ambiguity.",
    ) from None


# ---- counts of pairs ----


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Weight of all rows, of those where two members agree, and of each member's votes per class.

    agree (n_members, n_members); by_class (n_members, n_classes). Integers, so nothing is rounded.
    """

    total: float
    agree: NDArray[np.float64]
    by_class: NDArray[np.float64]

    @property
    def table(self) -> tuple[NDArray[np.float64], ...]:
        """2×2 tables of all pairs: the weight of rows by who votes for the second of two classes.

        Both (a), only the first member (b), only the second (c), neither (d); each (n_members, n_members).

        >>> [float(cell[0, 1]) for cell in count_pairs(read_votes([[1, 1], [1, 0], [0, 0], [0, 0]])).table]
        [1.0, 1.0, 0.0, 2.0]
        """
        # A single class is the first of two: nobody votes for the second.
        second = self.by_class[:, 1] if self.by_class.shape[1] > 1 else np.zeros(len(self.by_class))
        a = (self.agree - self.total + second[:, None] + second[None, :]) / 2
        b, c = second[:, None] - a, second[None, :] - a
        return a, b, c, self.total - a - b - c


def count_pairs(votes: Votes) -> PairCounts:
    """Count the agreements of all pairs of members.

    >>> count_pairs(read_votes([[0, 0], [0, 1], [1, 1]])).agree.tolist()
    [[3.0, 2.0], [2.0, 3.0]]
    """
    by_bits = votes.weights is None and hasattr(np, "bitwise_count")  # NumPy 2
    agree = agreements_by_bits(votes) if by_bits else agreements_by_products(votes)
    return PairCounts(votes.total, agree, votes_by_class(votes))


def agreements_by_bits(votes: Votes) -> NDArray[np.float64]:
    """Count the rows where two members agree, for rows without weights.  -> (n_members, n_members)

    Codes are split into bit planes, 64 rows per machine word: two votes differ where any plane does. The
    cost grows with the logarithm of the number of classes.
    """
    n_planes = max(1, int(len(votes.classes) - 1).bit_length())
    differ = np.zeros((votes.n_members, votes.n_members), dtype=np.int64)
    for rows in votes.blocks(_BITS_BLOCK):
        planes = [_pack_bits((votes.codes[:, rows] >> plane) & 1) for plane in range(n_planes)]
        for member in range(votes.n_members - 1):
            unequal = planes[0][member] ^ planes[0][member + 1 :]
            for plane in planes[1:]:
                unequal |= plane[member] ^ plane[member + 1 :]
            differ[member, member + 1 :] += np.bitwise_count(unequal).sum(axis=1, dtype=np.int64)
    return votes.total - (differ + differ.T).astype(np.float64)


def _pack_bits(bits: NDArray[np.generic]) -> NDArray[np.uint64]:
    """Pack bits (n_members, n_rows) into 64-bit words, padded with 0."""
    packed = np.packbits(bits.astype(np.uint8, copy=False), axis=1)
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))).view(np.uint64)


def agreements_by_products(votes: Votes) -> NDArray[np.float64]:
    """Sum the weight of rows where two members agree.  -> (n_members, n_members)

    One matrix product per class, over the rows where any member votes for it.
    """
    agree = np.zeros((votes.n_members, votes.n_members))
    for rows in votes.blocks(_PRODUCT_BLOCK):
        weights = np.ones(rows.stop - rows.start) if votes.weights is None else votes.weights[rows]
        codes = votes.codes[:, rows]
        for code in np.unique(codes):
            chosen = codes == code
            voted = chosen.any(axis=0)
            values = chosen[:, voted].astype(np.float64)
            agree += values @ (values * weights[voted]).T
    return agree


def votes_by_class(votes: Votes) -> NDArray[np.float64]:
    """Sum the weight of each member's votes per class.  -> (n_members, n_classes)"""
    n_classes = len(votes.classes)
    sums = [np.bincount(codes, votes.weights, n_classes) for codes in votes.codes]
    return np.array(sums, dtype=np.float64)
