"""Choosing a model: cross-validation, comparison of learners, and tuning of parameters."""

from spinney.members.encoded import EncodedClassifier, EncodedRegressor
from spinney.model_selection.comparison import Comparison, compare
from spinney.model_selection.cross_validation import CrossValidation, cross_validate
from spinney.model_selection.learners import LEARNERS, Learner, find_learner
from spinney.model_selection.metrics import Metric, Predictions, recognise_task
from spinney.model_selection.race import Entry
from spinney.model_selection.search_space import Choice, Integers, Uniform
from spinney.model_selection.statistics import confidence_interval, corrected_t_test
from spinney.model_selection.tuning import Trial, Tuning, tune

__all__ = [
    "LEARNERS",
    "Choice",
    "Comparison",
    "CrossValidation",
    "EncodedClassifier",
    "EncodedRegressor",
    "Entry",
    "Integers",
    "Learner",
    "Metric",
    "Predictions",
    "Trial",
    "Tuning",
    "Uniform",
    "compare",
    "confidence_interval",
    "corrected_t_test",
    "cross_validate",
    "find_learner",
    "recognise_task",
    "tune",
]
