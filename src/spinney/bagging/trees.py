"""Spinney's own trees as members: fitted to one coded table, and merged into one predictor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.bagging.fitting import takes_all
from spinney.bagging.sampling import BootstrapSamples
from spinney.core.parameters import draw_seed, thread_count
from spinney.data.columns import default_names
from spinney.data.features import Feature
from spinney.data.schema import Schema, Table
from spinney.data.target import same_classes
from spinney.data.training_set import TrainingSet
from spinney.data.weights import apply_class_weights
from spinney.members.base_estimators import has_own_methods
from spinney.members.fitting import run_jobs
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.grower import Grower
from spinney.tree.predictor import Predictor
from spinney.tree.tree_arrays import TreeArrays
from spinney.tree.tree_sum import TreeSum, value_sum
from spinney.trees.base import BaseTree
from spinney.trees.pruning import ValidationRows

# The value of features that a dict by name leaves out.
_DEFAULTS = {"feature_costs": 1.0, "monotonic_cst": 0}
Columns = Sequence[NDArray[np.int64]]


def is_own_tree(estimator: Any) -> bool:
    """Return True for one of Spinney's trees, unless a subclass has overridden one of its methods.

    >>> from spinney import C45Classifier
    >>> is_own_tree(C45Classifier())
    True
    """
    return isinstance(estimator, BaseTree) and has_own_methods(estimator)


# ---- fitting ----


@dataclass(frozen=True)
class SharedTrainingSet:
    """A coded training set and the grower on its codes, which members share."""

    training: TrainingSet
    grower: Grower

    def select(self, columns: NDArray[np.int64]) -> SharedTrainingSet:
        """Return the training set of some columns; nothing is coded again."""
        if takes_all(columns, self.training.table.n_features):
            return self
        training = self.training.select(columns.tolist())
        return SharedTrainingSet(training, Grower(training.codes))


class SharedTrainingSets:
    """One coded training set for all trees whose parameters lead to the same codes.

    >>> from spinney import DecisionTreeClassifier
    >>> sets = SharedTrainingSets([[0.0], [1.0]], np.array([0, 1]), None, n_threads=1)
    >>> sets.of(DecisionTreeClassifier()) is sets.of(DecisionTreeClassifier(max_depth=2))
    True
    """

    def __init__(self, X: Any, y: NDArray[Any], weights: NDArray[np.float64] | None, n_threads: int) -> None:
        self._rows, self._n_threads = (X, y, weights), n_threads
        self._known: dict[tuple[Any, ...], SharedTrainingSet] = {}

    def of(self, tree: BaseTree) -> SharedTrainingSet:
        """Return the training set of a tree."""
        # The criterion is part of the key because some check the targets in another way, and so is how ID3
        # reads numbers.
        names = ("criterion", "numeric_split")
        key = (tree.max_bins, repr(tree.categorical_features), *(getattr(tree, name, None) for name in names))
        if key not in self._known:
            training = tree.read_training_set(*self._rows, n_threads=self._n_threads).coded(tree.max_bins)
            self._known[key] = SharedTrainingSet(training, Grower(training.codes))
        return self._known[key]


def fit_trees(
    trees: Sequence[BaseTree],
    numbers: Sequence[int],
    training_sets: SharedTrainingSets,
    samples: BootstrapSamples,
    oob_pruning: bool,
    n_jobs: int | None,
    title: str | None = None,
) -> list[BaseTree]:
    """Fit each tree to the sample of its number; ``oob_pruning`` prunes it by its out-of-bag rows.

    A title shows a progress bar.
    """
    jobs = [
        (tree, training_sets.of(tree), samples, t, oob_pruning)
        for tree, t in zip(trees, numbers, strict=True)
    ]
    return run_jobs(_fit_tree, jobs, n_jobs, title)


def _fit_tree(
    tree: BaseTree, shared: SharedTrainingSet, samples: BootstrapSamples, t: int, oob_pruning: bool
) -> BaseTree:
    columns = samples.columns(t)
    if not samples.all_columns:
        select_parameters(tree, columns, shared.training.table.schema.names)
    shared = shared.select(columns)
    labels = shared.training.labels
    assert labels is not None
    training = replace(
        shared.training,
        weights=apply_class_weights(samples.member_weights(t), tree.class_weight, labels),
        seed=draw_seed(tree.random_state),
        n_threads=thread_count(tree.n_jobs),
    )
    validation = _out_of_bag_validation(tree, training, samples, t) if oob_pruning else None
    return tree.fit_training_set(training, validation, shared.grower)


def _out_of_bag_validation(
    tree: BaseTree, training: TrainingSet, samples: BootstrapSamples, t: int
) -> ValidationRows | None:
    """Return the rows to prune a tree by, None if it has no out-of-bag rows; set its ``pruning``."""
    rows = samples.out_of_bag_rows(t)
    tree.set_params(pruning="reduced-error" if len(rows) else None)
    if not len(rows):
        return None
    weights = np.zeros(samples.n_rows)
    weights[rows] = 1.0 if samples.weights is None else samples.weights[rows]
    return tree.weigh_validation_rows(ValidationRows(training.table, training.y, weights), training)


def select_parameters(tree: BaseTree, columns: NDArray[np.int64], names: Sequence[str]) -> None:
    """Restrict ``categorical_features``, ``feature_costs`` and ``monotonic_cst`` to the columns of a sample.

    names are those of all columns. Values that are wrong for the table are left as they are, for the tree to
    report.

    >>> from spinney import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier(feature_costs={"b": 3.0}, categorical_features=["a", "c"])
    >>> select_parameters(tree, np.array([1, 2]), ["a", "b", "c"])
    >>> tree.feature_costs, tree.categorical_features
    ([3.0, 1.0], [1])
    """
    selected: dict[str, Any] = {}
    for name, default in _DEFAULTS.items():
        given = getattr(tree, name, None)
        if isinstance(given, Mapping) and set(given) <= set(names):
            selected[name] = [given.get(names[j], default) for j in columns]
        elif given is not None and not isinstance(given, Mapping | str) and len(given) == len(names):
            selected[name] = [given[j] for j in columns]
    categorical = _positions(tree.categorical_features, names)
    if categorical is not None:
        selected["categorical_features"] = [i for i, j in enumerate(columns.tolist()) if j in categorical]
    tree.set_params(**selected)


def _positions(chosen: Any, names: Sequence[str]) -> set[int] | None:
    """Return the positions of ``categorical_features``, None if it lists none or is not valid."""
    if chosen is None or isinstance(chosen, str):
        return None
    items = np.asarray(list(chosen), dtype=object).tolist()
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        return {j for j, item in enumerate(items) if item} if len(items) == len(names) else None
    position_of: dict[Any, int] = {j: j for j in range(len(names))} | {n: j for j, n in enumerate(names)}
    return {position_of[item] for item in items} if all(item in position_of for item in items) else None


# ---- prediction ----


@dataclass(frozen=True, eq=False)
class MergedTrees:
    """The trees of all members as one predictor of the whole table."""

    schema: Schema
    unseen: Any
    trees: TreeEnsemble
    predictor: Predictor

    def mean(self, X: Any, owner: str, n_jobs: int | None) -> NDArray[np.float64]:
        """Return the mean value of the trees.  -> (n_rows, n_outputs, width)"""
        table = self.schema.read(X, self.unseen, owner)
        return self.predictor.mean(table, thread_count(n_jobs))

    def tree_sum(self, owner: str, classes: Any, n_jobs: int | None, *, votes: bool) -> TreeSum:
        """Return the trees as a sum, as explanations read it; votes: of one vote per tree."""

        def read(X: Any) -> Table:
            return self.schema.read(X, self.unseen, owner)

        return value_sum(self.trees, self.schema, read, classes, n_jobs=n_jobs, votes=votes)


def merge_trees(members: list[Any], features: Columns, n_columns: int, classes: Any) -> MergedTrees | None:
    """Merge the members; None unless all are trees that read the table in the same way and know all classes.

    ``classes`` are the ``classes_`` of the ensemble, None in regression.
    """
    if not all(map(is_own_tree, members)):
        return None
    first = members[0]
    can_merge = all(
        type(member) is type(first)
        and member.unseen == first.unseen
        and same_classes(vars(member).get("classes_"), classes)
        for member in members
    )
    schema = _whole_schema(members, features, n_columns) if can_merge else None
    if schema is None:
        return None
    trees = TreeEnsemble.from_trees(
        _renumber_features(member.tree_, columns, n_columns)
        for member, columns in zip(members, features, strict=True)
    )
    return MergedTrees(schema, first.unseen, trees, Predictor(trees))


def _whole_schema(members: list[Any], features: Columns, n_columns: int) -> Schema | None:
    """Return the schema of the whole table, None if members disagree or no member has some column."""
    has_names = members[0].schema_.has_names
    found: dict[int, Feature] = {}
    for member, columns in zip(members, features, strict=True):
        for j, feature in zip(columns.tolist(), member.schema_.features, strict=True):
            # The first copy of a column has its name; which columns have missing values differs by sample.
            known = found.setdefault(j, replace(feature, has_missing=False))
            if replace(feature, name=known.name, has_missing=False) != known:
                return None
    if len(found) < n_columns:
        return None
    names = [found[j].name for j in range(n_columns)] if has_names else default_names(n_columns)
    return Schema(tuple(replace(found[j], name=name) for j, name in enumerate(names)), has_names)


def _renumber_features(tree: TreeArrays, columns: NDArray[np.int64], n_columns: int) -> TreeArrays:
    """Return a tree over the columns of the whole table instead of those of its sample."""
    if takes_all(columns, n_columns):
        return tree
    of_table = columns.astype(np.int32)
    return replace(
        tree,
        feature=np.where(tree.feature >= 0, of_table[np.maximum(tree.feature, 0)], tree.feature),
        term_feature=of_table[tree.term_feature],
        n_features=n_columns,
    )
