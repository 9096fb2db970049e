"""Combining learners: voting, stacking, and the selection of members."""

from spinney.combine.level_two import LeastSquaresRegressor, MultiResponseClassifier
from spinney.combine.pruning import prune_ensemble
from spinney.combine.selection import EnsembleSelectionClassifier, EnsembleSelectionRegressor
from spinney.combine.stacking import StackingClassifier, StackingRegressor
from spinney.combine.votes import RiskCoverage
from spinney.combine.voting import VotingClassifier, VotingRegressor

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
