"""What a fitted gradient boosting model is: trees, constant and link; how it answers, is read, and kept."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from spinney.base import ReadsTables, describe_features
from spinney.data.schema import Schema, pack_schema, unpack_schema
from spinney.data.table import Table
from spinney.gradient_boosting.problem import start_scores
from spinney.gradient_boosting.state import check_fitted
from spinney.gradient_boosting.target_statistics import TargetStatistics
from spinney.io import Persistent
from spinney.losses.losses import Loss
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.predictor import EnsemblePredictor

Floats = NDArray[np.float64]


class _BoostedModel(ReadsTables, BaseEstimator, Persistent, metaclass=ABCMeta):  # type: ignore[misc]
    """Answer with a sum of trees, of which only those up to ``best_iteration_`` count."""

    _is_classifier: ClassVar[bool]
    _required_attributes: ClassVar[tuple[str, ...]] = (
        "schema_",
        "ensemble_",
        "loss_",
        "base_score_",
        "best_iteration_",
        "train_score_",
        "validation_score_",
        "do_early_stopping_",
        "_seed",
    )
    _state_attributes = ("classes_", "statistics_", "ledger_", "_fingerprint")
    _transient_attributes = (
        "n_features_in_",
        "feature_names_in_",
        "n_classes_",
        "n_iter_",
        "n_trees_per_iteration_",
        "_predictor",
    )

    unseen: Literal["missing", "error"]
    n_jobs: int | None

    schema_: Schema
    ensemble_: TreeEnsemble
    loss_: Loss
    base_score_: Floats
    best_iteration_: int
    n_iter_: int
    n_trees_per_iteration_: int
    train_score_: Floats
    validation_score_: Floats
    do_early_stopping_: bool
    _seed: int
    _predictor: EnsemblePredictor

    @property
    def _unfitted(self) -> dict[str, Any]:
        """Give the attributes that are there without a fit: the parameters, and what scikit-learn adds."""
        cls = _BoostedModel
        fitted = {*cls._required_attributes, *cls._state_attributes, *cls._transient_attributes}
        return {name: value for name, value in vars(self).items() if name not in fitted}

    def _adopt(self, **fitted: Any) -> Self:
        """Set all fitted attributes at once, so that a fit that fails leaves the estimator as it was."""
        known = {name: value for name, value in fitted.items() if value is not None}
        # One assignment, because Ctrl-C may come between any two.
        self.__dict__ = self._unfitted | known | self._derived(**known)
        return self

    def _derived(
        self,
        schema_: Schema,
        ensemble_: TreeEnsemble,
        base_score_: Floats,
        best_iteration_: int,
        classes_: Any = None,
        **_: Any,
    ) -> dict[str, Any]:
        """Give the attributes that follow from the stored ones."""
        n_scores = len(base_score_)
        used = ensemble_[: best_iteration_ * n_scores]
        derived: dict[str, Any] = {
            **describe_features(schema_),
            "n_iter_": ensemble_.n_trees // n_scores,
            "n_trees_per_iteration_": n_scores,
            "_predictor": EnsemblePredictor(used, n_scores),
        }
        if classes_ is not None:
            derived["n_classes_"] = len(classes_)
        return derived

    def _get_state(self) -> dict[str, Any]:
        state = super()._get_state()
        return {**state, "fitted": pack_schema(state["fitted"])}

    def _set_state(self, state: dict[str, Any]) -> None:
        super()._set_state({**state, "fitted": unpack_schema(state.get("fitted"))})

    def _check_state(self) -> None:
        if hasattr(self, "ensemble_"):
            check_fitted(dict(vars(self)), self._is_classifier)
            self.__dict__.update(self._derived(**vars(self)))

    # ---- outputs ----

    def _read(self, X: Any) -> Table:
        """Read a table as it is, without target statistics."""
        return super()._table(X)

    def _table(self, X: Any) -> Table:
        table = self._read(X)
        statistics: TargetStatistics | None = self.__dict__.get("statistics_")
        return table if statistics is None else statistics.encode(table)

    def _raw_scores(self, X: Any) -> Floats:
        """Give the scores that the trees add up to.  -> (n_rows, n_scores)"""
        table = self._table(X)
        start = start_scores(self.base_score_, None, table.n_rows)
        return self._predictor.sum(table, self._threads_for(table), start=start)

    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        """Give the scores after one round, after two, and so on up to ``best_iteration_``."""
        table = self._table(X)
        start = start_scores(self.base_score_, None, table.n_rows)
        return self._predictor.staged_sum(table, self._threads_for(table), start=start)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Give the leaf of each tree that each row falls into.

        -> (n_rows, best_iteration_), for more than two classes (n_rows, best_iteration_, n_classes)
        """
        table = self._table(X)
        leaves = self._predictor.apply(table, self._threads_for(table))
        if self.n_trees_per_iteration_ == 1:
            return leaves
        return leaves.reshape(table.n_rows, -1, self.n_trees_per_iteration_)

    # ---- reading the model ----

    @property
    def feature_importances_(self) -> Floats:
        """Give the gain of each feature's splits in the trees that answer, summing to 1.  (n_features,)"""
        check_is_fitted(self)
        used = self.ensemble_[: self.best_iteration_ * self.n_trees_per_iteration_]
        gain = self._by_feature(used, used.impurity)
        return gain / gain.sum() if gain.sum() > 0 else gain

    def split_counts(self) -> NDArray[np.int64]:
        """Count the splits on each feature in the trees that answer.  -> (n_features,)

        >>> model.split_counts()  # doctest: +SKIP
        """
        check_is_fitted(self)
        used = self.ensemble_[: self.best_iteration_ * self.n_trees_per_iteration_]
        return self._by_feature(used, np.ones(used.node_count)).astype(np.int64)

    def _by_feature(self, trees: TreeEnsemble, amount: Floats) -> Floats:
        """Add up an amount a node over the tests of each feature, its target statistics among them."""
        statistics: TargetStatistics | None = self.__dict__.get("statistics_")
        n = self.n_features_in_
        origin = np.arange(n) if statistics is None else statistics.origin(n)
        test = trees.feature >= 0
        total = np.bincount(origin[trees.feature[test]], weights=amount[test], minlength=n)
        return total.astype(np.float64)  # without any test they are counts
