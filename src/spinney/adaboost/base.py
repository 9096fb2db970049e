"""Base class of the AdaBoost estimators: the steps of ``fit``, members, importances and fitted state."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import field
from functools import wraps
from itertools import zip_longest
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from spinney.adaboost.members import (
    Members,
    flatten,
    open_members,
    pack_members,
    share_schema,
    shares_schema,
    unpack_members,
)
from spinney.adaboost.rounds import Rounds
from spinney.adaboost.stumps import FittedStumps
from spinney.base import Estimator, parameters
from spinney.core.cached_attribute import cached_attribute
from spinney.core.early_stopping import EarlyStopping
from spinney.core.errors import InputError
from spinney.core.parameters import EARLY_STOPPING, FLAG, NONE, Integer, Real, Rule, thread_count
from spinney.core.progress import ProgressBar
from spinney.data.splits import hold_out
from spinney.data.target import read_target
from spinney.data.weights import check_weights
from spinney.io import require
from spinney.members.base_estimators import AnyEstimator, CopiesEnsemble
from spinney.members.tables import check_described, check_input, count_training_rows, is_array

Floats = NDArray[np.float64]

RULES: dict[str, tuple[Rule, ...]] = {
    "estimator": (NONE, AnyEstimator()),
    "n_estimators": (Integer(1),),
    "learning_rate": (Real(0.0, open_ends="("),),
    "resample": (FLAG,),
    "warm_start": (FLAG,),
    "early_stopping": (FLAG,),
    "validation_fraction": (Real(0.0, 1.0, open_ends="()"),),
    "n_iter_no_change": (Integer(1),),
    "tol": (Real(0.0),),
    "verbose": (Integer(0), FLAG),
}


# ---- several outputs: one model for each ----


class ModelPerOutput:
    """Mixin of estimators that learn one output: a target of several is learned by one model for each.

    The models are ``outputs_``, and a fitted ensemble has them instead of members.
    """

    _state_attributes: ClassVar[tuple[str, ...]] = ("outputs_",)

    def _fit_outputs(self, X: Any, targets: NDArray[Any], **how: Any) -> list[Any]:
        """Return a model per column of the targets; with ``warm_start`` the last fit is continued."""
        estimator: Any = self
        earlier = vars(self).get("outputs_") if estimator.warm_start else None
        if estimator.warm_start and hasattr(self, "estimators_"):
            earlier = []
        if earlier is not None and len(earlier) != targets.shape[1]:
            raise InputError(
                "warm_start=True cannot continue a fit with another number of outputs",
                fix="Fit with warm_start=False.",
            )
        new = [clone(self) for _ in range(targets.shape[1])] if earlier is None else list(map(copy, earlier))
        params = estimator.get_params(deep=False)
        return [
            model.set_params(**params).fit(X, target, **how)
            for model, target in zip(new, targets.T, strict=True)
        ]

    def _require_one_output(self) -> None:
        """Raise InputError if the estimator was fitted to several outputs."""
        if "outputs_" in vars(self):
            raise InputError(
                f"This {type(self).__name__} was fitted to several outputs, and one is needed here",
                fix="Use one of the models in outputs_.",
            )

    def _check_outputs(self, models: Any) -> None:
        """Raise CorruptModelFile unless models read from a file are one per output, of this class."""
        require(type(models) is list and len(models) >= 2, "there are not several outputs")
        for model in models:
            valid = type(model) is type(self) and "outputs_" not in vars(model)
            require(valid, "the model of an output is of another kind")
            check_is_fitted(model)
            require(model.n_features_in_ == models[0].n_features_in_, "the outputs have other features")


def read_outputs(X: Any, y: Any) -> NDArray[Any] | None:
    """Return a target of several columns, None if y has one output.

    >>> read_outputs([[0.0], [1.0]], [1, 2]) is None, read_outputs([[0.0], [1.0]], [[1, 2], [3, 4]]).shape
    (True, (2, 2))
    """
    try:
        shape = np.asarray(y).shape
    except ValueError:  # rows of different lengths, which the reader of targets explains
        return None
    if len(shape) != 2 or shape[1] < 2:
        return None
    return read_target(y, count_training_rows(X))


def per_output(join: Callable[[list[Any]], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator of a method of X that joins the results of the models of several outputs, where there are."""

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def called(self: Any, X: Any) -> Any:
            models = vars(self).get("outputs_")
            if models is None:
                return method(self, X)
            return join([getattr(model, method.__name__)(X) for model in models])

        return called

    return decorate


def side_by_side(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return one column per output.

    >>> side_by_side([np.array([1, 2]), np.array([3, 4])]).tolist()
    [[1, 3], [2, 4]]
    """
    return np.stack(parts, axis=1)


def in_stages(join: Callable[[list[Any]], Any]) -> Callable[[Sequence[Iterator[Any]]], Iterator[Any]]:
    """Return a function that joins iterators over rounds; an output that has ended keeps its last value.

    >>> list(in_stages(list)([iter([1, 2]), iter([5])]))
    [[1, 5], [2, 5]]
    """

    def joined(parts: Sequence[Iterator[Any]]) -> Iterator[Any]:
        last: list[Any] = []
        for values in zip_longest(*parts):
            last = [new if new is not None else old for new, old in zip_longest(values, last)]
            yield join(last)

    return joined


# ---- the estimators ----


@parameters
class _BaseAdaBoost(ModelPerOutput, CopiesEnsemble, Estimator):
    """Ensemble of members, each with a weight and an error."""

    # What a fit of one output has; that of several has outputs_.
    _single_attributes: ClassVar[tuple[str, ...]] = ("estimators_", "estimator_weights_", "estimator_errors_")
    _state_attributes: ClassVar[tuple[str, ...]] = (
        *_single_attributes,
        "estimator_",
        "n_features_in_",
        "feature_names_in_",
        "validation_errors_",
    )
    # Of stumps that the core has boosted; the members are made when they are asked for.
    _transient_attributes: ClassVar[tuple[str, ...]] = ("_stumps",)
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = RULES
    _parameter_uses = (EARLY_STOPPING,)

    estimator: Any = field(default=None, kw_only=False)
    n_estimators: int = 50
    learning_rate: float = 1.0
    random_state: Any = None
    resample: bool = False
    warm_start: bool = False
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    tol: float = 0.0
    verbose: int = 0
    n_jobs: int | None = None

    outputs_: list[Any] = field(init=False)
    _stumps: FittedStumps = field(init=False)
    estimator_weights_: Floats = field(init=False)
    estimator_errors_: Floats = field(init=False)

    @abstractmethod
    def _start(
        self, members: Members, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[Rounds, Floats | None, dict[str, Any]]:
        """Read the target; return the rounds, the weights of rows held out, and some fitted attributes."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensemble; with ``warm_start`` add members to those of the last fit.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features, in any form that the members accept. Spinney's trees accept arrays, sparse matrices and
            data frames, with missing values and columns of text.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Class labels or target values. Several outputs are learned by one model each, in ``outputs_``.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights. Rows of weight 0 are ignored.

        Returns
        -------
        object
            The fitted estimator.

        Examples
        --------
        >>> from spinney import AdaBoostClassifier
        >>> AdaBoostClassifier().fit([[0.0], [1.0]], ["a", "b"]).predict([[0.2]]).tolist()
        ['a']
        """
        self._check_params()
        targets = read_outputs(X, y)
        if targets is not None:
            models = self._fit_outputs(X, targets, sample_weight=sample_weight)
            described = {name: vars(models[0]).get(name) for name in ("n_features_in_", "feature_names_in_")}
            return self._set_fitted(outputs_=models, **described)
        n_earlier = self._check_rounds()
        members = open_members(self._base_estimator(), X, self._resamples(), self._threads())
        rounds, held_out, fitted = self._start(members, y, sample_weight)
        fitted |= members.describe_features()
        if n_earlier:
            self._check_earlier_fit(X, fitted)
            rounds.replay(
                list(self.estimators_), self.estimator_weights_.tolist(), self.estimator_errors_.tolist()
            )
        n_rounds, validation_errors = self._run(rounds, held_out)
        fitted |= rounds.fitted_members(n_rounds)
        fitted |= {
            "estimator_": self._base_estimator(),
            "estimator_weights_": np.array(rounds.estimator_weights[:n_rounds]),
            "estimator_errors_": np.array(rounds.estimator_errors[:n_rounds]),
            "validation_errors_": validation_errors,
            "ledger_": rounds.make_ledger(n_rounds),
        }
        return self._set_fitted(**fitted)

    def _run(self, rounds: Rounds, held_out: Floats | None) -> tuple[int, Floats | None]:
        """Run the rounds; return the number of rounds to keep, and the validation error after each."""
        if held_out is None:
            if self.verbose:
                for _ in self._steps(rounds):
                    pass
            else:
                rounds.run(self.n_estimators)
            return len(rounds.estimator_weights), None
        stopping, errors = EarlyStopping(self.n_iter_no_change, self.tol), list[float]()
        for n_added in self._steps(rounds):
            if n_added:
                errors.append(rounds.error_on(held_out))
                if stopping.update(-errors[-1]):
                    break
        return len(rounds.estimators) + stopping.best_iter - stopping.n_iter, np.array(errors)

    def _steps(self, rounds: Rounds) -> Iterator[int]:
        """Make the rounds that are left; yield the number of members that each added, 0 or 1."""
        title, n_rounds = type(self).__name__, self.n_estimators
        with ProgressBar(title, n_rounds, shown=self.verbose) if self.verbose else nullcontext() as bar:
            done = rounds.is_complete()
            while not done and len(rounds.estimators) < self.n_estimators:
                n_before = len(rounds.estimators)
                done = not rounds.step()
                n_done = len(rounds.estimators)
                if bar is not None:
                    bar.update(n_done, f"error {rounds.estimator_errors[-1]:.4f}")
                yield n_done - n_before

    def _check_rounds(self) -> int:
        """Return the number of rounds of the last fit to keep."""
        if self.warm_start:
            self._require_one_output()
        if not self.warm_start or not hasattr(self, "estimators_"):
            return 0
        if self.n_estimators < len(self.estimators_):
            raise InputError(
                f"n_estimators={self.n_estimators} is less than the {len(self.estimators_)} members that "
                "warm_start=True would continue from",
                fix="Raise n_estimators, or set warm_start=False.",
            )
        return len(self.estimators_)

    def _check_earlier_fit(self, X: Any, fitted: Mapping[str, Any]) -> None:
        """Raise InputError if the last fit does not match the data."""
        check_input(self, X)

    def _hold_out(
        self, given: ArrayLike | None, n_rows: int, seed: int, strata: NDArray[np.int32] | None = None
    ) -> tuple[Floats, Floats | None]:
        """Return the weights of the training rows, and of the rows held out for early stopping."""
        checked = None if given is None else check_weights(given, n_rows)
        weights = np.ones(n_rows) if checked is None else checked
        if not self.early_stopping:
            return weights, None
        is_held_out = hold_out(self.validation_fraction, seed, n_rows, strata)
        training, held_out = np.where(is_held_out, 0.0, weights), np.where(is_held_out, weights, 0.0)
        if not training.any() or not held_out.any():
            raise InputError("Holding rows out for early stopping leaves no weight on one side.")
        return training, held_out

    def _resamples(self) -> bool:
        """Return whether rows are drawn by weight."""
        return self.resample

    @cached_attribute
    def estimators_(self) -> list[Any]:
        """The fitted members, one per round."""
        stumps: FittedStumps | None = vars(self).get("_stumps")
        if stumps is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'estimators_'")
        return stumps.members()

    def _make_members(self) -> None:
        """Make the members, if there are stumps that they are made of."""
        getattr(self, "estimators_", None)

    def _members(self) -> list[Any]:
        return flatten(self.estimators_)

    def _check_rows(self, X: Any) -> None:
        """Raise an error if X has other features; trees that share a schema check it themselves."""
        check_is_fitted(self)
        if not shares_schema(self._members()):
            check_input(self, X)

    def _threads(self) -> int:
        return thread_count(self.n_jobs)

    # ---- members ----

    @property
    def feature_importances_(self) -> Floats:
        """Weighted mean of the importances of the members, and mean over outputs.  (n_features,)"""
        check_is_fitted(self)
        if "outputs_" in vars(self):
            return np.asarray(np.mean([model.feature_importances_ for model in self.outputs_], axis=0))
        members = self._members()
        if not all(hasattr(member, "feature_importances_") for member in members):
            raise AttributeError(
                f"The members of this {type(self).__name__} have no feature_importances_, so it has none."
            )
        weights = np.repeat(self.estimator_weights_, len(members) // len(self.estimators_))
        if weights.sum() <= 0:
            weights = np.ones(len(members))
        importances = np.array([member.feature_importances_ for member in members])
        return np.asarray((weights[:, None] * importances).sum(axis=0) / weights.sum())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    # ---- model files ----

    def _fitted_attributes(self) -> dict[str, Any]:
        self._make_members()
        return super()._fitted_attributes()

    def _get_state(self) -> dict[str, Any]:
        self._make_members()
        state = super()._get_state()
        members = state["fitted"].get("estimators_")
        # Rounds with lists of members, and members without a shared schema, are stored as they are.
        packed = pack_members(members) if members and type(members[0]) is not list else None
        if packed is not None:
            state["fitted"] = {**state["fitted"], "estimators_": packed}
        return state

    def _set_state(self, state: dict[str, Any]) -> None:
        super()._set_state(state)
        if isinstance(vars(self).get("estimators_"), dict):
            self.estimators_ = unpack_members(self.estimators_)

    def _check_fitted(self) -> None:
        check_described(self)
        fitted = vars(self)
        if "outputs_" in fitted:
            self._check_outputs(fitted["outputs_"])
            require(self.outputs_[0].n_features_in_ == self.n_features_in_, "an output has other features")
            require("estimators_" not in fitted, "there are members beside outputs")
            return
        for name in self._single_attributes:
            require(name in fitted, f"a {type(self).__name__} has no {name!r}")
        rounds = self.estimators_
        require(type(rounds) is list and len(rounds) > 0, "the ensemble has no members")
        for values in (self.estimator_weights_, self.estimator_errors_):
            require(is_array(values, np.float64, len(rounds)), "weights or errors do not match the members")
            require(np.isfinite(values).all(), "weights or errors are not finite")
        members = self._members()
        require(len(members) % len(rounds) == 0, "rounds differ in their number of members")
        for member in members:
            require(hasattr(member, "predict"), "a member is not an estimator")
            check_is_fitted(member)
            n_features = getattr(member, "n_features_in_", None)
            require(n_features == self.n_features_in_, "a member was fitted to other features")
        share_schema(members)
