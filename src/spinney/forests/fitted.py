"""What a fitted forest from a file must hold, checked part against part."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier

from spinney.bagging.base import check_classes, check_out_of_bag
from spinney.bagging.sampling import BootstrapSamples
from spinney.core.errors import ModelFileError
from spinney.data.schema import Schema
from spinney.tree.ensemble import TreeEnsemble


def check_fitted(model: Any) -> None:
    """Raise ModelFileError unless the trees, the schema, the bags and the answers out of bag agree."""
    fitted = vars(model)
    schema, ensemble, bags = fitted["schema_"], fitted["ensemble_"], fitted["_samples"]
    _require(isinstance(schema, Schema), "its columns are not described")
    _require(isinstance(ensemble, TreeEnsemble), "its trees are none")
    of_columns = isinstance(bags, BootstrapSamples) and bags.n_columns == schema.n_features
    _require(of_columns, "its samples are of other columns")
    _require(ensemble.n_features == schema.n_features, "the trees and the schema differ in their features")
    ensemble.validate([len(feature.categories) for feature in schema.features])
    tried = fitted["max_features_"]
    _require(type(tried) is int and tried >= 1, "max_features_ is no count")
    if is_classifier(model):
        _check_classes(fitted, ensemble, bags)
    else:
        _require("classes_" not in fitted and ensemble.width == 1, "a regressor has classes")
        check_out_of_bag(fitted, bags.n_rows, None)
        if "leaf_targets_" in fitted:
            fitted["leaf_targets_"].validate(ensemble.node_count, bags.n_rows, ensemble.n_outputs)
    score = fitted.get("oob_score_")
    _require(score is None or type(score) is float, "its score out of bag is no number")


def _check_classes(fitted: dict[str, Any], ensemble: TreeEnsemble, bags: BootstrapSamples) -> None:
    classes = fitted.get("classes_")
    _require(classes is not None, "a classifier has no classes")
    outputs = check_classes(classes)
    several = type(classes) is list
    _require(several == (ensemble.n_outputs > 1), "the trees and the classes differ in their outputs")
    _require(len(outputs) == ensemble.n_outputs, "the trees and the classes differ in their outputs")
    _require(max(map(len, outputs)) == ensemble.width, "the trees have other classes than are named")
    check_out_of_bag(fitted, bags.n_rows, outputs)


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ModelFileError(f"The forest in the model file is damaged: {otherwise}.", fix="Save it again.")
