"""The training set of gradient boosting: validation rows, initial scores, and categories as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.core.cached_attribute import cached_attribute
from spinney.core.errors import InputError, show_value, show_values
from spinney.data.schema import Table
from spinney.data.target import read_target
from spinney.data.training_set import TrainingSet, code_table
from spinney.data.weights import check_weights, class_weights_like
from spinney.gradient_boosting.block_engine import CodeSource, Traffic, block_codes
from spinney.gradient_boosting.blocks import BlockBooster
from spinney.gradient_boosting.callbacks import fingerprint
from spinney.gradient_boosting.categories import MAX_GROUPS, TargetStatistics, code_grouped, many_levels
from spinney.gradient_boosting.defaults import Kind
from spinney.gradient_boosting.rounds import BoosterRows, EvalSetRows
from spinney.losses.losses import Loss, MultiQuantileLoss, SquaredLoss
from spinney.losses.multi_output import MultiClassOutputsLoss
from spinney.native import core

Floats = NDArray[np.float64]


class QueryArguments(NamedTuple):
    """What ``fit`` of a ranker is given to tell the queries of training and validation rows."""

    group: Any = None
    qid: Any = None
    eval_group: Any = None
    eval_qid: Any = None

    def of_set(self, k: int, n_sets: int) -> QueryArguments:
        """Return the arguments of one of the sets of an ``eval_set``.

        >>> QueryArguments(eval_group=[[2, 3], [4]]).of_set(1, 2).eval_group
        [4]
        """
        chosen = {name: _of_set(getattr(self, name), name, k, n_sets) for name in ("eval_group", "eval_qid")}
        return self._replace(**chosen)


def _of_set(given: Any, name: str, k: int, n_sets: int) -> Any:
    """Return the queries of a set: those given, or the k-th of a list with one array per set."""
    if given is None:
        return None
    if isinstance(given, list | tuple) and given and all(np.ndim(one) == 1 for one in given):
        if len(given) != n_sets:
            raise InputError(
                f"{name} has {len(given)} entries, and eval_set {n_sets}", fix="Pass one array for each set."
            )
        return given[k]
    if n_sets > 1:
        raise InputError(f"{name} is one array for {n_sets} sets", fix="Pass a list with an array for each.")
    return given


@dataclass(frozen=True)
class BoostingSet(TrainingSet):
    """Training set of gradient boosting; ``weights`` is 0 for rows that are held out for validation.

    Attributes
    ----------
    X : object
        The table as it was given, for scikit-learn scorers.
    is_weighted : bool
        Whether sample or class weights were given.
    validation_weights : ndarray of shape (n_rows,) or None
        Weights of the rows held out, 0 for all others; None where no rows are held out.
    init_score : ndarray of shape (n_rows, n_scores) or None
        Raw scores that the rows start from.
    loss : Loss
        The loss.
    statistics : TargetStatistics or None
        Encoding of categorical features with many categories.
    encoded : Table or None
        The table encoded by the statistics.
    blocks : CodeSource or None
        Codes that are read block by block; `matrix` then has no rows.
    traffic : Traffic
        What was read block by block.
    """

    X: Any = None
    is_weighted: bool = False
    validation_weights: Floats | None = None
    init_score: Floats | None = None
    loss: Loss = field(default_factory=SquaredLoss)
    statistics: TargetStatistics | None = None
    encoded: Table | None = None
    blocks: CodeSource | None = None
    traffic: Traffic = field(default_factory=Traffic)

    @property
    def kind(self) -> Kind:
        """What is learned."""
        n_classes = max(map(len, self.classes), default=0)
        return "regression" if not n_classes else "binary" if n_classes <= 2 else "multiclass"

    @property
    def n_scores(self) -> int:
        """Number of raw scores per row: one per output, quantile, or class where there are more than two."""
        if isinstance(self.loss, MultiClassOutputsLoss):
            return self.loss.n_scores
        if self.n_outputs > 1:
            return self.n_outputs
        if isinstance(self.loss, MultiQuantileLoss):
            return len(self.loss.quantiles)
        return len(self.classes[0]) if self.classes and len(self.classes[0]) > 2 else 1

    @property
    def columns(self) -> Table:
        """The table that trees are grown on."""
        return self.table if self.encoded is None else self.encoded

    @cached_attribute
    def targets(self) -> Floats:
        """Class codes or values as floats.  (n_rows,), or (n_rows, n_outputs) of several outputs"""
        return as_targets(self.y)

    @property
    def target_columns(self) -> Floats:
        """Targets whose means encode categories; indicators of more than two classes.  (n_rows, n_scores)"""
        if isinstance(self.loss, MultiClassOutputsLoss):
            return self.loss.indicators(self.targets)
        if self.n_outputs > 1:
            return self.targets
        if self.n_scores == 1 or not self.classes:
            return self.targets[:, None]
        is_class: NDArray[np.bool_] = self.y == np.arange(self.n_scores)
        return is_class.astype(np.float64)

    @property
    def core_targets(self) -> Floats:
        """Targets in the shape that the core accepts, one column of a row or one per raw score."""
        return self.target_columns if isinstance(self.loss, MultiClassOutputsLoss) else self.targets

    def with_weights(self, weights: Floats | None, row_weight: float) -> Self:
        """Return the set with weights in rows, as λ and limits are; ``row_weight`` counts as one row."""
        if weights is not None and row_weight < 1:
            weights = weights / row_weight
        return replace(self, weights=weights, is_weighted=weights is not None)

    def hold_out_rows(self, fraction: float) -> BoostingSet:
        """Return the training set with some rows, a fraction or a number of them, held out for validation."""
        weights = self.full_weights
        fraction_held = fraction if fraction < 1 else fraction / self.n_rows
        if self.n_rows < 2 or fraction_held >= 1:
            raise InputError(
                f"Early stopping cannot hold out {fraction} of the rows; n_samples = {self.n_rows}",
                fix="Set early_stopping=False, or pass an eval_set.",
            )
        held_out = self.hold_out(fraction_held)
        if not (weights[held_out] > 0).any() or not (weights[~held_out] > 0).any():
            raise InputError("Holding rows out leaves no weight on one side", fix="Pass an eval_set.")
        return replace(
            self,
            weights=np.where(held_out, 0.0, weights),
            validation_weights=np.where(held_out, weights, 0.0),
        )

    def coded_columns(self, max_bins: int, smoothing: float) -> BoostingSet:
        """Return the training set with bin codes of the columns that trees are grown on."""
        blocks = None if self.table.dataset is None else block_codes(self.columns, max_bins)
        if blocks is not None:
            return replace(self, matrix=blocks.described_columns(), blocks=blocks)
        if not self.table.schema.categorical.any():
            return self.coded(max_bins)
        columns = self.columns
        many = many_levels(columns.schema, MAX_GROUPS)
        if many:
            grouping = self.target_columns, self.full_weights, smoothing
            matrix = code_grouped(columns, many, *grouping, self.bin_weights, max_bins, self.n_threads)
        else:
            matrix = code_table(columns, self.bin_weights, max_bins, self.n_threads)
        encoded = () if self.statistics is None else self.statistics.features
        has_missing = [
            bool((self.table.column(j) < 0).any()) if j in encoded else matrix.has_missing(j)
            for j in range(self.table.n_features)
        ]
        schema = self.table.schema.with_missing(has_missing)
        return replace(self, table=self.table.with_schema(schema), matrix=matrix)

    def encode_categories(self, features: Sequence[int], earlier: TargetStatistics | None) -> BoostingSet:
        """Return the training set with some categorical features encoded by ordered target statistics.

        A model that continues keeps its ``earlier`` statistics. If the rows are the same as before, every row
        gets the value it had; other rows are encoded like new rows.
        """
        targets, weights = self.target_columns, self.full_weights
        statistics = TargetStatistics.learn(self.table, features, targets, weights)
        if earlier is not None and not statistics.equals(earlier):
            return replace(self, statistics=earlier, encoded=earlier.encode(self.table))
        encoded = statistics.encode_ordered(self.table, targets, weights, self.seed)
        return replace(self, statistics=statistics, encoded=encoded)

    def round_loss(self, booster: core.Booster | BlockBooster) -> Loss:
        """Return the loss whose derivatives the rounds of a booster use."""
        return self.loss

    def scored_rows(self, booster: core.Booster | BlockBooster, weights: Floats) -> BoosterRows:
        """Return the rows with a weight above 0, to be scored after every round of a booster."""
        return BoosterRows(booster, self.X, self.targets, weights, self.is_weighted, self.seed)

    def fingerprint(self, validation: ValidationRows | None) -> str:
        """Return a hash that identifies the rows of a training run."""
        weights = self.weights if self.is_weighted else None
        scored = None if validation is None else validation.y
        return fingerprint(self.table.schema, self.targets, weights, self.init_score, scored)

    def optimal_constant(self) -> Floats:
        """Return the constant that raw scores start from, 0 where rows have initial scores.  (n_scores,)"""
        is_defined = self.n_scores == 1 or type(self.loss).constant is not Loss.constant
        if self.init_score is not None or not is_defined:
            return np.zeros(self.n_scores)
        with np.errstate(over="ignore"):
            constant = np.asarray(self.loss.constant(self.targets, self.full_weights), dtype=np.float64)
        if constant.shape != (self.n_scores,) or not np.isfinite(constant).all():
            raise InputError(
                f"The optimal constant for these targets is {constant.tolist()}, not {self.n_scores} finite "
                "number(s)",
                fix="If y is very large, divide it by a large number.",
            )
        return constant

    def encode_known(self, labels: Any) -> NDArray[Any]:
        """Encode other targets like the training targets; raise InputError for unknown classes."""
        codes = self.encode_like(labels)
        if self.classes and (codes < 0).any():
            row, output = (int(place) for place in np.argwhere(codes < 0)[0])
            unknown = labels.reshape(len(labels), -1)[row, output : output + 1].tolist()[0]
            raise InputError(
                f"y contains {show_value(unknown)}, a class that is not known,",
                row=row,
                fix=f"Known classes: {show_values(self.classes[output].tolist())}.",
            )
        return codes


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """The rows of an ``eval_set``, read and checked.

    Attributes
    ----------
    X : object
        The rows as they were given, for scikit-learn scorers.
    table : Table
        The same rows, read by the schema of the training rows.
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Class codes or values.
    weights : ndarray of shape (n_rows,) or None
        Row weights.
    init_score : ndarray of shape (n_rows, n_scores) or None
        Raw scores that the rows start from.
    """

    X: Any
    table: Table
    y: Floats
    weights: Floats | None
    init_score: Floats | None

    def scored(self, table: Table, scores: Floats, n_threads: int) -> EvalSetRows:
        """Return the rows with encoded categories and raw scores, to be scored after every round."""
        return EvalSetRows(self.X, table, self.y, self.weights, scores, n_threads)

    @classmethod
    def read(
        cls,
        eval_set: Any,
        training: BoostingSet,
        unseen: Literal["missing", "error"],
        class_weight: Any,
        owner: str,
    ) -> Self:
        """Read the ``eval_set`` of a fit; ``owner`` is the name of the estimator for messages."""
        if not isinstance(eval_set, tuple | list) or not 2 <= len(eval_set) <= 4:
            raise InputError(
                "eval_set must be (X, y), (X, y, sample_weight) or (X, y, sample_weight, init_score)."
            )
        X, y, sample_weight, init_score = (*eval_set, None, None)[:4]
        table = training.table.schema.read(X, unseen, owner)
        if table.n_rows == 0:
            raise InputError("A set of eval_set has no rows", fix="Leave it out.")
        weights = check_weights(sample_weight, table.n_rows)
        codes = training.encode_known(read_target(y, table.n_rows))
        if class_weight is not None and training.labels is not None:
            by_class = class_weights_like(class_weight, training.labels, training.y, codes)
            weights = by_class if weights is None else weights * by_class
        if (init_score is None) != (training.init_score is None):
            raise InputError("Both the eval_set and the training rows need an init_score, or neither.")
        scores = read_init_score(init_score, table.n_rows, training.n_scores)
        return cls(X, table, as_targets(codes), weights, scores)


def as_targets(codes: NDArray[Any]) -> Floats:
    """Return class codes or values as floats, of one output as a vector.  (n_rows, n_outputs) -> ..."""
    return np.ascontiguousarray(codes[:, 0] if codes.shape[1] == 1 else codes, dtype=np.float64)


def start_scores(base_score: Floats, init_score: Floats | None, n_rows: int) -> Floats:
    """Return the raw scores before the first tree.  -> (n_rows, n_scores)"""
    scores: Floats = np.tile(base_score, (n_rows, 1)) if init_score is None else base_score + init_score
    return scores


def read_init_score(init_score: ArrayLike | None, n_rows: int, n_scores: int) -> Floats | None:
    """Read initial scores of shape (n_rows,) or (n_rows, n_scores)."""
    if init_score is None:
        return None
    try:
        scores = np.asarray(init_score, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"init_score must contain numbers ({error}).") from None
    if scores.ndim == 1 and n_scores == 1:
        scores = scores[:, None]
    if scores.shape != (n_rows, n_scores):
        raise InputError(f"init_score has shape {scores.shape}, expected {(n_rows, n_scores)}.")
    if not np.isfinite(scores).all():
        raise InputError("init_score is not finite", row=int(np.argwhere(~np.isfinite(scores))[0][0]))
    return np.ascontiguousarray(scores)
