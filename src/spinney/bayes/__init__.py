"""Naive Bayes classifiers: Gaussian, multinomial, Bernoulli and categorical."""

from spinney.bayes.categorical import CategoricalNB
from spinney.bayes.discrete import BernoulliNB, MultinomialNB
from spinney.bayes.gaussian import GaussianNB

__all__ = ["BernoulliNB", "CategoricalNB", "GaussianNB", "MultinomialNB"]
