"""The rounds of AdaBoost: learn a member, weigh it, add it to the score, shift weight to its errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.adaboost.algorithms import (
    Algorithm,
    Logit,
    choose_class,
    log_odds,
    no_score,
    own_score,
)
from spinney.adaboost.ledger import edge_bound, error_bound, exponential
from spinney.adaboost.members import Members, Task
from spinney.adaboost.row_weights import RowWeights
from spinney.core.seeds import stream

# When re-sampling, so many samples are drawn for one round before the ensemble is taken to be complete.
MOST_DRAWS = 100
# Draws made for round t have the purpose _FIRST_ROUND + t.
_FIRST_ROUND = 16


@dataclass
class Draws:
    """Give the random numbers of each round: the same whatever was drawn in the rounds before.

    Members get seeds of their own only if the ensemble has one.
    """

    seed: int
    seeds_members: bool

    def of_round(self, number: int) -> np.random.Generator:
        """Give the generator of one round."""
        return stream(self.seed, _FIRST_ROUND + number)

    def member_seed(self, random: np.random.Generator) -> int | None:
        """Draw the seed of a member."""
        seed = int(random.integers(2**62))
        return seed if self.seeds_members else None


def draw_rows(steps: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    """Draw as many rows as have weight, by weight, and count how often each came.  (n_rows,) -> (n_rows,)"""
    edges = np.cumsum(steps)
    rows = np.searchsorted(edges, random.integers(edges[-1], size=np.count_nonzero(steps)), side="right")
    return np.bincount(rows, minlength=len(steps))


@dataclass
class Watch:
    """Follow an error that should fall, and tell when it has not done so for some rounds."""

    patience: int
    tol: float
    errors: list[float] = field(default_factory=list)
    best_round: int = 0

    def stops(self, error: float) -> bool:
        """Take note of the error after one more round.

        >>> watch = Watch(patience=1, tol=0.0)
        >>> watch.stops(0.3), watch.stops(0.3), watch.best_round
        (False, True, 1)
        """
        self.errors.append(error)
        if self.best_round == 0 or error < self.errors[self.best_round - 1] - self.tol:
            self.best_round = len(self.errors)
        return len(self.errors) - self.best_round >= self.patience


@dataclass
class Attempt:
    """Hold a fitted member, its answers for all rows, its error, and what it would add to the score."""

    member: Any
    error: float
    weight: float
    output: NDArray[Any] | None = None
    contribution: NDArray[np.float64] | None = None


@dataclass
class Boosting:
    """Make rounds on the rows of one table; ``initial`` is their weight, 0 for those held out.

    ``task`` is the ensemble's, ``member_task`` what members learn; LogitBoost makes its own every round.
    ``keeps_scores`` says that the scores will be asked for; where they are not needed, they may be missing.
    """

    algorithm: Algorithm
    members: Members
    task: Task
    member_task: Task
    initial: NDArray[np.float64]
    draws: Draws
    resample: bool = False
    keeps_ledger: bool = False
    keeps_scores: bool = True
    estimators: list[Any] = field(default_factory=list)
    estimator_weights: list[float] = field(default_factory=list)
    estimator_errors: list[float] = field(default_factory=list)
    ledger: list[dict[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        assert self.task.codes is not None
        self.codes = self.task.codes
        self.start = RowWeights(self.initial)
        self.weights = RowWeights(self.initial)
        self.scores = no_score(len(self.codes), self.algorithm.n_classes)

    def replay(self, estimators: list[Any], weights: list[float], errors: list[float]) -> None:
        """Take over the rounds of an earlier fit, as if they had just been made."""
        for member, weight, error in zip(estimators, weights, errors, strict=True):
            self.accept(self._judge(member, weight, error))

    def step(self) -> bool:
        """Make one round; tell whether there may be another."""
        random = self.draws.of_round(len(self.estimators))
        for _ in range(MOST_DRAWS if self.resample else 1):
            attempt = self.attempt(random)
            perfect = attempt.error <= 0 and self.algorithm.ends_when_perfect
            if perfect or not self.is_useless(attempt):
                self.accept(attempt)
                return not perfect
        if not self.estimators:
            # Guessing is all that can be done; the member stays, to be seen, without a say.
            self.accept(self._judge(attempt.member, 0.0, attempt.error))
        return False

    def is_useless(self, attempt: Attempt) -> bool:
        """Tell whether a member is to be discarded."""
        assert attempt.contribution is not None
        return self.algorithm.is_useless(attempt.error, attempt.contribution[self.initial > 0])

    def attempt(self, random: np.random.Generator) -> Attempt:
        """Fit a member to the rows by their present weight."""
        if isinstance(self.algorithm, Logit):
            member: Any = []
            for response, curvature in self.algorithm.responses(self.scores, self.codes):
                weights = self.start.scaled(curvature)
                member.append(self._learn(weights, Task(response), random))
        else:
            member = self._learn(self.weights, self.member_task, random)
        return self._judge(member)

    def _learn(self, weights: RowWeights, task: Task, random: np.random.Generator) -> Any:
        seed = self.draws.member_seed(random)
        return self.members.learn(seed, draw_rows(weights.steps, random) if self.resample else weights, task)

    def _judge(self, member: Any, weight: float | None = None, error: float | None = None) -> Attempt:
        output = self._output(member)
        if error is None:
            error = self.weights.share(self.algorithm.wrong(output, self.codes))
        if weight is None:
            weight = self.algorithm.weight(error)
        return Attempt(member, error, weight, output, self.algorithm.contribution(output, weight))

    def _output(self, member: Any) -> NDArray[Any]:
        if isinstance(member, list):
            return np.stack([self.members.output(one, "values", self.task) for one in member], axis=1)
        return self.members.output(member, self.algorithm.needs, self.task)

    def accept(self, attempt: Attempt) -> None:
        """Add a member to the ensemble, its part to the score, and shift the weights."""
        assert attempt.output is not None and attempt.contribution is not None
        self.scores += attempt.contribution
        if not isinstance(self.algorithm, Logit):
            wrong = self.algorithm.wrong(attempt.output, self.codes)
            self.algorithm.reweight(self.weights, attempt.contribution, wrong, attempt.weight, self.codes)
        self._record(attempt)

    def _record(self, attempt: Attempt) -> None:
        self.estimators.append(attempt.member)
        self.estimator_weights.append(attempt.weight)
        self.estimator_errors.append(attempt.error)
        if self.keeps_ledger:
            self.ledger.append(self._ledger_row(attempt.error, attempt.weight))

    def _ledger_row(self, error: float, weight: float) -> dict[str, float]:
        before = (
            self.ledger[-1]
            if self.ledger
            else dict.fromkeys(("exponential_loss", "product_bound", "edge_bound"), 1.0)
        )
        loss = self.start.mean(exponential(own_score(self.scores, self.codes)))
        k, rate = self.algorithm.n_classes, self.algorithm.learning_rate
        bounds = np.nan, np.nan
        if self.algorithm.has_bounds and k > 1:
            bounds = error_bound(error, k, log_odds(error, k, rate)), edge_bound(error, k, rate)
        return {
            "round": len(self.estimators),
            "error": error,
            "weight": weight,
            "z": loss / before["exponential_loss"] if before["exponential_loss"] > 0 else 0.0,
            "exponential_loss": loss,
            "train_error": self.train_error(),
            "product_bound": before["product_bound"] * bounds[0],
            "edge_bound": before["edge_bound"] * bounds[1],
        }

    def is_complete(self) -> bool:
        """Tell whether rounds taken over leave nothing to add: the last member made no error."""
        errors = self.estimator_errors
        return bool(errors) and errors[-1] <= 0 and self.algorithm.ends_when_perfect

    def error_on(self, weights: NDArray[np.float64]) -> float:
        """Give the error of the ensemble so far on other rows, those with a weight here."""
        wrong = choose_class(self.scores) != self.codes
        return float(weights[wrong].sum() / weights.sum())

    def train_error(self) -> float:
        """Give the error of the ensemble so far on the rows with weight."""
        return self.start.share(choose_class(self.scores) != self.codes)
