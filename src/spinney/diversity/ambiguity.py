"""Error and ambiguity: the error of a mean is the mean error less the spread about the mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError
from spinney.core.frames import to_frame
from spinney.core.parameters import check_weights
from spinney.data.target import encode_values, read_target
from spinney.diversity.counting import PairCounts
from spinney.diversity.members import member_weights
from spinney.diversity.votes import Votes, check_size, read_matrix
from spinney.diversity.whole import share_blocks, unlike_votes

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ErrorAmbiguity:
    """Hold E = Ē − Ā: for all rows, for each row, and the parts of each member.

    ``error`` E is that of the mean of the members, ``mean_error`` Ē the mean of theirs and ``ambiguity`` Ā
    their mean distance from it. Those named by_row are (n_rows,), by_member (n_members,); ``weights`` are the
    members' weights, which sum to 1: Ē and Ā are the by_member parts averaged by them. E, Ē and Ā are each
    computed by their own definition, none as the difference of the others.

    >>> error_ambiguity([[1.0, 3.0]], [2.5]).to_frame()["ambiguity"].tolist()
    [1.0]
    """

    error: float
    mean_error: float
    ambiguity: float
    error_by_row: Values
    mean_error_by_row: Values
    ambiguity_by_row: Values
    error_by_member: Values
    ambiguity_by_member: Values
    weights: Values

    def to_frame(self) -> Any:
        """Give a data frame of one row a row: error, mean_error, ambiguity."""
        parts = ("error", "mean_error", "ambiguity")
        return to_frame({part: getattr(self, f"{part}_by_row") for part in parts})


def error_ambiguity(
    predictions: Any, y: Any, *, X: Any = None, weights: Any = None, sample_weight: Any = None
) -> ErrorAmbiguity:
    """Take apart the squared error of an averaged ensemble of regressors: E = Ē − Ā.

    ``predictions`` is a matrix (n_rows, n_members), or a fitted ensemble with ``X``; with several outputs
    (n_rows, n_members, n_outputs), whose errors are averaged. ``weights`` are the members' weights in the
    mean, at least 0 and taken as shares of their sum; without, those of a voting ensemble, else equal ones.

    >>> parts = error_ambiguity([[1.0, 3.0], [2.0, 2.0]], [2.5, 2.0])
    >>> parts.error, parts.mean_error, parts.ambiguity
    (0.125, 0.625, 0.5)
    """
    values = read_numbers(read_matrix(predictions, X))
    n_rows, n_members, _ = values.shape
    if weights is None and X is not None:
        weights = member_weights(predictions)
    shares = _member_shares(weights, n_members)
    with np.errstate(over="ignore", invalid="ignore"):
        return _decompose(residuals_of(values, y), shares, check_weights(sample_weight, n_rows))


def residuals_of(values: Values, y: Any) -> Values:
    """Subtract y from predictions.  values, result (n_rows, n_members, n_outputs)"""
    target = encode_values(read_target(y, len(values)), non_negative=False)
    if target.shape[1] != values.shape[2]:
        raise InputError(f"y has {target.shape[1]} outputs where the predictions have {values.shape[2]}.")
    residuals: Values = values - target[:, None, :]
    return residuals


def _decompose(residuals: Values, shares: Values, row_weights: Values | None) -> ErrorAmbiguity:
    """Decompose from residuals (n_rows, n_members, n_outputs), which an offset of y costs no digits."""
    mean = np.einsum("itk,t->ik", residuals, shares)
    squared = np.mean(residuals**2, axis=2)
    spread = np.mean((residuals - mean[:, None, :]) ** 2, axis=2)
    if not np.isfinite(squared.sum()):
        raise InputError(
            "The predictions are so far from y that the squared error is infinite",
            fix="Divide the predictions and y by a large number.",
        )
    return _average(
        (np.mean(mean**2, axis=1), squared @ shares, spread @ shares),
        np.average(squared, axis=0, weights=row_weights),
        np.average(spread, axis=0, weights=row_weights),
        shares,
        row_weights,
    )


def _average(
    by_row: tuple[Values, Values, Values],
    error_by_member: Values,
    ambiguity_by_member: Values,
    shares: Values,
    row_weights: Values | None,
) -> ErrorAmbiguity:
    """Put the record together: what is there by row is averaged over the rows."""
    error, mean_error, ambiguity = (float(np.average(part, weights=row_weights)) for part in by_row)
    return ErrorAmbiguity(error, mean_error, ambiguity, *by_row, error_by_member, ambiguity_by_member, shares)


def vote_ambiguity(votes: Votes, counts: PairCounts, errors: Values) -> ErrorAmbiguity:
    """Decompose the votes of classifiers, each a vector with a 1 for its class and 0 for the others.

    The error is half the squared distance from the vector of the true class: that of one member is 1 where it
    is wrong, so Ē is the mean error rate; that of all is half the Brier score of the shares of votes; and Ā
    is the variance of Kohavi and Wolpert on labels. counts are those of the labels, errors (n_members,) the
    members' error rates.
    """
    truth = np.asarray(votes.truth)
    error, right, spread = (np.empty(votes.n_rows) for _ in range(3))
    for rows, shares in share_blocks(votes):
        true = np.arange(len(shares)), truth[rows]
        spread[rows], right[rows] = unlike_votes(shares), shares[true]
        shares[true] -= 1
        error[rows] = np.einsum("ij,ij->i", shares, shares) / 2
    # A vote for k is half of 1 − 2 p_k + Σ p² away from the shares, that is 1 − p_k − spread; and the mean of
    # p_k over rows is how much a member agrees with all members, itself among them.
    apart = 1 - counts.agree.mean(axis=1) / counts.total - votes.mean(spread)
    equal = np.full(votes.n_members, 1 / votes.n_members)
    return _average((error, 1 - right, spread), errors, apart, equal, votes.weights)


def read_numbers(matrix: NDArray[Any]) -> Values:
    """Read predictions as finite numbers (n_rows, n_members, n_outputs)."""
    if matrix.ndim not in (2, 3):
        raise InputError(
            f"The predictions have the shape {matrix.shape}",
            fix="Give one row a row of the data and one column a member, (n_rows, n_members).",
        )
    check_size(matrix.shape[0], matrix.shape[1])
    try:
        values = matrix.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"The predictions of regressors must be numbers ({error}).") from None
    values = values.reshape(*matrix.shape[:2], -1)
    wrong = ~np.isfinite(values)
    if wrong.any():
        row, member, output = (int(place) for place in np.argwhere(wrong)[0])
        raise InputError(
            f"A prediction is {values[row, member, output]}",
            column=member,
            row=row,
            fix="Give finite numbers.",
        )
    return values


def _member_shares(weights: Any, n_members: int) -> Values:
    """Read the members' weights as shares that sum to 1."""
    if weights is None:
        return np.full(n_members, 1 / n_members)
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"The members' weights must be numbers ({error}).") from None
    if given.shape != (n_members,):
        raise InputError(f"There are {n_members} members, and weights of the shape {given.shape}.")
    if not np.isfinite(given).all() or (given < 0).any() or given.max() == 0:
        raise InputError("The members' weights must be finite, at least 0, and not all 0.")
    scaled = given / given.max()  # first, as the sum of large weights may be infinite
    shares: Values = scaled / scaled.sum()
    return shares
