"""Members of AdaBoost: fitting to weighted or drawn rows, and predictions.

Any estimator is cloned and fitted to the rows as they are. Spinney's CART trees share one coded table during
fit, and read a table once at predict time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeAlias

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor

from spinney.adaboost.algorithms import Algorithm, Logit, RowWeights, zero_scores
from spinney.base import describe_features
from spinney.core.cached_attribute import cached_attribute
from spinney.core.errors import InputError
from spinney.core.parameters import draw_seed
from spinney.data.schema import Schema, Table, refuse_coded
from spinney.data.sparse import checked_sparse
from spinney.data.training_set import TrainingSet
from spinney.io import require
from spinney.members.base_estimators import has_own_methods, make_member
from spinney.members.fitting import fit_member, takes_weights
from spinney.members.tables import count_training_rows, describe_input, take_rows
from spinney.native import core
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.grower import Grower
from spinney.tree.predictor import used_columns
from spinney.tree.tree_arrays import CATEGORY_SET, LEAF, NUMERIC, TreeArrays
from spinney.trees.base import BaseTree
from spinney.trees.cart import DecisionTreeClassifier, DecisionTreeRegressor
from spinney.trees.state import check_tree_classes

Floats = NDArray[np.float64]
Needs = Literal["classes", "probabilities", "values"]
Weights: TypeAlias = RowWeights | NDArray[np.int64]
"""Row weights, or how often each row was drawn."""


@dataclass(frozen=True)
class Task:
    """What members learn: labels with their codes and classes, or values (without codes and classes)."""

    labels: NDArray[Any]
    codes: NDArray[np.int32] | None = None
    classes: NDArray[Any] | None = None


def open_members(estimator: Any, X: Any, resample: bool, n_threads: int) -> Members:
    """Choose how to fit members like ``estimator`` to the rows of X."""
    refuse_coded(X)
    if SharedTrees.supports(estimator):
        return SharedTrees(estimator, X, n_threads)
    if not resample and not takes_weights(estimator):
        raise InputError(
            f"The estimator {type(estimator).__name__} doesn't support sample_weight",
            fix="Set resample=True, which draws rows by their weight instead.",
        )
    return AnyMembers(estimator, X, n_threads)


class AnyMembers:
    """Clones of any estimator, fitted by its own ``fit``."""

    def __init__(self, estimator: Any, X: Any, n_threads: int) -> None:
        # Some sparse formats do not know their number of rows.
        self._X: Any = checked_sparse(X).tocsr() if getattr(X, "format", "csr") not in ("csr", "csc") else X
        self._given, self._estimator, self._n_threads = X, estimator, n_threads
        self.n_rows = count_training_rows(self._X)

    def prepare(self, weights: NDArray[np.float64]) -> None:
        """Do nothing: every member reads the table itself."""

    def fit(self, seed: int | None, weights: Weights, task: Task) -> Any:
        """Return a fitted clone; rows of weight 0 are left out."""
        member = make_member(self._estimator, seed)
        with joblib.parallel_config(n_jobs=self._n_threads, prefer="threads"):
            if not isinstance(weights, RowWeights):
                rows = np.repeat(np.arange(len(weights)), weights)
                return fit_member(member, take_rows(self._X, rows), task.labels[rows])
            kept = weights.steps > 0
            X = self._X if kept.all() else take_rows(self._X, kept)
            return fit_member(member, X, task.labels[kept], weights.values[kept])

    def predict(self, member: Any, needs: Needs, task: Task) -> NDArray[Any]:
        """Return a member's predictions for all rows."""
        with joblib.parallel_config(n_jobs=self._n_threads, prefer="threads"):
            return predict_member(member, self._X, needs, task.classes)

    def describe_features(self) -> dict[str, Any]:
        """Return ``n_features_in_`` and, if columns have names, ``feature_names_in_``."""
        return describe_input(self._given)


class SharedTrees:
    """CART trees of Spinney on one coded table, which is read and binned once for all rounds."""

    def __init__(self, estimator: Any, X: Any, n_threads: int) -> None:
        self.estimator = estimator
        table = estimator.read_training_table(X)
        self.n_rows = table.n_rows
        self.training = TrainingSet(table, np.empty((table.n_rows, 1)), n_threads=n_threads)

    @staticmethod
    def supports(estimator: Any) -> bool:
        """Return True for trees that are grown from rows and weights alone, without pruning or ledger."""
        return (
            type(estimator) in (DecisionTreeClassifier, DecisionTreeRegressor)
            and estimator.pruning is None
            and estimator.ccp_alpha == 0
            and not estimator.ledger
            and estimator.missing == "direction"  # fractional instances count leaf sizes by weight
            and getattr(estimator, "class_weight", None) is None
        )

    def prepare(self, weights: NDArray[np.float64]) -> None:
        """Code the table; bins have about equal initial weight."""
        training = replace(self.training, weights=weights, bin_weights=weights)
        self.training = training.coded(self.estimator.max_bins)

    @cached_attribute
    def grower(self) -> Grower:
        """The grower of all members; stumps may be found without one."""
        return Grower(self.training.codes)

    def fit(self, seed: int | None, weights: Weights, task: Task) -> Any:
        """Return a tree grown on the shared codes; rows of weight 0 are left out."""
        member = make_member(self.estimator, seed)
        steps = weights.steps if isinstance(weights, RowWeights) else weights
        y = task.labels.astype(np.float64) if task.codes is None else task.codes
        training = replace(
            self.training,
            y=np.ascontiguousarray(y[:, None]),
            classes=() if task.classes is None else (task.classes,),
            weights=steps.astype(np.float64),
            seed=draw_seed(member.random_state),
        )
        plan = member.grow_plan(training).replace(tie_seed=0)  # as the stumps of the core
        tree = self.grower.grow(training.target(training.weights), plan, training.n_threads).tree
        if isinstance(weights, RowWeights):
            tree = replace(tree, weight=tree.weight * (weights.initial_total / weights.total))
        return self.set_tree(member, tree, task, plan.max_features)

    def set_tree(self, member: Any, tree: TreeArrays, task: Task, max_features: int) -> Any:
        """Make a fitted member of a tree."""
        return member.set_tree(tree, self.training.table.schema, task.classes, max_features=max_features)

    def predict(self, member: Any, needs: Needs, task: Task) -> NDArray[Any]:
        """Return a member's predictions for all rows."""
        return _predict_tree(member, self.training.table, needs, task.classes, self.training.n_threads)

    def describe_features(self) -> dict[str, Any]:
        """Return ``n_features_in_`` and, if columns have names, ``feature_names_in_``."""
        return describe_features(self.training.table.schema)


Members: TypeAlias = AnyMembers | SharedTrees
"""Ways to fit members to the rows of one table, and to predict these rows."""


# ---- predictions ----


def predict_members(
    members: Sequence[Any], X: Any, needs: Needs, classes: NDArray[Any] | None, n_threads: int
) -> Iterator[NDArray[Any]]:
    """Yield the predictions of one member after the other; trees that share a schema read X once."""
    first = members[0]
    if shares_schema(members):
        table = first.schema_.read(X, first.unseen, type(first).__name__)
        for member in members:
            yield _predict_tree(member, table, needs, classes, n_threads)
    else:
        for member in members:
            # Not around the loop: what the caller does between two members is no concern of this setting.
            with joblib.parallel_config(n_jobs=n_threads, prefer="threads"):
                predicted = predict_member(member, X, needs, classes)
            yield predicted


def flatten(rounds: Sequence[Any]) -> list[Any]:
    """List the members of all rounds; a round of LogitBoost has a list of them.

    >>> flatten(["a", ["b", "c"]])
    ['a', 'b', 'c']
    """
    return [one for member in rounds for one in (member if type(member) is list else [member])]


def shares_schema(members: Sequence[Any]) -> bool:
    """Return True if all members are Spinney's own trees with the same schema object."""
    first = members[0]
    return isinstance(first, BaseTree) and all(
        isinstance(member, BaseTree) and member.schema_ is first.schema_ and has_own_methods(member)
        for member in members
    )


def share_schema(members: Sequence[Any]) -> None:
    """Make trees with equal schemas share one object, as they did before they were saved."""
    if not all(isinstance(member, BaseTree) and hasattr(member, "schema_") for member in members):
        return
    first = members[0].schema_
    if all(member.schema_ == first for member in members):
        for member in members:
            member.schema_ = first


def predict_member(member: Any, X: Any, needs: Needs, classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return class codes, probabilities or values predicted by any fitted estimator."""
    if needs == "values" or classes is None:
        return np.asarray(member.predict(X), np.float64)
    if needs == "classes":
        return np.asarray(np.searchsorted(classes, member.predict(X)))
    if is_regressor(member):
        return _as_probabilities(np.asarray(member.predict(X), np.float64))
    if not hasattr(member, "predict_proba"):
        raise InputError(
            f"The member {type(member).__name__} does not predict probabilities, which this algorithm needs",
            fix='Use algorithm="samme".',
        )
    return _aligned(member.predict_proba(X), member.classes_, classes)


def _predict_tree(
    member: Any, table: Table, needs: Needs, classes: NDArray[Any] | None, n_threads: int
) -> NDArray[Any]:
    if needs == "classes" and classes is not None and len(member.classes_) == len(classes):
        codes: NDArray[Any] = member.predictor_.classes(table, n_threads)
        return codes
    return read_values(member, member.predictor_.value(table, n_threads)[:, 0], needs, classes)


def read_values(
    member: Any, value: NDArray[np.float64], needs: Needs, classes: NDArray[Any] | None
) -> NDArray[Any]:
    """Return the predictions of rows that end in nodes with the given values (n, width)."""
    if is_regressor(member) or classes is None:
        return _as_probabilities(value[:, 0]) if needs == "probabilities" else value[:, 0]
    proportions = _aligned(value, member.classes_, classes)
    return proportions.argmax(axis=1) if needs == "classes" else proportions


def _aligned(proba: NDArray[np.float64], known: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return probabilities with a column for every class, 0 for classes that the member has not seen."""
    if len(known) == len(classes):
        return np.asarray(proba, np.float64)
    full = np.zeros((len(proba), len(classes)))
    full[:, np.searchsorted(classes, known)] = proba
    return full


def _as_probabilities(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of −1 and +1 whose mean is the given value.  -> (n, 2)"""
    return np.stack([(1 - values) / 2, (1 + values) / 2], axis=1)


# ---- stumps ----


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
        schema: Schema = members[0].schema_
        trees: list[TreeArrays] = [one.tree_ for one in members]
        base, added = (
            zero_scores(1, algorithm.n_classes).ravel(),
            _contributions(members, weights, algorithm, classes),
        )
        sizes = np.array([tree.node_count for tree in trees])
        root = np.cumsum(sizes) - sizes
        base += added[root[sizes == 1]].sum(axis=0)
        split = np.flatnonzero(sizes > 1)
        feature, missing, threshold = (
            np.array([getattr(trees[t], name)[0] for t in split])
            for name in ("feature", "missing", "threshold")
        )
        both = added[root[split, None] + [1, 2]]
        tables = []
        for f in np.unique(feature).tolist():
            (of,) = np.nonzero(feature == f)
            at_missing = both[of, missing[of]].sum(axis=0)
            if schema.features[f].kind == "categorical":
                n_categories = len(schema.features[f].categories or ())
                first = np.array([trees[split[t]].goes_first(0, n_categories) for t in of])
                sums = np.where(first[:, :, None], both[of, :1], both[of, 1:]).sum(axis=0)
                tables.append((f, True, np.empty(0), np.vstack([sums, at_missing])))
            else:
                thresholds, sums = _sums_between(threshold[of], both[of])
                tables.append((f, False, thresholds, np.vstack([sums, at_missing])))
        return cls(schema, members[0].unseen, base, tables)

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


def _contributions(
    members: Sequence[Any], weights: Floats, algorithm: Algorithm, classes: NDArray[Any]
) -> Floats:
    """Return what each node of the stumps adds to the score.  -> (n_nodes, width)"""
    values = [member.tree_.value[:, 0] for member in members]
    kinds = {(type(member), id(vars(member).get("classes_"))) for member in members}
    if len(kinds) == 1:
        output = read_values(members[0], np.concatenate(values), algorithm.needs, classes)
    else:
        output = np.concatenate(
            [
                read_values(member, value, algorithm.needs, classes)
                for member, value in zip(members, values, strict=True)
            ]
        )
    weight = np.repeat(weights, [len(value) for value in values])
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


# ---- model files: trees that share a schema are stored as one ensemble ----

_PARTS = ("template", "random_states", "schema", "trees", "classes", "max_features")


def pack_members(members: Sequence[Any]) -> dict[str, Any] | None:
    """Return trees that share schema and parameters as one ensemble; None if they do not.

    >>> pack_members([object()]) is None
    True
    """
    if not shares_schema(members):
        return None
    first = members[0]
    same = [_common_state(member) for member in members]
    if any(one != same[0] for one in same) or first.ccp_alpha_ or hasattr(first, "ledger_"):
        return None
    return {
        "template": clone(first).set_params(random_state=None),
        "random_states": [member.random_state for member in members],
        "schema": first.schema_.to_state(),
        "trees": TreeEnsemble.from_trees(member.tree_ for member in members),
        "classes": getattr(first, "classes_", None),
        "max_features": first.max_features_,
    }


def _common_state(member: Any) -> tuple[Any, ...]:
    """Return everything but the seed and the tree, which members packed together must have in common."""
    classes = getattr(member, "classes_", None)
    labels = None if classes is None else (classes.tolist(), str(classes.dtype))
    params = {**member.get_params(deep=False), "random_state": None}
    return (
        type(member),
        repr(params),
        labels,
        member.max_features_,
        member.ccp_alpha_,
        member.tree_.value.shape[1:],
    )


def unpack_members(packed: Any) -> list[Any]:
    """Return the members from unchecked packed data."""
    if isinstance(packed, Mapping):  # files of version 0.1 call the template a pattern
        packed = {"template" if name == "pattern" else name: part for name, part in packed.items()}
    require(isinstance(packed, dict) and set(packed) == set(_PARTS), "its members are not packed trees")
    template, seeds, trees = packed["template"], packed["random_states"], packed["trees"]
    require(isinstance(template, BaseTree) and isinstance(trees, TreeEnsemble), "its members are not trees")
    schema = Schema.from_state(packed["schema"])
    trees.validate([len(feature.categories) for feature in schema.features])
    require(type(seeds) is list and len(seeds) == len(trees), "not every member has its random_state")
    classes, max_features = packed["classes"], packed["max_features"]
    require(type(max_features) is int and max_features >= 1, "max_features is not a positive integer")
    check_tree_classes(classes, trees, "classification" if is_classifier(template) else "regression")
    require(trees.n_outputs == 1, "the trees have several outputs")
    params = template.get_params(deep=False)
    members = [
        type(template)(**params | {"random_state": seed}).set_tree(
            tree, schema, classes, max_features=max_features
        )
        for seed, tree in zip(seeds, trees.trees(), strict=True)
    ]
    members[0]._check_state()  # the others have the same parameters
    return members


# ---- stumps of the core ----


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
