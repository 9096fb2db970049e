"""A diagnosis: everything that can be told of an ensemble's members, as one plain record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from spinney.core.errors import InputError, show_value
from spinney.core.frames import to_frame
from spinney.core.parameters import check_weights
from spinney.diversity.ambiguity import (
    ErrorAmbiguity,
    error_ambiguity,
    read_numbers,
    residuals_of,
    vote_ambiguity,
)
from spinney.diversity.cloud import KappaErrorPoints, errors_of, points_of
from spinney.diversity.counting import count_pairs, pair_table
from spinney.diversity.members import member_weights
from spinney.diversity.pairwise import (
    correlation_of,
    disagreement_of,
    double_fault_of,
    judge,
    kappa_of,
    pair_mean,
    q_statistic_of,
)
from spinney.diversity.votes import Votes, check_size, read_matrix, read_votes
from spinney.diversity.voting_error import ensemble_error
from spinney.diversity.whole import (
    by_row,
    coincident_failure_of,
    difficulty_of,
    entropy_of_judged,
    generalized_diversity_of,
    interrater_of,
    kohavi_wolpert_of,
)

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Hold what can be told of the members of an ensemble of classifiers.

    ``error`` is that of the whole ensemble, ``error_by_member`` (n_members,) that of each member. κ and
    disagreement are of labels, the other measures of right and wrong answers. Pairwise measures are matrices
    (n_members, n_members). ``independent_error`` is what so many voters with the mean error would have if
    they erred independently, ``hoeffding_bound`` the bound on it. ``ambiguity`` takes the votes apart, E =
    Ē − Ā, as vectors of 0 and 1. Rows of weight 0 are left out, also of what is by row.
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
        """Give a data frame: one row a "measure" (pairwise ones averaged), a "pair", or a "member".

        The column more_diverse tells which way a measure goes as the members differ more.
        """
        return _tables(self, by, _CLASSIFICATION)


@dataclass(frozen=True, eq=False)
class RegressionDiagnosis:
    """Hold what can be told of the members of an ensemble of regressors, in squared errors.

    ``error`` is that of the whole ensemble; ``ambiguity`` takes apart that of the members' weighted mean, E =
    Ē − Ā. ``correlation`` (n_members, n_members) is that of the members' errors; 0 with one whose error never
    changes. The error of the plain mean is ``squared_bias`` + ``error_variance``, and the latter is
    σ²/T + (T − 1) c / T, from the members' mean ``variance`` σ² and the mean ``covariance`` c of two.
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
        """Give a data frame: one row a "measure" (pairwise ones averaged), a "pair", or a "member"."""
        return _tables(self, by, _REGRESSION)


# The measures of the table, in its order: which way each goes as the members differ more.
_CLASSIFICATION = {
    "error": "",
    "mean_error": "",
    "independent_error": "",
    "hoeffding_bound": "",
    "disagreement": "higher",
    "double_fault": "lower",
    "correlation": "lower",
    "q_statistic": "lower",
    "kappa": "lower",
    "entropy": "higher",
    "kohavi_wolpert": "higher",
    "interrater": "lower",
    "difficulty": "lower",
    "generalized_diversity": "higher",
    "coincident_failure": "higher",
    "ambiguity": "higher",
}
_REGRESSION = {
    "error": "",
    "mean_error": "",
    "ambiguity": "higher",
    "squared_bias": "",
    "variance": "",
    "covariance": "lower",
    "error_variance": "",
    "correlation": "lower",
}


def diagnose(
    ensemble: Any, X: Any, y: Any, *, weights: Any = None, sample_weight: Any = None
) -> Diagnosis | RegressionDiagnosis:
    """Measure everything at once: how accurate the members of a fitted ensemble are, and how diverse.

    ``ensemble`` is a fitted ensemble, a list of fitted estimators (their vote or mean is the ensemble), or,
    with X None, a matrix of predictions (n_rows, n_members), of regressors if y has numbers that are not
    whole. Classifiers give a :class:`Diagnosis`, regressors a :class:`RegressionDiagnosis`. Take rows that
    the ensemble was not fitted to. ``weights`` are those of regressors, as in :func:`error_ambiguity`.

    >>> diagnosis = diagnose([["a", "a"], ["a", "b"], ["b", "b"], ["a", "b"]], None, ["a", "a", "b", "b"])
    >>> diagnosis.error_by_member.tolist(), diagnosis.generalized_diversity
    ([0.25, 0.25], 1.0)
    """
    if _is_regression(ensemble, X, y):
        return _diagnose_regressors(ensemble, X, y, weights, sample_weight)
    if weights is not None:
        raise InputError(
            "weights are those of regressors in their mean; classifiers are measured one by one."
        )
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
    judged = judge(votes, y)
    of_labels, of_right = count_pairs(votes), count_pairs(judged)
    table, errors = pair_table(of_right), errors_of(of_right)
    mean_error = float(errors.mean())
    return Diagnosis(
        n_rows=votes.n_rows,
        n_members=votes.n_members,
        error=_whole_error(ensemble, X, y, sample_weight, votes),
        error_by_member=errors,
        disagreement=disagreement_of(of_labels),
        kappa=kappa_of(of_labels),
        correlation=correlation_of(table),
        q_statistic=q_statistic_of(table),
        double_fault=double_fault_of(of_right),
        entropy=entropy_of_judged(judged),
        kohavi_wolpert=kohavi_wolpert_of(judged),
        interrater=interrater_of(judged),
        difficulty=difficulty_of(judged),
        generalized_diversity=generalized_diversity_of(judged),
        coincident_failure=coincident_failure_of(judged),
        ambiguity=vote_ambiguity(votes, of_labels, errors),
        kappa_error=points_of(of_labels, errors),
        independent_error=ensemble_error(votes.n_members, mean_error),
        hoeffding_bound=ensemble_error(votes.n_members, mean_error, "hoeffding"),
    )


def _whole_error(ensemble: Any, X: Any, y: Any, sample_weight: Any, votes: Votes) -> float:
    """Give the error of the ensemble's own answers, or of the class with most votes, the first of equals."""
    if X is not None and hasattr(ensemble, "predict"):
        own = read_votes(np.asarray(ensemble.predict(X))[:, None], y, None, sample_weight)
        return own.mean(own.codes[0] != own.truth)
    chosen = by_row(votes, lambda shares: shares.argmax(axis=1).astype(np.float64))
    return votes.mean(chosen != votes.truth)


# ---- regressors ----


def _diagnose_regressors(
    ensemble: Any, X: Any, y: Any, weights: Any, sample_weight: Any
) -> RegressionDiagnosis:
    if weights is None and X is not None:
        weights = member_weights(ensemble)
    values = read_numbers(read_matrix(ensemble, X))
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
    return RegressionDiagnosis(
        n_rows=n_rows,
        n_members=n_members,
        error=error,
        error_by_member=ambiguity.error_by_member,
        correlation=_correlations(covariances),
        ambiguity=ambiguity,
        squared_bias=bias,
        variance=variance,
        covariance=covariance,
        error_variance=ensemble_error(n_members, variance, "correlated", covariance=covariance),
    )


def _moments(residuals: Matrix, row_weights: Matrix | None) -> tuple[float, Matrix]:
    """Give the squared mean error of the members' mean, and the covariances of their errors.

    residuals (n_rows, n_members, n_outputs) -> covariances (n_members, n_members), averaged over outputs
    """
    shares = np.full(len(residuals), 1 / len(residuals)) if row_weights is None else row_weights
    shares = shares / shares.sum()
    means = np.einsum("i,itk->tk", shares, residuals)
    bias = float(np.mean(means.mean(axis=0) ** 2))
    covariances = np.zeros((residuals.shape[1],) * 2)
    for output in range(residuals.shape[2]):
        centred = residuals[:, :, output] - means[:, output]
        covariances += centred.T @ (centred * shares[:, None]) / residuals.shape[2]
    return bias, (covariances + covariances.T) / 2


def _correlations(covariances: Matrix) -> Matrix:
    deviations = np.sqrt(np.diagonal(covariances))
    spread = np.outer(deviations, deviations)
    found = np.where(spread > 0, covariances / np.where(spread > 0, spread, 1.0), 0.0)
    np.fill_diagonal(found, 1.0)
    return np.clip(found, -1.0, 1.0)


# ---- tables ----


def _tables(record: Any, by: str, measures: Mapping[str, str]) -> Any:
    matrices = [name for name in measures if isinstance(getattr(record, name, None), np.ndarray)]
    if by == "measure":
        return to_frame(
            {
                "measure": list(measures),
                "value": [_summary(record, name) for name in measures],
                "more_diverse": list(measures.values()),
            }
        )
    if by == "pair":
        first, second = np.triu_indices(record.n_members, 1)
        errors = record.error_by_member
        columns: dict[str, Sequence[Any]] = {"first": first.tolist(), "second": second.tolist()}
        columns |= {name: getattr(record, name)[first, second].tolist() for name in matrices}
        return to_frame(columns | {"error": ((errors[first] + errors[second]) / 2).tolist()})
    if by == "member":
        columns = {"member": list(range(record.n_members)), "error": record.error_by_member.tolist()}
        columns["ambiguity"] = record.ambiguity.ambiguity_by_member.tolist()
        means = {name: _mean_with_others(getattr(record, name)) for name in matrices}
        return to_frame(columns | {name: mean.tolist() for name, mean in means.items()})
    raise InputError(f'by is {show_value(by)}; it takes "measure", "pair" or "member".')


def _summary(record: Any, name: str) -> float:
    if name == "mean_error":
        return float(record.ambiguity.mean_error)
    value = getattr(record, name)
    if isinstance(value, ErrorAmbiguity):
        return value.ambiguity
    return pair_mean(value) if isinstance(value, np.ndarray) else float(value)


def _mean_with_others(matrix: Matrix) -> Matrix:
    """Average each member's measure with the other members.  -> (n_members,)"""
    mean: Matrix = (matrix.sum(axis=1) - np.diagonal(matrix)) / (len(matrix) - 1)
    return mean
