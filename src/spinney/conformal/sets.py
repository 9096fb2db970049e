"""Prediction sets of any classifier: the classes that cannot be excluded with a chosen confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from spinney.conformal.intervals import conformal_quantile
from spinney.core.arrays import Floats
from spinney.core.errors import InputError, show_value
from spinney.members.tables import count_rows

Method = Literal["threshold", "adaptive"]


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """Sets of classes, calibrated on rows that the classifier was not fitted to.

    Attributes
    ----------
    model : estimator
        The fitted classifier.
    scores : ndarray of shape (n_calibration,)
        Nonconformity of the true class of each calibration row, ascending.
    method : {"threshold", "adaptive"}
        How nonconformity is measured.

    Examples
    --------
    >>> calibrate_sets(model, X, y).predict_set(X_new, 0.9)  # doctest: +SKIP
    """

    model: Any
    scores: Floats
    method: Method

    def predict_mask(self, X: Any, confidence: float = 0.9) -> NDArray[np.bool_]:
        """Return which classes are in the set of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows.
        confidence : float, default=0.9
            Probability that the set contains the true class.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), bool
            In the order of ``model.classes_``.
        """
        limit = conformal_quantile(self.scores, confidence)
        # Scores are sums of probabilities, so equal ones may differ by rounding.
        return np.asarray(_nonconformity(_probabilities(self.model, X), self.method) <= limit + 1e-12)

    def predict_set(self, X: Any, confidence: float = 0.9) -> list[NDArray[Any]]:
        """Return the labels in the set of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows.
        confidence : float, default=0.9
            Probability that the set contains the true class.

        Returns
        -------
        list of ndarray
            Labels; a set of several means that the model cannot tell, an empty one that no class fits.
        """
        return [self.model.classes_[mask] for mask in self.predict_mask(X, confidence)]


def calibrate_sets(model: Any, X: Any, y: ArrayLike, *, method: Method = "threshold") -> PredictionSets:
    """Calibrate prediction sets of any fitted classifier with ``predict_proba``.

    Parameters
    ----------
    model : estimator
        A fitted classifier.
    X : array-like or data frame of shape (n_rows, n_features)
        Calibration rows, which the model was not fitted to.
    y : array-like of shape (n_rows,)
        Labels.
    method : {"threshold", "adaptive"}, default="threshold"
        "threshold" takes all classes of at least some probability, which gives the smallest sets (Sadinle et
        al. 2019). "adaptive" takes the most probable classes up to some total probability, so that sets are
        larger for harder rows (Romano et al. 2020, without randomization).

    Returns
    -------
    PredictionSets
        Use its ``predict_set`` or ``predict_mask``.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> from spinney.conformal import calibrate_sets
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "b"])
    >>> sets = calibrate_sets(model, [[0.0], [1.0], [1.0]], ["a", "b", "b"])
    >>> [found.tolist() for found in sets.predict_set([[0.1]], confidence=0.7)]
    [['a']]
    """
    check_is_fitted(model)
    if method not in ("threshold", "adaptive"):
        raise InputError(f'method must be "threshold" or "adaptive", not {show_value(method)}')
    labels, probabilities = np.asarray(y), _probabilities(model, X)
    if labels.shape != (count_rows(X),) or not len(labels):
        raise InputError(f"y must have one label for each of the {count_rows(X)} rows")
    position = {label: k for k, label in enumerate(model.classes_.tolist())}
    unknown = [label for label in labels.tolist() if label not in position]
    if unknown:
        raise InputError(f"The label {show_value(unknown[0])} is not one of the classes of the model")
    codes = np.array([position[label] for label in labels.tolist()])
    scores = _nonconformity(probabilities, method)[np.arange(len(codes)), codes]
    return PredictionSets(model, np.sort(scores), method)


def _probabilities(model: Any, X: Any) -> Floats:
    probabilities = model.predict_proba(X)
    if isinstance(probabilities, list):
        raise InputError("Prediction sets are for one target", fix="Calibrate one model per target.")
    return np.asarray(probabilities, np.float64)


def _nonconformity(probabilities: Floats, method: Method) -> Floats:
    """Return the nonconformity of every class of every row.  -> (n_rows, n_classes)"""
    if method == "threshold":
        return np.asarray(1.0 - probabilities)
    order = np.argsort(-probabilities, axis=1, kind="stable")
    totals = np.cumsum(np.take_along_axis(probabilities, order, axis=1), axis=1)
    scores = np.empty_like(totals)
    np.put_along_axis(scores, order, totals, axis=1)
    return scores
