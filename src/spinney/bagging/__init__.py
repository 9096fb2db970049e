"""Bagging and random forests."""

from spinney.bagging.bagging import BaggingClassifier, BaggingRegressor

__all__ = ["BaggingClassifier", "BaggingRegressor"]
