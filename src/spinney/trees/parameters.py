"""Parameters of trees: the rules each keeps, and what it means for a table of a given size."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, show_value, show_values
from spinney.core.parameters import FLAG, NONE, ArrayLike, Kind, OneOf, Real, Rule, Whole
from spinney.data.schema import Schema
from spinney.tree.plan import NO_LIMIT

# The rules of every parameter that more than one learner has; a learner adds those of its own.
RULES: dict[str, tuple[Rule, ...]] = {
    "splitter": (OneOf("best", "random"),),
    "max_depth": (NONE, Whole(1)),
    "min_samples_split": (Whole(2), Real(0.0, 1.0, open_ends="(", fraction=True)),
    "min_samples_leaf": (Whole(1), Real(0.0, 1.0, open_ends="()", fraction=True)),
    "min_weight_fraction_leaf": (Real(0.0, 0.5),),
    "max_features": (
        NONE,
        OneOf("sqrt", "log2"),
        Whole(1),
        Real(0.0, 1.0, open_ends="(", fraction=True),
    ),
    "max_leaf_nodes": (NONE, Whole(2)),
    "min_impurity_decrease": (Real(0.0),),
    "class_weight": (NONE, OneOf("balanced"), Kind("a dict", dict), Kind("a list of dicts", list)),
    "ccp_alpha": (Real(0.0),),
    "monotonic_cst": (NONE, Kind("a dict by feature name", Mapping), ArrayLike()),
    "max_bins": (NONE, Whole(2, 255)),
    "categorical_split": (OneOf("subset", "one-vs-rest"),),
    "missing": (OneOf("direction", "fractional"),),
    "unseen": (OneOf("missing", "error"),),
    "feature_costs": (NONE, Kind("a dict by feature name", Mapping), ArrayLike()),
    "cost_rule": (OneOf("tan", "tan-linear", "nunez"),),
    "cost_omega": (Real(0.0, 1.0),),
    "pruning": (OneOf(None, "pre", "reduced-error", "pessimistic", "cost-complexity"),),
    "validation_fraction": (Real(0.0, 1.0, open_ends="()"),),
    "confidence": (Real(0.0, 1.0, open_ends="()"),),
    "pruning_cv": (Whole(2),),
    "one_se": (FLAG,),
    "ledger": (OneOf(False, True, "thresholds"),),
}


def limit(value: int | None) -> int:
    """Give a limit as a number, None being no limit.

    >>> limit(3)
    3
    """
    return NO_LIMIT if value is None else min(int(value), NO_LIMIT)


def rows_or_share(value: float, n_rows: int) -> int:
    """Give a number of rows, which a fraction states as a share of all, rounded up.

    >>> rows_or_share(0.1, 25), rows_or_share(7, 25)
    (3, 7)
    """
    return limit(int(value) if Whole(0).allows(value) else math.ceil(value * n_rows))


def features_to_try(max_features: int | float | str | None, n_features: int) -> int:
    """Give how many features a node looks at.

    >>> features_to_try("sqrt", 16), features_to_try(0.5, 5), features_to_try(None, 5)
    (4, 2, 5)
    """
    if max_features is None:
        return n_features
    if isinstance(max_features, str):
        root = math.sqrt(n_features) if max_features == "sqrt" else math.log2(n_features)
        return max(1, int(root))
    return int(max_features) if Whole(1).allows(max_features) else max(1, int(max_features * n_features))


def ledger_level(ledger: bool | str) -> Literal["off", "features", "thresholds"]:
    """Name what the grower is to write down.

    >>> ledger_level(True)
    'features'
    """
    if ledger == "thresholds":
        return "thresholds"
    return "features" if ledger else "off"


def read_costs(feature_costs: Any, cost_rule: str, schema: Schema) -> NDArray[np.float64] | None:
    """Give the price of each feature, None where there are no prices.  -> (n_features,)

    A dict states prices by feature name; a feature that it leaves out costs 1.
    """
    if feature_costs is None:
        return None
    if isinstance(feature_costs, Mapping):
        feature_costs = _by_name("feature_costs", feature_costs, schema.names, 1.0)
    try:
        costs = np.array(feature_costs, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"feature_costs must hold numbers ({error}).") from None
    if costs.shape != (schema.n_features,):
        raise InputError(f"feature_costs has shape {costs.shape}; X has {schema.n_features} features.")
    # Tan's rules divide by the price; Nunez's adds 1 to it first.
    allowed = np.isfinite(costs) & ((costs >= 0) if cost_rule == "nunez" else (costs > 0))
    if not allowed.all():
        j = int(np.argmin(allowed))
        least = "of at least 0" if cost_rule == "nunez" else "above 0"
        raise InputError(
            f"feature_costs is {costs[j]}",
            column=schema.names[j] if schema.has_names else j,
            fix=f"With cost_rule={cost_rule!r} every cost is a finite number {least}.",
        )
    return costs


def _by_name(parameter: str, given: Mapping[Any, Any], names: tuple[str, ...], other: float) -> list[Any]:
    """Give a value for each feature, ``other`` for those that the dict leaves out.  -> (n_features,)"""
    unknown = [name for name in given if name not in names]
    if unknown:
        near = difflib.get_close_matches(unknown[0], names, n=3) if isinstance(unknown[0], str) else []
        raise InputError(
            f"{parameter} names {show_value(unknown[0])}, which is no column of X",
            fix=f"Did you mean {show_values(near)}?" if near else f"Columns: {show_values(names)}.",
        )
    return [given.get(name, other) for name in names]


def read_monotone(
    monotonic_cst: Any, schema: Schema, n_outputs: int, n_classes: tuple[int, ...]
) -> NDArray[np.int8] | None:
    """Give the direction of each feature, −1, 0 or 1, None where none is constrained.  -> (n_features,)

    A constraint is on the prediction, in classification on the probability of the second of two classes. A
    dict states directions by feature name; a feature that it leaves out is free.
    """
    if monotonic_cst is None:
        return None
    if isinstance(monotonic_cst, Mapping):
        monotonic_cst = _by_name("monotonic_cst", monotonic_cst, schema.names, 0)
    signs = np.asarray(monotonic_cst)
    if signs.shape != (schema.n_features,):
        raise InputError(
            f"monotonic_cst has shape {signs.shape} but the input data X has {schema.n_features} features."
        )
    if signs.dtype.kind not in "biuf" or not np.isin(signs, (-1, 0, 1)).all():
        raise InputError(
            "monotonic_cst must be None or an array-like of -1, 0 or 1, "
            f"but got {show_values(np.unique(signs).tolist())}"
        )
    if n_outputs > 1:
        raise InputError("Monotonicity constraints are not supported with multiple outputs.")
    if n_classes and n_classes[0] > 2:
        raise InputError("Monotonicity constraints are not supported with multiclass classification")
    constrained = np.flatnonzero((signs != 0) & schema.categorical)
    if len(constrained):
        j = int(constrained[0])
        raise InputError(
            "monotonic_cst constrains categories, which have no order",
            column=schema.names[j] if schema.has_names else j,
            fix="Give it 0 there.",
        )
    if n_classes and n_classes[0] < 2:
        return None
    return np.ascontiguousarray(signs, dtype=np.int8) if signs.any() else None
