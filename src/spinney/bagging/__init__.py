"""Bagging of any estimator: bootstrap samples of rows, random subspaces of columns, or both."""

from spinney.bagging.estimators import BaggingClassifier, BaggingRegressor

__all__ = ["BaggingClassifier", "BaggingRegressor"]
