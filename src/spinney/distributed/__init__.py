"""Estimators on Dask collections: the same models from any number of workers, some of which may be lost."""

from spinney.distributed.boosting import DaskGradientBoostingClassifier, DaskGradientBoostingRegressor
from spinney.distributed.cluster import ClusterError
from spinney.distributed.ensembles import (
    DaskBaggingClassifier,
    DaskBaggingRegressor,
    DaskExtraTreesClassifier,
    DaskExtraTreesRegressor,
    DaskRandomForestClassifier,
    DaskRandomForestRegressor,
)

__all__ = [
    "ClusterError",
    "DaskBaggingClassifier",
    "DaskBaggingRegressor",
    "DaskExtraTreesClassifier",
    "DaskExtraTreesRegressor",
    "DaskGradientBoostingClassifier",
    "DaskGradientBoostingRegressor",
    "DaskRandomForestClassifier",
    "DaskRandomForestRegressor",
]
