"""Names that other libraries have for parameters, and what to suggest for a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping

PEER_NAMES: Mapping[str, tuple[str, ...]] = {
    "num_leaves": ("max_leaf_nodes",),
    "max_leaves": ("max_leaf_nodes",),
    "num_iterations": ("n_estimators", "max_iter"),
    "num_boost_round": ("n_estimators", "max_iter"),
    "num_trees": ("n_estimators", "max_iter"),
    "iterations": ("n_estimators", "max_iter"),
    "n_iter": ("n_estimators", "max_iter"),
    "max_iter": ("n_estimators",),
    "n_estimators": ("max_iter",),
    "eta": ("learning_rate",),
    "objective": ("loss",),
    "reg_lambda": ("l2_regularization",),
    "lambda_l2": ("l2_regularization",),
    "l2_leaf_reg": ("l2_regularization",),
    "bagging_fraction": ("subsample", "max_samples"),
    "subsample": ("max_samples",),
    "feature_fraction": ("colsample_bytree", "max_features"),
    "colsample_bytree": ("max_features",),
    "colsample_bylevel": ("max_features",),
    "colsample_bynode": ("max_features",),
    "min_data_in_leaf": ("min_samples_leaf",),
    "min_child_samples": ("min_samples_leaf",),
    "min_child_weight": ("min_hessian", "min_weight_fraction_leaf"),
    "min_sum_hessian_in_leaf": ("min_hessian",),
    "min_gain_to_split": ("min_gain", "min_impurity_decrease"),
    "min_split_gain": ("min_gain", "min_impurity_decrease"),
    "gamma": ("min_gain",),
    "min_impurity_split": ("min_impurity_decrease",),
    "max_bin": ("max_bins",),
    "border_count": ("max_bins",),
    "depth": ("max_depth",),
    "grow_policy": ("growth",),
    "boosting_type": ("sampling",),
    "data_sample_strategy": ("sampling",),
    "early_stopping_round": ("n_iter_no_change",),
    "early_stopping_rounds": ("n_iter_no_change",),
    "od_wait": ("n_iter_no_change",),
    "eval_metric": ("scoring",),
    "metric": ("scoring",),
    "categorical_feature": ("categorical_features",),
    "cat_features": ("categorical_features",),
    "class_weights": ("class_weight",),
    "is_unbalance": ("class_weight",),
    "scale_pos_weight": ("class_weight",),
    "num_threads": ("n_jobs",),
    "nthread": ("n_jobs",),
    "thread_count": ("n_jobs",),
    "seed": ("random_state",),
    "random_seed": ("random_state",),
    "verbosity": ("verbose",),
    "silent": ("verbose",),
    "base_estimator": ("estimator",),
    "monotone_constraints": ("monotonic_cst",),
    "interaction_constraints": ("interaction_cst",),
}
"""Name in LightGBM, XGBoost, CatBoost or scikit-learn: names here, of which an estimator has one at most."""


def suggest_parameter(name: str, known: Collection[str]) -> str:
    """Return what to write instead of a parameter that does not exist.

    Parameters
    ----------
    name : str
        The name that was given.
    known : collection of str
        Parameters of the estimator.

    Returns
    -------
    str
        A sentence.

    Examples
    --------
    >>> suggest_parameter("num_leaves", ["max_depth", "max_leaf_nodes"])
    "Did you mean 'max_leaf_nodes'?"
    >>> suggest_parameter("max_dept", ["max_depth", "max_leaf_nodes"])
    "Did you mean 'max_depth'?"
    """
    peers = [peer for peer in PEER_NAMES.get(name, ()) if peer in known]
    near = peers or difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    if near:
        return f"Did you mean {near[0]!r}?"
    return f"Its parameters are {', '.join(sorted(known))}."
