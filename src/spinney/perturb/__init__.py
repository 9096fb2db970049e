"""Ensembles made diverse by perturbed targets, output codes or negative correlation learning."""

from spinney.perturb.negative_correlation import NegativeCorrelationClassifier, NegativeCorrelationRegressor
from spinney.perturb.output_code import OutputCodeClassifier
from spinney.perturb.output_perturbation import OutputFlippingClassifier, OutputSmearingRegressor

__all__ = [
    "NegativeCorrelationClassifier",
    "NegativeCorrelationRegressor",
    "OutputCodeClassifier",
    "OutputFlippingClassifier",
    "OutputSmearingRegressor",
]
