"""AdaBoost: every member is trained on rows reweighted towards the mistakes of those before it."""

from spinney.adaboost.estimators import AdaBoostClassifier, AdaBoostRegressor

__all__ = ["AdaBoostClassifier", "AdaBoostRegressor"]
