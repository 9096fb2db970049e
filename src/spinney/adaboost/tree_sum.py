"""The score of AdaBoost as a sum of trees, as explanations read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.adaboost.algorithms import Algorithm, Logit
from spinney.adaboost.members import read_values
from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.data.schema import Schema, Table
from spinney.members.base_estimators import has_own_methods
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.tree_arrays import TreeArrays
from spinney.tree.tree_sum import TreeSum
from spinney.trees.base import BaseTree


def score_sum(
    members: Sequence[Any],
    weights: Floats,
    algorithm: Algorithm,
    classes: NDArray[Any],
    owner: str,
    n_jobs: int | None,
) -> TreeSum:
    """Return the decision function as a sum of trees; raise InputError if the members are not such trees.

    members are those of all rounds, weights (n_rounds,).
    """
    schema = _common_schema(members, owner)
    unseen = members[0].unseen

    def read(X: Any) -> Table:
        return schema.read(X, unseen, owner)

    trees = TreeEnsemble.from_trees(_score_trees(members, weights, algorithm, classes))
    return TreeSum(
        trees,
        schema,
        read,
        "raw",
        algorithm.decision_scale(weights),
        np.zeros(trees.width),
        np.arange(trees.width),
        () if trees.width == 1 else tuple(map(str, classes.tolist())),
        np.arange(trees.n_features),
        votes=True,
        n_jobs=n_jobs,
    )


def _common_schema(members: Sequence[Any], owner: str) -> Schema:
    """Return the schema of the members, Spinney's trees with the same columns and categories."""
    own = all(isinstance(member, BaseTree) and has_own_methods(member) for member in members)
    if own:
        first: Schema = members[0].schema_
        known = first.with_missing([False] * first.n_features)
        if all(
            member.schema_ is first or member.schema_.with_missing([False] * first.n_features) == known
            for member in members
        ):
            return first
    raise InputError(
        f"The members of this {owner} are not trees that read the table in the same way",
        fix="Boost Spinney's own trees, or explain the members in estimators_.",
    )


def _score_trees(
    members: Sequence[Any], weights: Floats, algorithm: Algorithm, classes: NDArray[Any]
) -> Iterator[TreeArrays]:
    """Yield the trees with what each node adds to the decision function as its value."""
    per_round = len(members) // len(weights)
    for t, member in enumerate(members):
        weight, tree = float(weights[t // per_round]), member.tree_
        output = read_values(member, tree.value[:, 0], algorithm.needs, classes)
        if isinstance(algorithm, Logit):  # the other regressions of the round add nothing
            columns = np.zeros((len(output), per_round))
            columns[:, t % per_round] = output
            output = columns
        added = algorithm.contribution(output, weight).reshape(tree.node_count, -1)
        if added.shape[1] > 1:  # the decision function is centred
            added = added - added.mean(axis=1, keepdims=True)
        yield replace(tree, value=added[:, None, :])
