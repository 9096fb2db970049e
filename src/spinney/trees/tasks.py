"""Classification and regression: how each encodes its targets and words its predictions."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from spinney.core.errors import InputError
from spinney.data.target import (
    class_weights,
    class_weights_like,
    encode_classes,
    encode_like,
    encode_values,
)
from spinney.losses.criteria import find_criterion
from spinney.trees.base import _BaseTree
from spinney.trees.fitted import Problem


class _ClassifierTree(ClassifierMixin, _BaseTree):  # type: ignore[misc]
    """Predict the class that has the largest share in the leaf."""

    _task: ClassVar[Literal["classification", "regression"]] = "classification"
    class_weight: Any

    def _encode(self, y: NDArray[Any]) -> tuple[NDArray[Any], tuple[NDArray[Any], ...]]:
        labels = encode_classes(y)
        return labels.codes, labels.classes

    def _encode_like(self, y: NDArray[Any], problem: Problem) -> NDArray[Any]:
        return encode_like(y, problem.classes)

    def _weights(
        self, weights: NDArray[np.float64] | None, labels: NDArray[Any]
    ) -> NDArray[np.float64] | None:
        by_class = class_weights(self.class_weight, labels)
        if weights is None or by_class is None:
            both = weights if by_class is None else by_class
        else:
            both = weights * by_class
        return None if both is None else _checked(both, "the rows")

    def _weights_like(
        self, weights: NDArray[np.float64], y: NDArray[Any], problem: Problem, labels: NDArray[Any]
    ) -> NDArray[np.float64]:
        if self.class_weight is None:
            return weights
        by_class = class_weights_like(self.class_weight, labels, problem.y, y)
        return _checked(weights * by_class, "the rows of the validation_set")

    def predict(self, X: Any, check_input: bool = True) -> NDArray[Any]:
        """Predict the likeliest class of each row.  -> (n_rows,) or (n_rows, n_outputs)

        >>> from spinney import DecisionTreeClassifier
        >>> DecisionTreeClassifier().fit([["red"], ["blue"]], [1, 0]).predict([["red"]]).tolist()
        [1]
        """
        table = self._table(X)
        codes = self._predictor.classes(table, self._threads_for(table))
        if self.n_outputs_ == 1:
            labels: NDArray[Any] = self.classes_.take(codes)
            return labels
        return np.stack([self.classes_[k].take(codes[:, k]) for k in range(self.n_outputs_)], axis=1)

    def predict_proba(self, X: Any, check_input: bool = True) -> Any:
        """Give the share of each class in the leaf of each row.

        -> (n_rows, n_classes), with several outputs a list of such arrays.
        """
        table = self._table(X)
        value = self._predictor.value(table, self._threads_for(table))
        if self.n_outputs_ == 1:
            return value[:, 0]
        return [value[:, k, : int(self.n_classes_[k])] for k in range(self.n_outputs_)]

    def predict_log_proba(self, X: Any) -> Any:
        """Give the logarithm of ``predict_proba``, −inf where that is 0."""
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(proba) if self.n_outputs_ == 1 else [np.log(part) for part in proba]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _checked(weights: NDArray[np.float64], where: str) -> NDArray[np.float64]:
    if not 0 < weights.sum() < np.inf:
        raise InputError(f"The sum of class_weight times sample_weight over {where} is 0 or infinite.")
    return weights


class _RegressorTree(RegressorMixin, _BaseTree):  # type: ignore[misc]
    """Predict the mean, or the median, of the leaf."""

    _task: ClassVar[Literal["classification", "regression"]] = "regression"
    criterion: str

    def _encode(self, y: NDArray[Any]) -> tuple[NDArray[Any], tuple[NDArray[Any], ...]]:
        return encode_values(y, find_criterion(self.criterion, self._task).non_negative_target), ()

    def _encode_like(self, y: NDArray[Any], problem: Problem) -> NDArray[Any]:
        values = encode_values(y, non_negative=False)
        if values.shape[1] != problem.y.shape[1]:
            raise InputError(f"y has {values.shape[1]} outputs where {problem.y.shape[1]} are expected.")
        return values

    def predict(self, X: Any, check_input: bool = True) -> NDArray[np.float64]:
        """Predict the target of each row.  -> (n_rows,) or (n_rows, n_outputs)

        >>> from spinney import DecisionTreeRegressor
        >>> DecisionTreeRegressor().fit([[0.0], [1.0]], [2.0, 3.0]).predict([[0.9]]).tolist()
        [3.0]
        """
        table = self._table(X)
        value = self._predictor.value(table, self._threads_for(table))
        return value[:, 0, 0] if self.n_outputs_ == 1 else value[:, :, 0]
