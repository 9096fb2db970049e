"""Measures of how differently the members of an ensemble err."""

from spinney.diversity.ambiguity import ErrorAmbiguity, error_ambiguity
from spinney.diversity.cloud import KappaErrorPoints, kappa_error
from spinney.diversity.diagnosis import Diagnosis, RegressionDiagnosis, diagnose
from spinney.diversity.members import member_predictions
from spinney.diversity.pairwise import (
    correlation,
    disagreement,
    double_fault,
    kappa,
    pair_mean,
    q_statistic,
)
from spinney.diversity.voting_error import ensemble_error
from spinney.diversity.whole import (
    coincident_failure,
    difficulty,
    entropy,
    generalized_diversity,
    interrater,
    kohavi_wolpert,
)

__all__ = [
    "Diagnosis",
    "ErrorAmbiguity",
    "KappaErrorPoints",
    "RegressionDiagnosis",
    "coincident_failure",
    "correlation",
    "diagnose",
    "difficulty",
    "disagreement",
    "double_fault",
    "ensemble_error",
    "entropy",
    "error_ambiguity",
    "generalized_diversity",
    "interrater",
    "kappa",
    "kappa_error",
    "kohavi_wolpert",
    "member_predictions",
    "pair_mean",
    "q_statistic",
]
