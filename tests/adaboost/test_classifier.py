"""AdaBoostClassifier: the reference numbers, what theory promises, and what its users ask for."""

import math

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier as ScikitTree

import spinney as sp
from contracts.learners import mixed_data
from loops import for_each
from oracles import naive_adaboost as naive
from spinney.adaboost.algorithms import NAMES
from spinney.datasets import load_xor, make_box
from spinney.io import dumps

TWO_CLASSES = [name for name in NAMES if name not in ("samme", "samme.r", "logit")]


def noisy(seed=0, n_rows=200, n_classes=2, n_features=4):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_features))
    signal = X[:, 0] + X[:, 1] ** 2 + random.normal(scale=0.5, size=n_rows)
    return X, np.searchsorted(np.quantile(signal, np.arange(1, n_classes) / n_classes), signal)


# ---- reference numbers ----


def test_xor_in_three_rounds():
    X, y = load_xor()
    model = sp.AdaBoostClassifier(algorithm="discrete", n_estimators=3, ledger=True).fit(X, y)
    assert_allclose(model.estimator_errors_, [1 / 4, 1 / 6, 1 / 10], rtol=1e-12)
    expected = [math.log(3) / 2, math.log(5) / 2, math.log(9) / 2]
    assert_allclose(model.estimator_weights_, expected, atol=1e-12)
    assert [round(weight, 2) for weight in expected] == [0.55, 0.80, 1.10]
    assert model.score(X, y) == 1.0
    assert model.ledger_.train_error.tolist() == [0.25, 0.25, 0.0]


def test_the_weights_of_xor():
    X, y = load_xor(frame=None)
    # The textbook takes the first of the tied stumps: then the rows, too, come in its order.
    made = naive.votes(X, (y > 0).astype(int), np.ones(4), 2, 2, 1.0, samme=False)
    D, textbook = np.full(4, 1 / 4), []
    for stump, alpha, _ in made:
        D = D * np.exp(-alpha * y * (2 * stump(X).argmax(axis=1) - 1))
        textbook.append(D / D.sum())
    assert_allclose(textbook, [[1 / 2, 1 / 6, 1 / 6, 1 / 6], [3 / 10, 1 / 2, 1 / 10, 1 / 10]])
    # A weight is exp(−y F); which of the tied stumps comes first changes the order of the rows alone.
    model = sp.AdaBoostClassifier(algorithm="discrete", n_estimators=2).fit(X, y)
    for F, expected in zip(model.staged_decision_function(X), textbook, strict=True):
        weights = np.exp(-y * F)
        assert_allclose(sorted(weights / weights.sum()), sorted(expected), rtol=1e-11)


def test_the_box_that_a_line_cannot_part():
    X, y = make_box()
    assert LogisticRegression().fit(X, y).score(X, y) < 0.9
    assert sp.AdaBoostClassifier(algorithm="discrete", n_estimators=60).fit(X, y).score(X, y) == 1.0


# ---- what theory promises ----


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["discrete", "samme", "real"]), st.sampled_from([1.0, 0.4]))
def test_losses_keep_their_bounds(seed, algorithm, rate):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(40, 3)).round(1), random.integers(0, 2, 40)
    model = sp.AdaBoostClassifier(algorithm=algorithm, learning_rate=rate, n_estimators=15, ledger=True)
    ledger = model.fit(X, y, random.integers(1, 4, 40)).ledger_
    slack = 1 + 1e-9
    assert (ledger.train_error <= ledger.exponential_loss * slack).all()
    if algorithm != "real":
        assert_allclose(ledger.product_bound, ledger.exponential_loss, rtol=1e-7)
    elif (ledger.error > 1e-3).all():  # a probability of 0 is not believed, which costs a little
        assert (ledger.exponential_loss <= ledger.product_bound * (1 + 1e-3)).all()
    assert (ledger.product_bound <= ledger.edge_bound * slack).all()
    if rate == 1.0 and algorithm != "real":
        before = np.concatenate([[1.0], ledger.exponential_loss[:-1]])
        edge = 0.5 - ledger.error
        assert (ledger.exponential_loss <= np.sqrt(1 - 4 * edge**2) * before * (1 + 1e-7)).all()
        assert_allclose(ledger.z, 2 * np.sqrt(ledger.error * (1 - ledger.error)), rtol=1e-7)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 5))
def test_many_classes_keep_their_bounds(seed, n_classes):
    X, y = noisy(seed, 60, n_classes)
    for algorithm in ("samme", "samme.r"):
        ledger = sp.AdaBoostClassifier(algorithm=algorithm, n_estimators=8, ledger=True).fit(X, y).ledger_
        if algorithm == "samme":
            assert_allclose(ledger.product_bound, ledger.exponential_loss, rtol=1e-7)
        assert (ledger.product_bound <= ledger.edge_bound * (1 + 1e-9)).all()


@for_each("seed", range(3))
def test_no_training_error_is_left_after_the_rounds_that_the_edge_allows(seed):
    X, y = make_box(n=40, random_state=seed, frame=None)
    model = sp.AdaBoostClassifier(algorithm="discrete", n_estimators=400, ledger=True).fit(X, y)
    edge = 0.5 - model.estimator_errors_.max()
    enough = math.log(40) / (2 * edge**2)
    later = model.ledger_.round > enough
    assert later.any() or len(model) < 400
    assert (model.ledger_.train_error[later] == 0).all()
    assert model.ledger_.train_error[-1] == 0


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_decision_function_of_samme_is_that_of_scikit_learn(n_classes):
    X, y = noisy(2, 80, n_classes)
    model = sp.AdaBoostClassifier(n_estimators=6).fit(X, y)
    votes, total, stages = np.zeros((80, n_classes)), 0.0, model.staged_decision_function(X)
    for member, alpha, stage in zip(model.estimators_, model.estimator_weights_, stages, strict=True):
        votes += np.where(member.predict(X)[:, None] == model.classes_, alpha, -alpha / (n_classes - 1))
        total += alpha
        expected = votes / total if n_classes > 2 else (votes[:, 1] - votes[:, 0]) / total
        assert_allclose(stage, expected, rtol=1e-12, atol=1e-12)
    assert_array_equal(model.decision_function(X), stage)

    class Reversed(sp.AdaBoostClassifier):
        def decision_function(self, X):
            return -super().decision_function(X)

    opposite = Reversed(n_estimators=6).fit(X, y)
    if n_classes == 2:
        assert_allclose(opposite.predict_proba(X), model.predict_proba(X)[:, ::-1], rtol=1e-9)


def test_probabilities_are_those_of_the_score():
    X, y = noisy(1)
    model = sp.AdaBoostClassifier(n_estimators=20).fit(X, y)
    F = model.decision_function(X) * model.estimator_weights_.sum() / 4
    assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * F)), rtol=1e-12)
    assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    # With one feature of two values the score is half the log-odds of the class shares.
    X, y = np.repeat([[0.0], [1.0]], 100, axis=0), np.r_[np.arange(100) < 30, np.arange(100) < 80]
    for algorithm in ("real", "gentle", "logit"):
        model = sp.AdaBoostClassifier(algorithm=algorithm, n_estimators=100).fit(X, y)
        assert_allclose(model.predict_proba([[0.0], [1.0]])[:, 1], [0.3, 0.8], atol=1e-3)


# ---- stopping ----


def test_a_perfect_member_ends_the_ensemble():
    model = sp.AdaBoostClassifier(n_estimators=10).fit([[0.0], [1.0], [2.0]], ["a", "a", "b"])
    assert len(model) == 1 and model.estimator_errors_.tolist() == [0.0]
    assert model.predict_proba([[2.0]])[0, 1] > 0.999


def test_a_member_no_better_than_chance_is_discarded():
    for algorithm in ("discrete", "samme", "real", "gentle"):
        model = sp.AdaBoostClassifier(algorithm=algorithm).fit(np.zeros((4, 1)), [0, 1, 1, 1])
        assert model.estimator_errors_[0] == 0.25
        if algorithm != "gentle":  # it takes shorter steps, so there is something left to gain
            assert len(model) == 1
        assert_allclose(model.predict_proba([[0.0]]), [[0.25, 0.75]], atol=1e-9)


def test_where_even_the_first_is_useless_all_classes_are_alike():
    for algorithm in NAMES:
        model = sp.AdaBoostClassifier(algorithm=algorithm).fit(np.zeros((6, 1)), [0, 1, 0, 1, 0, 1])
        assert len(model) == 1
        assert_allclose(model.predict_proba([[0.0]]), [[0.5, 0.5]])


class Moody(ScikitTree):
    """Learn well, or guess: every second member has its labels turned round."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Moody.fits += 1
        return super().fit(X, 1 - y if Moody.fits % 2 else y, sample_weight)


def test_re_sampling_draws_again_instead_of_stopping():
    X, y = noisy(2)
    Moody.fits = 0
    model = sp.AdaBoostClassifier(Moody(max_depth=1), n_estimators=6, resample=True, random_state=0).fit(X, y)
    assert len(model) == 6 and Moody.fits > 6
    assert (model.estimator_errors_ < 0.5).all()
    Moody.fits = 0
    assert len(sp.AdaBoostClassifier(Moody(max_depth=1), n_estimators=6).fit(X, y)) == 1


def test_early_stopping_keeps_the_best_round():
    X, y = noisy(3, 600)
    X = X.astype(np.float32).astype(np.float64)
    full = sp.AdaBoostClassifier(n_estimators=200, random_state=0).fit(X, y)
    exact = sp.DecisionTreeClassifier(max_depth=1, max_bins=None)
    model = sp.AdaBoostClassifier(
        exact, n_estimators=200, early_stopping=True, n_iter_no_change=5, random_state=0, ledger=True
    )
    model.fit(X, y)
    errors = model.validation_errors_
    assert len(model) == np.argmin(errors) + 1 == len(model.ledger_)
    assert len(errors) == len(model) + 5 < len(full)
    # General members take the same road: rows held out have no weight.
    members = sp.AdaBoostClassifier(
        ScikitTree(max_depth=1), n_estimators=200, early_stopping=True, n_iter_no_change=5, random_state=0
    ).fit(X, y)
    assert_allclose(members.validation_errors_[:3], errors[:3])


# ---- members ----


@pytest.mark.parametrize("resample", [False, True])
@pytest.mark.parametrize(
    "estimator",
    [
        ScikitTree(max_depth=2),
        LogisticRegression(),
        sp.C45Classifier(max_depth=2),
        sp.DecisionTreeClassifier(max_depth=3),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_estimator_can_be_a_member(estimator, resample):
    X, y = noisy(4, n_classes=3)
    names = np.array(["low", "middle", "high"])[y]
    for algorithm in ("samme", "samme.r"):
        model = sp.AdaBoostClassifier(
            estimator, n_estimators=8, algorithm=algorithm, resample=resample, random_state=0
        ).fit(X, names)
        assert model.score(X, names) > 0.5
        assert all(type(member) is type(estimator) for member in model)
        assert set(model[0].classes_) <= set(names)


def test_a_member_without_weights_needs_re_sampling():
    X, y = noisy(5)
    with pytest.raises(ValueError, match=r"KNeighborsClassifier doesn't support sample_weight.*resample"):
        sp.AdaBoostClassifier(KNeighborsClassifier()).fit(X, y)
    model = sp.AdaBoostClassifier(KNeighborsClassifier(), n_estimators=5, resample=True, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.8


def test_estimators_that_do_not_suit_the_algorithm_are_refused():
    X, y = noisy(6)
    for estimator, algorithm, words in [
        (LinearSVC(), "real", "not predict probabilities"),
        (ScikitTree(), "logit", "not a regressor"),
        (sp.DecisionTreeRegressor(), "samme", "not a classifier"),
    ]:
        with pytest.raises(ValueError, match=words):
            sp.AdaBoostClassifier(estimator, algorithm=algorithm).fit(X, y)
    for algorithm in TWO_CLASSES:
        with pytest.raises(ValueError, match=r"two classes, but y has 3.*samme"):
            sp.AdaBoostClassifier(algorithm=algorithm).fit(*noisy(6, n_classes=3))


def test_missing_values_categories_and_every_kind_of_table_pass_through():
    X, y, weights = mixed_data("classifier")
    for estimator in (None, sp.C45Classifier(max_depth=2), sp.DecisionTreeClassifier(max_depth=2)):
        model = sp.AdaBoostClassifier(estimator, n_estimators=20).fit(X, y, weights)
        assert model.score(X, y) > 0.6
        assert model.feature_names_in_.tolist() == list(X.columns)
        same = sp.AdaBoostClassifier(estimator, n_estimators=20).fit(pl.from_pandas(X), y, weights)
        assert_array_equal(same.predict_proba(pl.from_pandas(X)), model.predict_proba(X))
        with pytest.raises(ValueError, match="feature names"):
            model.predict(X.rename(columns={"a": "z"}))
    numbers = np.where(np.random.default_rng(0).random((80, 6)) < 0.7, 0.0, 1.5)
    target = (numbers[:, 0] + numbers[:, 3] > 1).astype(int)
    dense = sp.AdaBoostClassifier(n_estimators=5).fit(numbers, target)
    model = sp.AdaBoostClassifier(n_estimators=5).fit(sparse.csr_array(numbers), target)
    assert_array_equal(model.decision_function(sparse.csc_array(numbers)), dense.decision_function(numbers))


def test_importances_are_those_of_the_members_by_weight():
    X, y = noisy(7)
    model = sp.AdaBoostClassifier(n_estimators=30).fit(X, y)
    expected = sum(w * m.feature_importances_ for w, m in zip(model.estimator_weights_, model, strict=True))
    assert_allclose(model.feature_importances_, expected / model.estimator_weights_.sum())
    assert model.feature_importances_[:2].sum() > 0.7
    with pytest.raises(AttributeError, match="no feature_importances_"):
        _ = sp.AdaBoostClassifier(LogisticRegression(), n_estimators=2).fit(X, y).feature_importances_


# ---- stages, margins, going on ----


@pytest.mark.parametrize("algorithm", NAMES)
def test_the_last_stage_is_the_whole_to_the_last_bit(algorithm):
    X, y = noisy(8, n_classes=2 if algorithm in TWO_CLASSES else 3)
    model = sp.AdaBoostClassifier(algorithm=algorithm, n_estimators=25).fit(X, y)
    assert_array_equal(list(model.staged_decision_function(X))[-1], model.decision_function(X))
    assert_array_equal(list(model.staged_predict_proba(X))[-1], model.predict_proba(X))
    predictions = list(model.staged_predict(X))
    assert_array_equal(predictions[-1], model.predict(X))
    assert list(model.staged_score(X, y)) == [float(np.mean(one == y)) for one in predictions]
    assert len(predictions) == len(model)
    short = sp.AdaBoostClassifier(algorithm=algorithm, n_estimators=7).fit(X, y)
    assert_array_equal(list(model.staged_decision_function(X))[6], short.decision_function(X))


def test_margins_are_shares_of_the_votes():
    for n_classes in (2, 3):
        X, y = noisy(9, n_classes=n_classes)
        model = sp.AdaBoostClassifier(n_estimators=20).fit(X, y)
        votes = np.zeros((len(y), n_classes))
        for member, weight in zip(model, model.estimator_weights_, strict=True):
            votes[np.arange(len(y)), member.predict(X)] += weight
        own = votes[np.arange(len(y)), y]
        votes[np.arange(len(y)), y] = -np.inf
        margins = model.margins(X, y)
        assert_allclose(margins, (own - votes.max(axis=1)) / model.estimator_weights_.sum(), atol=1e-12)
        assert_array_equal(margins > 0, model.predict(X) == y)
        assert len(list(model.staged_margins(X, y))) == 20
    with pytest.raises(ValueError, match=r"9, which is none of the classes in row 1"):
        model.margins(X[:2], [0, 9])


@pytest.mark.parametrize("resample", [False, True])
@pytest.mark.parametrize("algorithm", NAMES)
def test_going_on_is_the_same_as_never_having_stopped(algorithm, resample):
    X, y, weights = mixed_data("classifier")
    y = np.minimum(y, 1) if algorithm in TWO_CLASSES else y
    settings = {"algorithm": algorithm, "resample": resample, "random_state": 0, "warm_start": True}
    whole = sp.AdaBoostClassifier(n_estimators=16, ledger=True, **settings).fit(X, y, weights)
    parts = sp.AdaBoostClassifier(n_estimators=5, ledger=True, **settings).fit(X, y, weights)
    parts.set_params(n_estimators=16).fit(X, y, weights)
    assert dumps(parts) == dumps(whole)


def test_going_on_refuses_what_does_not_fit():
    X, y = noisy(10)
    model = sp.AdaBoostClassifier(n_estimators=5, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="n_estimators=3 is less than the 5"):
        model.set_params(n_estimators=3).fit(X, y)
    model.set_params(n_estimators=8)
    with pytest.raises(ValueError, match="other classes"):
        model.fit(X, y + 5)
    with pytest.raises(ValueError, match="features"):
        model.fit(X[:, :2], y)
    assert len(model) == 5


def test_progress_goes_to_standard_error_and_only_if_asked_for(capfd):
    X, y = noisy(11)
    sp.AdaBoostClassifier(n_estimators=3).fit(X, y)
    assert capfd.readouterr() == ("", "")
    sp.AdaBoostClassifier(n_estimators=3, verbose=1).fit(X, y)
    out, err = capfd.readouterr()
    assert out == "" and "3/3 error" in err


def test_weights_are_copies_of_rows():
    X, y = noisy(12, 80, 3)
    counts = np.random.default_rng(0).integers(0, 4, 80)
    for algorithm in ("samme", "samme.r", "logit"):
        by_weight = sp.AdaBoostClassifier(algorithm=algorithm, n_estimators=20).fit(X, y, counts)
        by_copies = sp.AdaBoostClassifier(algorithm=algorithm, n_estimators=20).fit(
            np.repeat(X, counts, axis=0), np.repeat(y, counts)
        )
        assert_allclose(by_weight.decision_function(X), by_copies.decision_function(X), rtol=1e-9)
        assert_allclose(by_weight.estimator_errors_, by_copies.estimator_errors_, rtol=1e-9)


def test_labels_of_any_kind_and_frames_for_y():
    X, y = noisy(13)
    for labels in (np.array(["no", "yes"])[y], y.astype(bool), pd.Series(y + 3), y.astype(float)):
        model = sp.AdaBoostClassifier(n_estimators=5).fit(X, labels)
        assert_array_equal(model.classes_, np.unique(labels))
        assert model.predict(X).dtype == model.classes_.dtype


def _joblib_settings():
    backend, n_jobs = joblib.parallel.get_active_backend()
    return type(backend), n_jobs


def test_stages_of_two_ensembles_in_turn_leave_the_settings_of_joblib_alone():
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    member = LogisticRegression()
    first, second = (sp.AdaBoostClassifier(member, n_estimators=3, n_jobs=3).fit(X, y) for _ in range(2))
    before = _joblib_settings()
    for _ in zip(first.staged_predict(X), second.staged_predict(X), strict=True):
        assert _joblib_settings() == before
    assert _joblib_settings() == before


def test_names_of_algorithms_as_scikit_learn_wrote_them():
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    for name in ("SAMME", "SAMME.R"):
        given, plain = (sp.AdaBoostClassifier(algorithm=a, n_estimators=3) for a in (name, name.lower()))
        assert given.fit(X, y).algorithm_ == name.lower()
        assert_array_equal(given.decision_function(X), plain.fit(X, y).decision_function(X))
    given.set_params(n_estimators=5, warm_start=True).fit(X, y)
