"""Base class of naive Bayes classifiers: class counts, priors, incremental fits and prediction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from spinney.base import Estimator
from spinney.core.arrays import Floats
from spinney.core.elementary import log_softmax, softmax
from spinney.core.errors import InputError, show_values
from spinney.data.target import encode_labels, encode_like, read_target
from spinney.data.weights import check_weights
from spinney.io import require
from spinney.members.tables import check_labels, is_array


@dataclass(frozen=True)
class Batch:
    """Rows of one call of ``fit`` or ``partial_fit``: class codes, weights, and the classes of the model."""

    codes: NDArray[np.int32]
    weights: Floats | None
    n_classes: int

    def class_count(self) -> Floats:
        """Return the total weight of each class.  -> (n_classes,)"""
        return np.bincount(self.codes, self.weights, minlength=self.n_classes).astype(np.float64)


class NaiveBayes(ClassifierMixin, Estimator, persistent_name=""):  # type: ignore[misc]
    """Base class of naive Bayes classifiers.

    A subclass learns sums from a batch of rows, which add up over batches, and turns the sums into fitted
    attributes. ``class_count_`` and the priors are kept here.
    """

    _required_attributes: ClassVar[tuple[str, ...]] = ("classes_", "class_count_")

    classes_: NDArray[Any]
    class_count_: Floats

    # ---- what a subclass does ----

    @abstractmethod
    def _open(self, X: Any, first: bool, sample_weight: Any) -> tuple[Any, int, dict[str, Any]]:
        """Read X; return the rows, how many there are, and the attributes that describe the columns."""

    @abstractmethod
    def _sums(self, rows: Any, batch: Batch) -> dict[str, Any]:
        """Return the sums of a batch."""

    @abstractmethod
    def _add_sums(self, sums: dict[str, Any]) -> dict[str, Any]:
        """Return the sums of a batch and of the rows seen before it."""

    @abstractmethod
    def _solve(self, sums: Mapping[str, Any], class_count: Floats) -> dict[str, Any]:
        """Return the fitted attributes that follow from the sums, the sums among them."""

    @abstractmethod
    def _joint_log_likelihood(self, X: Any) -> Floats:
        """Return log P(class) + log P(x | class).  -> (n_rows, n_classes)"""

    # ---- fitting ----

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Training rows. Missing values (NaN) are skipped.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights; a weight of 2 is the same as the row twice.

        Returns
        -------
        self
            The fitted classifier.
        """
        self._check_params()
        rows, n_rows, described = self._open(X, True, sample_weight)
        codes, classes = encode_labels(y, n_rows)
        batch = Batch(codes, check_weights(sample_weight, n_rows), len(classes))
        count = batch.class_count()
        solved = self._solve(self._sums(rows, batch), count)
        return self._set_fitted(**described, **solved, classes_=classes, class_count_=count)

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Update the model with a batch of rows.

        The model is that of one fit to all batches.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows of the batch.
        y : array-like of shape (n_rows,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will be seen; required in the first call.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights.

        Returns
        -------
        self
            The updated classifier.
        """
        self._check_params()
        first = not hasattr(self, "classes_")
        rows, n_rows, described = self._open(X, first, sample_weight)
        labels = self.classes_ if not first else _read_classes(classes)
        if not first and classes is not None and not np.array_equal(np.unique(np.asarray(classes)), labels):
            raise InputError(
                f"`classes={np.asarray(classes).tolist()}` is not the same as on last call to partial_fit, "
                f"was: {labels.tolist()}"
            )
        codes = encode_like(read_target(y, n_rows), [labels])[:, 0]
        _check_known(codes, y)
        batch = Batch(codes, check_weights(sample_weight, n_rows), len(labels))
        sums, count = self._sums(rows, batch), batch.class_count()
        if not first:
            sums, count = self._add_sums(sums), count + self.class_count_
        solved = self._solve(sums, count)
        return self._set_fitted(**described, **solved, classes_=labels, class_count_=count)

    # ---- prediction ----

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return joint log probabilities log P(x, class).

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Joint log probabilities.
        """
        return self._joint_log_likelihood(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class labels.
        """
        best = self._joint_log_likelihood(X).argmax(axis=1)
        return np.asarray(self.classes_.take(best))

    def predict_log_proba(self, X: Any) -> Floats:
        """Predict log probabilities.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Log probabilities.
        """
        return np.asarray(log_softmax(self._joint_log_likelihood(X)))

    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        return softmax(self._joint_log_likelihood(X))

    # ---- files ----

    def _check_fitted(self) -> None:
        super()._check_fitted()
        n_classes = check_labels(self.classes_)
        require(is_array(self.class_count_, np.float64, n_classes), "there is not one count per class")


def _read_classes(classes: Any) -> NDArray[Any]:
    if classes is None:
        raise InputError("classes must be passed on the first call to partial_fit.")
    return encode_labels(np.asarray(classes), len(classes))[1]


def _check_known(codes: NDArray[np.int32], y: Any) -> None:
    unknown = np.flatnonzero(codes < 0)
    if len(unknown):
        values = sorted({str(value) for value in np.asarray(y)[unknown]})
        raise InputError(
            f"The target label(s) {show_values(values)} in y do not exist in the initial classes",
            row=int(unknown[0]),
        )


def check_priors(priors: Any, n_classes: int) -> Floats:
    """Return given priors as an array; raise InputError unless they are a distribution over the classes.

    >>> check_priors([0.25, 0.75], 2).tolist()
    [0.25, 0.75]
    """
    given = np.asarray(priors, dtype=np.float64)
    if given.shape != (n_classes,):
        raise InputError(f"Number of priors must match number of classes: {given.shape} and {n_classes}.")
    if not np.isfinite(given).all() or (given < 0).any():
        raise InputError("Priors must be non-negative.")
    if not np.isclose(given.sum(), 1.0):
        raise InputError("The sum of the priors should be 1.")
    return given
