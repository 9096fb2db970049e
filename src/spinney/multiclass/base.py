"""Base class of classifiers over binary members, scores of members, and constant members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, is_regressor
from sklearn.utils.validation import _check_method_params

from spinney.base import Estimator, parameters
from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, Integer, Rule
from spinney.data.target import encode_labels, encode_like, read_labels
from spinney.io import require
from spinney.members.base_estimators import AnyEstimator, base_estimator_tags, make_member
from spinney.members.fitting import run_jobs
from spinney.members.metadata import RoutesToEstimator
from spinney.members.tables import (
    check_described,
    check_input,
    count_rows,
    count_training_rows,
    describe_input,
    take_rows,
)


class BinaryMembers(ClassifierMixin, RoutesToEstimator, Estimator, persistent_name=""):  # type: ignore[misc]
    """Base class of classifiers whose members are copies of one estimator; tables are passed on unchanged."""

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "estimator": (AnyEstimator(),),
        "verbose": (FLAG, Integer(0)),
    }
    _required_attributes: ClassVar[tuple[str, ...]] = ("estimators_",)
    _state_attributes: ClassVar[tuple[str, ...]] = ("n_features_in_", "feature_names_in_")

    estimator: Any
    estimators_: list[Any]

    def _template(self) -> Any:
        return self.estimator

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


# ---- partial_fit ----


class Batch(NamedTuple):
    """One batch of ``partial_fit``: class codes, all classes, members so far, description of the columns."""

    codes: NDArray[np.int32]
    classes: NDArray[Any]
    members: list[Any] | None
    described: dict[str, Any]


def has_partial_fit(model: Any) -> bool:
    """Return True if the members have ``partial_fit``, for ``available_if``."""
    return hasattr(model.estimator, "partial_fit")


def read_batch(model: Any, X: Any, y: Any, classes: Any) -> Batch:
    """Read the rows of ``partial_fit``; its first call has all classes, which later ones cannot add to."""
    n_rows = count_training_rows(X)
    labels = read_labels(y, n_rows)
    if not hasattr(model, "estimators_"):
        if classes is None:
            raise InputError("classes must be passed on the first call to partial_fit.")
        known, members, described = encode_labels(classes, len(classes))[1], None, describe_input(X)
    else:
        check_input(model, X)
        known, members = model.classes_, model.estimators_
        if classes is not None and not np.array_equal(encode_labels(classes, len(classes))[1], known):
            raise InputError(
                f"`classes={classes}` is not the same as on last call to partial_fit, was: {known}"
            )
        names = ("n_features_in_", "feature_names_in_")
        described = {name: vars(model)[name] for name in names if name in vars(model)}
    codes = encode_like(labels, [known])[:, 0]
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise InputError(
            f"Mini-batch contains {np.unique(labels)} while it must be subset of {known}",
            row=row,
            fix="Pass all classes to the first call of partial_fit.",
        )
    return Batch(codes, known, members, described)


def update_members(
    model: Any,
    X: Any,
    batch: Batch,
    sides: list[NDArray[np.int64]],
    weights: Floats | None,
    metadata: Mapping[str, Any],
) -> list[Any]:
    """Call ``partial_fit`` of each member, with its rows of the batch: those whose side is 0 or 1, not −1."""
    members = batch.members or [make_member(model.estimator) for _ in sides]
    if any(isinstance(member, ConstantMember) for member in members):
        raise InputError(
            "A member is constant, because fit saw one class only, and partial_fit cannot change it",
            fix="Begin with partial_fit instead of fit.",
        )
    calls = [(member, X, side, weights, metadata) for member, side in zip(members, sides, strict=True)]
    return run_jobs(_update_member, calls, model.n_jobs)


def _update_member(
    member: Any, X: Any, side: NDArray[np.int64], weights: Floats | None, metadata: Mapping[str, Any]
) -> Any:
    """Call ``partial_fit`` of one member, and return it."""
    rows = np.flatnonzero(side >= 0)
    if len(rows):
        table = X if len(rows) == len(side) else take_rows(X, rows)
        options: dict[str, Any] = {} if is_regressor(member) else {"classes": np.array([0, 1])}
        if weights is not None:
            options["sample_weight"] = weights[rows]
        options |= _check_method_params(X, dict(metadata), rows)
        member.partial_fit(table, side[rows], **options)
    return member
