"""Predictions batch by batch are those of the whole table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet
import pytest

from spinney import GradientBoostingClassifier, RandomForestRegressor, predict_batches, predict_to_parquet
from spinney.core.errors import InputError


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": range(3000), "a": rng.normal(size=3000), "c": rng.choice(["u", "v"], 3000)})
    return frame.assign(y=np.where(frame["a"] + (frame["c"] == "u") > 0, "yes", "no"))


@pytest.fixture(scope="module")
def model(frame):
    return GradientBoostingClassifier(n_estimators=5, preset="classic").fit(frame[["c", "a"]], frame["y"])


def test_batches_of_any_source(frame, model, tmp_path, monkeypatch):
    monkeypatch.setattr("spinney.data.store.sources.BATCH_ROWS", 700)
    frame[:1000].to_parquet(tmp_path / "1.parquet")
    frame[1000:].to_parquet(tmp_path / "2.parquet")
    expected = model.predict_proba(frame[["c", "a"]])
    for source in (tmp_path / "*.parquet", frame, pl.from_pandas(frame).lazy(), [frame[:9], frame[9:]]):
        parts = list(predict_batches(model, source, method="predict_proba"))
        assert len(parts) > 1
        np.testing.assert_array_equal(np.concatenate(parts), expected)
    assert (
        np.concatenate(list(predict_batches(model, frame))).tolist()
        == model.predict(frame[["c", "a"]]).tolist()
    )


def test_parquet_files(frame, model, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "out.parquet"
    assert predict_to_parquet(model, tmp_path / "t.csv", out, method="predict_proba", keep=["id"]) == 3000
    written = pd.read_parquet(out)
    assert list(written) == ["id", "prediction_no", "prediction_yes"]
    np.testing.assert_array_equal(written["prediction_yes"], model.predict_proba(frame[["c", "a"]])[:, 1])
    predict_to_parquet(model, frame, out)
    written = pyarrow.parquet.read_table(out)["prediction"].to_pylist()
    assert written == model.predict(frame[["c", "a"]]).tolist()


def test_a_file_is_complete_or_not_there(frame, model, tmp_path):
    bad = frame.copy()
    bad.loc[2500, "a"] = np.inf
    out = tmp_path / "out.parquet"
    with pytest.raises(InputError, match=r"In frame 1: .*infinity.* row 2500"):
        predict_to_parquet(model, [frame, bad], out)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="no column 'name' to keep"):
        predict_to_parquet(model, frame, out, keep=["name"])
    with pytest.raises(InputError, match=r"method is 'fit'; GradientBoostingClassifier has predict, "):
        list(predict_batches(model, frame, method="fit"))


def test_models_without_names_take_arrays():
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = RandomForestRegressor(3, random_state=0).fit(X, X)
    parts = list(predict_batches(model, [X[:20], X[20:]]))
    np.testing.assert_array_equal(np.concatenate(parts), model.predict(X))
