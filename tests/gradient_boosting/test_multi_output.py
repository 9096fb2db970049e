"""Several outputs in one model of gradient boosting: the shapes, losses and files of both estimators."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss, make_scorer, mean_absolute_error

import spinney
from contracts.learners import mixed_data
from spinney import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.core.errors import InputError
from spinney.gradient_boosting import Checkpoint
from spinney.losses import Loss

FIXED = {"preset": "classic", "n_estimators": 15, "random_state": 0}


def rows(n=400, seed=0):
    """Make mixed columns with two outputs of numbers and two labels."""
    X, y, weights = mixed_data("regressor", n, seed)
    values = np.column_stack([y, np.exp(0.5 * X["b"].to_numpy()) + 0.1 * y])
    return X, values, np.column_stack([y > 0, values[:, 1] > 3]).astype(int), weights + 0.1


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile", "poisson"])
def test_each_output_has_the_model_that_it_has_alone(loss):
    X, values, _, weights = rows()
    values = np.abs(values)
    both = GradientBoostingRegressor(loss, **FIXED).fit(X, values, weights)
    assert both.n_trees_per_iteration_ == 2 and both.ensemble_.n_trees == 30
    assert both.predict(X).shape == (400, 2) and len(list(both.staged_predict(X))) == 15
    for k in range(2):
        alone = GradientBoostingRegressor(loss, **FIXED).fit(X, values[:, k], weights)
        assert_allclose(both.predict(X)[:, k], alone.predict(X), rtol=1e-6)
    assert both.apply(X).shape == (400, 15, 2) and both.feature_importances_.sum() == pytest.approx(1)


def test_labels_have_the_shapes_of_scikit_learns_forests():
    X, _, labels, _ = rows()
    model = GradientBoostingClassifier(**FIXED).fit(X, labels)
    assert [one.tolist() for one in model.classes_] == [[0, 1], [0, 1]] and model.n_classes_.tolist() == [
        2,
        2,
    ]
    proba = model.predict_proba(X)
    assert [one.shape for one in proba] == [(400, 2), (400, 2)]
    assert not hasattr(model, "decision_function")  # as there
    assert_array_equal(model.predict(X), np.column_stack([one.argmax(axis=1) for one in proba]))
    assert model.score(X, labels) > 0.8
    assert_array_equal(list(model.staged_predict_proba(X))[-1], proba)
    for k in range(2):
        alone = GradientBoostingClassifier(**FIXED).fit(X, labels[:, k])
        assert_allclose(proba[k], alone.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("encoding", ["subset", "ordered"])
def test_outputs_have_any_number_of_classes(encoding):
    X, values, labels, weights = rows()
    third = np.array(["low", "mid", "top"])[np.digitize(values[:, 0], [-1.0, 1.0])]
    y = np.column_stack([third, labels[:, 1], np.repeat("same", 400)])
    params = FIXED | {"categorical_encoding": encoding}
    model = GradientBoostingClassifier(**params).fit(X, y, weights)
    assert model.n_classes_.tolist() == [3, 2, 1] and model.n_trees_per_iteration_ == 5
    proba = model.predict_proba(X)
    assert [one.shape for one in proba] == [(400, 3), (400, 2), (400, 1)]
    labels_of = [labels[p.argmax(axis=1)] for labels, p in zip(model.classes_, proba, strict=True)]
    assert_array_equal(model.predict(X), np.column_stack(labels_of))
    assert (model.predict(X) == y).mean(axis=0).min() > 0.8
    assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    assert_array_equal(spinney.io.loads(spinney.io.dumps(model)).predict_proba(X)[0], proba[0])
    if encoding == "subset":  # without statistics of all targets, each output has the model that it has alone
        for k in range(2):
            alone = GradientBoostingClassifier(**params).fit(X, y[:, k], weights)
            assert_allclose(proba[k], alone.predict_proba(X), rtol=1e-9)  # leaf steps are bounded, too
    assert model.shap_values(X[:2]).values.shape == (2, X.shape[1], 5)


def test_outputs_of_many_classes_stop_early_continue_and_refit():
    X, values, labels, _ = rows()
    y = np.column_stack([np.digitize(values[:, 0], [-1.0, 1.0]), labels[:, 1]])
    chosen = GradientBoostingClassifier(random_state=0).fit(X, y, eval_set=(X[:50], y[:50]))
    assert chosen.evals_frame().shape[0] > 1 and (chosen.predict(X) == y).mean() > 0.85
    fixed = FIXED | {"early_stopping": False}
    once = GradientBoostingClassifier(**fixed).fit(X, y)
    twice = GradientBoostingClassifier(**fixed | {"n_estimators": 7, "warm_start": True}).fit(X, y)
    twice.set_params(n_estimators=15).fit(X, y)
    assert_array_equal(once.predict_proba(X)[0], twice.predict_proba(X)[0])


def test_a_label_that_never_occurs_and_labels_of_text():
    X, _, labels, _ = rows(100)
    words = np.array([["no", "no"], ["yes", "no"]])[labels[:, 0]]
    model = GradientBoostingClassifier(**FIXED).fit(X, words)
    assert [one.shape for one in model.predict_proba(X)] == [(100, 2), (100, 1)]
    assert (model.predict(X)[:, 1] == "no").all() and (model.predict(X)[:, 0] == words[:, 0]).mean() > 0.8


def test_early_stopping_looks_at_the_mean_loss():
    X, values, labels, _ = rows()
    new, _, new_labels, _ = rows(seed=1)
    model = GradientBoostingClassifier(preset="classic", learning_rate=0.5, random_state=0)
    model.fit(X, labels, eval_set=(new, new_labels))
    best = model.best_iteration_
    assert best < model.n_iter_
    expected = np.mean([log_loss(new_labels[:, k], p[:, 1]) for k, p in enumerate(model.predict_proba(new))])
    assert model.validation_score_[best] == pytest.approx(-expected, rel=1e-9)
    scoring = make_scorer(mean_absolute_error, greater_is_better=False)
    by_scorer = GradientBoostingRegressor(**FIXED, scoring=scoring, early_stopping=True).fit(X, values)
    assert by_scorer.do_early_stopping_ and (by_scorer.validation_score_ < 0).all()


def test_defaults_files_threads_and_resume(tmp_path):
    X, values, labels, weights = rows(250)
    for kind, y in ((GradientBoostingRegressor, values), (GradientBoostingClassifier, labels)):
        params = {"n_estimators": 8, "random_state": 0, "growth": "leaf-wise", "ledger": True}
        model = kind(**params, n_jobs=1).fit(X, y, weights)
        assert "refit_rounds" in model.chosen_
        path = tmp_path / "run.spinney"
        callbacks = [Checkpoint(path, every=2), lambda round: round.number == 5]
        kind(**params).fit(X, y, weights, callbacks=callbacks)
        spinney.save(model, tmp_path / "model.spinney")
        others = [kind(**params, n_jobs=3).fit(X, y, weights), kind.resume(path, X, y, weights)]
        for other in (*others, spinney.load(tmp_path / "model.spinney")):
            assert_array_equal(other.ensemble_.value, model.ensemble_.value)
            assert_array_equal(other.predict(X), model.predict(X))


def test_categories_are_encoded_by_every_output():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 80, 2000)
    X = np.array([f"c{i}" for i in code], dtype=object)[:, None]
    effects = rng.normal(size=(80, 2))
    model = GradientBoostingRegressor(random_state=0, n_estimators=40).fit(X, effects[code])
    assert len(model.statistics_.features) == 1
    assert model.score(X, effects[code]) > 0.9


def test_losses_of_ones_own_and_init_scores():
    class LogCosh(Loss):
        def gradient(self, y, score):
            return np.tanh(score - y)

        def hessian(self, y, score):
            return np.ones_like(score)

    X, values, _, _ = rows()
    model = GradientBoostingRegressor(LogCosh(), **FIXED).fit(X, values, init_score=np.zeros((400, 2)))
    alone = GradientBoostingRegressor(LogCosh(), **FIXED).fit(X, values[:, 1], init_score=np.zeros(400))
    assert_allclose(model.predict(X)[:, 1], alone.predict(X), rtol=1e-6)


def test_what_several_outputs_cannot_have():
    X, values, labels, _ = rows(60)
    with pytest.raises(InputError, match="Set huber_delta"):
        GradientBoostingRegressor("huber").fit(X, values)
    with pytest.raises(InputError, match="y has 3 classes in output 1"):
        GradientBoostingClassifier("exponential").fit(X, np.column_stack([labels[:, 0], np.arange(60) % 3]))
    with pytest.raises(InputError, match=r"a class that is not known, in row 3\. Known classes: 0, 1"):
        GradientBoostingClassifier().fit(X, labels, eval_set=(X[:4], [[0, 0], [0, 0], [1, 1], [0, 7]]))
    with pytest.raises(InputError, match="y has 1 outputs where 2 are expected"):
        GradientBoostingRegressor().fit(X, values, eval_set=(X, values[:, 0]))
