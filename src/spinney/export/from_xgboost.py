"""XGBoost's JSON as trees of Spinney."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np

from spinney.core.errors import InputError
from spinney.export.foreign_trees import ForeignNode, ForeignSchema, below_single, build_tree
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.tree_arrays import TreeArrays

_IDENTITY = (
    "reg:squarederror",
    "reg:pseudohubererror",
    "reg:absoluteerror",
    "reg:quantileerror",
    "reg:squaredlogerror",
    "rank:ndcg",
    "rank:map",
    "rank:pairwise",
)
_LOGISTIC = ("binary:logistic", "reg:logistic", "binary:logitraw")
_EXPONENTIAL = ("count:poisson", "reg:gamma", "reg:tweedie")
_MULTI = ("multi:softprob", "multi:softmax")


def read_xgboost(content: dict[str, Any]) -> dict[str, Any]:
    """Return the fitted attributes of a model in XGBoost's JSON format.

    Parameters
    ----------
    content : dict
        The parsed text of ``Booster.save_raw("json")``.

    Returns
    -------
    dict
        Fitted attributes of an imported model.

    Raises
    ------
    InputError
        If the content has something that Spinney's trees cannot express.
    """
    learner = content["learner"]
    booster, param = learner["gradient_booster"], learner["learner_model_param"]
    if booster["name"] != "gbtree":
        raise InputError(f"XGBoost's booster {booster['name']!r} cannot be imported", fix='Use "gbtree".')
    if int(param.get("num_target", 1)) > 1:
        raise InputError("XGBoost models of several targets cannot be imported.")
    model, n_features = booster["model"], int(param["num_feature"])
    n_scores = max(int(param["num_class"]), 1)
    categories = _categories(learner, model, n_features)
    by_score: list[list[TreeArrays]] = [[] for _ in range(n_scores)]
    for group, tree in zip(model["tree_info"], model["trees"], strict=True):
        by_score[group].append(build_tree(_nodes(tree, categories), n_features))
    # Sums are per score, so that only the order of its own trees matters.
    trees = [tree for round_ in zip(*by_score, strict=True) for tree in round_]
    if not trees:
        raise InputError("The XGBoost model has no trees.")
    objective = learner["objective"]["name"]
    names = learner.get("feature_names") or None
    return {
        "schema_": ForeignSchema(n_features, names, categories).build(),
        "ensemble_": TreeEnsemble.from_trees(trees),
        "base_score_": _base_score(param["base_score"], objective, n_scores),
        "per_round_": True,
        "divisor_": 1.0,
        "precision_": "float32",
        "origin_": "xgboost",
        "link_factor_": 1.0,
        **_objective(objective, n_scores),
    }


def _objective(name: str, n_scores: int) -> dict[str, Any]:
    if name in _IDENTITY:
        return {"link_": "identity"}
    if name in _EXPONENTIAL:
        return {"link_": "exp"}
    if name in _MULTI:
        return {"link_": "softmax", "classes_": np.arange(n_scores)}
    if name in _LOGISTIC:
        return {"link_": "sigmoid"} | ({} if name == "reg:logistic" else {"classes_": np.arange(2)})
    raise InputError(f"XGBoost's objective {name!r} cannot be imported.")


def _base_score(text: str, objective: str, n_scores: int) -> Any:
    """Return the initial scores, converted from means in float32 as XGBoost does."""
    numbers = json.loads(text) if text.startswith("[") else [float(text)]
    mean = np.array(numbers, np.float32)
    if objective in _LOGISTIC:
        mean = -np.log(np.float32(1.0) / mean - np.float32(1.0))
    elif objective in _EXPONENTIAL:
        mean = np.log(mean)
    return np.broadcast_to(mean.astype(np.float64), n_scores).copy()


def _categories(learner: dict[str, Any], model: dict[str, Any], n_features: int) -> dict[int, list[Any]]:
    """Return the categories of features: those of the data frame, or the integers up to the largest."""
    kinds = learner.get("feature_types") or []
    found: dict[int, list[Any]] = {j: [] for j, kind in enumerate(kinds) if kind == "c"}
    for tree in model["trees"]:
        for j, kind in zip(tree["split_indices"], tree["split_type"], strict=True):
            if kind == 1:
                found.setdefault(j, [])
    encodings = (model.get("cats") or {}).get("enc") or []
    for j in found:
        values = _encoded(encodings[j]) if j < len(encodings) else []
        found[j] = values or list(range(_largest(model["trees"], j) + 1))
    return found


def _encoded(encoding: dict[str, Any]) -> list[Any]:
    values = encoding.get("values", [])
    if "offsets" not in encoding:
        return list(values)
    data, offsets = bytes(value & 255 for value in values), encoding["offsets"]
    return [data[begin:end].decode() for begin, end in pairwise(offsets)]


def _largest(trees: list[dict[str, Any]], feature: int) -> int:
    """Return the largest category that a split of a feature names."""
    largest = 0
    for tree in trees:
        parts = zip(
            tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
        )
        for node, begin, size in parts:
            if tree["split_indices"][node] == feature and size:
                largest = max(largest, *tree["categories"][begin : begin + size])
    return largest


def _nodes(tree: dict[str, Any], categories: dict[int, list[Any]]) -> list[ForeignNode]:
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise InputError("XGBoost's trees with vectors in their leaves cannot be imported.")
    sets = {
        node: set(tree["categories"][begin : begin + size])
        for node, begin, size in zip(
            tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
        )
    }
    conditions = np.array(tree["split_conditions"], np.float32)
    thresholds = below_single(conditions)
    nodes = []
    for i, (left, right) in enumerate(zip(tree["left_children"], tree["right_children"], strict=True)):
        node = ForeignNode(left, right, weight=float(tree["sum_hessian"][i]))
        if left < 0:
            node.value = float(conditions[i])
        else:
            node.feature, node.missing_left = tree["split_indices"][i], bool(tree["default_left"][i])
            node.threshold, node.gain = float(thresholds[i]), float(tree["loss_changes"][i])
            node.value = float(np.float32(tree["base_weights"][i]))
            if tree["split_type"][i] == 1:  # categories of the set go right
                known = range(len(categories[node.feature]))
                node.categories = [code for code in known if code not in sets[i]]
        nodes.append(node)
    return nodes
