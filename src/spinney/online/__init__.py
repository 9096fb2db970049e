"""Online linear learners: the perceptron and passive–aggressive algorithms."""

from spinney.online.passive_aggressive import PassiveAggressiveClassifier, PassiveAggressiveRegressor
from spinney.online.perceptron import Perceptron
from spinney.online.training import MistakeLedger

__all__ = ["MistakeLedger", "PassiveAggressiveClassifier", "PassiveAggressiveRegressor", "Perceptron"]
