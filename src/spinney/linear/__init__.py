"""Linear models: least squares, ridge, lasso, generalized linear models, logistic regression, linear SVMs."""

from spinney.linear.glm import GeneralizedLinearRegressor
from spinney.linear.lasso import ElasticNet, Lasso, MultiTaskElasticNet, MultiTaskLasso
from spinney.linear.lasso_cv import ElasticNetCV, LassoCV, PathLedger
from spinney.linear.least_squares import LinearRegression, Ridge, RidgeCV
from spinney.linear.logistic import LogisticRegression
from spinney.linear.logistic_cv import LogisticRegressionCV
from spinney.linear.svm import LinearSVC, LinearSVR

__all__ = [
    "ElasticNet",
    "ElasticNetCV",
    "GeneralizedLinearRegressor",
    "Lasso",
    "LassoCV",
    "LinearRegression",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MultiTaskElasticNet",
    "MultiTaskLasso",
    "PathLedger",
    "Ridge",
    "RidgeCV",
]
