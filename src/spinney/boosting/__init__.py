"""Boosting: members that each mend what those before them got wrong."""

from spinney.boosting.adaboost import AdaBoostClassifier
from spinney.boosting.adaboost_regressor import AdaBoostRegressor
from spinney.boosting.callbacks import Progress, Round, StopAfter
from spinney.boosting.checkpoint import Checkpoint
from spinney.boosting.gradient import GradientBoostingClassifier, GradientBoostingRegressor

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "Checkpoint",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "Progress",
    "Round",
    "StopAfter",
]
