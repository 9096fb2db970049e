"""Several outputs by one model for each, for estimators that learn one output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import wraps
from itertools import zip_longest
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from spinney.core.errors import InputError
from spinney.data.target import read_target
from spinney.io import require
from spinney.members.tables import count_training_rows


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
        shape = np.shape(y)
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


def scores_of_outputs(parts: Sequence[NDArray[Any]]) -> Any:
    """Return one column of scores per output, a list of arrays if an output has several.

    >>> scores_of_outputs([np.array([1.0]), np.array([3.0])]).tolist()
    [[1.0, 3.0]]
    """
    return side_by_side(parts) if all(part.ndim == 1 for part in parts) else list(parts)


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
