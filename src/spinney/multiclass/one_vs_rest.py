"""One-vs-rest: one member per class or label."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from spinney.base import parameters
from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.parameters import thread_count
from spinney.data.sparse import checked_sparse
from spinney.data.target import encode_labels, read_target
from spinney.io import require
from spinney.members.base_estimators import make_member
from spinney.members.fitting import fit_member, fit_members, run_jobs
from spinney.members.tables import check_input, check_labels, count_rows, count_training_rows, describe_input
from spinney.multiclass.base import (
    BinaryMembers,
    ConstantMember,
    has_partial_fit,
    has_probabilities,
    member_score,
    read_batch,
    second_probability,
    update_members,
)

if TYPE_CHECKING:
    from sklearn.preprocessing import LabelBinarizer


def read_labels(y: Any, n_rows: int) -> NDArray[np.int64] | None:
    """Return a multi-label target as 0 and 1 (n_rows, n_labels), None if y has one label per row.

    >>> read_labels([[1, 0], [0, 1]], 2).tolist(), read_labels([1, 0], 2)
    ([[1, 0], [0, 1]], None)
    """
    if sparse.issparse(y):
        y = checked_sparse(y, "y").toarray()
    target = read_target(y, n_rows)
    if target.ndim == 1:
        return None
    if not np.isin(target, (0, 1)).all():
        raise InputError("A multi-label y holds 0 and 1 only, one column per label.")
    return target.astype(np.int64)


def fit_side(
    estimator: Any, X: Any, side: NDArray[np.int64], weights: Floats | None, metadata: Mapping[str, Any]
) -> Any:
    """Fit a member to 0 and 1, or make it constant if only one of them has weight.  side (n_rows,)"""
    seen = side if weights is None else side[weights > 0]
    if seen.min() == seen.max():
        return ConstantMember(int(seen[0]))
    return fit_member(make_member(estimator), X, side, weights, **metadata)


def _against_rest(codes: NDArray[np.int32], n_classes: int) -> list[NDArray[np.int64]]:
    """Return the target of each member, 1 for the rows of its class; of two classes, for the second only."""
    chosen = range(n_classes) if n_classes > 2 else range(1, n_classes)
    return [(codes == k).astype(np.int64) for k in chosen]


@parameters
class OneVsRestClassifier(BinaryMembers):
    """One member per class, which separates it from the rest; the largest score wins.

    With a multi-label target, a matrix of 0 and 1, there is one member per label, and each answers by itself
    (binary relevance). Members may be any classifier or regressor. Tables with categories and missing values
    are passed on to them unchanged.

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
        Fitted members: one per class or label, or a single one for two classes.
    classes_ : ndarray of shape (n_classes,)
        Class labels, or the positions of the labels.
    n_classes_ : int
        Number of classes or labels.
    label_binarizer_ : LabelBinarizer
        What turns y into a column per class or label, as scikit-learn has it.
    multilabel_ : bool
        Whether the target was multi-label.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier, OneVsRestClassifier
    >>> model = OneVsRestClassifier(DecisionTreeClassifier()).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> model.predict([[2.0], [0.0]]).tolist(), len(model.estimators_)
    (['c', 'a'], 3)
    """

    _required_attributes: ClassVar[tuple[str, ...]] = ("classes_", "multilabel_")

    estimator: Any = field(kw_only=False)
    n_jobs: int | None = None
    verbose: int = 0

    classes_: NDArray[Any] = field(init=False)
    multilabel_: bool = field(init=False)

    @property
    def n_classes_(self) -> int:
        """Number of classes or labels."""
        return len(self.classes_)

    @property
    def label_binarizer_(self) -> LabelBinarizer:
        """What turns y into a column per class or label, as scikit-learn has it."""
        from sklearn.preprocessing import LabelBinarizer

        binarizer = LabelBinarizer(sparse_output=True)
        return binarizer.fit(np.eye(self.n_classes_, dtype=int) if self.multilabel_ else self.classes_)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **metadata: Any) -> Self:
        """Fit one member per class or label.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Anything that the members accept; it is passed on unchanged.
        y : array-like of shape (n_rows,), or (n_rows, n_labels) of 0 and 1
            Class labels, or which labels a row has.
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
        labels = read_labels(y, n_rows)
        if labels is not None:
            classes, sides = np.arange(labels.shape[1]), list(labels.T.copy())
        else:
            codes, classes = encode_labels(y, n_rows)
            sides = _against_rest(codes, len(classes))
        calls = [(self.estimator, X, side, weights, metadata) for side in sides]
        members = fit_members(self, fit_side, calls, X)
        if labels is not None:
            for label, side in enumerate(sides):
                if side.min() == side.max():
                    given = label if side[0] else f"not {label}"
                    warnings.warn(
                        f"Label {given} is present in all training examples.", UserWarning, stacklevel=3
                    )
        return self._set_fitted(
            estimators_=members, classes_=classes, multilabel_=labels is not None, **described
        )

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
        >>> from spinney import GaussianNB, OneVsRestClassifier
        >>> model = OneVsRestClassifier(GaussianNB()).partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
        >>> model.partial_fit([[0.2], [0.8]], [0, 1]).predict([[0.7]]).tolist()
        [1]
        """
        self._check_params()
        batch = read_batch(self, X, y, classes)
        weights, metadata = self._route("partial_fit", sample_weight, metadata, len(batch.codes))
        sides = _against_rest(batch.codes, len(batch.classes))
        members = update_members(self, X, batch, sides, weights, metadata)
        return self._set_fitted(
            estimators_=members, classes_=batch.classes, multilabel_=False, **batch.described
        )

    # ---- prediction ----

    def decision_function(self, X: Any) -> Floats:
        """Compute the score of each class or label: the decision function of its member, or p − ½.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) for two classes
            Scores.
        """
        check_input(self, X)
        if not self.estimators_:
            return np.zeros(count_rows(X))
        calls = [(member, X) for member in self.estimators_]
        scores = np.stack(run_jobs(member_score, calls, self.n_jobs), axis=1)
        return scores[:, 0] if not self.multilabel_ and len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the largest score, or the labels with a positive one.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_labels) of 0 and 1
            Class labels, or which labels a row has.
        """
        scores = self.decision_function(X)
        if self.multilabel_:
            return (scores > 0).astype(np.int64)
        best = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_.take(best))

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Predict probabilities: of members, divided by their sum over the classes unless multi-label.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities, in the order of ``classes_``. If there was a single class, a column of zeros
            follows its column of ones, as in scikit-learn.
        """
        check_input(self, X)
        if not self.estimators_:
            return np.tile([1.0, 0.0], (count_rows(X), 1))
        calls = [(member, X) for member in self.estimators_]
        found = np.stack(run_jobs(second_probability, calls, self.n_jobs), axis=1)
        if self.multilabel_:
            return found
        if len(self.classes_) == 2:
            return np.concatenate([1.0 - found, found], axis=1)
        total = found.sum(axis=1, keepdims=True)
        # Where no member claims a row, all classes are alike.
        alike = np.full_like(found, 1.0 / found.shape[1])
        return np.asarray(np.divide(found, total, out=alike, where=total > 0))

    # ---- files ----

    def _check_fitted(self) -> None:
        super()._check_fitted()
        n_classes = check_labels(self.classes_)
        n_members = n_classes if self.multilabel_ or n_classes > 2 else n_classes - 1
        valid = type(self.multilabel_) is bool and len(self.estimators_) == n_members
        require(valid, "there is not one member per class")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
