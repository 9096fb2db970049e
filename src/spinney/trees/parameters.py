"""Parameters of trees: the values they accept, and the `GrowPlan` that they make for a training set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spinney.base import parameters
from spinney.core.arrays import Floats, chunk_sum
from spinney.core.errors import InputError, show_value, show_values, suggest_columns
from spinney.core.parameters import (
    FLAG,
    NONE,
    ArrayLike,
    Integer,
    Kind,
    OneOf,
    Real,
    Rule,
    Use,
    features_to_try,
    plain_values,
    rows_or_share,
)
from spinney.data.bin_mapper import BinMapper
from spinney.data.schema import Schema
from spinney.data.training_set import Task, TrainingSet
from spinney.losses.criteria import CRITERIA, impurity_scale
from spinney.tree.plan import LEAST_GAIN, NO_LIMIT, GrowPlan

# Rules of the parameters that more than one estimator has; an estimator adds its own.
RULES: dict[str, tuple[Rule, ...]] = {
    "splitter": (OneOf("best", "random"),),
    "max_depth": (NONE, Integer(1)),
    "min_samples_split": (Integer(2), Real(0.0, 1.0, open_ends="(", fraction=True)),
    "min_samples_leaf": (Integer(1), Real(0.0, 1.0, open_ends="()", fraction=True)),
    "min_weight_fraction_leaf": (Real(0.0, 0.5),),
    "max_features": (
        NONE,
        OneOf("sqrt", "log2"),
        Integer(1),
        Real(0.0, 1.0, open_ends="(", fraction=True),
    ),
    "max_leaf_nodes": (NONE, Integer(2)),
    "min_impurity_decrease": (Real(0.0),),
    "class_weight": (NONE, OneOf("balanced"), Kind("a dict", dict), Kind("a list of dicts", list)),
    "ccp_alpha": (Real(0.0),),
    "monotonic_cst": (NONE, Kind("a dict by feature name", Mapping), ArrayLike()),
    "max_bins": (NONE, Integer(2, 255), Kind("the bins of another model", BinMapper)),
    "categorical_split": (OneOf("subset", "one-vs-rest"),),
    "missing": (OneOf("direction", "fractional"),),
    "unseen": (OneOf("missing", "error"),),
    "feature_costs": (NONE, Kind("a dict by feature name", Mapping), ArrayLike()),
    "cost_rule": (OneOf("tan", "tan-linear", "nunez"),),
    "cost_omega": (Real(0.0, 1.0),),
    "pruning": (OneOf(None, "pre", "reduced-error", "pessimistic", "cost-complexity"),),
    "prune_ties": (FLAG,),
    "validation_fraction": (Real(0.0, 1.0, open_ends="()"),),
    "confidence": (Real(0.0, 1.0, open_ends="()"),),
    "pruning_cv": (Integer(2),),
    "one_se": (FLAG,),
    "ledger": (OneOf(False, True, "full"),),
}

COST_USES = (
    Use(("cost_rule", "cost_omega"), "feature_costs", unless=(None,)),
    Use(("cost_omega",), "cost_rule", values=("nunez",)),
)
TREE_USES = (
    *COST_USES,
    Use(("validation_fraction",), "pruning", values=("pre", "reduced-error")),
    Use(("prune_ties",), "pruning", values=("reduced-error",)),
    Use(("confidence",), "pruning", values=("pessimistic",)),
    Use(("pruning_cv", "one_se"), "pruning", values=("cost-complexity",)),
    Use(("pruning_cv", "one_se"), "ccp_alpha", values=(0, 0.0)),
)

# ID3 and C4.5 split rows into parts, and a branch may have less than one row.
NO_LEAF_LIMIT: dict[str, tuple[Rule, ...]] = {"min_samples_leaf": (NONE, *RULES["min_samples_leaf"])}


def criteria(task: Task) -> OneOf:
    """Return the rule of ``criterion``.

    >>> str(criteria("classification"))
    "'gini' or 'entropy' or 'log_loss' or 'error'"
    """
    return OneOf(*(name for name, criterion in CRITERIA.items() if criterion.task == task))


@parameters
class GrowthParameters:
    """Parameters that every tree is grown by: its size, the features it may use, and what they cost."""

    max_depth: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float | None = 1
    min_weight_fraction_leaf: float = 0.0
    max_features: int | float | str | None = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    feature_costs: Any = None
    cost_rule: Literal["tan", "tan-linear", "nunez"] = "tan"
    cost_omega: float = 1.0


@parameters
class CommonParameters(GrowthParameters):
    """Parameters of all estimators of trees and forests."""

    ccp_alpha: float = 0.0
    unseen: Literal["missing", "error"] = "missing"
    random_state: Any = None
    n_jobs: int | None = None


@parameters
class SingleTreeParameters(CommonParameters):
    """Parameters of all estimators of one tree."""

    pruning: Literal["pre", "reduced-error", "pessimistic", "cost-complexity"] | None = None
    prune_ties: bool = True
    validation_fraction: float = 0.25
    confidence: float = 0.25
    pruning_cv: int = 5
    one_se: bool = False
    ledger: bool | Literal["full"] = False


@parameters
class BinaryParameters:
    """Parameters of estimators with binary splits by any criterion."""

    criterion: str
    categorical_features: Any = None
    categorical_split: Literal["subset", "one-vs-rest"] = "subset"


@parameters
class CartParameters(BinaryParameters):
    """Parameters of CART trees and forests of them."""

    monotonic_cst: Any = None
    max_bins: int | BinMapper | None = 255
    missing: Literal["direction", "fractional"] = "direction"


@dataclass(kw_only=True)
class TreeParameters(GrowthParameters):
    """Parameters that decide how a tree is grown; those of all algorithms together.

    Their names and meanings are those of the parameters of the tree estimators. Ensembles of trees make one,
    by `from_params`, and call `plan`.

    Attributes
    ----------
    task : {"classification", "regression"}
        What is learned.
    criterion : str
        Impurity that splits reduce.
    score : {"gain", "gain_ratio"}
        How features are compared.
    splitter : {"best", "random"}
        Whether thresholds are searched or drawn.
    categorical_split : {"subset", "one-vs-rest", "multiway"}
        How categories are split.
    missing : {"direction", "fractional"}
        How missing values are handled.
    n_directions : int
        Number of random directions of oblique splits, 0 for none.
    min_gain : float or None
        Smallest gain of a split. None: 0, and with fractional instances what is not rounding noise.
    mdl_correction : bool
        Whether the gain of a numeric split is reduced by log2(number of thresholds) / rows.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_features, max_leaf_nodes, \
min_impurity_decrease, monotonic_cst, feature_costs, cost_rule, cost_omega, ledger
        See `DecisionTreeClassifier`.

    Examples
    --------
    >>> from spinney.data import read_table
    >>> training = TrainingSet.read(read_table([[0.0], [1.0]]), [0, 1], task="classification")
    >>> parameters = TreeParameters(task="classification", criterion="gini", min_samples_leaf=0.5)
    >>> parameters.plan(training).min_samples_leaf
    1
    """

    task: Task
    criterion: str
    score: Literal["gain", "gain_ratio"] = "gain"
    splitter: Literal["best", "random"] = "best"
    categorical_split: Literal["subset", "one-vs-rest", "multiway"] = "subset"
    missing: Literal["direction", "fractional"] = "direction"
    n_directions: int = 0
    min_gain: float | None = None
    mdl_correction: bool = False
    monotonic_cst: Any = None
    ledger: bool | Literal["full"] = False

    @classmethod
    def from_params(cls, params: Mapping[str, Any], **fixed: Any) -> TreeParameters:
        """Take the parameters of a tree from those of an estimator.

        Parameters
        ----------
        params : mapping
            Parameters by name, such as ``vars(estimator)``; others are ignored.
        **fixed
            Parameters that the estimator does not have, or that replace its own.

        Returns
        -------
        TreeParameters
            The record.
        """
        known = {name: params[name] for name in _FIELD_NAMES if name in params}
        return cls(**plain_values(known) | fixed)

    def plan(self, training: TrainingSet) -> GrowPlan:
        """Return the plan to grow a tree on a training set.

        Parameters
        ----------
        training : TrainingSet
            Fractions of rows, features and weight refer to it; its seed is the seed of all draws.

        Returns
        -------
        GrowPlan
            The plan.
        """
        n_rows, schema = training.n_weighted, training.table.schema
        total = float(n_rows) if training.weights is None else float(chunk_sum(training.weights))
        costs = read_costs(self.feature_costs, self.cost_rule, schema)
        min_samples_leaf, min_weight_leaf = 1, self.min_weight_fraction_leaf * total
        if self.min_samples_leaf is not None:
            min_samples_leaf = max(1, limit(rows_or_share(self.min_samples_leaf, n_rows)))
        if self.missing == "fractional" and self.min_samples_leaf is not None:
            # Parts of rows count by weight; the tolerance keeps thirds that add up to a row.
            least = min_samples_leaf * training.row_weight * (1 - 1e-12)
            min_samples_leaf, min_weight_leaf = 1, max(min_weight_leaf, least)
        return GrowPlan(
            criterion=CRITERIA[self.criterion].core_name,  # type: ignore[arg-type]
            score=self.score,
            splitter=self.splitter,
            categorical_split=self.categorical_split,
            missing=self.missing,
            use_categories_once=self.categorical_split == "multiway",
            oblique_directions=self.n_directions,
            max_depth=limit(self.max_depth),
            min_samples_split=max(2, limit(rows_or_share(self.min_samples_split, n_rows))),
            min_samples_leaf=min_samples_leaf,
            min_weight_leaf=min_weight_leaf,
            min_impurity_decrease=float(self.min_impurity_decrease),
            min_gain=self._min_gain(training),
            mdl_row_weight=training.row_weight if self.mdl_correction else 0.0,
            max_leaf_nodes=self.max_leaf_nodes,
            max_features=features_to_try(self.max_features, schema.n_features),
            cost_rule=None if costs is None else self.cost_rule,
            omega=float(self.cost_omega),
            feature_costs=costs,
            monotonic_cst=read_monotone(self.monotonic_cst, schema, training.n_outputs, training.n_classes),
            seed=training.seed,
            ledger=self.ledger,
        )

    def _min_gain(self, training: TrainingSet) -> float:
        """Return the smallest gain of a split.

        Rows with a missing value keep a node impure whose other rows agree, and no split separates them:
        without a limit, such nodes would be split forever.
        """
        if self.min_gain is not None:
            return self.min_gain
        if self.missing != "fractional" or not training.table.schema.has_missing:
            return -np.inf
        return LEAST_GAIN * impurity_scale(CRITERIA[self.criterion], training.y, training.weights)


_FIELD_NAMES = tuple(field.name for field in fields(TreeParameters))


def limit(value: int | None) -> int:
    """Return a limit as a number, None being no limit.

    >>> limit(3)
    3
    """
    return NO_LIMIT if value is None else min(int(value), NO_LIMIT)


def read_costs(feature_costs: Any, cost_rule: str, schema: Schema) -> Floats | None:
    """Return the cost of each feature, None if none are given.  -> (n_features,)

    A dict gives costs by feature name; features that it leaves out cost 1.
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
    # Tan's rules divide by the cost; Nunez's adds 1 to it first.
    allowed = np.isfinite(costs) & ((costs >= 0) if cost_rule == "nunez" else (costs > 0))
    if not allowed.all():
        j = int(np.argmin(allowed))
        bound = "of at least 0" if cost_rule == "nunez" else "above 0"
        raise InputError(
            f"feature_costs is {costs[j]}",
            column=schema.names[j] if schema.has_names else j,
            fix=f"With cost_rule={cost_rule!r} every cost is a finite number {bound}.",
        )
    return costs


def _by_name(parameter: str, given: Mapping[Any, Any], names: tuple[str, ...], other: float) -> list[Any]:
    """Return a value per feature, ``other`` for those that the dict leaves out.  -> (n_features,)"""
    unknown = [name for name in given if name not in names]
    if unknown:
        raise InputError(
            f"{parameter} names {show_value(unknown[0])}, which is not a column of X",
            fix=suggest_columns(unknown[0], names),
        )
    return [given.get(name, other) for name in names]


def read_monotone(
    monotonic_cst: Any, schema: Schema, n_outputs: int, n_classes: tuple[int, ...]
) -> NDArray[np.int8] | None:
    """Return the direction of each feature, −1, 0 or 1, None if none is constrained.  -> (n_features,)

    A constraint is on the prediction; in classification on the probability of the second of two classes. A
    dict gives directions by feature name; features that it leaves out are free.
    """
    if monotonic_cst is None:
        return None
    if isinstance(monotonic_cst, Mapping):
        monotonic_cst = _by_name("monotonic_cst", monotonic_cst, schema.names, 0)
    if n_outputs > 1:
        raise InputError("Monotonicity constraints are not supported with multiple outputs.")
    signs = np.asarray(monotonic_cst)
    if signs.shape != (schema.n_features,):
        shape = len(signs) if signs.ndim == 1 else signs.shape
        raise InputError(
            f"monotonic_cst has shape {shape} but the input data X has {schema.n_features} features."
        )
    if signs.dtype.kind not in "biuf" or not np.isin(signs, (-1, 0, 1)).all():
        raise InputError(
            "monotonic_cst must be None or an array-like of -1, 0 or 1, "
            f"but got [{show_values(np.unique(signs).tolist())}]"
        )
    if n_classes and n_classes[0] > 2:
        raise InputError("Monotonicity constraints are not supported with multiclass classification")
    constrained = np.flatnonzero((signs != 0) & schema.categorical)
    if len(constrained):
        j = int(constrained[0])
        raise InputError(
            "monotonic_cst constrains a categorical feature",
            column=schema.names[j] if schema.has_names else j,
            fix="Set it to 0 there: categories have no order.",
        )
    if n_classes and n_classes[0] < 2:
        return None
    return np.ascontiguousarray(signs, dtype=np.int8) if signs.any() else None
