"""Boosted stumps in the compiled core, for fitting and for prediction.

`StumpBoosting` makes the same rounds as `Boosting`, faster. `StumpTables` merges all stumps that split on the
same feature into one table; because terms of scores are multiples of 2^-40, the sums are bit-equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from spinney.adaboost.algorithms import MAX_TOTAL, MIN_TOTAL, RESCALED_EXPONENT, Algorithm, Logit, Vote
from spinney.adaboost.members import SharedTrees, read_values, shares_schema
from spinney.adaboost.rounds import Attempt, Boosting
from spinney.data.schema import Schema, Table
from spinney.native import core
from spinney.tree.tree_arrays import CATEGORY_SET, LEAF, NUMERIC, TreeArrays
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
Floats = NDArray[np.float64]


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


class StumpTables:
    """All stumps of an ensemble, merged into one lookup table per feature."""

    def __init__(self, schema: Schema, unseen: Any, base: Floats, tables: list[Any]) -> None:
        self._schema, self._unseen, self._base, self._tables = schema, unseen, base, tables
        self._used = [feature for feature, *_ in tables]
        self._core = core.StumpTables(base, tables, schema.n_features)

    @classmethod
    def of(
        cls, members: Sequence[Any], weights: Floats, algorithm: Algorithm, classes: NDArray[Any]
    ) -> StumpTables | None:
        """Merge the stumps of an ensemble; None if a member is not a stump."""
        has_many = isinstance(algorithm, Logit) and algorithm.n_regressions > 1
        if has_many or not shares_schema(members) or not all(_is_stump(one.tree_) for one in members):
            return None
        schema: Schema = members[0].schema_
        base, by_feature = _zero(algorithm), dict[int, list[tuple[TreeArrays, Floats]]]()
        for member, weight in zip(members, weights.tolist(), strict=True):
            added = _leaf_contributions(member, weight, algorithm, classes)
            if member.tree_.kind[0] == LEAF:
                base += added[0]
            else:
                by_feature.setdefault(int(member.tree_.feature[0]), []).append((member.tree_, added[1:]))
        tables = []
        for feature, stumps in sorted(by_feature.items()):
            n_categories = len(schema.features[feature].categories or ())
            if schema.features[feature].kind == "categorical":
                tables.append((feature, True, np.empty(0), _category_table(stumps, n_categories)))
            else:
                tables.append((feature, False, *_threshold_table(stumps)))
        return cls(schema, members[0].unseen, base, tables)

    def __reduce__(self) -> tuple[type[StumpTables], tuple[Any, ...]]:
        return StumpTables, (self._schema, self._unseen, self._base, self._tables)

    def scores(self, X: Any, n_threads: int, name: str) -> Floats:
        """Return the score of each row of X.  -> (n_rows,) or (n_rows, n_classes)"""
        table: Table = self._schema.read(X, self._unseen, name)
        columns: Any = table.block
        if columns is None:
            columns = [None] * len(table.columns)
            for j in self._used:
                columns[j] = table.columns[j]
        scores = self._core.sum(columns, n_threads, table.n_rows)
        return scores[:, 0] if scores.shape[1] == 1 else scores


def _is_stump(tree: TreeArrays) -> bool:
    one_split = tree.kind[0] in (NUMERIC, CATEGORY_SET) and tree.node_count == 3 and tree.missing[0] >= 0
    return tree.node_count == 1 or bool(one_split)


def _zero(algorithm: Algorithm) -> Floats:
    return np.zeros(1 if algorithm.n_classes <= 2 else algorithm.n_classes)


def _leaf_contributions(member: Any, weight: float, algorithm: Algorithm, classes: NDArray[Any]) -> Floats:
    """Return what each node of a stump adds to the score.  -> (n_nodes, width)"""
    output = read_values(member, member.tree_.value[:, 0], algorithm.needs, classes)
    if isinstance(algorithm, Logit):
        output = output[:, None]
    return algorithm.contribution(output, weight).reshape(len(output), -1)


def _threshold_table(stumps: list[tuple[TreeArrays, Floats]]) -> tuple[Floats, Floats]:
    """Return the sorted thresholds, and the sums between them with that of missing values last."""
    added = np.array([both for _, both in stumps])  # (n_stumps, 2, width)
    missing = added[np.arange(len(stumps)), [int(tree.missing[0]) for tree, _ in stumps]].sum(axis=0)
    thresholds, position = np.unique([float(tree.threshold[0]) for tree, _ in stumps], return_inverse=True)
    steps = np.zeros((len(thresholds) + 1, added.shape[2]))
    steps[0] = added[:, 0].sum(axis=0)
    np.add.at(steps, position + 1, added[:, 1] - added[:, 0])
    return thresholds, np.vstack([np.cumsum(steps, axis=0), missing])


def _category_table(stumps: list[tuple[TreeArrays, Floats]], n_categories: int) -> Floats:
    """Return the sum of each category, with that of missing values last."""
    sums = np.zeros((n_categories + 1, stumps[0][1].shape[1]))
    for tree, added in stumps:
        first = tree.goes_first(0, n_categories)
        sums[:-1] += np.where(first[:, None], added[0], added[1])
        sums[-1] += added[int(tree.missing[0])]
    return sums
