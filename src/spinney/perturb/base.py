"""Base class of ensembles whose members are copies of any estimator, and checks of their model files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin

from spinney.bagging.predictions import mean_prediction
from spinney.base import Estimator, parameters
from spinney.io import require
from spinney.members.base_estimators import base_estimator_tags
from spinney.members.tables import check_described, check_input


@parameters
class _MemberEnsemble(MetaEstimatorMixin, Estimator):  # type: ignore[misc]
    """Base class of ensembles over copies of any estimator; tables are passed to the members unchanged."""

    _state_attributes: ClassVar[tuple[str, ...]] = ("n_features_in_", "feature_names_in_")
    _required_attributes: ClassVar[tuple[str, ...]] = ("estimators_",)
    _default_estimator: ClassVar[type]
    estimator: Any = field(default=None, kw_only=False)
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    estimators_: list[Any] = field(init=False)

    def _template(self) -> Any:
        """Return the estimator that members are copies of."""
        return self._default_estimator() if self.estimator is None else self.estimator

    def _mean_prediction(self, X: Any, predict: Callable[[Any, Any], NDArray[Any]]) -> NDArray[np.float64]:
        """Return the mean over the members of ``predict(member, X)``.  -> (n_rows, …)"""
        check_input(self, X)
        n_features = getattr(self, "n_features_in_", 0)
        all_features = [np.arange(n_features)] * len(self.estimators_)
        return mean_prediction(self.estimators_, all_features, X, n_features, predict, self.n_jobs)

    def _check_fitted(self) -> None:
        members = self.estimators_
        require(type(members) is list and members, "the ensemble has no list of members")
        self._check_members()

    def _check_members(self) -> None:
        for member in self.estimators_:
            known = hasattr(member, "predict") and hasattr(member, "n_features_in_")
            same = known and member.n_features_in_ == vars(self).get("n_features_in_")
            require(same, "a member was fitted to other features")
            require(self._is_member(member), "a member has another target than the ensemble")
        check_described(self)

    @abstractmethod
    def _is_member(self, member: Any) -> bool:
        """Return True if a member from a file predicts the target of this ensemble."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = base_estimator_tags(self._template()).input_tags
        return tags
