"""Linear models: least squares, ridge, lasso, generalized linear models, logistic regression, linear SVMs."""

from spinney.linear.least_squares import LinearRegression, Ridge, RidgeCV
from spinney.linear.logistic import LogisticRegression, LogisticRegressionCV

__all__ = ["LinearRegression", "LogisticRegression", "LogisticRegressionCV", "Ridge", "RidgeCV"]
