"""The default learners of level two: linear combinations of what the members answer, by least squares."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from spinney.core.errors import InputError, ModelFileError
from spinney.core.parameters import FLAG, OneOf, Rule, check_parameters, check_weights
from spinney.data.target import encode_values, read_target
from spinney.ensembles.weights import least_squares
from spinney.io import Persistent
from spinney.members.tables import check_described, describe_input, encode_labels


class _BaseLinear(BaseEstimator, Persistent, metaclass=ABCMeta):  # type: ignore[misc]
    """Keep coefficients (n_rows_of_them, n_features) and intercepts, and give the sums."""

    _state_attributes: ClassVar[tuple[str, ...]] = (
        "coef_",
        "intercept_",
        "classes_",
        "n_features_in_",
        "feature_names_in_",
    )
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "columns": (OneOf("own", "all"),),
        "positive": (FLAG,),
        "fit_intercept": (FLAG,),
    }

    positive: bool
    fit_intercept: bool
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    def _numbers(self, X: Any) -> NDArray[np.float64]:
        check_parameters(type(self).__name__, vars(self), self._parameter_rules)
        return np.asarray(check_array(X, dtype=np.float64, estimator=self))

    def _sums(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        numbers = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(numbers @ self.coef_.T + self.intercept_)

    def _adopt(self, **fitted: Any) -> Self:
        """Set all fitted attributes at once, so that a fit that fails leaves the estimator as it was."""
        kept = {name: value for name, value in vars(self).items() if name not in self._state_attributes}
        self.__dict__ = kept | fitted
        return self

    def _check_state(self) -> None:
        if "coef_" not in vars(self):
            return
        check_described(self)
        coefficients, intercepts = self.coef_, vars(self).get("intercept_")
        valid = isinstance(coefficients, np.ndarray) and coefficients.dtype == np.float64
        valid = valid and isinstance(intercepts, np.ndarray) and intercepts.dtype == np.float64
        rows = self._n_sums()
        valid = valid and coefficients.shape == (rows, vars(self).get("n_features_in_"))
        valid = valid and self.intercept_.shape == (rows,)
        if not valid or not (np.isfinite(coefficients).all() and np.isfinite(self.intercept_).all()):
            raise ModelFileError("The linear model in the model file is damaged.", fix="Save it again.")

    def _n_sums(self) -> int:
        return 1


class MultiResponseClassifier(ClassifierMixin, _BaseLinear):  # type: ignore[misc]
    """Classify by multi-response linear regression: a least-squares regression of each class's 0/1 indicator.

    Made for the class probabilities of several members, member by member. With ``columns="own"`` the
    regression of a class sees each member's probability for that class alone, with "all" every column.
    ``positive`` keeps the coefficients at 0 or above, which makes each regression a weighting of the members
    (Ting and Witten, 1999). With two classes one column a member is enough, and one regression.

    ``predict_proba`` is the distribution nearest to the sums, so the largest sum is the likeliest class.

    >>> said = [[0.9], [0.8], [0.3], [0.1]]
    >>> MultiResponseClassifier().fit(said, ["b", "b", "a", "a"]).predict([[0.7]]).tolist()
    ['b']
    """

    classes_: NDArray[Any]

    def __init__(
        self,
        *,
        columns: Literal["own", "all"] = "all",
        positive: bool = True,
        fit_intercept: bool = True,
    ) -> None:
        self.columns = columns
        self.positive = positive
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the regressions to answers X (n_rows, n_columns) and labels y (n_rows,)."""
        numbers = self._numbers(X)
        codes, classes = encode_labels(y, len(numbers))
        weights = check_weights(sample_weight, len(numbers))
        n_classes, width = len(classes), numbers.shape[1]
        own = self.columns == "own" and n_classes > 2
        if own and width % n_classes:
            raise InputError(
                f'columns="own" asks for one column a class and member; X has {width} columns, '
                f"and there are {n_classes} classes."
            )
        # With two classes the second regression would mirror the first.
        wanted = [1] if n_classes == 2 else list(range(n_classes))
        coefficients, intercepts = np.zeros((len(wanted), width)), np.zeros(len(wanted))
        for place, k in enumerate(wanted):
            seen = slice(k, None, n_classes) if own else slice(None)
            coefficients[place, seen], intercepts[place] = least_squares(
                numbers[:, seen],
                (codes == k).astype(np.float64),
                weights,
                positive=self.positive,
                intercept=self.fit_intercept,
            )
        return self._adopt(coef_=coefficients, intercept_=intercepts, classes_=classes, **describe_input(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the distribution over the classes that is nearest to the sums.  -> (n_rows, n_classes)"""
        sums = self._sums(X)
        if len(self.classes_) == 2:
            sums = np.hstack([1.0 - sums, sums])
        return nearest_distribution(sums)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the largest sum.  -> (n_rows,)"""
        codes = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_.take(codes)
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A column that speaks against a class can have no part in it.
        tags.classifier_tags.poor_score = self.positive
        return tags

    def _n_sums(self) -> int:
        classes = vars(self).get("classes_")
        valid = isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 0
        if not valid or len(set(self.classes_.tolist())) != len(self.classes_):
            raise ModelFileError("The linear model in the model file has no classes.", fix="Save it again.")
        return 1 if len(self.classes_) == 2 else len(self.classes_)


class LeastSquaresRegressor(RegressorMixin, _BaseLinear):  # type: ignore[misc]
    """Predict a linear combination of the columns, by least squares.

    ``positive`` keeps the coefficients at 0 or above, as Breiman (1996) advises for stacked regressions:
    members that predict the same are then weighed against each other, not subtracted from each other.

    >>> said = [[1.0, 2.0], [2.0, 2.0], [3.0, 4.0]]
    >>> LeastSquaresRegressor().fit(said, [1.0, 2.0, 3.0]).predict([[5.0, 0.0]]).round(6).tolist()
    [5.0]
    """

    def __init__(self, *, positive: bool = True, fit_intercept: bool = True) -> None:
        self.positive = positive
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the coefficients to answers X (n_rows, n_columns) and targets y (n_rows,)."""
        numbers = self._numbers(X)
        values = encode_values(read_target(y, len(numbers)), non_negative=False)
        if values.shape[1] != 1:
            raise InputError(f"y has {values.shape[1]} outputs; LeastSquaresRegressor learns one.")
        coefficients, intercept = least_squares(
            numbers,
            values[:, 0],
            check_weights(sample_weight, len(numbers)),
            positive=self.positive,
            intercept=self.fit_intercept,
        )
        return self._adopt(coef_=coefficients[None, :], intercept_=np.array([intercept]), **describe_input(X))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the sum of intercept and weighted columns.  -> (n_rows,)"""
        return self._sums(X)[:, 0]


def nearest_distribution(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give for each row the nearest point whose entries are at least 0 and sum to one.

    That point is max(s − t, 0) with the one t for which it sums to one.

    >>> nearest_distribution(np.array([[0.5, 0.75], [2.0, 0.0]])).tolist()
    [[0.375, 0.625], [1.0, 0.0]]
    """
    ranked = -np.sort(-sums, axis=1)
    excess = (np.cumsum(ranked, axis=1) - 1.0) / np.arange(1, sums.shape[1] + 1)
    last = (ranked > excess).sum(axis=1, keepdims=True) - 1
    return np.maximum(sums - np.take_along_axis(excess, last, axis=1), 0.0)
