"""`import_model`: models of LightGBM, XGBoost, CatBoost and scikit-learn in Spinney's format."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from spinney.core.errors import InputError, InputTypeError
from spinney.export.from_catboost import read_catboost
from spinney.export.from_lightgbm import read_lightgbm
from spinney.export.from_sklearn import read_sklearn
from spinney.export.from_xgboost import read_xgboost
from spinney.export.imported import ImportedClassifier, ImportedRegressor


def import_model(model: Any) -> ImportedClassifier | ImportedRegressor:
    """Return a tree ensemble of another library as a model of Spinney.

    Its trees are Spinney's own, so that predictions, exports and model files work as with any other model.
    Raw scores and values are bit-equal to those of LightGBM, XGBoost (whose sums are in float32) and
    scikit-learn, and within a rounding of CatBoost's.

    Parameters
    ----------
    model : object, str, path or dict
        A fitted model or Booster of LightGBM, XGBoost, CatBoost or scikit-learn; the text of a LightGBM
        model, the JSON text or content of an XGBoost or CatBoost model, or the path of a file with one.
        Files in XGBoost's UBJ format are loaded by its own Booster first.

    Returns
    -------
    ImportedClassifier or ImportedRegressor
        The model. Rankers and models of a custom objective are regressors of raw scores.

    Raises
    ------
    InputError
        If the model has something that Spinney's trees cannot express; the message names it.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> X, y = np.arange(40.0).reshape(-1, 1), np.arange(40.0)
    >>> theirs = HistGradientBoostingRegressor(max_iter=3).fit(X, y)
    >>> bool((import_model(theirs).predict(X) == theirs.predict(X)).all())
    True
    """
    library = type(model).__module__.partition(".")[0]
    readers: dict[str, Callable[[Any], dict[str, Any]]] = {
        "lightgbm": _from_lightgbm,
        "xgboost": _from_xgboost,
        "catboost": _from_catboost,
        "sklearn": read_sklearn,
    }
    if library in readers:
        fitted = readers[library](model)
    elif isinstance(model, str | bytes | os.PathLike | dict):
        fitted = _from_content(_content(model))
    else:
        raise InputTypeError(
            f"A {type(model).__name__} cannot be imported",
            fix="Pass a model of LightGBM, XGBoost, CatBoost or scikit-learn, or its text or JSON.",
        )
    kind = ImportedRegressor if fitted.get("classes_") is None else ImportedClassifier
    imported: ImportedClassifier | ImportedRegressor = kind().set_imported(**fitted)
    return imported


def _content(source: Any) -> str | dict[str, Any]:
    """Return the text of a model, or its parsed JSON; source may be a path."""
    if isinstance(source, dict):
        return source
    if isinstance(source, os.PathLike) or (
        isinstance(source, str) and "\n" not in source and "{" not in source
    ):
        source = Path(source).read_bytes()
    try:
        text = source.decode() if isinstance(source, bytes) else source
    except UnicodeDecodeError:
        raise InputError(
            "The file is not text", fix="Load it with its own library, and pass the model that it returns."
        ) from None
    if not text.lstrip().startswith("{"):
        return str(text)
    content: dict[str, Any] = json.loads(text)
    return content


def _from_content(content: str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(content, str):
        if not content.startswith("tree\n"):
            raise InputError("This is neither the text of a LightGBM model nor JSON of XGBoost or CatBoost.")
        return read_lightgbm(content)
    if "learner" in content:
        return read_xgboost(content)
    if "features_info" in content:
        return read_catboost(content)
    raise InputError("The JSON is neither that of an XGBoost model nor of a CatBoost model.")


def _from_lightgbm(model: Any) -> dict[str, Any]:
    booster = getattr(model, "booster_", model)
    return _with_labels(read_lightgbm(booster.model_to_string(num_iteration=-1)), model)


def _from_xgboost(model: Any) -> dict[str, Any]:
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    best = getattr(model, "best_iteration", None) if hasattr(model, "get_booster") else None
    if isinstance(best, int):
        booster = booster[: best + 1]
    return _with_labels(read_xgboost(json.loads(booster.save_raw("json"))), model)


def _from_catboost(model: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return read_catboost(json.loads(path.read_text(encoding="utf-8")))


def _with_labels(fitted: dict[str, Any], model: Any) -> dict[str, Any]:
    """Return the attributes with the labels of a classifier with scikit-learn's interface."""
    labels = getattr(model, "classes_", None)
    if labels is None or fitted.get("classes_") is None or len(labels) != len(fitted["classes_"]):
        return fitted
    return fitted | {"classes_": np.asarray(labels)}
