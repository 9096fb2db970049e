"""What "auto" stands for: the values that each preset chooses. All numbers found by experiments are here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from spinney.core.errors import InputError, ModelFileError

Kind = Literal["binary", "multiclass", "regression"]
Value: TypeAlias = bool | int | float | str | tuple[int, ...] | tuple[str, ...] | None

PRESETS = ("auto", "classic", "strong")

# ---- numbers of the presets "auto" and "strong" ----

# CatBoost's law of the learning rate with a validation set: exp(A ln n + B) · (rounds / 1000)^C for n rows.
# C is applied only where the user sets the number of rounds.
RATE_LAW: dict[Kind, tuple[float, float, float]] = {
    "binary": (0.247, -5.158, -0.435),
    "multiclass": (0.020, -2.364, -0.382),
    "regression": (0.157, -4.062, -0.610),
}
MAX_RATE = 0.1
# The largest rate where the user sets fewer rounds than 1000.
MAX_RATE_FEW_ROUNDS = 0.3
LAW_ROUNDS = 1000

MAX_ROUNDS = 1500
# Number of rounds without early stopping.
FIXED_ROUNDS = 500
VALIDATION_FRACTION = 0.2
PATIENCE = 60
TOL = 0.0

MAX_LEAF_NODES = 31
L2_REGULARIZATION = 1.0
SAMPLING, SUBSAMPLE = "mvs", 0.7
MAX_FEATURES = 0.5
# min_samples_leaf is the number of rows divided by the first, between the other two.
ROWS_PER_LEAF_ROW, MIN_LEAF, MAX_LEAF = 100, 1, 20
CATEGORICAL_SPLIT = "subset"
CATEGORICAL_SMOOTHING = 1.0
CATEGORICAL_L2 = 1.0

# Fewer rows than this are all trained on, without early stopping and without sampling.
MIN_ROWS = 50
SMALL_ROUNDS, SMALL_RATE = 100, 0.1

# Depth of symmetric trees where max_depth is None.
SYMMETRIC_DEPTH = {"classification": 6, "regression": 7}
# Noise on the scores of symmetric splits.
RANDOM_STRENGTH = 1.0
# Leaf-wise and symmetric trees win on different tables, and their mean is better than either. With more than
# two classes symmetric trees alone are as good, in half the time.
GROWTH: dict[Kind, str] = {"binary": "mixed", "multiclass": "symmetric", "regression": "mixed"}
MIXED_GROWTH = ("leaf-wise", "symmetric")
SYMMETRIC_GROWTH = ("symmetric", "mixed")
N_MEMBERS_MIXED, N_MEMBERS_STRONG = 2, 6
# A member whose validation loss exceeds the least one by more than this fraction is left out.
MAX_MEMBER_LOSS = 0.05

# ---- numbers of the preset "classic": the defaults of scikit-learn's HistGradientBoosting ----

CLASSIC: dict[str, Value] = {
    "learning_rate": 0.1,
    "n_estimators": 100,
    "max_leaf_nodes": 31,
    "min_samples_leaf": 20,
    "l2_regularization": 0.0,
    "max_features": 1.0,
    "sampling": "uniform",
    "validation_fraction": 0.1,
    "n_iter_no_change": 10,
    "tol": 1e-7,
    "growth": "leaf-wise",
    "random_strength": 0.0,
    "categorical_split": "subset",
    "categorical_smoothing": 10.0,
    "categorical_l2": 10.0,
    "n_members": 1,
}
CLASSIC_MIN_ROWS_TO_STOP = 10_000
"""The preset "classic" stops larger tables early."""


@dataclass(frozen=True)
class Facts:
    """What the choices depend on.

    Attributes
    ----------
    n_rows : int
        Number of rows with a weight above 0.
    kind : {"binary", "multiclass", "regression"}
        What is learned.
    has_eval_set : bool
        Whether validation rows are given.
    has_score : bool
        Whether there is a score to stop by: a loss of one's own may have only derivatives.
    leaf_wise_only : bool
        Whether symmetric trees are ruled out: by constraints on features, or because rounds may be added to
        the model later.
    """

    n_rows: int
    kind: Kind
    has_eval_set: bool = False
    has_score: bool = True
    leaf_wise_only: bool = False


def is_auto(value: object) -> bool:
    """Return whether a parameter is left to the preset.

    >>> is_auto("auto"), is_auto(0.1)
    (True, False)
    """
    return isinstance(value, str) and value == "auto"


def choose(given: Mapping[str, Any], facts: Facts) -> dict[str, Value]:
    """Return the value of every parameter that is "auto".

    Parameters
    ----------
    given : mapping
        Parameters of the estimator by name.
    facts : Facts
        What is known about the training rows.

    Returns
    -------
    dict
        Parameter to value; `subsample` only where it is None and the preset has a fraction of its own.

    Examples
    --------
    >>> from spinney import GradientBoostingClassifier
    >>> chosen = choose(GradientBoostingClassifier().get_params(), Facts(10_000, "binary"))
    >>> round(chosen["learning_rate"], 3), chosen["min_samples_leaf"], chosen["subsample"]
    (0.056, 20, 0.7)
    """
    values = _PRESETS[given["preset"]](given, facts)
    chosen = {name: value for name, value in values.items() if is_auto(given[name])}
    if given["subsample"] is None and "sampling" in chosen and "subsample" in values:
        chosen["subsample"] = values["subsample"]
    return chosen


def check_growth(params: Mapping[str, Any]) -> None:
    """Raise InputError if parameters are set that the trees do not support."""
    if params["growth"] not in SYMMETRIC_GROWTH:
        if params["random_strength"] > 0:
            raise InputError(
                f"random_strength={params['random_strength']} has no effect on {params['growth']} trees",
                fix='Set growth="symmetric" or "mixed", or leave random_strength out.',
            )
        return
    for name in ("monotonic_cst", "interaction_cst"):
        if params[name] is not None:
            raise InputError(
                f'growth="{params["growth"]}" does not support {name}',
                fix='Set growth="leaf-wise", or leave the constraint out.',
            )


def check_chosen(chosen: object) -> None:
    """Raise ModelFileError unless this is a dict of names and plain values, as `choose` makes."""
    if not isinstance(chosen, dict) or not all(type(name) is str for name in chosen):
        raise ModelFileError("The chosen parameters must be a dict of names and values.")
    for value in chosen.values():
        plain = value is None or type(value) in (bool, int, float, str)
        if not plain and not (type(value) is tuple and all(type(part) in (int, str) for part in value)):
            raise ModelFileError("A chosen parameter is not a plain value.")


def refit_rounds(best: int, n_rows: int, n_trained: int) -> int:
    """Return the number of rounds on all rows, after the best round on a part of them is known.

    >>> refit_rounds(100, n_rows=1000, n_trained=800)
    125
    """
    return max(1, round(best * n_rows / n_trained))


def _classic(given: Mapping[str, Any], facts: Facts) -> dict[str, Value]:
    stops = facts.has_eval_set or facts.n_rows > CLASSIC_MIN_ROWS_TO_STOP
    return CLASSIC | {"early_stopping": stops, "refit": False}


def _auto(given: Mapping[str, Any], facts: Facts) -> dict[str, Value]:
    is_small = facts.n_rows < MIN_ROWS
    stops = facts.has_eval_set or (facts.has_score and not is_small)
    stops = stops if is_auto(given["early_stopping"]) else bool(given["early_stopping"])
    n_rounds = MAX_ROUNDS if stops else SMALL_ROUNDS if is_small else FIXED_ROUNDS
    values: dict[str, Value] = {
        "early_stopping": stops,
        "n_estimators": n_rounds,
        "learning_rate": SMALL_RATE if is_small else _rate(given["n_estimators"], facts),
        "max_leaf_nodes": MAX_LEAF_NODES,
        "min_samples_leaf": min(max(facts.n_rows // ROWS_PER_LEAF_ROW, MIN_LEAF), MAX_LEAF),
        "l2_regularization": L2_REGULARIZATION,
        "max_features": 1.0 if is_small else MAX_FEATURES,
        "sampling": "uniform" if is_small else SAMPLING,
        "validation_fraction": VALIDATION_FRACTION,
        "n_iter_no_change": PATIENCE,
        "tol": TOL,
        "categorical_split": CATEGORICAL_SPLIT,
        "categorical_smoothing": CATEGORICAL_SMOOTHING,
        "categorical_l2": CATEGORICAL_L2,
        "refit": stops and not facts.has_eval_set,
        "growth": "leaf-wise" if is_small or facts.leaf_wise_only else GROWTH[facts.kind],
        "n_members": 1,
    }
    growth = values["growth"] if is_auto(given["growth"]) else given["growth"]
    if growth == "mixed":
        values["n_members"] = N_MEMBERS_MIXED
    values["random_strength"] = RANDOM_STRENGTH if growth in SYMMETRIC_GROWTH and not is_small else 0.0
    return values if is_small else values | {"subsample": SUBSAMPLE}


def _strong(given: Mapping[str, Any], facts: Facts) -> dict[str, Value]:
    values = _auto(given, facts)
    if facts.n_rows < MIN_ROWS:  # without sampling and validation rows all members would be the same
        return values
    mixed = {} if facts.leaf_wise_only else {"growth": "mixed"}
    return values | mixed | {"n_members": N_MEMBERS_STRONG}


def _rate(n_rounds: Any, facts: Facts) -> float:
    """Return the learning rate, larger where the user allows only a few rounds."""
    a, b, c = RATE_LAW[facts.kind]
    rate = math.exp(a * math.log(facts.n_rows) + b)
    if is_auto(n_rounds) or n_rounds >= LAW_ROUNDS:
        return min(MAX_RATE, rate)
    return min(MAX_RATE_FEW_ROUNDS, rate * math.pow(n_rounds / LAW_ROUNDS, c))


_PRESETS: dict[str, Callable[[Mapping[str, Any], Facts], dict[str, Value]]] = {
    "auto": _auto,
    "classic": _classic,
    "strong": _strong,
}
