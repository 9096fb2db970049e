"""Base class of classifiers over binary members, scores of members, and constant members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, is_regressor

from spinney.base import Estimator, parameters
from spinney.core.arrays import Floats
from spinney.core.parameters import FLAG, Integer, Rule
from spinney.io import require
from spinney.members.base_estimators import AnyEstimator, base_estimator_tags
from spinney.members.tables import check_described, count_rows


class BinaryMembers(ClassifierMixin, MetaEstimatorMixin, Estimator, persistent_name=""):  # type: ignore[misc]
    """Base class of classifiers whose members are copies of one estimator; tables are passed on unchanged."""

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "estimator": (AnyEstimator(),),
        "verbose": (FLAG, Integer(0)),
    }
    _required_attributes: ClassVar[tuple[str, ...]] = ("estimators_",)
    _state_attributes: ClassVar[tuple[str, ...]] = ("n_features_in_", "feature_names_in_")

    estimators_: list[Any]

    def _check_fitted(self) -> None:
        require(type(self.estimators_) is list, "the classifier has no list of members")
        for member in self.estimators_:
            require(hasattr(member, "predict"), "a member cannot predict")
        check_described(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = base_estimator_tags(self.estimator).input_tags
        return tags


@parameters
class ConstantMember(Estimator):
    """A member that was trained on one class only.

    Parameters
    ----------
    answer : int, default=0
        The class, 0 or 1.

    Examples
    --------
    >>> ConstantMember(1).predict([[0.0], [1.0]]).tolist()
    [1, 1]
    """

    answer: int = field(default=0, kw_only=False)

    def fit(self, X: Any, y: Any) -> Self:
        """Return the member, for there is nothing to learn.

        Parameters
        ----------
        X : table
            Ignored.
        y : array-like
            Ignored.

        Returns
        -------
        self
        """
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the constant class.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return np.full(count_rows(X), int(self.answer))

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities 0 and 1.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, 2)
        """
        return np.repeat([[1.0 - self.answer, float(self.answer)]], count_rows(X), axis=0)

    def decision_function(self, X: Any) -> Floats:
        """Return −1 or 1.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return np.full(count_rows(X), 2.0 * self.answer - 1.0)


def member_score(member: Any, X: Any) -> Floats:
    """Return the confidence of one member, 0 where it is undecided.  -> (n_rows,)

    The decision function, p − ½ of the probability, or what a regressor predicts.
    """
    if is_regressor(member):
        return np.asarray(member.predict(X), dtype=np.float64) - 0.5
    if hasattr(member, "decision_function"):
        return np.asarray(member.decision_function(X), dtype=np.float64).reshape(-1)
    return second_probability(member, X) - 0.5


def second_probability(member: Any, X: Any) -> Floats:
    """Return the probability of class 1 of one member, which may know one class only.  -> (n_rows,)"""
    found = np.asarray(member.predict_proba(X), dtype=np.float64)
    if found.shape[1] == 1:
        return np.full(len(found), float(np.asarray(member.classes_)[0] == 1))
    return found[:, 1]


def has_probabilities(model: Any) -> bool:
    """Return True if the members have ``predict_proba``, for ``available_if``."""
    members = getattr(model, "estimators_", None)
    return hasattr(members[0] if members else model.estimator, "predict_proba")
