"""Logarithmic pooling: the default final estimator of stacks of probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from spinney.base import Estimator, parameters
from spinney.core.elementary import exp, log, softmax
from spinney.core.errors import InputError
from spinney.core.parameters import Real, Rule
from spinney.data.target import encode_labels
from spinney.data.weights import check_weights
from spinney.io import require
from spinney.members.tables import check_classes, check_described, describe_input

Array = NDArray[np.float64]


@parameters
class LogarithmicPoolClassifier(ClassifierMixin, Estimator):  # type: ignore[misc]
    """Logarithmic opinion pool: P(k) ∝ Π_m p_mk^w_m, with weights w ≥ 0 of the members.

    The default final estimator of :class:`~spinney.StackingClassifier`, for the class probabilities of
    several members side by side. It is multinomial regression on the logarithms of the probabilities with one
    coefficient per member. The weights minimize the log loss + ½ l2 Σ (w − 1/M)², so that few rows leave them
    near equal ones. They need not sum to 1: members that are not sure enough are made more so.

    Parameters
    ----------
    l2 : float, default=10.0
        Strength of the penalty.
    floor : float in (0, 1), default=1e-4
        Smaller probabilities count as this one: a member that is wrong for sure does not decide alone.

    Attributes
    ----------
    coef_ : ndarray of shape (n_members,)
        Weights of the members.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has column names.

    Examples
    --------
    >>> from spinney.ensembles import LogarithmicPoolClassifier
    >>> good_and_bad = [[0.9, 0.5], [0.8, 0.4], [0.3, 0.6], [0.1, 0.5]]
    >>> model = LogarithmicPoolClassifier().fit(good_and_bad, ["b", "b", "a", "a"])
    >>> bool(model.coef_[0] > model.coef_[1]), model.predict([[0.7, 0.3]]).tolist()
    (True, ['b'])
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "l2": (Real(0.0, open_ends="("),),
        "floor": (Real(0.0, 1.0, open_ends="()"),),
    }
    _required_attributes: ClassVar[tuple[str, ...]] = ("coef_", "classes_")
    _state_attributes: ClassVar[tuple[str, ...]] = ("n_features_in_", "feature_names_in_")

    l2: float = 10.0
    floor: float = 1e-4

    coef_: Array = field(init=False)
    classes_: NDArray[Any] = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the weights.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_members × n_classes), or (n_rows, n_members) for two classes
            Probabilities of the classes, member after member; with two classes those of the second only.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights. Those of a mean below 1 are shares of as many rows as there are.

        Returns
        -------
        self
            The fitted classifier.
        """
        self._check_params()
        values = np.asarray(check_array(X, dtype=np.float64, estimator=self))
        codes, classes = encode_labels(y, len(values))
        weights = check_weights(sample_weight, len(values))
        weights = np.ones(len(values)) if weights is None else weights
        weights = weights * max(1.0, np.count_nonzero(weights) / float(weights.sum()))
        logs = self._logarithms(values, len(classes))
        return self._set_fitted(
            coef_=_pool_weights(logs, codes, weights, float(self.l2)), classes_=classes, **describe_input(X)
        )

    def _logarithms(self, values: Array, n_classes: int) -> Array:
        """Return the logarithms of all probabilities.  -> (n_members, n_rows, n_classes)"""
        n_rows, width = values.shape
        if n_classes <= 2:
            parts = np.stack([1.0 - values.T, values.T], axis=2)[:, :, -n_classes:]
        elif width % n_classes:
            raise InputError(
                f"LogarithmicPoolClassifier needs one column per class and member; X has {width} columns, "
                f"and there are {n_classes} classes."
            )
        else:
            parts = values.reshape(n_rows, width // n_classes, n_classes).transpose(1, 0, 2)
        return np.asarray(log(np.clip(parts, self.floor, None)))

    def _sums(self, X: Any) -> Array:
        """Return Σ w log p.  -> (n_rows, n_classes)"""
        check_is_fitted(self)
        values = validate_data(self, X, dtype=np.float64, reset=False, ensure_min_samples=0)
        logs = self._logarithms(np.asarray(values), len(self.classes_))
        return np.asarray(np.einsum("m,mrk->rk", self.coef_, logs))

    def decision_function(self, X: Any) -> Array:
        """Compute the logarithms of the products.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Probabilities, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Σ w log p of each class; with two classes that of the second less that of the first.
        """
        sums = self._sums(X)
        return sums[:, 1] - sums[:, 0] if len(self.classes_) == 2 else sums

    def predict_proba(self, X: Any) -> Array:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Probabilities, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities.
        """
        return softmax(self._sums(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Probabilities, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class labels.
        """
        return np.asarray(self.classes_.take(self._sums(X).argmax(axis=1)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A column that speaks against a class gets no weight, and columns are no probabilities in general.
        tags.classifier_tags.poor_score = True
        return tags

    def _check_fitted(self) -> None:
        check_described(self)
        n_classes = len(check_classes(vars(self).get("classes_"))[0])
        coef: Any = self.coef_
        valid = isinstance(coef, np.ndarray) and coef.dtype == np.float64 and coef.ndim == 1
        width = vars(self).get("n_features_in_")
        valid = valid and len(coef) * (1 if n_classes <= 2 else n_classes) == width
        require(valid and bool(np.isfinite(coef).all()), "the weights of a pool are not valid")


def _pool_weights(logs: Array, codes: NDArray[np.int32], weights: Array, l2: float) -> Array:
    """Return the weights ≥ 0 of least penalized log loss.  logs (n_members, n_rows, n_classes)"""
    n_members, n_rows = logs.shape[:2]
    own = np.einsum("mr,r->m", logs[:, np.arange(n_rows), codes], weights)
    middle = np.full(n_members, 1.0 / n_members)

    def loss(w: Array) -> tuple[float, Array]:
        sums = np.einsum("m,mrk->rk", w, logs)
        top = sums.max(axis=1, keepdims=True)
        each = exp(sums - top)
        total = each.sum(axis=1, keepdims=True)
        value = float(np.einsum("r,r->", weights, (log(total) + top)[:, 0]) - (w * own).sum())
        slope = np.einsum("mrk,rk->m", logs, each / total * weights[:, None]) - own
        away = w - middle
        return value + 0.5 * l2 * float((away * away).sum()), slope + l2 * away

    options: Any = {"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-9 * max(1.0, float(weights.sum()))}
    bounds = [(0.0, None)] * n_members
    return np.asarray(minimize(loss, middle, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x)
