"""Parameters of gradient boosting: their rules, and interaction constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spinney.base import parameters
from spinney.core.errors import InputError, show_value
from spinney.core.parameters import FLAG, NONE, ArrayLike, Integer, Kind, OneOf, Real, Rule
from spinney.data.schema import Schema
from spinney.gradient_boosting.defaults import PRESETS
from spinney.losses.losses import Loss
from spinney.trees.parameters import RULES as TREE_RULES

Floats = NDArray[np.float64]

POSITIVE_LOSSES = ("poisson", "gamma", "tweedie")
REGRESSION_LOSSES = ("squared_error", "absolute_error", "huber", "quantile", *POSITIVE_LOSSES)
CLASSIFICATION_LOSSES = ("log_loss", "exponential")
LOSS_PARAMETERS = (
    ("quantile", "quantile", None),
    ("huber", "huber_delta", None),
    ("tweedie", "tweedie_power", 1.5),
)
"""Loss, its parameter, and the value of the parameter that counts as not set."""
Auto = Literal["auto"]
_CUSTOM_LOSS = Kind("an instance of spinney.losses.Loss", Loss)


class _Levels:
    """Several increasing levels of quantiles."""

    def allows(self, value: Any) -> bool:
        """Return whether the value is valid."""
        if not ArrayLike().allows(value) or len(value) < 2:
            return False
        levels = list(value)
        return all(_LEVEL.allows(level) for level in levels) and levels == sorted(set(levels))

    def __str__(self) -> str:
        return "a list of several increasing numbers between 0 and 1"


_AUTO = OneOf("auto")
_LEVEL = Real(0.0, 1.0, open_ends="()")
_POSITIVE = Real(0.0, open_ends="(")
_FRACTION = Real(0.0, 1.0, open_ends="(")
RULES: dict[str, tuple[Rule, ...]] = {
    "preset": (OneOf(*PRESETS),),
    "refit": (OneOf("auto", True, False),),
    "n_members": (_AUTO, Integer(1)),
    "learning_rate": (
        _AUTO,
        _POSITIVE,
    ),
    "n_estimators": (
        _AUTO,
        Integer(1),
    ),
    "max_leaf_nodes": (_AUTO, *TREE_RULES["max_leaf_nodes"]),
    "max_depth": TREE_RULES["max_depth"],
    "min_samples_leaf": (_AUTO, *TREE_RULES["min_samples_leaf"]),
    "min_hessian": (Real(0.0),),
    "min_gain": (Real(0.0),),
    "random_strength": (_AUTO, Real(0.0)),
    "splitter": (_AUTO, *TREE_RULES["splitter"]),
    "l2_regularization": (
        _AUTO,
        Real(0.0),
    ),
    "max_features": (_AUTO, *TREE_RULES["max_features"]),
    "max_bins": (Integer(2, 255),),
    "categorical_split": (_AUTO, *TREE_RULES["categorical_split"]),
    "categorical_encoding": (OneOf("auto", "subset", "ordered"),),
    "categorical_smoothing": (
        _AUTO,
        Real(0.0),
    ),
    "categorical_l2": (
        _AUTO,
        Real(0.0),
    ),
    "unseen": TREE_RULES["unseen"],
    "monotonic_cst": TREE_RULES["monotonic_cst"],
    "interaction_cst": (NONE, OneOf("pairwise", "no_interactions"), ArrayLike()),
    "growth": (OneOf("auto", "leaf-wise", "level-wise", "symmetric", "mixed"),),
    "sampling": (OneOf("auto", "uniform", "goss", "mvs"),),
    "subsample": (NONE, _FRACTION),
    "colsample_bytree": (_FRACTION,),
    "warm_start": (FLAG,),
    "early_stopping": (OneOf("auto", True, False),),
    "scoring": (NONE, Kind("the name of a scorer", str), Kind("a scorer", Callable)),  # type: ignore[arg-type]
    "validation_fraction": (_AUTO, NONE, Integer(1), Real(0.0, 1.0, open_ends="()")),
    "n_iter_no_change": (
        _AUTO,
        Integer(1),
    ),
    "tol": (_AUTO, Real(0.0)),
    "ledger": (OneOf(False, True, "full"),),
    "verbose": (Integer(0), FLAG),
}
REGRESSION_RULES = RULES | {
    "loss": (OneOf(*REGRESSION_LOSSES), _CUSTOM_LOSS),
    "quantile": (NONE, _LEVEL, _Levels()),
    "huber_delta": (NONE, _POSITIVE),
    "tweedie_power": (Real(1.0, 2.0, open_ends="()"),),
}
CLASSIFICATION_RULES = RULES | {
    "loss": (OneOf(*CLASSIFICATION_LOSSES), _CUSTOM_LOSS),
    "class_weight": (NONE, OneOf("balanced"), Kind("a dict", Mapping)),
}


@parameters
class BoostingParameters:
    """Parameters of all gradient boosting estimators."""

    preset: Literal["auto", "classic", "strong"] = "auto"
    learning_rate: float | Auto = "auto"
    n_estimators: int | Auto = "auto"
    max_leaf_nodes: int | Auto | None = "auto"
    max_depth: int | None = None
    min_samples_leaf: int | float | Auto = "auto"
    l2_regularization: float | Auto = "auto"
    max_features: int | float | str | None = "auto"
    max_bins: int = 255
    categorical_features: Any = None
    monotonic_cst: Any = None
    interaction_cst: Any = None
    warm_start: bool = False
    early_stopping: bool | Auto = "auto"
    scoring: str | Callable[..., float] | None = "loss"
    validation_fraction: int | float | Auto | None = "auto"
    n_iter_no_change: int | Auto = "auto"
    tol: float | Auto = "auto"
    refit: bool | Auto = "auto"
    n_members: int | Auto = "auto"
    verbose: int = 0
    random_state: Any = None
    growth: Literal["auto", "leaf-wise", "level-wise", "symmetric", "mixed"] = "auto"
    random_strength: float | Auto = "auto"
    splitter: Literal["auto", "best", "random"] = "auto"
    min_gain: float = 0.0
    min_hessian: float = 1e-3
    sampling: Literal["auto", "uniform", "goss", "mvs"] = "auto"
    subsample: float | None = None
    colsample_bytree: float = 1.0
    categorical_split: Literal["auto", "subset", "one-vs-rest"] = "auto"
    categorical_encoding: Literal["auto", "subset", "ordered"] = "auto"
    categorical_smoothing: float | Auto = "auto"
    categorical_l2: float | Auto = "auto"
    unseen: Literal["missing", "error"] = "missing"
    ledger: bool | Literal["full"] = False
    n_jobs: int | None = None


def check_loss_parameters(owner: str, params: Mapping[str, Any]) -> None:
    """Raise InputError if a parameter of one loss is set and another loss is used."""
    for loss, name, default in LOSS_PARAMETERS:
        value, used = params[name], params["loss"]
        is_set = np.ndim(value) > 0 or value != default
        if is_set and not (isinstance(used, str) and used == loss):
            raise InputError(
                f"{name}={show_value(value)} has no effect on the loss {show_value(used)} of {owner}",
                fix=f'Set loss="{loss}", or leave {name} at {default}.',
            )


def read_interactions(given: Any, schema: Schema, origin: NDArray[np.int64]) -> list[list[int]]:
    """Return the sets of columns that may occur on one path; ``origin`` is the feature of each column."""
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
            f"interaction_cst contains {show_value(group)} instead of a set of features",
            fix="Pass a list of sets of column indices or names, such as [{0, 1}, {2}].",
        )
    return group


def _position(item: Any, schema: Schema) -> int:
    if isinstance(item, str) and schema.has_names and item in schema.names:
        return schema.names.index(item)
    is_integer = isinstance(item, int | np.integer) and not isinstance(item, bool)
    if is_integer and 0 <= int(item) < schema.n_features:
        return int(item)
    raise InputError(
        f"interaction_cst contains {show_value(item)}, which is not a column of X",
        fix=f"Use names, or indices from 0 to {schema.n_features - 1}.",
    )
