"""Members that are Spinney's trees, joined for prediction: a table is read once and walked by all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.bagging.fitting import takes_all
from spinney.core.parameters import thread_count
from spinney.data.schema import Feature, Schema, default_names
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.predictor import EnsemblePredictor
from spinney.tree.tree_arrays import TreeArrays
from spinney.trees.base import _BaseTree

Columns = Sequence[NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class JoinedTrees:
    """Hold the trees of all members as one predictor for the whole table."""

    schema: Schema
    unseen: Any
    predictor: EnsemblePredictor

    def mean(self, X: Any, owner: str, n_jobs: int | None) -> NDArray[np.float64]:
        """Give the mean of what the trees say.  -> (n_rows, n_outputs, width)"""
        table = self.schema.read(X, self.unseen, owner)
        return self.predictor.mean(table, thread_count(n_jobs))


def join_trees(members: list[Any], features: Columns, n_columns: int, classes: Any) -> JoinedTrees | None:
    """Join the members, None where they are not all trees that read the table alike and know all classes.

    ``classes`` are those of the ensemble, a list of several outputs, None in regression.
    """
    if not all(isinstance(member, _BaseTree) for member in members):
        return None
    first = members[0]
    alike = all(
        type(member) is type(first) and member.unseen == first.unseen and _knows(member, classes)
        for member in members
    )
    schema = _whole_schema(members, features, n_columns) if alike else None
    if schema is None:
        return None
    trees = (
        _for_table(member.tree_, columns, n_columns)
        for member, columns in zip(members, features, strict=True)
    )
    return JoinedTrees(schema, first.unseen, EnsemblePredictor(TreeEnsemble.from_trees(trees)))


def _knows(member: Any, classes: Any) -> bool:
    met = vars(member).get("classes_")
    if type(met) is list and type(classes) is list:
        return len(met) == len(classes) and all(map(np.array_equal, met, classes))
    return met is None if classes is None else np.array_equal(met, classes)


def _whole_schema(members: list[Any], features: Columns, n_columns: int) -> Schema | None:
    """Describe the whole table by the columns of the members, None if they disagree or leave a column out."""
    has_names = members[0].schema_.has_names
    found: dict[int, Feature] = {}
    for member, columns in zip(members, features, strict=True):
        for j, feature in zip(columns.tolist(), member.schema_.features, strict=True):
            # The first copy of a column has its name; where missing values were met differs from bag to bag.
            known = found.setdefault(j, replace(feature, has_missing=False))
            if replace(feature, name=known.name, has_missing=False) != known:
                return None
    if len(found) < n_columns:
        return None
    names = [found[j].name for j in range(n_columns)] if has_names else default_names(n_columns)
    return Schema(tuple(replace(found[j], name=name) for j, name in enumerate(names)), has_names)


def _for_table(tree: TreeArrays, columns: NDArray[np.int64], n_columns: int) -> TreeArrays:
    """Give a tree that speaks of the columns of the whole table."""
    if takes_all(columns, n_columns):
        return tree
    of_table = columns.astype(np.int32)
    return replace(
        tree,
        feature=np.where(tree.feature >= 0, of_table[tree.feature], tree.feature),
        term_feature=of_table[tree.term_feature],
        n_features=n_columns,
    )
