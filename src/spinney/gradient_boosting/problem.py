"""What gradient boosting is fitted to: rows, targets, weights, those held out, and categories as numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError
from spinney.core.parameters import check_weights
from spinney.data.table import Table
from spinney.data.target import read_target
from spinney.gradient_boosting.category_groups import MOST_GROUPS, code_grouped
from spinney.gradient_boosting.target_statistics import TargetStatistics, many_levels
from spinney.losses.losses import Loss
from spinney.native import core
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.grower import code_table
from spinney.tree.predictor import EnsemblePredictor

Floats = NDArray[np.float64]

# What "auto" turns into numbers: more categories than the first, with fewer rows each than the second. On
# real tables sets of categories did better where there are many rows of each, numbers where there are few.
MOST_SUBSET_LEVELS, FEWEST_SUBSET_ROWS = 50, 250


@dataclass(frozen=True)
class Problem:
    """Hold the training rows: X as given and as a table, y as numbers, and weights (n_rows,).

    ``weighted`` tells whether weights were given; ``held`` marks rows that are only scored; ``init_score``
    (n_rows, n_scores) is what the trees add to. ``statistics`` turn categories of many levels into numbers,
    and ``columns`` is the table that trees are grown on.
    """

    X: Any
    table: Table
    y: Floats
    classes: NDArray[Any] | None
    weights: Floats
    weighted: bool
    init_score: Floats | None
    loss: Loss
    seed: int
    n_threads: int
    held: NDArray[np.bool_] | None = None
    statistics: TargetStatistics | None = None
    encoded: Table | None = None

    @property
    def n_classes(self) -> int:
        """Count the classes, 0 in regression."""
        return 0 if self.classes is None else len(self.classes)

    @property
    def n_scores(self) -> int:
        """Count the scores of a row: one a class where there are more than two."""
        return self.n_classes if self.n_classes > 2 else 1

    @property
    def codes(self) -> NDArray[np.int32] | None:
        """Give the number of each row's class, None in regression."""
        return None if self.classes is None else self.y.astype(np.int32)

    @property
    def columns(self) -> Table:
        """Give the table that trees are grown on."""
        return self.table if self.encoded is None else self.encoded

    @property
    def train_weights(self) -> Floats:
        """Give the weights that train, 0 for rows held out.  (n_rows,)"""
        return self.weights if self.held is None else np.where(self.held, 0.0, self.weights)

    @property
    def core_weights(self) -> Floats | None:
        """Give the weights that train, None where all are 1, which is faster."""
        return self.train_weights if self.weighted or self.held is not None else None

    def with_statistics(self, encoding: str, before: TargetStatistics | None, fitted: bool) -> Problem:
        """Turn categories of many levels into numbers, all of them where the encoding is "ordered".

        A model that is fitted already (training goes on) keeps the statistics that it has. Where its rows are
        the same as they were, each gets the number it had; others are encoded as new rows are.
        """
        features = () if encoding == "subset" else tuple(self._to_encode(encoding))
        if fitted:
            features = () if before is None else before.features
        if not features:
            return self
        targets, weights = self._targets(), self.train_weights
        learned = TargetStatistics.learn(self.table, features, targets, weights)
        if before is not None and not learned.equals(before):
            return replace(self, statistics=before, encoded=before.encode(self.table))
        encoded = learned.encode_ordered(self.table, targets, weights, self.seed)
        return replace(self, statistics=learned, encoded=encoded)

    def code(self, max_bins: int, smoothing: float) -> core.CodeMatrix:
        """Code the columns that trees are grown on."""
        crowded = many_levels(self.columns.schema, MOST_GROUPS)
        if not crowded:
            return code_table(self.columns, self.core_weights, max_bins, self.n_threads)
        rows = self.columns, crowded, self._targets(), self.train_weights
        return code_grouped(*rows, smoothing, max_bins, self.n_threads)

    def with_missing(self, matrix: core.CodeMatrix) -> Problem:
        """Let the schema tell which features have missing values."""
        numbers = () if self.statistics is None else self.statistics.features
        has_missing = [
            bool((self.table.column(j) < 0).any()) if j in numbers else matrix.has_missing(j)
            for j in range(self.table.n_features)
        ]
        return replace(self, table=self.table.with_schema(self.table.schema.with_missing(has_missing)))

    def _to_encode(self, encoding: str) -> list[int]:
        """List the features to be turned into numbers."""
        if encoding == "ordered":
            return many_levels(self.table.schema, 0)
        crowd = self.table.n_rows // FEWEST_SUBSET_ROWS
        return many_levels(self.table.schema, max(MOST_SUBSET_LEVELS, crowd))

    def _targets(self) -> Floats:
        if self.n_classes <= 2:
            return self.y[:, None]
        is_class: NDArray[np.bool_] = self.y[:, None] == np.arange(self.n_classes)
        return is_class.astype(np.float64)

    def start(self, base: Floats, ensemble: TreeEnsemble | None) -> Floats:
        """Give the scores of the rows before the first new round.  base (n_scores,) -> (n_rows, n_scores)"""
        scores = start_scores(base, self.init_score, self.table.n_rows)
        if ensemble is None:
            return scores
        return EnsemblePredictor(ensemble, self.n_scores).sum(self.columns, self.n_threads, start=scores)


def start_scores(base: Floats, init_score: Floats | None, n_rows: int) -> Floats:
    """Give each row the constant, or the score that it was given to begin with.  -> (n_rows, n_scores)"""
    scores: Floats = np.tile(base, (n_rows, 1)) if init_score is None else base + init_score
    return scores


def read_rows(y: Any, sample_weight: Any, n_rows: int) -> tuple[NDArray[Any], Floats | None]:
    """Read targets and weights of rows; there is one target a row."""
    labels = read_target(y, n_rows)
    if labels.ndim == 2:
        raise InputError(
            f"y should be a 1d array; it has {labels.shape[1]} outputs, and boosting learns one",
            fix="Fit one model an output, for example by sklearn.multioutput.MultiOutputRegressor.",
        )
    return labels, check_weights(sample_weight, n_rows)


def read_init_score(init_score: Any, n_rows: int, n_scores: int) -> Floats | None:
    """Read initial scores (n_rows,) or (n_rows, n_scores), None where none are given."""
    if init_score is None:
        return None
    try:
        scores = np.asarray(init_score, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"init_score must hold numbers ({error}).") from None
    if scores.ndim == 1 and n_scores == 1:
        scores = scores[:, None]
    if scores.shape != (n_rows, n_scores):
        raise InputError(f"init_score has shape {scores.shape}, expected {(n_rows, n_scores)}.")
    if not np.isfinite(scores).all():
        raise InputError("init_score is not finite", row=int(np.argwhere(~np.isfinite(scores))[0][0]))
    return np.ascontiguousarray(scores)
