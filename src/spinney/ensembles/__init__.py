"""Combining learners: voting, stacking, and the selection of members."""

from spinney.ensembles.level_two import LeastSquaresRegressor, MultiResponseClassifier
from spinney.ensembles.pruning import prune_ensemble
from spinney.ensembles.selection import EnsembleSelectionClassifier, EnsembleSelectionRegressor
from spinney.ensembles.stacking import StackingClassifier, StackingRegressor
from spinney.ensembles.votes import RiskCoverage
from spinney.ensembles.voting import VotingClassifier, VotingRegressor

__all__ = [
    "EnsembleSelectionClassifier",
    "EnsembleSelectionRegressor",
    "LeastSquaresRegressor",
    "MultiResponseClassifier",
    "RiskCoverage",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "prune_ensemble",
]
