"""Spinney: decision trees and tree ensembles with scikit-learn's interface."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from spinney.adaboost import AdaBoostClassifier, AdaBoostRegressor
from spinney.bagging import BaggingClassifier, BaggingRegressor
from spinney.bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from spinney.discriminant import LinearDiscriminantAnalysis
from spinney.ensembles import (
    EnsembleSelectionClassifier,
    EnsembleSelectionRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
    prune_ensemble,
)
from spinney.forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from spinney.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.inspect.text import export_text
from spinney.io import from_json, inspect_file, load, save, to_json
from spinney.linear import (
    ElasticNet,
    ElasticNetCV,
    GeneralizedLinearRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    LogisticRegressionCV,
    MultiTaskElasticNet,
    MultiTaskLasso,
    Ridge,
    RidgeCV,
)
from spinney.multiclass import ClassifierChain, OneVsOneClassifier, OneVsRestClassifier
from spinney.online import PassiveAggressiveClassifier, PassiveAggressiveRegressor, Perceptron
from spinney.perturb import (
    NegativeCorrelationClassifier,
    NegativeCorrelationRegressor,
    OutputCodeClassifier,
    OutputFlippingClassifier,
    OutputSmearingRegressor,
)
from spinney.svm import SVC, SVR, OneClassSVM
from spinney.trees import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)

try:
    __version__ = version("spinney")
except PackageNotFoundError:  # the source tree, not installed
    __version__ = "unknown"

__all__ = [
    "SVC",
    "SVR",
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BernoulliNB",
    "C45Classifier",
    "CategoricalNB",
    "ClassifierChain",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ElasticNet",
    "ElasticNetCV",
    "EnsembleSelectionClassifier",
    "EnsembleSelectionRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GaussianNB",
    "GeneralizedLinearRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "ID3Classifier",
    "Lasso",
    "LassoCV",
    "LinearDiscriminantAnalysis",
    "LinearRegression",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MultiTaskElasticNet",
    "MultiTaskLasso",
    "MultinomialNB",
    "NegativeCorrelationClassifier",
    "NegativeCorrelationRegressor",
    "ObliqueTreeClassifier",
    "ObliqueTreeRegressor",
    "OneClassSVM",
    "OneVsOneClassifier",
    "OneVsRestClassifier",
    "OutputCodeClassifier",
    "OutputFlippingClassifier",
    "OutputSmearingRegressor",
    "PassiveAggressiveClassifier",
    "PassiveAggressiveRegressor",
    "Perceptron",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "Ridge",
    "RidgeCV",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "__version__",
    "datasets",
    "diversity",
    "export_text",
    "from_json",
    "inspect_file",
    "load",
    "plot_tree",
    "plotting",
    "prune_ensemble",
    "save",
    "to_json",
]

_LAZY = ("datasets", "diversity", "plotting")


def __getattr__(name: str) -> Any:
    # Imported on first use, because plots and data sets need further libraries.
    if name in _LAZY:
        return import_module(f"spinney.{name}")
    if name == "plot_tree":
        return import_module("spinney.plotting").plot_tree
    raise AttributeError(f"module 'spinney' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
