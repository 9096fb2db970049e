"""DaskGradientBoostingClassifier and DaskGradientBoostingRegressor."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from spinney.base import parameters
from spinney.core.errors import InputError
from spinney.distributed.cluster import Cluster
from spinney.distributed.estimator import DaskClassifier, DaskEstimator, documented, take_fitted
from spinney.distributed.partitions import collect
from spinney.distributed.rows import ClusterRows
from spinney.gradient_boosting.callbacks import Callback
from spinney.gradient_boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.gradient_boosting.evaluation import EvalMetric
from spinney.io import load


class DaskBoosting(DaskEstimator):
    """Mixin of gradient boosting on Dask collections."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        init_score: Any = None,
        eval_set: Any = None,
        eval_names: Sequence[str] | None = None,
        eval_metric: EvalMetric | Sequence[EvalMetric] | None = None,
        eval_sample_weight: Sequence[Any] | None = None,
        callbacks: Callback | Sequence[Callback] | None = None,
    ) -> Self:
        """Fit the model; it has the bytes of a fit in memory, whatever the partitions and workers.

        Parameters
        ----------
        X : Dask DataFrame or Dask Array of shape (n_rows, n_features)
            Features. The rows have the order of the partitions. They are read three times; persist them if
            that is slow and the cluster has the memory.
        y : Dask Series, Dask Array or array-like of shape (n_rows,) or (n_rows, n_outputs)
            Class labels or target values; collected by the client.
        sample_weight : Dask Series, Dask Array or array-like of shape (n_rows,) or None, default=None
            Row weights. Rows of weight 0 are ignored.
        init_score : Dask Array or array-like of shape (n_rows,) or (n_rows, n_classes) or None, default=None
            Raw score that each row starts from instead of the optimal constant.
        eval_set : tuple, list of tuples or None, default=None
            One or several sets of validation rows: (X, y), (X, y, sample_weight) or
            (X, y, sample_weight, init_score); Dask collections are collected by the client.
        eval_names : sequence of str or None, default=None
            Names of the sets; None is validation_0, validation_1, …
        eval_metric : str, callable, list of these or None, default=None
            Metrics to record.
        eval_sample_weight : list of array-like or None, default=None
            Weights of the rows of every set, None for those without.
        callbacks : callable or sequence of callables or None, default=None
            Called by the client with a `Round` after every round, such as `Checkpoint`.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ClusterError
            If there is no worker left.

        Examples
        --------
        >>> model.fit(frame[["price", "shop"]], frame["sold"])  # doctest: +SKIP
        """
        local = self._unfitted()
        if self.warm_start:  # type: ignore[attr-defined]
            take_fitted(local, self)
        evals = {
            "eval_set": _collect_sets(Cluster.of(self.client), eval_set),
            "eval_names": eval_names,
            "eval_metric": eval_metric,
            "eval_sample_weight": eval_sample_weight,
        }
        rows = _read_rows(self, X, y, sample_weight)
        try:
            scores = collect(rows.cluster, init_score)
            local.fit(rows, init_score=scores, callbacks=callbacks, **evals)
        finally:
            rows.close()
        return take_fitted(self, local)

    @classmethod
    def resume(
        cls,
        path: str | os.PathLike[str],
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        client: Any = None,
        init_score: Any = None,
        eval_set: Any = None,
        eval_names: Sequence[str] | None = None,
        eval_metric: EvalMetric | Sequence[EvalMetric] | None = None,
        eval_sample_weight: Sequence[Any] | None = None,
        callbacks: Callback | Sequence[Callback] | None = None,
    ) -> Self:
        """Resume training from a `Checkpoint`; the result is bit-equal to an uninterrupted fit.

        Parameters
        ----------
        path : str or path-like
            File of the checkpoint.
        X : Dask DataFrame or Dask Array of shape (n_rows, n_features)
            Features, as passed to ``fit``; the partitions may be others.
        y : Dask Series, Dask Array or array-like of shape (n_rows,)
            Targets, as passed to ``fit``.
        sample_weight : Dask Series, Dask Array or array-like of shape (n_rows,) or None, default=None
            Row weights, as passed to ``fit``.
        client : distributed.Client or None, default=None
            Client of the cluster; None is the default client of the process.
        init_score : Dask Array or array-like or None, default=None
            Initial raw scores, as passed to ``fit``.
        eval_set : tuple, list of tuples or None, default=None
            Validation rows, as passed to ``fit``.
        eval_names : sequence of str or None, default=None
            Names of the sets, as passed to ``fit``.
        eval_metric : str, callable, list of these or None, default=None
            Metrics to record, as passed to ``fit``.
        eval_sample_weight : list of array-like or None, default=None
            Weights of the rows of every set, as passed to ``fit``.
        callbacks : callable or sequence of callables or None, default=None
            Callbacks of the remaining rounds.

        Returns
        -------
        object
            The fitted estimator.

        Examples
        --------
        >>> DaskGradientBoostingClassifier.resume("run.spinney", X, y)  # doctest: +SKIP
        """
        local_class: Any = cls._local_class
        saved: Any = load(path)
        if not isinstance(saved, local_class):
            raise InputError(f"{str(path)!r} holds a {type(saved).__name__}, not a {local_class.__name__}.")
        model = cls(**saved.get_params(deep=False), client=client)  # type: ignore[call-arg]
        evals = {
            "eval_set": _collect_sets(Cluster.of(client), eval_set),
            "eval_names": eval_names,
            "eval_metric": eval_metric,
            "eval_sample_weight": eval_sample_weight,
        }
        rows = _read_rows(model, X, y, sample_weight)
        try:
            scores = collect(rows.cluster, init_score)
            local = local_class.resume(path, rows, init_score=scores, callbacks=callbacks, **evals)
        finally:
            rows.close()
        return take_fitted(model, local)


def _read_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> ClusterRows:
    chosen = model.max_bins, model.categorical_features
    return ClusterRows(Cluster.of(model.client), X, y, sample_weight, *chosen)


def _collect_sets(cluster: Cluster, eval_set: Any) -> Any:
    """Return validation sets with their collections in memory."""
    if isinstance(eval_set, tuple):
        return tuple(collect(cluster, part) for part in eval_set)
    return None if eval_set is None else [_collect_sets(cluster, one) for one in eval_set]


@documented
@parameters
class DaskGradientBoostingClassifier(DaskBoosting, DaskClassifier, GradientBoostingClassifier):
    """Gradient boosted trees for classification of Dask collections.

    The model has the bytes of `GradientBoostingClassifier` on the same rows in the order of the partitions,
    for every partitioning and number of workers. Workers may join, and may be lost at any time: another one
    reads their partitions again. ``traffic_`` counts what was moved.

    Examples
    --------
    >>> import dask.array as da  # doctest: +SKIP
    >>> from distributed import Client  # doctest: +SKIP
    >>> client = Client(n_workers=2)  # doctest: +SKIP
    >>> X = da.random.random((100_000, 4), chunks=(10_000, 4))  # doctest: +SKIP
    >>> model = DaskGradientBoostingClassifier(n_estimators=20).fit(X, X[:, 0] > 0.5)  # doctest: +SKIP
    >>> model.predict(X).compute()  # doctest: +SKIP
    """

    _local_class: ClassVar[type] = GradientBoostingClassifier

    client: Any = None


@documented
@parameters
class DaskGradientBoostingRegressor(DaskBoosting, DaskEstimator, GradientBoostingRegressor):
    """Gradient boosted trees for regression on Dask collections.

    The model has the bytes of `GradientBoostingRegressor` on the same rows in the order of the partitions,
    for every partitioning and number of workers. Workers may join, and may be lost at any time: another one
    reads their partitions again. ``traffic_`` counts what was moved.

    Examples
    --------
    >>> import dask.array as da  # doctest: +SKIP
    >>> from distributed import Client  # doctest: +SKIP
    >>> client = Client(n_workers=2)  # doctest: +SKIP
    >>> X = da.random.random((100_000, 4), chunks=(10_000, 4))  # doctest: +SKIP
    >>> model = DaskGradientBoostingRegressor(n_estimators=20).fit(X, X[:, 0])  # doctest: +SKIP
    >>> model.predict(X).compute()  # doctest: +SKIP
    """

    _local_class: ClassVar[type] = GradientBoostingRegressor

    client: Any = None
