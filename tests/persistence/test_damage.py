"""Files that describe impossible or enormous models are refused when they are loaded, and quickly."""

import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spinney as sp
from spinney.io import CorruptModelFile, dumps, loads
from spinney.io.container import decode, encode
from spinney.io.document import Tagged

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int)


def replaced(document: Any, key: str, value: Any) -> Any:
    """Return a document with another value of a key, wherever it occurs."""
    if isinstance(document, dict):
        return {k: value if k == key else replaced(item, key, value) for k, item in document.items()}
    if isinstance(document, Tagged):
        return Tagged(document.name, replaced(document.value, key, value))
    if isinstance(document, list | tuple):
        return type(document)([replaced(item, key, value) for item in document])
    return document


@pytest.mark.parametrize(
    "model",
    [sp.DecisionTreeClassifier(), sp.RandomForestClassifier(n_estimators=3)],
    ids=lambda m: type(m).__name__,
)
def test_an_output_with_too_few_classes_is_refused(model: Any) -> None:
    targets = np.stack([np.arange(40) % 3, np.arange(40) % 3], axis=1)
    document = decode(dumps(model.fit(X, targets)))
    loads(encode(document))
    for fewer in ([np.arange(3), np.arange(2)], [np.arange(1), np.arange(3)]):
        with pytest.raises(CorruptModelFile, match="more classes than it has labels"):
            loads(encode(replaced(document, "classes_", fewer)))


def test_logit_boosting_of_one_class_is_refused_unless_its_responses_are_0() -> None:
    model = sp.AdaBoostClassifier(algorithm="logit", n_estimators=3).fit(X, Y)
    with pytest.raises(CorruptModelFile, match="single class"):
        loads(encode(replaced(decode(dumps(model)), "classes_", np.array([0]))))
    constant = sp.AdaBoostClassifier(algorithm="logit", n_estimators=3).fit(X, np.zeros(40))
    assert loads(dumps(constant)).predict(X).tolist() == [0.0] * 40


def test_rounds_with_another_number_of_members_are_refused() -> None:
    model = sp.AdaBoostClassifier(algorithm="logit", n_estimators=3).fit(X, np.arange(40) % 3)
    with pytest.raises(CorruptModelFile, match="not 1 members in each round"):
        loads(encode(replaced(decode(dumps(model)), "classes_", np.array([0, 1]))))


def test_a_model_that_does_not_fit_in_memory_is_a_damaged_file() -> None:
    document = decode(dumps(sp.RandomForestClassifier(n_estimators=2).fit(X, Y)))
    limits = resource.getrlimit(resource.RLIMIT_AS)
    with Path("/proc/self/statm").open() as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), limits[1]))
    try:
        with pytest.raises(CorruptModelFile, match="not enough memory"):
            loads(encode(replaced(document, "n_features", 10**9)))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def test_many_empty_lists_cost_no_calls() -> None:
    import sys

    data = encode({"items": [[]] * 1000})
    calls = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        assert decode(data) == {"items": [[]] * 1000}
    finally:
        sys.setprofile(None)
    assert calls < 100


def test_lists_in_lists_are_still_bounded() -> None:
    deep: list[Any] = []
    for _ in range(64):
        deep = [deep]
    assert decode(encode(deep)) == deep
    text = b"\x08\x01\0\0\0" * 66 + b"\x08\0\0\0\0"
    from spinney.io.document import read_document

    with pytest.raises(CorruptModelFile, match="nested"):
        read_document(memoryview(text), iter(()))


def test_the_repr_of_nested_models_takes_time_linear_in_their_depth() -> None:
    model: Any = sp.DecisionTreeClassifier(max_depth=3)
    for _ in range(40):
        model = sp.BaggingClassifier(model, n_estimators=7)
    assert repr(model).startswith("BaggingClassifier(estimator=BaggingClassifier(")
    assert repr(sp.BaggingClassifier(sp.C45Classifier(max_depth=2))) == (
        "BaggingClassifier(estimator=C45Classifier(max_depth=2))"
    )
