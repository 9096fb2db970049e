"""`VotingClassifier` and `VotingRegressor`: votes or means of members, rejection, risk–coverage curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from spinney.base import parameters
from spinney.core.errors import InputError, show_value
from spinney.core.frames import to_frame
from spinney.core.parameters import FLAG, NONE, OneOf, Real, Rule
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.data.target import encode_like, read_target
from spinney.data.weights import check_weights
from spinney.ensembles.base import RULES, _WeightedMean
from spinney.ensembles.least_squares import convex_weights
from spinney.ensembles.predictions import Array, FitTask, Method, choose_method
from spinney.members.tables import count_rows, describe_input

REJECTED = -1
# Probabilities are sums of a few weights; smaller differences are rounding.
_TOLERANCE = 1e-12

# ---- decisions ----


def decide(probabilities: Array, quorum: float | None) -> NDArray[np.intp]:
    """Return the class with the largest probability, REJECTED unless it exceeds the quorum.

    probabilities (n_rows, n_classes), each row with sum 1 -> (n_rows,). Of equal classes the first is chosen.

    >>> decide(np.array([[0.5, 0.5], [0.4, 0.6]]), quorum=0.5).tolist()
    [-1, 1]
    """
    largest = probabilities.max(axis=1)
    codes = np.argmax(probabilities >= largest[:, None] - _TOLERANCE, axis=1)
    return codes if quorum is None else np.where(largest > quorum + _TOLERANCE, codes, REJECTED)


def labels_with_rejection(classes: NDArray[Any], reject_label: Any) -> NDArray[Any]:
    """Return the classes followed by the label of rejected rows, which the code −1 then selects.

    A label of another type than the classes makes an object array: 7 does not become "7".

    >>> labels_with_rejection(np.array(["no", "yes"]), "unsure").tolist()
    ['no', 'yes', 'unsure']
    """
    if reject_label is None:
        raise InputError(
            'With rule="majority" some rows may have no class with enough votes',
            fix="Set reject_label to the label that predict returns for them.",
        )
    if reject_label in classes.tolist():
        raise InputError(
            f"The reject_label {show_value(reject_label)} is also a class",
            fix="Choose a label that no row has.",
        )
    kind = classes.dtype.kind
    if kind in "Ob" or isinstance(reject_label, str) != (kind in "US"):
        joined = np.empty(len(classes) + 1, dtype=object)
        joined[:-1], joined[-1] = classes.tolist(), reject_label
        return joined
    return np.append(classes, np.asarray(reject_label))


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """Risk–coverage curve: the error among predicted rows for every number of rows that are not rejected.

    Point i predicts the rows whose largest probability is at least ``threshold[i]``.

    Parameters
    ----------
    threshold : ndarray of shape (n_points,)
        Smallest confidence of the predicted rows, descending.
    coverage : ndarray of shape (n_points,)
        Fraction of the total row weight that is predicted.
    risk : ndarray of shape (n_points,)
        Fraction of the predicted weight that is predicted wrongly.

    Examples
    --------
    >>> from spinney.ensembles.voting import risk_coverage
    >>> curve = risk_coverage(np.array([0.9, 0.6, 0.6]), np.array([True, False, True]))
    >>> curve.coverage.round(2).tolist(), curve.risk.round(2).tolist()
    ([0.33, 1.0], [0.0, 0.33])
    """

    threshold: Array
    coverage: Array
    risk: Array

    @property
    def area(self) -> float:
        """Area under the steps: the mean risk over all coverages. Less is better."""
        return float(self.risk @ np.diff(self.coverage, prepend=0.0))

    def to_frame(self) -> Any:
        """Return the curve as a data frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            One row per point; polars if pandas is not installed.
        """
        return to_frame({name: column.tolist() for name, column in vars(self).items()})


def risk_coverage(
    confidence: Array, correct: NDArray[np.bool_], weights: Array | None = None
) -> RiskCoverage:
    """Return risk and coverage at each distinct confidence, largest first.  All arguments (n_rows,)"""
    weights = np.ones(len(confidence)) if weights is None else weights
    order = np.argsort(-confidence, kind="stable")
    ranked = confidence[order]
    last = np.append(ranked[:-1] > ranked[1:], True)
    weight, wrong = np.cumsum(weights[order]), np.cumsum((weights * ~correct)[order])
    last &= weight > 0  # there is no risk before the first row with weight
    return RiskCoverage(ranked[last], weight[last] / weight[-1], wrong[last] / weight[last])


# ---- estimators ----


@parameters
class _Voting(TransformerMixin, _WeightedMean):  # type: ignore[misc]
    """Base class of voting ensembles: given or learned weights of the members."""

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = RULES | {
        "weights": (NONE, OneOf("learned"), ArrayRule()),
        "voting": (OneOf("hard", "soft"),),
        "rule": (OneOf("plurality", "majority"),),
        "quorum": (NONE, Real(0.0, 1.0, open_ends=")")),
        "flatten_transform": (FLAG,),
    }

    weights: ArrayLike | Literal["learned"] | None = None

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, groups: Any = None, **metadata: Any
    ) -> Self:
        """Fit a copy of each estimator, and learn the weights of the members if asked to.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Anything that all members accept; it is passed on unchanged.
        y : array-like of shape (n_rows,)
            Class labels or target values.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights for every member and for learning the weights of the members.
        groups : array-like of shape (n_rows,), default=None
            Groups of the rows, for the splitter given as ``cv``.
        **metadata : dict
            Further arguments for the members, with scikit-learn's metadata routing switched on.

        Returns
        -------
        self
            The fitted ensemble.
        """
        task = self._read_task(X, y, sample_weight, groups, metadata)
        methods = self._methods(task.names, task.members)
        weights = self._given_weights(task)
        if weights is None:
            held_out = self._predict_held_out(task, methods)
            row_weights = None if task.weights is None else task.weights[held_out.rows]
            target = task.target_columns()[held_out.rows]
            weights = convex_weights(held_out.predictions, target, row_weights)
        return self._set_fitted(
            estimators_=self._fit_members(task),
            _names=list(task.names),
            weights_=weights,
            classes_=task.classes,
            **describe_input(X),
        )

    def _given_weights(self, task: FitTask) -> Array | None:
        """Return the weights with sum 1, None if they are to be learned."""
        if isinstance(self.weights, str):
            return None
        if self.weights is None:
            return np.full(len(task.members), 1.0 / len(task.members))
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (len(self.estimators),):
            problem = f"weights has the shape {weights.shape} for {len(self.estimators)} estimators"
            raise InputError(problem, fix="Give one weight per estimator, also for those that are dropped.")
        weights = weights[list(task.indices)]
        if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
            raise InputError("weights must be finite, at least 0, and not all 0.")
        return np.asarray(weights / weights.sum())

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the columns of ``transform``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features of X, which must be those seen during fit.

        Returns
        -------
        ndarray of str
            Names made of the class, the member and the index of the class.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        stem, suffixes = type(self).__name__.lower(), self._column_suffixes()
        return np.array([f"{stem}_{name}{end}" for name in self._names for end in suffixes], dtype=object)

    def _column_suffixes(self) -> list[str]:
        return [""]


@parameters
class VotingClassifier(ClassifierMixin, _Voting):  # type: ignore[misc]
    """Voting of classifiers, by majority or plurality, with optional rejection.

    Parameters
    ----------
    estimators : list of (str, estimator) pairs
        The members by name; "drop" leaves one out.
    cv : int, splitter, list of splits, "loo", "prefit" or None, default=None
        Splits of the out-of-fold predictions that weights are learned from; None is 5 folds. With "prefit"
        the members are fitted already, and X should be rows that they have not seen.
    n_jobs : int or None, default=None
        Number of members fitted in parallel, −1 for all cores. None is all cores for Spinney's own members
        and 1 for others, within the limits of an active joblib or threadpoolctl context. The model does not
        depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed from which the members get their random states; None leaves theirs alone.
    verbose : int, default=0
        Above 0: show a progress bar.
    weights : array-like of shape (n_estimators,), "learned" or None, default=None
        Weights of the votes; None weighs all the same. "learned" minimizes the squared error (Brier score)
        of out-of-fold predictions over weights ≥ 0 with sum 1.
    voting : {"hard", "soft"}, default="hard"
        "hard": each member votes for one class; "soft": probabilities are averaged.
    rule : {"plurality", "majority"}, default="plurality"
        "plurality" predicts the class with the most votes, the first in ``classes_`` of equals. "majority"
        also requires more than half of the votes, or more than ``quorum``, and else rejects the row.
    quorum : float in [0, 1) or None, default=None
        Fraction of the votes that a class must exceed with rule="majority"; None is 0.5.
    reject_label : object, default=None
        Label of rejected rows, which no class has. Required with rule="majority".
    flatten_transform : bool, default=True
        With soft voting, return a 2-D array from ``transform``.

    Attributes
    ----------
    estimators_ : list of estimators
        Fitted members.
    named_estimators_ : Bunch
        Fitted members by name.
    weights_ : ndarray of shape (n_members,)
        Weights of the votes, with sum 1.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import C45Classifier, DecisionTreeClassifier, VotingClassifier
    >>> members = [("cart", DecisionTreeClassifier()), ("c4.5", C45Classifier())]
    >>> VotingClassifier(members).fit([[0.0], [1.0]], ["a", "b"]).predict([[0.2]]).tolist()
    ['a']
    """

    _task = "classification"

    voting: Literal["hard", "soft"] = "hard"
    rule: Literal["plurality", "majority"] = "plurality"
    quorum: float | None = None
    reject_label: Any = None
    flatten_transform: bool = True

    def _read_task(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, metadata: Mapping[str, Any]
    ) -> FitTask:
        task = super()._read_task(X, y, sample_weight, groups, metadata)
        if self.rule == "plurality" and self.quorum is not None:
            raise InputError('quorum is only used with rule="majority".', fix="Set quorum=None.")
        if self.rule == "majority":
            assert task.classes is not None
            labels_with_rejection(task.classes, self.reject_label)
        return task

    def _method(self, name: str, member: Any) -> Method:
        return "votes" if self.voting == "hard" else choose_method(name, member, ("predict_proba",))

    def predict_proba(self, X: Any) -> Array:
        """Predict the fraction of the votes for each class; with soft voting, the mean probability.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Fractions with sum 1.
        """
        return self._mean(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the most votes, or ``reject_label`` if it has too few.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class labels.
        """
        codes, labels = decide(self._mean(X), self._quorum()), self.classes_
        if self.rule == "majority":
            labels = labels_with_rejection(labels, self.reject_label)
        return np.asarray(labels.take(codes))

    def _quorum(self) -> float | None:
        """Return the fraction of the votes that a class must exceed, None if there is none."""
        if self.rule == "plurality":
            return None
        return 0.5 if self.quorum is None else float(self.quorum)

    def coverage(self, X: Any) -> float:
        """Return the fraction of rows that are not rejected; 1 with rule="plurality".

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        float
            The coverage.
        """
        return float((decide(self._mean(X), self._quorum()) >= 0).mean())

    def risk_coverage(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> RiskCoverage:
        """Compute the error among predicted rows for each coverage, most confident rows first.

        The curve does not depend on ``rule`` and ``quorum``, and helps to choose them.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict, not those of the fit.
        y : array-like of shape (n_rows,)
            Their class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights.

        Returns
        -------
        RiskCoverage
            The curve.
        """
        probabilities = self._mean(X)
        n_rows = count_rows(X)
        codes = encode_like(read_target(y, n_rows), [self.classes_])[:, 0]
        correct = decide(probabilities, None) == codes
        return risk_coverage(probabilities.max(axis=1), correct, check_weights(sample_weight, n_rows))

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the predictions of each member.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray
            Hard voting: class codes (n_rows, n_members). Soft voting: probabilities
            (n_rows, n_members · n_classes), or (n_members, n_rows, n_classes) if not flattened.
        """
        each = self._member_probabilities(X)
        if self.voting == "hard":
            return np.column_stack([votes.argmax(axis=1) for votes in each])
        return np.hstack(each) if self.flatten_transform else np.stack(each)

    def _column_suffixes(self) -> list[str]:
        if self.voting == "hard":
            return [""]
        if not self.flatten_transform:
            raise InputError('With voting="soft" and flatten_transform=False there are no columns to name.')
        return [str(k) for k in range(len(self.classes_))]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


class VotingRegressor(RegressorMixin, _Voting):  # type: ignore[misc]
    """Weighted mean of the predictions of regressors.

    Parameters
    ----------
    estimators : list of (str, estimator) pairs
        The members by name; "drop" leaves one out.
    cv : int, splitter, list of splits, "loo", "prefit" or None, default=None
        Splits of the out-of-fold predictions that weights are learned from; None is 5 folds. With "prefit"
        the members are fitted already, and X should be rows that they have not seen.
    n_jobs : int or None, default=None
        Number of members fitted in parallel, −1 for all cores. None is all cores for Spinney's own members
        and 1 for others, within the limits of an active joblib or threadpoolctl context. The model does not
        depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed from which the members get their random states; None leaves theirs alone.
    verbose : int, default=0
        Above 0: show a progress bar.
    weights : array-like of shape (n_estimators,), "learned" or None, default=None
        Weights of the mean; None weighs all the same. "learned" minimizes the squared error of out-of-fold
        predictions over weights ≥ 0 with sum 1.

    Attributes
    ----------
    estimators_ : list of estimators
        Fitted members.
    named_estimators_ : Bunch
        Fitted members by name.
    weights_ : ndarray of shape (n_members,)
        Weights of the mean, with sum 1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import DecisionTreeRegressor, ObliqueTreeRegressor, VotingRegressor
    >>> members = [("cart", DecisionTreeRegressor()), ("oblique", ObliqueTreeRegressor(random_state=0))]
    >>> VotingRegressor(members).fit([[0.0], [1.0]], [2.0, 4.0]).predict([[0.2]]).tolist()
    [2.0]
    """

    _task = "regression"

    def predict(self, X: Any) -> Array:
        """Predict the weighted mean of the members.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predictions.
        """
        return self._mean(X)[:, 0]

    def transform(self, X: Any) -> Array:
        """Return the predictions of each member.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_members)
            Predictions.
        """
        return np.hstack(self._member_probabilities(X))
