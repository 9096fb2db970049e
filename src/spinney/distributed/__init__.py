"""Estimators on Dask collections: the same models from any number of workers, some of which may be lost."""

from spinney.distributed.boosting import DaskGradientBoostingClassifier, DaskGradientBoostingRegressor
from spinney.distributed.cluster import ClusterError

__all__ = ["ClusterError", "DaskGradientBoostingClassifier", "DaskGradientBoostingRegressor"]
