"""Random forests, extremely randomized trees, isolation forests and embeddings by random trees."""

from spinney.forests.embedding import RandomTreesEmbedding
from spinney.forests.estimators import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from spinney.forests.isolation import IsolationForest

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "IsolationForest",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomTreesEmbedding",
]
