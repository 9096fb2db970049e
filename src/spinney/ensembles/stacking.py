"""`StackingClassifier` and `StackingRegressor`: a final estimator combines the predictions of the members."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import ClassifierMixin, RegressorMixin, TransformerMixin, is_classifier, is_regressor
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, _check_method_params, check_is_fitted

from spinney.base import parameters
from spinney.core.errors import InputError, show_value
from spinney.core.parameters import FLAG, OneOf, Rule
from spinney.data.target import by_output
from spinney.ensembles.base import RULES, _NamedEnsemble, visual_block
from spinney.ensembles.least_squares import LeastSquaresRegressor, MultiResponseClassifier
from spinney.ensembles.log_pool import LogarithmicPoolClassifier
from spinney.ensembles.predictions import (
    Array,
    Classes,
    FitTask,
    Method,
    aligned_predictions,
    choose_method,
    split_columns,
)
from spinney.io import require
from spinney.linear import LogisticRegression, RidgeCV
from spinney.linear.base import LinearRegressor
from spinney.members.base_estimators import AnyEstimator, base_estimator_tags
from spinney.members.fitting import fit_member
from spinney.members.joined import join_columns
from spinney.members.tables import check_input, describe_input, take_rows

METHODS: tuple[Method, ...] = ("predict_proba", "decision_function", "predict")
"""Methods of members, in the order in which stack_method="auto" tries them."""


def requested_metadata(final: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for the ``fit`` of the final estimator: weights, and what it requests.

    >>> from spinney import DecisionTreeClassifier
    >>> requested_metadata(DecisionTreeClassifier(), {"sample_weight": [1.0], "groups": [0]})
    {'sample_weight': [1.0]}
    """
    if not get_config()["enable_metadata_routing"]:
        return {name: value for name, value in given.items() if name == "sample_weight"}
    wanted = get_routing_for_object(final).consumes("fit", list(given))
    return {name: value for name, value in given.items() if name in wanted or name == "sample_weight"}


def _lacks_class(codes: NDArray[Any], classes: Classes) -> bool:
    """Return whether rows of one output lack a class, of which members have a column."""
    return isinstance(classes, np.ndarray) and len(np.unique(codes)) < len(classes)


# ---- estimators ----


@parameters
class _Stacking(TransformerMixin, _NamedEnsemble):  # type: ignore[misc]
    """Base class of stacks: members, their out-of-fold predictions, and the final estimator on top."""

    _has_default_members: ClassVar[bool] = True
    _required_attributes: ClassVar[tuple[str, ...]] = ("final_estimator_", "stack_method_")
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = RULES | {
        "stack_method": (OneOf("auto", *METHODS),),
        "passthrough": (FLAG,),
    }

    final_estimator: Any = field(default=None, kw_only=False)
    passthrough: bool = False

    final_estimator_: Any = field(init=False)
    stack_method_: list[Method] = field(init=False)

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, groups: Any = None, **metadata: Any
    ) -> Self:
        """Fit each member once per fold and once to all rows, and the final estimator on top.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Anything that all members accept; it is passed on unchanged.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Class labels or target values; several outputs if the members and the final estimator support
            them.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights for every member and for the final estimator.
        groups : array-like of shape (n_rows,), default=None
            Groups of the rows, for the splitter given as ``cv``.
        **metadata : dict
            Further arguments for the members and the final estimator, with scikit-learn's metadata routing
            switched on.

        Returns
        -------
        self
            The fitted ensemble.
        """
        task = self._read_task(X, y, sample_weight, groups, metadata)
        methods = self._methods(task.names, task.members)
        final = self._make_final(methods, task)
        held_out = self._predict_held_out(task, methods)
        parts = self._kept_columns(held_out.predictions, task.members, methods, task.classes)
        rows = held_out.rows
        if self.final_estimator is None and _lacks_class(task.codes[rows], task.classes):
            final = self._default_final(())
        elif self.final_estimator is None and self.passthrough and issparse(X) and task.n_outputs == 1:
            final = LogisticRegression() if is_classifier(self) else RidgeCV()  # which take sparse columns
        columns = take_rows(X, rows) if self.passthrough else None
        table = self._table(parts, task.names, columns)
        others = _check_method_params(X, requested_metadata(final, task.final_metadata), rows)
        return self._set_fitted(
            estimators_=self._fit_members(task),
            _names=list(task.names),
            stack_method_=methods,
            **self._describe_outputs(task),
            final_estimator_=self._fit_final(final, table, task.y[rows], **others),
            **describe_input(X),
        )

    @abstractmethod
    def _default_final(self, methods: Sequence[Method]) -> Any:
        """Return the default final estimator for predictions by these methods."""

    def _make_final(self, methods: Sequence[Method], task: FitTask) -> Any:
        """Return an unfitted final estimator."""
        if self.final_estimator is None:
            return self._default_final(() if task.n_outputs > 1 else methods)
        final = self.final_estimator
        if not AnyEstimator().allows(final) or not self._has_same_task(final):
            raise InputError(f"The final_estimator should be a {self._kind()}. Got {show_value(final)}.")
        return self._make_copy(final, len(self._pairs()), task.seed)

    def _fit_final(
        self, final: Any, table: Any, y: NDArray[Any], sample_weight: Any = None, **metadata: Any
    ) -> Any:
        try:
            return fit_member(final, table, y, sample_weight, **metadata)
        except (ValueError, TypeError) as error:  # rows that are dicts are a TypeError
            if self.final_estimator is not None or not self.passthrough:
                raise
            raise InputError(
                f"The default final_estimator needs numbers in an array or frame with passthrough ({error})",
                fix="Give a final_estimator that accepts them, such as a tree.",
            ) from error

    @staticmethod
    def _kept_columns(
        predictions: Sequence[Array], members: Sequence[Any], methods: Sequence[Method], classes: Classes
    ) -> list[Array]:
        """Leave out the first of two probabilities, which the other determines."""

        def keep(part: Array, member: Any, method: Method) -> Array:
            if method != "predict_proba" or is_regressor(member):
                return part
            outputs = split_columns(part, classes)
            return np.hstack([one[:, 1:] if one.shape[1] == 2 else one for one in outputs])

        return list(map(keep, predictions, members, methods))

    def _table(self, parts: Sequence[Array], members: Sequence[str], X: Any) -> Any:
        """Return the predictions of all members side by side, with passthrough followed by X."""
        side_by_side = np.hstack(parts)
        if not self.passthrough:
            return side_by_side
        return join_columns(side_by_side, self._column_names(members, [part.shape[1] for part in parts]), X)

    def _column_names(self, members: Sequence[str], widths: Sequence[int]) -> list[str]:
        """Return the names of the columns of the members' predictions, numbered if a member has several."""
        stem, names = type(self).__name__.lower(), []
        for member, width in zip(members, widths, strict=True):
            ends = [""] if width == 1 else map(str, range(width))
            names += [f"{stem}_{member}{end}" for end in ends]
        return names

    # ---- after fitting ----

    def transform(self, X: Any) -> Any:
        """Return the table that the final estimator predicts from.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray, or with ``passthrough`` a table of the type of X
            The predictions of the members, with ``passthrough`` followed by the columns of X.
        """
        check_input(self, X)
        classes, methods = vars(self).get("classes_"), self.stack_method_
        predictions = self._predictions(self.estimators_, methods, X, classes, self.n_outputs_)
        parts = self._kept_columns(predictions, self.estimators_, methods, classes)
        return self._table(parts, self._names, X)

    def predict(self, X: Any, **params: Any) -> Any:
        """Predict with the final estimator.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.
        **params : dict
            Further arguments of its ``predict``.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Predictions.
        """
        if get_config()["enable_metadata_routing"]:
            params = process_routing(self, "predict", **params)["final_estimator"]["predict"]
        table = self.transform(X)
        return self.final_estimator_.predict(table, **params)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the columns of ``transform``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features of X, which must be those seen during fit.

        Returns
        -------
        ndarray of str
            Names made of the class, the member and the index of the class, then the names of the features.
        """
        check_is_fitted(self)
        given = _check_feature_names_in(self, input_features, generate_names=self.passthrough)
        names = self._column_names(self._names, list(map(self._width, self.estimators_, self.stack_method_)))
        return np.array([*names, *(given if self.passthrough else ())], dtype=object)

    def _width(self, member: Any, method: Method) -> int:
        """Return the number of columns of the table that a member has."""
        classes = vars(self).get("classes_")
        if classes is None or method == "predict" or is_regressor(member):
            return self.n_outputs_
        return sum(1 if len(labels) == 2 else len(labels) for labels in by_output(classes))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which arguments of ``fit`` and ``predict`` go to whom with metadata routing.

        The ``fit`` of the final estimator gets the weights of the rows, and what it requests of the rest.

        Returns
        -------
        MetadataRouter
            scikit-learn's description of the routing.
        """
        final = self._default_final(()) if self.final_estimator is None else self.final_estimator
        mapping = MethodMapping().add(caller="predict", callee="predict")
        requests = getattr(getattr(get_routing_for_object(final), "fit", None), "requests", {})
        if any(request not in (None, False) for request in requests.values()):
            mapping.add(caller="fit", callee="fit")
        return super().get_metadata_routing().add(final_estimator=final, method_mapping=mapping)

    def _sk_visual_block_(self) -> Any:
        """Return the members, and the final estimator below them."""
        final = self._default_final(()) if self.final_estimator is None else self.final_estimator
        last = visual_block("parallel", [final], ["final_estimator"])
        return visual_block("serial", [super()._sk_visual_block_(), last], ["", ""])

    def _table_readers(self) -> list[Any]:
        if not self.passthrough:
            return super()._table_readers()
        final = self._default_final(()) if self.final_estimator is None else self.final_estimator
        return [*super()._table_readers(), final]

    def _learns_several_outputs(self) -> bool:
        final = self._default_final(()) if self.final_estimator is None else self.final_estimator
        return super()._learns_several_outputs() and bool(base_estimator_tags(final).target_tags.multi_output)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        methods: Any = self.stack_method_
        require(hasattr(self.final_estimator_, "predict"), "there is no final estimator")
        require(type(methods) is list and len(methods) == len(self.estimators_), "a method is missing")
        require(all(method in METHODS for method in methods), "a method is unknown")
        width = sum(map(self._width, self.estimators_, methods)) + (self.passthrough and self.n_features_in_)
        expected = getattr(self.final_estimator_, "n_features_in_", width)
        require(expected == width, f"the final estimator expects {expected} features instead of {width}")


def _final_has(method: str) -> Any:
    """Make a method available if the final estimator has it."""

    def check(stack: Any) -> bool:
        final = getattr(stack, "final_estimator_", stack.final_estimator)
        final = MultiResponseClassifier() if final is None else final
        getattr(final, method)  # raises an AttributeError that names what is missing
        return True

    return available_if(check)


@parameters
class StackingClassifier(ClassifierMixin, _Stacking):  # type: ignore[misc]
    """Stacking: a final classifier is fitted to out-of-fold predictions of the members.

    Members are classifiers, or regressors, which are fitted to the codes 0, 1, … of the classes.

    Parameters
    ----------
    estimators : list of (str, estimator) pairs or None, default=None
        The members by name; "drop" leaves one out. None is gradient boosting, a random
        forest, extra-trees, a linear model, up to 10,000 rows an SVM, and naive Bayes, all at their defaults;
        only the forests if y has several columns.
    final_estimator : classifier or None, default=None
        The level-two learner. None is a product of the members' probabilities with learned exponents,
        :class:`spinney.ensembles.LogarithmicPoolClassifier`; or :class:`~spinney.LogisticRegression` if a
        member gives no probabilities or with ``passthrough`` of a sparse matrix, and
        :class:`spinney.ensembles.MultiResponseClassifier` with ``passthrough`` of others or several outputs.
    cv : int, splitter, list of splits, "loo", "prefit" or None, default=None
        Splits of the out-of-fold predictions; None is 5 folds. Rows that no split holds out are not used by
        the final estimator. With "prefit" the members are fitted already, and X should be rows that they
        have not seen.
    n_jobs : int or None, default=None
        Number of members fitted in parallel, −1 for all cores. None is all cores for Spinney's own members
        and 1 for others, within the limits of an active joblib or threadpoolctl context. The model does not
        depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed from which members and final estimator get their random states; None leaves theirs alone.
    verbose : int, default=0
        Above 0: show a progress bar.
    passthrough : bool, default=False
        Pass the columns of X to the final estimator, too.
    stack_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
        Prediction method of the members; "auto" is the first of these that a member has.

    Attributes
    ----------
    estimators_ : list of estimators
        Members, fitted to all rows.
    named_estimators_ : Bunch
        Fitted members by name.
    final_estimator_ : estimator
        Fitted final estimator.
    stack_method_ : list of str
        Prediction method of each member.
    classes_ : ndarray of shape (n_classes,), or list of ndarray
        Class labels, a list if there are several outputs.
    n_outputs_ : int
        Number of outputs.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import C45Classifier, DecisionTreeClassifier, StackingClassifier
    >>> members = [("cart", DecisionTreeClassifier()), ("c4.5", C45Classifier())]
    >>> X, y = [[0.0], [0.1], [0.9], [1.0]], ["a", "a", "b", "b"]
    >>> StackingClassifier(members, cv=2).fit(X, y).predict([[0.2]]).tolist()
    ['a']
    """

    _task = "classification"

    stack_method: Literal["auto", "predict_proba", "decision_function", "predict"] = "auto"

    def _accepts(self, estimator: Any) -> bool:
        return bool(is_regressor(estimator) or is_classifier(estimator))

    def _method(self, name: str, member: Any) -> Method:
        if is_regressor(member):
            return "predict"
        return choose_method(name, member, METHODS if self.stack_method == "auto" else (self.stack_method,))

    def _default_final(self, methods: Sequence[Method]) -> Any:
        if set(methods) - {"predict_proba"}:
            # Codes of classes and decision values are no shares of a class, which could be averaged.
            return LogisticRegression()
        # Only if all columns are probabilities is there one column per class and member.
        own = not self.passthrough and bool(methods)
        return LogarithmicPoolClassifier() if own else MultiResponseClassifier()

    @_final_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities with the final estimator.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or list of such arrays with several outputs
            Probabilities.
        """
        table, classes = self.transform(X), self.classes_
        columns = aligned_predictions(self.final_estimator_, table, "predict_proba", classes)
        parts = split_columns(columns, classes)
        return parts if type(classes) is list else parts[0]

    @_final_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Array:
        """Compute the decision values of the final estimator.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Decision values; one per row for two classes. Several outputs are side by side.
        """
        table, final = self.transform(X), self.final_estimator_
        decisions = aligned_predictions(final, table, "decision_function", self.classes_)
        return decisions[:, 0] if decisions.shape[1] == 1 else decisions


class StackingRegressor(RegressorMixin, _Stacking):  # type: ignore[misc]
    """Stacking of regressors: a final regressor is fitted to out-of-fold predictions of the members.

    Parameters
    ----------
    estimators : list of (str, estimator) pairs or None, default=None
        The members by name; "drop" leaves one out. None is gradient boosting, a random
        forest, extra-trees, a linear model, and up to 10,000 rows an SVM, all at their defaults.
    final_estimator : regressor or None, default=None
        The level-two learner. None is least squares with non-negative weights (Breiman, 1996),
        :class:`spinney.ensembles.LeastSquaresRegressor`; or :class:`~spinney.RidgeCV` with ``passthrough`` of
        a sparse matrix.
    cv : int, splitter, list of splits, "loo", "prefit" or None, default=None
        Splits of the out-of-fold predictions; None is 5 folds. Rows that no split holds out are not used by
        the final estimator. With "prefit" the members are fitted already, and X should be rows that they
        have not seen.
    n_jobs : int or None, default=None
        Number of members fitted in parallel, −1 for all cores. None is all cores for Spinney's own members
        and 1 for others, within the limits of an active joblib or threadpoolctl context. The model does not
        depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed from which members and final estimator get their random states; None leaves theirs alone.
    verbose : int, default=0
        Above 0: show a progress bar.
    passthrough : bool, default=False
        Pass the columns of X to the final estimator, too.

    Attributes
    ----------
    estimators_ : list of estimators
        Members, fitted to all rows.
    named_estimators_ : Bunch
        Fitted members by name.
    final_estimator_ : estimator
        Fitted final estimator.
    stack_method_ : list of str
        Prediction method of each member, always "predict".
    n_outputs_ : int
        Number of outputs.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import DecisionTreeRegressor, ObliqueTreeRegressor, StackingRegressor
    >>> members = [("cart", DecisionTreeRegressor()), ("oblique", ObliqueTreeRegressor(random_state=0))]
    >>> X, y = [[0.0], [0.1], [0.9], [1.0]], [1.0, 1.0, 3.0, 3.0]
    >>> StackingRegressor(members, cv=[([0, 2], [1, 3])]).fit(X, y).predict([[0.2]]).round(6).tolist()
    [1.0]
    """

    _task = "regression"

    def additive_members(self) -> tuple[float, list[tuple[float, Any]]]:
        """Return the members whose outputs are added, with their weights, as explanations read them.

        Returns
        -------
        tuple of float and list of (float, estimator)
            The intercept of the final estimator, and the members with its coefficients.
        """
        check_is_fitted(self)
        final = self.final_estimator_
        is_linear = isinstance(final, LeastSquaresRegressor) or (
            isinstance(final, LinearRegressor) and final.linear_sum().space == "value"
        )
        if not is_linear or self.passthrough or self.n_outputs_ > 1:
            raise InputError(
                "The output of this StackingRegressor is not a sum of its members, because its final "
                "estimator is not linear in them alone, or it has several outputs",
                fix="Explain the members in estimators_.",
            )
        weights, offset = np.ravel(final.coef_).tolist(), float(np.ravel(final.intercept_)[0])
        return offset, list(zip(weights, self.estimators_, strict=True))

    def _default_final(self, methods: Sequence[Method]) -> Any:
        return LeastSquaresRegressor()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._learns_several_outputs()
        return tags
