"""`StackingClassifier` and `StackingRegressor`: a final estimator combines the predictions of the members."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, _check_method_params, check_is_fitted

from spinney.base import parameters
from spinney.core.errors import InputError, show_value
from spinney.core.parameters import FLAG, OneOf, Rule
from spinney.ensembles.base import RULES, _NamedEnsemble, visual_block
from spinney.ensembles.least_squares import LeastSquaresRegressor, MultiResponseClassifier
from spinney.ensembles.predictions import Array, Method, aligned_predictions, choose_method
from spinney.io import require
from spinney.members.base_estimators import AnyEstimator
from spinney.members.fitting import fit_member
from spinney.members.tables import check_input, describe_input, take_rows

METHODS: tuple[Method, ...] = ("predict_proba", "decision_function", "predict")
"""Methods of members, in the order in which stack_method="auto" tries them."""

# ---- the table of the final estimator ----


def join_columns(predictions: Array, names: Sequence[str], X: Any) -> Any:
    """Return a table of the type of X with the predictions as its first columns.

    A data frame stays one, so that text, categories and missing values reach the final estimator.

    >>> join_columns(np.array([[0.5], [0.25]]), ["tree"], [["red"], ["blue"]]).tolist()
    [[0.5, 'red'], [0.25, 'blue']]
    """
    if sparse.issparse(X):
        parts: list[Any] = [sparse.csr_array(predictions), X]
        return sparse.hstack(parts, format="csr")
    if nw.dependencies.is_into_dataframe(X):
        return _join_frame(predictions, names, nw.from_native(_with_string_names(X), eager_only=True))
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.hstack([predictions, X])
    table = np.asarray(X)
    if table.dtype.kind in "US":
        # Numbers beside text stay numbers.
        table = np.array(X, dtype=object)
    return np.hstack([predictions.astype(table.dtype) if table.dtype.kind == "O" else predictions, table])


def _with_string_names(X: Any) -> Any:
    """Rename the columns of a pandas frame x0, x1, … unless their names are strings, as scikit-learn does."""
    keys = getattr(X, "columns", ())
    if not hasattr(X, "set_axis") or all(isinstance(key, str) for key in keys):
        return X
    return X.set_axis([f"x{j}" for j in range(len(keys))], axis=1)


def _join_frame(predictions: Array, names: Sequence[str], frame: Any) -> Any:
    taken = next((name for name in names if name in frame.columns), None)
    if taken is not None:
        raise InputError(
            f"X has a column named {show_value(taken)}, as the predictions of a member are",
            fix="Rename the column, or the member.",
        )
    backend = nw.get_native_namespace(frame)
    series = [nw.new_series(name, predictions[:, j], backend=backend) for j, name in enumerate(names)]
    return frame.with_columns(*series).select(*names, *frame.columns).to_native()


# ---- estimators ----


@parameters
class _Stacking(TransformerMixin, _NamedEnsemble):  # type: ignore[misc]
    """Base class of stacks: members, their out-of-fold predictions, and the final estimator on top."""

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
        y : array-like of shape (n_rows,)
            Class labels or target values.
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
        final = self._make_final(methods, task.seed)
        held_out = self._predict_held_out(task, methods)
        names = self._column_names(task.names, methods, task.classes)
        rows = held_out.rows
        columns = take_rows(X, rows) if self.passthrough else None
        table = self._table(held_out.predictions, methods, names, columns)
        others = _check_method_params(X, dict(task.final_metadata), rows)
        return self._set_fitted(
            estimators_=self._fit_members(task),
            _names=list(task.names),
            classes_=task.classes,
            stack_method_=methods,
            final_estimator_=self._fit_final(final, table, task.y[rows], **others),
            **describe_input(X),
        )

    @abstractmethod
    def _default_final(self, methods: Sequence[Method]) -> Any:
        """Return the default final estimator for predictions by these methods."""

    def _make_final(self, methods: Sequence[Method], seed: int | None) -> Any:
        """Return an unfitted final estimator."""
        if self.final_estimator is None:
            return self._default_final(methods)
        final = self.final_estimator
        if not AnyEstimator().allows(final) or not self._has_same_task(final):
            raise InputError(f"The final_estimator should be a {self._kind()}. Got {show_value(final)}.")
        return self._make_copy(final, len(self.estimators), seed)

    def _fit_final(
        self, final: Any, table: Any, y: NDArray[Any], sample_weight: Any = None, **metadata: Any
    ) -> Any:
        try:
            return fit_member(final, table, y, sample_weight, **metadata)
        except ValueError as error:
            if self.final_estimator is not None or not self.passthrough:
                raise
            raise InputError(
                f"The default final_estimator needs numeric columns of X with passthrough=True ({error})",
                fix="Give a final_estimator that accepts them, such as a tree.",
            ) from error

    def _table(
        self, predictions: Sequence[Array], methods: Sequence[Method], names: list[str], X: Any
    ) -> Any:
        """Return the predictions of all members side by side, with passthrough followed by X."""
        parts = [
            # One of two probabilities determines the other.
            part[:, 1:] if method == "predict_proba" and part.shape[1] == 2 else part
            for part, method in zip(predictions, methods, strict=True)
        ]
        side_by_side = np.hstack(parts)
        return join_columns(side_by_side, names, X) if self.passthrough else side_by_side

    def _column_names(
        self, members: Sequence[str], methods: Sequence[Method], classes: NDArray[Any] | None
    ) -> list[str]:
        """Return the names of the columns of the members' predictions."""
        stem, names = type(self).__name__.lower(), []
        for member, method in zip(members, methods, strict=True):
            single = classes is None or len(classes) == 2 or method == "predict"
            ends = [""] if single or classes is None else map(str, range(len(classes)))
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
        classes = vars(self).get("classes_")
        predictions = self._predictions(self.estimators_, self.stack_method_, X, classes)
        names = self._column_names(self._names, self.stack_method_, classes)
        return self._table(predictions, self.stack_method_, names, X)

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
        ndarray of shape (n_rows,)
            Predictions.
        """
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
        names = self._column_names(self._names, self.stack_method_, vars(self).get("classes_"))
        return np.array([*names, *(given if self.passthrough else ())], dtype=object)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which arguments of ``fit`` and ``predict`` go to whom with metadata routing.

        Returns
        -------
        MetadataRouter
            scikit-learn's description of the routing.
        """
        final = self.final_estimator
        if final is None:
            final = self._default_final(()).set_fit_request(sample_weight=True)
        mapping = MethodMapping().add(caller="fit", callee="fit").add(caller="predict", callee="predict")
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

    def _check_fitted(self) -> None:
        super()._check_fitted()
        methods: Any = self.stack_method_
        require(hasattr(self.final_estimator_, "predict"), "there is no final estimator")
        require(type(methods) is list and len(methods) == len(self.estimators_), "a method is missing")
        require(all(method in METHODS for method in methods), "a method is unknown")


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
    """Stacking of classifiers: a final classifier is fitted to out-of-fold predictions of the members.

    Parameters
    ----------
    estimators : list of (str, estimator) pairs
        The members by name; "drop" leaves one out.
    final_estimator : classifier or None, default=None
        The level-two learner. None is multi-response linear regression with non-negative weights,
        :class:`spinney.ensembles.MultiResponseClassifier`.
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
    classes_ : ndarray of shape (n_classes,)
        Class labels.
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

    def _method(self, name: str, member: Any) -> Method:
        return choose_method(name, member, METHODS if self.stack_method == "auto" else (self.stack_method,))

    def _default_final(self, methods: Sequence[Method]) -> Any:
        # Only if all columns are probabilities is there one column per class and member.
        own = not self.passthrough and set(methods) == {"predict_proba"}
        return MultiResponseClassifier(columns="own" if own else "all")

    @_final_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Predict class probabilities with the final estimator.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities.
        """
        table = self.transform(X)
        return aligned_predictions(self.final_estimator_, table, "predict_proba", self.classes_)

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
            Decision values; one per row for two classes.
        """
        table = self.transform(X)
        decisions = aligned_predictions(self.final_estimator_, table, "decision_function", self.classes_)
        return decisions[:, 0] if decisions.shape[1] == 1 else decisions


class StackingRegressor(RegressorMixin, _Stacking):  # type: ignore[misc]
    """Stacking of regressors: a final regressor is fitted to out-of-fold predictions of the members.

    Parameters
    ----------
    estimators : list of (str, estimator) pairs
        The members by name; "drop" leaves one out.
    final_estimator : regressor or None, default=None
        The level-two learner. None is least squares with non-negative weights (Breiman, 1996),
        :class:`spinney.ensembles.LeastSquaresRegressor`.
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

    def _default_final(self, methods: Sequence[Method]) -> Any:
        return LeastSquaresRegressor()
