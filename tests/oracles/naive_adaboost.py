"""AdaBoost in its six forms and R2, straight from the formulas: every cut tried, weights as floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

EPSILON = 2.0**-20  # the least probability that is believed


@dataclass
class Stump:
    """A test x[feature] <= threshold and what each side answers: class shares, or a mean."""

    feature: int
    threshold: float
    left: Any
    right: Any

    def __call__(self, X: np.ndarray) -> np.ndarray:
        goes_left = X[:, self.feature] <= self.threshold
        return np.array([self.left if yes else self.right for yes in goes_left])


def _best(X: np.ndarray, w: np.ndarray, cost: Callable[[np.ndarray], float], answer: Callable) -> Stump:
    """Try the midpoints of every feature; the first of the best wins."""
    best, found = math.inf, None
    for j in range(X.shape[1]):
        values = np.unique(X[w > 0, j])
        for a, b in pairwise(values):
            left = X[:, j] <= (a + b) / 2
            total = cost(left) + cost(~left)
            if total < best - 1e-12:
                best, found = total, Stump(j, (a + b) / 2, answer(left), answer(~left))
    assert found is not None
    return found


def class_stump(X: np.ndarray, y: np.ndarray, w: np.ndarray, n_classes: int) -> Stump:
    """Find the stump of least Gini impurity; it answers with class shares."""

    def shares(rows: np.ndarray) -> np.ndarray:
        return np.array([w[rows & (y == k)].sum() for k in range(n_classes)]) / w[rows].sum()

    return _best(X, w, lambda rows: w[rows].sum() * (1 - (shares(rows) ** 2).sum()), shares)


def error_stump(X: np.ndarray, y: np.ndarray, w: np.ndarray) -> Stump:
    """Find the stump of least weighted error by trying both signs of every cut; it answers 0 or 1."""
    best, found = math.inf, None
    for j in range(X.shape[1]):
        for a, b in pairwise(np.unique(X[w > 0, j])):
            left = X[:, j] <= (a + b) / 2
            for side in (0, 1):
                error = w[np.where(left, side, 1 - side) != y].sum()
                if error < best - 1e-12:
                    best, found = error, Stump(j, (a + b) / 2, np.eye(2)[side], np.eye(2)[1 - side])
    assert found is not None
    return found


def value_stump(X: np.ndarray, z: np.ndarray, w: np.ndarray) -> Stump:
    """Find the stump of least squared error; it answers with the mean."""

    def mean(rows: np.ndarray) -> float:
        return float((w[rows] * z[rows]).sum() / w[rows].sum())

    return _best(X, w, lambda rows: float((w[rows] * (z[rows] - mean(rows)) ** 2).sum()), mean)


def votes(
    X: np.ndarray, y: np.ndarray, w: np.ndarray, k: int, rounds: int, rate: float, samme: bool,
    by_error: bool = False,
):  # fmt: skip
    """Discrete AdaBoost (k = 2) or SAMME: (stumps, α, ε) of each round; stumps by Gini or error (k = 2)."""
    D, made = w / w.sum(), []
    for _ in range(rounds):
        stump = error_stump(X, y, D) if by_error else class_stump(X, y, D, k)
        wrong = stump(X).argmax(axis=1) != y
        error = D[wrong].sum()
        if error >= 1 - 1 / k:
            break
        if samme:
            alpha = rate * (math.log((1 - error) / error) + math.log(k - 1))
            D = D * np.exp(alpha * wrong)
        else:
            alpha = rate * 0.5 * math.log((1 - error) / error)
            D = D * np.exp(np.where(wrong, alpha, -alpha))
        D /= D.sum()
        made.append((stump, alpha, error))
    return made


def samme_r(X: np.ndarray, y: np.ndarray, w: np.ndarray, k: int, rounds: int, rate: float, at: np.ndarray):
    """SAMME.R, Zhu et al.: the sums of h_k = (K − 1)(ln p_k − mean ln p) for the rows ``at``."""
    D, total = w / w.sum(), np.zeros((len(at), k))
    code = np.where(y[:, None] == np.arange(k), 1.0, -1.0 / (k - 1))
    for _ in range(rounds):
        stump = class_stump(X, y, D, k)
        logs = np.log(np.clip(stump(X), EPSILON, None))
        D = D * np.exp(-rate * (k - 1) / k * (code * logs).sum(axis=1))
        D /= D.sum()
        ahead = np.log(np.clip(stump(at), EPSILON, None))
        total += rate * (k - 1) * (ahead - ahead.mean(axis=1, keepdims=True))
    return total


def real_or_gentle(
    X: np.ndarray, y: np.ndarray, w: np.ndarray, rounds: int, rate: float, at: np.ndarray, gentle: bool
):
    """Real and Gentle AdaBoost, Friedman et al. algorithms 2 and 4: F for the rows ``at``."""
    D, F = w / w.sum(), np.zeros(len(at))
    sign = np.where(y == 1, 1.0, -1.0)

    def f(p: np.ndarray) -> np.ndarray:
        if gentle:
            return rate * (p[:, 1] - p[:, 0])
        p = np.clip(p, EPSILON, None)
        return rate * 0.5 * np.log(p[:, 1] / p[:, 0])

    for _ in range(rounds):
        stump = class_stump(X, y, D, 2)
        D = D * np.exp(-sign * f(stump(X)))
        D /= D.sum()
        F += f(stump(at))
    return F


def logit(X: np.ndarray, y: np.ndarray, w: np.ndarray, k: int, rounds: int, rate: float, at: np.ndarray):
    """LogitBoost, Friedman et al. algorithms 3 (k = 2) and 6, steps within ±4: F for the rows ``at``."""
    here, there = np.zeros((len(X), k)), np.zeros((len(at), k))
    for _ in range(rounds):
        e = np.exp(here - here.max(axis=1, keepdims=True))
        p = e / e.sum(axis=1, keepdims=True)
        steps_here, steps_there = [], []
        for j in [1] if k == 2 else range(k):
            v = p[:, j] * (1 - p[:, j])
            stump = value_stump(X, ((y == j) - p[:, j]) / v, w * v)
            steps_here.append(np.clip(stump(X), -4, 4))
            steps_there.append(np.clip(stump(at), -4, 4))
        for total, steps in ((here, steps_here), (there, steps_there)):
            f = np.stack(steps, axis=1)
            if k == 2:
                np.add(total, rate * 0.5 * np.hstack([-f, f]), out=total)
            else:
                np.add(total, rate * (k - 1) / k * (f - f.mean(axis=1, keepdims=True)), out=total)
    return there


def r2(X: np.ndarray, y: np.ndarray, w: np.ndarray, rounds: int, rate: float, loss: str, at: np.ndarray):
    """AdaBoost.R2 of Drucker with weighted stumps: the weighted median for the rows ``at``."""
    D, answers, weights = w / w.sum(), [], []
    for _ in range(rounds):
        stump = value_stump(X, y, D)
        error = np.abs(stump(X) - y)
        share = error / error[w > 0].max()
        if loss == "square":
            share = share**2
        elif loss == "exponential":
            share = 1 - np.exp(-share)
        mean = (D * share).sum()
        if mean >= 0.5:
            break
        beta = mean / (1 - mean)
        answers.append(stump(at))
        weights.append(rate * math.log(1 / beta))
        D = D * beta ** (rate * (1 - share))
        D /= D.sum()
    medians = []
    for row in np.array(answers).T:
        order = np.argsort(row, kind="stable")
        reached = np.cumsum(np.array(weights)[order])
        medians.append(row[order[np.searchsorted(reached, 0.5 * reached[-1])]])
    return np.array(medians)
