"""`VotingClassifier` and `VotingRegressor`: votes or means of members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from spinney.base import parameters
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, OneOf, Real, Rule
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.data.target import by_output, encode_like, read_target
from spinney.data.weights import check_weights
from spinney.ensembles.base import RULES, _WeightedMean
from spinney.ensembles.decisions import (
    RiskCoverage,
    choose_labels,
    decide,
    labels_with_rejection,
    risk_coverage,
)
from spinney.ensembles.least_squares import convex_weights
from spinney.ensembles.predictions import Array, FitTask, Method, choose_method, split_columns
from spinney.members.tables import count_rows, describe_input

if TYPE_CHECKING:
    from sklearn.preprocessing import LabelEncoder


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
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Class labels or target values; several outputs if all members support them.
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
            **self._describe_outputs(task),
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
            problem = (
                "Number of `estimators` and weights must be equal; "
                f"weights has the shape {weights.shape} for {len(self.estimators)} estimators"
            )
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
        return [""] if self.n_outputs_ == 1 else [str(k) for k in range(self.n_outputs_)]


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
    classes_ : ndarray of shape (n_classes,), or list of ndarray
        Class labels, a list if there are several outputs.
    le_ : LabelEncoder, or list of LabelEncoder
        What turns labels into the positions of their classes, as scikit-learn has it; one per output.
    n_outputs_ : int
        Number of outputs.
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

    @property
    def le_(self) -> LabelEncoder | list[LabelEncoder]:
        """What turns labels into the positions of their classes, as scikit-learn has it; one per output."""
        from sklearn.preprocessing import LabelEncoder

        encoders = [LabelEncoder().fit(classes) for classes in by_output(self.classes_)]
        return encoders if isinstance(self.classes_, list) else encoders[0]

    def _read_task(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, metadata: Mapping[str, Any]
    ) -> FitTask:
        task = super()._read_task(X, y, sample_weight, groups, metadata)
        if self.rule == "plurality" and self.quorum is not None:
            raise InputError('quorum is only used with rule="majority".', fix="Set quorum=None.")
        if self.rule == "majority":
            for labels in by_output(task.classes):
                labels_with_rejection(labels, self.reject_label)
        return task

    def _method(self, name: str, member: Any) -> Method:
        return "votes" if self.voting == "hard" else choose_method(name, member, ("predict_proba",))

    def predict_proba(self, X: Any) -> Any:
        """Predict the fraction of the votes for each class; with soft voting, the mean probability.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or list of such arrays with several outputs
            Fractions with sum 1.
        """
        return self._mean_probabilities(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the most votes, or ``reject_label`` if it has too few.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Class labels.
        """
        probabilities, outputs = by_output(self.predict_proba(X)), by_output(self.classes_)
        if self.rule == "majority":
            outputs = [labels_with_rejection(labels, self.reject_label) for labels in outputs]
        return choose_labels(probabilities, outputs, self._quorum())

    def _quorum(self) -> float | None:
        """Return the fraction of the votes that a class must exceed, None if there is none."""
        if self.rule == "plurality":
            return None
        return 0.5 if self.quorum is None else float(self.quorum)

    def coverage(self, X: Any) -> float:
        """Return the fraction of rows that are not rejected; 1 with rule="plurality".

        With several outputs, the fraction of their entries.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        float
            The coverage.
        """
        parts = by_output(self._mean_probabilities(X))
        return float(np.mean([decide(part, self._quorum()) >= 0 for part in parts]))

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
        if self.n_outputs_ > 1:
            raise InputError("A risk–coverage curve needs one output.", fix="Fit one ensemble per output.")
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
            (n_rows, n_members · n_classes), or (n_members, n_rows, n_classes) if not flattened. Several
            outputs of a member are side by side.
        """
        each = self._member_probabilities(X)
        if self.voting == "hard":
            parts = [part for votes in each for part in split_columns(votes, self.classes_)]
            return np.column_stack([votes.argmax(axis=1) for votes in parts])
        return np.hstack(each) if self.flatten_transform else np.stack(each)

    def _column_suffixes(self) -> list[str]:
        outputs = by_output(self.classes_)
        if self.voting == "hard":
            return super()._column_suffixes()
        if not self.flatten_transform:
            raise InputError(
                "get_feature_names_out is not supported when `voting='soft'` and `flatten_transform=False`: "
                "there are no columns to name."
            )
        return [str(k) for k in range(sum(map(len, outputs)))]

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
    n_outputs_ : int
        Number of outputs.
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
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Predictions.
        """
        return self._mean_values(X)

    def transform(self, X: Any) -> Array:
        """Return the predictions of each member.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_members · n_outputs)
            Predictions.
        """
        return np.hstack(self._member_probabilities(X))
