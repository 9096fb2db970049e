"""What a tree is fitted to, and what it leaves in a file, checked part against part when it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import ModelFileError
from spinney.core.ledger import CandidateLedger
from spinney.data.schema import Schema
from spinney.data.table import Table
from spinney.tree.target import Target
from spinney.tree.tree_arrays import TreeArrays

_NEEDED = {"schema_", "tree_", "max_features_", "ccp_alpha_"}


class NoLedger:
    """Say how to get a ledger where a tree has none; one that was kept hides this attribute of the class."""

    def __get__(self, tree: Any, owner: type) -> Any:
        """Raise AttributeError, which hasattr takes as no."""
        if tree is None:
            return self
        fit = "fit it again" if hasattr(tree, "tree_") else "fit it"
        raise AttributeError(
            f"This {owner.__name__} has no ledger_. Set ledger=True (or 'thresholds') and {fit}.",
            name="ledger_",
            obj=tree,
        )


@dataclass(frozen=True)
class Problem:
    """Hold a table, its targets y (n_rows, n_outputs) as codes or numbers, row weights, seed and threads.

    ``classes`` has the classes of each output, none in regression.
    """

    table: Table
    y: NDArray[Any]
    classes: tuple[NDArray[Any], ...]
    weights: NDArray[np.float64] | None
    seed: int
    n_threads: int

    @property
    def n_classes(self) -> tuple[int, ...]:
        """Count the classes of each output."""
        return tuple(map(len, self.classes))

    @property
    def class_labels(self) -> Any:
        """Give the classes as estimators have them: of several outputs a list, in regression None."""
        if not self.classes:
            return None
        return self.classes[0] if len(self.classes) == 1 else list(self.classes)

    @property
    def n_used(self) -> int:
        """Count the rows with weight."""
        return self.table.n_rows if self.weights is None else int(np.count_nonzero(self.weights))

    @property
    def full_weights(self) -> NDArray[np.float64]:
        """Give the row weights, 1 where none were given.  (n_rows,)"""
        return np.ones(self.table.n_rows) if self.weights is None else self.weights

    @property
    def strata(self) -> NDArray[np.int32] | None:
        """Give what held-out rows are to represent evenly: the classes, if there is one output."""
        return self.y[:, 0] if len(self.classes) == 1 else None

    def with_missing(self, has_missing: Sequence[bool]) -> Problem:
        """Give the problem whose schema tells which features have missing values."""
        schema = self.table.schema.with_missing(has_missing)
        return replace(self, table=self.table.with_schema(schema))

    def target(self, weights: NDArray[np.float64] | None) -> Target:
        """Give the target as the growers take it."""
        if self.classes:
            return Target(classes=self.y, n_classes=self.n_classes, weights=weights)
        return Target(values=self.y, weights=weights)


def write_fitted(state: dict[str, Any]) -> dict[str, Any]:
    """Turn the fitted objects in an estimator's state into plain data."""
    fitted = dict(state["fitted"])
    for name in {"schema_", "tree_", "ledger_"} & fitted.keys():
        fitted[name] = fitted[name].to_state()
    return {**state, "fitted": fitted}


def read_fitted(state: dict[str, Any], task: str) -> dict[str, Any]:
    """Turn plain data that nobody has checked into fitted objects; ModelFileError where they do not agree."""
    fitted = state.get("fitted")
    if type(fitted) is not dict or not fitted:
        return state
    if not fitted.keys() >= _NEEDED:
        _damaged(f"of the fitted attributes it lacks {', '.join(sorted(_NEEDED - fitted.keys()))}")
    schema = Schema.from_state(fitted["schema_"])
    _require(isinstance(fitted["tree_"], Mapping), "tree_ is no set of arrays")
    tree = TreeArrays.from_state(fitted["tree_"], [len(feature.categories) for feature in schema.features])
    _require(tree.n_features == schema.n_features, "the tree and the schema differ in the number of features")
    tried, alpha = fitted["max_features_"], fitted["ccp_alpha_"]
    _require(type(tried) is int and tried >= 1, "max_features_ is no count")
    _require(type(alpha) is float and 0 <= alpha < np.inf, "ccp_alpha_ is no number of at least 0")
    _check_classes(fitted.get("classes_"), tree, task)
    restored = {**fitted, "schema_": schema, "tree_": tree}
    if "ledger_" in fitted:
        _require(isinstance(fitted["ledger_"], Mapping), "ledger_ is no set of columns")
        restored["ledger_"] = ledger = CandidateLedger.from_state(fitted["ledger_"])
        _require(ledger.feature_names == schema.names, "the ledger names other features than the schema")
        inside = len(ledger) == 0 or (ledger.node.min() >= 0 and ledger.node.max() < tree.node_count)
        _require(bool(inside), "the ledger speaks of nodes that the tree does not have")
    return {**state, "fitted": restored}


def _check_classes(classes: Any, tree: TreeArrays, task: str) -> None:
    if task == "regression":
        _require(classes is None and tree.max_n_classes == 1, "a regression tree has classes")
        return
    several = type(classes) is list
    outputs = classes if several else [classes]
    _require(several == (tree.n_outputs > 1), "the tree and the classes differ in the number of outputs")
    _require(len(outputs) == tree.n_outputs, "the tree and the classes differ in the number of outputs")
    for labels in outputs:
        valid = isinstance(labels, np.ndarray) and labels.ndim == 1 and len(labels) >= 1
        _require(valid, "the classes of an output are no list of labels")
        distinct = len(set(labels.tolist())) == len(labels)
        _require(distinct, "a class is listed twice")
    _require(max(map(len, outputs)) == tree.max_n_classes, "the tree has other classes than are named")


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        _damaged(otherwise)


def _damaged(reason: str) -> None:
    raise ModelFileError(f"The tree in the model file is damaged: {reason}.", fix="Save the model again.")
