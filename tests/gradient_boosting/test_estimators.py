"""Gradient boosting learns by every loss; outputs, weights, constraints and tables are what they say."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from spinney import GradientBoostingClassifier, GradientBoostingRegressor, HistGradientBoostingRegressor
from spinney.gradient_boosting.parameters import REGRESSION_LOSSES
from spinney.losses import Loss
from spinney.losses.losses import LOG, SquaredLoss, weighted_quantile


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    signal = X[:, 0] + X[:, 1] ** 2 + 0.2 * rng.normal(size=n)
    return X, signal


def labels(signal, n_classes):
    names = np.array(["first", "second", "third"])
    return names[np.digitize(signal, [0.7] if n_classes == 2 else [0.0, 1.4])]


def scores(model, X):
    found = model.decision_function(X)
    return found if found.ndim == 2 else found[:, None]


# ---- learning ----


@pytest.mark.parametrize("loss", REGRESSION_LOSSES)
def test_each_loss_falls_and_ends_low(loss):
    X, signal = rows()
    y = np.exp(np.clip(0.5 * signal, -1, 1))
    model = GradientBoostingRegressor(loss, ledger=True, preset="classic").fit(X, y)
    losses = model.ledger_.train_loss
    assert (np.diff(losses) <= 1e-9 * abs(losses[0])).all()
    constant = model.loss_.mean_value(y, np.full(len(y), model.base_score_[0]), None)
    assert losses[0] == pytest.approx(constant)
    perfect = model.loss_.mean_value(y, model.loss_.link.score(y), None)
    assert losses[-1] - perfect < 0.2 * (losses[0] - perfect)
    fitted = model.loss_.mean_value(y, model.loss_.link.score(model.predict(X)), None)
    assert losses[-1] == pytest.approx(fitted, rel=1e-9)


@pytest.mark.parametrize("loss, n_classes", [("log_loss", 2), ("log_loss", 3), ("exponential", 2)])
def test_classes_are_learned(loss, n_classes):
    X, signal = rows()
    y = labels(signal, n_classes)
    model = GradientBoostingClassifier(loss, ledger=True, preset="classic").fit(X[:300], y[:300])
    assert (np.diff(model.ledger_.train_loss) < 0).all()
    assert model.score(X[300:], y[300:]) > 0.85
    assert model.classes_.tolist() == sorted(set(y))


def test_quantiles_have_their_share_below():
    X, signal = rows(2000)
    for quantile in (0.1, 0.5, 0.9):
        model = GradientBoostingRegressor(
            "quantile", quantile=quantile, n_estimators=50, preset="classic"
        ).fit(X, signal)
        assert np.mean(signal < model.predict(X)) == pytest.approx(quantile, abs=0.03)


def test_poisson_keeps_the_total_count():
    X, signal = rows()
    y = np.random.default_rng(1).poisson(np.exp(signal / 2)).astype(float)
    predicted = GradientBoostingRegressor("poisson", preset="classic").fit(X, y).predict(X)
    assert (predicted > 0).all()
    assert predicted.sum() == pytest.approx(y.sum(), rel=0.01)


def test_a_loss_of_ones_own_is_as_good_as_the_built_in_one():
    class OwnSquares(Loss):
        def gradient(self, y, score):
            return score - y

        def hessian(self, y, score):
            return np.ones(len(y))

    class OwnPoisson(Loss):
        link = LOG

        def gradient(self, y, score):
            return np.exp(score) - y

        def hessian(self, y, score):
            return np.exp(score)

        def value(self, y, score):
            return np.exp(score) - y * score

        def constant(self, y, weights):
            return np.log([np.average(y, weights=weights)])

    X, signal = rows()
    weights = np.random.default_rng(2).integers(0, 3, len(X)).astype(float)
    for own, name, y in (
        (OwnSquares(), "squared_error", signal),
        (OwnPoisson(), "poisson", np.exp(0.3 * signal)),
    ):
        mine = GradientBoostingRegressor(own, n_estimators=20, preset="classic").fit(X, y, weights)
        built_in = GradientBoostingRegressor(name, n_estimators=20, preset="classic").fit(X, y, weights)
        assert_allclose(mine.predict(X), built_in.predict(X), rtol=1e-6, atol=1e-9)


def test_a_loss_of_ones_own_for_classes():
    class OwnSoftmax(Loss):
        def gradient(self, y, score):
            mean = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
            return mean - (y[:, None] == np.arange(score.shape[1]))

        def hessian(self, y, score):
            mean = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
            return mean * (1 - mean)

    X, signal = rows()
    y = labels(signal, 3)
    model = GradientBoostingClassifier(OwnSoftmax(), n_estimators=30, preset="classic").fit(X, y)
    assert model.score(X, y) > 0.95
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "damage, words",
    [
        (lambda g: g[:-1], "shape"),
        (lambda g: g * np.nan, "not finite.*row 0"),
    ],
)
def test_a_loss_of_ones_own_that_is_wrong(damage, words):
    class Wrong(Loss):
        def gradient(self, y, score):
            return damage(score - y)

        def hessian(self, y, score):
            return np.ones_like(score)

        def constant(self, y, weights):
            return np.zeros(1)

    X, signal = rows(50)
    with pytest.raises(ValueError, match=f"gradient of Wrong .*{words}"):
        GradientBoostingRegressor(Wrong(), preset="classic").fit(X, signal)


# ---- outputs ----


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_outputs_of_a_classifier_belong_together(n_classes):
    X, signal = rows()
    y = labels(signal, n_classes)
    model = GradientBoostingClassifier(n_estimators=12, preset="classic").fit(X, y)
    proba, decisions = model.predict_proba(X), model.decision_function(X)
    assert proba.shape == (400, n_classes)
    assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
    assert_array_equal(model.predict_log_proba(X), np.log(proba))
    if n_classes == 2:
        assert_allclose(proba[:, 1], expit(decisions))
    else:
        assert_allclose(proba, np.exp(decisions) / np.exp(decisions).sum(axis=1, keepdims=True))
    staged = list(model.staged_predict_proba(X))
    assert len(staged) == 12
    assert_array_equal(staged[-1], proba)
    assert_array_equal(list(model.staged_decision_function(X))[-1], decisions)
    assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    shorter = clone(model).set_params(n_estimators=5).fit(X, y)
    assert_array_equal(staged[4], shorter.predict_proba(X))


def test_scores_are_the_constant_and_the_leaves_added_up():
    X, signal = rows()
    model = GradientBoostingClassifier(n_estimators=7, preset="classic").fit(X, labels(signal, 3))
    leaves = model.apply(X)
    assert leaves.shape == (400, 7, 3)
    total = np.tile(model.base_score_, (400, 1))
    for t in range(7):
        for k in range(3):
            tree = model.ensemble_.tree(3 * t + k)
            assert tree.is_leaf[leaves[:, t, k]].all()
            total[:, k] += tree.value[leaves[:, t, k], 0, 0]
    assert_array_equal(model.decision_function(X), total)
    regressor = GradientBoostingRegressor(n_estimators=7, preset="classic").fit(X, signal)
    assert regressor.apply(X).shape == (400, 7)
    assert_array_equal(list(regressor.staged_predict(X))[-1], regressor.predict(X))


def test_importances_find_what_matters():
    X, signal = rows()
    model = GradientBoostingRegressor(n_estimators=30, preset="classic").fit(X, signal)
    importances, counts = model.feature_importances_, model.split_counts()
    assert importances.sum() == pytest.approx(1.0)
    assert set(np.argsort(importances)[-2:]) == {0, 1}
    inner = model.ensemble_.feature >= 0
    assert_array_equal(counts, np.bincount(model.ensemble_.feature[inner], minlength=4))


def test_one_class_is_always_answered():
    model = GradientBoostingClassifier(preset="classic").fit([[0.0], [1.0]], ["only", "only"])
    assert model.predict([[5.0]]).tolist() == ["only"]
    assert model.predict_proba([[5.0]]).tolist() == [[1.0]]


def test_the_box_is_learned():
    from spinney.datasets import make_box

    X, y = make_box()
    assert GradientBoostingClassifier(min_samples_leaf=1, preset="classic").fit(X, y).score(X, y) == 1.0


# ---- weights ----


@pytest.mark.parametrize("loss", REGRESSION_LOSSES)
def test_a_weight_of_two_is_a_row_twice(loss):
    X, signal = rows(200)
    y, weights = np.exp(signal / 2), np.random.default_rng(3).integers(0, 4, 200)
    weighted = GradientBoostingRegressor(loss, n_estimators=20, preset="classic").fit(X, y, weights)
    repeated = GradientBoostingRegressor(loss, n_estimators=20, preset="classic").fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights)
    )
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


def test_a_weight_of_two_is_a_row_twice_for_classes():
    X, signal = rows(200)
    y, weights = labels(signal, 3), np.random.default_rng(4).integers(0, 4, 200)
    weighted = GradientBoostingClassifier(n_estimators=20, preset="classic").fit(X, y, weights)
    repeated = GradientBoostingClassifier(n_estimators=20, preset="classic").fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights)
    )
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-9)


def test_weights_that_are_shares_of_a_whole_learn_too():
    X, signal = rows()
    weights = np.random.default_rng(5).uniform(0.5, 1.5, 400)
    counted = GradientBoostingRegressor(preset="classic").fit(X, signal, weights / weights.mean())
    shares = GradientBoostingRegressor(preset="classic").fit(X, signal, weights / weights.sum())
    assert_allclose(shares.predict(X), counted.predict(X), rtol=1e-6, atol=1e-9)


def test_class_weights_are_sample_weights():
    X, signal = rows()
    X, y = X.round(1), labels(signal, 2)  # a bin for each value: class weights do not choose the bins
    by_class = {"first": 1.0, "second": 4.0}
    a = GradientBoostingClassifier(class_weight=by_class, preset="classic").fit(X, y)
    b = GradientBoostingClassifier(preset="classic").fit(X, y, [by_class[label] for label in y])
    assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    balanced = GradientBoostingClassifier(class_weight="balanced", n_estimators=1, preset="classic").fit(X, y)
    assert balanced.base_score_[0] == pytest.approx(0.0, abs=1e-12)


def test_trees_after_an_initial_score_are_those_of_going_on():
    X, signal = rows()
    for loss, y in (("squared_error", signal), ("poisson", signal**2)):
        first = GradientBoostingRegressor(loss, n_estimators=10, preset="classic").fit(X, y)
        start = first.loss_.link.score(first.predict(X))
        second = GradientBoostingRegressor(loss, n_estimators=10, preset="classic").fit(
            X, y, init_score=start
        )
        both = GradientBoostingRegressor(loss, n_estimators=20, preset="classic").fit(X, y)
        assert second.base_score_.tolist() == [0.0]
        together = start + second.loss_.link.score(second.predict(X))
        assert_allclose(first.loss_.link.mean(together), both.predict(X), rtol=1e-6)


def test_initial_scores_of_classes():
    X, signal = rows()
    y = labels(signal, 3)
    start = np.random.default_rng(6).normal(size=(400, 3))
    model = GradientBoostingClassifier(ledger=True, preset="classic").fit(X, y, init_score=start)
    assert model.ledger_.train_loss[0] == pytest.approx(
        model.loss_.mean_value(np.unique(y, return_inverse=True)[1].astype(float), start, None)
    )
    for wrong in (start[:, :2], start[:5], np.full((400, 3), np.inf), "none"):
        with pytest.raises(ValueError, match="init_score"):
            GradientBoostingClassifier(preset="classic").fit(X, y, init_score=wrong)


# ---- constraints ----


def test_monotone_constraints_hold_everywhere():
    X, signal = rows()
    free = GradientBoostingRegressor(preset="classic").fit(X, signal)
    model = GradientBoostingRegressor(monotonic_cst=[1, -1, 0, 0], preset="classic").fit(X, signal)
    line = np.linspace(-3, 3, 60)
    rising = {0: True, 1: False}
    for j, up in rising.items():
        for row in X[:20]:
            moved = np.tile(row, (60, 1))
            moved[:, j] = line
            steps = np.diff(model.predict(moved))
            assert (steps >= 0).all() if up else (steps <= 0).all()
    moved = np.tile(X[0], (60, 1))
    moved[:, 1] = line
    assert (np.diff(free.predict(moved)) < 0).any()  # so that the test could have failed


def paths(model):
    """Return the set of features on each path of each tree."""
    for tree in model.ensemble_.trees():
        above = {0: frozenset()}
        for node in range(tree.node_count):
            for child in tree.children(node):
                above[child] = above[node] | {int(tree.feature[node])}
            if tree.is_leaf[node]:
                yield above[node]


def test_interaction_constraints_hold_on_every_path():
    X, signal = rows()
    y = signal + X[:, 2] * X[:, 3]
    groups = [{0, 1}, {2}]
    for path in paths(GradientBoostingRegressor(interaction_cst=groups, preset="classic").fit(X, y)):
        assert path <= {0, 1} or path <= {2} or path <= {3}
    assert any(len(path) > 2 for path in paths(GradientBoostingRegressor(preset="classic").fit(X, y)))
    for path in paths(
        GradientBoostingRegressor(interaction_cst="no_interactions", preset="classic").fit(X, y)
    ):
        assert len(path) <= 1
    for path in paths(GradientBoostingRegressor(interaction_cst="pairwise", preset="classic").fit(X, y)):
        assert len(path) <= 2
    frame = pd.DataFrame(X, columns=list("abcd"))
    for path in paths(
        GradientBoostingRegressor(interaction_cst=[["a", "b"]], preset="classic").fit(frame, y)
    ):
        assert path <= {0, 1} or path <= {2, 3}


def test_growth_by_level_keeps_trees_balanced():
    X, signal = rows(2000)
    settings = {"max_leaf_nodes": 8, "n_estimators": 5}
    by_level = GradientBoostingRegressor(growth="level-wise", **settings, preset="classic").fit(X, signal)
    assert {tree.max_depth for tree in by_level.ensemble_.trees()} == {3}
    best = GradientBoostingRegressor(growth="leaf-wise", **settings, preset="classic").fit(X, signal)
    assert max(tree.max_depth for tree in best.ensemble_.trees()) > 3


@pytest.mark.parametrize("sampling", ["uniform", "goss", "mvs"])
def test_sampled_rows_are_enough_and_depend_on_the_seed(sampling):
    X, signal = rows(1500)
    model = GradientBoostingRegressor(sampling=sampling, subsample=0.5, random_state=0, preset="classic").fit(
        X, signal
    )
    assert model.score(X, signal) > 0.9
    assert (model.ensemble_.n_samples[model.ensemble_.tree_begin[:-1]] < 1000).all()
    other = clone(model).set_params(random_state=1).fit(X, signal)
    again = clone(model).fit(X, signal)
    assert_array_equal(again.predict(X), model.predict(X))
    assert (other.predict(X) != model.predict(X)).any()


def test_columns_are_drawn_by_tree_and_by_node():
    X, signal = rows()
    by_tree = GradientBoostingRegressor(
        colsample_bytree=0.5, random_state=0, n_estimators=20, preset="classic"
    ).fit(X, signal)
    for tree in by_tree.ensemble_.trees():
        assert len(set(tree.feature[~tree.is_leaf].tolist())) <= 2
    by_node = GradientBoostingRegressor(
        max_features=1, random_state=0, n_estimators=20, preset="classic"
    ).fit(X, signal)
    assert len(set(by_node.ensemble_.feature.tolist())) == 5  # four features, and −1 at leaves


# ---- tables ----


def test_tables_of_every_kind_give_the_same_model():
    X, signal = rows()
    X[X < -1] = 0.0
    expected = GradientBoostingRegressor(preset="classic").fit(X, signal).predict(X)
    for table in (sparse.csr_array(X), sparse.csc_matrix(X), X.tolist(), np.asfortranarray(X)):
        assert_array_equal(
            GradientBoostingRegressor(preset="classic").fit(table, signal).predict(table), expected
        )
    for frame in (pd.DataFrame(X, columns=list("abcd")), pl.DataFrame(X, schema=list("abcd"))):
        model = GradientBoostingRegressor(preset="classic").fit(frame, signal)
        assert_array_equal(model.predict(frame), expected)
        assert model.feature_names_in_.tolist() == list("abcd")


def test_missing_values_and_categories_are_learned_from():
    rng = np.random.default_rng(7)
    color = rng.choice(["red", "green", "blue", None], 600)
    x = np.where(rng.random(600) < 0.3, np.nan, rng.normal(size=600))
    y = np.isnan(x) * 2.0 + (color == "red") * 3.0 + pd.isna(color) * 5.0
    X = pd.DataFrame({"color": color, "x": x})
    model = GradientBoostingRegressor(categorical_smoothing=0.0, categorical_l2=0.0, preset="classic").fit(
        X, y
    )
    assert_allclose(model.predict(X), y, atol=0.01)
    assert [feature.has_missing for feature in model.schema_.features] == [True, True]
    one_by_one = GradientBoostingRegressor(categorical_split="one-vs-rest", preset="classic").fit(X, y)
    assert one_by_one.score(X, y) > 0.99


def test_it_works_in_pipelines_and_searches():
    X, signal = rows()
    y = labels(signal, 2)
    search = GridSearchCV(
        GradientBoostingClassifier(n_estimators=10, preset="classic"), {"max_leaf_nodes": [2, 15]}, cv=3
    )
    assert search.fit(X, y).best_params_ == {"max_leaf_nodes": 15}
    assert (
        make_pipeline(GradientBoostingClassifier(n_estimators=10, preset="classic")).fit(X, y).score(X, y)
        > 0.9
    )


# ---- what is refused ----


@pytest.mark.parametrize(
    "make, y, words",
    [
        (lambda: GradientBoostingRegressor("poisson", preset="classic"), [1.0, -1.0, 2.0], "Poisson.*row 1"),
        (lambda: GradientBoostingRegressor("gamma", preset="classic"), [1.0, 2.0, 0.0], "Gamma.*row 2"),
        (lambda: GradientBoostingRegressor("tweedie", preset="classic"), [0.0, 0.0, 0.0], "above 0"),
        (
            lambda: GradientBoostingRegressor("log_loss", preset="classic"),
            [0.0, 1.0, 0.0],
            "loss of GradientBoostingRegressor",
        ),
        (lambda: GradientBoostingClassifier("exponential", preset="classic"), [0, 1, 2], "two classes"),
        (lambda: GradientBoostingClassifier(monotonic_cst=[1], preset="classic"), [0, 1, 2], "multiclass"),
        (
            lambda: GradientBoostingRegressor(interaction_cst=[{3}], preset="classic"),
            [0.0, 1.0, 2.0],
            "interaction_cst contains 3",
        ),
        (
            lambda: GradientBoostingRegressor(interaction_cst=[3], preset="classic"),
            [0.0, 1.0, 2.0],
            "set of features",
        ),
        (GradientBoostingRegressor, [1e308, 1e308, 1e308], "large"),
        (
            lambda: GradientBoostingRegressor(scoring="tidiness", early_stopping=True, preset="classic"),
            [0, 1, 2],
            "scoring",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_words(make, y, words):
    with pytest.raises(ValueError, match=words):
        make().fit([[0.0], [1.0], [2.0]], y)


def test_nothing_is_said_without_need(capsys):
    X, signal = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GradientBoostingRegressor("poisson", preset="classic").fit(X, signal**2).predict(X)
        GradientBoostingClassifier(early_stopping=True, preset="classic").fit(
            X, labels(signal, 3)
        ).predict_proba(X)
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")


# ---- bounded leaf values ----


def test_a_rare_class_does_not_make_the_scores_diverge():
    n, n_classes, n_rare = 3000, 4, 6
    X = np.random.default_rng(1).uniform(size=(n, 2))
    y = np.minimum((X[:, 0] * (n_classes - 1)).astype(int), n_classes - 2)
    y[np.argsort(X[:, 1])[:n_rare]] = n_classes - 1
    model = GradientBoostingClassifier(random_state=0, preset="classic").fit(X, y)
    assert model.score(X, y) > 0.999
    assert abs(model.decision_function(X)).max() < 50


def test_a_gamma_loss_of_heavy_tails_beats_the_constant():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)), np.exp(3 * rng.standard_t(2, size=2000)).clip(1e-6, 1e12)
    predicted = GradientBoostingRegressor(loss="gamma", random_state=0, preset="classic").fit(X, y).predict(X)
    deviance = np.mean(np.log(predicted) + y / predicted)
    assert np.isfinite(predicted).all() and deviance < np.log(y.mean()) + 1


def test_a_negative_hessian_of_a_custom_loss_is_refused_with_the_row():
    class Concave(Loss):
        def gradient(self, y, score):
            return score - y

        def hessian(self, y, score):
            return np.where(y == 3.0, -1.0, 1.0)

    with pytest.raises(ValueError, match=r"hessian of Concave is negative.*row 3"):
        GradientBoostingRegressor(Concave(), preset="classic").fit(np.arange(40.0)[:, None], np.arange(40.0))


def test_a_root_without_hessian_adds_nothing():
    class Flat(Loss):
        def constant(self, y, weights):
            return np.zeros(1)

        def gradient(self, y, score):
            return score - y

        def hessian(self, y, score):
            return np.zeros(len(y))

    X = np.ones((40, 1))  # no split
    model = GradientBoostingRegressor(Flat(), n_estimators=3, preset="classic").fit(X, np.arange(1.0, 41.0))
    assert_array_equal(model.predict(X), np.zeros(40))


# ---- losses with parameters ----


def test_delta_of_huber_is_a_quantile_of_the_residuals_before_every_round():
    X, signal = rows()
    y = np.where(np.arange(400) % 20 == 0, 40 * signal, signal)
    weights = np.random.default_rng(1).integers(0, 3, 400).astype(float)
    settings = {"min_samples_leaf": 5, "preset": "classic", "random_state": 0}
    both = GradientBoostingRegressor("huber", n_estimators=3, **settings)
    both.fit(X, y, weights, init_score=np.zeros(400))
    score, deltas, n_bounded = np.zeros(400), [], 0
    for _ in range(3):
        distance = np.abs(y - score)
        most = 3 * weighted_quantile(distance, weights, 0.5)
        deltas.append(min(weighted_quantile(distance, weights, 0.9), most))
        step = GradientBoostingRegressor("huber", huber_delta=deltas[-1], n_estimators=1, **settings)
        move = step.fit(X, y, weights, init_score=score).predict(X)
        most = 3 * deltas[-1] * step.chosen_["learning_rate"]
        n_bounded += np.count_nonzero(np.abs(move) > most)
        score = score + np.clip(move, -most, most)
    assert deltas[1] < deltas[0]
    assert n_bounded > 0
    assert_allclose(both.predict(X), score, rtol=1e-9)


@pytest.mark.parametrize("share", [0.05, 0.12])
def test_huber_withstands_more_outliers_than_its_quantile_leaves_out(share):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6000, 4))
    truth = 3 * X[:, 0] + 2 * np.sin(3 * X[:, 1])
    y = truth[:3000] + rng.normal(scale=0.5, size=3000)
    y[rng.random(3000) < share] += 100.0
    model = GradientBoostingRegressor("huber", n_estimators=100, early_stopping=False, random_state=0)
    predicted = model.fit(X[:3000], y).predict(X[3000:])
    assert np.sqrt(np.mean((predicted - truth[3000:]) ** 2)) < 2.0


@pytest.mark.parametrize("preset", ["auto", "classic"])
@pytest.mark.parametrize("size", [1e3, 1e6])
def test_leaves_of_outliers_do_not_decide_about_huber(preset, size):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2500, 4))
    truth = 3 * X[:, 0] + np.sin(3 * X[:, 1])
    y = truth[:500] + rng.normal(scale=0.1, size=500)
    y[:50] += size
    model = GradientBoostingRegressor("huber", preset=preset, random_state=0).fit(X[:500], y)
    predicted = model.predict(X[500:])
    assert np.sqrt(np.mean((predicted - truth[500:]) ** 2)) < 1.0


@pytest.mark.parametrize(
    "params",
    [
        {"quantile": 0.3},
        {"loss": "huber", "quantile": 0.5},
        {"huber_delta": 1.0},
        {"loss": "poisson", "tweedie_power": 1.2},
        {"loss": SquaredLoss(), "huber_delta": 1.0},
    ],
)
def test_a_parameter_of_another_loss_is_refused(params):
    name = next(name for name in params if name != "loss")
    with pytest.raises(ValueError, match=f"{name}=.* has no effect on the loss .*loss="):
        GradientBoostingRegressor(**params).fit([[0.0], [1.0]], [1.0, 2.0])


def test_histogram_boosting_warns_of_a_quantile_of_another_loss():
    X, y = np.arange(40.0)[:, None], np.arange(40.0)
    with pytest.warns(UserWarning, match="quantile=0.9 has no effect on the loss 'squared_error'"):
        HistGradientBoostingRegressor(quantile=0.9, max_iter=2).fit(X, y)


@pytest.mark.parametrize("sampling", ["goss", "mvs"])
def test_leaves_of_quantiles_are_those_of_all_rows_of_the_leaf(sampling):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (3000, 1)).astype(float), rng.exponential(size=3000) ** 2
    model = GradientBoostingRegressor(
        "quantile", quantile=0.8, sampling=sampling, learning_rate=1.0, n_estimators=1, preset="classic"
    ).fit(X, y)
    for value in range(3):
        inside = X[:, 0] == value
        below = np.mean(y[inside] <= model.predict([[float(value)]]))
        assert below == pytest.approx(0.8, abs=2 / inside.sum())
