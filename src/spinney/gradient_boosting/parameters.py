"""Parameters of gradient boosting: the rules each keeps, and what they mean to the booster of the core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError, show_value
from spinney.core.parameters import FLAG, NONE, ArrayLike, Kind, OneOf, Real, Rule, Whole
from spinney.data.schema import Schema
from spinney.gradient_boosting.target_statistics import TargetStatistics
from spinney.losses.losses import (
    AbsoluteLoss,
    ExponentialLoss,
    GammaLoss,
    HuberLoss,
    LogLoss,
    Loss,
    PoissonLoss,
    QuantileLoss,
    SoftmaxLoss,
    SquaredLoss,
    TweedieLoss,
)
from spinney.native import core
from spinney.trees.parameters import RULES as TREE_RULES
from spinney.trees.parameters import features_to_try, read_monotone, rows_or_share

Floats = NDArray[np.float64]

POSITIVE_LOSSES = ("poisson", "gamma", "tweedie")
REGRESSION_LOSSES = ("squared_error", "absolute_error", "huber", "quantile", *POSITIVE_LOSSES)
CLASSIFICATION_LOSSES = ("log_loss", "exponential")
_LOSS_OF_ONES_OWN = Kind("an instance of spinney.losses.Loss", Loss)

_POSITIVE = Real(0.0, open_ends="(")
_SHARE = Real(0.0, 1.0, open_ends="(")
RULES: dict[str, tuple[Rule, ...]] = {
    "learning_rate": (_POSITIVE,),
    "n_estimators": (Whole(1),),
    "max_leaf_nodes": TREE_RULES["max_leaf_nodes"],
    "max_depth": TREE_RULES["max_depth"],
    "min_samples_leaf": TREE_RULES["min_samples_leaf"],
    "min_hessian": (Real(0.0),),
    "min_gain": (Real(0.0),),
    "l2_regularization": (Real(0.0),),
    "max_features": TREE_RULES["max_features"],
    "max_bins": (Whole(2, 255),),
    "categorical_split": TREE_RULES["categorical_split"],
    "categorical_encoding": (OneOf("auto", "subset", "ordered"),),
    "categorical_smoothing": (Real(0.0),),
    "categorical_l2": (Real(0.0),),
    "unseen": TREE_RULES["unseen"],
    "monotonic_cst": TREE_RULES["monotonic_cst"],
    "interaction_cst": (NONE, OneOf("pairwise", "no_interactions"), ArrayLike()),
    "growth": (OneOf("leaf-wise", "level-wise"),),
    "sampling": (OneOf("uniform", "goss", "mvs"),),
    "subsample": (NONE, _SHARE),
    "colsample_bytree": (_SHARE,),
    "warm_start": (FLAG,),
    "early_stopping": (OneOf("auto", True, False),),
    "scoring": (NONE, Kind("the name of a scorer", str), Kind("a scorer", Callable)),  # type: ignore[arg-type]
    "validation_fraction": (NONE, Whole(1), Real(0.0, 1.0, open_ends="()")),
    "n_iter_no_change": (Whole(1),),
    "tol": (Real(0.0),),
    "ledger": (OneOf(False, True, "full"),),
    "verbose": (Whole(0), FLAG),
}
REGRESSION_RULES = RULES | {
    "loss": (OneOf(*REGRESSION_LOSSES), _LOSS_OF_ONES_OWN),
    "quantile": (NONE, Real(0.0, 1.0, open_ends="()")),
    "huber_delta": (NONE, _POSITIVE),
    "tweedie_power": (Real(1.0, 2.0, open_ends="()"),),
}
CLASSIFICATION_RULES = RULES | {
    "loss": (OneOf(*CLASSIFICATION_LOSSES), _LOSS_OF_ONES_OWN),
    "class_weight": (NONE, OneOf("balanced"), Kind("a dict", Mapping)),
}

# The fraction of rows drawn per round where subsample is None: all rows, or the defaults of LightGBM (GOSS)
# and CatBoost (MVS).
_SUBSAMPLE = {"uniform": 1.0, "goss": 0.3, "mvs": 0.8}
# GOSS keeps the rows with the largest gradients; they are this fraction of all rows drawn.
_TOP_FRACTION = 2 / 3


def regression_loss(parameters: Mapping[str, Any], y: Floats, weights: Floats | None) -> Loss:
    """Make the loss that the parameters of a regressor name."""
    name = parameters["loss"]
    if isinstance(name, Loss):
        return name
    if name == "huber" and parameters["huber_delta"] is None:
        return HuberLoss.for_target(y, weights)
    made: dict[str, Any] = {
        "squared_error": SquaredLoss,
        "absolute_error": AbsoluteLoss,
        "huber": lambda: HuberLoss(float(parameters["huber_delta"])),
        "quantile": lambda: QuantileLoss(float(parameters["quantile"] or 0.5)),
        "poisson": PoissonLoss,
        "gamma": GammaLoss,
        "tweedie": lambda: TweedieLoss(float(parameters["tweedie_power"])),
    }
    loss: Loss = made[name]()
    return loss


def classification_loss(parameters: Mapping[str, Any], n_classes: int) -> Loss:
    """Make the loss that the parameters of a classifier name."""
    name = parameters["loss"]
    if isinstance(name, Loss):
        return name
    if name == "exponential" and n_classes == 2:
        return ExponentialLoss()
    if name == "exponential" and n_classes > 2:
        raise InputError(
            f'loss="exponential" is for two classes; y has {n_classes}', fix='Use loss="log_loss".'
        )
    return LogLoss() if n_classes == 2 else SoftmaxLoss(n_classes)


def booster_options(
    parameters: Mapping[str, Any],
    schema: Schema,
    statistics: TargetStatistics | None,
    weights: Floats,
    n_classes: int,
) -> core.BoostOptions:
    """Return the options of the core's booster for a table with the given schema and target statistics.

    weights (n_rows,) are those that train, 0 where a row is held out; n_classes is 0 in regression.
    """
    origin = np.arange(schema.n_features) if statistics is None else statistics.origin(schema.n_features)
    n_rows = int(np.count_nonzero(weights))
    # Weights that count rows are 1 or more. Smaller ones are shares of a whole, and say how many rows there
    # are only relative to each other.
    unit = min(1.0, float(weights.sum()) / n_rows)
    n_tried = features_to_try(parameters["max_features"], len(origin))
    monotone = read_monotone(parameters["monotonic_cst"], schema, 1, (n_classes,) if n_classes else ())
    if monotone is not None:
        monotone = np.concatenate([monotone, np.zeros(len(origin) - len(monotone), dtype=np.int8)])
    fraction = (
        _SUBSAMPLE[parameters["sampling"]]
        if parameters["subsample"] is None
        else float(parameters["subsample"])
    )
    return core.BoostOptions(
        growth=parameters["growth"],
        max_leaf_nodes=parameters["max_leaf_nodes"],
        max_depth=parameters["max_depth"],
        min_samples_leaf=unit * rows_or_share(parameters["min_samples_leaf"], n_rows),
        min_hessian=unit * parameters["min_hessian"],
        l2_regularization=float(parameters["l2_regularization"]),
        min_gain=float(parameters["min_gain"]),
        learning_rate=float(parameters["learning_rate"]),
        colsample_bytree=float(parameters["colsample_bytree"]),
        max_features=None if n_tried >= len(origin) else n_tried,
        monotonic_cst=monotone,
        interaction_cst=_interactions(parameters["interaction_cst"], schema, origin),
        categorical_split=parameters["categorical_split"],
        categorical_smoothing=float(parameters["categorical_smoothing"]),
        categorical_l2=float(parameters["categorical_l2"]),
        ledger=parameters["ledger"] == "full",
        sampling="none" if fraction == 1.0 else parameters["sampling"],
        subsample=fraction,
        top_fraction=_TOP_FRACTION * fraction,
        other_fraction=(1 - _TOP_FRACTION) * fraction,
    )


def _interactions(given: Any, schema: Schema, origin: NDArray[np.int64]) -> list[list[int]] | None:
    """Give the sets of columns that may meet on a path, None where all may."""
    if given is None:
        return None
    n = schema.n_features
    if isinstance(given, str):
        groups = [{j} for j in range(n)]
        if given == "pairwise" and n > 1:
            groups = [set(pair) for pair in combinations(range(n), 2)]
    else:
        groups = [{_position(item, schema) for item in _group(group)} for group in given]
        rest = set(range(n)).difference(*groups)
        groups += [rest] if rest else []
    return [np.flatnonzero(np.isin(origin, list(group))).tolist() for group in groups]


def _group(group: Any) -> Iterable[Any]:
    if isinstance(group, str | bytes) or not isinstance(group, Iterable):
        raise InputError(
            f"interaction_cst has {show_value(group)} where a set of features is expected",
            fix="Give a list of sets of positions or names, such as [{0, 1}, {2}].",
        )
    return group


def _position(item: Any, schema: Schema) -> int:
    if isinstance(item, str) and schema.has_names and item in schema.names:
        return schema.names.index(item)
    whole = isinstance(item, int | np.integer) and not isinstance(item, bool)
    if whole and 0 <= int(item) < schema.n_features:
        return int(item)
    raise InputError(
        f"interaction_cst names {show_value(item)}, which is no column of X",
        fix=f"Columns are named, or numbered from 0 to {schema.n_features - 1}.",
    )
