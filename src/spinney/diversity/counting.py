"""How often each two members agree: exact counts, by blocks of rows, from bits or by matrix products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney.diversity.votes import Votes

# Blocks are cut such that what is made from one stays in the second-level cache.
_BITS_BLOCK = 1 << 23
_PRODUCT_BLOCK = 1 << 20
_EXACT_FLOAT32 = 2.0**24  # the sums of whole numbers up to here are exact in float32
_STRIPE = 128  # members whose products with all later ones are made at a time: half of a symmetric matrix
_LISTED_SHARE = 0.005  # a pair that is listed takes some 200 times as long as one in a product
_WORD = 64


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Hold the weight of all rows, of those where two members agree, and of each member's votes by class.

    agree (n_members, n_members); by_class (n_members, n_classes). Whole numbers, so nothing is rounded.
    """

    total: float
    agree: NDArray[np.float64]
    by_class: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairTable:
    """Hold, for each two members, the weight of rows by who votes for the second of two classes.

    Both (a), only the first member (b), only the second (c), neither (d); each (n_members, n_members).
    """

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    c: NDArray[np.float64]
    d: NDArray[np.float64]


def count_pairs(votes: Votes) -> PairCounts:
    """Count the agreements of all pairs.

    >>> from spinney.diversity.votes import read_votes
    >>> count_pairs(read_votes([[0, 0], [0, 1], [1, 1]])).agree.tolist()
    [[3.0, 2.0], [2.0, 3.0]]
    """
    by_bits = votes.weights is None and hasattr(np, "bitwise_count")  # which came with NumPy 2
    agree = agreements_by_bits(votes) if by_bits else agreements_by_products(votes)
    return PairCounts(votes.total, agree, votes_by_class(votes))


def pair_table(counts: PairCounts) -> PairTable:
    """Give the four cells of each pair's table of two classes.

    >>> from spinney.diversity.votes import read_votes
    >>> table = pair_table(count_pairs(read_votes([[1, 1], [1, 0], [0, 0], [0, 0]])))
    >>> [float(cell[0, 1]) for cell in (table.a, table.b, table.c, table.d)]
    [1.0, 1.0, 0.0, 2.0]
    """
    # A single class is the first of two: nobody votes for the second.
    second = counts.by_class[:, 1] if counts.by_class.shape[1] > 1 else np.zeros(len(counts.by_class))
    a = (counts.agree - counts.total + second[:, None] + second[None, :]) / 2
    b, c = second[:, None] - a, second[None, :] - a
    return PairTable(a, b, c, counts.total - a - b - c)


def agreements_by_bits(votes: Votes) -> NDArray[np.float64]:
    """Count the rows where two members vote alike, for rows without weights.  -> (n_members, n_members)

    The codes are cut into planes of one bit, 64 rows in a word: two votes differ where any plane does. The
    work grows with the logarithm of the number of classes.
    """
    n_planes = max(1, int(len(votes.classes) - 1).bit_length())
    differ = np.zeros((votes.n_members, votes.n_members), dtype=np.int64)
    for rows in votes.blocks(_BITS_BLOCK):
        planes = [_words((votes.codes[:, rows] >> plane) & 1) for plane in range(n_planes)]
        for member in range(votes.n_members - 1):
            unlike = planes[0][member] ^ planes[0][member + 1 :]
            for plane in planes[1:]:
                unlike |= plane[member] ^ plane[member + 1 :]
            differ[member, member + 1 :] += np.bitwise_count(unlike).sum(axis=1, dtype=np.int64)
    return votes.total - (differ + differ.T).astype(np.float64)


def _words(bits: NDArray[np.generic]) -> NDArray[np.uint64]:
    """Pack bits (n_members, n_rows) into words; what is missing to the last one is 0 for every member."""
    packed = np.packbits(bits.astype(np.uint8, copy=False), axis=1)
    missing = -packed.shape[1] % (_WORD // 8)
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, missing)))).view(np.uint64)


def agreements_by_products(votes: Votes) -> NDArray[np.float64]:
    """Sum the weight of rows where two members vote alike.  -> (n_members, n_members)

    In each row the class with most votes comes first, then the next: one product of matrices for the first
    ones of all rows, one for the second, until the votes that are left are so few that pairs of them are
    listed. So the work hardly grows with the number of classes. Of two classes, one product does.
    """
    n_classes, both = len(votes.classes), np.zeros((votes.n_members, votes.n_members))
    for rows in votes.blocks(_PRODUCT_BLOCK):
        n_rows = rows.stop - rows.start
        weights = np.ones(n_rows) if votes.weights is None else votes.weights[rows]
        codes = votes.codes[:, rows]
        if n_classes == 2:
            _add_product(both, codes == 1, weights)
            continue
        places, sizes = _by_size(codes, n_classes)
        # Sizes in a row, squared: the pairs that listing them would touch.
        pairs = np.square(sizes, dtype=np.float64).mean(axis=0)
        n_dense = int(np.count_nonzero(pairs > _LISTED_SHARE * votes.n_members**2))
        for place in range(n_dense):
            _add_product(both, places == place, weights)
        both += _listed_pairs(places, n_dense, n_classes, weights)
    # Those below the diagonal mirror those above.
    both = np.triu(both) + np.triu(both, 1).T
    if n_classes == 2:
        second = np.diagonal(both)
        return np.asarray(votes.total - second[:, None] - second[None, :] + 2 * both)
    return both


def _add_product(both: NDArray[np.float64], chosen: NDArray[np.bool_], weights: NDArray[np.float64]) -> None:
    """Add the weight of the rows that two members have chosen; what is below the diagonal does not count.

    both (n_members, n_members); chosen (n_members, n_rows); weights (n_rows,)
    """
    exact = np.float32 if weights.sum() <= _EXACT_FLOAT32 else np.float64
    numbers = chosen.astype(exact)
    weighted = numbers * weights.astype(exact)
    for begin in range(0, len(numbers), _STRIPE):
        both[begin : begin + _STRIPE, begin:] += numbers[begin : begin + _STRIPE] @ weighted[begin:].T


def _by_size(codes: NDArray[Any], n_classes: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Give each vote the place of its class in its row, by the number of votes, and these numbers.

    codes (n_members, n_rows) -> places (n_members, n_rows), sizes (n_rows, n_classes), falling in each row
    """
    n_rows = codes.shape[1]
    cells = codes + np.arange(0, n_rows * n_classes, n_classes, dtype=np.int32)
    counts = np.bincount(cells.ravel(), minlength=n_rows * n_classes).reshape(n_rows, n_classes)
    order = np.argsort(-counts, axis=1, kind="stable")
    place_of = np.empty((n_rows, n_classes), dtype=np.int32)
    np.put_along_axis(place_of, order, np.arange(n_classes, dtype=np.int32)[None, :], axis=1)
    return place_of.ravel()[cells], np.take_along_axis(counts, order, axis=1)


def _listed_pairs(
    places: NDArray[np.int32], first: int, n_classes: int, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum the weight of rows where two members vote for one class, of the classes from a place on."""
    n_members, n_rows = places.shape
    left = places >= first
    rows = np.nonzero(left)[1]
    cells = rows * n_classes + places[left]
    begin = np.append(0, np.cumsum(left.sum(axis=1)))
    shape = (n_members, n_rows * n_classes)
    ones = sparse.csr_array((np.ones(len(cells)), cells, begin), shape=shape)
    weighted = sparse.csr_array((weights[rows], cells, begin), shape=shape)
    return np.asarray((ones @ weighted.T).toarray())


def votes_by_class(votes: Votes) -> NDArray[np.float64]:
    """Sum the weight of each member's votes by class.  -> (n_members, n_classes)"""
    n_classes = len(votes.classes)
    sums = [np.bincount(codes, votes.weights, n_classes) for codes in votes.codes]
    return np.array(sums, dtype=np.float64)
