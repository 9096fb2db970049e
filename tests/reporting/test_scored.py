"""Metrics against scikit-learn's, and intervals that cover."""

import numpy as np
import pytest
from sklearn import metrics as sk

import spinney as sp
from reporting.pages import loans
from spinney.reporting.rows import read_rows
from spinney.reporting.scored import Scored, bootstrap_weights, intervals, score_rows
from spinney.reporting.verdict import judge


def binary(n=400, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    score = np.round(1 / (1 + np.exp(-(2 * truth - 1 + noise * rng.normal(size=n)))), 2)  # with ties
    proba = np.column_stack([1 - score, score])
    return Scored("binary", truth, (score >= 0.5).astype(int), proba, score, ("no", "yes")), rng.random(n)


def test_binary_metrics_are_scikit_learns():
    scored, w = binary()
    found = scored.metrics(w)
    truth, score, predicted = scored.truth, scored.score, scored.predicted
    expected = {
        "ROC AUC": sk.roc_auc_score(truth, score, sample_weight=w),
        "average precision": sk.average_precision_score(truth, score, sample_weight=w),
        "accuracy": sk.accuracy_score(truth, predicted, sample_weight=w),
        "balanced accuracy": sk.balanced_accuracy_score(truth, predicted, sample_weight=w),
        "F1": sk.f1_score(truth, predicted, sample_weight=w),
        "log loss": sk.log_loss(truth, score, sample_weight=w),
        "Brier score": sk.brier_score_loss(truth, score, sample_weight=w),
    }
    assert found == pytest.approx(expected)


def test_metrics_of_many_classes_and_of_values():
    rng = np.random.default_rng(0)
    proba, truth, w = rng.dirichlet(np.ones(4), 300), rng.integers(0, 4, 300), rng.random(300)
    found = Scored("multiclass", truth, proba.argmax(1), proba, None, tuple("abcd")).metrics(w)
    assert found["macro F1"] == pytest.approx(
        sk.f1_score(truth, proba.argmax(1), average="macro", sample_weight=w)
    )
    assert found["log loss"] == pytest.approx(sk.log_loss(truth, proba, sample_weight=w))
    y, p = rng.normal(size=300), rng.normal(size=300)
    found = Scored("regression", y, p).metrics(w)
    assert found["RMSE"] == pytest.approx(sk.root_mean_squared_error(y, p, sample_weight=w))
    assert found["MAE"] == pytest.approx(sk.mean_absolute_error(y, p, sample_weight=w))
    assert found["R²"] == pytest.approx(sk.r2_score(y, p, sample_weight=w))


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    many = binary(100_000, 99)[0]
    truth = sk.roc_auc_score(many.truth, many.score)
    covered = 0
    for seed in range(30):
        scored, _ = binary(150, seed)
        ones = np.ones(150)
        low, high = intervals([scored], bootstrap_weights(scored, ones, 100, seed))[0]["ROC AUC"]
        covered += low <= truth <= high
    assert 25 <= covered <= 30


def test_a_verdict_knows_a_good_model_from_chance():
    X, y = loans(500, 0)
    Xt, yt = loans(400, 1)
    good = sp.GradientBoostingClassifier(n_estimators=40, random_state=0).fit(X, y)
    poor = sp.DecisionTreeClassifier().fit(X[["age"]], y)
    for model, columns, outcome in ((good, list(X), "better"), (poor, ["age"], "no clear difference")):
        rows = read_rows(model, Xt[columns], yt, max_rows=10_000, seed=0)
        train = read_rows(model, X[columns], y, max_rows=10_000, seed=0)
        verdict = judge(score_rows(model, rows, "binary"), rows, train, 0)
        assert verdict.outcome == outcome, verdict
        assert [one.name for one in verdict.baselines] == ["constant", "stump", "linear model"]
        assert verdict.baselines[0].values["ROC AUC"] == 0.5


def test_baselines_are_cross_validated_without_training_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 1)), rng.normal(size=300)
    model = sp.DecisionTreeRegressor().fit(X, y)
    rows = read_rows(model, X, y, max_rows=1000, seed=0)
    verdict = judge(score_rows(model, rows, "regression"), rows, None, 0)
    assert verdict.cross_validated
    assert verdict.model.values["R²"] > 0.7  # its own training rows
    assert all(one.values["R²"] < 0.05 for one in verdict.baselines)  # noise cannot be predicted
