"""The rounds of AdaBoost: fit a member, compute its weight, add it to the scores, reweight the rows.

`StumpBoosting` makes the same rounds as `Boosting` in the core, for stumps that vote.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

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
from spinney.adaboost.members import Members, SharedTrees, Task
from spinney.core.seeds import stream
from spinney.native import core
from spinney.tree.tree_arrays import LEAF, TreeArrays
from spinney.trees.cart import DecisionTreeClassifier

# Parameters that must have their defaults for the only split to be the one with the largest gain.
_PLAIN = {
    "criterion": "gini",
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


@dataclass
class Attempt:
    """A fitted member with its error and weight, its predictions for all rows, and its term of the scores."""

    member: Any
    error: float
    weight: float
    output: NDArray[Any] | None = None
    contribution: NDArray[np.float64] | None = None


class Rounds:
    """Rounds of boosting on the rows of one table: members, their weights and errors."""

    def __init__(self, draws: Draws, resample: bool) -> None:
        self.draws, self.resample = draws, resample
        self.estimators: list[Any] = []
        self.estimator_weights: list[float] = []
        self.estimator_errors: list[float] = []

    @abstractmethod
    def replay(self, estimators: list[Any], weights: list[float], errors: list[float]) -> None:
        """Repeat the rounds of an earlier fit, without fitting members."""

    @abstractmethod
    def step(self) -> bool:
        """Make one round; return False if boosting is complete."""

    @abstractmethod
    def error_on(self, weights: NDArray[np.float64]) -> float:
        """Return the error of the ensemble on the rows with a weight (n_rows,) here."""

    def make_ledger(self, n_rounds: int) -> RoundLedger | None:
        """Return the ledger of the first rounds, None if there is none."""
        return None

    def is_complete(self) -> bool:
        """Return True if the last member made no error, so that there is nothing to add."""
        return bool(self.estimator_errors) and self.estimator_errors[-1] <= 0


class Boosting(Rounds):
    """Rounds of a classifier; ``initial`` are the row weights, 0 for rows that are held out.

    ``task`` is what the ensemble learns, ``member_task`` what members learn; LogitBoost makes its own tasks
    every round. ``keeps_scores`` is False where the scores of the rows are not needed.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        members: Members,
        task: Task,
        member_task: Task,
        initial: NDArray[np.float64],
        draws: Draws,
        resample: bool = False,
        keeps_ledger: bool = False,
        keeps_scores: bool = True,
    ) -> None:
        super().__init__(draws, resample)
        assert task.codes is not None
        self.algorithm, self.members, self.codes = algorithm, members, task.codes
        self.task, self.member_task, self.initial = task, member_task, initial
        self.keeps_ledger, self.keeps_scores = keeps_ledger, keeps_scores
        self.ledger: list[dict[str, float]] = []
        self.start = RowWeights(initial)
        self.weights = RowWeights(initial)
        self.scores = zero_scores(len(self.codes), algorithm.n_classes)

    def replay(self, estimators: list[Any], weights: list[float], errors: list[float]) -> None:
        """Repeat the rounds of an earlier fit, without fitting members."""
        for member, weight, error in zip(estimators, weights, errors, strict=True):
            self.accept(self._evaluate(member, weight, error))

    def step(self) -> bool:
        """Make one round; return False if boosting is complete."""
        random = self.generator()
        for _ in range(MAX_SAMPLES_PER_ROUND if self.resample else 1):
            attempt = self.attempt(random)
            perfect = attempt.error <= 0 and self.algorithm.ends_when_perfect
            if perfect or not self.is_useless(attempt):
                self.accept(attempt)
                return not perfect
        if not self.estimators:
            # There must be a first member; one that is no better than chance gets weight 0.
            self.accept(self._evaluate(attempt.member, 0.0, attempt.error))
        return False

    def generator(self) -> np.random.Generator | None:
        """Return the random generator of the next round."""
        return self.draws.of_round(len(self.estimators))

    def is_useless(self, attempt: Attempt) -> bool:
        """Return True if a member is to be discarded."""
        assert attempt.contribution is not None
        return self.algorithm.is_useless(attempt.error, attempt.contribution[self.initial > 0])

    def attempt(self, random: np.random.Generator | None) -> Attempt:
        """Fit a member to the rows with their current weights."""
        assert random is not None
        if isinstance(self.algorithm, Logit):
            member: Any = []
            for response, curvature in self.algorithm.responses(self.scores, self.codes):
                weights = self.start.scaled(curvature)
                member.append(self._fit(weights, Task(response), random))
        else:
            member = self._fit(self.weights, self.member_task, random)
        return self._evaluate(member)

    def _fit(self, weights: RowWeights, task: Task, random: np.random.Generator) -> Any:
        seed = self.draws.member_seed(random)
        return self.members.fit(seed, draw_rows(weights.steps, random) if self.resample else weights, task)

    def _evaluate(self, member: Any, weight: float | None = None, error: float | None = None) -> Attempt:
        output = self._output(member)
        if error is None:
            error = self.weights.fraction(self.algorithm.wrong(output, self.codes))
        if weight is None:
            weight = self.algorithm.weight(error)
        return Attempt(member, error, weight, output, self.algorithm.contribution(output, weight))

    def _output(self, member: Any) -> NDArray[Any]:
        if isinstance(member, list):
            return np.stack([self.members.predict(one, "values", self.task) for one in member], axis=1)
        return self.members.predict(member, self.algorithm.needs, self.task)

    def accept(self, attempt: Attempt) -> None:
        """Add a member to the ensemble, its term to the scores, and reweight the rows."""
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

    def make_ledger(self, n_rounds: int) -> RoundLedger | None:
        """Return the ledger of the first rounds, None if none is kept."""
        return RoundLedger.from_rows(self.ledger[:n_rounds]) if self.keeps_ledger else None

    def is_complete(self) -> bool:
        """Return True if the last member made no error and the algorithm ends then."""
        return super().is_complete() and self.algorithm.ends_when_perfect

    def error_on(self, weights: NDArray[np.float64]) -> float:
        """Return the error of the ensemble on the rows with a weight (n_rows,) here."""
        wrong = choose_class(self.scores) != self.codes
        return float(weights[wrong].sum() / weights.sum())

    def train_error(self) -> float:
        """Return the error of the ensemble on the training rows."""
        return self.start.fraction(choose_class(self.scores) != self.codes)


# ---- stumps in the core ----


class StumpBoosting(Boosting):
    """Rounds of voting stumps, with row weights and histograms in the core."""

    _core: core.StumpBooster | None = None
    _params: dict[str, Any]

    @staticmethod
    def supports(algorithm: Algorithm, members: Any, resample: bool) -> bool:
        """Return True if these rounds can be made in the core."""
        if not isinstance(algorithm, Vote) or not isinstance(members, SharedTrees) or resample:
            return False
        tree = members.estimator
        return type(tree) is DecisionTreeClassifier and all(
            getattr(tree, name) == value for name, value in _PLAIN.items()
        )

    def generator(self) -> None:
        """Return None: stumps are found without random draws."""

    def attempt(self, random: np.random.Generator | None) -> Attempt:
        """Find the best stump for the current weights."""
        assert isinstance(self.members, SharedTrees)
        training = self.members.training
        if self._core is None:  # created here, because earlier rounds may have changed the weights
            self._params = clone(self.members.estimator).get_params(deep=False)
            self._core = core.StumpBooster(
                training.codes,
                self.codes,
                self.algorithm.n_classes,
                self.weights.copies,
                self.weights.size,
                self.members.estimator.categorical_split == "one-vs-rest",
                training.n_threads,
            )
        found = self._core.learn()
        n_columns = training.codes.n_columns
        tree = _stump_tree(found, n_columns, self.start.initial_total)
        # Stumps do not depend on a seed, and so keep the random_state of the base estimator.
        member = type(self.members.estimator)(**self._params)
        self.members.set_tree(member, tree, self.task, n_columns)
        error = found.wrong / found.total
        weight = self.algorithm.weight(error)
        if not self.keeps_scores:
            return Attempt(member, error, weight)
        output = self._core.answers()
        return Attempt(member, error, weight, output, self.algorithm.contribution(output, weight))

    def is_useless(self, attempt: Attempt) -> bool:
        """Return True if a stump is no better than chance."""
        return self.algorithm.is_useless(attempt.error)

    def accept(self, attempt: Attempt) -> None:
        """Add a stump to the ensemble, and update the weights in the core."""
        if self._core is None:
            super().accept(attempt)
            return
        assert isinstance(self.algorithm, Vote)
        if attempt.contribution is not None:
            self.scores += attempt.contribution
        self._core.reweight(self.algorithm.factor(attempt.weight), MIN_TOTAL, MAX_TOTAL, RESCALED_EXPONENT)
        self._record(attempt)


def _stump_tree(found: core.Stump, n_features: int, weight: float) -> TreeArrays:
    """Return a stump as a tree; ``weight`` is the total weight of the rows."""
    n = 1 if found.kind == LEAF else 3
    value = found.value.reshape(3, 1, -1)[:n]
    none, no_number = np.empty(0, np.int32), np.empty(0, np.float64)
    flat = np.zeros(n + 1, np.int64)
    leaf = np.arange(n) > 0 if n > 1 else np.ones(1, np.bool_)
    return TreeArrays(
        kind=np.where(leaf, LEAF, found.kind),
        feature=np.where(leaf, -1, found.feature),
        threshold=np.where(leaf, np.nan, found.threshold),
        first_child=np.where(leaf, -1, 1),
        n_children=np.where(leaf, 0, 2),
        missing=np.where(leaf, -1, found.missing),
        value=value,
        weight=found.sums.reshape(3, -1)[:n].sum(axis=1) * (weight / found.total),
        n_samples=found.n_samples[:n],
        impurity=np.maximum(1.0 - np.square(value[:, 0]).sum(axis=1), 0.0),
        set_begin=np.minimum(np.arange(n + 1), 1) * len(found.set_bits),
        set_bits=found.set_bits,
        branch_begin=flat,
        branch=none,
        term_begin=flat,
        term_feature=none,
        term_coefficient=no_number,
        term_fill=no_number,
        n_features=n_features,
    )
