"""What a fitted bagging ensemble from a file must hold, checked part against part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spinney.bagging.draws import Bags
from spinney.core.errors import ModelFileError


def check_fitted(model: Any, classes: Sequence[Any] | None) -> None:
    """Raise ModelFileError if the members, their columns, bags and classes do not agree.

    ``classes`` are those of each output, None in regression.
    """
    members, features, bags = model.estimators_, model.estimators_features_, model._bags
    _require(isinstance(bags, Bags), "its bags are no bags")
    _require(type(members) is list and len(members) >= 1, "it has no members")
    _require(type(features) is list and len(features) == len(members), "not every member has its columns")
    for member, columns in zip(members, features, strict=True):
        _require(hasattr(member, "predict"), "a member cannot predict")
        valid = isinstance(columns, np.ndarray) and columns.dtype == np.int64
        valid = valid and columns.shape == (bags.n_columns_drawn,)
        valid = valid and bool(((columns >= 0) & (columns < bags.n_columns)).all())
        _require(valid, "a member has columns that are not there")
        known = getattr(member, "n_features_in_", bags.n_columns_drawn)
        _require(known == bags.n_columns_drawn, "a member was fitted to another number of columns")
        _check_classes(member, classes)
    names = vars(model).get("feature_names_in_")
    if names is not None:
        valid = isinstance(names, np.ndarray) and names.shape == (bags.n_columns,)
        _require(valid and all(type(name) is str for name in names), "its features have no valid names")


def check_left_out(answers: Any, shape: tuple[int, ...]) -> None:
    """Raise ModelFileError if answers out of bag have another shape than the rows ask for."""
    valid = isinstance(answers, np.ndarray) and answers.dtype == np.float64 and answers.shape == shape
    _require(valid, "its answers out of bag are not one a row")


def check_labels(classes: Any) -> list[Any]:
    """Give the classes of each output; raise ModelFileError if they are no lists of distinct labels."""
    outputs = classes if type(classes) is list else [classes]
    _require(len(outputs) >= 1, "it has no classes")
    for labels in outputs:
        valid = isinstance(labels, np.ndarray) and labels.ndim == 1 and len(labels) >= 1
        _require(valid and len(set(labels.tolist())) == len(labels), "its classes are no distinct labels")
    return outputs


def _check_classes(member: Any, classes: Sequence[Any] | None) -> None:
    met = getattr(member, "classes_", None)
    if classes is None:
        _require(met is None, "a member of a regressor has classes")
        return
    outputs = met if type(met) is list else [met]
    _require(len(outputs) == len(classes), "a member has another number of outputs")
    for labels, known in zip(outputs, classes, strict=True):
        valid = isinstance(labels, np.ndarray) and set(labels.tolist()) <= set(known.tolist())
        _require(valid, "a member knows classes that the ensemble does not")


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ModelFileError(
            f"The bagging ensemble in the model file is damaged: {otherwise}.", fix="Save the model again."
        )
