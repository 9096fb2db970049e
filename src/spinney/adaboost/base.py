"""What AdaBoost's classifier and regressor share: parameters, reading their input, members, importances."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from spinney.adaboost.members import members_of, share_schema, shares_schema
from spinney.adaboost.state import pack_members, require, unpack_members
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, Real, Rule, Whole, thread_count
from spinney.data.splits import hold_out
from spinney.io import Persistent
from spinney.members.base_estimators import base_estimator_tags
from spinney.members.tables import check_described, check_input

RULES: dict[str, tuple[Rule, ...]] = {
    "n_estimators": (Whole(1),),
    "learning_rate": (Real(0.0, open_ends="("),),
    "resample": (FLAG,),
    "warm_start": (FLAG,),
    "early_stopping": (FLAG,),
    "validation_fraction": (Real(0.0, 1.0, open_ends="()"),),
    "n_iter_no_change": (Whole(1),),
    "tol": (Real(0.0),),
    "verbose": (FLAG, Whole(0)),
}


class _BaseAdaBoost(BaseEstimator, Persistent, metaclass=ABCMeta):  # type: ignore[misc]
    """Hold what fitting leaves behind: members, their weights and errors."""

    _state_attributes: ClassVar[tuple[str, ...]] = (
        "estimator_",
        "estimators_",
        "estimator_weights_",
        "estimator_errors_",
        "n_features_in_",
        "feature_names_in_",
        "validation_errors_",
    )
    _required_attributes: ClassVar[tuple[str, ...]] = (
        "estimators_",
        "estimator_weights_",
        "estimator_errors_",
    )
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = RULES

    estimator: Any
    n_estimators: int
    learning_rate: float
    resample: bool
    warm_start: bool
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    tol: float
    verbose: int
    random_state: Any
    n_jobs: int | None

    estimators_: list[Any]
    estimator_weights_: NDArray[np.float64]
    estimator_errors_: NDArray[np.float64]

    @abstractmethod
    def _default_estimator(self) -> Any:
        """Make the member that is used where none is given."""

    def _pattern(self) -> Any:
        """Give the estimator that members are copies of."""
        if self.estimator is None:
            return self._default_estimator()
        if not hasattr(self.estimator, "fit") or isinstance(self.estimator, type):
            raise InputError(
                f"estimator is {self.estimator!r}; it takes None or an estimator, for example "
                "DecisionTreeClassifier(max_depth=2)."
            )
        return self.estimator

    def _earlier(self) -> int:
        """Count the rounds to keep from an earlier fit."""
        if not self.warm_start or not hasattr(self, "estimators_"):
            return 0
        if self.n_estimators < len(self.estimators_):
            raise InputError(
                f"n_estimators={self.n_estimators} is less than the {len(self.estimators_)} members that "
                "warm_start=True is to go on from",
                fix="Ask for more, or set warm_start=False.",
            )
        return len(self.estimators_)

    def _split(
        self,
        given: NDArray[np.float64] | None,
        n_rows: int,
        seed: int,
        strata: NDArray[np.int32] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Give the weights of the rows to learn from, and of those held out, None if none are."""
        weights = np.ones(n_rows) if given is None else given
        if not self.early_stopping:
            return weights, None
        out = hold_out(self.validation_fraction, seed, n_rows, strata)
        learned, held = np.where(out, 0.0, weights), np.where(out, weights, 0.0)
        if not learned.any() or not held.any():
            raise InputError("Holding rows out for early stopping leaves no weight on one side.")
        return learned, held

    def _adopt(self, fitted: dict[str, Any]) -> Self:
        """Set all fitted attributes at once, so that a fit that fails leaves the estimator as it was."""
        names = {name for base in type(self).__mro__ for name in vars(base).get("_state_attributes", ())}
        names |= {name for base in type(self).__mro__ for name in vars(base).get("_transient_attributes", ())}
        kept = {name: value for name, value in vars(self).items() if name not in names}
        self.__dict__ = kept | fitted
        return self

    def _members(self) -> list[Any]:
        return members_of(self.estimators_)

    def _check_rows(self, X: Any) -> None:
        """Refuse an X with other features; trees that share a schema do so themselves, with better words."""
        check_is_fitted(self)
        if not shares_schema(self._members()):
            check_input(self, X)

    def _threads(self) -> int:
        return thread_count(self.n_jobs)

    # ---- reading the ensemble ----

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Give the mean of the members' importances, by their weight.  (n_features,)"""
        check_is_fitted(self)
        members = self._members()
        if not all(hasattr(member, "feature_importances_") for member in members):
            raise AttributeError(
                f"The members of this {type(self).__name__} have no feature_importances_, so it has none."
            )
        weights = np.repeat(self.estimator_weights_, len(members) // len(self.estimators_))
        if weights.sum() <= 0:
            weights = np.ones(len(members))
        importances = np.array([member.feature_importances_ for member in members])
        return np.asarray(weights @ importances / weights.sum())

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: int) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    # ---- its file ----

    def _get_state(self) -> dict[str, Any]:
        state = super()._get_state()
        members = state["fitted"].get("estimators_")
        # A round of several members stays as it is; so does one of members that share nothing.
        packed = pack_members(members) if members and type(members[0]) is not list else None
        if packed is not None:
            state["fitted"] = {**state["fitted"], "estimators_": packed}
        return state

    def _set_state(self, state: dict[str, Any]) -> None:
        super()._set_state(state)
        if isinstance(vars(self).get("estimators_"), dict):
            self.estimators_ = unpack_members(self.estimators_)

    def _check_state(self) -> None:
        if not hasattr(self, "estimators_"):
            return
        check_described(self)
        rounds, weights, errors = self.estimators_, self.estimator_weights_, self.estimator_errors_
        require(type(rounds) is list and len(rounds) > 0, "it has no members")
        for numbers in (weights, errors):
            sound = isinstance(numbers, np.ndarray) and numbers.dtype == np.float64
            require(sound and numbers.shape == (len(rounds),), "weights or errors do not match the members")
            require(bool(np.isfinite(numbers).all()), "weights or errors are not finite")
        members = self._members()
        require(len(members) % len(rounds) == 0, "its rounds differ in their number of members")
        for member in members:
            require(hasattr(member, "predict"), "a member is no estimator")
            check_is_fitted(member)
            own = getattr(member, "n_features_in_", None)
            require(own == self.n_features_in_, "a member was fitted to other features")
        share_schema(members)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        pattern = base_estimator_tags(
            self.estimator if self.estimator is not None else self._default_estimator()
        )
        for name in ("sparse", "allow_nan", "categorical", "string"):
            setattr(tags.input_tags, name, getattr(pattern.input_tags, name))
        return tags
