"""Members of AdaBoost: fitting to weighted or drawn rows, and predictions.

Any estimator is cloned and fitted to the rows as they are. Spinney's CART trees share one coded table during
fit, and read a table once at predict time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor

from spinney.adaboost.algorithms import RowWeights
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
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.grower import Grower
from spinney.tree.tree_arrays import TreeArrays
from spinney.trees.base import BaseTree
from spinney.trees.cart import DecisionTreeClassifier, DecisionTreeRegressor
from spinney.trees.state import check_tree_classes

Floats = NDArray[np.float64]
Needs = Literal["classes", "probabilities", "values"]
Weights: TypeAlias = RowWeights | NDArray[np.int64]
"""Row weights, or how often each row was drawn."""
_PLAIN_TYPES = frozenset({int, float, str, bool, type(None)})
"""Types of parameters that never change."""


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

    def new_member(self) -> Any:
        """Return an unfitted member, which later changes of the base estimator do not change."""
        is_plain = _PLAIN_TYPES.issuperset(map(type, vars(self.estimator).values()))
        return copy(self.estimator) if is_plain else clone(self.estimator)

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
