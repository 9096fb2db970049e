"""Files of format version 1 load with the parameter names of today."""

from typing import Any

import pytest

import spinney
from contracts.learners import mixed_data
from spinney.io import CorruptModelFile, ModelFileError, UnknownClass, load, loads, migrations
from spinney.io.container import VERSION, decode, encode, read_header
from spinney.io.document import Tagged
from spinney.io.files import dumps
from spinney.io.registry import find_class

TREES = (
    "C45Classifier",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ID3Classifier",
    "ObliqueTreeClassifier",
    "ObliqueTreeRegressor",
)
GRADIENT = ("GradientBoostingClassifier", "GradientBoostingRegressor")
ADABOOST = ("AdaBoostClassifier", "AdaBoostRegressor")
SELECTION = ("EnsembleSelectionClassifier", "EnsembleSelectionRegressor")
COMBINED = (*SELECTION, "StackingClassifier", "StackingRegressor", "VotingClassifier", "VotingRegressor")

# Classes, a parameter in a version 1 file, its value, the parameters of today.
CASES: list[tuple[tuple[str, ...], str, Any, dict[str, Any]]] = [
    (("C45Classifier",), "subset", False, {"categorical_split": "multiway"}),
    (("C45Classifier",), "subset", True, {"categorical_split": "subset"}),
    (TREES, "ledger", "thresholds", {"ledger": "full"}),
    (TREES, "ledger", True, {"ledger": True}),
    (GRADIENT, "row_fraction", 0.5, {"subsample": 0.5}),
    (GRADIENT, "column_fraction", 0.25, {"colsample_bytree": 0.25}),
    (GRADIENT, "sampling", "uniform", {"sampling": "uniform"}),
    (GRADIENT, "sampling", "gradient", {"sampling": "goss"}),
    (GRADIENT, "sampling", "variance", {"sampling": "mvs"}),
    (GRADIENT, "growth", "best", {"growth": "leaf-wise"}),
    (GRADIENT, "growth", "level", {"growth": "level-wise"}),
    (GRADIENT, "ledger", "candidates", {"ledger": "full"}),
    (ADABOOST, "n_iter_no_change", 7, {"early_stopping": True, "n_iter_no_change": 7}),
    (ADABOOST, "n_iter_no_change", None, {"early_stopping": False}),
    (SELECTION, "bag_fraction", 0.75, {"max_samples": 0.75}),
    ((*ADABOOST, *COMBINED), "verbose", False, {"verbose": 0}),
    ((*ADABOOST, *COMBINED), "verbose", True, {"verbose": 1}),
    ((*ADABOOST, *COMBINED), "verbose", 3, {"verbose": 3}),
]


def version_1(name: str, params: dict[str, Any]) -> bytes:
    state = {"params": params, "fitted": {}}
    document = {"format": "spinney model", "spinney_version": "0.0.1", "class": name, "state": state}
    return encode(document, version=1)


@pytest.mark.parametrize(
    ("name", "old", "value", "expected"),
    [
        pytest.param(name, old, value, expected, id=f"{name}-{old}={value}")
        for names, old, value, expected in CASES
        for name in names
    ],
)
def test_a_parameter_of_version_1_has_its_name_of_today(
    name: str, old: str, value: Any, expected: dict[str, Any]
) -> None:
    model = loads(version_1(name, {old: value}))
    found = model.get_params(deep=False)
    for parameter, wanted in expected.items():
        assert found[parameter] == wanted and type(found[parameter]) is type(wanted)
    # Nested, as the template of an ensemble.
    document = decode(version_1("VotingClassifier", {}))
    nested = Tagged("object", [name, {"params": {old: value}, "fitted": {}}])
    document["state"]["params"]["estimators"] = [("only", nested)]
    inner = loads(encode(document, version=1)).estimators[0][1]
    assert inner.get_params(deep=False) == found
    assert read_header(dumps(model)).version == VERSION


def test_every_entry_of_the_table_has_a_case() -> None:
    tested = {(name, old) for names, old, _, _ in CASES for name in names}
    table = migrations.RENAMED_PARAMETERS
    assert {(name, old) for name, changes in table.items() for old in changes} == tested


def as_version_1(document: Any) -> Any:
    """Return a document of today the old names of classes and attributes."""
    classes = {new: old for old, new in migrations.RENAMED_CLASSES.items()}
    names = {new: old for changes in migrations.RENAMED_STATE.values() for old, new in changes.items()}
    if isinstance(document, Tagged):
        value = as_version_1(document.value)
        if document.name == "object":
            value[0] = classes.get(value[0], value[0])
        return Tagged(document.name, value)
    if isinstance(document, list | tuple):
        return type(document)(map(as_version_1, document))
    if isinstance(document, dict):
        return {names.get(name, name): as_version_1(value) for name, value in document.items()}
    return document


def pruned(model: Any) -> Any:
    X, y, _ = mixed_data("classifier", 80)
    return spinney.prune_ensemble(model.fit(X, y), X, y, 2)


@pytest.mark.parametrize(
    ("model", "old_names"),
    [
        (spinney.BaggingClassifier(n_estimators=4, random_state=0), (b"KeptBags", b"_bags")),
        (spinney.RandomForestClassifier(n_estimators=4, random_state=0), (b"KeptBags", b"_bags")),
    ],
    ids=["bagging", "forest"],
)
def test_renamed_classes_and_attributes_load(model: Any, old_names: tuple[bytes, ...]) -> None:
    model = pruned(model)
    data = encode(as_version_1(decode(dumps(model))), version=1)
    assert all(name in data for name in old_names)
    assert dumps(loads(data)) == dumps(model)
    with pytest.raises(ModelFileError):
        loads(encode(decode(data), version=2))


def test_old_class_names_are_defined_no_more() -> None:
    for old, new in migrations.RENAMED_CLASSES.items():
        assert find_class(new)
        with pytest.raises(UnknownClass):
            find_class(old)


def test_old_names_are_refused_in_files_of_today() -> None:
    data = version_1("GradientBoostingRegressor", {"row_fractions": 0.5})
    with pytest.raises(CorruptModelFile, match="row_fractions"):
        load(data)
    data = encode(decode(version_1("GradientBoostingRegressor", {"row_fraction": 0.5})), version=2)
    with pytest.raises(CorruptModelFile, match="row_fraction"):
        load(data)


def test_a_subclass_migrates_like_its_base_class() -> None:
    class Selection(spinney.EnsembleSelectionClassifier):
        pass

    name = f"{Selection.__module__}:{Selection.__qualname__}"
    assert loads(version_1(name, {"verbose": True})).verbose == 1


def test_renamed_attributes_and_fields_are_looked_up_by_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(migrations.RENAMED_STATE, "TreeEnsemble", {"old": "new"})
    monkeypatch.setitem(migrations.RENAMED_STATE, "VotingClassifier", {"old_": "new_"})
    ensemble = find_class("TreeEnsemble")
    assert migrations.migrate_state(ensemble, {"old": 1, "kind": 2}) == {"new": 1, "kind": 2}
    state = {"params": {"old_": 0}, "fitted": {"old_": 1}}
    expected = {"params": {"old_": 0}, "fitted": {"new_": 1}}
    assert migrations.migrate_state(spinney.VotingClassifier, state) == expected
