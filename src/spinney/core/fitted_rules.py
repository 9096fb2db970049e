"""Rules of fitted attributes by their names, which every model file is checked against when it is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

import numpy as np

from spinney.core.ledger import Ledger


class FittedRule(NamedTuple):
    """What values an attribute may have, and their description in messages."""

    allows: Callable[[Any], bool]
    takes: str


def _is_count(value: Any, least: int = 0) -> bool:
    return type(value) is int and least <= value < 2**31


def _is_floats(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float64


def _are_labels(value: Any) -> bool:
    """Return whether a value is the classes of one output, or a list of those of several."""
    if type(value) is list:
        return bool(value) and all(isinstance(part, np.ndarray) and _are_labels(part) for part in value)
    if not isinstance(value, np.ndarray) or value.ndim != 1 or len(value) == 0:
        return False
    return value.dtype.kind != "f" or bool(np.isfinite(value).all())


def _are_names(value: Any) -> bool:
    valid = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "OU"
    return valid and all(isinstance(name, str) for name in value.tolist())


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "get_params") and hasattr(value, "fit")


def _has_no_nan(value: Any) -> bool:
    numbers: Any = cast("Any", value).data if hasattr(value, "nnz") else value
    is_number = isinstance(numbers, float) or (isinstance(numbers, np.ndarray) and numbers.dtype.kind == "f")
    return not is_number or not np.isnan(numbers).any()


COUNT = FittedRule(_is_count, "an integer of at least 0")
POSITIVE = FittedRule(lambda value: _is_count(value, 1), "an integer of at least 1")

_WITHOUT_NAN = {
    *("coef_", "intercept_", "dual_coef_", "support_vectors_", "_gamma", "probA_", "probB_"),
    *("class_prior_", "class_log_prior_", "theta_", "var_"),
}
"""Numbers that predictions are computed from: with a NaN, all were NaN. Infinite ones may be valid."""

FITTED_RULES: Mapping[str, FittedRule] = {
    "n_features_in_": COUNT,
    "n_outputs_": POSITIVE,
    "max_features_": POSITIVE,
    "feature_names_in_": FittedRule(_are_names, "an array of strings"),
    "classes_": FittedRule(_are_labels, "an array of labels, or a list of them"),
    "estimators_": FittedRule(lambda value: type(value) is list, "a list of members"),
    "estimator_": FittedRule(_is_estimator, "an estimator"),
    "final_estimator_": FittedRule(_is_estimator, "an estimator"),
    "ledger_": FittedRule(lambda value: isinstance(value, Ledger), "a ledger"),
    "pruning_ledger_": FittedRule(lambda value: isinstance(value, Ledger), "a ledger"),
    "path_": FittedRule(lambda value: type(value) is list and len(value) > 0, "a list of steps"),
    "validation_errors_": FittedRule(
        lambda value: _is_floats(value) and value.ndim == 1 and bool(np.isfinite(value).all()),
        "an array of finite numbers",
    ),
    "oob_score_": FittedRule(lambda value: type(value) is float, "a number"),
}
"""What depends on other attributes, such as shapes, is checked by `_check_fitted` of the classes."""


def broken_rule(fitted: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the first attribute that breaks its rule; None if all keep them.

    Parameters
    ----------
    fitted : mapping of str to object
        Fitted attributes by name; those without a rule are left to the class.

    Returns
    -------
    str or None
        A phrase without a full stop.

    Examples
    --------
    >>> broken_rule({"n_features_in_": 3}) is None
    True
    >>> broken_rule({"n_features_in_": "three"})
    'n_features_in_ is not an integer of at least 0'
    """
    for name, value in fitted.items():
        rule = FITTED_RULES.get(name)
        if rule is not None and not rule.allows(value):
            return f"{name} is not {rule.takes}"
        if name in _WITHOUT_NAN and not _has_no_nan(value):
            return f"{name} has NaN"
    return None
