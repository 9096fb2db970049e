"""The rounds of AdaBoost: fit a member, compute its weight, add it to the scores, reweight the rows.

`StumpBoosting` makes the same rounds as `Boosting` in the core, for stumps that vote.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from spinney.adaboost.algorithms import (
    MAX_TOTAL,
    MIN_TOTAL,
    RESCALED_EXPONENT,
    Algorithm,
    Logit,
    RowWeights,
    Vote,
    choose_class,
    log_odds,
    own_score,
    zero_scores,
)
from spinney.adaboost.ledger import RoundLedger, edge_bound, error_bound, exponential
from spinney.adaboost.members import Members, SharedTrees, Task, flatten, share_schema
from spinney.adaboost.stumps import FittedStumps
from spinney.core.elementary import exp, log
from spinney.core.seeds import stream
from spinney.native import core
from spinney.tree.plan import GrowPlan
from spinney.trees.cart import DecisionTreeClassifier

Floats = NDArray[np.float64]

# Parameters that must have their defaults for the only split to be the one with the largest gain.
_PLAIN = {
    "splitter": "best",
    "max_depth": 1,
    "min_samples_split": 2,
    "min_samples_leaf": 1,
    "min_weight_fraction_leaf": 0.0,
    "max_features": None,
    "max_leaf_nodes": None,
    "min_impurity_decrease": 0.0,
    "monotonic_cst": None,
    "missing": "direction",
    "feature_costs": None,
}
# With resample=True, boosting ends after this many samples for one round without a useful member.
MAX_SAMPLES_PER_ROUND = 100
# The random stream of round t is number _FIRST_STREAM + t.
_FIRST_STREAM = 16


@dataclass
class Draws:
    """Random generators of the rounds, which do not depend on the draws of earlier rounds.

    Members get seeds only if the ensemble has a ``random_state``.
    """

    seed: int
    seeds_members: bool

    def of_round(self, number: int) -> np.random.Generator:
        """Return the generator of one round."""
        return stream(self.seed, _FIRST_STREAM + number)

    def member_seed(self, random: np.random.Generator) -> int | None:
        """Draw the seed of a member."""
        seed = int(random.integers(2**62))
        return seed if self.seeds_members else None


def draw_rows(steps: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    """Draw as many rows as have a weight, by weight with replacement; return counts.  -> (n_rows,)"""
    edges = np.cumsum(steps)
    rows = np.searchsorted(edges, random.integers(edges[-1], size=np.count_nonzero(steps)), side="right")
    return np.bincount(rows, minlength=len(steps))


# ---- rounds ----


@dataclass
class Attempt:
    """A fitted member with its error and weight, its predictions for all rows, and what follows from them.

    ``contribution`` is the term of the scores in classification, the loss of each row in regression.
    """

    member: Any
    error: float
    weight: float
    output: NDArray[Any] | None = None
    contribution: Floats | None = None


class Rounds:
    """Rounds of boosting on the rows of one table: members, their weights and errors.

    ``initial`` are the row weights, 0 for rows that are held out.
    """

    # The weight of a first member that is no better than chance; there must be one to predict with.
    useless_weight: ClassVar[float]
    ends_when_perfect = True

    def __init__(self, members: Members, initial: Floats, draws: Draws, resample: bool) -> None:
        self.members, self.initial, self.draws, self.resample = members, initial, draws, resample
        self.weights = RowWeights(initial)
        self.estimators: list[Any] = []
        self.estimator_weights: list[float] = []
        self.estimator_errors: list[float] = []

    def replay(self, estimators: list[Any], weights: list[float], errors: list[float]) -> None:
        """Repeat the rounds of an earlier fit, without fitting members."""
        for member, weight, error in zip(estimators, weights, errors, strict=True):
            self.accept(self.evaluate(member, weight, error))

    def step(self) -> bool:
        """Make one round; return False if boosting is complete."""
        random = self.generator()
        for _ in range(MAX_SAMPLES_PER_ROUND if self.resample else 1):
            attempt = self.attempt(random)
            perfect = attempt.error <= 0 and self.ends_when_perfect
            if perfect or not self.is_useless(attempt):
                self.accept(attempt)
                return not perfect
        if not self.estimators:
            self.accept(self.evaluate(attempt.member, self.useless_weight, attempt.error))
        return False

    def run(self, n_rounds: int) -> None:
        """Make rounds up to this number, or until boosting is complete."""
        done = self.is_complete()
        while not done and len(self.estimators) < n_rounds:
            done = not self.step()

    def generator(self) -> np.random.Generator | None:
        """Return the random generator of the next round."""
        return self.draws.of_round(len(self.estimators))

    def fit(self, weights: RowWeights, task: Task, random: np.random.Generator | None) -> Any:
        """Fit a member to weighted rows, or to rows drawn by their weight."""
        assert random is not None
        seed = self.draws.member_seed(random)
        return self.members.fit(seed, draw_rows(weights.steps, random) if self.resample else weights, task)

    @abstractmethod
    def attempt(self, random: np.random.Generator | None) -> Attempt:
        """Fit a member to the rows with their current weights."""

    @abstractmethod
    def evaluate(self, member: Any, weight: float | None = None, error: float | None = None) -> Attempt:
        """Predict all rows by a member; compute its weight and error unless they are known."""

    @abstractmethod
    def is_useless(self, attempt: Attempt) -> bool:
        """Return True if a member is to be discarded."""

    def accept(self, attempt: Attempt) -> None:
        """Add a member to the ensemble."""
        self.estimators.append(attempt.member)
        self.estimator_weights.append(attempt.weight)
        self.estimator_errors.append(attempt.error)

    @abstractmethod
    def error_on(self, weights: Floats) -> float:
        """Return the error of the ensemble on the rows with a weight (n_rows,) here."""

    def make_ledger(self, n_rounds: int) -> RoundLedger | None:
        """Return the ledger of the first rounds, None if there is none."""
        return None

    def fitted_members(self, n_rounds: int) -> dict[str, Any]:
        """Return the fitted attribute that has the members of the first rounds."""
        members = self.estimators[:n_rounds]
        share_schema(flatten(members))
        return {"estimators_": members}

    def is_complete(self) -> bool:
        """Return True if the last member made no error, so that there is nothing to add."""
        return bool(self.estimator_errors) and self.estimator_errors[-1] <= 0 and self.ends_when_perfect


# ---- regression ----

# Losses as functions of the absolute error, divided by the largest error.
LOSSES: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda error: error,
    "square": np.square,
    "exponential": lambda error: 1.0 - exp(-error),
}
_MIN_ERROR = float(np.finfo(np.float64).eps)


class RegressionBoosting(Rounds):
    """Rounds of AdaBoost.R2 (Drucker 1997)."""

    useless_weight = 1.0  # as in scikit-learn

    def __init__(
        self,
        members: Members,
        y: Floats,
        initial: Floats,
        draws: Draws,
        *,
        loss: str,
        learning_rate: float,
        resample: bool,
        keeps_predictions: bool,
    ) -> None:
        super().__init__(members, initial, draws, resample)
        self._task, self._y, self._is_training = Task(y), y, initial > 0
        self._loss, self._learning_rate = LOSSES[loss], learning_rate
        self._predictions: list[Any] | None = [] if keeps_predictions else None

    def attempt(self, random: np.random.Generator | None) -> Attempt:
        """Fit a member to the rows with their current weights."""
        return self.evaluate(self.fit(self.weights, self._task, random))

    def evaluate(self, member: Any, weight: float | None = None, error: float | None = None) -> Attempt:
        """Predict all rows by a member; compute its weight and error unless they are known."""
        prediction = self.members.predict(member, "values", self._task)
        distance = np.where(self._is_training, np.abs(prediction - self._y), 0.0)
        largest = distance.max()
        if np.isinf(largest):  # of targets near the largest float64, halves do not overflow
            distance = np.where(self._is_training, np.abs(prediction / 2 - self._y / 2), 0.0)
            largest = distance.max()
        loss = self._loss(distance / largest if largest > 0 else distance)
        if error is None:
            error = self.weights.mean(loss)
        if weight is None:
            weight = 0.0 if error >= 1 else float(log((1 - error) / max(error, _MIN_ERROR)))
            weight *= self._learning_rate
        return Attempt(member, error, weight, prediction, loss)

    def is_useless(self, attempt: Attempt) -> bool:
        """Return True if the mean loss is not below ½."""
        return not attempt.error < 0.5

    def accept(self, attempt: Attempt) -> None:
        """Add a member to the ensemble, and reweight the rows."""
        super().accept(attempt)
        if self._predictions is not None:
            self._predictions.append(attempt.output)
        assert attempt.contribution is not None
        # β^(1 − L) with β = ε/(1 − ε): rows that are predicted well lose weight.
        self.weights.multiply(exp((attempt.contribution - 1.0) * attempt.weight))

    def error_on(self, weights: Floats) -> float:
        """Return the mean absolute error of the ensemble on the rows with a weight (n_rows,) here."""
        rows = weights > 0
        assert self._predictions is not None
        values = np.stack([prediction[rows] for prediction in self._predictions], axis=1)
        predicted = weighted_median(values, np.array(self.estimator_weights))
        return float(np.average(np.abs(predicted - self._y[rows]), weights=weights[rows]))


def weighted_median(values: Floats, weights: Floats) -> Floats:
    """Weighted median per row: the smallest value with half of the weight up to it.  (n, t), (t,) -> (n,)

    >>> weighted_median(np.array([[1.0, 5.0, 9.0]]), np.array([1.0, 1.0, 3.0])).tolist()
    [9.0]
    """
    order = np.argsort(values, axis=1, kind="stable")
    reached = np.cumsum(weights[order], axis=1)
    middle = np.argmax(reached >= 0.5 * reached[:, -1:], axis=1)
    rows = np.arange(len(values))
    return np.asarray(values[rows, order[rows, middle]])


# ---- classification ----


class Boosting(Rounds):
    """Rounds of a classifier.

    ``task`` is what the ensemble learns, ``member_task`` what members learn; LogitBoost makes its own tasks
    every round. ``keeps_scores`` is False where the scores of the rows are not needed.
    """

    useless_weight = 0.0

    def __init__(
        self,
        algorithm: Algorithm,
        members: Members,
        task: Task,
        member_task: Task,
        initial: Floats,
        draws: Draws,
        resample: bool = False,
        keeps_ledger: bool = False,
        keeps_scores: bool = True,
    ) -> None:
        super().__init__(members, initial, draws, resample)
        assert task.codes is not None
        self.algorithm, self.codes, self.task, self.member_task = algorithm, task.codes, task, member_task
        self.ends_when_perfect = algorithm.ends_when_perfect
        self.keeps_ledger, self.keeps_scores = keeps_ledger, keeps_scores
        self.ledger: list[dict[str, float]] = []
        self.start = copy(self.weights)
        self.scores = zero_scores(len(self.codes), algorithm.n_classes)

    def is_useless(self, attempt: Attempt) -> bool:
        """Return True if a member is no better than chance."""
        added = attempt.contribution
        return self.algorithm.is_useless(attempt.error, None if added is None else added[self.initial > 0])

    def attempt(self, random: np.random.Generator | None) -> Attempt:
        """Fit a member to the rows with their current weights."""
        if not isinstance(self.algorithm, Logit):
            return self.evaluate(self.fit(self.weights, self.member_task, random))
        responses = self.algorithm.responses(self.scores, self.codes)
        return self.evaluate([self.fit(self.start.scaled(w), Task(z), random) for z, w in responses])

    def evaluate(self, member: Any, weight: float | None = None, error: float | None = None) -> Attempt:
        """Predict all rows by a member; compute its weight and error unless they are known."""
        if isinstance(member, list):
            output = np.stack([self.members.predict(one, "values", self.task) for one in member], axis=1)
        else:
            output = self.members.predict(member, self.algorithm.needs, self.task)
        if error is None:
            error = self.weights.fraction(self.algorithm.wrong(output, self.codes))
        if weight is None:
            weight = self.algorithm.weight(error)
        return Attempt(member, error, weight, output, self.algorithm.contribution(output, weight))

    def accept(self, attempt: Attempt) -> None:
        """Add a member to the ensemble, its term to the scores, and reweight the rows."""
        if attempt.contribution is not None:
            self.scores += attempt.contribution
        self.reweight(attempt)
        super().accept(attempt)
        if self.keeps_ledger:
            self.ledger.append(self._ledger_row(attempt.error, attempt.weight))

    def reweight(self, attempt: Attempt) -> None:
        """Reweight the rows; LogitBoost computes weights from the scores instead."""
        if not isinstance(self.algorithm, Logit):
            assert attempt.output is not None and attempt.contribution is not None
            wrong = self.algorithm.wrong(attempt.output, self.codes)
            self.algorithm.reweight(self.weights, attempt.contribution, wrong, attempt.weight, self.codes)

    def _ledger_row(self, error: float, weight: float) -> dict[str, float]:
        ones = dict.fromkeys(("exponential_loss", "product_bound", "edge_bound"), 1.0)
        before = self.ledger[-1] if self.ledger else ones
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
            "train_error": self.start.fraction(choose_class(self.scores) != self.codes),
            "product_bound": before["product_bound"] * bounds[0],
            "edge_bound": before["edge_bound"] * bounds[1],
        }

    def make_ledger(self, n_rounds: int) -> RoundLedger | None:
        """Return the ledger of the first rounds, None if none is kept."""
        return RoundLedger.from_rows(self.ledger[:n_rounds]) if self.keeps_ledger else None

    def error_on(self, weights: Floats) -> float:
        """Return the error of the ensemble on the rows with a weight (n_rows,) here."""
        wrong = choose_class(self.scores) != self.codes
        return float(weights[wrong].sum() / weights.sum())


# ---- stumps in the core ----


class StumpBoosting(Boosting):
    """Rounds of voting stumps, with row weights and histograms in the core."""

    _core: core.StumpBooster | None = None
    _stumps: FittedStumps | None = None  # if all rounds have been made at once

    @staticmethod
    def supports(algorithm: Algorithm, members: Any, resample: bool) -> bool:
        """Return True if these rounds can be made in the core."""
        if not isinstance(algorithm, Vote) or not isinstance(members, SharedTrees) or resample:
            return False
        tree = members.estimator
        return (
            type(tree) is DecisionTreeClassifier
            and tree.criterion in ("gini", "error")
            and all(getattr(tree, name) == value for name, value in _PLAIN.items())
        )

    def generator(self) -> None:
        """Return None: stumps are found without random draws."""

    def run(self, n_rounds: int) -> None:
        """Make all rounds in the core, unless something is to be known after each."""
        if self.keeps_scores:
            super().run(n_rounds)
            return
        assert isinstance(self.algorithm, Vote)
        limits = MIN_TOTAL, MAX_TOTAL, RESCALED_EXPONENT
        n_left, rate = n_rounds - len(self.estimators), self.algorithm.learning_rate
        if n_left <= 0 or self.is_complete():
            return
        found = self._open().boost(n_left, self.algorithm.n_classes, rate, self.algorithm.share, *limits)
        if self.estimators and found.errors[0] > 0 and self.algorithm.is_useless(found.errors[0]):
            return  # the core keeps its first stump in any case
        if self.estimators:
            self.estimators += self._as_fitted(found).members()
        else:
            self._stumps = self._as_fitted(found)
        self.estimator_weights += found.weights
        self.estimator_errors += found.errors

    def fitted_members(self, n_rounds: int) -> dict[str, Any]:
        """Return the fitted attribute that has the members, or the stumps that they are made of."""
        return super().fitted_members(n_rounds) if self._stumps is None else {"_stumps": self._stumps}

    def attempt(self, random: np.random.Generator | None) -> Attempt:
        """Find the best stump for the current weights."""
        booster = self._open()
        found = booster.learn()
        (member,) = self._as_fitted(found).members()
        error = int(found.wrong[0]) / int(found.total[0])
        weight = self.algorithm.weight(error)
        if not self.keeps_scores:
            return Attempt(member, error, weight)
        output = booster.predictions()
        return Attempt(member, error, weight, output, self.algorithm.contribution(output, weight))

    def _open(self) -> core.StumpBooster:
        """Return the booster, which is made at first use: earlier rounds may have changed the weights."""
        if self._core is None:
            assert isinstance(self.members, SharedTrees)
            training, tree = self.members.training, self.members.estimator
            self._core = core.StumpBooster(
                training.codes,
                self.codes,
                self.algorithm.n_classes,
                self.weights.copies,
                self.weights.size,
                GrowPlan(
                    criterion=tree.criterion,
                    categorical_split=tree.categorical_split,
                    n_threads=training.n_threads,
                ),
            )
        return self._core

    def _as_fitted(self, found: core.Stumps) -> FittedStumps:
        """Return stumps with what makes members of them, which keep the base estimator's random_state."""
        assert isinstance(self.members, SharedTrees) and isinstance(self.algorithm, Vote)
        assert self.task.classes is not None
        return FittedStumps(
            found,
            self.members.new_member(),
            self.members.training.table.schema,
            self.task.classes,
            self.start.initial_total,
            self.algorithm,
        )

    def reweight(self, attempt: Attempt) -> None:
        """Reweight the rows in the core."""
        if self._core is None:  # a round of an earlier fit
            return super().reweight(attempt)
        assert isinstance(self.algorithm, Vote)
        factor = self.algorithm.factor(attempt.weight)
        return self._core.reweight(factor, MIN_TOTAL, MAX_TOTAL, RESCALED_EXPONENT)
