"""Forests of classifiers and of regressors: how each words the mean of its trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from spinney.bagging.predictions import accuracy, by_output, class_attributes, most_probable, r_squared
from spinney.bagging.sampling import BootstrapSamples
from spinney.core.errors import InputError, show_value
from spinney.data.schema import Schema
from spinney.data.target import class_weights, encode_like, encode_values
from spinney.data.training_set import TrainingSet
from spinney.forests.base import _BaseForest
from spinney.forests.leaf_targets import LeafTargets
from spinney.tree.ensemble import TreeEnsemble
from spinney.trees.base import BaseTree
from spinney.trees.cart import DecisionTreeClassifier, DecisionTreeRegressor
from spinney.trees.oblique import ObliqueTreeClassifier, ObliqueTreeRegressor

Floats = NDArray[np.float64]


class _ClassifierForest(ClassifierMixin, _BaseForest):  # type: ignore[misc]
    """Answer with the mean of the trees' class shares."""

    _state_attributes = ("oob_decision_function_",)
    class_weight: Any
    oob_decision_function_: Any

    def _tree_class(self) -> type[BaseTree]:
        return ObliqueTreeClassifier if self.n_directions else DecisionTreeClassifier

    def _factors(self, labels: NDArray[Any]) -> tuple[Floats | None, bool]:
        if isinstance(self.class_weight, str) and self.class_weight == "balanced_subsample":
            return None, True
        factors = class_weights(self.class_weight, labels)
        if factors is not None and not 0 < factors.sum() < np.inf:
            raise InputError("The sum of class_weight over the rows is 0 or infinite.")
        return factors, False

    def _out_of_bag(self, mean: Floats, problem: TrainingSet) -> tuple[dict[str, Any], NDArray[Any]]:
        classes = problem.class_labels
        shares = _of_outputs(mean, classes)
        own = shares if type(classes) is list else shares[0]
        return {"oob_decision_function_": own}, most_probable(shares, classes)

    @property
    def _default_score(self) -> Callable[..., float]:
        return accuracy

    def _encode_again(self, labels: NDArray[Any]) -> NDArray[Any]:
        return encode_like(labels, tuple(by_output(self.classes_)))

    def _derived(
        self, schema_: Schema, ensemble_: TreeEnsemble, classes_: Any = None, **more: Any
    ) -> dict[str, Any]:
        return super()._derived(schema_, ensemble_) | class_attributes(classes_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the largest mean share.  -> (n_rows,) or (n_rows, n_outputs)"""
        mean = self._mean(X)
        if mean.shape[1] == 1:
            labels: NDArray[Any] = self.classes_.take(mean[:, 0].argmax(axis=1))
            return labels
        return most_probable(_of_outputs(mean, self.classes_), self.classes_)

    def predict_proba(self, X: Any) -> Any:
        """Give the mean over the trees of the share of each class in the leaf.

        -> (n_rows, n_classes), with several outputs a list of such arrays.
        """
        shares = _of_outputs(self._mean(X), self.classes_)
        return shares if type(self.classes_) is list else shares[0]

    def predict_log_proba(self, X: Any) -> Any:
        """Give the logarithm of ``predict_proba``, −inf where that is 0."""
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(part) for part in shares] if type(shares) is list else np.log(shares)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _of_outputs(mean: Floats, classes: Any) -> list[Floats]:
    """Give the shares (n_rows, n_outputs, width) of each output apart, without what pads them."""
    return [mean[:, k, : len(labels)] for k, labels in enumerate(by_output(classes))]


class _RegressorForest(RegressorMixin, _BaseForest):  # type: ignore[misc]
    """Answer with the mean of the trees' numbers, or with quantiles of the targets in their leaves."""

    _state_attributes = ("oob_prediction_", "leaf_targets_")
    keep_targets: bool
    oob_prediction_: Floats
    leaf_targets_: LeafTargets

    def _tree_class(self) -> type[BaseTree]:
        return ObliqueTreeRegressor if self.n_directions else DecisionTreeRegressor

    def _pattern(self) -> BaseTree:
        if self.keep_targets and self.missing == "fractional":
            raise InputError(
                "keep_targets=True needs rows that fall into one leaf each, and missing is 'fractional'",
                fix="Set missing='direction'.",
            )
        return super()._pattern()

    def _factors(self, labels: NDArray[Any]) -> tuple[Floats | None, bool]:
        return None, False

    def _out_of_bag(self, mean: Floats, problem: TrainingSet) -> tuple[dict[str, Any], NDArray[Any]]:
        predicted = _as_targets(mean)
        return {"oob_prediction_": predicted}, predicted

    @property
    def _default_score(self) -> Callable[..., float]:
        return r_squared

    def _encode_again(self, labels: NDArray[Any]) -> NDArray[Any]:
        return encode_values(labels, non_negative=False)

    def _more(self, ensemble: TreeEnsemble, problem: TrainingSet, bags: BootstrapSamples) -> dict[str, Any]:
        if not self.keep_targets:
            return {}
        return {"leaf_targets_": LeafTargets.collect(ensemble, problem.table, problem.y, bags, self.n_jobs)}

    def predict(self, X: Any) -> Floats:
        """Predict the mean of the trees' predictions.  -> (n_rows,) or (n_rows, n_outputs)"""
        return _as_targets(self._mean(X))

    def predict_quantiles(self, X: Any, quantiles: ArrayLike = (0.05, 0.5, 0.95)) -> Floats:
        """Give quantiles of the target of each row, from the training targets in its leaves.

        Needs ``keep_targets=True`` at fitting.  -> (n_rows, n_quantiles), or with several outputs
        (n_rows, n_outputs, n_quantiles)

        >>> from spinney import RandomForestRegressor
        >>> X = np.repeat([[0.0], [1.0]], 50, axis=0)
        >>> y = np.r_[np.arange(50.0), np.arange(50.0) + 100]
        >>> model = RandomForestRegressor(keep_targets=True, random_state=0).fit(X, y)
        >>> model.predict_quantiles([[1.0]], [0.0, 1.0]).tolist()
        [[100.0, 149.0]]
        """
        table = self._table(X)
        targets: LeafTargets | None = vars(self).get("leaf_targets_")
        if targets is None:
            check_is_fitted(self)
            raise InputError(
                f"This {type(self).__name__} kept no targets in its leaves",
                fix="Set keep_targets=True and fit it again.",
            )
        wanted = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if wanted.ndim != 1 or not len(wanted) or not ((wanted >= 0) & (wanted <= 1)).all():
            raise InputError(f"quantiles is {show_value(quantiles)}; it takes numbers from 0 to 1.")
        leaves = self._predictor.apply(table, self._threads_for(table))
        found = targets.quantiles(leaves + self.ensemble_.tree_begin[:-1], wanted)
        return found[:, 0] if self.n_outputs_ == 1 else found


def _as_targets(mean: Floats) -> Floats:
    return mean[:, 0, 0] if mean.shape[1] == 1 else mean[:, :, 0]
