"""Diagnosis of an ensemble: all measures of the accuracy and diversity of its members in one record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from spinney.core.errors import InputError, show_value
from spinney.core.frames import to_frame
from spinney.data.weights import check_weights
from spinney.diversity import non_pairwise, pairwise
from spinney.diversity.ambiguity import (
    ErrorAmbiguity,
    ensemble_error,
    error_ambiguity,
    read_values,
    residuals_of,
    vote_ambiguity,
)
from spinney.diversity.members import member_weights
from spinney.diversity.pairwise import KappaErrorPoints, pair_mean
from spinney.diversity.votes import Votes, check_size, count_pairs, read_matrix, read_votes

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Accuracy and diversity of the members of an ensemble of classifiers.

    κ and disagreement compare labels, the other measures correct and wrong predictions. Rows of weight 0 are
    left out.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    n_members : int
        Number of members.
    error : float
        Error rate of the ensemble.
    error_by_member : ndarray of shape (n_members,)
        Error rate of each member.
    disagreement, kappa, correlation, q_statistic, double_fault : ndarray of shape (n_members, n_members)
        The pairwise measures, see the functions of these names.
    entropy, kohavi_wolpert, interrater, difficulty, generalized_diversity, coincident_failure : float
        The non-pairwise measures, see the functions of these names.
    ambiguity : ErrorAmbiguity
        Decomposition E = Ē − Ā of the votes as one-hot vectors.
    kappa_error : KappaErrorPoints
        Points of the κ–error diagram.
    independent_error : float
        Expected error of as many independent voters with the mean error of the members.
    hoeffding_bound : float
        Hoeffding's upper bound on `independent_error`.

    Examples
    --------
    >>> diagnosis = diagnose([["a", "a"], ["a", "b"], ["b", "b"]], None, ["a", "a", "b"])
    >>> diagnosis.to_frame("member")["error"].round(3).tolist()
    [0.0, 0.333]
    """

    n_rows: int
    n_members: int
    error: float
    error_by_member: NDArray[np.float64]
    disagreement: Matrix
    kappa: Matrix
    correlation: Matrix
    q_statistic: Matrix
    double_fault: Matrix
    entropy: float
    kohavi_wolpert: float
    interrater: float
    difficulty: float
    generalized_diversity: float
    coincident_failure: float
    ambiguity: ErrorAmbiguity
    kappa_error: KappaErrorPoints
    independent_error: float
    hoeffding_bound: float

    def to_frame(self, by: str = "measure") -> Any:
        """Return the measures as a data frame.

        Parameters
        ----------
        by : {"measure", "pair", "member"}, default="measure"
            What a row is: a measure (pairwise ones averaged), a pair of members, or a member.

        Returns
        -------
        DataFrame
            The measures. The column more_diverse says whether higher or lower values are more diverse.
        """
        return _tables(self, by, _CLASSIFICATION)


@dataclass(frozen=True, eq=False)
class RegressionDiagnosis:
    """Accuracy and diversity of the members of an ensemble of regressors, in squared errors.

    The error of the unweighted mean of the members is `squared_bias` + `error_variance`.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    n_members : int
        Number of members.
    error : float
        Mean squared error of the ensemble.
    error_by_member : ndarray of shape (n_members,)
        Mean squared error of each member.
    correlation : ndarray of shape (n_members, n_members)
        Correlation of the members' errors; 0 with a member whose error is constant.
    ambiguity : ErrorAmbiguity
        Decomposition E = Ē − Ā of the error of the members' weighted mean.
    squared_bias : float
        Squared mean error of the members' mean.
    variance : float
        σ², the mean variance of the members' errors.
    covariance : float
        c, the mean covariance of two members' errors.
    error_variance : float
        σ²/T + (T − 1) c / T, the variance of the error of the mean of T members.

    Examples
    --------
    >>> diagnosis = diagnose([[1.0, 3.0], [2.0, 2.5]], None, [2.5, 2.0])
    >>> diagnosis.n_members, diagnosis.error
    (2, 0.15625)
    """

    n_rows: int
    n_members: int
    error: float
    error_by_member: NDArray[np.float64]
    correlation: Matrix
    ambiguity: ErrorAmbiguity
    squared_bias: float
    variance: float
    covariance: float
    error_variance: float

    def to_frame(self, by: str = "measure") -> Any:
        """Return the measures as a data frame.

        Parameters
        ----------
        by : {"measure", "pair", "member"}, default="measure"
            What a row is: a measure (pairwise ones averaged), a pair of members, or a member.

        Returns
        -------
        DataFrame
            The measures. The column more_diverse says whether higher or lower values are more diverse.
        """
        return _tables(self, by, _REGRESSION)


def _measures(text: str) -> dict[str, str]:
    """Map the measures, in the order of the table, to whether "higher" or "lower" is more diverse."""
    return {name: direction for name, _, direction in (entry.partition(":") for entry in text.split())}


_CLASSIFICATION = _measures(
    "error mean_error independent_error hoeffding_bound disagreement:higher double_fault:lower "
    "correlation:lower q_statistic:lower kappa:lower entropy:higher kohavi_wolpert:higher interrater:lower "
    "difficulty:lower generalized_diversity:higher coincident_failure:higher ambiguity:higher"
)
_REGRESSION = _measures(
    "error mean_error ambiguity:higher squared_bias variance covariance:lower error_variance "
    "correlation:lower"
)


def diagnose(
    ensemble: Any, X: Any, y: Any, *, weights: Any = None, sample_weight: Any = None
) -> Diagnosis | RegressionDiagnosis:
    """Compute all measures of the accuracy and diversity of the members of an ensemble.

    Parameters
    ----------
    ensemble : estimator, list of estimators, or array-like of shape (n_rows, n_members)
        A fitted ensemble, a list of fitted estimators (whose vote or mean is the ensemble), or, if `X` is
        None, a matrix of predictions.
    X : table or None
        Rows to predict. Use rows that the ensemble was not fitted to.
    y : array-like of shape (n_rows,)
        True labels or values. A matrix of predictions is taken as one of regressors if `y` has fractions.
    weights : array-like of shape (n_members,), optional
        Weights of regressors in their mean, as in :func:`error_ambiguity`.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    Diagnosis or RegressionDiagnosis
        The measures, of classifiers or of regressors.

    Examples
    --------
    >>> diagnosis = diagnose([["a", "a"], ["a", "b"], ["b", "b"], ["a", "b"]], None, ["a", "a", "b", "b"])
    >>> diagnosis.error_by_member.tolist(), diagnosis.generalized_diversity
    ([0.25, 0.25], 1.0)
    """
    if _is_regression(ensemble, X, y):
        return _diagnose_regressors(ensemble, X, y, weights, sample_weight)
    if weights is not None:
        raise InputError("weights are those of regressors in their mean; the votes of classifiers have none.")
    return _diagnose_classifiers(ensemble, X, y, sample_weight)


def _is_regression(ensemble: Any, X: Any, y: Any) -> bool:
    if X is None:
        target = np.asarray(y)
        return target.dtype.kind == "f" and bool(np.any(target != np.trunc(target)))
    model = ensemble[0] if isinstance(ensemble, list | tuple) and ensemble else ensemble
    return hasattr(model, "predict") and bool(is_regressor(model))


# ---- classifiers ----


def _diagnose_classifiers(ensemble: Any, X: Any, y: Any, sample_weight: Any) -> Diagnosis:
    votes = read_votes(ensemble, y, X, sample_weight, min_members=2)
    correct = votes.correctness()
    of_labels, of_correct = count_pairs(votes), count_pairs(correct)
    errors = pairwise.errors_of(of_correct)
    mean_error = float(errors.mean())
    measures: dict[str, Any] = {
        name: measure(of_labels if name in ("disagreement", "kappa") else of_correct)
        for name, measure in pairwise.MEASURES.items()
    }
    measures |= {name: of_votes(correct) for name, of_votes in non_pairwise.MEASURES.items()}
    return Diagnosis(
        votes.n_rows,
        votes.n_members,
        _ensemble_error(ensemble, X, y, sample_weight, votes),
        errors,
        **measures,
        ambiguity=vote_ambiguity(votes, of_labels, errors),
        kappa_error=pairwise.points_of(of_labels, errors),
        independent_error=ensemble_error(votes.n_members, mean_error),
        hoeffding_bound=ensemble_error(votes.n_members, mean_error, "hoeffding"),
    )


def _ensemble_error(ensemble: Any, X: Any, y: Any, sample_weight: Any, votes: Votes) -> float:
    """Error rate of the ensemble's own predictions, or of the plurality vote (the first class of a tie)."""
    if X is not None and hasattr(ensemble, "predict"):
        own = read_votes(np.asarray(ensemble.predict(X))[:, None], y, None, sample_weight)
        return own.mean(own.codes[0] != own.truth)
    chosen = non_pairwise.by_row(votes, lambda counts: counts.argmax(axis=1).astype(np.float64))
    return votes.mean(chosen != votes.truth)


# ---- regressors ----


def _diagnose_regressors(
    ensemble: Any, X: Any, y: Any, weights: Any, sample_weight: Any
) -> RegressionDiagnosis:
    if weights is None and X is not None:
        weights = member_weights(ensemble)
    values = read_values(read_matrix(ensemble, X))
    n_rows, n_members, _ = values.shape
    check_size(n_rows, n_members, 2)
    ambiguity = error_ambiguity(values, y, weights=weights, sample_weight=sample_weight)
    error = ambiguity.error
    if X is not None and hasattr(ensemble, "predict"):
        own = np.asarray(ensemble.predict(X))[:, None]
        error = error_ambiguity(own, y, sample_weight=sample_weight).error
    bias, covariances = _moments(residuals_of(values, y), check_weights(sample_weight, n_rows))
    variances = np.diagonal(covariances)
    variance, covariance = float(variances.mean()), pair_mean(covariances)
    spread = np.outer(np.sqrt(variances), np.sqrt(variances))
    correlation = np.where(spread > 0, covariances / np.where(spread > 0, spread, 1.0), 0.0)
    np.fill_diagonal(correlation, 1.0)
    return RegressionDiagnosis(
        n_rows,
        n_members,
        error,
        ambiguity.error_by_member,
        correlation=np.clip(correlation, -1.0, 1.0),
        ambiguity=ambiguity,
        squared_bias=bias,
        variance=variance,
        covariance=covariance,
        error_variance=ensemble_error(n_members, variance, "correlated", covariance=covariance),
    )


def _moments(residuals: Matrix, row_weights: Matrix | None) -> tuple[float, Matrix]:
    """Squared mean error of the members' mean, and the covariances of their errors.

    residuals (n_rows, n_members, n_outputs) -> covariances (n_members, n_members), averaged over outputs
    """
    weights = np.ones(len(residuals)) if row_weights is None else row_weights
    weights = weights / weights.sum()
    means = np.einsum("i,itk->tk", weights, residuals)
    bias = float(np.mean(means.mean(axis=0) ** 2))
    covariances = np.zeros((residuals.shape[1],) * 2)
    for output in range(residuals.shape[2]):
        centred = residuals[:, :, output] - means[:, output]
        covariances += centred.T @ (centred * weights[:, None]) / residuals.shape[2]
    return bias, (covariances + covariances.T) / 2


# ---- tables ----


def _tables(record: Any, by: str, measures: Mapping[str, str]) -> Any:
    # The field ambiguity is a record of which the tables show the mean, ambiguity.ambiguity.
    values = {
        **vars(record),
        **{name: getattr(record.ambiguity, name) for name in ("mean_error", "ambiguity")},
    }
    matrices = {name: values[name] for name in measures if np.ndim(values[name])}
    errors = record.error_by_member
    if by == "measure":
        summary = [pair_mean(values[name]) if name in matrices else float(values[name]) for name in measures]
        return to_frame(
            {"measure": list(measures), "value": summary, "more_diverse": list(measures.values())}
        )
    if by == "pair":
        first, second = np.triu_indices(record.n_members, 1)
        columns = {"first": first, "second": second}
        columns |= {name: matrix[first, second] for name, matrix in matrices.items()}
        columns["error"] = (errors[first] + errors[second]) / 2
    elif by == "member":
        columns = {"member": np.arange(record.n_members), "error": errors}
        columns["ambiguity"] = record.ambiguity.ambiguity_by_member
        for name, matrix in matrices.items():  # the mean with the other members
            columns[name] = (matrix.sum(axis=1) - np.diagonal(matrix)) / (len(matrix) - 1)
    else:
        raise InputError(f'by is {show_value(by)}; it takes "measure", "pair" or "member".')
    return to_frame({name: column.tolist() for name, column in columns.items()})
