import sys

import numpy as np
import pytest

from spinney.core.errors import ModelFileError
from spinney.core.ledger import CandidateLedger

COLUMNS = {
    "node": [0, 0, 1, 2],
    "feature": [0, 1, 0, -1],
    "threshold": [0.38, np.nan, 0.2, 1.5],
    "gain": [0.262, 0.381, 0.1, 0.2],
    "gain_ratio": [0.27, 0.263, 0.1, 0.2],
    "score": [0.27, 0.263, 0.1, 0.2],
    "chosen": [False, True, True, True],
}


def ledger(**extra):
    """Build a ledger of two features; columns that are not given are −1."""
    given = COLUMNS | extra
    length = len(given["node"])
    types = CandidateLedger.column_types.items()
    columns = {name: np.array(given.get(name, [-1] * length), dtype) for name, dtype in types}
    return CandidateLedger(("密度", "纹理"), **columns)


def test_rows_show_feature_names():
    records = ledger().to_records()
    assert [row["feature"] for row in records] == ["密度", "纹理", "密度", ""]
    assert list(records[0]) == ["node", "feature", "threshold", "gain", "gain_ratio", "score", "chosen"]
    assert len(ledger()) == 4 and "4 candidates at 3 nodes" in repr(ledger())


def test_depth_and_samples_are_shown_when_recorded():
    records = ledger(depth=[0, 0, 1, 1], n_samples=[17, 17, 9, 8]).to_records()
    assert records[2]["depth"] == 1 and records[3]["n_samples"] == 8


def test_a_frame_of_pandas_or_polars(monkeypatch):
    assert type(ledger().to_frame()).__module__.startswith("pandas")
    monkeypatch.setitem(sys.modules, "pandas", None)
    frame = ledger().to_frame()
    assert type(frame).__module__.startswith("polars") and frame["feature"].to_list()[1] == "纹理"
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="pandas or polars"):
        ledger().to_frame()


def test_no_candidates_is_a_ledger():
    empty = ledger(**{name: [] for name in COLUMNS})
    assert len(empty) == 0 and empty.to_records() == []
    assert len(CandidateLedger.from_state(empty.to_state())) == 0


def test_follows_a_pruning():
    cut = ledger().renumbered(np.array([0, -1, 1], np.int32))
    assert cut.node.tolist() == [0, 0, 1] and cut.gain.tolist() == [0.262, 0.381, 0.2]


def test_columns_are_checked():
    with pytest.raises(ValueError, match="'gain'"):
        ledger(gain=[1.0])
    with pytest.raises(ValueError, match="without a name"):
        ledger(feature=[0, 1, 2, 0])


def test_a_state_comes_back_the_same():
    before = ledger(depth=[0, 0, 1, 1])
    after = CandidateLedger.from_state(before.to_state())
    assert str(after.to_records()) == str(before.to_records())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gain", np.zeros(3)),
        ("gain", np.zeros(4, np.float32)),
        ("node", [0, 0, 1, 2]),
        ("feature", np.full(4, 9, np.int32)),
        ("feature_names", "密度"),
        ("test", [1, 2, 3, 4]),
        ("extra", 1),
    ],
)
def test_a_damaged_state_is_refused(name, value):
    with pytest.raises(ModelFileError):
        CandidateLedger.from_state(ledger().to_state() | {name: value})
