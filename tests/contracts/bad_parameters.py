"""Values that no learner may accept, by the name of the parameter; every parameter has some."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import spinney as sp

_ANYWHERE: dict[str, list[Any]] = {
    "max_depth": [0, 1.5, "deep", True],
    "min_samples_split": [1, 0.0, 1.5, None],
    "min_samples_leaf": [0, 1.0, -2],
    "min_weight_fraction_leaf": [-0.1, 0.6, np.nan],
    "max_features": [0, 0.0, 1.5, "all"],
    "max_leaf_nodes": [1, 2.5],
    "min_impurity_decrease": [-1.0, np.inf],
    "ccp_alpha": [-1.0, None],
    "random_state": ["seed", -1],
    "n_jobs": [0, 1.5],
    "unseen": ["ignore"],
    "feature_costs": ["much", [1.0], [1.0, -1.0], [1.0, np.nan], {"no such column": 1.0}],
    "cost_rule": ["cheap", None],
    "cost_omega": [-0.1, 1.1],
    "pruning": ["post"],
    "validation_fraction": [0.0, 1.0],
    "confidence": [0.0, 1.0, "high"],
    "pruning_cv": [1, 2.0],
    "one_se": [1, "yes"],
    "prune_ties": [1, "no"],
    "numeric_split": ["binary", None],
    "ledger": ["all", 1],
    "criterion": ["best", None],
    "splitter": ["worst"],
    "class_weight": ["even", 3, {5: np.nan}],
    "monotonic_cst": ["up", [1], [2, 0], {"no such column": 1}],
    "max_bins": [1, 256, 10.0],
    "categorical_features": ["no such column", [9], [True]],
    "categorical_split": ["multiway"],
    "missing": ["impute"],
    "n_directions": [-1, 1.5],
    "epsilon": [-1.0, np.nan],
    "subset": ["yes"],
    "loss": ["absolute", None, 3],
    "quantile": [0.0, 1.0, "half", [0.5], [0.9, 0.1], [0.1, 1.0]],
    "huber_delta": [0.0, -1.0],
    "tweedie_power": [1.0, 2.0, None],
    "preset": ["best", None, True],
    "refit": ["yes", None, 1],
    "n_members": [0, 1.5, None],
    "learning_rate": [0.0, -0.1, np.inf, "fast", None],
    "n_estimators": [0, 1.5, None, True],
    "min_hessian": [-1.0, np.nan],
    "min_gain": [-1.0, None],
    "random_strength": [-1.0, "none"],
    "mdl_correction": ["yes", None],
    "subtree_raising": ["yes", None],
    "l2_regularization": [-1.0, np.inf],
    "growth": ["depth", None],
    "sampling": ["none", None],
    "subsample": [0.0, 1.1, "half"],
    "colsample_bytree": [0.0, 1.1, None],
    "interaction_cst": ["triples", [[9]], [["no such column"]], [3]],
    "categorical_encoding": ["one-hot", None],
    "categorical_smoothing": [-1.0, None],
    "categorical_l2": [-1.0, None],
    "early_stopping": ["yes", None, 1],
    "scoring": [3],
    "n_iter_no_change": [0, 1.5],
    "tol": [-1.0, None],
    "warm_start": ["yes", None, 1],
    "verbose": [-1, "much"],
    # rankers
    "k": [0, 1.5, "all"],
    "gain": ["square", None],
    "sigma": [0.0, np.inf, None],
    "truncation_level": [0, 1.5, "all"],
    "normalize": ["yes", None, 1],
    # ensembles over any estimator
    "estimator": [3, "tree", sp.DecisionTreeClassifier],
    "bootstrap": [1, "yes", None],
    "voting": ["loud", None],
    # AdaBoost
    "algorithm": ["AdaBoost", None, 1],
    "resample": [1, "yes", None],
    # bagging
    "max_samples": [0, 0.0, "all"],
    "keep_targets": ["yes", 1],
    "bootstrap_features": [1, "yes"],
    "oob_score": ["accuracy", 1, None],
    "oob_pruning": [1, None],
    "oob_early_stopping": [1, None],
    "parameter_distributions": [3, ["max_depth"]],
    # combinations
    "estimators": [3, [], "trees", [sp.C45Classifier()], [("a", 3)], [("a", sp.C45Classifier)]],
    "weights": ["equal", [1], [-1, 1], [0, 0]],
    "rule": ["unanimity", None],
    "quorum": [-0.1, 1.0, "half"],
    "reject_label": [],  # anything is a label
    "cv": ["folds", 1, 2.5, []],
    "flatten_transform": [1, None],
    "final_estimator": [3, "tree"],
    "stack_method": ["guess", None],
    "passthrough": [1, "yes"],
    "n_steps": [0, 1.5, None],
    "n_initial": [0, 1.5],
    "replacement": [1, None],
    "n_bags": [0, 1.5],
    # perturbations
    "flip_rate": [-0.1, 1.0, "much", 0.9],
    "scale": [-1.0, np.inf, None],
    "code": ["huge", None, [[1], [1]], [[1, 0], [-1, 0]], [[2], [-1]], [[1, -1]], [["a"], ["b"]]],
    "code_size": [0.0, "large"],
    "n_candidates": [0, 1.5],
    "decoding": ["magic", None],
    "response": ["transform", None],
    "penalty": [-0.1, 1.1, "auto"],
    "hidden_size": [0, 2.5],
    "alpha": [-1.0, np.nan],
    "learning_rate_init": [0.0, "adaptive"],
    "batch_size": [0, "all"],
    "max_iter": [0, 10.0],
    # isolation forests and embeddings
    "contamination": [0.0, 0.6, "much", None],
    "sparse_output": [1, "yes", None],
}

# Where a name means something else, or more is refused.
_IN: dict[str, dict[str, list[Any]]] = {
    "spinney.trees.c45": {"categorical_split": ["one-vs-rest", None]},
    "spinney.bagging.estimators": {"max_features": [0, 0.0, 1.5, 3, None]},
    "spinney.forests.isolation": {"max_features": [0, 0.0, 1.5, 9, "sqrt"], "max_samples": [0, 1.5, None]},
    "spinney.gradient_boosting.hist": {"loss": ["hinge", None, 3], "max_features": [1, 0.0, 1.5, "sqrt"]},
    "spinney.gradient_boosting.estimators": {"loss": ["hinge", None, 3]},
    "spinney.ensembles.selection": {"scoring": [3, "no such scorer"]},
}

# What the message calls the parameter, where not by its name.
_WORDS = {"cv": "cv|n_splits|split", "estimators": "estimator"}


def bad_values(learner: Any) -> Mapping[str, list[Any]]:
    """Return bad values of each parameter of a learner."""
    known = _ANYWHERE | _IN.get(learner.make.__module__, {})
    return {name: known[name] for name in learner().get_params(deep=False)}


def words_for(parameter: str) -> str:
    """Return what the message about a parameter must match."""
    return _WORDS.get(parameter, parameter)
