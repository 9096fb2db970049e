"""Links: how the score that trees add up relates to the mean of the target, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, softmax

Floats = NDArray[np.float64]

# Beyond this the exponential stays as it is, so that its product with any sensible target is finite too.
_LARGEST_LOGARITHM = 500.0
_LEAST_SHARE = float(np.finfo(np.float64).eps)


class Link(Protocol):
    """Turn means into scores and scores into means; shapes are kept."""

    def score(self, mean: Floats) -> Floats:
        """Give the score of a mean."""

    def mean(self, score: Floats) -> Floats:
        """Give the mean that a score stands for, always finite."""


@dataclass(frozen=True)
class IdentityLink:
    """Let the score be the mean.

    >>> IdentityLink().mean(np.array([1.5])).tolist()
    [1.5]
    """

    def score(self, mean: Floats) -> Floats:
        """Give the score of a mean."""
        return mean

    def mean(self, score: Floats) -> Floats:
        """Give the mean that a score stands for."""
        return score


@dataclass(frozen=True)
class LogLink:
    """Let the score be the logarithm of a positive mean.

    >>> LogLink().mean(LogLink().score(np.array([1.0]))).tolist()
    [1.0]
    """

    def score(self, mean: Floats) -> Floats:
        """Give the score of a mean above 0."""
        return np.log(mean)

    def mean(self, score: Floats) -> Floats:
        """Give the mean that a score stands for; e⁵⁰⁰ at most, and e⁻⁵⁰⁰ at least."""
        return np.exp(np.clip(score, -_LARGEST_LOGARITHM, _LARGEST_LOGARITHM))


@dataclass(frozen=True)
class LogitLink:
    """Let the score be ``scale`` times the logarithm of the odds: 1 for the log loss, ½ for the exponential.

    >>> LogitLink().mean(np.array([0.0])).tolist(), LogitLink(0.5).score(np.array([0.5])).tolist()
    ([0.5], [0.0])
    """

    scale: float = 1.0

    def score(self, mean: Floats) -> Floats:
        """Give the score of a probability; that of 0 and 1 is finite too."""
        scores: Floats = self.scale * logit(np.clip(mean, _LEAST_SHARE, 1.0 - _LEAST_SHARE))
        return scores

    def mean(self, score: Floats) -> Floats:
        """Give the probability that a score stands for."""
        probability: Floats = expit(score / self.scale)
        return probability


@dataclass(frozen=True)
class MultiLogitLink:
    """Let the K scores of a row be the logarithms of its class probabilities, their mean taken off.

    >>> MultiLogitLink().mean(np.zeros((1, 4))).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """

    def score(self, mean: Floats) -> Floats:
        """Give the scores of probabilities (…, K); that of 0 is finite too."""
        logarithms = np.log(np.maximum(mean, _LEAST_SHARE))
        centred: Floats = logarithms - logarithms.mean(axis=-1, keepdims=True)
        return centred

    def mean(self, score: Floats) -> Floats:
        """Give the probabilities that scores (…, K) stand for."""
        probability: Floats = softmax(score, axis=-1)
        return probability


IDENTITY, LOG, LOGIT, HALF_LOGIT, MULTI_LOGIT = (
    IdentityLink(),
    LogLink(),
    LogitLink(),
    LogitLink(0.5),
    MultiLogitLink(),
)
