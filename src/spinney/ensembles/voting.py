"""`VotingClassifier` and `VotingRegressor`: members that vote, or whose answers are averaged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, OneOf, Real, Rule, check_weights
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.data.target import encode_like, read_target
from spinney.ensembles.averaging import _BaseMean
from spinney.ensembles.base import RULES, Problem, Team
from spinney.ensembles.responses import Method, choose_method
from spinney.ensembles.votes import RiskCoverage, decide, labels_with_rejection, risk_coverage
from spinney.ensembles.weights import convex_weights
from spinney.members.tables import count_rows, describe_input


class _BaseVoting(TransformerMixin, _BaseMean):  # type: ignore[misc]
    """Weigh the members, and add up what they say."""

    _parameter_rules: ClassVar[dict[str, tuple[Rule, ...]]] = RULES | {
        "weights": (NONE, OneOf("learned"), ArrayRule())
    }

    weights: Any

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, groups: Any = None, **metadata: Any
    ) -> Self:
        """Fit a copy of each estimator to X and y, and give or learn the weights of their votes.

        X may be anything that all members take: it is handed to them untouched. Row weights go to every
        member, and count in learning the weights of the votes. ``groups`` goes to the splitter;
        ``metadata``, where scikit-learn's metadata routing is on, to those members that ask for it.
        """
        problem = self._read(X, y, sample_weight, groups, metadata)
        methods = self._methods(problem)
        weights = self._given_weights(problem.team)
        if weights is None:
            held_out = self._held_out(problem, methods)
            spoken = self._spoken(held_out.answers, methods, problem.lesson.classes)
            rows = None if problem.weights is None else problem.weights[held_out.rows]
            weights = convex_weights(spoken, problem.targets()[held_out.rows], rows)
        return self._adopt(
            estimators_=self._fit_members(problem),
            _names=list(problem.team.names),
            weights_=weights,
            classes_=problem.lesson.classes,
            **describe_input(X),
        )

    def _given_weights(self, team: Team) -> NDArray[np.float64] | None:
        """Give the weights summing to one, None where they are to be learned."""
        if isinstance(self.weights, str):
            return None
        if self.weights is None:
            return np.full(len(team.members), 1.0 / len(team.members))
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (len(self.estimators),):
            raise InputError(
                f"weights has the shape {weights.shape} for {len(self.estimators)} estimators",
                fix="Give one weight an estimator, also for one that is dropped.",
            )
        weights = weights[list(team.places)]
        if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
            raise InputError("weights are finite numbers of at least 0, and not all 0.")
        shares: NDArray[np.float64] = weights / weights.sum()
        return shares

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Name the columns that ``transform`` gives."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        stem = type(self).__name__.lower()
        return np.array([f"{stem}_{name}{end}" for name in self._names for end in self._ends()], dtype=object)

    def _ends(self) -> list[str]:
        return [""]


class VotingClassifier(ClassifierMixin, _BaseVoting):  # type: ignore[misc]
    """Let classifiers vote.

    With ``voting="hard"`` each member gives its vote to one class, with "soft" it divides it by
    ``predict_proba``. ``rule="plurality"`` chooses the class with most votes; "majority" asks that it have
    more than half of them, or more than the share ``quorum``, and else gives ``reject_label``. Of classes
    with equal votes the first in ``classes_`` is chosen.

    ``weights`` are those of the votes; "learned" are the weights, at least 0 and summing to one, with the
    least squared error (Brier score) of the shares on out-of-fold predictions, made by ``cv``.

    >>> from spinney import C45Classifier, DecisionTreeClassifier, VotingClassifier
    >>> members = [("cart", DecisionTreeClassifier()), ("c4.5", C45Classifier())]
    >>> VotingClassifier(members).fit([[0.0], [1.0]], ["a", "b"]).predict([[0.2]]).tolist()
    ['a']
    """

    _task = "classification"
    _parameter_rules: ClassVar[dict[str, tuple[Rule, ...]]] = _BaseVoting._parameter_rules | {
        "voting": (OneOf("hard", "soft"),),
        "rule": (OneOf("plurality", "majority"),),
        "quorum": (NONE, Real(0.0, 1.0, open_ends=")")),
        "flatten_transform": (FLAG,),
    }

    def __init__(
        self,
        estimators: Any = None,
        *,
        voting: Literal["hard", "soft"] = "hard",
        weights: ArrayLike | Literal["learned"] | None = None,
        rule: Literal["plurality", "majority"] = "plurality",
        quorum: float | None = None,
        reject_label: Any = None,
        cv: Any = None,
        n_jobs: int | None = None,
        flatten_transform: bool = True,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.estimators = estimators
        self.voting = voting
        self.weights = weights
        self.rule = rule
        self.quorum = quorum
        self.reject_label = reject_label
        self.cv = cv
        self.n_jobs = n_jobs
        self.flatten_transform = flatten_transform
        self.random_state = random_state
        self.verbose = verbose

    def _read(self, X: Any, y: Any, sample_weight: Any, groups: Any, metadata: Mapping[str, Any]) -> Problem:
        problem = super()._read(X, y, sample_weight, groups, metadata)
        if self.rule == "plurality" and self.quorum is not None:
            raise InputError('A quorum is for rule="majority"; rule="plurality" asks for none.')
        if self.rule == "majority":
            assert problem.lesson.classes is not None
            labels_with_rejection(problem.lesson.classes, self._reject_label())
        return problem

    def _reject_label(self) -> Any:
        if self.reject_label is None:
            raise InputError(
                'With rule="majority" some rows may have no class with enough votes',
                fix="Say by reject_label what predict is to give for them.",
            )
        return self.reject_label

    def _method(self, name: str, member: Any) -> Method:
        return choose_method(name, member, ("predict" if self.voting == "hard" else "predict_proba",))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the share of the votes that each class has: with soft voting, the mean probability.

        -> (n_rows, n_classes)
        """
        return self._mean(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with most votes, or ``reject_label`` where none has enough.  -> (n_rows,)"""
        shares = self._mean(X)
        if self.rule == "plurality":
            labels: NDArray[Any] = self.classes_.take(decide(shares, None))
            return labels
        named = labels_with_rejection(self.classes_, self._reject_label())
        return named[decide(shares, self._least_share())]

    def _least_share(self) -> float:
        return 0.5 if self.quorum is None else float(self.quorum)

    def coverage(self, X: Any) -> float:
        """Give the part of the rows that are not rejected; all of them with rule="plurality"."""
        shares = self._mean(X)
        answered = decide(shares, None if self.rule == "plurality" else self._least_share()) >= 0
        return float(answered.mean())

    def risk_coverage(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> RiskCoverage:
        """Give the error among answered rows for each part of the rows that may be answered.

        Rows are answered from the largest share of the votes downwards; the curve does not depend on ``rule``
        and ``quorum``, and helps to choose them.
        """
        shares = self._mean(X)
        n_rows = count_rows(X)
        codes = encode_like(read_target(y, n_rows), [self.classes_])[:, 0]
        correct = decide(shares, None) == codes
        return risk_coverage(shares.max(axis=1), correct, check_weights(sample_weight, n_rows))

    def transform(self, X: Any) -> NDArray[Any]:
        """Give what each member says.

        Hard voting: the code of its class (n_rows, n_members). Soft voting: its probabilities
        (n_rows, n_members · n_classes), or without ``flatten_transform`` (n_members, n_rows, n_classes).
        """
        each = self._each(X)
        if self.voting == "hard":
            return np.column_stack([votes.argmax(axis=1) for votes in each])
        return np.hstack(each) if self.flatten_transform else np.stack(each)

    def _ends(self) -> list[str]:
        if self.voting == "hard":
            return [""]
        if not self.flatten_transform:
            raise InputError('With voting="soft" and flatten_transform=False there are no columns to name.')
        return [str(k) for k in range(len(self.classes_))]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


class VotingRegressor(RegressorMixin, _BaseVoting):  # type: ignore[misc]
    """Average the predictions of regressors.

    ``weights`` are those of the mean; "learned" are the weights, at least 0 and summing to one, with the
    least squared error on out-of-fold predictions, made by ``cv``.

    >>> from spinney import DecisionTreeRegressor, ObliqueTreeRegressor, VotingRegressor
    >>> members = [("cart", DecisionTreeRegressor()), ("oblique", ObliqueTreeRegressor(random_state=0))]
    >>> VotingRegressor(members).fit([[0.0], [1.0]], [2.0, 4.0]).predict([[0.2]]).tolist()
    [2.0]
    """

    _task = "regression"

    def __init__(
        self,
        estimators: Any = None,
        *,
        weights: ArrayLike | Literal["learned"] | None = None,
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the mean of what the members predict.  -> (n_rows,)"""
        return self._mean(X)[:, 0]

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Give the prediction of each member.  -> (n_rows, n_members)"""
        return np.hstack(self._each(X))
