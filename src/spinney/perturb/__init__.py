"""Ensembles whose members are made to differ by perturbed targets, codes or penalties."""

from spinney.perturb.negative_correlation import NegativeCorrelationClassifier, NegativeCorrelationRegressor
from spinney.perturb.output_code import OutputCodeClassifier
from spinney.perturb.output_flipping import OutputFlippingClassifier
from spinney.perturb.output_smearing import OutputSmearingRegressor

__all__ = [
    "NegativeCorrelationClassifier",
    "NegativeCorrelationRegressor",
    "OutputCodeClassifier",
    "OutputFlippingClassifier",
    "OutputSmearingRegressor",
]
