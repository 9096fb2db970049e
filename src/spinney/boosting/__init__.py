"""Boosting: members that each mend what those before them got wrong."""

from spinney.boosting.adaboost import AdaBoostClassifier
from spinney.boosting.adaboost_regressor import AdaBoostRegressor

__all__ = ["AdaBoostClassifier", "AdaBoostRegressor"]
