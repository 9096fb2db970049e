"""Old files load for ever: every model stored here predicts what it predicted when it was saved."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import contracts.learners  # noqa: F401  (defines the learners)
import persistence.toys  # noqa: F401  (defines the toy classes that some files hold)
from golden.expectations import (
    HERE,
    METHODS,
    Expectation,
    plain_rows,
    read_expectations,
    read_rows,
    rows_from,
)
from spinney.io import dumps, load
from spinney.io.container import VERSION, decode, encode
from spinney.io.document import Tagged

VERSIONS = sorted(HERE.glob("v*"))
MODELS = [(folder, name) for folder in VERSIONS for name in read_expectations(folder)]

# Their predictions depend on NumPy's exponentials or matrix products, whose last bits vary by processor.
ROUNDING = (
    "AdaBoost", "GradientBoosting", "OutputCode", "Stacking", "GaussianNB", "MultinomialNB", "BernoulliNB",
    "CategoricalNB", "Linear", "Perceptron", "PassiveAggressive", "SV", "OneVs", "ClassifierChain",
    "OneClassSVM", "MultiTask", "Logistic", "Ridge", "Lasso", "ElasticNet", "GeneralizedLinear",
)  # fmt: skip

EVERY_KIND: dict[str, Any] = {
    "none": None,
    "bools": [False, True],
    "integers": [0, -1, 2**63 - 1, -(2**63), 2**63, -(2**200)],
    "floats": [0.5, -0.0, float("inf"), 5e-324],
    "text": "Spinney, 小树林",
    "bytes": b"\x00\xff",
    "tuple": (1, ("nested", [])),
    "dict": {"z": 1, "a": {}},
    "tagged": Tagged("mapping", [(1, 2)]),
    "arrays": [
        np.arange(6).reshape(2, 3).astype(dtype)
        for dtype in ("?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8")
    ],
    "shapes": [np.array(1.5), np.zeros((0, 3)), np.ones((1, 2, 1))],
}


@cache
def expectations(folder: Path) -> dict[str, Expectation]:
    return read_expectations(folder)


each_model = pytest.mark.parametrize(
    ("folder", "name"), [pytest.param(*model, id=f"{model[0].name}/{model[1]}") for model in MODELS]
)


@each_model
def test_an_old_model_predicts_as_it_did(folder: Path, name: str) -> None:
    cls, table, expected = expectations(folder)[name]
    model = load(folder / f"{name}.spinney")
    assert type(model).__name__ == cls
    rows = rows_from(read_rows()[table])
    assert set(expected) <= {method for method in METHODS if hasattr(model, method)}  # it may learn more
    for method, values in expected.items():
        found = np.asarray(getattr(model, method)(rows))
        if found.dtype.kind == "f" and cls.startswith(ROUNDING):
            np.testing.assert_allclose(found, values, rtol=1e-10, atol=1e-12)
        else:
            assert found.tolist() == values.tolist()


@each_model
def test_an_old_model_can_be_saved_again(folder: Path, name: str) -> None:
    model = load(folder / f"{name}.spinney")
    assert dumps(load(dumps(model))) == dumps(model)


def test_every_golden_file_has_an_expectation() -> None:
    files = {(path.parent, path.stem) for path in HERE.glob("v*/*.spinney")}
    assert files == {*MODELS, (HERE / "v1", "every_kind")}


def test_every_kind_of_value_has_the_bytes_it_had() -> None:
    """The file was written once, by version 1; reading and writing must both still fit it."""
    data = (HERE / "v1" / "every_kind.spinney").read_bytes()
    assert encode(decode(data), version=1) == data
    assert encode(EVERY_KIND, version=1) == data


def test_there_is_a_model_of_every_format_version() -> None:
    assert {folder.name for folder, _ in MODELS} == {f"v{version}" for version in range(1, VERSION + 1)}


def test_the_rows_beside_a_file_are_exact() -> None:
    pd = pytest.importorskip("pandas")
    array = np.array([[0.1, np.nan], [1e-300, -np.inf]])
    back = rows_from(json.loads(json.dumps(plain_rows(array))))
    assert back.tobytes() == array.tobytes()
    frame = pd.DataFrame({"色": ["a", None], "n": [0.1, np.nan]})
    again = rows_from(json.loads(json.dumps(plain_rows(frame))))
    assert again["色"].tolist() == ["a", None] and np.array_equal(again["n"], frame["n"], equal_nan=True)
