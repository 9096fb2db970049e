"""One-vs-one: one member per pair of classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_method_params

from spinney.base import parameters
from spinney.core.arrays import Floats
from spinney.core.parameters import thread_count
from spinney.data.target import encode_labels
from spinney.io import require
from spinney.members.base_estimators import base_estimator_tags
from spinney.members.fitting import fit_members, run_jobs
from spinney.members.tables import (
    check_input,
    check_labels,
    count_rows,
    count_training_rows,
    describe_input,
    take_columns,
    take_rows,
)
from spinney.multiclass.base import (
    BinaryMembers,
    has_partial_fit,
    has_probabilities,
    member_score,
    read_batch,
    second_probability,
    update_members,
)
from spinney.multiclass.one_vs_rest import fit_side
from spinney.svm.platt import couple_pairs


def fit_pair(
    estimator: Any,
    X: Any,
    codes: NDArray[np.int32],
    pair: tuple[int, int],
    weights: Floats | None,
    rows: NDArray[np.int64] | None,
    metadata: Mapping[str, Any],
) -> Any:
    """Fit a member to the rows of two classes; ``rows`` are also the columns of a precomputed kernel."""
    chosen = np.flatnonzero(np.isin(codes, pair)) if rows is None else rows
    table = take_rows(X, chosen) if rows is None else take_columns(take_rows(X, chosen), chosen)
    side = (codes[chosen] == pair[1]).astype(np.int64)
    others = _check_method_params(X, dict(metadata), chosen)
    return fit_side(estimator, table, side, None if weights is None else weights[chosen], others)


@parameters
class OneVsOneClassifier(BinaryMembers):
    """One member per pair of classes, trained on the rows of both; the class with the most votes wins.

    Ties are broken by the sum of the confidences. Members may be any classifier. Tables with categories and
    missing values are passed on to them unchanged.

    Parameters
    ----------
    estimator : estimator
        What members are copies of.
    n_jobs : int or None, default=None
        Number of members fitted in parallel; −1 uses all cores. The model does not depend on it.
    verbose : int, default=0
        Above 0: show a progress bar.

    Attributes
    ----------
    estimators_ : list of estimators
        Fitted members, in the order of the pairs (0, 1), (0, 2), …, (1, 2), …
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_classes_ : int
        Number of classes.
    pairwise_indices_ : list of ndarray or None
        Rows of each pair, if the members take a precomputed kernel.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier, OneVsOneClassifier
    >>> model = OneVsOneClassifier(DecisionTreeClassifier()).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> model.predict([[2.0], [0.0]]).tolist(), len(model.estimators_)
    (['c', 'a'], 3)
    """

    _required_attributes: ClassVar[tuple[str, ...]] = ("classes_",)
    _state_attributes: ClassVar[tuple[str, ...]] = ("pairwise_indices_",)

    estimator: Any = field(kw_only=False)
    n_jobs: int | None = None
    verbose: int = 0

    classes_: NDArray[Any] = field(init=False)
    pairwise_indices_: list[NDArray[np.int64]] | None = field(default=None, init=False)

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **metadata: Any) -> Self:
        """Fit one member per pair of classes.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Anything that the members accept; it is passed on unchanged.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights.
        **metadata : dict
            Further arguments for the members, with scikit-learn's metadata routing switched on.

        Returns
        -------
        self
            The fitted classifier.
        """
        self._check_params()
        thread_count(self.n_jobs)
        n_rows = count_training_rows(X)
        described = describe_input(X)
        weights, metadata = self._route("fit", sample_weight, metadata, n_rows)
        codes, classes = encode_labels(y, n_rows)
        pairs = list(combinations(range(len(classes)), 2))
        indices = None
        if base_estimator_tags(self.estimator).input_tags.pairwise:
            indices = [np.flatnonzero(np.isin(codes, pair)) for pair in pairs]
        calls = [
            (
                self.estimator,
                X,
                codes,
                pair,
                _without_zeros(weights, codes, pair),
                indices and indices[p],
                metadata,
            )
            for p, pair in enumerate(pairs)
        ]
        members = fit_members(self, fit_pair, calls, X)
        return self._set_fitted(estimators_=members, classes_=classes, pairwise_indices_=indices, **described)

    @available_if(has_partial_fit)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **metadata: Any,
    ) -> Self:
        """Update the members with a batch of rows; available if they have ``partial_fit``.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Anything that the members accept; it is passed on unchanged.
        y : array-like of shape (n_rows,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All classes, also of later batches. The first call needs them.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights.
        **metadata : dict
            Further arguments for the members, with scikit-learn's metadata routing switched on.

        Returns
        -------
        self
            The updated classifier.

        Examples
        --------
        >>> from spinney import GaussianNB, OneVsOneClassifier
        >>> model = OneVsOneClassifier(GaussianNB()).partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
        >>> model.partial_fit([[0.2], [0.8]], [0, 1]).predict([[0.7]]).tolist()
        [1]
        """
        self._check_params()
        batch = read_batch(self, X, y, classes)
        weights, metadata = self._route("partial_fit", sample_weight, metadata, len(batch.codes))
        pairs = combinations(range(len(batch.classes)), 2)
        sides = [np.where(np.isin(batch.codes, pair), batch.codes == pair[1], -1) for pair in pairs]
        members = update_members(self, X, batch, sides, weights, metadata)
        return self._set_fitted(estimators_=members, classes_=batch.classes, **batch.described)

    # ---- prediction ----

    def _collect(self, function: Any, X: Any) -> Floats:
        """Return what a function gives of each member.  -> (n_rows, n_pairs)"""
        check_input(self, X)
        if not self.estimators_:
            return np.zeros((count_rows(X), 0))
        indices = self.pairwise_indices_
        calls = [
            (member, X if indices is None else take_columns(X, indices[p]))
            for p, member in enumerate(self.estimators_)
        ]
        return np.stack(run_jobs(function, calls, self.n_jobs), axis=1)

    def decision_function(self, X: Any) -> Floats:
        """Compute votes of the pairs, plus the sum of confidences scaled to less than half a vote.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) for two classes
            Scores; for two classes the confidence of the member, positive for the second.
        """
        scores = self._collect(member_score, X)
        if len(self.classes_) <= 2:
            return scores[:, 0] if scores.shape[1] else np.zeros(len(scores))
        votes, confidence = np.zeros((2, len(scores), len(self.classes_)))
        for p, (i, j) in enumerate(combinations(range(len(self.classes_)), 2)):
            votes[:, i] += scores[:, p] <= 0
            votes[:, j] += scores[:, p] > 0
            confidence[:, i] -= scores[:, p]
            confidence[:, j] += scores[:, p]
        return np.asarray(votes + confidence / (3.0 * (np.abs(confidence) + 1.0)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the most votes, ties by the sum of confidences.

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
        if scores.ndim == 1:
            return np.asarray(self.classes_.take((scores > 0).astype(np.intp)))
        return np.asarray(self.classes_.take(scores.argmax(axis=1)))

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Predict probabilities by coupling those of the pairs (Wu, Lin and Weng, 2004).

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        second = self._collect(second_probability, X)
        if len(self.classes_) == 1:
            return np.ones((len(second), 1))
        if len(self.classes_) == 2:
            return np.concatenate([1.0 - second, second], axis=1)
        return couple_pairs(np.clip(1.0 - second, 1e-7, 1.0 - 1e-7), len(self.classes_))

    # ---- files ----

    def _check_fitted(self) -> None:
        super()._check_fitted()
        n_classes = check_labels(self.classes_)
        n_pairs = n_classes * (n_classes - 1) // 2
        indices = vars(self).get("pairwise_indices_")
        valid = indices is None or (type(indices) is list and len(indices) == n_pairs)
        require(valid and len(self.estimators_) == n_pairs, "there is not one member per pair of classes")


def _without_zeros(weights: Floats | None, codes: NDArray[np.int32], pair: tuple[int, int]) -> Floats | None:
    """Return the weights; None if those of the pair are all 0, which no member could learn from."""
    return weights if weights is None or weights[np.isin(codes, pair)].any() else None
