"""Stumps: those of the core, of which members are made when they are asked for, and lookup tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from spinney.adaboost.algorithms import Algorithm, Logit, Vote, zero_scores
from spinney.adaboost.members import read_values, shares_schema
from spinney.core.arrays import Floats
from spinney.core.cached_attribute import cached_attribute
from spinney.data.schema import Schema, Table
from spinney.native import core
from spinney.tree.predictor import used_columns
from spinney.tree.tree_arrays import CATEGORY_SET, LEAF, NUMERIC, TreeArrays, first_categories


@dataclass(eq=False)
class FittedStumps:
    """Stumps that the core has boosted, and what makes fitted members of them.

    An array of the core has three nodes for each stump: the root and its leaves.

    Attributes
    ----------
    found : Stumps
        The stumps.
    template : DecisionTreeClassifier
        An unfitted member.
    schema : Schema
        The features.
    classes : ndarray of shape (n_classes,)
        Classes.
    weight : float
        Total weight of the rows.
    algorithm : Vote
        What the stumps add to the scores.
    """

    found: core.Stumps
    template: Any
    schema: Schema
    classes: NDArray[Any]
    weight: float
    algorithm: Vote

    _ARRAYS: ClassVar = (
        *("kind", "feature", "threshold", "missing", "set_begin", "set_bits"),
        *("value", "sums", "n_samples", "total", "weights"),
    )

    def __reduce__(self) -> tuple[type[FittedStumps], tuple[Any, ...]]:
        arrays = SimpleNamespace(**{name: getattr(self.found, name) for name in self._ARRAYS})
        return FittedStumps, (arrays, *(getattr(self, field.name) for field in fields(self)[1:]))

    def members(self) -> list[Any]:
        """Return the stumps as fitted members."""
        template, n_features = clone(self.template), self.schema.n_features
        trees = stump_trees(self.found, n_features, self.weight, template.criterion)
        first = template.set_tree(trees[0], self.schema, self.classes, max_features=n_features)
        return [first, *map(first.with_tree, trees[1:])]

    @cached_attribute
    def tables(self) -> StumpTables:
        """The stumps as lookup tables, made without the members; all of them vote."""
        found, algorithm, n_stumps = self.found, self.algorithm, len(self.found.weights)
        vote = found.value.reshape(3 * n_stumps, -1).argmax(axis=1)
        added = _contributions(vote, np.repeat(np.array(found.weights), 3), algorithm)
        is_leaf, set_begin, set_bits = found.kind[::3] == LEAF, found.set_begin, found.set_bits
        split = np.flatnonzero(~is_leaf)
        base = zero_scores(1, algorithm.n_classes).ravel() + added[::3][is_leaf].sum(axis=0)

        def goes_first(i: int, n_categories: int) -> NDArray[np.bool_]:
            words = set_bits[set_begin[split[i]] : set_begin[split[i] + 1]]
            return first_categories(words, n_categories)

        splits = _Splits(
            found.feature[::3][split],
            found.missing[::3][split],
            found.threshold[::3][split],
            added.reshape(n_stumps, 3, -1)[split, 1:],
            goes_first,
        )
        return StumpTables.merge(self.schema, self.template.unseen, base, splits)


def stump_trees(found: core.Stumps, n_features: int, weight: float, criterion: str) -> list[TreeArrays]:
    """Return stumps as trees; ``weight`` is the total weight of the rows.

    The trees are slices of arrays of all stumps, because making arrays takes longer than finding a stump.
    """
    kind = found.kind.reshape(-1, 3)
    n_stumps = len(kind)
    value = found.value.reshape(n_stumps, 3, 1, -1)
    sums = found.sums.reshape(n_stumps, 3, -1)
    proportions, leaf = value[:, :, 0], kind == LEAF
    kept = np.square(proportions).sum(axis=2) if criterion == "gini" else proportions.max(axis=2)
    of_nodes = {
        "kind": kind,
        "feature": np.where(leaf, np.int32(-2), found.feature.reshape(-1, 3)),
        "threshold": np.where(leaf, -2.0, found.threshold.reshape(-1, 3)),
        "missing": found.missing.reshape(-1, 3),
        "value": value,
        "weight": sums.sum(axis=2) * (weight / found.total)[:, None],
        "n_samples": found.n_samples.reshape(-1, 3),
        "impurity": np.maximum(1.0 - kept, 0.0),
        "is_leaf": leaf,
    }
    for array in (*of_nodes.values(), set_bits := found.set_bits):
        array.setflags(write=False)
    set_begin, trees = found.set_begin.tolist(), []
    for t, is_leaf in enumerate(leaf[:, 0].tolist()):
        begin, end, n = set_begin[t], set_begin[t + 1], 1 if is_leaf else 3
        arrays = {name: array[t, :n] for name, array in of_nodes.items()}
        arrays |= _same_in_all_stumps(n, end - begin)
        trees.append(TreeArrays.from_frozen(arrays | {"set_bits": set_bits[begin:end]}, n_features))
    return trees


@cache
def _same_in_all_stumps(n: int, n_words: int) -> dict[str, NDArray[Any]]:
    """Return the arrays that all stumps of n nodes and as many words of a category set share."""
    none, no_number, flat = np.empty(0, np.int32), np.empty(0, np.float64), np.zeros(n + 1, np.int64)
    shared: dict[str, NDArray[Any]] = {
        "first_child": np.array([1, -1, -1] if n > 1 else [-1], np.int32),
        "n_children": np.array([2, 0, 0] if n > 1 else [0], np.int32),
        "set_begin": np.array([0] + [n_words] * n, np.int64),
        "branch_begin": flat,
        "branch": none,
        "term_begin": flat,
        "term_feature": none,
        "term_coefficient": no_number,
        "term_fill": no_number,
    }
    for array in shared.values():
        array.setflags(write=False)
    return shared


# ---- lookup tables ----


class _Splits(NamedTuple):
    """Stumps with a split: feature, child of missing values, threshold, and what both leaves add.

    added (n_stumps, 2, width); goes_first(i, n_categories) tells which categories stump i sends to child 0.
    """

    feature: NDArray[np.int32]
    missing: NDArray[np.int32]
    threshold: Floats
    added: Floats
    goes_first: Callable[[int, int], NDArray[np.bool_]]


class StumpTables:
    """All stumps of an ensemble, merged into one lookup table per feature.

    Terms of scores are multiples of 2^-40, so the sums are bit-equal to those of one stump after the other.
    """

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
        trees: list[TreeArrays] = [one.tree_ for one in members]
        sizes = np.array([tree.node_count for tree in trees])
        output = _outputs(members, algorithm, classes)
        added = _contributions(output, np.repeat(weights, sizes), algorithm)
        root = np.cumsum(sizes) - sizes
        base = zero_scores(1, algorithm.n_classes).ravel() + added[root[sizes == 1]].sum(axis=0)
        split = np.flatnonzero(sizes > 1)
        feature, missing, threshold = (
            np.array([getattr(trees[t], name)[0] for t in split])
            for name in ("feature", "missing", "threshold")
        )
        both = added[root[split, None] + [1, 2]]
        splits = _Splits(feature, missing, threshold, both, lambda i, n: trees[split[i]].goes_first(0, n))
        return cls.merge(members[0].schema_, members[0].unseen, base, splits)

    @classmethod
    def merge(cls, schema: Schema, unseen: Any, base: Floats, splits: _Splits) -> StumpTables:
        """Merge the splits of each feature; ``base`` is what stumps without a split add."""
        tables = []
        for f in np.unique(splits.feature).tolist():
            (of,) = np.nonzero(splits.feature == f)
            both = splits.added[of]
            at_missing = both[np.arange(len(of)), splits.missing[of]].sum(axis=0)
            if schema.features[f].kind == "categorical":
                n_categories = len(schema.features[f].categories or ())
                first = np.array([splits.goes_first(i, n_categories) for i in of.tolist()])
                sums = np.where(first[:, :, None], both[:, :1], both[:, 1:]).sum(axis=0)
                tables.append((f, True, np.empty(0), np.vstack([sums, at_missing])))
            else:
                thresholds, sums = _sums_between(splits.threshold[of], both)
                tables.append((f, False, thresholds, np.vstack([sums, at_missing])))
        return cls(schema, unseen, base, tables)

    def __reduce__(self) -> tuple[type[StumpTables], tuple[Any, ...]]:
        return StumpTables, (self._schema, self._unseen, self._base, self._tables)

    def scores(self, X: Any, n_threads: int, name: str) -> Floats:
        """Return the score of each row of X.  -> (n_rows,) or (n_rows, n_classes)"""
        table: Table = self._schema.read(X, self._unseen, name)
        scores = self._core.sum(used_columns(table, self._used), n_threads, table.n_rows)
        return scores[:, 0] if scores.shape[1] == 1 else scores


def _is_stump(tree: TreeArrays) -> bool:
    one_split = tree.kind[0] in (NUMERIC, CATEGORY_SET) and tree.node_count == 3 and tree.missing[0] >= 0
    return tree.node_count == 1 or bool(one_split)


def _outputs(members: Sequence[Any], algorithm: Algorithm, classes: NDArray[Any]) -> NDArray[Any]:
    """Return what each node of the members predicts.  -> (n_nodes,) or (n_nodes, n_classes)"""
    values = [member.tree_.value[:, 0] for member in members]
    kinds = {(type(member), id(vars(member).get("classes_"))) for member in members}
    if len(kinds) == 1:
        return read_values(members[0], np.concatenate(values), algorithm.needs, classes)
    return np.concatenate(
        [
            read_values(member, value, algorithm.needs, classes)
            for member, value in zip(members, values, strict=True)
        ]
    )


def _contributions(output: NDArray[Any], weight: Floats, algorithm: Algorithm) -> Floats:
    """Return what nodes with these outputs and weights add to the score.  -> (n_nodes, width)"""
    if isinstance(algorithm, Logit):
        output = output[:, None]
    elif algorithm.n_classes > 2:
        weight = weight[:, None]
    return algorithm.contribution(output, weight).reshape(len(output), -1)


def _sums_between(threshold: Floats, added: Floats) -> tuple[Floats, Floats]:
    """Return the sorted thresholds of stumps, and the sums below, between and above them.

    added (n_stumps, 2, width): what both leaves add
    """
    order = np.argsort(threshold, kind="stable")
    ordered, steps = threshold[order], added[order, 1] - added[order, 0]
    lowest = added[:, 0].sum(axis=0)
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    return ordered[last], np.vstack([lowest, lowest + np.cumsum(steps, axis=0)[last]])
