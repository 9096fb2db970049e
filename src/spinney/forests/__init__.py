"""Random forests and extremely randomized trees."""

from spinney.forests.classifiers import ExtraTreesClassifier, RandomForestClassifier
from spinney.forests.regressors import ExtraTreesRegressor, RandomForestRegressor

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]
