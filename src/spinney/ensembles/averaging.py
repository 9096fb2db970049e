"""What voting and selection share: members whose answers are averaged by weights of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from spinney.ensembles.base import Problem, _BaseCombination, require
from spinney.ensembles.responses import Method, answer, shares
from spinney.members.tables import check_input


class _BaseMean(_BaseCombination):
    """Hold a weight of each member, at least 0 and summing to one, and average their answers by them."""

    _state_attributes: ClassVar[tuple[str, ...]] = ("weights_",)

    weights_: NDArray[np.float64]

    def _method(self, name: str, member: Any) -> Method:
        """Say by which method a member answers."""
        return "predict"

    def _methods(self, problem: Problem) -> list[Method]:
        return [self._method(*pair) for pair in zip(problem.team.names, problem.team.members, strict=True)]

    def _spoken(
        self, answers: Sequence[NDArray[np.float64]], methods: Sequence[Method], classes: NDArray[Any] | None
    ) -> list[NDArray[np.float64]]:
        """Give the answers of all members as what can be averaged, each (n_rows, width)."""
        return [shares(one, method, classes) for one, method in zip(answers, methods, strict=True)]

    def _each(self, X: Any) -> list[NDArray[np.float64]]:
        """Give what each member says about each row."""
        check_input(self, X)
        classes = getattr(self, "classes_", None)
        methods = [self._method(*pair) for pair in zip(self._names, self.estimators_, strict=True)]
        answers = [
            answer(member, X, method, classes)
            for member, method in zip(self.estimators_, methods, strict=True)
        ]
        return self._spoken(answers, methods, classes)

    def _mean(self, X: Any) -> NDArray[np.float64]:
        """Give the weighted mean of what the members say about each row.  -> (n_rows, width)"""
        each = self._each(X)
        return np.asarray(sum(weight * said for weight, said in zip(self.weights_, each, strict=True)))

    def _check_state(self) -> None:
        super()._check_state()
        if "estimators_" in vars(self):
            weights = vars(self).get("weights_")
            valid = isinstance(weights, np.ndarray) and weights.shape == (len(self.estimators_),)
            require(valid and self.weights_.dtype == np.float64, "there is not one weight a member")
            valid = bool((self.weights_ >= 0).all() and np.isfinite(self.weights_.sum()))
            require(valid, "a weight is negative or not finite")
