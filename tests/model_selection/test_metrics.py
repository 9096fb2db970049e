import numpy as np
import pytest
from sklearn import metrics

import spinney
from spinney.core.errors import InputError
from spinney.model_selection import recognise_task
from spinney.model_selection.metrics import CLASSIFICATION, REGRESSION, find_metric, predict_all


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classification_metrics_are_those_of_scikit_learn(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), rng.integers(n_classes, size=90)
    model = spinney.RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    w = rng.random(90)
    found, proba = predict_all(model, X, np.arange(n_classes)), model.predict_proba(X)
    scores = {name: metric(y, found, w) for name, metric in CLASSIFICATION.items()}
    assert scores["accuracy"] == pytest.approx(metrics.accuracy_score(y, model.predict(X), sample_weight=w))
    assert scores["log_loss"] == pytest.approx(metrics.log_loss(y, proba, sample_weight=w))
    assert scores["balanced_accuracy"] == pytest.approx(
        metrics.balanced_accuracy_score(y, model.predict(X), sample_weight=w)
    )
    f1 = metrics.f1_score(y, model.predict(X), sample_weight=w, average="macro")
    assert scores["f1_macro"] == pytest.approx(f1)
    auc = metrics.roc_auc_score(
        y, proba[:, 1] if n_classes == 2 else proba, sample_weight=w, multi_class="ovr"
    )
    assert scores["roc_auc"] == pytest.approx(auc)
    if n_classes == 2:
        brier = metrics.brier_score_loss(y, proba[:, 1], sample_weight=w)
    else:
        brier = np.average(np.square(proba - np.eye(3)[y]).sum(axis=1), weights=w)
    assert scores["brier"] == pytest.approx(brier)


def test_regression_metrics():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    found = predict_all(spinney.DecisionTreeRegressor(max_depth=2).fit(X, y), X, None)
    assert REGRESSION["mae"](y, found) == pytest.approx(metrics.mean_absolute_error(y, found.labels))
    assert REGRESSION["median_error"](y, found) == metrics.median_absolute_error(y, found.labels)
    assert REGRESSION["r2"](y, found) == pytest.approx(metrics.r2_score(y, found.labels))
    assert REGRESSION["rmse"](y, found) == pytest.approx(metrics.root_mean_squared_error(y, found.labels))


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"] * 5, "classification"),
        ([True, False] * 5, "classification"),
        (np.arange(10) % 2, "classification"),
        ([0.0, 1.0] * 5, "classification"),
        (np.arange(100) % 3, "classification"),
        (np.arange(100), "regression"),
        ([0.5, 1.0, 2.0], "regression"),
        ([1, 2, 3, 4], "regression"),
        (np.array([1, 2, 1, 2], dtype=object), "classification"),
    ],
)
def test_the_task_follows_from_the_target(y, task):
    assert recognise_task(y) == task


def test_unknown_metrics_name_the_one_that_was_meant():
    assert find_metric("auc", "classification").name == "roc_auc"
    with pytest.raises(InputError, match="Did you mean 'accuracy'"):
        find_metric("acuracy", "classification")
    with pytest.raises(InputError, match="rmse, mae"):
        find_metric("xyz", "regression")
