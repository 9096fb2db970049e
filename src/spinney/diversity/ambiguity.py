"""Error of an ensemble: its decomposition E = Ē − Ā, and its expectation from the error of the members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr

from spinney.core.errors import InputError, show_value
from spinney.core.frames import to_frame
from spinney.core.parameters import InvalidParameterError, OneOf, check_parameters
from spinney.data.target import encode_values, read_target
from spinney.data.weights import check_weights
from spinney.diversity.members import member_weights
from spinney.diversity.non_pairwise import half_gini, proportion_blocks
from spinney.diversity.votes import PairCounts, Votes, check_size, read_matrix

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ErrorAmbiguity:
    """Error–ambiguity decomposition E = Ē − Ā of an averaged ensemble.

    E, Ē and Ā are each computed by their own definition, none as the difference of the others.

    Attributes
    ----------
    error : float
        E, the error of the mean of the members.
    mean_error : float
        Ē, the weighted mean of the members' errors.
    ambiguity : float
        Ā, the weighted mean of the members' squared distances from their mean.
    error_by_row : ndarray of shape (n_rows,)
        E of each row.
    mean_error_by_row : ndarray of shape (n_rows,)
        Ē of each row.
    ambiguity_by_row : ndarray of shape (n_rows,)
        Ā of each row.
    error_by_member : ndarray of shape (n_members,)
        Error of each member; Ē is their mean by `weights`.
    ambiguity_by_member : ndarray of shape (n_members,)
        Ambiguity of each member; Ā is their mean by `weights`.
    weights : ndarray of shape (n_members,)
        Weights of the members, which sum to 1.

    Examples
    --------
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
        """Return the decomposition of each row as a data frame.

        Returns
        -------
        DataFrame
            One row per row of the data, with the columns error, mean_error, ambiguity.
        """
        parts = ("error", "mean_error", "ambiguity")
        return to_frame({part: getattr(self, f"{part}_by_row") for part in parts})


def error_ambiguity(
    predictions: Any, y: Any, *, X: Any = None, weights: Any = None, sample_weight: Any = None
) -> ErrorAmbiguity:
    """Decompose the squared error of an averaged ensemble of regressors: E = Ē − Ā [1]_.

    Parameters
    ----------
    predictions : array-like of shape (n_rows, n_members), or fitted ensemble
        Predictions, or an ensemble that predicts `X`. With several outputs, the shape is
        (n_rows, n_members, n_outputs), and errors are averaged over outputs.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs)
        True values.
    X : table, optional
        Rows to predict, if `predictions` is an ensemble.
    weights : array-like of shape (n_members,), optional
        Weights of the members in the mean, at least 0; they are divided by their sum. Defaults to the weights
        of a voting ensemble, and to equal weights otherwise.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    ErrorAmbiguity
        The three parts: in total, per row and per member.

    References
    ----------
    .. [1] A. Krogh and J. Vedelsby, "Neural network ensembles, cross validation, and active learning",
       NIPS 1994.

    Examples
    --------
    >>> parts = error_ambiguity([[1.0, 3.0], [2.0, 2.0]], [2.5, 2.0])
    >>> parts.error, parts.mean_error, parts.ambiguity
    (0.125, 0.625, 0.5)
    """
    values = read_values(read_matrix(predictions, X))
    n_rows, n_members, _ = values.shape
    if weights is None and X is not None:
        weights = member_weights(predictions)
    member_shares = _normalized_weights(weights, n_members)
    with np.errstate(over="ignore", invalid="ignore"):
        return _decompose(residuals_of(values, y), member_shares, check_weights(sample_weight, n_rows))


def residuals_of(values: Values, y: Any) -> Values:
    """Predictions minus y.  values, result (n_rows, n_members, n_outputs)"""
    target = encode_values(read_target(y, len(values)), non_negative=False)
    if target.shape[1] != values.shape[2]:
        raise InputError(f"y has {target.shape[1]} outputs, but the predictions have {values.shape[2]}.")
    residuals: Values = values - target[:, None, :]
    return residuals


def _decompose(residuals: Values, weights: Values, row_weights: Values | None) -> ErrorAmbiguity:
    """Decompose from residuals (n_rows, n_members, n_outputs); a large mean of y costs no precision."""
    mean = np.einsum("itk,t->ik", residuals, weights)
    squared = np.mean(residuals**2, axis=2)
    spread = np.mean((residuals - mean[:, None, :]) ** 2, axis=2)
    if not np.isfinite(squared.sum()):
        raise InputError(
            "The predictions are so far from y that the squared error is infinite",
            fix="Divide the predictions and y by a large number.",
        )
    parts = np.mean(mean**2, axis=1), squared @ weights, spread @ weights
    errors, ambiguities = (np.average(part, axis=0, weights=row_weights) for part in (squared, spread))
    return _average(parts, errors, ambiguities, weights, row_weights)


def _average(
    by_row: tuple[Values, Values, Values],
    error_by_member: Values,
    ambiguity_by_member: Values,
    weights: Values,
    row_weights: Values | None,
) -> ErrorAmbiguity:
    """Build the record; the three parts of each row are averaged over the rows."""
    error, mean_error, ambiguity = (float(np.average(part, weights=row_weights)) for part in by_row)
    return ErrorAmbiguity(
        error, mean_error, ambiguity, *by_row, error_by_member, ambiguity_by_member, weights
    )


def vote_ambiguity(votes: Votes, counts: PairCounts, errors: Values) -> ErrorAmbiguity:
    """Decompose the votes of classifiers as one-hot vectors.

    The error is half the squared distance from the one-hot vector of the true class. That of one member is 1
    where it is wrong, so Ē is the mean error rate; E is half the Brier score of the proportions of votes; and
    Ā is the variance of Kohavi and Wolpert on labels. counts are those of the labels, errors (n_members,) the
    members' error rates.
    """
    truth = np.asarray(votes.truth)
    error, right, spread = (np.empty(votes.n_rows) for _ in range(3))
    for rows, proportions in proportion_blocks(votes):
        true = np.arange(len(proportions)), truth[rows]
        spread[rows], right[rows] = half_gini(proportions), proportions[true]
        proportions[true] -= 1
        error[rows] = np.einsum("ij,ij->i", proportions, proportions) / 2
    # The distance of a vote for k from the proportions is (1 − 2 p_k + Σ p²) / 2 = 1 − p_k − spread, and the
    # mean of p_k over rows is the agreement of a member with all members, itself included.
    apart = 1 - counts.agree.mean(axis=1) / counts.total - votes.mean(spread)
    equal = np.full(votes.n_members, 1 / votes.n_members)
    return _average((error, 1 - right, spread), errors, apart, equal, votes.weights)


def read_values(matrix: NDArray[Any]) -> Values:
    """Return predictions as finite float64 (n_rows, n_members, n_outputs)."""
    check_size(matrix.shape[0], matrix.shape[1])
    try:
        values = matrix.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"The predictions of regressors must be numbers ({error}).") from None
    values = values.reshape(*matrix.shape[:2], -1)
    wrong = ~np.isfinite(values)
    if wrong.any():
        row, member, output = map(int, np.argwhere(wrong)[0])
        problem = f"A prediction is {values[row, member, output]}"
        raise InputError(problem, column=member, row=row, fix="Give finite numbers.")
    return values


def _normalized_weights(weights: Any, n_members: int) -> Values:
    """Return the members' weights divided by their sum."""
    if weights is None:
        return np.full(n_members, 1 / n_members)
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"The members' weights must be numbers ({error}).") from None
    if given.shape != (n_members,):
        raise InputError(f"There are {n_members} members, but the weights have the shape {given.shape}.")
    if not np.isfinite(given).all() or (given < 0).any() or given.max() == 0:
        raise InputError("The members' weights must be finite, at least 0, and not all 0.")
    scaled = given / given.max()  # first, because the sum of large weights may overflow
    normalized: Values = scaled / scaled.sum()
    return normalized


# ---- expected error ----


def ensemble_error(
    n_members: ArrayLike, error: ArrayLike, method: str = "binomial", *, covariance: ArrayLike = 0.0
) -> Any:
    """Compute the expected error of an ensemble whose members all have the same error.

    Parameters
    ----------
    n_members : int or array-like
        T, the number of members.
    error : float or array-like
        ε, the error rate of one member; for ``"correlated"`` σ², the variance of the error of one.
    method : {"binomial", "hoeffding", "correlated"}, default="binomial"
        - ``"binomial"``: the probability that at most half of T independent voters are correct,
          Σ_{k ≤ T/2} C(T, k) (1 − ε)^k ε^(T − k); a tie is an error.
        - ``"hoeffding"``: its upper bound exp(−½ T (1 − 2ε)²) for ε < ½, and 1 otherwise.
        - ``"correlated"``: the mean squared error of the mean of T unbiased predictions,
          σ²/T + (T − 1) c / T.
    covariance : float or array-like, default=0.0
        c, the covariance of the errors of two members, for ``"correlated"``.

    Returns
    -------
    float or ndarray
        The expected error. Array arguments are broadcast.

    Examples
    --------
    >>> round(ensemble_error(25, 0.35), 3), round(ensemble_error(25, 0.35, "hoeffding"), 3)
    (0.06, 0.325)
    >>> ensemble_error(4, 1.0, "correlated", covariance=0.2)
    0.4
    """
    name = "ensemble_error"
    rule = OneOf("binomial", "hoeffding", "correlated")
    check_parameters(name, {"method": method}, {"method": (rule,)})
    members, errors, shared = _read_numbers(n_members=n_members, error=error, covariance=covariance)
    if np.any(members < 1) or np.any(members != np.trunc(members)):
        raise InvalidParameterError("n_members", n_members, "integers of at least 1", name)
    if method == "correlated":
        if np.any(errors < 0):
            raise InvalidParameterError("error", error, "variances of at least 0", name)
        # A covariance matrix with equal entries is positive semidefinite only within these limits.
        lowest, slack = -errors / np.maximum(members - 1, 1), 1e-12 * errors
        if np.any((shared > errors + slack) | ((shared < lowest - slack) & (members > 1))):
            raise InputError(
                f"The covariance {show_value(covariance)} is impossible for this variance and these members",
                fix="It lies between −error / (n_members − 1) and error.",
            )
        result = np.maximum(0.0, (errors + (members - 1) * shared) / members)
    else:
        if np.any(shared != 0.0):
            raise InputError(
                f"A covariance has no meaning for method={method!r}, whose voters are independent.",
                fix='Leave it out, or use method="correlated".',
            )
        if np.any((errors < 0) | (errors > 1)):
            raise InvalidParameterError("error", error, "error rates from 0 to 1", name)
        if method == "binomial":
            result = bdtr(members // 2, members.astype(np.int64), 1.0 - errors)
        else:
            result = np.exp(-0.5 * members * np.maximum(0.0, 1.0 - 2.0 * errors) ** 2)
    return result.item() if result.ndim == 0 else result


def _read_numbers(**given: ArrayLike) -> list[Values]:
    """Return the arguments as finite arrays that can be broadcast."""
    arrays = []
    for name, value in given.items():
        try:
            arrays.append(np.asarray(value, dtype=np.float64))
        except (TypeError, ValueError):
            raise InvalidParameterError(name, value, "numbers", "ensemble_error") from None
        if not np.isfinite(arrays[-1]).all():
            raise InvalidParameterError(name, value, "finite numbers", "ensemble_error")
    try:
        return list(np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise InputError(
            f"n_members, error and covariance have the shapes {shapes}, which cannot be broadcast."
        ) from None
