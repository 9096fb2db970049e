import time
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import spinney
from spinney.core.errors import InputError
from spinney.core.progress import ProgressBar
from spinney.datasets import make_box
from spinney.io import dumps, loads
from spinney.model_selection import LEARNERS, find_learner
from spinney.model_selection.budget import Budget, rows_within
from spinney.model_selection.comparison import _rank
from spinney.model_selection.metrics import find_metric
from spinney.model_selection.problem import read_problem
from spinney.model_selection.race import ENSEMBLE, Entry, Race

QUICK = ["cart", "naive-bayes", "linear"]


@pytest.fixture(scope="module")
def noisy():
    X, y = make_box(200, frame=None)
    return X, np.where(np.random.default_rng(0).random(200) < 0.15, -y, y)


@pytest.fixture(scope="module")
def found(noisy):
    return spinney.compare(*noisy, learners=QUICK, cv=4, repeats=1)


def test_the_best_is_first_and_compared_with_the_others(found):
    scores = [entry.score for entry in found.entries]
    assert scores == sorted(scores, reverse=True) and found.best.name in ("cart", ENSEMBLE)
    assert np.isnan(found.best.p_value) and all(0 <= e.p_value <= 1 for e in found.entries[1:])
    assert all(entry.low <= entry.score <= entry.high <= 1 for entry in found.entries)
    frame = found.to_frame()
    assert list(frame["learner"]) == [entry.name for entry in found.entries]
    assert {"low", "high", "p_value", "fit_seconds", "accuracy"} <= set(frame.columns)
    assert found.best.name in str(found)


def test_all_learners_see_the_same_folds_as_cross_validate_makes(noisy, found):
    entry = next(entry for entry in found.entries if entry.name == "naive-bayes")
    alone = spinney.cross_validate("naive-bayes", *noisy, cv=4)
    assert entry.scores["roc_auc"] == pytest.approx(alone.scores["roc_auc"])


def test_the_ensemble_is_fitted_with_the_weights_of_its_note(noisy, found):
    entry = next(entry for entry in found.entries if entry.name == ENSEMBLE)
    model = found.fit(*noisy, name=ENSEMBLE)
    assert type(model).__name__ == "VotingClassifier" and model.score(*noisy) > 0.8
    for (name, _), weight in zip(model.estimators, model.weights, strict=True):
        assert f"{weight:.0%} {name}" in entry.note
    again = loads(dumps(model))
    assert (again.predict_proba(noisy[0]) == model.predict_proba(noisy[0])).all()


def test_regression_is_ordered_by_the_smallest_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    found = spinney.compare(X, X @ [1.0, 2.0, -1.0], learners=["cart", "linear"], cv=3, repeats=1)
    assert found.best.name == "linear" and found.metrics[0].name == "rmse" and found.best.score < 0.1


def test_estimators_of_ones_own_take_part(noisy):
    own = ("mine", spinney.DecisionTreeClassifier(max_depth=2))
    found = spinney.compare(*noisy, learners=["cart", own], cv=3, repeats=1, ensemble=False)
    assert {entry.name: entry.family for entry in found.entries} == {"cart": "trees", "mine": "your own"}


def test_a_learner_that_fails_is_named_and_the_others_go_on(noisy):
    bad = ("bad", spinney.DecisionTreeClassifier(max_depth=-1))
    found = spinney.compare(*noisy, learners=["cart", bad], cv=3, repeats=1)
    assert "max_depth" in found.skipped["bad"] and found.best.name == "cart"


def test_time_is_kept_and_what_was_left_out_is_said(noisy):
    found = spinney.compare(*noisy, learners=["cart", "networks"], cv=5, repeats=20, time=0.5, ensemble=False)
    assert found.seconds < 5
    assert any("no time left" in text for text in [*found.skipped.values(), *(e.note for e in found.entries)])


class Slow(BaseEstimator):
    """An estimator whose time is proportional to the rows."""

    def fit(self, X, y):
        time.sleep(5e-5 * len(X))
        return self


@pytest.mark.parametrize(("seconds", "fewer"), [(1.5, True), (600, False)])
def test_many_rows_are_sampled_to_fit_the_budget(seconds, fewer):
    X, y = make_box(60_000, frame=None)
    used = rows_within(read_problem(X, y), [(None, "slow", Slow())], Budget(seconds), None)
    assert (1_000 <= used.n_rows < 20_000) if fewer else used.n_rows == 60_000
    assert used.y.mean() == pytest.approx(y.mean(), abs=0.02)


def test_invalid_arguments_are_named(noisy):
    for arguments, message in (
        ({"learners": []}, "no learners"),
        ({"learners": ["cart", "cart"]}, "'cart' is taken"),
        ({"time": 0}, "above 0"),
        ({"learners": [spinney.DecisionTreeRegressor()]}, "not for classification"),
        ({"groups": [1]}, "entries"),
    ):
        with pytest.raises(InputError, match=message):
            spinney.compare(*noisy, **arguments)


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
def test_every_learner_of_the_table_fits_mixed_columns_and_is_saved(learner, task):
    if not learner.supports(task):
        with pytest.raises(InputError, match="no estimator"):
            learner.make(task)
        return
    rng = np.random.default_rng(0)
    X = {"a": rng.normal(size=60), "b": rng.choice(np.array(["u", "v", None], dtype=object), 60)}
    X["a"][3] = np.nan
    y = np.where(np.nan_to_num(X["a"]) > 0, "p", "q") if task == "classification" else np.nan_to_num(X["a"])
    quick = {"n_estimators": 5, "max_iter": 20} if learner.name != "linear" else {}
    known = learner.make(task).get_params()
    params = {name: value for name, value in quick.items() if name in known}
    model = learner.make(task, **params).fit(X, y)
    assert (loads(dumps(model)).predict(X) == model.predict(X)).all()
    inner = learner.make(task).get_params()
    assert all(n in inner or f"estimator__{n}" in inner or task == "regression" for n in learner.space)


def entry(name, scores):
    values = np.array(scores)
    return Entry(name, "", float(values.mean()), 0.0, 1.0, np.nan, {"accuracy": values}, 0.1, 0.1, "", None)


def test_entries_with_fewer_folds_are_compared_on_the_folds_that_they_have():
    metric = find_metric("accuracy", "classification")
    splits = [(np.arange(3), np.arange(1))] * 4
    # The last fold is hard: a plain mean would put the second entry first.
    ranked = _rank([entry("a", [0.9, 0.9, 0.9, 0.5]), entry("b", [0.89, 0.89, 0.89])], splits, metric)
    assert [one.name for one in ranked] == ["a", "b"]
    ranked = _rank([entry("a", [0.8, 0.8, 0.8, 0.5]), entry("b", [0.89, 0.89, 0.89])], splits, metric)
    assert [one.name for one in ranked] == ["b", "a"]
    # One fold is uncertain: a small lead on it does not count, a large one does.
    ranked = _rank([entry("a", [0.8, 0.7, 0.9, 0.8]), entry("b", [0.82])], splits, metric)
    assert [one.name for one in ranked] == ["a", "b"] and np.isnan(ranked[1].p_value)
    ranked = _rank([entry("a", [0.5, 0.45, 0.55, 0.5]), entry("b", [0.95])], splits, metric)
    assert [one.name for one in ranked] == ["b", "a"]


def test_short_of_time_repeats_go_first_then_slow_learners_with_bad_scores(noisy):
    problem = read_problem(*noisy)
    names = {"good and slow": (0.9, 3.0), "bad and slow": (0.6, 3.0), "bad and quick": (0.5, 0.01)}
    candidates = [(None, name, None) for name in names]
    metric = find_metric("accuracy", "classification")

    def race(seconds):
        made = Race(problem, problem.folds(5, 3), [metric], candidates, Budget(seconds), None, None, 3)
        for name, (score, needed) in names.items():
            made.results[name] = [SimpleNamespace(scores={"accuracy": score})]
            made.budget.note(name, needed)
        kept = [name for _, name, _ in made._keep(candidates, 1)]
        return kept, len(made.splits)

    assert race(1000) == (list(names), 15)
    assert race(30) == (list(names), 5)
    assert race(15) == (["good and slow", "bad and quick"], 5)
    assert race(2) == (["good and slow", "bad and quick"], 5)


@pytest.mark.parametrize(("seconds", "begun"), [(9, False), (60, True)])
def test_a_slow_learner_is_begun_only_if_there_is_time_for_a_fold(noisy, seconds, begun):
    problem, metric = read_problem(*noisy), find_metric("accuracy", "classification")
    strong = find_learner("gradient-boosting-strong")
    quick = (strong, strong.name, spinney.DecisionTreeClassifier())  # only the learner's name matters
    race = Race(problem, problem.folds(5, 1), [metric], [quick], Budget(seconds), None, None)
    race.budget.note("gradient-boosting", 2.0)
    assert race._fit(quick, 0) == begun and ("no time left" in race.skipped.values()) != begun
    race.budget.note(strong.name, 100.0)
    assert not race._fit(quick, 1)


def test_repeats_that_only_slow_learners_give_up_still_count_for_the_others(noisy):
    problem, metric = read_problem(*noisy), find_metric("accuracy", "classification")
    slow, quick = find_learner("gradient-boosting-strong"), find_learner("cart")
    candidates = [(one, one.name, spinney.DecisionTreeClassifier(max_depth=2)) for one in (quick, slow)]
    candidates.insert(1, (None, "other", spinney.DecisionTreeClassifier(max_depth=1)))
    race = Race(problem, problem.folds(3, 2), [metric], candidates, Budget(1000), None, None, 2)
    note = race.budget.note
    race.budget.note = lambda name, seconds: note(name, 400.0 if name == slow.name else seconds)
    with ProgressBar("", 1, shown=False) as bar:
        race.run(bar)
    assert {name: len(results) for name, results in race.results.items()} == {
        "cart": 6, "other": 6, slow.name: 3,
    }  # fmt: skip
    assert len(race.splits) == 6
    race.ensemble(race.entries())
