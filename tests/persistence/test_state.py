"""Models come back equal from files, pickles and copies; what would be lost or forged is refused."""

import copy
import pickle
import subprocess
import sys
import textwrap
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn import model_selection
from sklearn.base import clone
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimators_pickle

from persistence.test_container import bounds, same
from persistence.toys import Free, ToyClassifier, ToyTree, fitted_toy, toy_data
from spinney.io import (
    CorruptModelFile,
    ModelFileError,
    Persistent,
    UnknownClass,
    UnsavableValue,
    dumps,
    loads,
)
from spinney.io.container import MAGIC, decode, encode
from spinney.io.document import Tagged
from spinney.io.registry import find_class
from spinney.io.values import SPLITTERS


def forged(model: Any, edit: Any) -> bytes:
    """Save a model, change the document with `edit(document)`, and write a right file around it."""
    document = decode(dumps(model))
    edit(document)
    return encode(document)


VALUES: list[Any] = [
    None,
    [1, (2, [3.5]), {}],
    {"a": 1, "b": [None]},
    {0: 1.0, 1: 2.0},
    {("a", 1): "x", None: 3, 2.5: b"y"},
    {np.int64(3): 1, "three": 2},
    [{2, 0, 10}, {"b"}, {(1, "x")}, set()],
    np.float32(1.1),
    np.bool_(True),
    np.str_("ends in \0"),
    np.array(5.0),
    np.array(["a", "bcd", "", "汉字"]),
    np.array([["a"], ["b"]]),
    np.array([], dtype=str),
    np.zeros((0, 3), dtype="U5"),
    np.array(["a", None, 1, 2.5, True, np.int64(4)], dtype=object),
    np.array([[1, "x"], [None, "y"]], dtype=object),
    np.zeros((2, 0), dtype=object),
    np.arange(6, dtype=np.uint8).reshape(2, 3).T,
    2**100,
]


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and a.dtype.kind in "OU":
        return a.dtype == b.dtype and a.shape == b.shape and all(map(equal, a.ravel(), b.ravel()))
    if isinstance(a, np.generic):
        return type(a) is type(b) and bool(a == b)
    if isinstance(a, dict):
        return list(map(type, a)) == list(map(type, b)) and list(a.items()) == list(b.items())
    return same(a, b)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back_as_a_parameter_and_as_an_attribute(value: Any) -> None:
    model = Free(value=value)
    model.found_ = [value]
    data = dumps(model)
    back = loads(data)
    assert equal(value, back.value) and equal(value, back.found_[0])
    assert dumps(back) == data


@pytest.mark.parametrize("make", [
    lambda: range(2, 5), lambda: pd.Index(["a", "b"]), lambda: pd.Series([0.5, 2.0], index=["x", "y"]),
    lambda: pytest.importorskip("polars").Series([1, 0]),
])  # fmt: skip
def test_a_list_of_another_kind_comes_back_as_a_list(make: Any) -> None:
    value = make()
    back = loads(dumps(Free(value=[value]))).value
    assert back == [list(value)] and type(back[0]) is list


SPLITTER_PARAMETERS: dict[str, dict[str, Any]] = {
    "KFold": {"n_splits": 4, "shuffle": True, "random_state": 3},
    "RepeatedKFold": {"n_splits": 3, "n_repeats": 2, "random_state": 0},
    "ShuffleSplit": {"test_size": 0.3},
    "LeavePOut": {"p": 2},
    "LeavePGroupsOut": {"n_groups": 2},
    "TimeSeriesSplit": {"gap": 1},
    "PredefinedSplit": {"test_fold": [0, 1, -1]},
}


@pytest.mark.parametrize("name", SPLITTERS)
def test_a_splitter_comes_back(name: str) -> None:
    given = SPLITTER_PARAMETERS.get(name, {})
    splitter = getattr(model_selection, name)(**given)
    data = dumps(Free(value=splitter))
    back = loads(data).value
    assert type(back) is type(splitter) and repr(back) == repr(splitter)
    assert dumps(Free(value=back)) == data


def test_splitters_of_other_classes_are_refused() -> None:
    class Own(model_selection.KFold):
        pass

    Own.__name__ = "KFold"
    with pytest.raises(UnsavableValue, match=r"is an object of .*Own, which a model file cannot store"):
        dumps(Free(value=Own()))


def test_sets_are_stored_in_the_same_order_in_every_process() -> None:
    document = decode(dumps(Free(value={"d", "a", 1, "c", "b"})))
    assert document["state"]["params"]["value"] == Tagged("set", [1, "a", "b", "c", "d"])


def test_random_states_go_on_where_they_stopped() -> None:
    state, generator = np.random.RandomState(3), np.random.default_rng(4)
    state.normal(size=7)
    generator.integers(9, dtype=np.uint32)
    back = loads(dumps(Free(value=[state, generator])))
    assert np.array_equal(back.value[0].normal(size=700), state.normal(size=700))
    assert np.array_equal(
        back.value[1].integers(9, size=7, dtype=np.uint32), generator.integers(9, size=7, dtype=np.uint32)
    )


@pytest.mark.parametrize(
    "travel",
    [
        lambda model: loads(dumps(model)),
        lambda model: pickle.loads(pickle.dumps(model)),
        lambda model: pickle.loads(pickle.dumps(model, protocol=2)),
        copy.deepcopy,
        copy.copy,
    ],
    ids=["file", "pickle", "pickle 2", "deepcopy", "copy"],
)
def test_a_fitted_model_comes_back(travel: Any) -> None:
    model = fitted_toy()
    back = travel(model)
    X, _ = toy_data()
    assert back.get_params() == model.get_params()
    assert np.array_equal(back.predict(X), model.predict(X))
    assert np.array_equal(back.classes_, model.classes_)
    assert back._note == model._note and not hasattr(back, "_cache")
    for old, new in zip(model.trees_, back.trees_, strict=True):
        assert all(
            same(getattr(old, name), getattr(new, name)) for name in ("feature", "threshold", "answer")
        )


def test_the_order_of_fitting_shows_in_no_byte() -> None:
    first, second = Free(), Free()
    first.a_, first.b_ = 1, 2
    second.b_, second.a_ = 2, 1
    assert dumps(first) == dumps(second)


def test_nested_models_and_unfitted_ones_come_back() -> None:
    back = loads(dumps(Free(base=[Free(value=1), ToyClassifier(n_trees=9)])))
    assert back.base[0].value == 1 and back.base[1].n_trees == 9
    assert not hasattr(back.base[1], "trees_")


def test_pickles_hold_the_bytes_of_the_file_and_hash_alike() -> None:
    assert MAGIC in pickle.dumps(fitted_toy())
    assert joblib.hash(fitted_toy()) == joblib.hash(fitted_toy())
    assert joblib.hash(fitted_toy()) != joblib.hash(fitted_toy().set_params(n_trees=1))


def test_a_model_with_foreign_parts_pickles_in_the_ordinary_way() -> None:
    model = Free(value=max, base=SVC(C=3))
    back = pickle.loads(pickle.dumps(model))
    assert back.value is max and back.base.C == 3
    routed = fitted_toy().set_fit_request() if hasattr(ToyClassifier, "set_fit_request") else fitted_toy()
    routed._metadata_request = {"kept": True}
    assert pickle.loads(pickle.dumps(routed))._metadata_request == {"kept": True}


def test_pickled_classes_travel_with_the_bytes() -> None:
    """A worker that never saw a nested user class gets it through pickle itself."""
    function, (_, *classes) = Free(base=fitted_toy()).__reduce_ex__(4)[:2]
    assert set(classes) == {Free, ToyClassifier, ToyTree}
    assert function.__module__ == "spinney.io.state"


WORKERS = """
    import sys
    sys.path.insert(0, sys.argv[1])
    from joblib import Parallel, delayed
    from sklearn.base import BaseEstimator
    from persistence.toys import Free
    from spinney.io import Persistent

    class Local(BaseEstimator, Persistent):
        def __init__(self, a=1):
            self.a = a

    def work(model):
        return model.set_params(value=model.base.a)

    [back] = Parallel(n_jobs=2)([delayed(work)(Free(base=Local(a=5)))])
    assert type(back.base) is Local
    print(back.value)
"""


def test_a_class_of_the_main_module_travels_to_worker_processes() -> None:
    command = [sys.executable, "-c", textwrap.dedent(WORKERS), str(Path(__file__).parents[1])]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stdout.strip() == "5", result.stderr


@pytest.mark.parametrize("memmap", [False, True])
def test_scikit_learns_own_check_of_pickling(memmap: bool) -> None:
    check_estimators_pickle("ToyClassifier", ToyClassifier(), readonly_memmap=memmap)


def test_clone_knows_nothing_of_files() -> None:
    assert clone(fitted_toy()).get_params() == fitted_toy().get_params()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda x: x, "Parameter 'value' of .*Free is a function"),
        (max, "Parameter 'value' of .*Free is a function"),
        ([1, {"k": SVC()}], r"Parameter 'value'\[1\]\['k'\] of .*Free is an object of sklearn.svm"),
        (ToyClassifier, "Parameter 'value' of .*Free is an object of"),
        (np.zeros(2, dtype=complex), "complex128"),
        (np.zeros(2, dtype="M8[s]"), "datetime64"),
        (np.array([[], 1], dtype=object), r"Parameter 'value'\[0\]"),
        ({frozenset(): 1}, "keys"),
        (np.random.RandomState(np.random.PCG64(1)), "integer seed"),
        (np.random.Generator(np.random.MT19937(1)), "integer seed"),
        (slice(1), "slice"),
        ("\ud800", "surrogate"),
    ],
)
def test_what_no_file_can_hold_is_named(value: Any, message: str) -> None:
    with pytest.raises(UnsavableValue, match=message) as caught:
        dumps(Free(value=value))
    assert isinstance(caught.value, TypeError)


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop += [loop, loop]
    with pytest.raises(UnsavableValue, match="contains itself"):
        dumps(Free(value=loop))


def test_an_attribute_that_would_be_lost_is_refused() -> None:
    model = fitted_toy()
    model.extra_ = 1
    with pytest.raises(UnsavableValue, match="'extra_' of ToyClassifier would be lost"):
        dumps(model)
    free = Free()
    free._private = 1
    with pytest.raises(UnsavableValue, match="_private"):
        dumps(free)
    assert pickle.loads(pickle.dumps(free))._private == 1


def test_a_model_fitted_in_part_is_refused() -> None:
    model = fitted_toy()
    del model.classes_
    with pytest.raises(UnsavableValue, match="no 'classes_'"):
        dumps(model)
    assert pickle.loads(pickle.dumps(model)).n_features_in_ == 3
    with pytest.raises(CorruptModelFile, match="no 'classes_'"):
        loads(forged(fitted_toy(), lambda document: document["state"]["fitted"].pop("classes_")))


def test_a_subclass_adds_attributes() -> None:
    class Richer(ToyClassifier):
        _state_attributes = ("extra_",)

    model = Richer().fit(*toy_data())
    model.extra_ = 5
    model.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
    assert loads(dumps(model)).extra_ == 5


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(TypeError, match="SVC cannot be saved"):
        dumps(SVC())
    with pytest.raises(TypeError, match="cannot be saved"):
        dumps(3)


def _set(*keys: Any) -> Any:
    *path, last, value = keys

    def edit(document: Any) -> None:
        for key in path:
            document = document[key].value[1] if isinstance(document[key], Tagged) else document[key]
        document[last] = value

    return edit


P, F = ("state", "params"), ("state", "fitted")
FORGED: dict[str, tuple[type[ModelFileError], Any]] = {
    "another format": (CorruptModelFile, _set("format", "spinney table")),
    "an array as format": (CorruptModelFile, _set("format", np.zeros(0))),
    "a further key": (CorruptModelFile, _set("more", 1)),
    "no version": (CorruptModelFile, _set("spinney_version", None)),
    "class is a number": (CorruptModelFile, _set("class", 3)),
    "class unknown": (UnknownClass, _set("class", "Upas")),
    "class of the standard library": (UnknownClass, _set("class", "os:system")),
    "class of another kind": (CorruptModelFile, _set("class", f"{ToyTree.__module__}:ToyTree")),
    "state missing": (CorruptModelFile, _set("state", None)),
    "state a list": (CorruptModelFile, _set("state", [1])),
    "state empty": (CorruptModelFile, _set("state", {})),
    "parameters a list": (CorruptModelFile, _set(*P, [])),
    "unknown parameter": (CorruptModelFile, _set(*P, "evil", 1)),
    "parameter self": (CorruptModelFile, _set(*P, "self", 1)),
    "unknown attribute": (CorruptModelFile, _set(*F, "evil_", 1)),
    "method overwritten": (CorruptModelFile, _set(*F, "predict", 1)),
    "class overwritten": (CorruptModelFile, _set(*F, "__class__", 1)),
    "attribute of the wrong type": (CorruptModelFile, _set(*F, "trees_", 5)),
    "nothing for a list": (CorruptModelFile, _set(*F, "trees_", [])),
    "tree replaced by a number": (CorruptModelFile, _set(*F, "trees_", 0, 1)),
    "tree without arrays": (CorruptModelFile, _set(*F, "trees_", 0, "feature", None)),
    "tree with a field more": (CorruptModelFile, _set(*F, "trees_", 0, "more", None)),
    "tree of another type": (CorruptModelFile, _set(*F, "trees_", 0, "feature", np.zeros(2))),
    "feature out of range": (CorruptModelFile, _set(*F, "trees_", 0, "feature", np.array([3, 0], np.int32))),
    "class out of range": (CorruptModelFile, _set(*F, "trees_", 0, "answer", np.array([-1, 0]))),
    "unknown tag": (CorruptModelFile, _set(*P, "criterion", Tagged("lambda", None))),
    "object without a class": (CorruptModelFile, _set(*P, "criterion", Tagged("object", [None, {}]))),
    "object of three parts": (CorruptModelFile, _set(*P, "criterion", Tagged("object", ["A", {}, 1]))),
    "object that is no list": (CorruptModelFile, _set(*P, "criterion", Tagged("object", 3))),
    "object of an unknown class": (UnknownClass, _set(*P, "criterion", Tagged("object", ["os:system", {}]))),
    "scalar of two": (CorruptModelFile, _set(*P, "criterion", Tagged("scalar", np.zeros(2)))),
    "scalar list": (CorruptModelFile, _set(*P, "criterion", Tagged("scalar", [1]))),
    "text beyond Unicode": (
        CorruptModelFile,
        _set(*P, "criterion", Tagged("text", np.array([[0x110000]], np.uint32))),
    ),
    "text of no width": (
        CorruptModelFile,
        _set(*P, "criterion", Tagged("text", np.zeros((2**40, 0), np.uint32))),
    ),
    "text of great width": (
        CorruptModelFile,
        _set(*P, "criterion", Tagged("text", np.zeros((0, 2**40), np.uint32))),
    ),
    "text of floats": (CorruptModelFile, _set(*P, "criterion", Tagged("text", np.zeros((2, 2))))),
    "text without axes": (CorruptModelFile, _set(*P, "criterion", Tagged("text", np.array(1, np.uint32)))),
    "objects of negative shape": (
        CorruptModelFile,
        _set(*P, "criterion", Tagged("objects", [[-1, -1], [1]])),
    ),
    "objects of huge shape": (CorruptModelFile, _set(*P, "criterion", Tagged("objects", [[2**60, 0], []]))),
    "objects of huge product": (
        CorruptModelFile,
        _set(*P, "criterion", Tagged("objects", [[2**50, 2**50, 0], []])),
    ),
    "objects of a float shape": (CorruptModelFile, _set(*P, "criterion", Tagged("objects", [[1.0], [1]]))),
    "objects too few": (CorruptModelFile, _set(*P, "criterion", Tagged("objects", [[3], [1]]))),
    "objects nested": (CorruptModelFile, _set(*P, "criterion", Tagged("objects", [[1], [[1]]]))),
    "mapping no list": (CorruptModelFile, _set(*P, "criterion", Tagged("mapping", {}))),
    "mapping without pairs": (CorruptModelFile, _set(*P, "criterion", Tagged("mapping", [1]))),
    "mapping with a key twice": (
        CorruptModelFile,
        _set(*P, "criterion", Tagged("mapping", [(1, 0), (True, 0)])),
    ),
    "mapping with a list as key": (CorruptModelFile, _set(*P, "criterion", Tagged("mapping", [([], 0)]))),
    "mapping with a list in its key": (
        CorruptModelFile,
        _set(*P, "criterion", Tagged("mapping", [(([],), 0)])),
    ),
    "splitter of no list": (CorruptModelFile, _set(*P, "criterion", Tagged("splitter", {}))),
    "splitter of another class": (
        CorruptModelFile,
        _set(*P, "criterion", Tagged("splitter", ["GridSearchCV", {}])),
    ),
    "splitter of wrong parameters": (
        CorruptModelFile,
        _set(*P, "criterion", Tagged("splitter", ["KFold", {"n_splits": "many"}])),
    ),
    "splitter of unknown parameters": (
        CorruptModelFile,
        _set(*P, "criterion", Tagged("splitter", ["KFold", {"folds": 3}])),
    ),
    "set no list": (CorruptModelFile, _set(*P, "criterion", Tagged("set", {}))),
    "set with an item twice": (CorruptModelFile, _set(*P, "criterion", Tagged("set", [1, 1.0]))),
    "set with a list": (CorruptModelFile, _set(*P, "criterion", Tagged("set", [[]]))),
    "set made to be slow": (
        CorruptModelFile,
        _set(*P, "criterion", Tagged("set", [2.0 ** (61 * i) for i in range(-16, 16)])),
    ),
    "mapping made to be slow": (
        CorruptModelFile,
        # All of these floats have the same hash.
        _set(*P, "criterion", Tagged("mapping", [(2.0 ** (61 * i), 0) for i in range(-16, 16)])),
    ),
    "random state out of range": (
        CorruptModelFile,
        _set(*P, "random_state", Tagged("random_state", [np.zeros(624, np.uint32), 625, False, 0.0])),
    ),
    "random state too short": (
        CorruptModelFile,
        _set(*P, "random_state", Tagged("random_state", [np.zeros(623, np.uint32), 0, False, 0.0])),
    ),
    "generator out of range": (
        CorruptModelFile,
        _set(*P, "random_state", Tagged("generator", [2**128, 1, False, 0])),
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_model_is_refused(name: str) -> None:
    error, edit = FORGED[name]
    data = forged(fitted_toy(), edit)
    loads(dumps(fitted_toy()))
    with pytest.raises(UnknownClass):
        find_class("Larch")  # a name that is not known yet imports all modules, once per process
    with bounds(len(data)), pytest.raises(error):
        loads(data)


def test_a_file_older_than_a_parameter_gets_its_default() -> None:
    data = forged(fitted_toy(), lambda document: document["state"]["params"].pop("criterion"))
    assert loads(data).criterion == "gini"


@pytest.mark.parametrize(
    "error", [KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError]
)
def test_an_error_while_a_state_is_set_means_a_corrupt_file(error: type[Exception]) -> None:
    class Fragile(Persistent):
        def _get_state(self) -> dict[str, Any]:
            return {}

        def _set_state(self, state: dict[str, Any]) -> None:
            raise error("\x1b[31mred")

    with pytest.raises(CorruptModelFile, match=r"no valid .*\[31mred") as caught:
        loads(dumps(Fragile()))
    assert isinstance(caught.value.__cause__, error) and "\x1b" not in str(caught.value)


def test_a_dataclass_with_slots_and_defaults() -> None:
    @dataclass(frozen=True, slots=True)
    class Leaf(Persistent):
        value: float
        count: int = 1

    back = loads(forged(Leaf(2.5, 7), lambda document: document["state"].pop("count")))
    assert back == Leaf(2.5, 1)
    with pytest.raises(CorruptModelFile, match="value"):
        loads(forged(Leaf(2.5), lambda document: document["state"].pop("value")))


def test_a_class_without_a_description_says_so() -> None:
    class Bare(Persistent): ...

    with pytest.raises(UnsavableValue, match="_get_state and _set_state"):
        dumps(Bare())


def test_loading_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loads(dumps(fitted_toy()))
