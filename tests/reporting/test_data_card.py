"""Columns as they are, and warnings that are there when they should be, and only then."""

import numpy as np
import pandas as pd
import pytest

import spinney as sp
from spinney.reporting.data_card import describe_data
from spinney.reporting.rows import read_rows
from spinney.reporting.scored import score_rows

N = 400


def card(X, y, X_train=None, y_train=None):
    model = sp.DecisionTreeClassifier(max_depth=2).fit(X, y)
    rows = read_rows(model, X, y, max_rows=10_000, seed=0)
    train = None if X_train is None else read_rows(model, X_train, y_train, max_rows=10_000, seed=0)
    return describe_data(rows, train, score_rows(model, rows, "binary"))


def clean(seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=N), "b": rng.choice(["x", "y", "z"], N)})
    return X, np.where(X.a + rng.normal(size=N) > 0, "yes", "no")


def test_clean_data_has_no_warnings():
    X, y = clean()
    Xt, yt = clean(1)
    found = card(Xt, yt, X, y)
    assert found.warnings == ()
    assert [one.kind for one in found.columns] == ["numeric", "categorical"]
    assert found.columns[1].n_distinct == 3
    assert sum(share for _, share, _ in found.classes) == pytest.approx(1)
    assert 0.15 < found.columns[0].alone < 0.5
    assert found.columns[1].alone < 0.05


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("Leakage suspect", lambda y, rng: np.where(y == "yes", 2.0, 1.0) + 0.1 * rng.random(N)),
        ("Leakage suspect", lambda y, rng: np.where(y == "yes", "paid", "open")),
        ("Id-like column", lambda y, rng: rng.permutation(N) + 1000),
        ("Id-like column", lambda y, rng: [f"customer {k}" for k in range(N)]),
        ("Constant column", lambda y, rng: np.full(N, 7.0)),
        ("Mostly missing", lambda y, rng: np.where(rng.random(N) < 0.8, np.nan, 1.5 + rng.random(N))),
    ],
)
def test_a_bad_column_is_found_and_named(kind, column):
    X, y = clean()
    X["bad one"] = column(y, np.random.default_rng(3))
    found = card(X, y).warnings
    assert [one.kind for one in found] == [kind]
    assert "“bad one”" in found[0].finding
    assert "“a”" not in found[0].finding


def test_drift_duplicates_and_training_rows():
    X, y = clean()
    Xt, yt = clean(1)
    Xt["a"] += 1
    found = card(Xt, yt, X, y)
    assert [one.kind for one in found.warnings] == ["Drift"]
    assert found.columns[0].drift > 0.3 > found.columns[1].drift
    twice = pd.concat([Xt, Xt[:30]], ignore_index=True)
    labels = np.concatenate([yt, np.where(yt[:30] == "yes", "no", "yes")])
    (duplicates,) = card(twice, labels).warnings
    assert duplicates.finding == "30 of 430 rows repeat another row; 30 of them with another target."
    mixed = pd.concat([clean(1)[0], X[:25]], ignore_index=True)
    (shared,) = card(mixed, np.concatenate([yt, y[:25]]), X, y).warnings
    assert shared.finding == "25 of 425 rows are also among the training rows."
