"""Forests and bagging on Dask collections: one task per block of members, each with the whole table."""

from __future__ import annotations

from functools import partial, reduce
from itertools import chain
from typing import Any, ClassVar, Self

from spinney.bagging.estimators import BaggingClassifier, BaggingRegressor
from spinney.base import parameters
from spinney.core.errors import InputError
from spinney.distributed import worker
from spinney.distributed.cluster import Cluster
from spinney.distributed.collected_rows import CollectedRows, in_order
from spinney.distributed.estimator import DaskClassifier, DaskEstimator, documented, take_fitted
from spinney.distributed.members import NoTable, fit_in_parts
from spinney.distributed.partitions import Partitions, collect
from spinney.distributed.rows import ClusterRows
from spinney.forests.estimators import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from spinney.tree.ensemble import TreeEnsemble


class DaskForest(DaskEstimator):
    """Mixin of forests on Dask collections."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees, some by each task; the forest has the bytes of a fit in memory.

        Parameters
        ----------
        X : Dask DataFrame or Dask Array of shape (n_rows, n_features)
            Features. The rows have the order of the partitions. Every worker that grows trees has the codes
            of all rows in its memory, one byte per value.
        y : Dask Series, Dask Array or array-like of shape (n_rows,) or (n_rows, n_outputs)
            Labels or values; collected by the client.
        sample_weight : Dask Series, Dask Array or array-like of shape (n_rows,) or None, default=None
            Sample weights.

        Returns
        -------
        self
            The fitted forest.

        Raises
        ------
        ClusterError
            If there is no worker left.

        Examples
        --------
        >>> model.fit(frame[["price", "shop"]], frame["sold"])  # doctest: +SKIP
        """
        local: Any = self._unfitted()
        if local.max_bins is None or local.n_directions or local.warm_start:
            raise InputError(
                "Forests on a cluster are grown on bins, at once",
                fix="Set max_bins to at most 255, n_directions=0 and warm_start=False.",
            )
        cluster = Cluster.of(self.client)
        rows = ClusterRows(cluster, X, y, sample_weight, local.max_bins, local.categorical_features)
        try:
            table = partial(_collected, rows)
            method = "_grow", 4
            fitted = fit_in_parts(cluster, local, method, (), table, rows.code_blocks, _join_trees)
        finally:
            rows.close()
        return take_fitted(self, fitted)


def _join_trees(parts: list[TreeEnsemble]) -> TreeEnsemble:
    return reduce(TreeEnsemble.extend, parts)


def _collected(rows: ClusterRows) -> Any:
    """Return a future of the codes of all rows."""
    read = [
        rows.cluster.submit(owner, worker.read_all, rows.token, own) for owner, own in rows.owned().items()
    ]
    call = partial(_assemble, rows.description())
    return rows.cluster.client.submit(call, *read, pure=False)


def _assemble(description: dict[str, Any], *answers: worker.Answer) -> CollectedRows | NoTable:
    """Put the codes of all blocks together on a worker."""
    lost = tuple(chain(*(answer.lost for answer in answers)))
    if lost:
        return NoTable(lost)
    results = worker.add_answers(*answers).results
    codes = in_order({block: one[0] for block, one in results.items()})
    some = next(iter(results.values()))[1]
    wide = None if some is None else in_order({block: one[1] for block, one in results.items()})
    return CollectedRows(**description, codes=codes, categories=wide)


class DaskBagging(DaskEstimator):
    """Mixin of bagging on Dask collections."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the members, some by each task; the ensemble has the bytes of a fit in memory.

        Parameters
        ----------
        X : Dask DataFrame or Dask Array of shape (n_rows, n_features)
            Features. The rows have the order of the partitions. Every worker has all of them in its memory.
        y : Dask Series, Dask Array or array-like of shape (n_rows,) or (n_rows, n_outputs)
            Labels or values; collected by the client.
        sample_weight : Dask Series, Dask Array or array-like of shape (n_rows,) or None, default=None
            Sample weights.

        Returns
        -------
        self
            The fitted ensemble.

        Raises
        ------
        ClusterError
            If there is no worker left.

        Examples
        --------
        >>> model.fit(frame[["price", "size"]], frame["sold"])  # doctest: +SKIP
        """
        local: Any = self._unfitted()
        if local.warm_start:
            raise InputError("Members on a cluster are fitted at once", fix="Set warm_start=False.")
        cluster = Cluster.of(self.client)
        Partitions.read(X, cluster)  # raises for what is no collection
        rows = collect(cluster, y), collect(cluster, sample_weight)

        def table() -> Any:
            (future,) = cluster.compute(None, [X])
            return future

        method = "_fit_numbers", 0
        fitted = fit_in_parts(cluster, local, method, rows, table, list, _join_members)
        return take_fitted(self, fitted)


def _join_members(parts: list[list[Any]]) -> list[Any]:
    return list(chain(*parts))


@documented
@parameters
class DaskRandomForestClassifier(DaskForest, DaskClassifier, RandomForestClassifier):
    """A random forest for classification of Dask collections.

    A task has a block of trees, and the whole table. The model has the bytes of `RandomForestClassifier`
    on the same rows in the order of the partitions, for every partitioning and number of workers, also if
    some are lost.

    Examples
    --------
    >>> import dask.array as da  # doctest: +SKIP
    >>> from distributed import Client  # doctest: +SKIP
    >>> client = Client(n_workers=2)  # doctest: +SKIP
    >>> X = da.random.random((100_000, 4), chunks=(10_000, 4))  # doctest: +SKIP
    >>> model = DaskRandomForestClassifier(random_state=0).fit(X, X[:, 0] > 0.5)  # doctest: +SKIP
    >>> model.predict(X).compute()  # doctest: +SKIP
    """

    _local_class: ClassVar[type] = RandomForestClassifier

    client: Any = None


@documented
@parameters
class DaskRandomForestRegressor(DaskForest, DaskEstimator, RandomForestRegressor):
    """A random forest for regression on Dask collections.

    A task has a block of trees, and the whole table. The model has the bytes of `RandomForestRegressor`
    on the same rows in the order of the partitions, for every partitioning and number of workers, also if
    some are lost.

    Examples
    --------
    >>> import dask.array as da  # doctest: +SKIP
    >>> from distributed import Client  # doctest: +SKIP
    >>> client = Client(n_workers=2)  # doctest: +SKIP
    >>> X = da.random.random((100_000, 4), chunks=(10_000, 4))  # doctest: +SKIP
    >>> model = DaskRandomForestRegressor(random_state=0).fit(X, X[:, 0])  # doctest: +SKIP
    >>> model.predict(X).compute()  # doctest: +SKIP
    """

    _local_class: ClassVar[type] = RandomForestRegressor

    client: Any = None


@documented
@parameters
class DaskExtraTreesClassifier(DaskForest, DaskClassifier, ExtraTreesClassifier):
    """Extremely randomized trees for classification of Dask collections.

    A task has a block of trees, and the whole table. The model has the bytes of `ExtraTreesClassifier`
    on the same rows in the order of the partitions, for every partitioning and number of workers, also if
    some are lost.

    Examples
    --------
    >>> import dask.array as da  # doctest: +SKIP
    >>> from distributed import Client  # doctest: +SKIP
    >>> client = Client(n_workers=2)  # doctest: +SKIP
    >>> X = da.random.random((100_000, 4), chunks=(10_000, 4))  # doctest: +SKIP
    >>> model = DaskExtraTreesClassifier(random_state=0).fit(X, X[:, 0] > 0.5)  # doctest: +SKIP
    >>> model.predict(X).compute()  # doctest: +SKIP
    """

    _local_class: ClassVar[type] = ExtraTreesClassifier

    client: Any = None


@documented
@parameters
class DaskExtraTreesRegressor(DaskForest, DaskEstimator, ExtraTreesRegressor):
    """Extremely randomized trees for regression on Dask collections.

    A task has a block of trees, and the whole table. The model has the bytes of `ExtraTreesRegressor`
    on the same rows in the order of the partitions, for every partitioning and number of workers, also if
    some are lost.

    Examples
    --------
    >>> import dask.array as da  # doctest: +SKIP
    >>> from distributed import Client  # doctest: +SKIP
    >>> client = Client(n_workers=2)  # doctest: +SKIP
    >>> X = da.random.random((100_000, 4), chunks=(10_000, 4))  # doctest: +SKIP
    >>> model = DaskExtraTreesRegressor(random_state=0).fit(X, X[:, 0])  # doctest: +SKIP
    >>> model.predict(X).compute()  # doctest: +SKIP
    """

    _local_class: ClassVar[type] = ExtraTreesRegressor

    client: Any = None


@documented
@parameters
class DaskBaggingClassifier(DaskBagging, DaskClassifier, BaggingClassifier):  # type: ignore[misc]
    """Bagging of any classifier on Dask collections.

    A task has a block of members, and the whole table. The model has the bytes of `BaggingClassifier`
    on the same rows in the order of the partitions, for every partitioning and number of workers, also if
    some are lost.

    Examples
    --------
    >>> import dask.array as da  # doctest: +SKIP
    >>> from distributed import Client  # doctest: +SKIP
    >>> client = Client(n_workers=2)  # doctest: +SKIP
    >>> X = da.random.random((100_000, 4), chunks=(10_000, 4))  # doctest: +SKIP
    >>> model = DaskBaggingClassifier(random_state=0).fit(X, X[:, 0] > 0.5)  # doctest: +SKIP
    >>> model.predict(X).compute()  # doctest: +SKIP
    """

    _local_class: ClassVar[type] = BaggingClassifier

    client: Any = None


@documented
@parameters
class DaskBaggingRegressor(DaskBagging, DaskEstimator, BaggingRegressor):  # type: ignore[misc]
    """Bagging of any regressor on Dask collections.

    A task has a block of members, and the whole table. The model has the bytes of `BaggingRegressor`
    on the same rows in the order of the partitions, for every partitioning and number of workers, also if
    some are lost.

    Examples
    --------
    >>> import dask.array as da  # doctest: +SKIP
    >>> from distributed import Client  # doctest: +SKIP
    >>> client = Client(n_workers=2)  # doctest: +SKIP
    >>> X = da.random.random((100_000, 4), chunks=(10_000, 4))  # doctest: +SKIP
    >>> model = DaskBaggingRegressor(random_state=0).fit(X, X[:, 0])  # doctest: +SKIP
    >>> model.predict(X).compute()  # doctest: +SKIP
    """

    _local_class: ClassVar[type] = BaggingRegressor

    client: Any = None
