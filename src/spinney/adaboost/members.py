"""The members of AdaBoost: fitted to weighted or drawn rows, each kind in the quickest way it knows.

Any estimator is cloned and fitted to the rows as they are. Spinney's CART trees share one coding of the
table, and at prediction one reading of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from spinney.adaboost.row_weights import RowWeights
from spinney.core.errors import InputError
from spinney.core.parameters import check_parameters, draw_seed
from spinney.data.schema import Table, read_table
from spinney.data.training_set import TrainingSet, code_table
from spinney.members.base_estimators import make_member
from spinney.members.fitting import fit_member, takes_weights
from spinney.members.tables import count_rows, take_rows
from spinney.tree.grower import Grower
from spinney.trees.base import BaseTree
from spinney.trees.cart import DecisionTreeClassifier, DecisionTreeRegressor

Needs = Literal["classes", "probabilities", "values"]


@dataclass(frozen=True)
class Task:
    """Say what members learn: labels with their codes and classes, or values (classes is then None)."""

    labels: NDArray[Any]
    codes: NDArray[np.int32] | None = None
    classes: NDArray[Any] | None = None


class Members(Protocol):
    """Fit members to the rows of one table, and give their answers for all of its rows."""

    n_rows: int

    def prepare(self, weights: NDArray[np.float64]) -> None:
        """Do once what all rounds need, knowing what the rows weigh at first."""

    def learn(self, seed: int | None, weights: RowWeights | NDArray[np.int64], task: Task) -> Any:
        """Fit a member to weighted rows, or to rows drawn so and so many times each."""

    def output(self, member: Any, needs: Needs, task: Task) -> NDArray[Any]:
        """Give a member's answers for all rows: codes or values (n_rows,), or probabilities."""


def open_members(estimator: Any, X: Any, resample: bool, n_threads: int) -> Members:
    """Choose the way to fit members like ``estimator`` to the rows of X, and read X if need be."""
    if SharedTrees.takes(estimator):
        return SharedTrees(estimator, X, n_threads)
    if not resample and not takes_weights(estimator):
        raise InputError(
            f"The estimator {type(estimator).__name__} does not support sample weights",
            fix="Set resample=True, which draws rows by their weight instead.",
        )
    return AnyMembers(estimator, X, n_threads)


class AnyMembers:
    """Fit clones of any estimator by its own ``fit``."""

    def __init__(self, estimator: Any, X: Any, n_threads: int) -> None:
        # Not every sparse format tells how many rows it has.
        self._X: Any = X.tocsr() if hasattr(X, "tocsr") else X
        self._estimator, self._n_threads = estimator, n_threads
        self.n_rows = count_rows(self._X)
        if self.n_rows == 0:
            raise InputError("Found array with 0 sample(s) while a minimum of 1 is required.")

    def prepare(self, weights: NDArray[np.float64]) -> None:
        """Do nothing: every member reads the table by itself."""

    def learn(self, seed: int | None, weights: RowWeights | NDArray[np.int64], task: Task) -> Any:
        """Fit a clone; rows without weight are left out."""
        member = make_member(self._estimator, seed)
        with joblib.parallel_config(n_jobs=self._n_threads):
            if not isinstance(weights, RowWeights):
                rows = np.repeat(np.arange(len(weights)), weights)
                return fit_member(member, take_rows(self._X, rows), task.labels[rows])
            kept = weights.steps > 0
            X = self._X if kept.all() else take_rows(self._X, kept)
            return fit_member(member, X, task.labels[kept], weights.values[kept])

    def output(self, member: Any, needs: Needs, task: Task) -> NDArray[Any]:
        """Ask the member as any user would."""
        with joblib.parallel_config(n_jobs=self._n_threads):
            return ask(member, self._X, needs, task.classes)


class SharedTrees:
    """Grow Spinney's CART trees on one coded table: it is read and binned once for all rounds."""

    def __init__(self, estimator: Any, X: Any, n_threads: int) -> None:
        check_parameters(type(estimator).__name__, vars(estimator), estimator._parameter_rules)
        self.estimator, self.n_threads = estimator, n_threads
        self.table = read_table(X, estimator.categorical_features)
        self.n_rows = self.table.n_rows

    def prepare(self, weights: NDArray[np.float64]) -> None:
        """Code the table: bins hold about the same weight each, as it is at first."""
        self.matrix = code_table(self.table, weights, self.estimator.max_bins, self.n_threads)
        missing = [self.matrix.has_missing(j) for j in range(self.matrix.n_columns)]
        self.table = self.table.with_schema(self.table.schema.with_missing(missing))

    @cached_property
    def grower(self) -> Grower:
        """Give the grower of all members; stumps may be found without one."""
        return Grower(self.matrix)

    @staticmethod
    def takes(estimator: Any) -> bool:
        """Tell whether members like this one are trees that need nothing but their own rows."""
        return (
            type(estimator) in (DecisionTreeClassifier, DecisionTreeRegressor)
            and estimator.pruning is None
            and estimator.ccp_alpha == 0
            and not estimator.ledger
            and estimator.missing == "direction"  # with fractional rows leaves are limited by weight
            and getattr(estimator, "class_weight", None) is None
        )

    def learn(self, seed: int | None, weights: RowWeights | NDArray[np.int64], task: Task) -> Any:
        """Grow a tree on the shared codes; rows without weight do not count."""
        member = make_member(self.estimator, seed)
        steps = weights.steps if isinstance(weights, RowWeights) else weights
        classes = () if task.classes is None else (task.classes,)
        y = task.labels.astype(np.float64) if task.codes is None else task.codes
        problem = TrainingSet(
            self.table,
            np.ascontiguousarray(y[:, None]),
            classes,
            steps.astype(np.float64),
            draw_seed(member.random_state),
            self.n_threads,
        )
        plan = member.grow_plan(problem)
        tree = self.grower.grow(problem.target(problem.weights), plan, self.n_threads).tree
        if isinstance(weights, RowWeights):
            tree = replace(tree, weight=tree.weight * (weights.initial_total / weights.total))
        return self.adopt(member, tree, task, plan.max_features)

    def adopt(self, member: Any, tree: Any, task: Task, max_features: int) -> Any:
        """Make a member of a tree grown for it."""
        return member.set_tree(tree, self.table.schema, task.classes, max_features=max_features)

    def output(self, member: Any, needs: Needs, task: Task) -> NDArray[Any]:
        """Send all rows down the tree."""
        return _ask_tree(member, self.table, needs, task.classes, self.n_threads)


# ---- the answers of members ----


def outputs(
    members: Sequence[Any], X: Any, needs: Needs, classes: NDArray[Any] | None, n_threads: int
) -> Iterator[NDArray[Any]]:
    """Give the answers of one member after another; a table that all read alike is read once."""
    first = members[0]
    if shares_schema(members):
        table = first.schema_.read(X, first.unseen, type(first).__name__)
        for member in members:
            yield _ask_tree(member, table, needs, classes, n_threads)
    else:
        with joblib.parallel_config(n_jobs=n_threads):
            for member in members:
                yield ask(member, X, needs, classes)


def members_of(rounds: Sequence[Any]) -> list[Any]:
    """List the members, those of a round that has several one after the other.

    >>> members_of(["a", ["b", "c"]])
    ['a', 'b', 'c']
    """
    return [one for member in rounds for one in (member if type(member) is list else [member])]


def shares_schema(members: Sequence[Any]) -> bool:
    """Tell whether all members are Spinney's trees over one schema."""
    first = members[0]
    return isinstance(first, BaseTree) and all(
        isinstance(member, BaseTree) and member.schema_ is first.schema_ for member in members
    )


def share_schema(members: Sequence[Any]) -> None:
    """Let trees that were fitted to one table share its schema again, as they did before they were stored."""
    if not all(isinstance(member, BaseTree) and hasattr(member, "schema_") for member in members):
        return
    first = members[0].schema_
    if all(member.schema_ == first for member in members):
        for member in members:
            member.schema_ = first


def ask(member: Any, X: Any, needs: Needs, classes: NDArray[Any] | None) -> NDArray[Any]:
    """Ask a fitted estimator for codes, probabilities or values."""
    if needs == "values" or classes is None:
        return np.asarray(member.predict(X), np.float64)
    if needs == "classes":
        return np.asarray(np.searchsorted(classes, member.predict(X)))
    if is_regressor(member):
        return _as_probabilities(np.asarray(member.predict(X), np.float64))
    if not hasattr(member, "predict_proba"):
        raise InputError(
            f"The member {type(member).__name__} gives no probabilities, which this algorithm needs",
            fix='Use algorithm="samme".',
        )
    return _aligned(member.predict_proba(X), member.classes_, classes)


def _ask_tree(
    member: Any, table: Table, needs: Needs, classes: NDArray[Any] | None, n_threads: int
) -> NDArray[Any]:
    if needs == "classes" and classes is not None and len(member.classes_) == len(classes):
        codes: NDArray[Any] = member.predictor_.classes(table, n_threads)
        return codes
    return read_values(member, member.predictor_.value(table, n_threads)[:, 0], needs, classes)


def read_values(
    member: Any, value: NDArray[np.float64], needs: Needs, classes: NDArray[Any] | None
) -> NDArray[Any]:
    """Give values of a tree's nodes, (n, width), as the answer of one who ends there."""
    if is_regressor(member) or classes is None:
        return _as_probabilities(value[:, 0]) if needs == "probabilities" else value[:, 0]
    shares = _aligned(value, member.classes_, classes)
    return shares.argmax(axis=1) if needs == "classes" else shares


def _aligned(proba: NDArray[np.float64], known: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    """Give probabilities a column for every class, 0 for one that the member never met."""
    if len(known) == len(classes):
        return np.asarray(proba, np.float64)
    full = np.zeros((len(proba), len(classes)))
    full[:, np.searchsorted(classes, known)] = proba
    return full


def _as_probabilities(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn the fitted mean of y = ±1 into what would be the probabilities of −1 and +1."""
    return np.stack([(1 - values) / 2, (1 + values) / 2], axis=1)
