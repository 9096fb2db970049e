"""Checks of a gradient boosting model that was read from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spinney.gradient_boosting.ledger import GradientLedger
from spinney.gradient_boosting.target_statistics import TargetStatistics
from spinney.io import require
from spinney.losses.losses import Loss
from spinney.tree.ensemble import TreeEnsemble


def check_fitted(fitted: Mapping[str, Any], task: str) -> None:
    """Raise ModelFileError unless the fitted attributes of a model agree with each other."""
    schema, ensemble = fitted["schema_"], fitted["ensemble_"]
    statistics, is_classifier = fitted.get("statistics_"), task == "classification"
    require(isinstance(ensemble, TreeEnsemble), "ensemble_ is not an ensemble of trees")
    require(isinstance(fitted["loss_"], Loss), "loss_ is not a loss")
    require(isinstance(statistics, TargetStatistics | None), "statistics_ are not target statistics")
    if statistics is not None:
        statistics.validate(schema)
        schema = statistics.schema(schema)
    require(ensemble.n_features == schema.n_features, "the trees and the schema differ in their features")
    ensemble.validate([len(feature.categories) for feature in schema.features])
    require(ensemble.value.shape[1:] == (1, 1), "a tree has more than one value per node")
    n_scores = _check_classes(fitted.get("classes_")) if is_classifier else 1
    require(is_classifier or "classes_" not in fitted, "a regressor has classes")
    require(_is_floats(fitted["base_score_"], (n_scores,)), "base_score_ is not one number per raw score")
    require(ensemble.n_trees % n_scores == 0, "the number of trees is not a multiple of the raw scores")
    n_rounds, best, seed = ensemble.n_trees // n_scores, fitted["best_iteration_"], fitted["_seed"]
    require(type(best) is int and 1 <= best <= n_rounds, "best_iteration_ is not a round")
    require(type(seed) is int and 0 <= seed < 2**64, "the seed is not an unsigned 64-bit integer")
    require(type(fitted["do_early_stopping_"]) is bool, "do_early_stopping_ is not a bool")
    for name in ("train_score_", "validation_score_"):
        valid = any(_is_floats(fitted[name], (n,), finite=False) for n in (0, n_rounds + 1))
        require(valid, f"{name} is not one number per round")
    ledger = fitted.get("ledger_")
    if ledger is not None:
        require(isinstance(ledger, GradientLedger), "ledger_ is not a ledger")
        require(len(ledger) == n_rounds + 1, "the ledger does not have one row per round")
        require(len(ledger.candidates) <= ensemble.n_trees, "the ledger has more tables than trees")
    require(isinstance(fitted.get("_fingerprint"), str | None), "the fingerprint of the rows is not text")


def _check_classes(classes: Any) -> int:
    """Check the classes; return the number of raw scores per row."""
    valid = isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) >= 1
    require(valid, "classes_ is not a 1-D array of labels")
    require(len(set(classes.tolist())) == len(classes), "a class is listed twice")
    return len(classes) if len(classes) > 2 else 1


def _is_floats(array: Any, shape: tuple[int, ...], finite: bool = True) -> bool:
    valid = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == shape
    return valid and (not finite or bool(np.isfinite(array).all()))
