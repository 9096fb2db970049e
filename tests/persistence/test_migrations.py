"""Files of format version 1 load with the parameter names of today."""

from typing import Any

import pytest

import spinney
from spinney.io import CorruptModelFile, UnknownClass, load, loads, migrations
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
    names = getattr(spinney, name)().get_params(deep=False)
    if not set(expected) <= set(names):
        pytest.skip("the parameter is not renamed yet")
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


def test_every_renamed_class_is_in_a_golden_file_and_defined() -> None:
    for old, new in migrations.RENAMED_CLASSES.items():
        if old == new or not _is_defined(new):
            pytest.skip("the class is not renamed yet")
        assert not _is_defined(old)


def _is_defined(name: str) -> bool:
    try:
        find_class(name)
    except UnknownClass:
        return False
    return True


def test_old_names_are_refused_in_files_of_today() -> None:
    data = version_1("GradientBoostingRegressor", {"row_fractions": 0.5})
    with pytest.raises(CorruptModelFile, match="row_fractions"):
        load(data)
    names = spinney.GradientBoostingRegressor().get_params()
    if "row_fraction" in names:
        pytest.skip("the parameter is not renamed yet")
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
