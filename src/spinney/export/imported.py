"""`ImportedClassifier` and `ImportedRegressor`: tree ensembles of other libraries in Spinney's format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from spinney.base import ProbabilisticClassifier, TableEstimator, parameters
from spinney.core.arrays import Floats
from spinney.core.elementary import exp, expit, softmax
from spinney.core.parameters import NONE, Integer, OneOf, Rule
from spinney.data.schema import Table
from spinney.data.target import class_attributes
from spinney.io import require
from spinney.members.tables import check_labels
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.predictor import Predictor

LINKS = ("identity", "sigmoid", "softmax", "exp", "normalize")
# Rows whose leaves are found at a time where sums are in float32.
_BLOCK = 4096


@parameters
class _Imported(TableEstimator, persistent_name=""):
    """Base class of imported models: (start + Σ trees) / divisor, then a link."""

    _required_attributes: ClassVar[tuple[str, ...]] = (
        "ensemble_",
        "base_score_",
        "per_round_",
        "divisor_",
        "link_",
        "link_factor_",
        "precision_",
        "origin_",
    )
    _state_attributes: ClassVar[tuple[str, ...]] = ("classes_", "score_threshold_")
    _transient_attributes: ClassVar[tuple[str, ...]] = ("_predictor", "n_classes_")
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "unseen": (OneOf("missing", "error"),),
        "n_jobs": (NONE, Integer(-(2**15), -1), Integer(1, 2**15)),
    }

    unseen: Literal["missing", "error"] = "missing"
    n_jobs: int | None = None

    ensemble_: TreeEnsemble = field(init=False)
    base_score_: Floats = field(init=False)
    _predictor: Predictor = field(init=False)

    def set_imported(self, **fitted: Any) -> Any:
        """Set the fitted attributes.

        Parameters
        ----------
        **fitted : dict
            Attributes by name.

        Returns
        -------
        self
            The model.
        """
        return self._set_fitted(**fitted)

    def __sklearn_is_fitted__(self) -> bool:
        return "ensemble_" in vars(self)

    def _derived(self, fitted: Mapping[str, Any]) -> dict[str, Any]:
        classes = fitted.get("classes_")
        per_round = len(fitted["base_score_"]) if fitted["per_round_"] else None
        return {
            **super()._derived(fitted),
            **({} if classes is None else class_attributes(classes)),
            "_predictor": Predictor(fitted["ensemble_"], per_round),
        }

    def _check_fitted(self) -> None:
        ensemble, start = self.ensemble_, self.base_score_
        require(isinstance(ensemble, TreeEnsemble), "an imported model has no trees")
        require(ensemble.n_features == self.schema_.n_features, "trees and schema have different features")
        ensemble.validate([len(feature.categories) for feature in self.schema_.features])
        valid = isinstance(start, np.ndarray) and start.dtype == np.float64 and start.ndim == 1
        require(valid and type(self.per_round_) is bool, "an imported model has no start of its sums")
        width = 1 if self.per_round_ else ensemble.n_outputs * ensemble.width
        valid = ensemble.value.shape[1:] == (1, 1) and len(start) > 0 and ensemble.n_trees % len(start) == 0
        require(valid if self.per_round_ else len(start) == width, "the outputs of the trees do not match")
        valid = type(self.divisor_) is float and self.divisor_ > 0 and type(self.link_factor_) is float
        valid = valid and self.link_ in LINKS and self.precision_ in ("float64", "float32")
        require(valid and type(self.origin_) is str, "an imported model has an unknown link")
        if "classes_" in vars(self):
            check_labels(self.classes_)
        threshold = vars(self).get("score_threshold_", 0.0)
        require(type(threshold) is float and threshold == threshold, "the threshold is not a number")  # noqa: PLR0124

    def _raw_scores(self, X: Any) -> Floats:
        """Return the sums.  -> (n_rows, n_scores)"""
        table = self._read_table(X)
        n_threads = self._threads_for(table)
        if self.precision_ == "float32":
            return self._sums_of_singles(table, n_threads)
        start = np.tile(self.base_score_, (table.n_rows, 1))
        if not self.per_round_:
            start = start.reshape(table.n_rows, *self.ensemble_.value.shape[1:])
        sums = self._predictor.sum(table, n_threads, start=start).reshape(table.n_rows, -1)
        return sums if self.divisor_ == 1.0 else sums / self.divisor_

    def _sums_of_singles(self, table: Table, n_threads: int) -> Floats:
        """Add the values in float32, as the library does, one tree after the other."""
        values, begin = self.ensemble_.value[:, 0, 0].astype(np.float32), self.ensemble_.tree_begin
        n_scores = len(self.base_score_)
        out = np.tile(self.base_score_.astype(np.float32), (table.n_rows, 1))
        for first in range(0, table.n_rows, _BLOCK):
            rows = np.arange(first, min(first + _BLOCK, table.n_rows))
            leaves = self._predictor.apply(table.take(rows), n_threads)
            for t in range(self.ensemble_.n_trees):
                out[rows, t % n_scores] += values[begin[t] + leaves[:, t]]
        return out.astype(np.float64)

    def _responses(self, scores: Floats) -> Floats:
        """Return the means of the scores.  -> (n_rows, n_scores)"""
        if self.link_ == "sigmoid":
            return np.asarray(expit(self.link_factor_ * scores))
        if self.link_ == "softmax":
            return softmax(scores)
        if self.link_ == "normalize":
            each = expit(self.link_factor_ * scores)
            return np.asarray(each / each.sum(axis=1, keepdims=True))
        return np.asarray(exp(scores)) if self.link_ == "exp" else scores

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_trees)
            Node numbers in the order of Spinney's trees, breadth-first.
        """
        table = self._read_table(X)
        return self._predictor.apply(table, self._threads_for(table))


class ImportedRegressor(RegressorMixin, _Imported):  # type: ignore[misc]
    """A regressor of another library, made by `import_model`.

    Parameters
    ----------
    unseen : {"missing", "error"}, default="missing"
        How to handle categories that the model does not know: as missing values, or as an error.
    n_jobs : int or None, default=None
        Number of threads.

    Attributes
    ----------
    ensemble_ : TreeEnsemble
        All trees as concatenated arrays.
    base_score_ : ndarray of shape (n_scores,)
        What the values of the trees are added to.
    per_round_ : bool
        Whether tree t has one value and adds it to score t % n_scores; otherwise it has one per score.
    divisor_ : float
        What the sums are divided by, the number of trees of a forest.
    link_ : {"identity", "sigmoid", "softmax", "exp", "normalize"}
        Function from scores to predictions.
    link_factor_ : float
        Factor of the scores within the link.
    precision_ : {"float64", "float32"}
        Precision of the sums.
    origin_ : str
        The library of the model.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if there are any.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from spinney import import_model
    >>> import_model(DecisionTreeRegressor().fit([[0.0], [1.0]], [2.0, 3.0])).predict([[0.9]]).tolist()
    [3.0]
    """

    def predict(self, X: Any) -> Floats:
        """Predict the value of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Predicted values.
        """
        values = self._responses(self._raw_scores(X))
        return values[:, 0] if values.shape[1] == 1 else values


class ImportedClassifier(ProbabilisticClassifier, _Imported):
    """A classifier of another library, made by `import_model`.

    Parameters
    ----------
    unseen : {"missing", "error"}, default="missing"
        How to handle categories that the model does not know: as missing values, or as an error.
    n_jobs : int or None, default=None
        Number of threads.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels; 0, 1, … where the library does not keep them.
    n_classes_ : int
        Number of classes.
    ensemble_ : TreeEnsemble
        All trees as concatenated arrays.
    base_score_ : ndarray of shape (n_scores,)
        What the values of the trees are added to.
    per_round_ : bool
        Whether tree t has one value and adds it to score t % n_scores; otherwise it has one per score.
    divisor_ : float
        What the sums are divided by, the number of trees of a forest.
    link_ : {"identity", "sigmoid", "softmax", "exp", "normalize"}
        Function from scores to probabilities.
    link_factor_ : float
        Factor of the scores within the link.
    precision_ : {"float64", "float32"}
        Precision of the sums.
    score_threshold_ : float
        With two classes, the score above which the second is predicted, if the library decides so; otherwise
        the most probable class is predicted, the first of equals.
    origin_ : str
        The library of the model.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if there are any.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from spinney import import_model
    >>> import_model(DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"])).predict([[0.9]]).tolist()
    ['yes']
    """

    def decision_function(self, X: Any) -> Floats:
        """Return the raw scores.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Score of the second of two classes, or of each class.
        """
        scores = self._raw_scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities.
        """
        responses = self._responses(self._raw_scores(X))
        return np.hstack([1.0 - responses, responses]) if responses.shape[1] == 1 else responses

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class labels; of equal ones the first.
        """
        threshold: float | None = vars(self).get("score_threshold_")
        if threshold is None:
            return np.asarray(self.classes_.take(self.predict_proba(X).argmax(axis=1)))
        return np.asarray(self.classes_.take(self._raw_scores(X)[:, 0] > threshold))
