"""Linear models: least squares, ridge, lasso, generalized linear models, logistic regression, linear SVMs."""

from spinney.linear.least_squares import LinearRegression, Ridge, RidgeCV

__all__ = ["LinearRegression", "Ridge", "RidgeCV"]
