"""Gaussian naive Bayes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from spinney.base import MatrixEstimator, parameters
from spinney.bayes.base import Batch, NaiveBayes, check_priors
from spinney.core.arrays import Floats
from spinney.core.elementary import log
from spinney.core.parameters import NONE, Real, Rule, thread_count
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.data.matrix import Matrix
from spinney.io import require
from spinney.members.tables import is_array
from spinney.native import core


@parameters
class GaussianNB(NaiveBayes, MatrixEstimator):
    """Gaussian naive Bayes: every feature is normally distributed within a class, independent of the others.

    P(x_j | class k) is normal with the mean and the variance of feature j over the rows of class k. Missing
    values are skipped, at fit and at predict time. Means and variances come from one pass over the rows, and
    are combined over chunks and batches as in Chan, Golub and LeVeque (1983).

    Parameters
    ----------
    priors : array-like of shape (n_classes,) or None, default=None
        Prior probabilities of the classes; None takes their shares of the weight.
    var_smoothing : float, default=1e-9
        This times the largest variance of a feature is added to all variances.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Weight of each class.
    class_prior_ : ndarray of shape (n_classes,)
        Prior probabilities.
    epsilon_ : float
        What was added to variances.
    theta_ : ndarray of shape (n_classes, n_features)
        Means. Where a class has no known value of a feature, that of all rows.
    var_ : ndarray of shape (n_classes, n_features)
        Variances, `epsilon_` included.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Weight of the rows in which the feature is known.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import GaussianNB
    >>> model = GaussianNB().fit([[-2.0], [-1.0], [1.0], [2.0]], ["a", "a", "b", "b"])
    >>> model.theta_.tolist(), model.predict([[0.5]]).tolist()
    ([[-1.5], [1.5]], ['b'])
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "priors": (NONE, ArrayRule()),
        "var_smoothing": (Real(0.0),),
    }
    _required_attributes = ("class_prior_", "epsilon_", "theta_", "var_", "feature_count_", "_squares")
    _allow_sparse = False
    _allow_nan = True
    _multiplies_values = True

    priors: ArrayLike | None = None
    var_smoothing: float = 1e-9
    n_jobs: int | None = None

    theta_: Floats = field(init=False)
    var_: Floats = field(init=False)
    class_prior_: Floats = field(init=False)
    feature_count_: Floats = field(init=False)
    _squares: Floats = field(init=False)

    def _open(self, X: Any, first: bool, sample_weight: Any) -> tuple[Matrix, int, dict[str, Any]]:
        if first:
            matrix, described = self._read_training_matrix(X)
        else:
            matrix, described = self._read_matrix(X), self._described()
        return matrix, matrix.shape[0], described

    def _sums(self, rows: Floats, batch: Batch) -> dict[str, Any]:
        threads = thread_count(self.n_jobs)
        found = core.class_moments(rows, batch.codes, batch.n_classes, batch.weights, threads)
        return dict(zip(("weight", "mean", "squares"), found, strict=True))

    def _add_sums(self, sums: dict[str, Any]) -> dict[str, Any]:
        before = {"weight": self.feature_count_, "mean": self.theta_, "squares": self._squares}
        return merge_moments(before, sums)

    def _solve(self, sums: Mapping[str, Any], class_count: Floats) -> dict[str, Any]:
        weight, mean, squares = sums["weight"], sums["mean"], sums["squares"]
        whole = {"weight": weight[:1], "mean": mean[:1], "squares": squares[:1]}
        for k in range(1, len(weight)):
            whole = merge_moments(whole, {name: part[k : k + 1] for name, part in sums.items()})
        known = whole["weight"] > 0
        overall = np.divide(whole["squares"], whole["weight"], out=np.zeros_like(mean[:1]), where=known)
        epsilon = float(self.var_smoothing * overall.max())
        seen = weight > 0
        variance = np.divide(squares, weight, out=np.broadcast_to(overall, weight.shape).copy(), where=seen)
        prior = class_count / class_count.sum()
        if self.priors is not None:
            prior = check_priors(self.priors, len(class_count))
        return {
            "class_prior_": prior,
            "epsilon_": epsilon,
            "theta_": np.where(seen, mean, whole["mean"]),
            "var_": variance + epsilon,
            "feature_count_": weight,
            "_squares": squares,
        }

    def _joint_log_likelihood(self, X: Any) -> Floats:
        matrix = cast("Floats", self._read_matrix(X))
        # A feature that is constant within a class has the variance 0 if nothing is added.
        variance = np.maximum(self.var_, np.finfo(np.float64).tiny)
        log_scale, precision = -0.5 * log(2.0 * np.pi * variance), 0.5 / variance
        threads = thread_count(self.n_jobs)
        joint = core.gaussian_log_likelihood(matrix, self.theta_, log_scale, precision, threads)
        prior = log(self.class_prior_)
        joint += prior
        joint[np.isneginf(joint).all(axis=1)] = prior  # too far from all means, in standard deviations
        return joint

    def _check_fitted(self) -> None:
        super()._check_fitted()
        n_classes, n_features = len(self.classes_), self.n_features_in_
        require(is_array(self.class_prior_, np.float64, n_classes), "there is not one prior per class")
        for part in (self.theta_, self.var_, self.feature_count_, self._squares):
            valid = is_array(part, np.float64, n_classes, n_features)
            require(valid, "there is not one mean and variance per class and feature")


def merge_moments(first: Mapping[str, Floats], second: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return weight, mean and squared deviations of two sets of rows together.

    >>> one = {"weight": np.ones(1), "mean": np.zeros(1), "squares": np.zeros(1)}
    >>> merge_moments(one, one | {"mean": np.array([2.0])})["squares"].tolist()
    [2.0]
    """
    total = first["weight"] + second["weight"]
    share = np.divide(second["weight"], total, out=np.zeros_like(total), where=total > 0)
    delta = second["mean"] - first["mean"]
    mean = np.where(share == 1.0, second["mean"], first["mean"] + delta * share)
    squares = first["squares"] + second["squares"] + delta * delta * first["weight"] * share
    return {"weight": total, "mean": mean, "squares": squares}
