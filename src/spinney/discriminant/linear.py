"""Linear discriminant analysis."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from spinney.base import MatrixEstimator, parameters
from spinney.core.arrays import Floats
from spinney.core.elementary import expit, log_softmax, softmax
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, Integer, Kind, OneOf, Real, Rule, thread_count
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.data.coding import CODING_RULES
from spinney.data.target import encode_labels
from spinney.data.weights import check_weights
from spinney.discriminant.solvers import ClassedRows, Discriminants, solve_eigen, solve_lsqr, solve_svd
from spinney.io import require
from spinney.members.tables import check_labels, is_array


@parameters
class LinearDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    ClassifierMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    MatrixEstimator,
):
    """Linear discriminant analysis (Fisher, 1936): normal classes that share one covariance matrix.

    The discriminant of class k is xᵀΣ⁻¹μ_k − ½ μ_kᵀΣ⁻¹μ_k + log π_k. `transform` projects rows on the
    directions w that maximize the Fisher criterion wᵀS_b w / wᵀS_w w, at most n_classes − 1 of them.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        "svd" whitens the rows without a covariance matrix to invert, also for collinear features; "lsqr"
        solves for the coefficients by least squares and has no `transform`; "eigen" solves the generalized
        eigenvalue problem. Shrinkage needs one of the last two.
    shrinkage : float in [0, 1], "auto" or None, default=None
        Shrinkage of the covariance towards a multiple of the identity; "auto" by Ledoit and Wolf (2004).
    priors : array-like of shape (n_classes,) or None, default=None
        Prior probabilities of the classes; None takes their shares of the weight.
    n_components : int or None, default=None
        Number of components of `transform`; None is min(n_classes − 1, n_features).
    store_covariance : bool, default=False
        Whether to keep ``covariance_`` with solver="svd"; the others always do.
    tol : float, default=1e-4
        Singular values up to this are zero; solver="svd" only.
    covariance_estimator : estimator or None, default=None
        Estimator with ``covariance_`` after a fit, instead of shrinkage; not for solver="svd".
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model does not depend on it.
    categorical : {"one-hot"} or None, default=None
        How to code categorical columns; None: they are an error.
    missing : {"mean"} or None, default=None
        How to fill in missing values; None: they are an error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Coefficients.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        Intercepts.
    means_ : ndarray of shape (n_classes, n_features)
        Class means.
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities.
    covariance_ : ndarray of shape (n_features, n_features)
        Covariance within classes, if kept.
    scalings_ : ndarray of shape (n_features, rank)
        Directions of `transform`; not with solver="lsqr".
    xbar_ : ndarray of shape (n_features,)
        Overall mean; solver="svd" only.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the variance between classes per component; not with solver="lsqr".
    coding_ : ColumnCoding
        How columns are coded, if ``categorical`` or ``missing`` is set; coefficients and support vectors
        belong to the coded columns.
    schema_ : Schema
        Names, kinds and categories of the features, if they are coded.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import LinearDiscriminantAnalysis
    >>> X = [[-2.0, 0.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [2.0, 0.0], [1.0, -1.0]]
    >>> model = LinearDiscriminantAnalysis().fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.predict([[0.5, 3.0]]).tolist(), model.transform(X).shape
    ([1], (6, 1))
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        **CODING_RULES,
        "solver": (OneOf("svd", "lsqr", "eigen"),),
        "shrinkage": (NONE, OneOf("auto"), Real(0.0, 1.0)),
        "priors": (NONE, ArrayRule()),
        "n_components": (NONE, Integer(1)),
        "store_covariance": (FLAG,),
        "tol": (Real(0.0),),
        "covariance_estimator": (NONE, Kind("an estimator with fit", BaseEstimator)),
    }
    _required_attributes = ("classes_", "coef_", "intercept_", "means_", "priors_")
    _state_attributes = (
        "covariance_", "scalings_", "xbar_", "explained_variance_ratio_", "_max_components",
    )  # fmt: skip
    _allow_sparse = False
    _multiplies_values = True

    solver: Literal["svd", "lsqr", "eigen"] = field(default="svd", kw_only=False)
    shrinkage: float | Literal["auto"] | None = field(default=None, kw_only=False)
    priors: ArrayLike | None = field(default=None, kw_only=False)
    n_components: int | None = field(default=None, kw_only=False)
    store_covariance: bool = field(default=False, kw_only=False)
    tol: float = field(default=1e-4, kw_only=False)
    covariance_estimator: Any = field(default=None, kw_only=False)
    n_jobs: int | None = field(default=None, kw_only=False)
    categorical: Literal["one-hot"] | None = None
    missing: Literal["mean"] | None = None

    classes_: NDArray[Any] = field(init=False)
    coef_: Floats = field(init=False)
    intercept_: Floats = field(init=False)
    means_: Floats = field(init=False)
    priors_: Floats = field(init=False)
    scalings_: Floats = field(init=False)
    xbar_: Floats | None = field(default=None, init=False)
    _max_components: int = field(init=False)

    # ---- fitting ----

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Training rows of numbers.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights; a weight of 2 is the same as the row twice.

        Returns
        -------
        self
            The fitted model.
        """
        self._check_params()
        matrix, described = self._read_training_matrix(X, sample_weight)
        codes, classes = encode_labels(y, matrix.shape[0])
        weights = check_weights(sample_weight, matrix.shape[0])
        if len(classes) < 2:
            raise InputError("The number of classes has to be greater than one; got 1 class.")
        if matrix.shape[0] <= len(classes):
            raise InputError(
                f"The number of samples ({matrix.shape[0]}) must be more than the number of classes "
                f"({len(classes)})."
            )
        most = min(len(classes) - 1, matrix.shape[1])
        if self.n_components is not None and self.n_components > most:
            raise InputError(
                f"n_components cannot be larger than min(n_features, n_classes - 1), which is {most}."
            )
        priors = None if self.priors is None else _read_priors(self.priors, len(classes))
        rows = ClassedRows.read(cast("Floats", matrix), codes, weights, priors, thread_count(self.n_jobs))
        found = self._solve(rows, most if self.n_components is None else self.n_components)
        coef, intercept = found.coef, found.intercept
        if len(classes) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        return self._set_fitted(
            classes_=classes,
            coef_=np.ascontiguousarray(coef),
            intercept_=intercept,
            means_=rows.means,
            priors_=rows.priors,
            covariance_=found.covariance,
            scalings_=found.scalings,
            xbar_=found.xbar,
            explained_variance_ratio_=found.explained,
            _max_components=most if self.n_components is None else int(self.n_components),
            **described,
        )

    def _solve(self, rows: ClassedRows, n_components: int) -> Discriminants:
        if self.solver == "svd":
            if self.shrinkage is not None or self.covariance_estimator is not None:
                raise InputError(
                    "shrinkage and covariance_estimator are not supported with solver='svd'",
                    fix="Use solver='lsqr' or solver='eigen'.",
                )
            found = solve_svd(rows, float(self.tol), n_components)
            covariance = rows.covariance() if self.store_covariance else None
            return Discriminants(
                found.coef, found.intercept, covariance, found.scalings, found.xbar, found.explained
            )
        if self.shrinkage is not None and self.covariance_estimator is not None:
            raise InputError(
                "covariance_estimator and shrinkage parameters are not None. Only one can be set."
            )
        if self.solver == "lsqr":
            return solve_lsqr(rows, self.shrinkage, self.covariance_estimator)
        return solve_eigen(rows, self.shrinkage, self.covariance_estimator, n_components)

    # ---- prediction ----

    def transform(self, X: Any) -> Floats:
        """Project rows on the directions that separate the classes best.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            Projected rows.
        """
        matrix = cast("Floats", self._read_matrix(X))
        if self.solver == "lsqr" or not hasattr(self, "scalings_"):
            raise NotImplementedError("transform not implemented for 'lsqr' solver (use 'svd' or 'eigen').")
        centred = matrix if self.xbar_ is None else matrix - self.xbar_
        return np.asarray((centred @ self.scalings_)[:, : self._max_components])

    def decision_function(self, X: Any) -> Floats:
        """Compute the discriminants of the classes.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) for two classes
            Discriminants; for two classes the log odds of the second.
        """
        scores = cast("Floats", self._read_matrix(X)) @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the largest discriminant.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class labels.
        """
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
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
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.stack([np.zeros_like(scores), scores], axis=1)
        return np.asarray(log_softmax(scores))

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
        scores = self.decision_function(X)
        if scores.ndim == 1:
            second = expit(scores)
            return np.stack([1.0 - second, second], axis=1)
        return softmax(scores)

    @property
    def _n_features_out(self) -> int:
        return self._max_components

    # ---- files ----

    def _check_fitted(self) -> None:
        super()._check_fitted()
        n_classes, d = check_labels(self.classes_), self._n_columns
        n_functions = 1 if n_classes == 2 else n_classes
        valid = is_array(self.coef_, np.float64, n_functions, d)
        valid = valid and is_array(self.intercept_, np.float64, n_functions)
        require(valid, "there are not coefficients for each class and feature")
        scalings = vars(self).get("scalings_")
        valid = scalings is None or (isinstance(scalings, np.ndarray) and scalings.ndim == 2)
        require(valid and (scalings is None or len(scalings) == d), "the scalings do not fit the features")
        xbar = vars(self).get("xbar_")
        require(xbar is None or is_array(xbar, np.float64, d), "the mean does not fit the features")
        require(type(vars(self).get("_max_components")) is int, "the number of components is not valid")


def _read_priors(priors: Any, n_classes: int) -> Floats:
    """Return given priors; scaled to a sum of 1, with a warning, as scikit-learn does."""
    given = np.asarray(priors, dtype=np.float64)
    if given.shape != (n_classes,):
        raise InputError(f"priors must have one entry for each of the {n_classes} classes.")
    if not np.isfinite(given).all() or (given < 0).any():
        raise InputError("priors must be non-negative")
    if abs(given.sum() - 1.0) > 1e-5:
        warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=3)
        given = given / given.sum()
    return given
