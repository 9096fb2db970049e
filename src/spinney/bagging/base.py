"""Base class of bagging: draws samples, fits members to them, averages their predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from spinney.bagging.fitting import fit_members, make_members, stops_early, take_features
from spinney.bagging.predictions import (
    Array,
    Floats,
    Predict,
    mean_prediction,
    out_of_bag_attributes,
    out_of_bag_mean,
    out_of_bag_parts,
    split_outputs,
)
from spinney.bagging.sampling import BootstrapSamples, SampledEnsemble, row_order
from spinney.bagging.trees import MergedTrees, SharedTrainingSets, fit_trees, is_own_tree, merge_trees
from spinney.base import parameters
from spinney.core.errors import InputError, show_values
from spinney.core.parameters import FLAG, NONE, Integer, Kind, OneOf, Real, Rule, thread_count
from spinney.data.schema import Table
from spinney.data.target import (
    by_output,
    class_attributes,
    encode_classes,
    encode_values,
    read_target,
)
from spinney.data.weights import check_weights
from spinney.inspect.explainable import Explainable
from spinney.io import require
from spinney.members.base_estimators import AnyEstimator, CopiesEnsemble, base_estimator_tags
from spinney.members.metadata import require_routing
from spinney.members.tables import (
    check_classes,
    check_input,
    count_training_rows,
    describe_input,
    is_array,
    take_rows,
)
from spinney.tree.tree_sum import TreeSum

# Rules of the parameters that forests have too.
SAMPLING_RULES: dict[str, tuple[Rule, ...]] = {
    "n_estimators": (Integer(1),),
    "max_samples": (NONE, Integer(1), Real(0.0, open_ends="(", fraction=True)),
    "bootstrap": (FLAG,),
    "oob_score": (FLAG, Kind("a function of (y, predicted)", Callable)),  # type: ignore[arg-type]
    "warm_start": (FLAG,),
    "verbose": (FLAG, Integer(0)),
}


@parameters
class BaseBagging(Explainable, CopiesEnsemble, SampledEnsemble, persistent_name=""):
    """Members fitted to bootstrap samples of rows and columns, with averaged predictions."""

    _task: ClassVar[Literal["classification", "regression"]]
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        **SAMPLING_RULES,
        "estimator": (NONE, AnyEstimator(), Kind("a list of estimators", list)),
        "max_features": (Integer(1), Real(0.0, 1.0, open_ends="(", fraction=True)),
        "bootstrap_features": (FLAG,),
        "voting": (OneOf("soft", "hard"),),
        "parameter_distributions": (NONE, Kind("a dict of distributions by parameter name", Mapping)),
        "oob_pruning": (FLAG,),
        "oob_early_stopping": (FLAG,),
    }
    _required_attributes: ClassVar[tuple[str, ...]] = ("estimators_", "estimators_features_", "_samples")
    _state_attributes: ClassVar[tuple[str, ...]] = ("feature_names_in_", "oob_score_")
    _transient_attributes: ClassVar[tuple[str, ...]] = ("n_features_in_", "_merged")

    estimator: Any = field(default=None, kw_only=False)
    n_estimators: int = field(default=10, kw_only=False)
    max_features: int | float = 1.0
    bootstrap_features: bool = False
    parameter_distributions: Mapping[str, Any] | None = None
    oob_pruning: bool = False
    oob_early_stopping: bool = False

    estimators_features_: list[NDArray[np.int64]] = field(init=False)
    _merged: MergedTrees | None = field(init=False)

    @abstractmethod
    def _predict_by(self, classes: Any) -> Predict:
        """Return the function that computes the predictions of one member."""

    # ---- fitting ----

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **metadata: Any) -> Self:
        """Fit the members to bootstrap samples of the rows and columns.

        Parameters
        ----------
        X : table-like of shape (n_rows, n_features)
            The features, passed to the members as they are: an array, a list, a sparse matrix or a data
            frame, with missing values and text if the base estimator supports them.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            The target; several outputs if the base estimator supports them.
        sample_weight : array-like of shape (n_rows,), default=None
            Sample weights. Integers count copies of a row. Others are probabilities of being drawn, up to a
            factor; without replacement they are passed to the members instead.
        **metadata : dict
            Further arguments for the ``fit`` of the members, with scikit-learn's metadata routing switched
            on.

        Returns
        -------
        self
            The fitted ensemble.

        Examples
        --------
        >>> from spinney import BaggingRegressor
        >>> model = BaggingRegressor(random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
        >>> model.predict([[1.4], [9.0]]).shape
        (2,)
        """
        self._check_params()
        metadata = self._route("fit", metadata)
        estimators, n_rows = self._check_base_estimators(), count_training_rows(X)
        described, labels = describe_input(X), read_target(y, n_rows)
        classes = self._read_classes(labels)
        weights = check_weights(sample_weight, n_rows)
        training_sets = None
        if all(map(is_own_tree, estimators)):
            training_sets = SharedTrainingSets(X, labels, weights, thread_count(self.n_jobs))
        table = None if training_sets is None else training_sets.of(estimators[0]).training.table
        order = _row_order(X, labels, table)
        n_columns = described.get("n_features_in_")
        samples = self._draw_samples(
            n_rows,
            n_columns or 0,
            weights,
            order,
            n_columns_drawn=self._count_columns(n_rows, n_columns),
            bootstrap_columns=bool(self.bootstrap_features),
        )
        if self._has_all_members(samples, classes):
            return self
        members: list[Any] = []
        if self._check_continues(samples, classes):
            self._check_names(described)
            members, samples = list(self.estimators_), self._add_samples(samples)
        numbers = range(len(members), self.n_estimators)
        title = f"{type(self).__name__}: fitting members" if self.verbose else None

        def fit_some(some: range) -> list[Any]:
            new = make_members(estimators, self.parameter_distributions, samples, some)
            if training_sets is not None:
                return fit_trees(new, some, training_sets, samples, self.oob_pruning, self.n_jobs, title)
            return fit_members(
                new, some, X, labels, samples, self.n_jobs, title, metadata, self.oob_early_stopping
            )

        members += self._fit_numbers(numbers, fit_some)
        out_of_bag = self._score_out_of_bag(members, X, labels, samples, classes) if self.oob_score else {}
        return self._set_fitted(
            estimators_=members,
            estimators_features_=[samples.columns(t) for t in range(len(members))],
            _samples=samples,
            classes_=classes,
            **described,
            **out_of_bag,
        )

    def _fit_numbers(self, numbers: range, fit: Callable[[range], list[Any]]) -> list[Any]:
        """Fit the members of these numbers; on a cluster some of them, or they are fitted already."""
        return fit(numbers)

    def _base_estimators(self) -> list[Any]:
        """Return the base estimators, which members are copies of in turn."""
        estimator = self._base_estimator()
        return estimator if isinstance(estimator, list) and estimator else [estimator]

    def _check_base_estimators(self) -> list[Any]:
        """Return the base estimators; raise InputError if one cannot be a member."""
        estimators = self._base_estimators()
        if not all(map(AnyEstimator().allows, estimators)):
            raise InputError("The list of estimators must hold estimators with fit and predict.")
        for estimator in estimators:
            self._check_base_estimator(estimator)
        return estimators

    def _check_base_estimator(self, estimator: Any) -> None:
        given, name = type(estimator).__name__, type(self).__name__
        if (is_regressor if self._task == "classification" else is_classifier)(estimator):
            raise InputError(f"The estimator of a {name} cannot be a {given}.")
        if self.oob_pruning and not is_own_tree(estimator):
            raise InputError(
                f"oob_pruning prunes Spinney's trees, and the estimator is a {given}",
                fix="Use one of Spinney's trees, or set oob_pruning=False.",
            )
        if self.oob_early_stopping and not stops_early(estimator):
            raise InputError(
                "oob_early_stopping needs a member with a parameter early_stopping and a fit with eval_set, "
                f"and the estimator is a {given}",
                fix="Use a gradient boosting or negative correlation model, or set oob_early_stopping=False.",
            )

    def _check_names(self, described: Mapping[str, Any]) -> None:
        """Raise InputError if columns have other names than in the fit that this one continues."""
        known, names = vars(self).get("feature_names_in_"), described.get("feature_names_in_")
        if known is not None and names is not None and list(known) != list(names):
            raise InputError(
                "warm_start=True adds members for the same columns, but X has others: "
                f"{show_values(list(names))} instead of {show_values(list(known))}",
                fix="Fit with the columns of the first fit, in their order, or set warm_start=False.",
            )

    def _read_classes(self, y: Array) -> Any:
        """Check the target and return its classes, None in regression."""
        if self._task == "regression":
            encode_values(y, non_negative=False)
            return None
        classes = list(encode_classes(y).classes)
        return classes[0] if y.ndim == 1 else classes

    def _count_columns(self, n_rows: int, n_columns: int | None) -> int:
        """Return the number of columns per sample; 0 for inputs without columns, such as a list of texts."""
        if n_columns == 0:
            raise InputError(
                f"Found array with 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required."
            )
        if n_columns is None:
            if self.max_features != 1.0 or self.bootstrap_features:
                raise InputError("X has no columns that could be drawn.", fix="Set max_features=1.0.")
            return 0
        if not Integer(1).allows(self.max_features):
            return max(1, int(self.max_features * n_columns))
        if self.max_features > n_columns and not self.bootstrap_features:
            raise InputError(f"max_features is {self.max_features}, but X has {n_columns} features.")
        return int(self.max_features)

    def _score_out_of_bag(
        self, members: list[Any], X: Any, y: Array, samples: BootstrapSamples, classes: Any
    ) -> dict[str, Any]:
        """Return the fitted attributes about out-of-bag rows."""
        predict = self._predict_by(classes)

        def predict_rows(t: int, rows: NDArray[np.int64]) -> Floats:
            table = take_features(take_rows(X, rows), samples.columns(t), samples.n_columns)
            return predict(members[t], table)

        parts = out_of_bag_parts(samples, len(members), predict_rows, self.n_jobs)
        mean, n_predictions = out_of_bag_mean(samples.n_rows, parts)
        predictions = mean if classes is None else split_outputs(mean, classes)
        return out_of_bag_attributes(self.oob_score, y, predictions, n_predictions, samples.weights, classes)

    # ---- fitted attributes ----

    def _derived(self, fitted: Mapping[str, Any]) -> dict[str, Any]:
        samples, classes = fitted["_samples"], fitted.get("classes_")
        merged = merge_trees(
            fitted["estimators_"], fitted["estimators_features_"], samples.n_columns, classes
        )
        width = {"n_features_in_": samples.n_columns} if samples.n_columns else {}
        return width | ({} if classes is None else class_attributes(classes)) | {"_merged": merged}

    def _check_fitted(self) -> None:
        """Raise ModelFileError unless members, columns, samples and classes agree."""
        members, features, samples = self.estimators_, self.estimators_features_, self._samples
        classes = check_classes(vars(self).get("classes_")) if self._task == "classification" else None
        require(isinstance(samples, BootstrapSamples), "a bagging ensemble has no samples")
        require(type(members) is list and len(members) >= 1, "a bagging ensemble has no members")
        require(type(features) is list and len(features) == len(members), "a member has no columns")
        for member, columns in zip(members, features, strict=True):
            require(hasattr(member, "predict"), "a member cannot predict")
            valid = is_array(columns, np.int64, samples.n_columns_drawn)
            valid = valid and bool(((columns >= 0) & (columns < samples.n_columns)).all())
            require(valid, "a member has columns that do not exist")
            width = getattr(member, "n_features_in_", samples.n_columns_drawn)
            require(width == samples.n_columns_drawn, "a member was fitted to another number of columns")
            _check_member_classes(member, classes)
        names = vars(self).get("feature_names_in_")
        if names is not None:
            valid = isinstance(names, np.ndarray) and names.shape == (samples.n_columns,)
            require(valid and all(type(name) is str for name in names), "the feature names are not valid")
        check_out_of_bag(vars(self), samples.n_rows, classes)

    @property
    def estimator_(self) -> Any:
        """The base estimator that the members are copies of, or the list of them."""
        check_is_fitted(self)
        return self._base_estimator()

    def tree_sum(self) -> TreeSum:
        """Return the ensemble as a sum of trees, as explanations read it.

        Returns
        -------
        TreeSum
            The trees, whose values or votes are averaged.
        """
        check_is_fitted(self)
        merged = self._merged
        if merged is None:
            raise InputError(
                f"The members of this {type(self).__name__} are not trees that read tables in the same way",
                fix="Bag Spinney's own trees, or explain the members in estimators_.",
            )
        votes = getattr(self, "voting", "soft") == "hard"
        return merged.tree_sum(type(self).__name__, vars(self).get("classes_"), self.n_jobs, votes=votes)

    # ---- metadata ----

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which arguments go to which methods of the members with metadata routing.

        Returns
        -------
        MetadataRouter
            scikit-learn's description of the routing.
        """
        estimator = self._base_estimators()[0]
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
            if hasattr(type(self), method):
                mapping.add(caller=method, callee=self._method_of_members(method))
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=estimator, method_mapping=mapping)

    def _method_of_members(self, method: str) -> str:
        """Return the method of the members that a method of the ensemble calls."""
        return method

    def _route(self, method: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments that a method of the members gets."""
        if not metadata:
            return {}
        require_routing(method, metadata)
        routed = process_routing(self, method, **metadata)["estimator"]
        return {name: value for given in routed.values() for name, value in given.items()}

    # ---- prediction ----

    def _mean(self, X: Any, predict: Predict, metadata: Mapping[str, Any] | None = None) -> Floats:
        """Return the mean over the members of ``predict(member, X, **metadata)``.  -> (n_rows, …)"""
        check_input(self, X)
        features, n_columns = self.estimators_features_, self._samples.n_columns
        return mean_prediction(self.estimators_, features, X, n_columns, predict, self.n_jobs, metadata)

    def _mean_of_trees(self, X: Any) -> Floats | None:
        """Return the mean value of merged trees, None if members are not merged.

        -> (n_rows, n_outputs, width)
        """
        check_input(self, X)
        return None if self._merged is None else self._merged.mean(X, type(self).__name__, self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        each = [base_estimator_tags(estimator) for estimator in self._base_estimators()]
        tags.input_tags = each[0].input_tags
        tags.input_tags.allow_nan = all(one.input_tags.allow_nan for one in each)
        tags.target_tags.multi_output = all(one.target_tags.multi_output for one in each)
        return tags


def _row_order(X: Any, y: Array, table: Table | None) -> NDArray[np.int64] | None:
    """Return `row_order`, None if Spinney cannot read the table.

    The table is X if that has been read already; a sparse matrix is ordered as it is.
    """
    try:
        return row_order(X if table is None or issparse(X) else table, y)
    except InputError:
        # Members may be able to read it. Draws then depend on the positions of the rows.
        return None


# ---- checks of model files ----


def check_out_of_bag(fitted: Mapping[str, Any], n_rows: int, classes: Sequence[Any] | None) -> None:
    """Raise ModelFileError if out-of-bag predictions have another type or shape than (n_rows, …).

    ``classes`` are those of each output, None in regression.
    """
    found = fitted.get("oob_decision_function_" if classes else "oob_prediction_")
    if found is None:
        return
    if classes and type(found) is list:  # of several outputs, in files of earlier versions
        shapes = [(n_rows, len(labels)) for labels in classes]
        valid = len(found) == len(shapes) and all(map(_is_floats, found, shapes))
    elif classes:
        width = max(map(len, classes))
        valid = _is_floats(found, (n_rows, width) if len(classes) == 1 else (n_rows, width, len(classes)))
    else:
        valid = isinstance(found, np.ndarray) and found.dtype == np.float64 and len(found) == n_rows
    require(valid, "the out-of-bag predictions do not have one row per training row")


def _is_floats(array: Any, shape: tuple[int, ...]) -> bool:
    return isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == shape


def _check_member_classes(member: Any, classes: Sequence[Any] | None) -> None:
    seen = getattr(member, "classes_", None)
    if classes is None:
        require(seen is None, "a member of a regressor has classes")
        return
    outputs = by_output(seen)
    require(len(outputs) == len(classes), "a member has another number of outputs")
    for labels, known in zip(outputs, classes, strict=True):
        valid = isinstance(labels, np.ndarray) and set(labels.tolist()) <= set(known.tolist())
        require(valid, "a member has classes that the ensemble does not have")
