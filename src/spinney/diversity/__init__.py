"""Measures of the diversity of an ensemble: how differently its members predict and err."""

from spinney.diversity.ambiguity import ErrorAmbiguity, ensemble_error, error_ambiguity
from spinney.diversity.diagnosis import Diagnosis, RegressionDiagnosis, diagnose
from spinney.diversity.members import member_predictions
from spinney.diversity.non_pairwise import (
    coincident_failure,
    difficulty,
    entropy,
    generalized_diversity,
    interrater,
    kohavi_wolpert,
)
from spinney.diversity.pairwise import (
    KappaErrorPoints,
    correlation,
    disagreement,
    double_fault,
    kappa,
    kappa_error,
    pair_mean,
    q_statistic,
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
