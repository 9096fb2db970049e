"""Members of AdaBoost in a model file: trees that share a schema are stored as one ensemble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from spinney.adaboost.members import shares_schema
from spinney.data.schema import Schema
from spinney.io import require
from spinney.tree.ensemble import TreeEnsemble
from spinney.trees.base import BaseTree

_PARTS = ("pattern", "random_states", "schema", "trees", "classes", "max_features")


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
        "pattern": clone(first).set_params(random_state=None),
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
    require(isinstance(packed, Mapping) and set(packed) == set(_PARTS), "its members are not packed trees")
    template, seeds, trees = packed["pattern"], packed["random_states"], packed["trees"]
    require(isinstance(template, BaseTree) and isinstance(trees, TreeEnsemble), "its members are not trees")
    schema = Schema.from_state(packed["schema"])
    trees.validate([len(feature.categories) for feature in schema.features])
    require(type(seeds) is list and len(seeds) == len(trees), "not every member has its random_state")
    classes, max_features = packed["classes"], packed["max_features"]
    require(type(max_features) is int and max_features >= 1, "max_features is not a positive integer")
    if is_classifier(template):
        valid = (
            isinstance(classes, np.ndarray)
            and classes.ndim == 1
            and len(set(classes.tolist())) == trees.width
        )
        require(valid and len(classes) == trees.width, "the trees have other classes than are named")
    else:
        require(classes is None and trees.width == 1, "a regression tree has classes")
    require(trees.n_outputs == 1, "the trees have several outputs")
    params = template.get_params(deep=False)
    return [
        type(template)(**params | {"random_state": seed}).set_tree(
            tree, schema, classes, max_features=max_features
        )
        for seed, tree in zip(seeds, trees.trees(), strict=True)
    ]
