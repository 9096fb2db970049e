"""CatBoost's JSON as trees of Spinney."""

from __future__ import annotations

from typing import Any

import numpy as np

from spinney.core.errors import InputError
from spinney.export.foreign_trees import ForeignNode, ForeignSchema, at_most_single, build_tree
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.tree_arrays import TreeArrays

_LOGISTIC = ("Logloss", "CrossEntropy")
_IDENTITY = frozenset(
    [
        "RMSE",
        "MAE",
        "Quantile",
        "MAPE",
        "Huber",
        "Lq",
        "Expectile",
        "LogLinQuantile",
        "MSLE",
        "QueryRMSE",
        "PairLogit",
        "YetiRank",
        "Cox",
    ]
)


def read_catboost(content: dict[str, Any]) -> dict[str, Any]:
    """Return the fitted attributes of a model in CatBoost's JSON format.

    Parameters
    ----------
    content : dict
        The parsed text of ``save_model(path, format="json")``.

    Returns
    -------
    dict
        Fitted attributes of an imported model.

    Raises
    ------
    InputError
        If the content has something that Spinney's trees cannot express.
    """
    info = content["features_info"]
    if "oblivious_trees" not in content:
        raise InputError("Only CatBoost's symmetric trees can be imported", fix='Use "SymmetricTree".')
    for kind in ("categorical_features", "text_features", "embedding_features", "ctrs"):
        if info.get(kind):
            raise InputError(
                f"CatBoost's {kind} cannot be imported, because the model stores hashes of categories",
                fix="Train on numeric features.",
            )
    floats = info["float_features"]
    n_features = 1 + max(one["flat_feature_index"] for one in floats)
    scale, bias = content["scale_and_bias"]
    first = content["oblivious_trees"][0]
    n_scores = len(first["leaf_values"]) // 2 ** len(first["splits"] or [])
    trees = [_tree(tree, floats, n_features, n_scores, float(scale)) for tree in content["oblivious_trees"]]
    names = [f"{j}" for j in range(n_features)]
    for one in floats:
        names[one["flat_feature_index"]] = one.get("feature_id") or names[one["flat_feature_index"]]
    own = names == [f"{j}" for j in range(n_features)]
    return {
        "schema_": ForeignSchema(n_features, None if own else names).build(),
        "ensemble_": TreeEnsemble.from_trees(trees),
        "base_score_": np.broadcast_to(np.array(bias, np.float64), n_scores).copy(),
        "per_round_": n_scores == 1,
        "divisor_": 1.0,
        "precision_": "float64",
        "origin_": "catboost",
        "link_factor_": 1.0,
        **_objective(content["model_info"], n_scores),
    }


def _objective(info: dict[str, Any], n_scores: int) -> dict[str, Any]:
    loss = info["params"]["loss_function"]["type"]
    classes = (info.get("class_params") or {}).get("class_names")
    if loss in _LOGISTIC or loss in ("MultiClass", "MultiClassOneVsAll"):
        labels = np.array(classes) if classes else np.arange(max(n_scores, 2))
        link = {"MultiClass": "softmax", "MultiClassOneVsAll": "normalize"}.get(loss, "sigmoid")
        if loss == "MultiClassOneVsAll":
            raise InputError("CatBoost's loss MultiClassOneVsAll cannot be imported.")
        return {"link_": link, "classes_": labels}
    if loss in ("Poisson", "Tweedie"):
        return {"link_": "exp"}
    if loss in _IDENTITY:
        return {"link_": "identity"}
    raise InputError(f"CatBoost's loss {loss!r} cannot be imported.")


def _tree(
    tree: dict[str, Any], floats: list[dict[str, Any]], n_features: int, n_scores: int, scale: float
) -> TreeArrays:
    """Return a symmetric tree; split i decides bit i of the leaf, so that the last one is the root."""
    splits = list(reversed(tree["splits"] or []))
    values = scale * np.array(tree["leaf_values"], np.float64).reshape(-1, n_scores)
    weights = tree.get("leaf_weights") or [0.0] * len(values)
    nodes: list[ForeignNode] = []
    for level, split in enumerate(splits):
        if split["split_type"] != "FloatFeature":
            raise InputError(f"CatBoost's split {split['split_type']!r} cannot be imported.")
        feature = floats[split["float_feature_index"]]
        threshold = float(at_most_single(np.float32(split["border"])))
        begin = 2 ** (level + 1) - 1
        for k in range(2**level):
            nodes.append(
                ForeignNode(
                    begin + 2 * k,
                    begin + 2 * k + 1,
                    feature["flat_feature_index"],
                    threshold,
                    feature["nan_value_treatment"] != "AsTrue",
                    np.zeros(n_scores),
                )
            )
    nodes += [ForeignNode(value=v, weight=float(w)) for v, w in zip(values, weights, strict=True)]
    return build_tree(nodes, n_features)
