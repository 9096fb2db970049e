"""Estimators of numeric matrices over any table: one-hot categories, filled gaps, standardised columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, RegressorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from spinney.base import TableEstimator, parameters
from spinney.core.arrays import Floats
from spinney.core.parameters import OneOf, Rule
from spinney.data.coding import ColumnCoding, learn_coding
from spinney.data.schema import read_table
from spinney.data.target import read_target
from spinney.data.weights import check_weights
from spinney.io import require
from spinney.members.base_estimators import AnyEstimator, make_member
from spinney.members.fitting import fit_member


def _member_has(method: str) -> Any:
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator), method)


@parameters
class _Encoded(MetaEstimatorMixin, TableEstimator, persistent_name=""):  # type: ignore[misc]
    """Base class of estimators that encode a table for another one."""

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "estimator": (AnyEstimator(),),
        "unseen": (OneOf("missing", "error"),),
    }
    _required_attributes: ClassVar[tuple[str, ...]] = (
        "coding_",
        "column_mean_",
        "column_scale_",
        "estimator_",
    )

    estimator: Any = field(kw_only=False)
    unseen: Literal["missing", "error"] = "missing"

    coding_: ColumnCoding = field(init=False)
    column_mean_: Floats = field(init=False)
    column_scale_: Floats = field(init=False)
    estimator_: Any = field(init=False)

    def _fit_encoded(self, X: Any, y: Any, weights: Floats | None, **fitted: Any) -> Self:
        table = read_table(X)
        coding = learn_coding(table, weights, "one-hot", "mean", type(self).__name__)
        values = self._as_read(coding.apply(table, type(self).__name__))
        mean, scale = _moments(values, weights)
        matrix = _standardise(values, mean, scale)
        member = fit_member(make_member(self.estimator), matrix, y, weights)
        return self._set_fitted(
            schema_=table.schema,
            coding_=coding,
            column_mean_=mean,
            column_scale_=scale,
            estimator_=member,
            **fitted,
        )

    def _as_read(self, values: Any) -> Any:
        """Return many columns, which are sparse, as the estimator reads them."""
        is_dense = not sparse.issparse(values) or get_tags(self.estimator).input_tags.sparse
        return values if is_dense else values.toarray()

    def _encode(self, X: Any) -> Any:
        table = self._read_table(X)
        values = self.coding_.apply(table, type(self).__name__)
        return _standardise(self._as_read(values), self.column_mean_, self.column_scale_)

    def _check_fitted(self) -> None:
        width = self.coding_.n_columns if isinstance(self.coding_, ColumnCoding) else -1
        require(hasattr(self.estimator_, "predict"), "the member cannot predict")
        for array in (self.column_mean_, self.column_scale_):
            valid = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == (width,)
            require(valid and bool(np.isfinite(array).all()), "the scales of the columns are not valid")
        require(len(self.coding_.widths) == self.schema_.n_features, "the coding is of another table")


@parameters
class EncodedClassifier(ClassifierMixin, _Encoded):  # type: ignore[misc]
    """Classifier of numeric matrices, such as an SVM, over tables with categories and missing values.

    Categories become 0/1 columns, missing values the mean of their column, and columns are standardised.

    Parameters
    ----------
    estimator : estimator
        What is fitted to the encoded columns.
    unseen : {"missing", "error"}, default="missing"
        How to handle categories at predict time that were not seen during fit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    estimator_ : estimator
        The fitted estimator.
    coding_ : ColumnCoding
        How features become numeric columns.
    column_mean_, column_scale_ : ndarray of shape (n_columns,)
        Mean and standard deviation of the numeric columns; 0 and 1 for 0/1 columns of categories.
    schema_ : Schema
        The columns of the table.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only if the input has column names.

    Examples
    --------
    >>> from spinney import GaussianNB
    >>> X = {"color": ["red", "blue", "red", "blue"], "size": [1.0, 2.0, None, 3.0]}
    >>> EncodedClassifier(GaussianNB()).fit(X, ["no", "yes", "no", "yes"]).predict(X).tolist()
    ['no', 'yes', 'no', 'yes']
    """

    _required_attributes: ClassVar[tuple[str, ...]] = ("classes_",)
    classes_: NDArray[Any] = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Encode the table and fit the estimator.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_params()
        n_rows = read_table(X).n_rows
        weights = check_weights(sample_weight, n_rows)
        target = read_target(y, n_rows)
        return self._fit_encoded(X, target, weights, classes_=np.unique(target))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class labels.
        """
        return np.asarray(self.estimator_.predict(self._encode(X)))

    @available_if(_member_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each class.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities in the order of `classes_`.
        """
        return np.asarray(self.estimator_.predict_proba(self._encode(X)))

    @available_if(_member_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Floats:
        """Return the scores of the estimator.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Scores.
        """
        return np.asarray(self.estimator_.decision_function(self._encode(X)))


@parameters
class EncodedRegressor(RegressorMixin, _Encoded):  # type: ignore[misc]
    """Regressor of numeric matrices over tables with categories and missing values; y is standardised too.

    Parameters
    ----------
    estimator : estimator
        What is fitted to the encoded columns.
    unseen : {"missing", "error"}, default="missing"
        How to handle categories at predict time that were not seen during fit.

    Attributes
    ----------
    target_mean_, target_scale_ : float
        Mean and standard deviation of the target.
    estimator_ : estimator
        The fitted estimator.
    coding_ : ColumnCoding
        How features become numeric columns.
    column_mean_, column_scale_ : ndarray of shape (n_columns,)
        Mean and standard deviation of the numeric columns.
    schema_ : Schema
        The columns of the table.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only if the input has column names.

    Examples
    --------
    >>> from spinney import LinearRegression
    >>> X = {"color": ["red", "blue", "red"], "size": [1.0, 2.0, 3.0]}
    >>> EncodedRegressor(LinearRegression()).fit(X, [1.0, 3.0, 3.0]).predict(X).round(6).tolist()
    [1.0, 3.0, 3.0]
    """

    _required_attributes: ClassVar[tuple[str, ...]] = ("target_mean_", "target_scale_")
    target_mean_: float = field(init=False)
    target_scale_: float = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Encode the table and fit the estimator.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Target values.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_params()
        n_rows = read_table(X).n_rows
        weights = check_weights(sample_weight, n_rows)
        target = np.asarray(read_target(y, n_rows), np.float64)
        mean = float(np.average(target, weights=weights))
        scale = float(np.sqrt(np.average((target - mean) ** 2, weights=weights))) or 1.0
        standard = (target - mean) / scale
        return self._fit_encoded(X, standard, weights, target_mean_=mean, target_scale_=scale)

    def predict(self, X: Any) -> Floats:
        """Predict the target of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,)
            Values.
        """
        standard = np.asarray(self.estimator_.predict(self._encode(X)), np.float64)
        return np.asarray(standard * self.target_scale_ + self.target_mean_)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        numbers = (self.target_mean_, self.target_scale_)
        valid = all(type(one) is float and np.isfinite(one) for one in numbers)
        require(valid, "the scale of the target is not valid")


def _moments(values: Any, weights: Floats | None) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of dense columns; sparse ones, mostly 0, stay as they are."""
    width = values.shape[1]
    if sparse.issparse(values):
        return np.zeros(width), np.ones(width)
    mean = np.average(values, axis=0, weights=weights)
    scale = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weights))
    scale[scale <= 1e-12 * np.maximum(np.abs(mean), 1e-300)] = 1.0
    return np.asarray(mean, np.float64), np.asarray(scale, np.float64)


def _standardise(values: Any, mean: Floats, scale: Floats) -> Any:
    return values if sparse.issparse(values) else (values - mean) / scale
