"""Gradient boosting: a sum of trees, each fitted to the gradient of a loss."""

from spinney.gradient_boosting.callbacks import Checkpoint, Progress, Round, StopAfter
from spinney.gradient_boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.gradient_boosting.hist import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from spinney.gradient_boosting.ranker import GradientBoostingRanker
from spinney.gradient_boosting.rounds import TrainingLossWarning

__all__ = [
    "Checkpoint",
    "GradientBoostingClassifier",
    "GradientBoostingRanker",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "Progress",
    "Round",
    "StopAfter",
    "TrainingLossWarning",
]
