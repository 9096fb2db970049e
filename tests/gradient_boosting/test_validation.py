"""Early stopping: which rows are held out, how they are scored, when training ends, and what answers then."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss, make_scorer, mean_absolute_error, roc_auc_score

from spinney import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.core.early_stopping import EarlyStopping
from spinney.data.splits import hold_out
from spinney.gradient_boosting.rounds import best_round
from spinney.losses import Loss


def rows(n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n) > 0, "yes", "no")


def overfitting(**params):
    """Make a classifier that is past its best long before its last round."""
    defaults = {"learning_rate": 0.3, "n_estimators": 120, "random_state": 0, "early_stopping": True}
    return GradientBoostingClassifier(**defaults | params, preset="classic")


# ---- when to stop ----


def test_early_stopping_counts_rounds_without_improvement():
    stopping = EarlyStopping(3, 0.1)
    stopped = [stopping.update(score) for score in (0.0, 1.0, 1.05, 1.09, 1.2, 1.25, 1.3, 1.3)]
    assert stopped == [False] * 7 + [True]


def test_the_best_round_is_never_the_constant():
    assert best_round([9.0, 1.0, 3.0, 3.0]) == 2
    assert best_round([np.nan, np.nan, 1.0]) == 2


def test_training_ends_after_the_last_gain():
    X, y = rows()
    model = overfitting(n_iter_no_change=7, tol=0.0).fit(X, y)
    scores = model.validation_score_
    assert model.do_early_stopping_
    assert model.best_iteration_ == np.argmax(scores[1:]) + 1
    assert model.n_iter_ == model.best_iteration_ + 7 < 120
    assert len(scores) == len(model.train_score_) == model.n_iter_ + 1


# ---- what answers ----


def test_every_output_uses_the_best_round_alone():
    X, y = rows()
    stopped = overfitting(n_iter_no_change=7).fit(X, y)
    best = stopped.best_iteration_
    kept = stopped.ensemble_[:best]
    assert best < stopped.n_iter_ == stopped.ensemble_.n_trees
    total = np.tile(stopped.base_score_, (len(X), 1))
    for tree, leaves in zip(kept.trees(), stopped.apply(X).T, strict=True):
        total[:, 0] += tree.value[leaves, 0, 0]
    assert_array_equal(stopped.decision_function(X), total[:, 0])
    assert_array_equal(stopped.predict(X), np.where(total[:, 0] > 0, "yes", "no"))
    assert_allclose(stopped.predict_proba(X)[:, 1], 1 / (1 + np.exp(-total[:, 0])))
    for staged in (stopped.staged_predict, stopped.staged_predict_proba, stopped.staged_decision_function):
        assert len(list(staged(X))) == best
    assert stopped.split_counts().sum() == np.count_nonzero(kept.feature >= 0)
    gain = np.bincount(kept.feature[kept.feature >= 0], kept.impurity[kept.feature >= 0], minlength=5)
    assert_allclose(stopped.feature_importances_, gain / gain.sum())


# ---- which rows ----


def test_held_out_rows_do_not_train():
    X, y = rows()
    X = X.round(1)  # a bin for each value: bins are those of all rows
    held = hold_out(0.2, 7, len(y), (y == "yes").astype(np.int32))
    assert held.sum() == 100
    assert np.mean(y[held] == "yes") == pytest.approx(np.mean(y == "yes"), abs=0.01)
    seed_of_seven = overfitting(random_state=7, validation_fraction=0.2)
    model = seed_of_seven.fit(X, y)
    codes = (y == "yes").astype(float)
    by_seed = hold_out(0.2, model._seed, len(y), codes.astype(np.int32))
    apart = overfitting(random_state=7).fit(X[~by_seed], y[~by_seed], eval_set=(X[by_seed], y[by_seed]))
    assert_allclose(model.validation_score_, apart.validation_score_, rtol=1e-9)
    assert_allclose(model.train_score_, apart.train_score_, rtol=1e-9)
    assert_array_equal(model.predict_proba(X), apart.predict_proba(X))


def test_the_scores_are_the_loss_of_the_stages():
    X, y = rows()
    eval_X, eval_y = rows(seed=1)
    model = overfitting(n_estimators=20).fit(X, y, eval_set=(eval_X, eval_y))
    stages = [-log_loss(eval_y, proba) for proba in model.staged_predict_proba(eval_X)]
    assert_allclose(model.validation_score_[1 : len(stages) + 1], stages)
    trained = [-log_loss(y, proba) for proba in model.staged_predict_proba(X)]
    assert_allclose(model.train_score_[1 : len(stages) + 1], trained)


def test_weights_of_the_eval_set_count():
    X, y = rows()
    weights = np.random.default_rng(1).random(500)
    model = overfitting(n_estimators=5).fit(X, y, eval_set=(X, y, weights))
    last = list(model.staged_predict_proba(X))[-1]
    assert model.validation_score_[model.best_iteration_] == pytest.approx(
        -log_loss(y, last, sample_weight=weights)
    )


def test_class_weights_of_training_count_in_the_eval_set():
    X, y = rows()
    new_X, new_y = rows(seed=1)
    shares = {label: 250 / np.sum(y == label) for label in ("yes", "no")}
    for weights in (None, np.random.default_rng(2).random(500)):
        model = overfitting(class_weight="balanced", n_estimators=3).fit(
            X, y, eval_set=(new_X, new_y, weights)
        )
        by_class = np.array([shares[label] for label in new_y]) * (1.0 if weights is None else weights)
        last = list(model.staged_predict_proba(new_X))[-1]
        expected = -log_loss(new_y, last, sample_weight=by_class)
        assert model.validation_score_[model.best_iteration_] == pytest.approx(expected)


def test_validation_by_the_training_rows_or_by_a_number_of_rows():
    X, y = rows()
    model = overfitting(validation_fraction=None, n_estimators=10).fit(X, y)
    assert len(model.validation_score_) == 0
    assert model.best_iteration_ == np.argmax(model.train_score_[1:]) + 1
    by_share = overfitting(validation_fraction=0.1, n_estimators=10).fit(X, y)
    by_number = overfitting(validation_fraction=50, n_estimators=10).fit(X, y)
    assert_array_equal(by_share.validation_score_, by_number.validation_score_)


def test_auto_stops_large_tables_and_those_with_an_eval_set():
    X, y = rows(300)
    small = GradientBoostingClassifier(n_estimators=3, preset="classic").fit(X, y)
    assert not small.do_early_stopping_ and len(small.train_score_) == 0
    assert (
        GradientBoostingClassifier(n_estimators=3, preset="classic")
        .fit(X, y, eval_set=(X, y))
        .do_early_stopping_
    )
    X, y = rows(10_001)
    assert GradientBoostingClassifier(n_estimators=3, preset="classic").fit(X, y).do_early_stopping_
    watched = GradientBoostingClassifier(n_estimators=3, early_stopping=False, preset="classic").fit(
        X, y, eval_set=(X, y)
    )
    assert not watched.do_early_stopping_
    assert (len(watched.validation_score_), watched.best_iteration_) == (4, 3)


# ---- by which score ----


@pytest.mark.parametrize("scoring", ["roc_auc", "accuracy", "neg_log_loss", None])
def test_any_scorer_by_name(scoring):
    X, y = rows()
    eval_X, eval_y = rows(seed=1)
    model = overfitting(scoring=scoring, n_estimators=10).fit(X, y, eval_set=(eval_X, eval_y))
    decisions = list(model.staged_decision_function(eval_X))
    stages = list(model.staged_predict_proba(eval_X))
    expected = {
        "roc_auc": [roc_auc_score(eval_y, scores) for scores in decisions],
        "neg_log_loss": [-log_loss(eval_y, proba) for proba in stages],
    }.get(scoring, [np.mean(model.classes_[proba.argmax(axis=1)] == eval_y) for proba in stages])
    assert_allclose(model.validation_score_[1 : len(stages) + 1], expected)


def test_a_scorer_as_a_function_sees_the_rows_themselves():
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcde"))
    seen = []

    def scorer(estimator, X, y):
        seen.append((type(X), list(X.columns), len(X), estimator.predict_proba(X).shape))
        return float(np.mean(estimator.predict(X) == y))

    overfitting(scoring=scorer, n_estimators=2, validation_fraction=0.2).fit(frame, y)
    assert seen[0] == (pd.DataFrame, list("abcde"), 400, (400, 2))
    assert seen[1][2] == 100


def test_scorers_of_regression_and_many_classes():
    X, _ = rows()
    y = X[:, 0] ** 2
    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    model = GradientBoostingRegressor(
        early_stopping=True, scoring=scorer, n_estimators=5, random_state=0, preset="classic"
    )
    model.fit(X, y, np.ones(500), eval_set=(X, y, np.arange(500.0)))
    expected = -mean_absolute_error(y, list(model.staged_predict(X))[-1], sample_weight=np.arange(500.0))
    assert model.validation_score_[model.best_iteration_] == pytest.approx(expected)
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    model = GradientBoostingClassifier(
        early_stopping=True, scoring="roc_auc_ovr", n_estimators=5, random_state=0, preset="classic"
    ).fit(X, three)
    assert model.validation_score_[-1] > 0.95


def test_a_scorer_is_shown_at_most_ten_thousand_training_rows():
    X, y = rows(12_500)
    sizes = []

    def scorer(estimator, X, y):
        sizes.append(len(y))
        return 0.0

    overfitting(scoring=scorer, n_estimators=1).fit(X, y)
    assert sizes == [10_000, 1250] * 2


# ---- what is refused ----


def test_what_cannot_be_validated_is_refused():
    X, y = rows(30)
    for wrong in ((X,), X, (X, y, None, None, None)):
        with pytest.raises(ValueError, match="eval_set must be"):
            overfitting().fit(X, y, eval_set=wrong)
    with pytest.raises(ValueError, match=r"'maybe', a class.*row 0.*'no', 'yes'"):
        overfitting().fit(X, y, eval_set=(X[:1], ["maybe"]))
    with pytest.raises(ValueError, match="init_score, or neither"):
        overfitting().fit(X, y, eval_set=(X, y, None, np.zeros(30)))
    with pytest.raises(ValueError, match=r"cannot hold out 1 of .* n_samples = 1"):
        overfitting(validation_fraction=1).fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="no weight on one side"):
        overfitting().fit(X, y, np.arange(30) == 0)
    with pytest.raises(ValueError, match="features"):
        overfitting().fit(X, y, eval_set=(X[:, :2], y))


def test_a_loss_without_a_value_needs_a_scorer():
    class Derivatives(Loss):
        def gradient(self, y, score):
            return score - y

        def hessian(self, y, score):
            return np.ones_like(score)

    X, _ = rows()
    with pytest.raises(ValueError, match=r"Define value\(y, score\)"):
        GradientBoostingRegressor(Derivatives(), early_stopping=True, preset="classic").fit(X, X[:, 0])
    model = GradientBoostingRegressor(
        Derivatives(), early_stopping=True, scoring="r2", n_estimators=5, preset="classic"
    )
    assert len(model.fit(X, X[:, 0]).validation_score_) == 6
    ledger = (
        GradientBoostingRegressor(Derivatives(), ledger=True, n_estimators=5, preset="classic")
        .fit(X, X[:, 0])
        .ledger_
    )
    assert np.isnan(ledger.train_loss).all()
