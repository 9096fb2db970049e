"""Combinations of estimators: voting, stacking, and selection or pruning of members."""

from spinney.ensembles.decisions import RiskCoverage
from spinney.ensembles.least_squares import LeastSquaresRegressor, MultiResponseClassifier
from spinney.ensembles.log_pool import LogarithmicPoolClassifier
from spinney.ensembles.pruning import prune_ensemble
from spinney.ensembles.selection import EnsembleSelectionClassifier, EnsembleSelectionRegressor
from spinney.ensembles.stacking import StackingClassifier, StackingRegressor
from spinney.ensembles.voting import VotingClassifier, VotingRegressor

__all__ = [
    "EnsembleSelectionClassifier",
    "EnsembleSelectionRegressor",
    "LeastSquaresRegressor",
    "LogarithmicPoolClassifier",
    "MultiResponseClassifier",
    "RiskCoverage",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "prune_ensemble",
]
