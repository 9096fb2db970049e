"""What the commands compute is what Python computes from the same rows."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import spinney
from spinney.cli import fitting
from spinney.model_selection import statistics
from spinney.model_selection.metrics import Predictions, find_metric


def columns_of(path):
    rows = list(csv.DictReader(path.read_text().splitlines()))
    return {name: np.array([row[name] for row in rows], dtype=object) for name in rows[0]}


def read(churn, **kinds):
    """Return the training data as the commands read them."""
    from spinney.cli.options import read_training
    from spinney.cli.output import Output

    values = dict.fromkeys(("delimiter", "max_memory", "rows")) | {"encoding": "utf-8", "no_header": False}
    values |= {"missing": (), "skip_ragged": False, "drop": (), "target": "churn"}
    given = tuple(f"{name}={kind}" for name, kind in kinds.items())
    return read_training(str(churn), values | {"kinds": given}, Output(quiet=True))


@pytest.fixture
def calls(monkeypatch):
    """Arguments of the calls of cross_validate."""
    found = []
    original = spinney.model_selection.cross_validate

    def noted(*arguments, **options):
        found.append(options)
        return original(*arguments, **options)

    monkeypatch.setattr(spinney.model_selection, "cross_validate", noted)
    return found


def test_a_hold_out_set_divides_no_group_and_comes_after_training(run, churn, calls):
    columns = columns_of(churn)
    fit = ["fit", churn, "-t", "churn", "-l", "cart", "--holdout", "0.3"]
    assert run(*fit, "--group", "months").code == run(*fit, "--order", "since").code == 0
    (train, test), (earlier, later) = calls[0]["cv"][0], calls[1]["cv"][0]
    assert not set(columns["months"][train]) & set(columns["months"][test])
    assert max(columns["since"][earlier]) <= min(columns["since"][later])


def test_folds_get_groups_order_and_weights(run, churn, calls):
    columns = columns_of(churn)
    fit = ["fit", churn, "-t", "churn", "-l", "cart", "--cv", "2"]
    assert run(*fit, "--order", "since", "--weight", "months").code == run(*fit, "--group", "plan").code == 0
    assert (
        np.argsort(calls[0]["order"], kind="stable").tolist()
        == np.argsort(columns["since"].astype(str), kind="stable").tolist()
    )
    assert calls[0]["sample_weight"].tolist() == [int(one) for one in columns["months"]]
    assert calls[1]["groups"].tolist() == columns["plan"].tolist()


def test_the_saved_model_is_that_of_python_with_weights(run, churn):
    fit = ["fit", churn, "-t", "churn", "-l", "cart", "--no-score", "--set", "max_depth=2"]
    assert run(*fit, "--weight", "months", "-o", "weighted").code == 0
    data = read(churn)
    X = {name: column for name, column in data.X.items() if name != "months"}
    weights = columns_of(churn)["months"].astype(float)
    expected = spinney.DecisionTreeClassifier(max_depth=2, pruning="cost-complexity", random_state=0)
    expected.fit(X, data.y, sample_weight=weights)
    assert np.array_equal(spinney.load("weighted").predict_proba(X), expected.predict_proba(X))
    assert not np.array_equal(expected.predict_proba(X), expected.fit(X, data.y).predict_proba(X))


def test_predictions_are_those_of_the_kinds_of_training(run, churn):
    fit = ["fit", churn, "-t", "churn", "-l", "c4.5", "--no-score", "--type", "months=categorical"]
    assert run(*fit, "-o", "model").code == 0
    rows = run("predict", "model", churn, "--proba").rows
    model, data = spinney.load("model"), read(churn, months="categorical")
    assert data.X["months"].dtype == object
    expected = model.predict_proba(data.X)
    for label, part in zip(model.classes_, expected.T, strict=True):
        assert [float(row[f"probability_{label}"]) for row in rows] == part.tolist()
    assert [row["predicted_churn"] for row in rows] == model.predict(data.X).tolist()


def test_the_row_that_is_explained_is_the_one_that_was_named(run, churn):
    run("fit", churn, "-t", "churn", "-l", "c4.5", "--no-score", "-o", "model")
    found = run("explain", "model", churn, "--row", 3, "--json").json
    values = {one["feature"]: one["value"] for one in found["contributions"]}
    columns = columns_of(churn)
    assert (values["plan"], values["months"]) == (columns["plan"][3], float(columns["months"][3]))


def test_the_report_of_a_fit_is_on_rows_that_were_held_out(run, churn, monkeypatch):
    seen = {}

    def noted(model, X, y, *, X_train, y_train, **more):
        seen.update(test=list(X["spend"]), train=list(X_train["spend"]), n=(len(y), len(y_train)))
        raise KeyboardInterrupt

    monkeypatch.setattr(spinney, "report", noted)
    assert run("fit", churn, "-t", "churn", "-l", "cart", "--no-score", "--report", "r.html").code == 130
    assert seen["n"] == (24, 96)
    known = [{one for one in seen[part] if one == one} for part in ("test", "train")]
    assert len(known[0] & known[1]) < 3  # spends that two customers share


def test_intervals_of_a_hold_out_set_are_weighted():
    y, labels = np.array(["a", "b"] * 20), np.array(["a", "a"] * 20)
    predictions = Predictions(labels, None, None, np.array(["a", "b"]))
    weights = np.where(y == "a", 1.0, 0.0)
    accuracy = find_metric("accuracy", "classification")
    interval = fitting.interval_of(statistics.bootstrap_interval, accuracy, y, predictions, weights)
    assert tuple(interval) == (1.0, 1.0)


def test_tune_keeps_the_parameters_that_are_set(run, churn):
    done = run("tune", churn, "-t", "churn", "-l", "cart", "--set", "criterion=entropy", "--cv", 2,
               "--space", "max_depth=2:3", "--trials", 1, "--sampler", "random", "-o", "tuned")  # fmt: skip
    assert done.code == 0 and spinney.load("tuned").criterion == "entropy"


def test_the_best_of_a_comparison_is_what_is_saved(run, churn):
    done = run("compare", churn, "-t", "churn", "-l", "cart", "-l", "naive-bayes", "--cv", 2, "--repeats", 1,
               "--no-ensemble", "-o", "best", "--json").json  # fmt: skip
    names = {"cart": "DecisionTreeClassifier", "naive-bayes": "EncodedClassifier"}
    assert type(spinney.load("best")).__name__ == names[done["best"]]


def test_a_resumed_fit_keeps_its_task(run, churn, monkeypatch):
    from spinney.gradient_boosting import callbacks

    class EarlyCheckpoint(callbacks.Checkpoint):
        def __call__(self, round):
            spinney.save(round.model(), self.path, metadata=self.metadata)
            raise KeyboardInterrupt

    text = churn.read_text().replace(",yes", ",1").replace(",no", ",0")
    Path("numbers.csv").write_text(text)
    monkeypatch.setattr(callbacks, "Checkpoint", EarlyCheckpoint)
    fit = ["fit", "numbers.csv", "-t", "churn", "--task", "regression", "--no-score"]
    more = ["--set", "n_estimators=3", "--set", "early_stopping=false", "--checkpoint", "part"]
    assert run(*fit, *more).code == 130
    assert run("resume", "part", "--json", "-o", "whole").json["task"] == "regression"


def test_the_table_of_the_data_says_what_is_missing(churn):
    from spinney.cli.tables import data_table

    stream = io.StringIO()
    for part in data_table(read(churn), recognised=True):
        Console(file=stream, width=100).print(part)
    missing = np.mean(columns_of(churn)["spend"] == "")
    line = next(one for one in stream.getvalue().splitlines() if one.strip().startswith("spend"))
    assert f"{missing:.1%}" in line and "120 rows" in stream.getvalue()


def test_names_and_kinds_are_not_pushed_aside_by_long_values(tmp_path):
    from spinney.cli.tables import data_table

    path = tmp_path / "wide.csv"
    values = [f"a rather long category, number {i % 5}" for i in range(100)]
    lines = "\n".join(f'"{value}",{i % 2}' for i, value in enumerate(values))
    path.write_text(f"a_column_with_a_long_name,churn\n{lines}\n")
    stream = io.StringIO()
    for part in data_table(read(path), recognised=True, width=60):
        Console(file=stream, width=60).print(part)
    line = next(one for one in stream.getvalue().splitlines() if one.startswith("  a_column_with"))
    assert "categorical" in line and "a rather" in line
    assert max(map(len, stream.getvalue().splitlines())) <= 60
