"""The members of AdaBoost in a model file: trees of one table side by side, with one schema for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from spinney.adaboost.members import shares_schema
from spinney.data.schema import Schema
from spinney.io import CorruptModelFile
from spinney.tree.ensemble import TreeEnsemble
from spinney.trees.base import BaseTree

_PARTS = ("pattern", "random_states", "schema", "trees", "classes", "max_features")


def pack_members(members: Sequence[Any]) -> dict[str, Any] | None:
    """Describe trees that share a schema and differ in nothing but what they learned; None if they do not.

    >>> pack_members([object()]) is None
    True
    """
    if not shares_schema(members):
        return None
    first = members[0]
    alike = [_alike(member) for member in members]
    if any(one != alike[0] for one in alike) or first.ccp_alpha_ or hasattr(first, "ledger_"):
        return None
    return {
        "pattern": clone(first).set_params(random_state=None),
        "random_states": [member.random_state for member in members],
        "schema": first.schema_.to_state(),
        "trees": TreeEnsemble.from_trees(member.tree_ for member in members),
        "classes": getattr(first, "classes_", None),
        "max_features": first.max_features_,
    }


def _alike(member: Any) -> tuple[Any, ...]:
    """Give all that members packed together must have in common, the seed apart."""
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
    """Make the members again from a description that nobody has checked."""
    require(isinstance(packed, Mapping) and set(packed) == set(_PARTS), "its members are not described")
    pattern, seeds, trees, classes = (
        packed[part] for part in ("pattern", "random_states", "trees", "classes")
    )
    require(isinstance(pattern, BaseTree) and isinstance(trees, TreeEnsemble), "its members are no trees")
    schema = Schema.from_state(packed["schema"])
    trees.validate([len(feature.categories) for feature in schema.features])
    require(type(seeds) is list and len(seeds) == len(trees), "not every member has its random_state")
    classes, tried = packed["classes"], packed["max_features"]
    require(type(tried) is int and tried >= 1, "max_features is no count")
    if pattern._task == "classification":
        sound = (
            isinstance(classes, np.ndarray)
            and classes.ndim == 1
            and len(set(classes.tolist())) == trees.width
        )
        require(sound and len(classes) == trees.width, "the trees have other classes than are named")
    else:
        require(classes is None and trees.width == 1, "a regression tree has classes")
    require(trees.n_outputs == 1, "the trees have several outputs")
    params = pattern.get_params(deep=False)
    return [
        type(pattern)(**params | {"random_state": seed}).set_tree(tree, schema, classes, max_features=tried)
        for seed, tree in zip(seeds, trees.trees(), strict=True)
    ]


def require(condition: bool, otherwise: str) -> None:
    """Raise CorruptModelFile unless the condition holds."""
    if not condition:
        raise CorruptModelFile(f"The AdaBoost ensemble in the file is damaged: {otherwise}.")
