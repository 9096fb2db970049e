"""AdaBoost: every member is trained on rows reweighted towards the mistakes of those before it."""

from spinney.adaboost.classifier import AdaBoostClassifier
from spinney.adaboost.regressor import AdaBoostRegressor

__all__ = ["AdaBoostClassifier", "AdaBoostRegressor"]
