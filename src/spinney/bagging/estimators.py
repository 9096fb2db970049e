"""Bagging of any estimator: bootstrap samples of rows, random subspaces of columns, or both."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from spinney.bagging.base import BaseBagging
from spinney.bagging.predictions import (
    Array,
    Floats,
    Predict,
    member_probabilities,
    member_scores,
    member_values,
    member_votes,
    split_outputs,
)
from spinney.base import ProbabilisticClassifier, parameters
from spinney.data.target import by_output, most_probable
from spinney.members.base_estimators import base_estimator_tags
from spinney.tree.predictor import as_targets, split_classes
from spinney.trees.cart import DecisionTreeClassifier, DecisionTreeRegressor


@parameters
class BaggingClassifier(ProbabilisticClassifier, BaseBagging):
    """Bagging classifier: members fitted to bootstrap samples vote, or average their probabilities.

    The parameters of scikit-learn's ``BaggingClassifier`` have the same meaning. Variants are bagging
    (Breiman 1996): ``bootstrap=True``; pasting: ``bootstrap=False, max_samples=0.5``; random subspaces
    (Ho 1998): ``bootstrap=False, max_features=0.5``; and random patches: both fractions.

    Parameters
    ----------
    estimator : estimator, list of estimator or None, default=None
        The base estimator, any classifier. None is Spinney's `DecisionTreeClassifier`. Members are copies of
        the estimators of a list in turn, for example trees that select features by different criteria.
    n_estimators : int, default=10
        Number of members.
    max_samples : int, float or None, default=None
        Rows per sample: a number, a fraction of the rows, or None for all. With integer sample weights, a row
        of weight k counts as k rows.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement.
    oob_score : bool or callable, default=False
        Whether to compute ``oob_decision_function_`` and ``oob_score_`` from out-of-bag rows, also without
        replacement and with ``warm_start``. The score is the accuracy, or ``oob_score(y, predicted)``, with
        ``sample_weight`` if it has such an argument.
    warm_start : bool, default=False
        Whether ``fit`` keeps the members of the previous fit and adds more, up to ``n_estimators``.
    n_jobs : int or None, default=None
        Number of parallel jobs, −1 for all cores. None is all cores for Spinney's own members and 1 for
        others, within the limits of an active joblib or threadpoolctl context. The fitted ensemble does not
        depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all draws. None draws it from NumPy's global generator.
    verbose : int, default=0
        Above 0, show a progress bar.
    max_features : int or float, default=1.0
        Columns per member: a number, or a fraction of the columns.
    bootstrap_features : bool, default=False
        Whether columns are drawn with replacement.
    parameter_distributions : dict or None, default=None
        Distributions of hyper-parameters, by name as in ``set_params``: each member draws its own values. A
        distribution is a list, a frozen distribution of ``scipy.stats``, or a function of a
        ``numpy.random.Generator``.
    oob_pruning : bool, default=False
        Whether to prune each member, which must be one of Spinney's trees, by reduced-error pruning on its
        out-of-bag rows. ``oob_score_`` is then slightly optimistic.
    oob_early_stopping : bool, default=False
        Whether each member, which must be a gradient boosting or negative correlation model, stops early by
        the loss on its out-of-bag rows. ``oob_score_`` is then slightly optimistic.
    voting : {"soft", "hard"}, default="soft"
        "soft" averages the members' probabilities, "hard" counts their votes; of ties, the first class in
        ``classes_`` wins. Members without ``predict_proba`` always vote.

    Attributes
    ----------
    estimator_ : estimator or list of estimator
        The base estimator.
    estimators_ : list of estimator
        The members.
    estimators_samples_ : list of ndarray
        Rows that each member drew, ascending and with repetitions. They are drawn again at every access.
    estimators_features_ : list of ndarray
        Columns of each member.
    classes_ : ndarray of shape (n_classes,), or list of ndarray
        Class labels, a list if there are several outputs.
    n_classes_ : int, or ndarray of shape (n_outputs,)
        Number of classes.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names.
    oob_score_ : float
        Out-of-bag score, if ``oob_score`` is set.
    oob_decision_function_ : ndarray of shape (n_rows, n_classes) or (n_rows, n_classes, n_outputs)
        Out-of-bag probabilities, if ``oob_score`` is set; NaN for rows that every member has seen.

    Examples
    --------
    >>> from spinney.datasets import load_watermelon3
    >>> X, y = load_watermelon3()
    >>> model = BaggingClassifier(n_estimators=20, oob_score=True, random_state=0).fit(X, y)
    >>> model.predict(X).shape, 0.0 <= model.oob_score_ <= 1.0
    ((17,), True)
    """

    _task = "classification"
    _required_attributes = ("classes_",)
    _state_attributes = ("oob_decision_function_",)
    _transient_attributes = ("n_classes_",)

    voting: Literal["soft", "hard"] = "soft"

    def _default_estimator(self) -> Any:
        return DecisionTreeClassifier()

    def _predict_by(self, classes: Any) -> Predict:
        predict = member_votes if self.voting == "hard" else member_probabilities
        return partial(predict, classes=by_output(classes))

    def predict(self, X: Any, **metadata: Any) -> Array:
        """Predict the class with the highest mean probability, or the most votes.

        Parameters
        ----------
        X : table-like of shape (n_rows, n_features)
            The features.
        **metadata : dict
            Further arguments for the members, with scikit-learn's metadata routing switched on.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Class labels.

        Examples
        --------
        >>> from spinney import BaggingClassifier
        >>> model = BaggingClassifier(random_state=0).fit([["red"], ["blue"]] * 5, [1, 0] * 5)
        >>> model.predict([["red"]]).tolist()
        [1]
        """
        return most_probable(by_output(self.predict_proba(X, **metadata)), self.classes_)

    def predict_proba(self, X: Any, **metadata: Any) -> Any:
        """Predict class probabilities: the mean of the members', or the fractions of votes.

        Parameters
        ----------
        X : table-like of shape (n_rows, n_features)
            The features.
        **metadata : dict
            Further arguments for the members, with scikit-learn's metadata routing switched on.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or list of ndarray
            Probabilities, a list if there are several outputs.
        """
        outputs = self._probabilities(X, self._route("predict_proba", metadata))
        return outputs if type(self.classes_) is list else outputs[0]

    def predict_log_proba(self, X: Any, **metadata: Any) -> Any:
        """Predict logarithms of the class probabilities.

        Parameters
        ----------
        X : table-like of shape (n_rows, n_features)
            The features.
        **metadata : dict
            Further arguments for the members, with scikit-learn's metadata routing switched on.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or list of ndarray
            Logarithms, −inf where the probability is 0; a list if there are several outputs.
        """
        with np.errstate(divide="ignore"):
            logarithms = [np.log(part) for part in by_output(self.predict_proba(X, **metadata))]
        return logarithms if type(self.classes_) is list else logarithms[0]

    def _method_of_members(self, method: str) -> str:
        if method == "decision_function":
            return method
        each = self._base_estimators()
        votes = self.voting == "hard" or not all(hasattr(one, "predict_proba") for one in each)
        return "predict" if votes else "predict_proba"

    def _has_decision_function(self) -> bool:
        return all(hasattr(one, "decision_function") for one in self._base_estimators())

    @available_if(_has_decision_function)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, **metadata: Any) -> NDArray[np.float64]:
        """Compute the mean of the members' decision functions; only if the base estimator has one.

        A class that a member has not seen gets the minimum of the member's scores of the row.

        Parameters
        ----------
        X : table-like of shape (n_rows, n_features)
            The features.
        **metadata : dict
            Further arguments for the members, with scikit-learn's metadata routing switched on.

        Returns
        -------
        ndarray of shape (n_rows,) with two classes, else (n_rows, n_classes)
            Scores.
        """
        predict = partial(member_scores, classes=by_output(self.classes_))
        return self._mean(X, predict, self._route("decision_function", metadata))

    def _probabilities(self, X: Any, metadata: Mapping[str, Any]) -> list[Floats]:
        """Return the probabilities (n_rows, n_classes) of each output."""
        check_is_fitted(self)
        values = self._mean_of_trees(X) if self.voting == "soft" else None
        if values is not None:
            return split_classes(values, self.classes_)
        return split_outputs(self._mean(X, self._predict_by(self.classes_), metadata), self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = base_estimator_tags(self._base_estimators()[0]).classifier_tags
        if base is not None:
            tags.classifier_tags.multi_class = base.multi_class
            tags.classifier_tags.multi_label = base.multi_label
        return tags


class BaggingRegressor(RegressorMixin, BaseBagging):  # type: ignore[misc]
    """Bagging regressor: members fitted to bootstrap samples average their predictions.

    The parameters of scikit-learn's ``BaggingRegressor`` have the same meaning. For bagging, pasting, random
    subspaces and random patches see `BaggingClassifier`.

    Parameters
    ----------
    estimator : estimator, list of estimator or None, default=None
        The base estimator, any regressor. None is Spinney's `DecisionTreeRegressor`. Members are copies of
        the estimators of a list in turn.
    n_estimators : int, default=10
        Number of members.
    max_samples : int, float or None, default=None
        Rows per sample: a number, a fraction of the rows, or None for all. With integer sample weights, a row
        of weight k counts as k rows.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement.
    oob_score : bool or callable, default=False
        Whether to compute ``oob_prediction_`` and ``oob_score_`` from out-of-bag rows, also without
        replacement and with ``warm_start``. The score is R², or ``oob_score(y, predicted)``, with
        ``sample_weight`` if it has such an argument.
    warm_start : bool, default=False
        Whether ``fit`` keeps the members of the previous fit and adds more, up to ``n_estimators``.
    n_jobs : int or None, default=None
        Number of parallel jobs, −1 for all cores. None is all cores for Spinney's own members and 1 for
        others, within the limits of an active joblib or threadpoolctl context. The fitted ensemble does not
        depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all draws. None draws it from NumPy's global generator.
    verbose : int, default=0
        Above 0, show a progress bar.
    max_features : int or float, default=1.0
        Columns per member: a number, or a fraction of the columns.
    bootstrap_features : bool, default=False
        Whether columns are drawn with replacement.
    parameter_distributions : dict or None, default=None
        Distributions of hyper-parameters, by name as in ``set_params``: each member draws its own values. A
        distribution is a list, a frozen distribution of ``scipy.stats``, or a function of a
        ``numpy.random.Generator``.
    oob_pruning : bool, default=False
        Whether to prune each member, which must be one of Spinney's trees, by reduced-error pruning on its
        out-of-bag rows. ``oob_score_`` is then slightly optimistic.
    oob_early_stopping : bool, default=False
        Whether each member, which must be a gradient boosting or negative correlation model, stops early by
        the loss on its out-of-bag rows. ``oob_score_`` is then slightly optimistic.

    Attributes
    ----------
    estimator_ : estimator or list of estimator
        The base estimator.
    estimators_ : list of estimator
        The members.
    estimators_samples_ : list of ndarray
        Rows that each member drew, ascending and with repetitions. They are drawn again at every access.
    estimators_features_ : list of ndarray
        Columns of each member.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names.
    oob_score_ : float
        Out-of-bag score, if ``oob_score`` is set.
    oob_prediction_ : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Out-of-bag predictions, if ``oob_score`` is set; NaN for rows that every member has seen.

    Examples
    --------
    >>> X, y = np.arange(40.0)[:, None], np.arange(40.0)
    >>> model = BaggingRegressor(n_estimators=30, oob_score=True, random_state=0).fit(X, y)
    >>> bool(model.oob_score_ > 0.95)
    True
    """

    _task = "regression"
    _state_attributes = ("oob_prediction_",)

    def _default_estimator(self) -> Any:
        return DecisionTreeRegressor()

    def _predict_by(self, classes: Any) -> Predict:
        return member_values

    def predict(self, X: Any, **metadata: Any) -> NDArray[np.float64]:
        """Predict the mean of the members' predictions.

        Parameters
        ----------
        X : table-like of shape (n_rows, n_features)
            The features.
        **metadata : dict
            Further arguments for the members, with scikit-learn's metadata routing switched on.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Predicted values.
        """
        routed, values = self._route("predict", metadata), self._mean_of_trees(X)
        return self._mean(X, member_values, routed) if values is None else as_targets(values)
