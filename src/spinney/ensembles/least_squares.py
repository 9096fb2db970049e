"""Least squares: weights of members, and the default final estimators of stacks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from spinney.base import Estimator, parameters
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, OneOf, Rule
from spinney.data.target import by_output, encode_classes, encode_values, most_probable, read_target
from spinney.data.weights import check_weights
from spinney.ensembles.orthogonal import non_negative_solution, shortest_solution, triangle
from spinney.io import require
from spinney.members.tables import check_classes, check_described, describe_input
from spinney.native import core

Array = NDArray[np.float64]

# The squares of larger values overflow.
_MAX_VALUE = 1e150


def convex_weights(predictions: Sequence[Array], target: Array, row_weights: Array | None = None) -> Array:
    """Return weights ≥ 0 with sum 1 whose mean prediction has the smallest squared error.  -> (n_members,)

    predictions: one array (n_rows, width) per member; target (n_rows, width): values or one-hot classes.
    With Σw = 1 the error of the mean is the mean of the errors d_m = f_m − y, so the solution is the shortest
    vector in the convex hull of the d_m. It has the direction of the non-negative least-squares solution of
    ‖Dw‖² + (Σw − 1)², which the active-set method finds exactly in finitely many steps.

    >>> near, far = np.array([[1.0], [2.0]]), np.array([[3.0], [0.0]])
    >>> convex_weights([near, far], np.array([[1.5], [1.5]])).round(6).tolist()
    [0.75, 0.25]
    """
    for values in (target, *predictions):
        _check_size(values)
    errors = np.stack([(one - target).ravel() for one in predictions], axis=1)
    if row_weights is not None:
        errors *= np.sqrt(np.repeat(row_weights, target.shape[1]))[:, None]
    corner = triangle(errors)
    # The direction does not depend on the scale of the errors, but a similar scale helps the solver.
    scale = max(float(np.abs(corner).max()), np.finfo(np.float64).tiny)
    system = np.vstack([corner / scale, np.ones(len(predictions))])
    solution = non_negative_solution(system, np.append(np.zeros(len(corner)), 1.0))
    return np.asarray(solution / solution.sum())


def least_squares(
    features: Array, target: Array, row_weights: Array | None, *, positive: bool, intercept: bool
) -> tuple[Array, float]:
    """Return the coefficients (n_features,) and the intercept with the smallest squared error.

    ``positive`` keeps the coefficients, but not the intercept, at 0 or above. If there are many solutions,
    the shortest is returned, or with ``positive`` the first that the active-set method finds.
    """
    shares = np.full(len(target), 1.0) if row_weights is None else row_weights
    used = shares > 0
    features, target, shares = features[used], target[used], shares[used] / shares.sum()
    system = np.column_stack([features, target])
    _check_size(system)
    center = (shares[:, None] * system).sum(axis=0) if intercept else np.zeros(system.shape[1])
    corner = triangle((system - center) * np.sqrt(shares)[:, None])
    matrix, right = corner[:, :-1], corner[:, -1]
    # The shortest: columns that sum to 1 leave a direction in which only rounding would decide.
    coefficients = (non_negative_solution if positive else shortest_solution)(matrix, right)
    return coefficients, float(center[-1] - (center[:-1] * coefficients).sum())


def _check_size(values: Array) -> None:
    if not (np.abs(values) <= _MAX_VALUE).all():
        raise InputError("The predictions of members, or the targets, are too large for least squares.")


def nearest_distribution(sums: Array) -> Array:
    """Return for each row the nearest point with entries ≥ 0 and sum 1 (projection onto the simplex).

    That point is max(s − t, 0) with the one t for which it sums to 1.

    >>> nearest_distribution(np.array([[0.5, 0.75], [2.0, 0.0]])).tolist()
    [[0.375, 0.625], [1.0, 0.0]]
    """
    ranked = -np.sort(-sums, axis=1)
    excess = (np.cumsum(ranked, axis=1) - 1.0) / np.arange(1, sums.shape[1] + 1)
    last = (ranked > excess).sum(axis=1, keepdims=True) - 1
    return np.maximum(sums - np.take_along_axis(excess, last, axis=1), 0.0)


@parameters
class _LinearModel(Estimator):
    """Base class of linear models: coefficients (n_sums, n_features) and intercepts (n_sums,)."""

    _required_attributes: ClassVar[tuple[str, ...]] = ("coef_", "intercept_")
    _state_attributes: ClassVar[tuple[str, ...]] = ("classes_", "n_features_in_", "feature_names_in_")
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "columns": (OneOf("own", "all"),),
        "positive": (FLAG,),
        "fit_intercept": (FLAG,),
    }

    positive: bool = True
    fit_intercept: bool = True

    coef_: Array = field(init=False)
    intercept_: Array = field(init=False)

    def _read_values(self, X: Any) -> Array:
        self._check_params()
        return np.asarray(check_array(X, dtype=np.float64, estimator=self))

    def _solve(self, features: Array, target: Array, weights: Array | None) -> tuple[Array, float]:
        return least_squares(features, target, weights, positive=self.positive, intercept=self.fit_intercept)

    def _sums(self, X: Any) -> Array:
        check_is_fitted(self)
        values = validate_data(self, X, dtype=np.float64, reset=False, ensure_min_samples=0)
        return core.matrix_product(np.ascontiguousarray(values), self.coef_, self.intercept_, 1)

    def _check_fitted(self) -> None:
        check_described(self)
        arrays: list[Any] = [self.coef_, self.intercept_]
        valid = all(isinstance(array, np.ndarray) and array.dtype == np.float64 for array in arrays)
        n_sums = self._n_sums()
        valid = valid and self.coef_.shape == (n_sums, vars(self).get("n_features_in_"))
        valid = valid and self.intercept_.shape == (n_sums,)
        require(valid and all(np.isfinite(array).all() for array in arrays), "a linear model is not valid")

    @abstractmethod
    def _n_sums(self) -> int:
        """Return the number of regressions, of attributes that are not yet checked."""


@parameters
class MultiResponseClassifier(ClassifierMixin, _LinearModel):  # type: ignore[misc]
    """Multi-response linear regression: one least-squares regression per class, of its 0/1 indicator.

    The default final estimator of :class:`~spinney.StackingClassifier`, for the class probabilities of
    several members side by side (Ting and Witten, 1999). With two classes one column per member is enough,
    and one regression. ``predict_proba`` returns the distribution nearest to the sums, so the class with the
    largest sum is the most probable.

    Parameters
    ----------
    positive : bool, default=True
        Keep the coefficients at 0 or above, so that each regression is a weighting of the members.
    fit_intercept : bool, default=True
        Fit an intercept per regression.
    columns : {"own", "all"}, default="all"
        "own": the regression of a class uses each member's probability of that class only; "all": every
        column.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Coefficients; those of several outputs one below the other.
    intercept_ : ndarray of shape (n_classes,) or (1,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,), or list of ndarray
        Class labels, a list if there are several outputs.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has column names.

    Examples
    --------
    >>> from spinney.ensembles import MultiResponseClassifier
    >>> probabilities = [[0.9], [0.8], [0.3], [0.1]]
    >>> MultiResponseClassifier().fit(probabilities, ["b", "b", "a", "a"]).predict([[0.7]]).tolist()
    ['b']
    """

    columns: Literal["own", "all"] = "all"

    classes_: Any = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the regressions.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Predictions of members.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights.

        Returns
        -------
        self
            The fitted classifier.
        """
        values = self._read_values(X)
        target = read_target(y, len(values))
        weights = check_weights(sample_weight, len(values))
        codes, outputs = encode_classes(target)
        models = [
            self._fit_output(values, codes[:, k], len(labels), weights) for k, labels in enumerate(outputs)
        ]
        return self._set_fitted(
            coef_=np.vstack([coefficients for coefficients, _ in models]),
            intercept_=np.concatenate([intercepts for _, intercepts in models]),
            classes_=outputs[0] if target.ndim == 1 else list(outputs),
            **describe_input(X),
        )

    def _fit_output(
        self, values: Array, codes: NDArray[np.int32], n_classes: int, weights: Array | None
    ) -> tuple[Array, Array]:
        """Return the coefficients (n_sums, n_columns) and intercepts (n_sums,) of one output."""
        width = values.shape[1]
        own = self.columns == "own" and n_classes > 2
        if own and width % n_classes:
            raise InputError(
                f'columns="own" needs one column per class and member; X has {width} columns, '
                f"and there are {n_classes} classes."
            )
        # With two classes the second regression would mirror the first.
        responses = [1] if n_classes == 2 else list(range(n_classes))
        coefficients, intercepts = np.zeros((len(responses), width)), np.zeros(len(responses))
        for row, k in enumerate(responses):
            used = slice(k, None, n_classes) if own else slice(None)
            indicator = (codes == k).astype(np.float64)
            coefficients[row, used], intercepts[row] = self._solve(values[:, used], indicator, weights)
        return coefficients, intercepts

    def decision_function(self, X: Any) -> Array:
        """Compute the sums of the classes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Predictions of members.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Sums; with two classes the sum of the second less ½. Several outputs are side by side.
        """
        sums = self._sums(X)
        middles = [np.full(_n_sums(labels), 0.5 * (len(labels) == 2)) for labels in by_output(self.classes_)]
        decisions = sums - np.concatenate(middles)
        return np.asarray(decisions[:, 0] if decisions.shape[1] == 1 else decisions)

    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities: the distribution nearest to the sums.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Predictions of members.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or list of such arrays with several outputs
            Probabilities.
        """
        parts = self._probabilities(X)
        return parts if type(self.classes_) is list else parts[0]

    def _probabilities(self, X: Any) -> list[Array]:
        """Return the probabilities of each output."""
        sums, outputs = self._sums(X), by_output(self.classes_)
        parts = np.split(sums, np.cumsum([_n_sums(labels) for labels in outputs])[:-1], axis=1)
        return [
            nearest_distribution(np.hstack([1.0 - part, part]) if len(labels) == 2 else part)
            for part, labels in zip(parts, outputs, strict=True)
        ]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the largest sum.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Predictions of members.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Class labels.
        """
        return most_probable(self._probabilities(X), self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A column that speaks against a class gets no weight.
        tags.classifier_tags.poor_score = self.positive
        return tags

    def _n_sums(self) -> int:
        return sum(map(_n_sums, check_classes(vars(self).get("classes_"))))


def _n_sums(labels: NDArray[Any]) -> int:
    """Return the number of regressions of an output."""
    return 1 if len(labels) == 2 else len(labels)


class LeastSquaresRegressor(RegressorMixin, _LinearModel):  # type: ignore[misc]
    """Least-squares regression with non-negative coefficients.

    The default final estimator of :class:`~spinney.StackingRegressor`. Members that predict the same are
    then weighed against each other instead of subtracted from each other (Breiman, 1996).

    Parameters
    ----------
    positive : bool, default=True
        Keep the coefficients at 0 or above.
    fit_intercept : bool, default=True
        Fit an intercept.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_features)
        Coefficients.
    intercept_ : ndarray of shape (n_outputs,)
        Intercepts.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has column names.

    Examples
    --------
    >>> from spinney.ensembles import LeastSquaresRegressor
    >>> predictions = [[1.0, 2.0], [2.0, 2.0], [3.0, 4.0]]
    >>> LeastSquaresRegressor().fit(predictions, [1.0, 2.0, 3.0]).predict([[5.0, 0.0]]).round(6).tolist()
    [5.0]
    """

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Predictions of members.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Target values.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights.

        Returns
        -------
        self
            The fitted regressor.
        """
        features = self._read_values(X)
        values = encode_values(read_target(y, len(features)), non_negative=False)
        weights = check_weights(sample_weight, len(features))
        models = [self._solve(features, column, weights) for column in values.T]
        coefficients, intercepts = zip(*models, strict=True)
        fitted = {"coef_": np.stack(coefficients), "intercept_": np.array(intercepts)}
        return self._set_fitted(**fitted, **describe_input(X))

    def predict(self, X: Any) -> Array:
        """Predict the sum of intercept and weighted columns.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Predictions of members.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Predictions.
        """
        sums = self._sums(X)
        return sums[:, 0] if sums.shape[1] == 1 else sums

    def _n_sums(self) -> int:
        return max(1, len(self.coef_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
