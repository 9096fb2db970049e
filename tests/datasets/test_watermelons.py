"""The watermelon tables are those of the book, in either language and any form."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from spinney.core.errors import InputError
from spinney.datasets import load_watermelon2_missing, load_watermelon3

NAMES = ["color", "root", "sound", "texture", "navel", "touch", "density", "sugar"]
CHINESE_NAMES = ["色泽", "根蒂", "敲声", "纹理", "脐部", "触感", "密度", "含糖率"]


def entropy(labels):
    shares = pd.Series(labels).value_counts(normalize=True).to_numpy()
    return float(-(shares * np.log2(shares)).sum())


def gain(column, labels):
    parts = [labels[column == value] for value in column.unique()]
    return entropy(labels) - sum(len(part) / len(labels) * entropy(part) for part in parts)


def test_the_complete_table_has_the_gains_of_the_book():
    X, y = load_watermelon3()
    assert isinstance(X, pd.DataFrame) and X.shape == (17, 8) and list(X.columns) == NAMES
    assert y.name == "ripe" and y.tolist() == ["yes"] * 8 + ["no"] * 9
    expected = {
        "color": 0.108,
        "root": 0.143,
        "sound": 0.141,
        "texture": 0.381,
        "navel": 0.289,
        "touch": 0.006,
    }
    for name, value in expected.items():
        assert gain(X[name], y) == pytest.approx(value, abs=0.0015)
    assert gain(X["density"] <= 0.381, y) == pytest.approx(0.262, abs=0.0015)
    assert gain(X["sugar"] <= 0.126, y) == pytest.approx(0.349, abs=0.0015)
    assert X["density"].dtype == np.float64


def test_the_table_with_missing_values_has_the_gains_of_the_book():
    X, y = load_watermelon2_missing()
    assert X.shape == (17, 6) and list(X.columns) == NAMES[:6]
    assert X["color"].isna().sum() == 3 and X.isna().sum().sum() == 13
    expected = {
        "color": 0.252,
        "root": 0.171,
        "sound": 0.145,
        "texture": 0.424,
        "navel": 0.289,
        "touch": 0.006,
    }
    for name, value in expected.items():
        known = X[name].notna()
        assert known.mean() * gain(X[name][known], y[known]) == pytest.approx(value, abs=0.0015)
    texture = X["texture"]
    assert [i + 1 for i in range(17) if texture[i] == "clear"] == [1, 2, 3, 4, 5, 6, 15]
    assert [i + 1 for i in range(17) if texture[i] == "slightly blurry"] == [7, 9, 13, 14, 17]
    assert [i + 1 for i in range(17) if texture[i] == "blurry"] == [11, 12, 16]


@pytest.mark.parametrize("load", [load_watermelon3, load_watermelon2_missing])
def test_the_languages_tell_the_same(load):
    english, ripe = load("en", frame=None)
    chinese, good = load("zh", frame=None)
    assert [{"是": "yes", "否": "no"}[value] for value in good] == ripe.tolist()
    for one, other in zip(english.T, chinese.T, strict=True):
        assert len(set(one)) == len(set(other)) == len(set(zip(one, other, strict=True)))
    frame, series = load("zh")
    assert list(frame.columns) == CHINESE_NAMES[: frame.shape[1]] and series.name == "好瓜"
    assert frame["色泽"].dropna().isin(["青绿", "乌黑", "浅白"]).all()


@pytest.mark.parametrize("load", [load_watermelon3, load_watermelon2_missing])
def test_the_forms_hold_the_same(load):
    X, y = load(frame=None)
    assert X.dtype == object and y.dtype == object
    frame, series = load(frame="polars")
    assert isinstance(frame, pl.DataFrame) and isinstance(series, pl.Series)
    assert frame.rows() == [tuple(row) for row in X] and series.to_list() == y.tolist()
    table, _ = load(frame="pandas")
    assert table.astype(object).where(table.notna(), None).to_numpy().tolist() == X.tolist()


def test_a_language_that_is_not_there_is_named():
    with pytest.raises(InputError, match='language must be "en" or "zh", not \'de\''):
        load_watermelon3("de")
