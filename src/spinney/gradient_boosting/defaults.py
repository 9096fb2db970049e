"""What "auto" stands for: the values that each preset chooses. All numbers found by experiments are here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np

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
N_MEMBERS_MIXED = 2
# A member whose validation loss exceeds the least one by more than this fraction is left out.
MAX_MEMBER_LOSS = 0.05

# The preset "strong" has members of different settings, several times each, every time on other validation
# rows. Small tables have more of them: there, which rows are held out decides more than anything else.
_SYMMETRIC: dict[str, Value] = {"growth": "symmetric"}
_DEEP = _SYMMETRIC | {"max_depth": 8, "max_features": 0.3, "random_strength": 2.0}
_SHALLOW = _SYMMETRIC | {"max_depth": 4, "max_features": 0.8, "l2_regularization": 3.0}
_LEAF_WISE: dict[str, Value] = {"growth": "leaf-wise"}
_FEW_LEAVES = _LEAF_WISE | {"max_leaf_nodes": 8, "max_features": 0.3, "l2_regularization": 3.0}
SMALL_VARIANTS = (_LEAF_WISE, _SYMMETRIC, _FEW_LEAVES, _SHALLOW, _DEEP)
LARGE_VARIANTS = (_LEAF_WISE, _SYMMETRIC, _DEEP)
N_TURNS_SMALL, N_TURNS_LARGE = 3, 2
# Tables of this many rows are large.
LARGE_ROWS = 2000
MAX_ROUNDS_STRONG = 5000
# Settings whose mean validation loss exceeds the least one by more than this fraction are left out.
MAX_VARIANT_LOSS = 0.1

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


def member_variants(preset: str, growth: object, n_rows: int) -> tuple[Mapping[str, Value], ...]:
    """Return the settings in which members differ from the model's; they take turns.

    Parameters
    ----------
    preset : {"auto", "classic", "strong"}
        The preset.
    growth : str
        How trees grow; variants that grow otherwise are left out, unless it is "mixed".
    n_rows : int
        Number of rows with a weight above 0.

    Returns
    -------
    tuple of dict
        Parameter to value, at least one.

    Examples
    --------
    >>> member_variants("auto", "mixed", 1000)
    ({'growth': 'leaf-wise'}, {'growth': 'symmetric'})
    >>> member_variants("auto", "symmetric", 1000)
    ({},)
    """
    variants: tuple[dict[str, Value], ...] = ({},)
    if preset == "strong" and n_rows >= MIN_ROWS:
        variants = SMALL_VARIANTS if n_rows < LARGE_ROWS else LARGE_VARIANTS
    elif growth == "mixed":
        variants = tuple({"growth": one} for one in MIXED_GROWTH)
    return tuple(one for one in variants if growth in ("mixed", one.get("growth", growth))) or ({},)


@dataclass(frozen=True)
class MemberPlan:
    """The settings of each member.

    Members take turns: those of one turn have the variants of the settings one after the other, the same
    seed and the same validation rows.

    Attributes
    ----------
    settings : mapping
        Parameters of the model, with the chosen ones instead of "auto".
    variants : tuple of mapping
        What the members of one turn have instead.

    Examples
    --------
    >>> plan = MemberPlan.of({"preset": "auto", "growth": "mixed", "max_depth": None}, {}, 1000)
    >>> [(plan.name(member), plan.turn(member)) for member in range(3)]
    [('leaf-wise', 0), ('symmetric', 0), ('leaf-wise', 1)]
    """

    settings: Mapping[str, Any]
    variants: tuple[Mapping[str, Value], ...]

    @classmethod
    def of(cls, settings: Mapping[str, Any], chosen: Mapping[str, Value], n_rows: int) -> Self:
        """Return the plan of a model; a parameter that the user has set is the same in all members."""
        free = {"growth", *chosen} | ({"max_depth"} if settings["max_depth"] is None else set())
        variants = member_variants(settings["preset"], settings["growth"], n_rows)
        return cls(
            settings,
            tuple({name: value for name, value in one.items() if name in free} for one in variants),
        )

    def _variant(self, member: int) -> Mapping[str, Value]:
        return self.variants[member % len(self.variants)]

    def turn(self, member: int) -> int:
        """Return the turn of a member."""
        return member // len(self.variants)

    def settings_of(self, member: int) -> Mapping[str, Any]:
        """Return the parameters of a member."""
        return {**self.settings, **self._variant(member)}

    def name(self, member: int) -> str:
        """Return how a member grows trees, and what else it has of its own."""
        variant = self._variant(member)
        others = [f"{name}={value}" for name, value in variant.items() if name != "growth"]
        return ", ".join([str(variant.get("growth", self.settings["growth"])), *others])

    def is_kept(self, losses: Sequence[float]) -> list[bool]:
        """Return whether each member is averaged, by the validation losses of all.

        In the preset "strong" the mean losses of the variants are compared, over turns in which all are.
        """
        n, n_variants = len(losses), len(self.variants)
        if n_variants == 1:
            return [True] * n
        if self.settings["preset"] != "strong":
            least = min(losses)
            return [loss <= least + MAX_MEMBER_LOSS * abs(least) for loss in losses]
        n_turns = n // n_variants
        if n_turns == 0:
            return [True] * n
        means = np.reshape(losses[: n_turns * n_variants], (n_turns, n_variants)).mean(axis=0)
        kept = means <= means.min() + MAX_VARIANT_LOSS * abs(means.min())
        return [bool(kept[member % n_variants]) for member in range(n)]


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
    growth = values["growth"] if is_auto(given["growth"]) else given["growth"]
    n_variants = len(member_variants("strong", growth, facts.n_rows))
    n_turns = N_TURNS_SMALL if facts.n_rows < LARGE_ROWS else N_TURNS_LARGE
    rounds: dict[str, Value] = {"n_estimators": MAX_ROUNDS_STRONG} if values["early_stopping"] else {}
    return values | rounds | {"n_members": n_turns * n_variants}


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
