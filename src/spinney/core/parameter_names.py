"""Names that other libraries have for parameters, and what to suggest for a name that does not exist."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping

_DIGITS = re.compile(r"\d")

PEERS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "scikit-learn": {
        "alpha": ("quantile",),
        "base_estimator": ("estimator",),
        "init": ("init_score",),
        "max_iter": ("n_estimators",),
        "min_impurity_split": ("min_impurity_decrease",),
        "subsample": ("max_samples",),
    },
    "LightGBM": {
        "alpha": ("quantile",),
        "bagging_fraction": ("subsample", "max_samples"),
        "bagging_seed": ("random_state",),
        "boost_from_average": ("init_score",),
        "cat_feature": ("categorical_features",),
        "cat_l2": ("categorical_l2",),
        "cat_smooth": ("categorical_smoothing",),
        "categorical_feature": ("categorical_features",),
        "colsample_bynode": ("max_features",),
        "data_random_seed": ("random_state",),
        "data_sample_strategy": ("sampling",),
        "early_stopping_round": ("n_iter_no_change",),
        "early_stopping_rounds": ("n_iter_no_change",),
        "eval_at": ("k",),
        "extra_seed": ("random_state",),
        "extra_trees": ("splitter",),
        "feature_fraction": ("colsample_bytree", "max_features"),
        "feature_fraction_bynode": ("max_features",),
        "feature_fraction_seed": ("random_state",),
        "interaction_constraints": ("interaction_cst",),
        "is_unbalance": ("class_weight",),
        "label_gain": ("gain",),
        "lambda": ("l2_regularization",),
        "lambda_l2": ("l2_regularization",),
        "lambdarank_norm": ("normalize",),
        "lambdarank_truncation_level": ("truncation_level",),
        "max_bin": ("max_bins",),
        "max_cat_to_onehot": ("categorical_split",),
        "max_leaf": ("max_leaf_nodes",),
        "max_leaves": ("max_leaf_nodes",),
        "metric": ("eval_metric",),
        "metric_freq": ("verbose",),
        "min_child_samples": ("min_samples_leaf",),
        "min_child_weight": ("min_hessian",),
        "min_data": ("min_samples_leaf",),
        "min_data_in_leaf": ("min_samples_leaf",),
        "min_data_per_leaf": ("min_samples_leaf",),
        "min_gain_to_split": ("min_gain",),
        "min_split_gain": ("min_gain",),
        "min_sum_hessian_in_leaf": ("min_hessian",),
        "monotone_constraints": ("monotonic_cst",),
        "n_iter": ("n_estimators",),
        "n_thread": ("n_jobs",),
        "ndcg_eval_at": ("k",),
        "nrounds": ("n_estimators",),
        "nthread": ("n_jobs",),
        "nthreads": ("n_jobs",),
        "num_boost_round": ("n_estimators",),
        "num_iteration": ("n_estimators",),
        "num_iterations": ("n_estimators",),
        "num_leaves": ("max_leaf_nodes",),
        "num_round": ("n_estimators",),
        "num_rounds": ("n_estimators",),
        "num_thread": ("n_jobs",),
        "num_threads": ("n_jobs",),
        "num_tree": ("n_estimators",),
        "num_trees": ("n_estimators",),
        "objective": ("loss",),
        "objective_seed": ("random_state",),
        "random_seed": ("random_state",),
        "reg_lambda": ("l2_regularization",),
        "scale_pos_weight": ("class_weight",),
        "seed": ("random_state",),
        "shrinkage_rate": ("learning_rate",),
        "sigmoid": ("sigma",),
        "sub_feature": ("colsample_bytree", "max_features"),
        "sub_feature_bynode": ("max_features",),
        "sub_row": ("subsample", "max_samples"),
        "tweedie_variance_power": ("tweedie_power",),
        "unbalance": ("class_weight",),
        "verbosity": ("verbose",),
    },
    "XGBoost": {
        "base_margin": ("init_score",),
        "base_score": ("init_score",),
        "colsample_bynode": ("max_features",),
        "early_stopping_rounds": ("n_iter_no_change",),
        "enable_categorical": ("categorical_features",),
        "eta": ("learning_rate",),
        "feature_types": ("categorical_features",),
        "gamma": ("min_gain",),
        "grow_policy": ("growth",),
        "huber_slope": ("huber_delta",),
        "interaction_constraints": ("interaction_cst",),
        "lambdarank_num_pair_per_sample": ("truncation_level",),
        "max_bin": ("max_bins",),
        "max_cat_to_onehot": ("categorical_split",),
        "max_leaves": ("max_leaf_nodes",),
        "min_child_weight": ("min_hessian",),
        "min_split_loss": ("min_gain",),
        "monotone_constraints": ("monotonic_cst",),
        "ndcg_exp_gain": ("gain",),
        "nthread": ("n_jobs",),
        "num_boost_round": ("n_estimators",),
        "objective": ("loss",),
        "quantile_alpha": ("quantile",),
        "reg_lambda": ("l2_regularization",),
        "sample_weight_eval_set": ("eval_sample_weight",),
        "sampling_method": ("sampling",),
        "scale_pos_weight": ("class_weight",),
        "seed": ("random_state",),
        "tweedie_variance_power": ("tweedie_power",),
        "verbose_eval": ("verbose",),
        "verbosity": ("verbose",),
    },
    "CatBoost": {
        "auto_class_weights": ("class_weight",),
        "baseline": ("init_score",),
        "boost_from_average": ("init_score",),
        "bootstrap_type": ("sampling",),
        "border_count": ("max_bins",),
        "cat_features": ("categorical_features",),
        "class_weights": ("class_weight",),
        "custom_metric": ("eval_metric",),
        "depth": ("max_depth",),
        "early_stopping_rounds": ("n_iter_no_change",),
        "grow_policy": ("growth",),
        "iterations": ("n_estimators",),
        "l2_leaf_reg": ("l2_regularization",),
        "logging_level": ("verbose",),
        "loss_function": ("loss",),
        "max_bin": ("max_bins",),
        "max_leaves": ("max_leaf_nodes",),
        "metric_period": ("verbose",),
        "min_data_in_leaf": ("min_samples_leaf",),
        "monotone_constraints": ("monotonic_cst",),
        "od_type": ("early_stopping",),
        "od_wait": ("n_iter_no_change",),
        "one_hot_max_size": ("categorical_split",),
        "random_seed": ("random_state",),
        "rsm": ("colsample_bytree", "max_features"),
        "scale_pos_weight": ("class_weight",),
        "thread_count": ("n_jobs",),
        "use_best_model": ("early_stopping",),
    },
    "Weka and R": {
        "confidence_factor": ("confidence",),
        "cp": ("ccp_alpha",),
        "maxdepth": ("max_depth",),
        "minbucket": ("min_samples_leaf",),
        "minsplit": ("min_samples_split",),
        "mtry": ("max_features",),
        "nodesize": ("min_samples_leaf",),
        "ntree": ("n_estimators",),
        "sampsize": ("max_samples",),
        "shrinkage": ("learning_rate",),
        "xval": ("pruning_cv",),
    },
}
"""Library: parameter or argument of ``fit`` there: names here, of which an estimator has one at most."""

PEER_NAMES: Mapping[str, tuple[str, ...]] = {
    name: tuple(dict.fromkeys(here for names in PEERS.values() for here in names.get(name, ())))
    for name in sorted({name for names in PEERS.values() for name in names})
}
"""Name in any other library: names here."""


PEER_PREDICTIONS: Mapping[str, tuple[str, ...]] = {
    "iteration_range": ("staged_{method}", "staged_predict"),
    "ntree_end": ("staged_{method}", "staged_predict"),
    "ntree_limit": ("staged_{method}", "staged_predict"),
    "ntree_start": ("staged_{method}", "staged_predict"),
    "num_iteration": ("staged_{method}", "staged_predict"),
    "output_margin": ("decision_function",),
    "pred_contrib": ("shap_values",),
    "pred_contribs": ("shap_values",),
    "pred_interactions": ("shap_values",),
    "pred_leaf": ("apply",),
    "prediction_type": ("predict_proba", "decision_function"),
    "raw_score": ("decision_function",),
    "start_iteration": ("staged_{method}", "staged_predict"),
}
"""Argument of ``predict`` in LightGBM, XGBoost or CatBoost: methods here, the first that a model has."""


def peer_names(name: str) -> tuple[str, ...]:
    """Return a name, and the names here of what other libraries call so.

    Parameters
    ----------
    name : str
        The name that was given.

    Returns
    -------
    tuple of str
        Names.

    Examples
    --------
    >>> peer_names("num_leaves")
    ('num_leaves', 'max_leaf_nodes')
    """
    return name, *PEER_NAMES.get(name, ())


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
    meant = _meant(name, known)
    if meant is not None:
        return f"Did you mean {meant!r}?"
    return f"Its parameters are {', '.join(sorted(known))}."


def suggest_argument(name: str, arguments: Collection[str], owner: str, known: Collection[str]) -> str:
    """Return what to write instead of an argument that a method such as ``fit`` does not have.

    Parameters
    ----------
    name : str
        The name that was given.
    arguments : collection of str
        Arguments of the method.
    owner : str
        Class of the estimator.
    known : collection of str
        Parameters of the estimator, which its constructor takes.

    Returns
    -------
    str
        A sentence.

    Examples
    --------
    >>> suggest_argument("sample_weights", ["X", "y", "sample_weight"], "SVC", ["C"])
    "Did you mean 'sample_weight'?"
    >>> suggest_argument("verbose", ["X", "y"], "SVC", ["C", "verbose"])
    'It is a parameter: SVC(verbose=...).'
    >>> suggest_argument("seed", ["X", "y"], "SVC", ["C", "random_state"])
    "Did you mean the parameter 'random_state'? Write SVC(random_state=...)."
    """
    if name in known:
        return f"It is a parameter: {owner}({name}=...)."
    argument = _meant(name, arguments)
    if argument is not None:
        return f"Did you mean {argument!r}?"
    parameter = _meant(name, known)
    if parameter is not None:
        return f"Did you mean the parameter {parameter!r}? Write {owner}({parameter}=...)."
    return f"Its arguments are {', '.join(arguments)}."


def suggest_method(name: str, method: str, known: Collection[str]) -> str | None:
    """Return which method to call instead of one with an argument that other libraries have there.

    Parameters
    ----------
    name : str
        The argument that was given.
    method : str
        The method that was called, such as "predict".
    known : collection of str
        Methods of the estimator.

    Returns
    -------
    str or None
        A sentence; None if there is no such method.

    Examples
    --------
    >>> suggest_method("pred_leaf", "predict", ["predict", "apply"])
    'Call the method apply(X).'
    """
    wanted = [one.format(method=method) for one in PEER_PREDICTIONS.get(name, ())]
    found = next((one for one in wanted if one in known and one != method), None)
    return None if found is None else f"Call the method {found}(X)."


def _meant(name: str, known: Collection[str]) -> str | None:
    """Return the known name that other libraries call by a name, or that it is a typo of."""
    names = list(peer_names(name))
    if "n_estimators" in names and "max_leaf_nodes" in known:
        names.append("max_iter")  # the rounds of HistGradientBoosting*
    peer = next((peer for peer in names if peer in known), None)
    if peer is not None:
        return peer
    near = near_name(name, known)
    if near is not None:
        return near
    # A typo of another library's name, such as num_leafs; lambda_l1 is none of lambda_l2.
    others = [
        other
        for other, meant in PEER_NAMES.items()
        if any(one in known for one in meant)
        and abs(len(other) - len(name)) <= 2
        and _DIGITS.findall(other) == _DIGITS.findall(name)
    ]
    other = near_name(name, others, 0.84)
    return None if other is None else next(one for one in PEER_NAMES[other] if one in known)


def near_name(name: str, known: Collection[str], similarity: float = 0.7) -> str | None:
    """Return the known name that a name is a typo of, or has in other cases, None if there is none.

    Parameters
    ----------
    name : str
        The name that was given.
    known : collection of str
        Names.
    similarity : float, default=0.7
        How near a name must be, from 0 to 1.

    Returns
    -------
    str or None
        One of them.

    Examples
    --------
    >>> near_name("accuracy_", ["accuracy", "r2"]), near_name("R2", ["accuracy", "r2"])
    ('accuracy', 'r2')
    """
    near = [one for one in known if one.lower() == name.lower()]
    near = near or difflib.get_close_matches(name, known, n=1, cutoff=similarity)
    return near[0] if near else None
