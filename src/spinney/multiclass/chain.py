"""Classifier chains for multi-label targets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from spinney.base import parameters
from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, Integer, Kind, OneOf, Rule, draw_seed
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.core.progress import track
from spinney.core.seeds import stream
from spinney.data.sparse import checked_sparse
from spinney.data.target import read_target
from spinney.io import require
from spinney.members.base_estimators import AnyEstimator, make_member
from spinney.members.fitting import fit_member
from spinney.members.joined import join_columns
from spinney.members.tables import check_input, count_training_rows, describe_input
from spinney.multiclass.base import BinaryMembers, has_probabilities, member_score, second_probability


def second_log_probability(member: Any, X: Any) -> Floats:
    """Return the logarithm of the probability of class 1 of one member.  -> (n_rows,)"""
    with np.errstate(divide="ignore"):
        return np.log(second_probability(member, X))


_METHODS = {
    "predict_proba": second_probability,
    "predict_log_proba": second_log_probability,
    "decision_function": member_score,
}


def _label_names(names: Iterable[str], n_labels: int) -> list[str]:
    """Return names of the columns that a chain adds to those of X.

    >>> _label_names(["age", "label 1"], 2)
    ['label_ 0', 'label_ 1']
    """
    taken, prefix = set(names), "label"
    while any(f"{prefix} {k}" in taken for k in range(n_labels)):
        prefix += "_"
    return [f"{prefix} {k}" for k in range(n_labels)]


@parameters
class ClassifierChain(BinaryMembers):
    """Chain of classifiers for several labels (Read et al., 2009).

    The member of each label sees the features and the labels before it in the chain: the true ones (or
    out-of-fold predictions, with ``cv``) at fit time, predicted ones at predict time. So labels that depend
    on each other are predicted together.

    Parameters
    ----------
    estimator : classifier
        What members are copies of.
    order : array-like of shape (n_labels,), "random" or None, default=None
        Order of the labels in the chain; None is that of the columns of y.
    cv : int, cross-validation splitter or None, default=None
        How to make out-of-fold predictions as features; None takes the true labels.
    chain_method : {"predict", "predict_proba", "predict_log_proba", "decision_function"}, default="predict"
        What the chain hands on.
    random_state : int, RandomState, Generator or None, default=None
        Seed of order="random" and of the members; None leaves the members their own random states.
    verbose : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    estimators_ : list of estimators
        Fitted members, in the order of the chain.
    order_ : ndarray of shape (n_labels,)
        Order of the labels.
    classes_ : list of ndarray
        Classes of each label, in the order of the columns of y.
    chain_method_ : str
        What the chain hands on.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import ClassifierChain, DecisionTreeClassifier
    >>> model = ClassifierChain(DecisionTreeClassifier()).fit([[0.0], [1.0], [2.0]], [[0, 0], [0, 1], [1, 1]])
    >>> model.predict([[2.0], [0.0]]).tolist()
    [[1, 1], [0, 0]]
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "estimator": (AnyEstimator(),),
        "order": (NONE, OneOf("random"), ArrayRule()),
        "cv": (NONE, Integer(2), Kind("a cross-validation splitter", object)),
        "chain_method": (OneOf("predict", "predict_proba", "predict_log_proba", "decision_function"),),
        "verbose": (FLAG, Integer(0)),
    }
    _required_attributes: ClassVar[tuple[str, ...]] = ("classes_", "order_", "chain_method_")

    estimator: Any = field(kw_only=False)
    order: ArrayLike | Literal["random"] | None = None
    cv: Any = None
    chain_method: Literal["predict", "predict_proba", "predict_log_proba", "decision_function"] = "predict"
    random_state: Any = None
    verbose: bool = False

    classes_: list[NDArray[Any]] = field(init=False)
    order_: NDArray[np.int64] = field(init=False)
    chain_method_: str = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **metadata: Any) -> Self:
        """Fit the members one after the other.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Anything that the members accept.
        y : array-like of shape (n_rows, n_labels)
            The labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights.
        **metadata : dict
            Further arguments for the members, with scikit-learn's metadata routing switched on.

        Returns
        -------
        self
            The fitted chain.
        """
        self._check_params()
        n_rows, described = count_training_rows(X), describe_input(X)
        target = _read_label_columns(y, n_rows)
        weights, metadata = self._route("fit", sample_weight, metadata, n_rows)
        seed = draw_seed(self.random_state)
        order = self._read_order(target.shape[1], seed)
        handed = np.zeros((n_rows, len(order)))
        names = _label_names(described.get("feature_names_in_", ()), len(order))
        members = []
        title = f"{type(self).__name__}: fitting members" if self.verbose else None
        for step, label in enumerate(track(order.tolist(), title, len(order))):
            drawn = None if self.random_state is None else int(stream(seed, step + 1).integers(2**63))
            member = make_member(self.estimator, drawn)
            table = join_columns(handed[:, :step], names[:step], X, last=True) if step else X
            column = target[:, label]
            members.append(fit_member(member, table, column, weights, **metadata))
            if self.cv is None:
                handed[:, step] = column
            else:
                from sklearn.model_selection import cross_val_predict

                method = self.chain_method
                found = cross_val_predict(self.estimator, table, column, cv=self.cv, method=method)
                handed[:, step] = found[:, 1] if found.ndim == 2 else found
        classes: list[Any] = [None] * len(order)
        for member, label in zip(members, order.tolist(), strict=True):
            classes[label] = np.asarray(member.classes_)
        return self._set_fitted(
            estimators_=members, classes_=classes, order_=order, chain_method_=self.chain_method, **described
        )

    def _read_order(self, n_labels: int, seed: int) -> NDArray[np.int64]:
        if self.order is None:
            return np.arange(n_labels)
        if isinstance(self.order, str):
            return stream(seed, 0).permutation(n_labels)
        order = np.asarray(self.order)
        if sorted(order.tolist()) != list(range(n_labels)):
            raise InputError(f"invalid order: it must hold each of 0, …, {n_labels - 1} once.")
        return order.astype(np.int64)

    # ---- prediction ----

    def _run(self, X: Any, output: str) -> Floats:
        """Return what the members say, in the order of the columns of y.  -> (n_rows, n_labels)"""
        check_input(self, X)
        first = len(self.estimators_)
        names = _label_names(vars(self).get("feature_names_in_", ()), first)
        handed: Floats | None = None
        out: list[Any] = [None] * first
        for step, (member, label) in enumerate(zip(self.estimators_, self.order_.tolist(), strict=True)):
            table = X if handed is None else join_columns(handed[:, :step], names[:step], X, last=True)
            answer = _response(member, table, self.chain_method_)
            if handed is None:
                handed = np.zeros((len(answer), first))
            handed[:, step] = answer
            out[label] = answer if output == self.chain_method_ else _response(member, table, output)
        return np.stack(out, axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict all labels.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_labels)
            The labels.
        """
        return self._run(X, "predict")

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of the second class of each label.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_labels)
            Probabilities.
        """
        return self._run(X, "predict_proba")

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """Predict the logarithm of the probability of the second class of each label.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_labels)
            Logarithms of probabilities.
        """
        return self._run(X, "predict_log_proba")

    def decision_function(self, X: Any) -> Floats:
        """Compute the score of each label.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_labels)
            Decision functions of the members, or p − ½.
        """
        return self._run(X, "decision_function")

    # ---- files ----

    def _check_fitted(self) -> None:
        super()._check_fitted()
        n = len(self.estimators_)
        valid = isinstance(self.order_, np.ndarray) and sorted(self.order_.tolist()) == list(range(n))
        valid = valid and n > 0 and type(self.classes_) is list and len(self.classes_) == n
        require(valid and self.chain_method_ in (*_METHODS, "predict"), "the chain is damaged")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


def _read_label_columns(y: Any, n_rows: int) -> NDArray[Any]:
    """Return y as one column per label; a single column is a chain of one."""
    if sparse.issparse(y):
        y = checked_sparse(y, "y").toarray()
    shape = np.shape(y)
    if len(shape) == 2 and shape[1] == 1:
        return read_target(np.asarray(y)[:, 0], n_rows)[:, None]
    target = read_target(y, n_rows)
    if target.ndim != 2:
        raise InputError("A chain needs a multi-label y of shape (n_rows, n_labels), not a 1d array.")
    return target


def _response(member: Any, X: Any, method: str) -> Any:
    """Return what a member predicts, as one number per row."""
    return member.predict(X) if method == "predict" else _METHODS[method](member, X)
