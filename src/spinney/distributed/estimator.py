"""DaskEstimator: what all estimators on Dask collections share."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, TypeVar

from spinney.distributed.cluster import Cluster
from spinney.distributed.lazy import predict_lazily
from spinney.distributed.partitions import is_collection
from spinney.io import UnsavableValue

T = TypeVar("T")

_CLIENT = """client : distributed.Client or None, default=None
    Client of the cluster; None is the default client of the process."""


def documented(cls: type[T]) -> type[T]:
    """Class decorator that adds the parameters and attributes of the class without Dask to a docstring.

    It is written as the summary, and an example after the line ``Examples``.
    """
    local = cls._local_class  # type: ignore[attr-defined]
    own, _, examples = inspect.cleandoc(cls.__doc__ or "").partition("Examples\n--------\n")
    text = inspect.cleandoc(local.__doc__)
    rest = text.partition("\nParameters\n----------\n")[2]
    parameters, _, after = rest.partition("\nAttributes\n----------\n")
    attributes = after.partition("\nExamples\n--------\n")[0].partition("\nNotes\n-----\n")[0]
    cls.__doc__ = (
        f"{own.rstrip()}\n\nParameters\n----------\n{parameters.rstrip()}\n{_CLIENT}\n\n"
        f"Attributes\n----------\n{attributes.rstrip()}\n\nExamples\n--------\n{examples}"
    )
    return cls


def take_fitted(model: T, other: Any) -> T:
    """Return a model with the fitted attributes of another one instead of its own."""

    def parts(one: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        names = one.get_params(deep=False)
        kept = {name: value for name, value in vars(one).items() if name in names}
        return kept, {name: value for name, value in vars(one).items() if name not in names}

    model.__dict__ = parts(model)[0] | parts(other)[1]
    return model


class DaskEstimator:
    """Mixin of estimators that fit and predict Dask collections, before the class without Dask."""

    _local_class: ClassVar[type]
    client: Any

    @property
    def client_(self) -> Any:
        """The client: that of the parameter, or the default client."""
        return Cluster.of(self.client).client

    def to_local(self) -> Any:
        """Return the model as an estimator without Dask, which can be saved.

        Returns
        -------
        estimator
            The fitted estimator; its bytes are those of a fit in memory.

        Examples
        --------
        >>> spinney.save(model.to_local(), "model.spinney")  # doctest: +SKIP
        """
        local = self._unfitted()
        return take_fitted(local, self)

    def _unfitted(self) -> Any:
        """Return the estimator without Dask, not fitted."""
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        del params["client"]
        return self._local_class(**params)

    def _predict(self, method: str, X: Any) -> Any:
        """Predict a collection lazily, anything else at once."""
        if is_collection(X):
            return predict_lazily(self.to_local(), method, X)
        return getattr(super(), method)(X)

    def predict(self, X: Any) -> Any:
        """Predict rows.

        Parameters
        ----------
        X : Dask DataFrame, Dask Array, or any table that the estimator without Dask takes
            Rows.

        Returns
        -------
        Dask Array or ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Predictions; of a Dask collection a Dask Array, which is computed when it is needed.
        """
        return self._predict("predict", X)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "client": None}

    def _get_state(self) -> dict[str, Any]:
        raise UnsavableValue(
            f"A {type(self).__name__} belongs to a cluster.", fix="Save what to_local() returns."
        )


class DaskClassifier(DaskEstimator):
    """Mixin of classifiers on Dask collections."""

    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities.

        Parameters
        ----------
        X : Dask DataFrame, Dask Array, or any table that the estimator without Dask takes
            Rows.

        Returns
        -------
        Dask Array or ndarray of shape (n_rows, n_classes)
            Probabilities; of a Dask collection a Dask Array, which is computed when it is needed.
        """
        return self._predict("predict_proba", X)
