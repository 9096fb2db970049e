"""Base classes of ensembles of named estimators: members, metadata routing, fits and weighted means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from importlib import import_module
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

from spinney.base import Estimator, parameters
from spinney.core.errors import InputError, InputTypeError, SpinneyError, show_value, show_values
from spinney.core.parameters import FLAG, Integer, Rule, draw_seed, thread_count
from spinney.core.seeds import stream
from spinney.data.columns import check_not_empty
from spinney.data.target import by_output, encode_classes, encode_like, encode_values, read_target
from spinney.data.weights import check_weights
from spinney.ensembles.default_members import default_members
from spinney.ensembles.predictions import (
    Array,
    Classes,
    FitTask,
    Method,
    OutOfFold,
    aligned_predictions,
    class_indices,
    make_splits,
    make_splitter,
    split_columns,
)
from spinney.io import require
from spinney.members.base_estimators import AnyEstimator, base_estimator_tags, make_member
from spinney.members.tables import (
    check_classes,
    check_described,
    check_input,
    count_rows,
    describe_input,
)

RULES: dict[str, tuple[Rule, ...]] = {"verbose": (FLAG, Integer(0))}
_SHAPE = 'Give a list of (name, estimator) pairs, such as [("tree", DecisionTreeClassifier())].'


@parameters
class _NamedEnsemble(MetaEstimatorMixin, _BaseComposition, Estimator):  # type: ignore[misc]
    """Base class of ensembles of named estimators; a subclass combines the predictions of the members."""

    _task: ClassVar[Literal["classification", "regression"]]
    _has_default_members: ClassVar[bool] = False
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = RULES
    _required_attributes: ClassVar[tuple[str, ...]] = ("estimators_", "_names")
    _state_attributes: ClassVar[tuple[str, ...]] = (
        "classes_",
        "n_features_in_",
        "feature_names_in_",
        "n_outputs_",
    )

    estimators: Any = field(default=None, kw_only=False)
    cv: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    estimators_: list[Any] = field(init=False)
    _names: list[str] = field(init=False)
    classes_: Any = field(init=False)
    n_outputs_: ClassVar[int] = 1  # unless a fit finds more

    # ---- parameters ----

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters.

        Parameters
        ----------
        deep : bool, default=True
            Include the estimators by name, and their parameters as ``name__parameter``.

        Returns
        -------
        dict
            Values by parameter name.
        """
        params: dict[str, Any] = self._get_params("estimators", deep=deep)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters.

        Parameters
        ----------
        **params : dict
            Values by parameter name; also ``name`` (another estimator or "drop") and ``name__parameter``.

        Returns
        -------
        self
            This estimator.
        """
        self._set_params("estimators", **params)
        return self

    @property
    def named_estimators(self) -> Bunch:
        """The given estimators by name, or the default ones."""
        return Bunch(**dict(self._pairs() or ()))

    @property
    def named_estimators_(self) -> Bunch:
        """The fitted members by name; "drop" for those left out."""
        if "estimators_" not in vars(self):
            raise AttributeError(f"This {type(self).__name__} is not fitted yet, so it has no members.")
        fitted = dict(zip(self._names, self.estimators_, strict=True))
        pairs = self._pairs() or ()
        dropped = {name: given for name, given in pairs if _is_dropped(given)}
        known = dropped | fitted
        return Bunch(**{name: known[name] for name, _ in pairs if name in known} | known)

    def _sk_visual_block_(self) -> Any:
        """Return the members side by side, for scikit-learn's diagram in notebooks."""
        names, estimators = zip(*self._pairs(), strict=True)
        return visual_block("parallel", list(estimators), list(names))

    def _pairs(self, several_outputs: bool = False, X: Any = None) -> Any:
        """Return the given pairs of names and estimators, or the default ones where there are any."""
        if self.estimators is None and self._has_default_members and not self._is_prefit():
            n_rows = 0 if X is None else count_rows(X)
            return default_members(self._task, several_outputs, n_rows, sparse.issparse(X))
        return self.estimators

    # ---- reading the arguments of fit ----

    def _read_task(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, metadata: Mapping[str, Any]
    ) -> FitTask:
        """Check every argument of ``fit``."""
        self._check_params()
        if metadata and not get_config()["enable_metadata_routing"]:
            raise InputError(
                f"fit does not accept {show_values(list(metadata))}: passing them on to the members is only "
                "supported if enable_metadata_routing=True",
                fix="Call sklearn.set_config(enable_metadata_routing=True).",
            )
        thread_count(self.n_jobs)
        seed = None if self.random_state is None else draw_seed(self.random_state)
        several_outputs = np.asarray(y).shape[1:] not in ((), (1,))
        pairs = self._check_estimators(self._pairs(several_outputs, X))
        kept = [index for index, (_, estimator) in enumerate(pairs) if not _is_dropped(estimator)]
        if not kept:
            raise InputError("All estimators are dropped. At least one is required to be an estimator.")
        names = [pairs[index][0] for index in kept]
        members = [self._make_member(pairs[index][1], index, seed) for index in kept]
        n_rows = count_rows(X)
        check_not_empty((n_rows, describe_input(X).get("n_features_in_")))
        labels, codes, classes = self._encode_target(y, n_rows, members)
        weights = check_weights(sample_weight, n_rows)
        routed = self._route(names, weights, groups, metadata)
        return FitTask(names, members, kept, X, labels, codes, classes, weights, seed, *routed)

    def _check_estimators(self, pairs: Any) -> Sequence[tuple[str, Any]]:
        valid = isinstance(pairs, list | tuple) and len(pairs) > 0
        if not valid or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
            raise InputError(
                "Invalid 'estimators' attribute, 'estimators' should be a non-empty list of (string, "
                f"estimator) tuples; those of this {type(self).__name__} are {show_value(pairs)}",
                fix=_SHAPE,
            )
        for name, estimator in pairs:
            if not isinstance(name, str):
                raise InputError(
                    "Invalid 'estimators' attribute, 'estimators' should be a non-empty list of (string, "
                    f"estimator) tuples; the name of one is {show_value(name)}",
                    fix=_SHAPE,
                )
            if _is_dropped(estimator):
                continue
            if not AnyEstimator().allows(estimator):
                raise InputTypeError(
                    f"The member {show_value(name)} is {show_value(estimator)}, not an estimator", fix=_SHAPE
                )
            if not self._accepts(estimator):
                kind = type(estimator).__name__
                raise InputError(f"The member {show_value(name)}, a {kind}, should be a {self._kind()}.")
        self._validate_names([name for name, _ in pairs])
        return list(pairs)

    def _accepts(self, estimator: Any) -> bool:
        """Return True if an estimator can be a member."""
        return self._has_same_task(estimator)

    def _has_same_task(self, estimator: Any) -> bool:
        """Return True if an estimator is a classifier, or a regressor, as this one is."""
        return bool((is_classifier if self._task == "classification" else is_regressor)(estimator))

    def _kind(self) -> str:
        return "classifier" if self._task == "classification" else "regressor"

    def _make_member(self, estimator: Any, index: int, seed: int | None) -> Any:
        if self._is_prefit():
            check_is_fitted(estimator)
            return estimator
        return self._make_copy(estimator, index, seed)

    def _make_copy(self, estimator: Any, index: int, seed: int | None) -> Any:
        """Return an unfitted copy, with random states of its own if there is a seed."""
        return make_member(estimator, None if seed is None else int(stream(seed, index).integers(2**63)))

    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _encode_target(
        self, y: Any, n_rows: int, members: Sequence[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], Classes]:
        """Return labels, their codes and the classes; in regression the values twice, and None.

        Arrays are (n_rows,), or (n_rows, n_outputs) with a list of classes.
        """
        target = read_target(y, n_rows)
        several = target.ndim == 2
        if self._task == "regression":
            values = encode_values(target, non_negative=False)
            values = values if several else values[:, 0]
            return values, values, None
        codes, outputs = encode_classes(target)
        if self._is_prefit():
            # Held-out rows may lack a class that the members know.
            owns = [by_output(member.classes_) for member in members if hasattr(member, "classes_")]
            owns = [own for own in owns if len(own) == len(outputs)]
            known = [np.concatenate([labels, *(own[k] for own in owns)]) for k, labels in enumerate(outputs)]
            outputs = tuple(encode_classes(labels).classes[0] for labels in known)
            codes = encode_like(target, outputs)
        if several:
            return target, codes, list(outputs)
        return outputs[0].take(codes[:, 0]), codes[:, 0], outputs[0]

    # ---- metadata ----

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which arguments of ``fit`` go to the members and the splitter with metadata routing.

        Returns
        -------
        MetadataRouter
            scikit-learn's description of the routing.
        """
        from sklearn.model_selection import check_cv

        fitting = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self)  # requests of members, splitter and final estimator decide
        for name, estimator in self._pairs() or ():
            if not _is_dropped(estimator):
                router.add(**{name: estimator}, method_mapping=fitting)
        splitter = check_cv(None if isinstance(self.cv, str) else self.cv)
        router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def _route(
        self, names: Sequence[str], weights: Array | None, groups: Any, metadata: Mapping[str, Any]
    ) -> tuple[list[Mapping[str, Any]], Any, Mapping[str, Any]]:
        """Return the metadata of each member's ``fit``, the groups, and that of the final estimator."""
        common = {} if weights is None else {"sample_weight": weights}
        if not get_config()["enable_metadata_routing"]:
            return [common] * len(names), groups, common
        # Only what was given: an absent weight is not a weight of None.
        given = {**metadata, **common} | ({} if groups is None else {"groups": groups})
        routed = process_routing(self, "fit", **given)
        return [routed[name]["fit"] for name in names], routed["splitter"]["split"].get("groups"), given

    # ---- fitting ----

    def _predict_held_out(self, task: FitTask, methods: Sequence[Method]) -> OutOfFold:
        """Return predictions of the members for rows that they were not fitted to.

        With cv="prefit" the rows given to ``fit`` are taken to be such.
        """
        if self._is_prefit():
            predictions = self._predictions(task.members, methods, task.X, task.classes, task.n_outputs)
            return OutOfFold(np.arange(len(task.y)), predictions)
        splitter = make_splitter(self.cv, task.codes, task.classes is not None)
        splits = make_splits(splitter, task.X, task.codes, task.groups)
        try:
            return task.predict_out_of_fold(splits, methods, self.n_jobs, self._title("out-of-fold"))
        except SpinneyError as error:
            if error.row is not None:
                # The row is counted within a fold; fitting to all rows raises the error with its true index.
                self._fit_members(task)
            raise

    def _fit_members(self, task: FitTask) -> list[Any]:
        """Return the members, fitted to all rows unless they are prefit."""
        if self._is_prefit():
            return list(task.members)
        return task.fit_members(self.n_jobs, self._title("members"))

    def _title(self, what: str) -> str | None:
        return f"{type(self).__name__}: {what}" if self.verbose else None

    def _method(self, name: str, member: Any) -> Method:
        """Return the prediction method of a member."""
        return "predict"

    def _methods(self, names: Sequence[str], members: Sequence[Any]) -> list[Method]:
        return [self._method(*pair) for pair in zip(names, members, strict=True)]

    @staticmethod
    def _predictions(
        members: Sequence[Any], methods: Sequence[Method], X: Any, classes: Classes, n_outputs: int
    ) -> list[Array]:
        """Return the predictions of each member, (n_rows, width) each."""
        pairs = zip(members, methods, strict=True)
        return [aligned_predictions(member, X, method, classes, n_outputs) for member, method in pairs]

    def _describe_outputs(self, task: FitTask) -> dict[str, Any]:
        """Return the fitted attributes that describe the target."""
        return {"classes_": task.classes, "n_outputs_": task.n_outputs if task.n_outputs > 1 else None}

    # ---- after fitting ----

    def _check_fitted(self) -> None:
        check_described(self)
        members, names = self.estimators_, self._names
        require(type(members) is list and len(members) > 0, "the ensemble has no list of members")
        valid = all(hasattr(member, "predict") and hasattr(member, "get_params") for member in members)
        require(valid, "a member is not an estimator")
        require(type(names) is list and len(names) == len(members), "members and names differ in number")
        require(all(type(name) is str for name in names), "the name of a member is not a string")
        given = self.estimators or ()
        valid = isinstance(given, list | tuple) and all(
            isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in given
        )
        require(valid, "the estimators are not pairs of a name and an estimator")
        classes = vars(self).get("classes_")
        if self._task == "regression":
            require(classes is None, "a regressor has classes")
            return
        outputs = check_classes(classes)
        require(len(outputs) == self.n_outputs_, "the number of outputs is not that of the classes")
        for member in (*members, vars(self).get("final_estimator_")):
            owns = by_output(getattr(member, "classes_", None))
            for labels, own in zip(outputs, owns if len(owns) == len(outputs) else (), strict=False):
                class_indices(member, labels, own)

    def _table_readers(self) -> list[Any]:
        """Return the estimators that are given X itself."""
        return [estimator for _, estimator in self._pairs() if not _is_dropped(estimator)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            inputs = [base_estimator_tags(reader).input_tags for reader in self._table_readers()]
        except (TypeError, ValueError, AttributeError):
            inputs = []  # fit raises the error for invalid estimators
        for kind in ("sparse", "allow_nan", "categorical", "string"):
            setattr(tags.input_tags, kind, bool(inputs) and all(getattr(one, kind) for one in inputs))
        return tags

    def _learns_several_outputs(self) -> bool:
        """Return True if all members support several outputs."""
        try:
            readers = self._table_readers()
            return all(base_estimator_tags(reader).target_tags.multi_output for reader in readers)
        except (TypeError, ValueError, AttributeError):
            return False  # fit raises the error for invalid estimators


class _WeightedMean(_NamedEnsemble):
    """Base class of ensembles that average the predictions of their members with weights."""

    _required_attributes: ClassVar[tuple[str, ...]] = ("weights_",)

    weights_: Array

    def _member_probabilities(self, X: Any) -> list[Array]:
        """Return probabilities, votes or values of each member, (n_rows, width) each."""
        check_input(self, X)
        methods = self._methods(self._names, self.estimators_)
        return self._predictions(self.estimators_, methods, X, vars(self).get("classes_"), self.n_outputs_)

    def _mean(self, X: Any) -> Array:
        """Return the weighted mean over the members.  -> (n_rows, width)"""
        each = self._member_probabilities(X)
        return np.asarray(sum(weight * one for weight, one in zip(self.weights_, each, strict=True)))

    def _mean_probabilities(self, X: Any) -> Any:
        """Return mean probabilities (n_rows, n_classes), a list of them if there are several outputs."""
        parts = split_columns(self._mean(X), self.classes_)
        return parts if type(self.classes_) is list else parts[0]

    def _mean_values(self, X: Any) -> Array:
        """Return mean values.  -> (n_rows,) or (n_rows, n_outputs)"""
        mean = self._mean(X)
        return mean[:, 0] if self.n_outputs_ == 1 else mean

    def additive_members(self) -> tuple[float, list[tuple[float, Any]]]:
        """Return the members whose outputs are added, with their weights, as explanations read them.

        Returns
        -------
        tuple of float and list of (float, estimator)
            A constant that is added, and the members. Members of weight 0 are left out.
        """
        check_is_fitted(self)
        if "votes" in self._methods(self._names, self.estimators_):
            raise InputError(
                f"Members of this {type(self).__name__} vote, and votes are no sum of contributions",
                fix='Use voting="soft", or explain the members in estimators_.',
            )
        pairs = zip(self.weights_.tolist(), self.estimators_, strict=True)
        return 0.0, [(weight, member) for weight, member in pairs if weight > 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._learns_several_outputs()
        return tags

    def _check_fitted(self) -> None:
        super()._check_fitted()
        weights: Any = self.weights_
        valid = isinstance(weights, np.ndarray) and weights.shape == (len(self.estimators_),)
        require(valid and weights.dtype == np.float64, "there is not one weight per member")
        valid = bool((weights >= 0).all() and np.isfinite(weights.sum()))
        require(valid, "a weight is negative or not finite")


def _is_dropped(estimator: Any) -> bool:
    return isinstance(estimator, str) and estimator == "drop"


def visual_block(kind: Literal["parallel", "serial"], estimators: list[Any], names: list[str]) -> Any:
    """Return a block of scikit-learn's diagram; raise ValueError, for a plain box, where it has none."""
    for module in ("sklearn.utils._repr_html.estimator", "sklearn.utils._estimator_html_repr"):
        with suppress(ImportError, AttributeError):
            # scikit-learn 1.7 moved the class, which has no public name.
            block: Any = getattr(import_module(module), "_VisualBlock")  # noqa: B009
            return block(kind, estimators, names=names, dash_wrapped=kind == "parallel")
    raise ValueError("This version of scikit-learn has no diagrams.")
