"""scikit-learn's trees, forests and gradient boosting as trees of Spinney."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np

from spinney.core.errors import InputTypeError
from spinney.export.foreign_trees import ForeignNode, ForeignSchema, at_most_single, build_tree, single_floor
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.tree_arrays import TreeArrays

_TINY = float(np.nextafter(0.0, 1.0))


def read_sklearn(model: Any) -> dict[str, Any]:
    """Return the fitted attributes of a fitted model of scikit-learn.

    Parameters
    ----------
    model : estimator
        A tree, a forest, gradient boosting, or histogram-based gradient boosting.

    Returns
    -------
    dict
        Fitted attributes of an imported model.

    Raises
    ------
    InputTypeError
        If the model is of another class, or has something that Spinney's trees cannot express.
    """
    # By name: none of scikit-learn's modules is imported for this.
    names = [base.__name__ for base in type(model).__mro__]
    if "BaseHistGradientBoosting" in names:
        return _histogram_boosting(model)
    if "BaseGradientBoosting" in names:
        return _boosting(model)
    if "BaseForest" in names:
        return _mean(model, list(model.estimators_))
    if "BaseDecisionTree" in names:
        return _mean(model, [model])
    raise InputTypeError(
        f"A {type(model).__name__} of scikit-learn cannot be imported",
        fix="Trees, forests, GradientBoosting and HistGradientBoosting models can.",
    )


def _attributes(model: Any, schema: ForeignSchema, trees: list[TreeArrays], start: Any) -> dict[str, Any]:
    classes = getattr(model, "classes_", None)
    if isinstance(classes, list):
        raise InputTypeError(f"A {type(model).__name__} with several outputs of classes cannot be imported.")
    known = getattr(model, "feature_names_in_", None)
    if schema.names is None and known is not None:
        schema.names = known.tolist()
    return {
        "schema_": schema.build(),
        "ensemble_": TreeEnsemble.from_trees(trees),
        "base_score_": np.asarray(start, np.float64),
        "per_round_": True,
        "divisor_": 1.0,
        "link_": "identity",
        "link_factor_": 1.0,
        "precision_": "float64",
        "origin_": "scikit-learn",
        "classes_": classes,
    }


def _tree(tree: Any, n_features: int, factor: float | None = None) -> TreeArrays:
    """Convert a tree; rows are rounded to float32 before they are compared with thresholds."""
    thresholds = at_most_single(single_floor(tree.threshold))
    values = tree.value.reshape(tree.node_count, -1)
    values = values if factor is None else factor * values
    missing_left = getattr(tree, "missing_go_to_left", np.zeros(tree.node_count))
    nodes = [
        ForeignNode(
            int(tree.children_left[i]),
            int(tree.children_right[i]),
            int(tree.feature[i]),
            float(thresholds[i]),
            bool(missing_left[i]),
            values[i],
            None,
            float(tree.weighted_n_node_samples[i]),
            int(tree.n_node_samples[i]),
            float(tree.impurity[i]),
        )
        for i in range(tree.node_count)
    ]
    return build_tree(nodes, n_features)


def _mean(model: Any, members: list[Any]) -> dict[str, Any]:
    n = model.n_features_in_
    trees = [_tree(member.tree_, n) for member in members]
    fitted = _attributes(model, ForeignSchema(n), trees, np.zeros(trees[0].value[0].size))
    return fitted | {"per_round_": False, "divisor_": float(len(trees))}


def _boosting(model: Any) -> dict[str, Any]:
    n = model.n_features_in_
    if model.init_ != "zero" and type(model.init_).__name__ not in ("DummyClassifier", "DummyRegressor"):
        raise InputTypeError(
            "A gradient boosting model with an init estimator of its own cannot be imported."
        )
    initial = getattr(model, "_raw_predict_init")  # noqa: B009  (has no public name)
    start = np.asarray(initial(np.zeros((1, n), np.float32)))[0]
    members = model.estimators_.ravel()
    trees = [_tree(member.tree_, n, float(model.learning_rate)) for member in members]
    fitted = _attributes(model, ForeignSchema(n), trees, start)
    if fitted["classes_"] is None:
        return fitted
    if len(start) > 1:
        return fitted | {"link_": "softmax"}
    factor = 2.0 if model.loss == "exponential" else 1.0
    # The second class is predicted from a score of 0 on, that is above the largest number below 0.
    return fitted | {"link_": "sigmoid", "link_factor_": factor, "score_threshold_": -_TINY}


def _histogram_boosting(model: Any) -> dict[str, Any]:
    n = model.n_features_in_
    order, categories = _categorical_columns(model, n)
    rounds = getattr(model, "_predictors")  # noqa: B009  (has no public name)
    trees = [build_tree(_histogram_nodes(tree, order, categories), n) for round_ in rounds for tree in round_]
    start = np.asarray(getattr(model, "_baseline_prediction")).ravel()  # noqa: B009
    fitted = _attributes(model, ForeignSchema(n, None, categories), trees, start)
    if fitted["classes_"] is not None:
        return fitted | {"link_": "sigmoid" if len(start) == 1 else "softmax"}
    return fitted | {"link_": "exp" if model.loss in ("poisson", "gamma") else "identity"}


def _categorical_columns(model: Any, n_features: int) -> tuple[list[int], dict[int, list[Any]]]:
    """Return the column that each feature of the trees is, and the categories of columns."""
    preprocessor = getattr(model, "_preprocessor", None)
    mask = model.is_categorical_
    if preprocessor is None or mask is None:
        return list(range(n_features)), {}
    categorical = np.flatnonzero(mask).tolist()
    encoder = preprocessor.named_transformers_["encoder"]
    categories = {}
    for j, values in zip(categorical, encoder.categories_, strict=True):
        # A missing value is the last category of the encoder.
        categories[j] = [v for v in values.tolist() if not (v is None or (type(v) is float and isnan(v)))]
    # Categorical columns are moved to the front.
    return categorical + [j for j in range(n_features) if j not in categories], categories


def _histogram_nodes(tree: Any, order: list[int], categories: dict[int, list[Any]]) -> list[ForeignNode]:
    nodes = []
    for one in tree.nodes:
        node = ForeignNode(value=float(one["value"]), weight=float(one["count"]), n_samples=int(one["count"]))
        node.gain = max(float(one["gain"]), 0.0)
        if not one["is_leaf"]:
            node.left, node.right = int(one["left"]), int(one["right"])
            node.feature, node.missing_left = order[one["feature_idx"]], bool(one["missing_go_to_left"])
            node.threshold = float(one["num_threshold"])
            if one["is_categorical"]:
                bits = tree.raw_left_cat_bitsets[one["bitset_idx"]]
                known = range(len(categories[node.feature]))
                node.categories = [c for c in known if int(bits[c // 32]) >> c % 32 & 1]
        nodes.append(node)
    return nodes
