"""LightGBM's model text as trees of Spinney."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from spinney.core.errors import InputError
from spinney.export.foreign_trees import ForeignNode, ForeignSchema, build_tree
from spinney.tree.ensemble import TreeEnsemble

_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_ZERO = float(np.float32(1e-35))
_MISSING_TYPES = ("None", "Zero", "NaN")
_IDENTITY = ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg")
_EXPONENTIAL = ("poisson", "gamma", "tweedie")


def read_lightgbm(text: str) -> dict[str, Any]:
    """Return the fitted attributes of a model in LightGBM's text format.

    Parameters
    ----------
    text : str
        What ``Booster.model_to_string`` returns.

    Returns
    -------
    dict
        Fitted attributes of an imported model.

    Raises
    ------
    InputError
        If the text is not a model, or has something that Spinney's trees cannot express.
    """
    header, *blocks = text.split("\nTree=")
    fields = _fields(header)
    if "num_tree_per_iteration" not in fields or not blocks:
        raise InputError("This is not the text of a LightGBM model with trees.")
    n_features, n_scores = int(fields["max_feature_idx"]) + 1, int(fields["num_tree_per_iteration"])
    parsed = [_fields(block) for block in blocks]
    categories = _categories(text, fields, parsed)
    trees = [build_tree(_nodes(one, categories), n_features) for one in parsed]
    schema = ForeignSchema(n_features, fields["feature_names"].split(" "), categories)
    if schema.names == [f"Column_{j}" for j in range(n_features)]:
        schema.names = None  # LightGBM's own names for columns without any
    averaged = "average_output" in header.split("\n")
    return {
        "schema_": schema.build(),
        "ensemble_": TreeEnsemble.from_trees(trees),
        "base_score_": np.zeros(n_scores),
        "per_round_": True,
        "divisor_": len(trees) / n_scores if averaged else 1.0,
        "precision_": "float64",
        "origin_": "lightgbm",
        **_objective(fields.get("objective", "")),
    }


def _fields(block: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in block.split("\n") if "=" in line)


def _objective(objective: str) -> dict[str, Any]:
    """Return link and classes of an objective."""
    name, *options = objective.split(" ")
    values = dict(option.split(":", 1) for option in options if ":" in option)
    if "sqrt" in options:
        raise InputError("LightGBM's reg_sqrt cannot be imported", fix="Train without it.")
    link: dict[str, Any] = {"link_": "identity", "link_factor_": 1.0}
    if name in ("binary", "multiclassova"):
        link["link_"] = "sigmoid" if name == "binary" else "normalize"
        link["link_factor_"] = float(values.get("sigmoid", 1.0))
    elif name == "multiclass":
        link["link_"] = "softmax"
    elif name in _EXPONENTIAL:
        link["link_"] = "exp"
    elif name == "cross_entropy":
        link["link_"] = "sigmoid"
    elif name not in (*_IDENTITY, "", "custom"):
        raise InputError(f"LightGBM's objective {name!r} cannot be imported.")
    if name == "binary":
        link["classes_"] = np.arange(2)
    if name in ("multiclass", "multiclassova"):
        link["classes_"] = np.arange(int(values["num_class"]))
    return link


def _categories(text: str, fields: dict[str, str], trees: list[dict[str, str]]) -> dict[int, list[Any]]:
    """Return the categories of features: those of pandas, or the integers up to the largest one."""
    infos = fields.get("feature_infos", "").split(" ")
    used = [j for j, info in enumerate(infos) if ":" in info and not info.startswith("[")]
    listed: list[list[Any]] = []
    mark = "\npandas_categorical:"
    if mark in text:
        listed = json.loads(text[text.rindex(mark) + len(mark) :].strip() or "null") or []
    if len(listed) >= len(used) and listed:
        # pandas lists every categorical column; those that no split could use have "none" as their info.
        positions = used if len(listed) == len(used) else _all_categorical(infos, len(listed))
        return dict(zip(positions, listed, strict=True))
    largest = {j: max(int(value) for value in infos[j].split(":")) for j in used}
    for tree in trees:
        for feature, codes in _sets(tree):
            largest[feature] = max(largest.get(feature, 0), *codes)
    return {j: list(range(top + 1)) for j, top in largest.items()}


def _all_categorical(infos: list[str], n: int) -> list[int]:
    found = [j for j, info in enumerate(infos) if not info.startswith("[")]
    if len(found) != n:
        raise InputError(
            "The text does not tell which columns are pandas categories",
            fix="Train without categorical columns that are constant.",
        )
    return found


def _sets(tree: dict[str, str]) -> list[tuple[int, list[int]]]:
    """Return feature and codes of each categorical split of a tree, in the order of its sets."""
    if int(tree.get("num_cat", 0)) == 0:
        return []
    bounds = list(map(int, tree["cat_boundaries"].split()))
    words = list(map(int, tree["cat_threshold"].split()))
    kinds, features = tree["decision_type"].split(), tree["split_feature"].split()
    thresholds = tree["threshold"].split()
    found: dict[int, tuple[int, list[int]]] = {}
    for kind, feature, threshold in zip(kinds, features, thresholds, strict=True):
        if int(kind) & _CATEGORICAL:
            k = int(float(threshold))
            part = words[bounds[k] : bounds[k + 1]]
            codes = [32 * w + bit for w, word in enumerate(part) for bit in range(32) if word >> bit & 1]
            found[k] = (int(feature), codes)
    return [found[k] for k in sorted(found)]


def _nodes(tree: dict[str, str], categories: dict[int, list[Any]]) -> list[ForeignNode]:
    """Return the splits of a tree, then its leaves."""
    if tree.get("is_linear", "0").strip() != "0":
        raise InputError("LightGBM's linear_tree cannot be imported", fix="Train with linear_tree=False.")
    n_leaves = int(tree["num_leaves"])
    n_splits = n_leaves - 1
    values = list(map(float, tree["leaf_value"].split()))
    weights = list(map(float, tree.get("leaf_weight", "").split())) or [0.0] * n_leaves
    counts = list(map(int, tree.get("leaf_count", "").split())) or [0] * n_leaves
    leaves = [
        ForeignNode(value=v, weight=w, n_samples=c) for v, w, c in zip(values, weights, counts, strict=True)
    ]
    if n_splits == 0:
        return leaves
    names = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
    columns = [tree[name].split() for name in names]
    more = [tree[name].split() for name in ("internal_value", "internal_weight", "internal_count")]
    gains, sets = tree["split_gain"].split(), _sets(tree)
    nodes = []
    for i, (feature, threshold, kind, left, right) in enumerate(zip(*columns, strict=True)):
        node = _split(int(feature), float(threshold), int(kind), sets, categories)
        node.left, node.right = (
            int(child) if int(child) >= 0 else n_splits + ~int(child) for child in (left, right)
        )
        node.value, node.weight, node.n_samples = float(more[0][i]), float(more[1][i]), int(more[2][i])
        node.gain = float(gains[i])
        nodes.append(node)
    return nodes + leaves


def _split(
    feature: int, threshold: float, kind: int, sets: list[Any], categories: dict[int, list[Any]]
) -> ForeignNode:
    if kind & _CATEGORICAL:
        known = len(categories[feature])
        codes = [code for code in sets[int(threshold)][1] if code < known]
        # Missing and unknown categories are in no set and go right.
        return ForeignNode(feature=feature, categories=codes, missing_left=False)
    missing = _MISSING_TYPES[kind >> 2 & 3]
    if missing == "Zero":
        raise InputError("LightGBM's zero_as_missing cannot be imported", fix="Train without it.")
    # Without missing values in training, a missing value counts as 0.
    missing_left = bool(kind & _DEFAULT_LEFT) if missing == "NaN" else threshold >= 0
    if -_ZERO <= threshold < _ZERO:  # LightGBM takes numbers up to this size for 0
        threshold = _ZERO if threshold >= 0 else float(np.nextafter(-_ZERO, -1.0))
    return ForeignNode(feature=feature, threshold=threshold, missing_left=missing_left)
