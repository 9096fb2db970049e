"""A gradient boosting model in a file: what it leaves there, checked part against part when it is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from spinney.core.errors import ModelFileError
from spinney.gradient_boosting.ledger import GradientLedger
from spinney.gradient_boosting.target_statistics import TargetStatistics
from spinney.losses.losses import Loss
from spinney.tree.ensemble import TreeEnsemble


def check_fitted(fitted: dict[str, Any], is_classifier: bool) -> None:
    """Raise ModelFileError unless the parts of a fitted model agree with each other."""
    schema, ensemble, base = fitted["schema_"], fitted["ensemble_"], fitted["base_score_"]
    statistics = fitted.get("statistics_")
    _require(isinstance(ensemble, TreeEnsemble), "ensemble_ is no ensemble of trees")
    _require(isinstance(fitted["loss_"], Loss), "loss_ is no loss")
    _require(isinstance(statistics, TargetStatistics | None), "statistics_ are no target statistics")
    if statistics is not None:
        statistics.validate(schema)
        schema = statistics.schema(schema)
    _require(ensemble.n_features == schema.n_features, "the trees and the schema differ in their features")
    ensemble.validate([len(feature.categories) for feature in schema.features])
    _require(ensemble.value.shape[1:] == (1, 1), "a tree has more than one number a node")
    n_scores = _check_classes(fitted.get("classes_")) if is_classifier else 1
    _require(is_classifier or "classes_" not in fitted, "a regressor has classes")
    _require(_is_numbers(base, (n_scores,)), "base_score_ is not one number a score")
    _require(ensemble.n_trees % n_scores == 0, "the trees are not as many as rounds need")
    n_rounds, best, seed = ensemble.n_trees // n_scores, fitted["best_iteration_"], fitted["_seed"]
    _require(type(best) is int and 1 <= best <= n_rounds, "best_iteration_ is no round")
    _require(type(seed) is int and 0 <= seed < 2**64, "the seed is none")
    _require(type(fitted["do_early_stopping_"]) is bool, "do_early_stopping_ is neither true nor false")
    for name in ("train_score_", "validation_score_"):
        lengths = (0, n_rounds + 1)
        _require(any(_is_numbers(fitted[name], (n,), False) for n in lengths), f"{name} is not one a round")
    _check_ledger(fitted.get("ledger_"), n_rounds, ensemble.n_trees)
    _require(isinstance(fitted.get("_fingerprint"), str | None), "the fingerprint of the rows is no text")


def _check_classes(classes: Any) -> int:
    """Check the classes, and count the scores of a row that they need."""
    valid = isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) >= 1
    _require(valid, "classes_ is no list of labels")
    _require(len(set(classes.tolist())) == len(classes), "a class is listed twice")
    return len(classes) if len(classes) > 2 else 1


def _check_ledger(ledger: Any, n_rounds: int, n_trees: int) -> None:
    if ledger is None:
        return
    _require(isinstance(ledger, GradientLedger), "ledger_ is no ledger")
    _require(len(ledger) == n_rounds + 1, "the ledger has not one row a round")
    _require(len(ledger.candidates) <= n_trees, "the ledger has more tables than there are trees")


def _is_numbers(array: Any, shape: tuple[int, ...], finite: bool = True) -> bool:
    sound = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == shape
    return sound and (not finite or bool(np.isfinite(array).all()))


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ModelFileError(f"The model in the file is damaged: {otherwise}.", fix="Save the model again.")
