"""Trees in model files: what a file describes, checked part against part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spinney.core.ledger import CandidateLedger
from spinney.data.schema import Schema
from spinney.data.training_set import Task
from spinney.io.errors import require
from spinney.members.tables import check_classes
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.tree_arrays import TreeArrays


def unpack_tree(fitted: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``tree_`` and ``ledger_`` made of unchecked plain data; ``schema_`` is a Schema already."""
    schema: Schema = fitted["schema_"]
    require(isinstance(fitted["tree_"], Mapping), "tree_ is not a set of arrays")
    n_categories = [len(feature.categories) for feature in schema.features]
    parts: dict[str, Any] = {"tree_": TreeArrays.from_state(fitted["tree_"], n_categories)}
    if "ledger_" in fitted:
        require(isinstance(fitted["ledger_"], Mapping), "ledger_ is not a set of columns")
        parts["ledger_"] = CandidateLedger.from_state(fitted["ledger_"])
    return parts


def check_tree(fitted: Mapping[str, Any], task: Task) -> None:
    """Raise CorruptModelFile unless the fitted attributes of a tree agree with each other."""
    schema: Schema = fitted["schema_"]
    tree: TreeArrays = fitted["tree_"]
    require(
        tree.n_features == schema.n_features, "the tree and the schema have different numbers of features"
    )
    max_features, alpha = fitted["max_features_"], fitted["ccp_alpha_"]
    require(type(max_features) is int and max_features >= 1, "max_features_ is not a count")
    require(type(alpha) is float and 0 <= alpha < np.inf, "ccp_alpha_ is not a number of at least 0")
    check_tree_classes(fitted.get("classes_"), tree, task)
    ledger: CandidateLedger | None = fitted.get("ledger_")
    if ledger is not None:
        require(ledger.feature_names == schema.names, "the ledger and the schema name different features")
        inside = len(ledger) == 0 or (ledger.node.min() >= 0 and ledger.node.max() < tree.node_count)
        require(inside, "the ledger has candidates of nodes that are not in the tree")


def check_tree_classes(classes: Any, trees: TreeArrays | TreeEnsemble, task: Task) -> list[Any] | None:
    """Return the unchecked classes of every output, which must match the values of the trees.

    None in regression.
    """
    _, n_outputs, width = trees.value.shape
    if task == "regression":
        require(classes is None and width == 1, "a regression tree has classes")
        return None
    outputs = check_classes(classes)
    valid = (type(classes) is list) == (n_outputs > 1) and len(outputs) == n_outputs
    require(valid, "the trees and the classes have different numbers of outputs")
    require(max(map(len, outputs)) == width, "the trees and their classes differ in number")
    for output, labels in enumerate(outputs):
        beyond = trees.value[:, output, len(labels) :]
        require(not beyond.any(), f"output {output} has values of more classes than it has labels")
    return outputs
