"""`StackingClassifier` and `StackingRegressor`: a learner of level two combines what the members answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, _check_method_params, check_is_fitted

from spinney.core.errors import InputError, show_value
from spinney.core.parameters import FLAG, OneOf, Rule
from spinney.ensembles.base import RULES, Problem, _BaseCombination, require
from spinney.ensembles.level_two import LeastSquaresRegressor, MultiResponseClassifier
from spinney.ensembles.responses import METHODS, Method, answer, choose_method
from spinney.ensembles.tables import put_beside
from spinney.members.base_estimators import AnyEstimator
from spinney.members.fitting import fit_member
from spinney.members.tables import check_input, describe_input, take_rows


class _BaseStacking(TransformerMixin, _BaseCombination):  # type: ignore[misc]
    """Fit members, their out-of-fold answers, and the learner of level two to these."""

    _state_attributes: ClassVar[tuple[str, ...]] = ("final_estimator_", "stack_method_")
    _parameter_rules: ClassVar[dict[str, tuple[Rule, ...]]] = RULES | {
        "stack_method": (OneOf("auto", *METHODS),),
        "passthrough": (FLAG,),
    }

    final_estimator: Any
    stack_method: Literal["auto", "predict_proba", "decision_function", "predict"] = "auto"
    passthrough: bool
    final_estimator_: Any
    stack_method_: list[Method]

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, groups: Any = None, **metadata: Any
    ) -> Self:
        """Fit each member once a fold and once to all rows, and the final estimator to out-of-fold answers.

        X may be anything that all members take: it is handed to them untouched. Row weights go to every
        member and to the final estimator. ``groups`` goes to the splitter; ``metadata``, where scikit-learn's
        metadata routing is on, to those that ask for it. With cv="prefit" the members are taken as they are,
        and X should be rows that they have not seen.
        """
        problem = self._read(X, y, sample_weight, groups, metadata)
        methods = self._methods(problem)
        final = self._make_final(methods, problem.seed)
        held_out = self._held_out(problem, methods)
        names = self._answer_names(problem.team.names, methods, problem.lesson.classes)
        rows = held_out.rows
        beside = take_rows(X, rows) if self.passthrough else None
        table = self._table(held_out.answers, methods, names, beside)
        others = _check_method_params(X, dict(problem.for_final), rows)
        return self._adopt(
            estimators_=self._fit_members(problem),
            _names=list(problem.team.names),
            classes_=problem.lesson.classes,
            stack_method_=methods,
            final_estimator_=self._fit_final(final, table, problem.lesson.y[rows], **others),
            **describe_input(X),
        )

    # ---- level two ----

    @abstractmethod
    def _default_final(self, methods: Sequence[Method]) -> Any:
        """Give the learner of level two for answers by these methods."""

    def _unfitted_final(self) -> Any:
        return self._default_final(()) if self.final_estimator is None else self.final_estimator

    def _make_final(self, methods: Sequence[Method], seed: int | None) -> Any:
        """Give the unfitted learner of level two."""
        if self.final_estimator is None:
            return self._default_final(methods)
        final = self.final_estimator
        if not AnyEstimator().allows(final) or not self._learns_alike(final):
            raise InputError(f"The final_estimator should be a {self._kind()}. Got {show_value(final)}.")
        return self._make(final, len(self.estimators), seed)

    def _fit_final(
        self, final: Any, table: Any, y: NDArray[Any], sample_weight: Any = None, **metadata: Any
    ) -> Any:
        try:
            return fit_member(final, table, y, sample_weight, **metadata)
        except ValueError as error:
            if self.final_estimator is not None or not self.passthrough:
                raise
            raise InputError(
                f"Without a final_estimator the columns of X that passthrough adds must be numbers ({error})",
                fix="Give a final_estimator that takes them as they are, such as a tree.",
            ) from error

    def _methods(self, problem: Problem) -> list[Method]:
        team = problem.team
        if self._task == "regression":
            return ["predict"] * len(team.members)
        wanted = METHODS if self.stack_method == "auto" else (self.stack_method,)
        return [choose_method(*pair, wanted) for pair in zip(team.names, team.members, strict=True)]

    def _table(
        self,
        answers: Sequence[NDArray[np.float64]],
        methods: Sequence[Method],
        names: list[str],
        X: Any,
    ) -> Any:
        """Put the answers of all members side by side, and X beside them if asked to."""
        parts = [
            # Of two probabilities one says all.
            part[:, 1:] if method == "predict_proba" and part.shape[1] == 2 else part
            for part, method in zip(answers, methods, strict=True)
        ]
        side_by_side = np.hstack(parts)
        return put_beside(side_by_side, names, X) if self.passthrough else side_by_side

    def _answer_names(
        self, members: Sequence[str], methods: Sequence[Method], classes: NDArray[Any] | None
    ) -> list[str]:
        """Name the columns that the answers of the members take."""
        stem, names = type(self).__name__.lower(), []
        for member, method in zip(members, methods, strict=True):
            single = classes is None or len(classes) == 2 or method == "predict"
            ends = [""] if single or classes is None else map(str, range(len(classes)))
            names += [f"{stem}_{member}{end}" for end in ends]
        return names

    # ---- after fitting ----

    def transform(self, X: Any) -> Any:
        """Give the table of level two: the answers of the members, with ``passthrough`` also X.

        An array, or with ``passthrough`` a table of the kind of X.
        """
        check_input(self, X)
        classes = getattr(self, "classes_", None)
        answers = [
            answer(member, X, method, classes)
            for member, method in zip(self.estimators_, self.stack_method_, strict=True)
        ]
        names = self._answer_names(self._names, self.stack_method_, classes)
        return self._table(answers, self.stack_method_, names, X)

    def predict(self, X: Any, **params: Any) -> Any:
        """Predict by the final estimator; ``params`` are further arguments of its ``predict``."""
        table = self.transform(X)
        return self.final_estimator_.predict(table, **params)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Name the columns that ``transform`` gives."""
        check_is_fitted(self)
        given = _check_feature_names_in(self, input_features, generate_names=self.passthrough)
        names = self._answer_names(self._names, self.stack_method_, getattr(self, "classes_", None))
        return np.array([*names, *(given if self.passthrough else ())], dtype=object)

    def get_metadata_routing(self) -> MetadataRouter:
        """Say to whom the arguments of ``fit`` go when metadata routing is on."""
        final = self.final_estimator
        if final is None:
            final = self._default_final(()).set_fit_request(sample_weight=True)
        mapping = MethodMapping().add(caller="fit", callee="fit").add(caller="predict", callee="predict")
        return super().get_metadata_routing().add(final_estimator=final, method_mapping=mapping)

    def _readers(self) -> list[Any]:
        if not self.passthrough:
            return super()._readers()
        return [*super()._readers(), self._unfitted_final()]

    def _check_state(self) -> None:
        super()._check_state()
        if "estimators_" in vars(self):
            final, methods = vars(self).get("final_estimator_"), vars(self).get("stack_method_")
            require(hasattr(final, "predict"), "it has no final estimator")
            require(type(methods) is list and len(methods) == len(self.estimators_), "a method is missing")
            require(all(method in METHODS for method in self.stack_method_), "a method is unknown")


def _final_has(method: str) -> Any:
    def check(stack: Any) -> bool:
        final = getattr(stack, "final_estimator_", None) or stack._unfitted_final()
        getattr(final, method)  # its AttributeError says what is missing
        return True

    return available_if(check)


class StackingClassifier(ClassifierMixin, _BaseStacking):  # type: ignore[misc]
    """Stack classifiers: a classifier of level two learns from what the members answer for unseen rows.

    Each member answers by ``predict_proba``, else ``decision_function``, else ``predict``; ``stack_method``
    names one. The answers that the final estimator learns from are out-of-fold: ``cv`` is a number of folds,
    "loo", any splitter or list of splits (rows that no split holds out are then left out of level two), or
    "prefit" for members that are fitted already. ``passthrough`` hands it the columns of X as well.

    Without a ``final_estimator`` the answers are combined by multi-response linear regression with
    non-negative weights, :class:`spinney.ensembles.MultiResponseClassifier`.

    >>> from spinney import C45Classifier, DecisionTreeClassifier, StackingClassifier
    >>> members = [("cart", DecisionTreeClassifier()), ("c4.5", C45Classifier())]
    >>> X, y = [[0.0], [0.1], [0.9], [1.0]], ["a", "a", "b", "b"]
    >>> StackingClassifier(members, cv=2).fit(X, y).predict([[0.2]]).tolist()
    ['a']
    """

    _task = "classification"

    def __init__(
        self,
        estimators: Any = None,
        final_estimator: Any = None,
        *,
        cv: Any = None,
        stack_method: Literal["auto", "predict_proba", "decision_function", "predict"] = "auto",
        n_jobs: int | None = None,
        passthrough: bool = False,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.stack_method = stack_method
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.random_state = random_state
        self.verbose = verbose

    def _default_final(self, methods: Sequence[Method]) -> Any:
        # Only where all columns are probabilities is there one column a class and member.
        own = not self.passthrough and set(methods) == {"predict_proba"}
        return MultiResponseClassifier(columns="own" if own else "all")

    @_final_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the probabilities of the final estimator.  -> (n_rows, n_classes)"""
        table = self.transform(X)
        return answer(self.final_estimator_, table, "predict_proba", self.classes_)

    @_final_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Give the decisions of the final estimator.  -> (n_rows,) or (n_rows, n_classes)"""
        table = self.transform(X)
        decisions = answer(self.final_estimator_, table, "decision_function", self.classes_)
        return decisions[:, 0] if decisions.shape[1] == 1 else decisions


class StackingRegressor(RegressorMixin, _BaseStacking):  # type: ignore[misc]
    """Stack regressors: a regressor of level two learns from what the members predict for unseen rows.

    ``cv`` and ``passthrough`` are as in :class:`StackingClassifier`. Without a ``final_estimator`` the
    predictions are combined by least squares with non-negative weights (Breiman, 1996),
    :class:`spinney.ensembles.LeastSquaresRegressor`.

    >>> from spinney import DecisionTreeRegressor, ObliqueTreeRegressor, StackingRegressor
    >>> members = [("cart", DecisionTreeRegressor()), ("oblique", ObliqueTreeRegressor(random_state=0))]
    >>> X, y = [[0.0], [0.1], [0.9], [1.0]], [1.0, 1.0, 3.0, 3.0]
    >>> StackingRegressor(members, cv=[([0, 2], [1, 3])]).fit(X, y).predict([[0.2]]).round(6).tolist()
    [1.0]
    """

    _task = "regression"

    def __init__(
        self,
        estimators: Any = None,
        final_estimator: Any = None,
        *,
        cv: Any = None,
        n_jobs: int | None = None,
        passthrough: bool = False,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.random_state = random_state
        self.verbose = verbose

    def _default_final(self, methods: Sequence[Method]) -> Any:
        return LeastSquaresRegressor()
