"""What "auto" stands for: the values that each preset chooses. All numbers found by experiments are here."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

from spinney.core.elementary import exp, log
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
# min_samples_leaf is the number of rows divided by the first, between the other two. Squared errors need
# smaller leaves: their trees are averages of few targets, which later rounds correct.
ROWS_PER_LEAF_ROW, MIN_LEAF, MAX_LEAF, MAX_LEAF_SQUARED = 100, 1, 20, 3
# Losses that bound the effect of outliers need leaves with more rows than a few outliers: at least the number
# of rows divided by the first, between the other two.
ROBUST_LOSSES = ("absolute", "huber", "adaptive_huber", "quantile")
ROWS_PER_ROBUST_LEAF_ROW, MIN_ROBUST_LEAF, ENOUGH_ROBUST_LEAF = 20, 5, 10
CATEGORICAL_SPLIT = "subset"
CATEGORICAL_SMOOTHING = 1.0
CATEGORICAL_L2 = 1.0

# Fewer rows than this are all trained on, without early stopping and without sampling.
MIN_ROWS = 50
SMALL_ROUNDS, SMALL_RATE = 100, 0.1
# They have few features per node and a larger λ, from this many rows on; below, all features and λ 1.
MIN_ROWS_TO_DRAW, SMALL_L2 = 20, 3.0
SMALL_FEATURES: dict[Kind, float] = {"binary": 0.1, "multiclass": 0.1, "regression": 0.3}

# Depth of symmetric trees where max_depth is None.
SYMMETRIC_DEPTH = {"classification": 6, "regression": 7}
# Noise on the scores of symmetric splits.
RANDOM_STRENGTH = 1.0
# Leaf-wise and symmetric trees win on different tables, and their mean is better than either.
GROWTH = "mixed"
SYMMETRIC_GROWTH = ("symmetric", "mixed")
# Members take turns, every time on other validation rows. Small tables have more turns: there, which rows are
# held out decides more than anything else. Pairs of a number of rows and the turns below it, else 1.
N_TURNS = ((2000, 2),)
# A member is left out where its validation loss exceeds the least of its turn by more than this fraction, and
# its settings are not tried in later turns if it does so by more than the second.
MAX_MEMBER_LOSS, MAX_LOSS_TO_TRY_AGAIN = 0.1, 0.3

# Small tables of two classes are noisy: few features per node, few rows per tree and a larger λ are better
# there, less so from the first of these numbers of rows on. Rules without noise need all that a tree can do,
# and a small λ, since their hessians vanish: a member for them is kept where its loss is less by an eighth.
TINY_ROWS, MODERATE_ROWS, SMALL_ROWS, STRONG_SMALL_ROWS = 200, 1000, 2000, 5000
NOISY: dict[str, Value] = {
    "max_features": 0.1,
    "subsample": 0.5,
    "l2_regularization": 3.0,
    "random_strength": 2.0,
}
MODERATE: dict[str, Value] = {
    "max_features": 0.25,
    "subsample": 0.6,
    "l2_regularization": 2.0,
    "random_strength": 1.5,
}
SHARP: dict[str, Value] = {
    "max_features": 1.0,
    "subsample": SUBSAMPLE,
    "l2_regularization": 0.1,
    "random_strength": 0.0,
}
HANDICAP, SMALL_HANDICAP = 1.25, 1.1
# More classes: trees of rules whose rows and splits are drawn with noise, and shallow ones.
NOISY_RULES: dict[str, Value] = {"subsample": 0.5, "l2_regularization": 0.1, "random_strength": 2.0}
FLAT: dict[str, Value] = {"max_depth": 4, "max_features": 0.3, "random_strength": 2.0}
DEEP_NOISY: dict[str, Value] = NOISY | {"max_depth": 8}
DEEP: dict[str, Value] = {"max_depth": 8, "max_features": 0.3, "random_strength": 2.0}
DEEPER: dict[str, Value] = {"max_depth": 9}
SHALLOW: dict[str, Value] = {"max_depth": 5}
SHALLOWER: dict[str, Value] = {"max_depth": 3}
# One random threshold per feature, as in extra-trees. A choice among all features is better then, but not
# for more classes, which keep half of them.
RANDOM_HALF: dict[str, Value] = {"splitter": "random"}
RANDOM: dict[str, Value] = RANDOM_HALF | {"max_features": 1.0}
RANDOM_SHARP: dict[str, Value] = SHARP | RANDOM
# The preset "strong" has them with the settings for noise too, and trees of depth 3 that see all features.
RANDOM_NOISY: dict[str, Value] = RANDOM_HALF | {
    "max_features": 0.3,
    "subsample": 0.5,
    "l2_regularization": 3.0,
}
SIMPLE: dict[str, Value] = SHALLOWER | {
    "max_features": 1.0,
    "subsample": SUBSAMPLE,
    "l2_regularization": 3.0,
    "random_strength": RANDOM_STRENGTH,
}

# The preset "strong" has more turns. Those of more classes take the longest.
N_TURNS_STRONG: dict[Kind, tuple[tuple[int, int], ...]] = {
    "binary": ((1000, 5), (2000, 4), (50_000, 2)),
    "multiclass": ((1000, 5), (2000, 3), (5000, 2)),
    "regression": ((2000, 3), (50_000, 2)),
}
MAX_ROUNDS_STRONG = 5000

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
    "splitter": "best",
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
    is_robust : bool
        Whether the loss bounds the effect of outliers. Symmetric trees, whose leaves may be of single rows,
        are ruled out then too.
    is_squared : bool
        Whether the loss is the squared error.
    """

    n_rows: int
    kind: Kind
    has_eval_set: bool = False
    has_score: bool = True
    leaf_wise_only: bool = False
    is_robust: bool = False
    is_squared: bool = False


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


@dataclass(frozen=True)
class Variant:
    """Settings in which a member differs from the model's.

    Attributes
    ----------
    settings : mapping
        Parameter to value.
    handicap : float
        Factor of its validation loss where members are compared: above 1, it must be that much better.
    """

    settings: Mapping[str, Value]
    handicap: float = 1.0

    def with_only(self, names: Container[str]) -> Self:
        """Return the variant without the settings of other parameters."""
        return replace(self, settings={k: value for k, value in self.settings.items() if k in names})


def member_variants(params: Mapping[str, Any], kind: Kind, n_rows: int) -> tuple[Variant, ...]:
    """Return the settings in which members differ from the model's; they take turns.

    Parameters
    ----------
    params : mapping
        Parameters of the model: `preset`, `growth`, `early_stopping` and `n_members`. Variants that grow
        otherwise than `growth` are left out, unless it is "mixed".
    kind : {"binary", "multiclass", "regression"}
        What is learned.
    n_rows : int
        Number of rows with a weight above 0.

    Returns
    -------
    tuple of Variant
        At least one.

    Examples
    --------
    >>> params = {"preset": "auto", "growth": "mixed", "early_stopping": True, "n_members": 2}
    >>> [one.settings for one in member_variants(params, "regression", 10_000)]
    [{'growth': 'leaf-wise'}, {'growth': 'symmetric'}]
    >>> member_variants(params | {"growth": "symmetric"}, "multiclass", 1000)
    (Variant(settings={}, handicap=1.0),)
    """
    growth, is_strong = params["growth"], params["preset"] == "strong" and n_rows >= MIN_ROWS
    variants: tuple[Variant, ...] = (Variant({}),)
    if growth == "mixed" and kind == "multiclass" and not _has_choice(params):
        variants = (_symmetric({}),)
    elif growth == "mixed" and not _has_choice(params) and not is_strong:
        variants = _leaf_wise({}), _symmetric({})
    elif (is_strong or growth == "mixed") and kind == "binary":
        variants = _binary_variants(n_rows, is_strong, is_noisy(params, kind, n_rows))
    elif is_strong or growth == "mixed":
        choose_variants = _multiclass_variants if kind == "multiclass" else _regression_variants
        variants = choose_variants(n_rows, is_strong)
    fitting = tuple(one for one in variants if growth in ("mixed", one.settings.get("growth", growth)))
    return fitting or (Variant({}),)


def _leaf_wise(settings: Mapping[str, Value], handicap: float = 1.0) -> Variant:
    used = {name: value for name, value in settings.items() if name != "random_strength"}
    return Variant({"growth": "leaf-wise", **used}, handicap)


def _symmetric(settings: Mapping[str, Value], handicap: float = 1.0) -> Variant:
    return Variant({"growth": "symmetric", **settings}, handicap)


def _binary_variants(n_rows: int, is_strong: bool, noisy: bool) -> tuple[Variant, ...]:
    """Return the variants of two classes; `noisy` if the model has the settings for noisy tables."""
    leaf_wise, symmetric, rules = _leaf_wise({}), _symmetric({}), _leaf_wise(RANDOM_SHARP, HANDICAP)
    if noisy and n_rows < TINY_ROWS:
        few = leaf_wise, _symmetric(RANDOM), rules
        return (*few, symmetric) if is_strong else few
    if noisy and n_rows < MODERATE_ROWS:
        few = leaf_wise, symmetric, rules
        return (*few, _leaf_wise(RANDOM_NOISY), _symmetric(SIMPLE)) if is_strong else few
    if noisy:
        moderate = _symmetric(MODERATE)
        return (leaf_wise, symmetric, moderate, rules) if is_strong else (leaf_wise, moderate, rules)
    if is_strong and n_rows >= SMALL_ROWS:
        further = _symmetric(DEEP), _leaf_wise(SHARP, SMALL_HANDICAP), _symmetric(RANDOM)
        of_small_tables = (_leaf_wise(RANDOM),) if n_rows < STRONG_SMALL_ROWS else ()
        return leaf_wise, symmetric, *further, *of_small_tables
    return leaf_wise, symmetric, _leaf_wise(RANDOM_SHARP)


def _multiclass_variants(n_rows: int, is_strong: bool) -> tuple[Variant, ...]:
    """Return the variants of more than two classes."""
    ordinary, random = _symmetric({}), _leaf_wise(RANDOM_HALF)
    rules, noisy, sharp = _symmetric(NOISY_RULES), _symmetric(NOISY), _symmetric(SHARP)
    if n_rows < MODERATE_ROWS and is_strong:
        return rules, _symmetric(SIMPLE), random, _leaf_wise(RANDOM_NOISY), _symmetric(RANDOM)
    further: tuple[Variant, ...] = ()
    if n_rows < MODERATE_ROWS:
        variants = rules, ordinary, random
    elif n_rows < SMALL_ROWS:
        variants, further = (ordinary, noisy, random), (rules, _symmetric(RANDOM))
    else:
        first = _symmetric(FLAT) if n_rows < STRONG_SMALL_ROWS else _symmetric(RANDOM_SHARP)
        variants, further = (first, sharp, random), (_symmetric(DEEP_NOISY),)
    return (*variants, *further) if is_strong else variants


def _regression_variants(n_rows: int, is_strong: bool) -> tuple[Variant, ...]:
    """Return the variants of numbers."""
    leaf_wise, symmetric = _leaf_wise({}), _symmetric({})
    random = _leaf_wise(RANDOM)
    if n_rows < SMALL_ROWS:
        depths = (symmetric, _symmetric(SHALLOWER)) if is_strong else (_symmetric(SHALLOW),)
        further = (_symmetric(SIMPLE), random) if is_strong and n_rows < MODERATE_ROWS else ()
        return leaf_wise, *depths, _symmetric(SHARP), *further
    if is_strong and n_rows < STRONG_SMALL_ROWS:
        return leaf_wise, _symmetric(SHALLOWER), _symmetric(DEEPER), _symmetric(SHARP), random
    if is_strong:
        return leaf_wise, symmetric, _symmetric(DEEP), _symmetric(DEEPER), random
    return random, symmetric


def _has_choice(params: Mapping[str, Any]) -> bool:
    """Return whether members can be compared: by validation rows, and there are several."""
    return bool(params["early_stopping"]) and (is_auto(params["n_members"]) or params["n_members"] > 1)


def is_noisy(params: Mapping[str, Any], kind: Kind, n_rows: int) -> bool:
    """Return whether members have the settings for noisy tables, beside one for rules without noise.

    Whether a table is noisy is then seen by the losses of validation rows.
    """
    n_members = params["n_members"]
    is_free = params["growth"] == "mixed" and _has_choice(params) and (is_auto(n_members) or n_members > 2)
    return is_free and params["preset"] != "classic" and kind == "binary" and MIN_ROWS <= n_rows < SMALL_ROWS


@dataclass(frozen=True)
class MemberPlan:
    """The settings of each member.

    Members take turns: those of one turn have the variants of the settings one after the other, the same
    seed and the same validation rows.

    Attributes
    ----------
    settings : mapping
        Parameters of the model, with the chosen ones instead of "auto".
    variants : tuple of Variant
        What the members of one turn have instead.

    Examples
    --------
    >>> settings = {"preset": "auto", "growth": "mixed", "early_stopping": True, "n_members": 4}
    >>> plan = MemberPlan.of(settings | {"max_depth": None}, {}, "regression", 3000)
    >>> [(plan.name(member), plan.turn(member)) for member in range(3)]
    [('leaf-wise', 0), ('symmetric', 0), ('leaf-wise', 1)]
    """

    settings: Mapping[str, Any]
    variants: tuple[Variant, ...]

    @classmethod
    def of(cls, settings: Mapping[str, Any], chosen: Mapping[str, Value], kind: Kind, n_rows: int) -> Self:
        """Return the plan of a model; a parameter that the user has set is the same in all members."""
        free = {"growth", *chosen} | ({"max_depth"} if settings["max_depth"] is None else set())
        variants = member_variants(settings, kind, n_rows)
        different: list[Variant] = []
        for variant in (one.with_only(free) for one in variants):
            if variant.settings not in [one.settings for one in different]:
                different.append(variant)
        return cls(settings, tuple(different))

    def _variant(self, member: int) -> Variant:
        return self.variants[member % len(self.variants)]

    def turn(self, member: int) -> int:
        """Return the turn of a member."""
        return member // len(self.variants)

    def settings_of(self, member: int) -> Mapping[str, Any]:
        """Return the parameters of a member."""
        return {**self.settings, **self._variant(member).settings}

    def name(self, member: int) -> str:
        """Return how a member grows trees, and what else it has of its own."""
        variant = self._variant(member).settings
        others = [f"{name}={value}" for name, value in variant.items() if name != "growth"]
        return ", ".join([str(variant.get("growth", self.settings["growth"])), *others])

    def is_kept(self, member: int, losses: Sequence[float]) -> bool:
        """Return whether a member is averaged: not if its loss is far from the least one of its turn.

        Parameters
        ----------
        member : int
            Index of the member.
        losses : sequence of float
            Validation losses of the members so far, NaN for those that were not fitted.

        Returns
        -------
        bool
            What is known so far: a later member of the turn may have a lower loss.

        Examples
        --------
        >>> plan = MemberPlan({}, (Variant({"growth": "leaf-wise"}), Variant({"growth": "symmetric"})))
        >>> [plan.is_kept(member, [1.0, 1.2, 3.0, 3.1]) for member in range(4)]
        [True, False, True, True]
        """
        return not self._exceeds(member, losses, MAX_MEMBER_LOSS)

    def is_tried(self, member: int, losses: Sequence[float]) -> bool:
        """Return whether a member is fitted: not if its settings were much worse in an earlier turn."""
        earlier = range(member - len(self.variants), -1, -len(self.variants))
        return not any(self._exceeds(one, losses, MAX_LOSS_TO_TRY_AGAIN) for one in earlier)

    def _exceeds(self, member: int, losses: Sequence[float], fraction: float) -> bool:
        begin = self.turn(member) * len(self.variants)
        turn = [
            loss * variant.handicap
            for loss, variant in zip(losses[begin : begin + len(self.variants)], self.variants, strict=False)
        ]
        least = min((loss for loss in turn if not math.isnan(loss)), default=0.0)
        return turn[member - begin] > least + fraction * abs(least)


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
        "min_samples_leaf": _min_leaf(facts),
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
    }
    if MIN_ROWS_TO_DRAW <= facts.n_rows < MIN_ROWS:
        values |= {"l2_regularization": SMALL_L2, "max_features": SMALL_FEATURES[facts.kind]}
    is_leaf_wise = is_small or facts.leaf_wise_only or facts.is_robust
    growth: str = "leaf-wise" if is_leaf_wise else GROWTH
    growth = values["growth"] = growth if is_auto(given["growth"]) else given["growth"]
    values["splitter"] = "best"
    values["random_strength"] = RANDOM_STRENGTH if growth in SYMMETRIC_GROWTH and not is_small else 0.0
    values |= _members(given, facts, growth, stops)
    return values if is_small else {"subsample": SUBSAMPLE, **values}


def _members(given: Mapping[str, Any], facts: Facts, growth: str, stops: bool) -> dict[str, Value]:
    """Return the number of members, and what they have in common."""
    params = {**given, "growth": growth, "early_stopping": stops}
    is_strong = given["preset"] == "strong" and facts.n_rows >= MIN_ROWS
    is_free = is_auto(given["growth"]) and stops and not facts.leaf_wise_only and facts.n_rows >= MIN_ROWS
    by_rows = N_TURNS_STRONG[facts.kind] if is_strong else N_TURNS if is_free else ()
    n_turns = next((turns for limit, turns in by_rows if facts.n_rows < limit), 1)
    n_variants = len(member_variants(params, facts.kind, facts.n_rows))
    noisy = NOISY if is_noisy(params, facts.kind, facts.n_rows) else {}
    values: dict[str, Value] = {"n_members": n_turns * n_variants, **noisy}
    return values | ({"n_estimators": MAX_ROUNDS_STRONG} if is_strong and stops else {})


def _min_leaf(facts: Facts) -> int:
    """Return the minimum number of rows in a leaf."""
    least = MIN_LEAF
    if facts.is_robust:
        least = min(max(facts.n_rows // ROWS_PER_ROBUST_LEAF_ROW, MIN_ROBUST_LEAF), ENOUGH_ROBUST_LEAF)
    most = MAX_LEAF_SQUARED if facts.is_squared else MAX_LEAF
    return min(max(facts.n_rows // ROWS_PER_LEAF_ROW, least), most)


def _rate(n_rounds: Any, facts: Facts) -> float:
    """Return the learning rate, larger where the user allows only a few rounds."""
    a, b, c = RATE_LAW[facts.kind]
    rate = float(exp(a * log(facts.n_rows) + b))
    if is_auto(n_rounds) or n_rounds >= LAW_ROUNDS:
        return min(MAX_RATE, rate)
    return min(MAX_RATE_FEW_ROUNDS, rate * float(exp(c * log(n_rounds / LAW_ROUNDS))))


_PRESETS: dict[str, Callable[[Mapping[str, Any], Facts], dict[str, Value]]] = {
    "auto": _auto,
    "classic": _classic,
    "strong": _auto,
}
