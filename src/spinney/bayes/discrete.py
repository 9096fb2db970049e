"""Multinomial and Bernoulli naive Bayes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from spinney.base import MatrixEstimator, parameters
from spinney.bayes.base import Batch, NaiveBayes, check_priors
from spinney.core.arrays import Floats
from spinney.core.elementary import exp, log
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, Real, Rule, thread_count
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.data.matrix import Matrix
from spinney.io import require
from spinney.members.tables import is_array
from spinney.native import core

# The least smoothing, unless force_alpha is set: smaller values may overflow.
MIN_ALPHA = 1e-10

DISCRETE_RULES: Mapping[str, tuple[Rule, ...]] = {
    "alpha": (Real(0.0), ArrayRule()),
    "force_alpha": (FLAG,),
    "fit_prior": (FLAG,),
    "class_prior": (NONE, ArrayRule()),
}


def smoothing(alpha: Any, force: bool, n_features: int) -> Any:
    """Return α as a number, or as an array with one per feature; below `MIN_ALPHA` only if forced."""
    given = np.asarray(alpha, dtype=np.float64)
    if given.ndim and given.shape != (n_features,):
        raise InputError(
            "When alpha is an array, it should contain `n_features` values: "
            f"alpha has the shape {given.shape}, X has {n_features} features."
        )
    if not np.isfinite(given).all() or (given < 0).any():
        raise InputError("All values in alpha must be greater than 0.")
    return given if force else np.maximum(given, MIN_ALPHA)


def class_log_prior(fit_prior: bool, class_prior: Any, class_count: Floats) -> Floats:
    """Return the logarithm of the priors: given, shares of the weight, or uniform.

    >>> class_log_prior(False, None, np.array([1.0, 3.0])).round(3).tolist()
    [-0.693, -0.693]
    """
    if class_prior is not None:
        return np.asarray(log(check_priors(class_prior, len(class_count))))
    if not fit_prior:
        return np.full(len(class_count), -log(len(class_count)))
    return np.asarray(log(class_count) - log(class_count.sum()))


class _CountBayes(NaiveBayes, MatrixEstimator):
    """Naive Bayes over sums of feature values per class; dense or sparse."""

    _required_attributes = ("class_log_prior_", "feature_count_", "feature_log_prob_", "_known")
    _allow_nan = True
    _threshold: float | None = None

    class_log_prior_: Floats
    feature_count_: Floats
    feature_log_prob_: Floats
    _known: Floats

    def _open(self, X: Any, first: bool, sample_weight: Any) -> tuple[Matrix, int, dict[str, Any]]:
        if first:
            matrix, described = self._read_training_matrix(X)
        else:
            matrix, described = self._read_matrix(X), self._described()
        return matrix, matrix.shape[0], described

    def _sums(self, rows: Matrix, batch: Batch) -> dict[str, Any]:
        if sparse.issparse(rows):
            known, count = _sparse_sums(rows, batch, self._threshold)
        else:
            threads = thread_count(self.n_jobs)
            known, count = core.class_sums(
                rows, batch.codes, batch.n_classes, batch.weights, self._threshold, threads
            )
        return {"known": known, "count": count}

    def _add_sums(self, sums: dict[str, Any]) -> dict[str, Any]:
        return {"known": sums["known"] + self._known, "count": sums["count"] + self.feature_count_}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on data that are no counts
        return tags

    def _check_fitted(self) -> None:
        super()._check_fitted()
        n_classes, n_features = len(self.classes_), self.n_features_in_
        require(is_array(self.class_log_prior_, np.float64, n_classes), "there is not one prior per class")
        for part in (self.feature_count_, self.feature_log_prob_, self._known):
            valid = is_array(part, np.float64, n_classes, n_features)
            require(valid, "there is not one probability per class and feature")


@parameters
class MultinomialNB(_CountBayes):
    """Multinomial naive Bayes for counts, such as words of texts.

    P(feature j | class k) = (N_kj + α) / (N_k + α n_features), where N_kj is the sum of feature j over the
    rows of class k. Missing values count as 0.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive (Laplace) smoothing.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is set to 1e-10.
    fit_prior : bool, default=True
        Whether to learn class priors; if False, they are uniform.
    class_prior : array-like of shape (n_classes,) or None, default=None
        Prior probabilities of the classes; they are not learned then.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Weight of each class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithm of the priors.
    feature_count_ : ndarray of shape (n_classes, n_features)
        N_kj.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        log P(feature j | class k).
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import MultinomialNB
    >>> model = MultinomialNB().fit([[2, 0], [3, 1], [0, 2]], ["spam", "spam", "ham"])
    >>> model.predict([[1, 0]]).tolist()
    ['spam']
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = DISCRETE_RULES

    _multiplies_values = True

    alpha: float | ArrayLike = 1.0
    force_alpha: bool = True
    fit_prior: bool = True
    class_prior: ArrayLike | None = None
    n_jobs: int | None = None

    def _sums(self, rows: Matrix, batch: Batch) -> dict[str, Any]:
        check_not_negative(type(self).__name__, rows)
        return super()._sums(rows, batch)

    def _solve(self, sums: Mapping[str, Any], class_count: Floats) -> dict[str, Any]:
        count = sums["count"]
        smoothed = count + smoothing(self.alpha, self.force_alpha, count.shape[1])
        return {
            "class_log_prior_": class_log_prior(self.fit_prior, self.class_prior, class_count),
            "feature_count_": count,
            "feature_log_prob_": log(smoothed) - log(smoothed.sum(axis=1, keepdims=True)),
            "_known": sums["known"],
        }

    def _joint_log_likelihood(self, X: Any) -> Floats:
        matrix = _without_missing(self._read_matrix(X))
        return np.asarray(matrix @ self.feature_log_prob_.T) + self.class_log_prior_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


@parameters
class BernoulliNB(_CountBayes):
    """Bernoulli naive Bayes for binary features.

    P(x_j = 1 | class k) = (N_kj + α) / (N_k + 2 α), where N_kj is the weight of the rows of class k with
    x_j = 1 and N_k that of the rows in which x_j is known. Missing values are skipped.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive (Laplace) smoothing.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is set to 1e-10.
    binarize : float or None, default=0.0
        Values above this count as 1, others as 0. None: X is binary already.
    fit_prior : bool, default=True
        Whether to learn class priors; if False, they are uniform.
    class_prior : array-like of shape (n_classes,) or None, default=None
        Prior probabilities of the classes; they are not learned then.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Weight of each class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithm of the priors.
    feature_count_ : ndarray of shape (n_classes, n_features)
        N_kj.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        log P(x_j = 1 | class k).
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import BernoulliNB
    >>> model = BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], ["a", "a", "b"])
    >>> model.predict([[1, 0]]).tolist()
    ['a']
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        **DISCRETE_RULES,
        "binarize": (NONE, Real(-np.inf)),
    }

    alpha: float | ArrayLike = 1.0
    force_alpha: bool = True
    binarize: float | None = 0.0
    fit_prior: bool = True
    class_prior: ArrayLike | None = None
    n_jobs: int | None = None

    @property
    def _threshold(self) -> float | None:  # type: ignore[override]
        return None if self.binarize is None else float(self.binarize)

    def _solve(self, sums: Mapping[str, Any], class_count: Floats) -> dict[str, Any]:
        count, known = sums["count"], sums["known"]
        alpha = smoothing(self.alpha, self.force_alpha, count.shape[1])
        return {
            "class_log_prior_": class_log_prior(self.fit_prior, self.class_prior, class_count),
            "feature_count_": count,
            "feature_log_prob_": log(count + alpha) - log(known + 2.0 * alpha),
            "_known": known,
        }

    def _absent_log_prob(self) -> Floats:
        """Return the logarithm of P(x_j = 0 | class k).  -> (n_classes, n_features)"""
        absent = log(1.0 - exp(self.feature_log_prob_))
        # Of huge weights the smoothing is lost in 1 − P(x_j = 1), but not in the weight of the other rows.
        lost = np.isneginf(absent)
        if lost.any():
            alpha = smoothing(self.alpha, self.force_alpha, self.feature_count_.shape[1])
            rest = np.maximum(self._known - self.feature_count_, 0.0) + alpha
            absent = np.where(lost, log(rest) - log(self._known + 2.0 * alpha), absent)
        return np.asarray(absent)

    def _joint_log_likelihood(self, X: Any) -> Floats:
        matrix = self._read_matrix(X)
        absent = self._absent_log_prob()
        missing = _missing_mask(matrix)
        ones = _indicator(matrix, self._threshold)
        joint = np.asarray(ones @ (self.feature_log_prob_ - absent).T) + self.class_log_prior_
        joint += absent.sum(axis=1)
        return joint if missing is None else np.asarray(joint - missing @ absent.T)


# ---- matrices, dense or sparse ----


def check_not_negative(name: str, matrix: Matrix) -> None:
    """Raise InputError, with column and row, if a value is negative."""
    values = matrix.data if sparse.issparse(matrix) else matrix
    if not values.size or values.min() >= 0 or not (values < 0).any():
        return
    rows, columns = (matrix < 0).nonzero()
    raise InputError(
        f"Negative values in data passed to {name} (input X)", column=int(columns[0]), row=int(rows[0])
    )


def _missing_mask(matrix: Matrix) -> Any:
    """Return 1 where a value is missing and 0 elsewhere, None if nothing is."""
    if sparse.issparse(matrix):
        if not np.isnan(matrix.data).any():
            return None
        return sparse.csr_matrix(
            (np.isnan(matrix.data).astype(np.float64), matrix.indices, matrix.indptr), matrix.shape
        )
    return np.isnan(matrix).astype(np.float64) if np.isnan(matrix.sum()) else None


def _without_missing(matrix: Matrix) -> Matrix:
    """Return the matrix with 0 for missing values."""
    if _missing_mask(matrix) is None:
        return matrix
    if sparse.issparse(matrix):
        return sparse.csr_matrix((np.nan_to_num(matrix.data), matrix.indices, matrix.indptr), matrix.shape)
    return np.nan_to_num(matrix)


def _indicator(matrix: Matrix, threshold: float | None) -> Matrix:
    """Return 1.0 where x > threshold, 0.0 elsewhere; the known values themselves without a threshold."""
    if threshold is None:
        return _without_missing(matrix)
    if sparse.issparse(matrix) and threshold < 0:
        return (matrix.toarray() > threshold).astype(np.float64)  # every zero is a one
    if sparse.issparse(matrix):
        ones = (matrix.data > threshold).astype(np.float64)
        return sparse.csr_matrix((ones, matrix.indices, matrix.indptr), matrix.shape)
    return (matrix > threshold).astype(np.float64)


def _sparse_sums(matrix: Any, batch: Batch, threshold: float | None) -> tuple[Floats, Floats]:
    """Return the known weight and the sum of values or indicators.  -> two of (n_classes, n_features)"""
    n_rows = matrix.shape[0]
    weights = np.ones(n_rows) if batch.weights is None else batch.weights
    membership = sparse.csr_matrix((weights, (batch.codes, np.arange(n_rows))), (batch.n_classes, n_rows))
    count = membership @ _indicator(matrix, threshold)
    count = count.toarray() if sparse.issparse(count) else count
    known = np.repeat(batch.class_count()[:, None], matrix.shape[1], axis=1)
    missing = _missing_mask(matrix)
    return known if missing is None else known - (membership @ missing).toarray(), np.asarray(count)
