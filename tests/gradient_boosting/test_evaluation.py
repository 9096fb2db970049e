"""Evaluation sets: how ``eval_set`` is read, what is recorded after every round, and what stops training."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import f1_score, log_loss, make_scorer, mean_absolute_error, roc_auc_score

from spinney import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.core.errors import InputError
from spinney.gradient_boosting import Checkpoint
from spinney.gradient_boosting.evaluation import read_eval_sets
from spinney.io import dumps, loads

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 4))
Y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * RNG.normal(size=500) > 1, "yes", "no")
W = RNG.random(100) + 0.5
TRAIN, FIRST, LAST = (X[:300], Y[:300]), (X[300:400], Y[300:400]), (X[400:], Y[400:])


def boosted(**params):
    return GradientBoostingClassifier(n_estimators=15, preset="classic", random_state=0, **params)


# ---- reading ----


def test_one_set_or_several_in_every_form():
    frame, rows, tuples = pd.DataFrame(X[:5]), X[:5].tolist(), tuple(map(tuple, X[:5].tolist()))
    dicts = [{"a": 1.0}, {"a": 2.0}]
    for table in (X[:5], frame, rows, tuples, dicts, {"a": [1.0, 2.0]}):
        for y in (Y[:5], Y[:5].tolist(), tuple(Y[:5].tolist()), pd.Series(Y[:5])):
            for one in ((table, y), [table, y], (table, y, None), (table, y, np.ones(5), None)):
                for given, n_sets in ((one, 1), ([one], 1), ((one,), 1), ([one, one], 2), ((one, one), 2)):
                    sets = read_eval_sets(given)
                    assert len(sets) == n_sets
                    assert all(part[0] is table and part[1] is y for part in sets)


@pytest.mark.parametrize(
    "given, message",
    [
        (X, "eval_set must be"),
        ((X,), "eval_set must be"),
        ("X, y", "eval_set must be"),
        ([(X, Y), X], r"eval_set\[1\] is a ndarray"),
        ([(X, Y), (X,)], r"eval_set\[1\] is a tuple"),
        ([], "eval_metric is given without"),
    ],
)
def test_what_is_not_a_set_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        boosted().fit(*TRAIN, eval_set=given, eval_metric="auc")


def test_names_weights_and_metrics_must_fit():
    sets = [FIRST, LAST]
    for wrong in (
        {"eval_names": ["a"]},
        {"eval_names": ["a", "a"]},
        {"eval_sample_weight": [W]},
        {"eval_sample_weight": W},
        {"eval_metric": "no such metric"},
        {"eval_metric": [3]},
    ):
        with pytest.raises(InputError, match=next(iter(wrong))):
            boosted().fit(*TRAIN, eval_set=sets, **wrong)
    with pytest.raises(InputError, match="Pass them in one place"):
        boosted().fit(*TRAIN, eval_set=(*FIRST, W), eval_sample_weight=[W])
    with pytest.raises(InputError, match="without an eval_set"):
        boosted().fit(*TRAIN, eval_names=["a"])


# ---- recording ----


def gini(y, probability):
    return "gini", 2 * roc_auc_score(y, probability) - 1, True


def test_every_metric_of_every_set_is_recorded_after_every_round():
    metrics = ["loss", "logloss", "auc", "accuracy", "error", gini, log_loss]
    model = boosted(early_stopping=False).fit(
        *TRAIN, eval_set=[TRAIN, LAST], eval_names=["train", "test"], eval_metric=metrics,
        eval_sample_weight=[None, W],
    )  # fmt: skip
    assert list(model.evals_result_) == ["train", "test"]
    for name, (rows, y), weights in (("train", TRAIN, None), ("test", LAST, W)):
        recorded = model.evals_result_[name]
        assert list(recorded) == ["loss", "logloss", "auc", "accuracy", "error", "gini", "log_loss"]
        staged = [p[:, 1] for p in model.staged_predict_proba(rows)]
        losses = [log_loss(y, p, sample_weight=weights) for p in staged]
        areas = [roc_auc_score(y, p, sample_weight=weights) for p in staged]
        for metric in ("loss", "logloss", "log_loss"):
            assert_allclose(recorded[metric], losses, rtol=1e-9)
        assert_allclose(recorded["auc"], areas, rtol=1e-9)
        assert_allclose(recorded["error"], 1 - np.array(recorded["accuracy"]), atol=1e-12)
        assert_allclose(recorded["gini"], [2 * roc_auc_score(y, p) - 1 for p in staged], rtol=1e-9)
    frame = model.evals_frame()
    assert frame["round"].tolist() == list(range(1, 16)) and frame.shape == (15, 15)
    assert frame["test-auc"].tolist() == model.evals_result_["test"]["auc"]
    assert loads(dumps(model)).evals_result_ == model.evals_result_
    assert boosted().fit(*TRAIN).evals_result_ == {}


def test_the_last_set_stops_training_by_the_scoring():
    params = {"learning_rate": 0.5, "n_iter_no_change": 3, "tol": 0.0}
    alone = boosted(**params).fit(*TRAIN, eval_set=LAST)
    model = boosted(**params).fit(*TRAIN, eval_set=[TRAIN, FIRST, LAST], eval_metric=["accuracy", "auc"])
    assert_array_equal(model.validation_score_, alone.validation_score_)
    assert model.best_iteration_ == alone.best_iteration_ and len(model.evals_result_) == 3
    assert len(model.evals_result_["validation_0"]["auc"]) == model.n_iter_ < 15
    assert alone.evals_result_ == {"validation_0": {"loss": (-alone.validation_score_[1:]).tolist()}}
    by_area = boosted(scoring="roc_auc").fit(*TRAIN, eval_set=[FIRST, LAST])
    assert list(by_area.evals_result_["validation_1"]) == ["roc_auc"]
    assert_array_equal(by_area.evals_result_["validation_1"]["roc_auc"], by_area.validation_score_[1:])


def test_regression_metrics_have_their_usual_sign():
    y = X[:, 0] + 0.1 * RNG.normal(size=500)
    model = GradientBoostingRegressor(n_estimators=5, preset="classic").fit(
        X[:300], y[:300], eval_set=[(X[300:], y[300:])], eval_metric=["rmse", "l1", "r2", mean_absolute_error]
    )
    recorded, predicted = model.evals_result_["validation_0"], model.predict(X[300:])
    assert recorded["rmse"][-1] == pytest.approx(np.sqrt(np.mean((y[300:] - predicted) ** 2)))
    assert recorded["l1"] == pytest.approx(recorded["mean_absolute_error"])
    assert recorded["l1"][-1] == pytest.approx(np.abs(y[300:] - predicted).mean()) and recorded["r2"][-1] > 0


def test_values_are_recorded_under_the_name_that_a_metric_returns():
    def evaluate(y, probability):
        return "area", roc_auc_score(y, probability), True

    given = {"eval_set": [FIRST, LAST], "eval_metric": [evaluate, "auc", lambda y, p: 1.0, lambda y, p: 2.0]}
    whole = boosted(early_stopping=False).fit(*TRAIN, **given)
    recorded = whole.evals_result_["validation_1"]
    assert list(recorded) == ["area", "auc", "<lambda>", "<lambda> (2)"]
    assert_allclose(recorded["area"], recorded["auc"])
    assert recorded["<lambda> (2)"] == [2.0] * 15
    parts = boosted(early_stopping=False, warm_start=True).set_params(n_estimators=6).fit(*TRAIN, **given)
    assert parts.set_params(n_estimators=15).fit(*TRAIN, **given).evals_result_ == whole.evals_result_


def test_metrics_have_the_names_of_all_peers():
    names = ["AUC", "Logloss", "log_loss", "neg_log_loss", "Accuracy"]
    recorded = boosted().fit(*TRAIN, eval_set=[LAST], eval_metric=names).evals_result_["validation_0"]
    assert list(recorded) == names
    assert recorded["log_loss"] == recorded["Logloss"] == [-loss for loss in recorded["neg_log_loss"]]
    with pytest.raises(InputError, match=r"no eval_metric 'binary_loglos'.*mean 'binary_logloss'"):
        boosted().fit(*TRAIN, eval_set=[LAST], eval_metric="binary_loglos")


def test_scorers_and_functions_of_weights_are_metrics():
    given = []

    def weighted(y, prediction, weight):
        given.append(weight)
        return "weighted", float(len(y)), True

    metrics = [make_scorer(f1_score, pos_label="yes"), weighted]
    model = boosted(early_stopping=False).fit(*TRAIN, eval_set=[FIRST, (*LAST, W)], eval_metric=metrics)
    recorded = model.evals_result_["validation_0"]
    assert list(recorded) == ["f1_score", "weighted"]
    assert_allclose(recorded["f1_score"][-1], f1_score(FIRST[1], model.predict(FIRST[0]), pos_label="yes"))
    assert given[0] is None
    assert_array_equal(given[1], W)
    with pytest.raises(InputError, match=r"returned .*Return a number, or"):
        boosted().fit(*TRAIN, eval_set=[FIRST], eval_metric=lambda y, p: [("a", 1.0, True)])


def test_a_set_without_rows_is_refused():
    with pytest.raises(InputError, match="has no rows"):
        boosted().fit(*TRAIN, eval_set=[(X[:0], Y[:0])])


# ---- further rounds ----


def test_records_go_on_with_warm_starts_and_checkpoints(tmp_path):
    given = {"eval_set": [FIRST, LAST], "eval_metric": ["auc", "loss"]}
    whole = boosted(early_stopping=False).fit(*TRAIN, **given)
    parts = boosted(early_stopping=False, warm_start=True).set_params(n_estimators=6).fit(*TRAIN, **given)
    assert parts.set_params(n_estimators=15).fit(*TRAIN, **given).evals_result_ == whole.evals_result_
    other = parts.set_params(n_estimators=17).fit(*TRAIN, eval_set=LAST, eval_names=["new"])
    assert np.isnan(other.evals_result_["new"]["loss"][:15]).all()
    assert np.isfinite(other.evals_result_["new"]["loss"][15:]).all()
    path = tmp_path / "run.spinney"
    stop = lambda round: round.number == 6  # noqa: E731
    boosted(early_stopping=False).fit(*TRAIN, callbacks=[Checkpoint(path, every=6), stop], **given)
    resumed = GradientBoostingClassifier.resume(path, *TRAIN, **given)
    assert resumed.evals_result_ == whole.evals_result_ and dumps(resumed) == dumps(whole)


def test_members_record_the_first_one():
    model = GradientBoostingClassifier(n_estimators=8, n_members=2, random_state=0)
    model.fit(*TRAIN, eval_set=[FIRST, LAST])
    recorded = model.evals_result_["validation_1"]["loss"]
    assert_allclose(recorded, -model.validation_score_[1:])
