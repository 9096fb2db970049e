"""Old files load for ever: every model ever kept here gives the predictions it gave when it was saved."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import contracts.learners  # noqa: F401  (defines the learners)
import persistence.toys  # noqa: F401  (defines the toy classes that some files hold)
from golden.expectations import plain, plain_rows, rows_from
from spinney.io import dumps, load
from spinney.io.container import VERSION, decode, encode
from spinney.io.document import Tagged

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("v*/*.spinney"))
MODELS = [path for path in FILES if path.with_suffix(".json").exists()]

# Their answers pass through NumPy's exponentials or matrix products, whose last bits are the processor's.
ROUNDING = ("AdaBoost", "GradientBoosting", "NegativeCorrelation", "OutputCode", "Stacking")

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


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", MODELS, ids=name_of)
def test_an_old_model_predicts_as_it_did(path: Path) -> None:
    content = json.loads(path.with_suffix(".json").read_text())
    model = load(path)
    assert type(model).__name__ == content["class"]
    rows = rows_from(content["rows"])
    assert content["expected"]
    for method, expected in content["expected"].items():
        found = np.asarray(getattr(model, method)(rows))
        if found.dtype.kind == "f" and content["class"].startswith(ROUNDING):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
        else:
            assert plain(found) == expected


@pytest.mark.parametrize("path", MODELS, ids=name_of)
def test_an_old_model_can_be_saved_again(path: Path) -> None:
    model = load(path)
    assert dumps(load(dumps(model))) == dumps(model)


def test_every_kind_of_value_has_the_bytes_it_had() -> None:
    """The file was written once, by version 1; reading and writing must both still fit it."""
    data = (HERE / "v1" / "every_kind.spinney").read_bytes()
    assert encode(decode(data), version=1) == data
    assert encode(EVERY_KIND, version=1) == data


def test_there_is_a_model_of_every_format_version() -> None:
    assert {path.parent.name for path in MODELS} == {f"v{version}" for version in range(1, VERSION + 1)}


def test_the_rows_beside_a_file_are_exact() -> None:
    pd = pytest.importorskip("pandas")
    array = np.array([[0.1, np.nan], [1e-300, -np.inf]])
    back = rows_from(json.loads(json.dumps(plain_rows(array))))
    assert back.tobytes() == array.tobytes()
    frame = pd.DataFrame({"色": ["a", None], "n": [0.1, np.nan]})
    again = rows_from(json.loads(json.dumps(plain_rows(frame))))
    assert again["色"].tolist() == ["a", None] and np.array_equal(again["n"], frame["n"], equal_nan=True)
