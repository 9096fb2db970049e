"""Ensemble selection: who is chosen, from out-of-fold or held-out rows, by any metric, in bags."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import balanced_accuracy_score, make_scorer
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import spinney as sp
from contracts.learners import mixed_data
from spinney.ensembles.default_members import MAX_SVM_ROWS, default_members
from spinney.io import dumps, loads

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4))
Y = np.where(X[:, 0] + X[:, 1] + 0.3 * RNG.normal(size=240) > 0, "up", "down")
MODELS = [
    ("linear", LogisticRegression()),
    ("stump", sp.DecisionTreeClassifier(max_depth=1)),
    ("near", KNeighborsClassifier(5)),
    ("full", sp.DecisionTreeClassifier()),
]


def test_weights_are_how_often_each_was_chosen():
    model = sp.EnsembleSelectionClassifier(MODELS, cv=KFold(3, shuffle=True, random_state=0)).fit(X, Y)
    names, losses = zip(*model.path_[0], strict=True)
    assert len(names) == 50
    best = int(np.argmin(np.round(losses, 12))) + 1
    for name, weight in zip(model.named_estimators_, model.weights_, strict=True):
        assert_allclose(weight, names[:best].count(name) / best)
    assert set(model.named_estimators_) == set(names[:best])
    shares = sum(w * one.predict_proba(X) for w, one in zip(model.weights_, model.estimators_, strict=True))
    assert_allclose(model.predict_proba(X), shares)
    assert_array_equal(model.predict(X), model.classes_[shares.argmax(axis=1)])


def test_held_out_rows_judge_fitted_models():
    train, held, test = np.split(np.arange(240), [100, 170])
    fitted = [(name, one.fit(X[train], Y[train])) for name, one in MODELS]
    model = sp.EnsembleSelectionClassifier(fitted, cv="prefit", scoring="accuracy", n_steps=10)
    model.fit(X[held], Y[held])
    assert all(any(one is member for _, member in fitted) for one in model.estimators_)
    alone = max(one.score(X[held], Y[held]) for _, one in fitted)
    assert model.score(X[held], Y[held]) >= alone
    assert model.score(X[test], Y[test]) > 0.8


def test_a_class_that_the_held_out_rows_lack_stays_known():
    y = np.array(["a", "b", "c"])[np.arange(240) % 3]
    fitted = [(str(d), sp.DecisionTreeClassifier(max_depth=d).fit(X, y)) for d in (1, 6)]
    kept = y != "c"
    model = sp.EnsembleSelectionClassifier(fitted, cv="prefit").fit(X[kept], y[kept])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba(X).shape == (240, 3)


@pytest.mark.parametrize("scoring", ["balanced_accuracy", make_scorer(balanced_accuracy_score), "roc_auc"])
def test_any_scorer_may_judge(scoring):
    model = sp.EnsembleSelectionClassifier(MODELS[:3], scoring=scoring, n_steps=4, cv=3).fit(X, Y)
    assert model.score(X, Y) > 0.8
    assert all(loss < 0 for _, loss in model.path_[0])


def test_bags_are_drawn_by_the_seed_and_averaged():
    settings = {"n_bags": 6, "max_samples": 0.5, "cv": 3, "random_state": 1}
    model = sp.EnsembleSelectionClassifier(MODELS, **settings).fit(X, Y)
    again = sp.EnsembleSelectionClassifier(MODELS, **settings).fit(X, Y)
    assert_array_equal(model.weights_, again.weights_)
    assert len(model.path_) == 6
    assert all(len({name for name, _ in path}) <= 2 for path in model.path_)
    assert_allclose(model.weights_.sum(), 1.0)
    other = sp.EnsembleSelectionClassifier(MODELS, **settings | {"random_state": 2}).fit(X, Y)
    assert [p[0] for p in other.path_] != [p[0] for p in model.path_]


def test_sorted_initialisation_starts_with_the_best():
    model = sp.EnsembleSelectionClassifier(MODELS, n_initial=3, n_steps=3, cv=3).fit(X, Y)
    assert len(model.estimators_) == 3
    assert_allclose(model.weights_, 1 / 3)
    without = sp.EnsembleSelectionClassifier(MODELS, n_steps=9, replacement=False, cv=3).fit(X, Y)
    assert len(without.path_[0]) == 4


def test_a_member_without_probabilities_gives_votes():
    model = sp.EnsembleSelectionClassifier([("svm", LinearSVC())], cv=3).fit(X, Y)
    assert set(np.unique(model.predict_proba(X))) == {0.0, 1.0}


def test_regressors_are_chosen_by_squared_error_and_weights_of_rows_count():
    y = X[:, 0] + 0.5 * np.abs(X[:, 1]) + 0.1 * RNG.normal(size=240)
    models = [("line", LinearRegression()), ("tree", sp.DecisionTreeRegressor(max_depth=5))]
    model = sp.EnsembleSelectionRegressor(models, cv=4).fit(X, y)
    learned = sp.VotingRegressor(models, weights="learned", cv=4).fit(X, y)
    assert_allclose(model.weights_, learned.weights_, atol=0.02)  # the same aim, by steps of 1/50
    frame, values, rows = mixed_data("regressor")
    models = [(str(d), sp.DecisionTreeRegressor(max_depth=d)) for d in (2, 5)]
    copies = np.repeat(np.arange(300), rows.astype(int))
    folds = np.arange(300) % 3
    by_weight = sp.EnsembleSelectionRegressor(
        models, cv=[(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]
    ).fit(frame, values, rows.astype(int))
    by_copies = sp.EnsembleSelectionRegressor(
        models,
        cv=[(np.flatnonzero(folds[copies] != k), np.flatnonzero(folds[copies] == k)) for k in range(3)],
    ).fit(frame.iloc[copies], values[copies])
    assert_allclose(by_weight.weights_, by_copies.weights_)
    assert_allclose(by_weight.predict(frame), by_copies.predict(frame))


def mixed_rows(n=90):
    """A table of a number with gaps, and a category that matters."""
    rng = np.random.default_rng(5)
    kind = rng.choice(["red", "green", "blue"], n)
    number = np.where(rng.uniform(size=n) < 0.1, np.nan, rng.normal(size=n))
    y = np.nan_to_num(number) + 2.0 * (kind == "red") + 0.2 * rng.normal(size=n)
    return pd.DataFrame({"number": number, "kind": pd.Categorical(kind)}), y


@pytest.mark.parametrize("name", ["EnsembleSelection", "Stacking"])
def test_without_a_list_members_of_different_kinds_are_combined(name):
    table, y = mixed_rows()
    kinds = {"boosting", "random_forest", "extra_trees", "linear", "svm"}
    regressor = getattr(sp, f"{name}Regressor")(cv=2, random_state=0)
    assert set(regressor.named_estimators) == kinds and regressor.get_params()["estimators"] is None
    regressor.fit(table, y)
    assert set(regressor.named_estimators_) <= kinds and regressor.score(table, y) > 0.8
    classifier = getattr(sp, f"{name}Classifier")(cv=2, random_state=0).fit(table, y > 1)
    kinds.add("bayes")
    assert set(classifier.named_estimators_) <= kinds and classifier.score(table, y > 1) > 0.9
    again = getattr(sp, f"{name}Classifier")(cv=2, random_state=0).fit(table, y > 1)
    assert_array_equal(classifier.predict_proba(table), again.predict_proba(table))


def test_default_members_learn_several_outputs():
    table, y = mixed_rows()
    labels = np.column_stack([y > 1, np.digitize(y, [0, 1])])
    model = sp.EnsembleSelectionClassifier(cv=2, random_state=0).fit(table, labels)
    assert set(model.named_estimators_) <= {"random_forest", "extra_trees"}
    assert model.predict(table).shape == labels.shape
    values = np.column_stack([y, -y])
    assert sp.EnsembleSelectionRegressor(cv=2, random_state=0).fit(table, values).predict(table).shape == (
        len(y),
        2,
    )


def test_voting_and_fitted_members_have_no_default_list():
    table, y = mixed_rows()
    for model in (sp.VotingRegressor(), sp.EnsembleSelectionRegressor(cv="prefit")):
        with pytest.raises(ValueError, match="non-empty list"):
            model.fit(table, y)


def test_default_members_depend_on_the_table():
    def names(**given):
        return {name for name, _ in default_members("classification", **given)}

    assert names() - names(n_rows=MAX_SVM_ROWS + 1) == {"svm"}
    sparse_bayes = dict(default_members("classification", is_sparse=True))["bayes"]
    assert isinstance(sparse_bayes, sp.BernoulliNB)


def test_the_default_stack_is_saved_and_learns_a_class_of_one_row():
    table, y = mixed_rows(60)
    labels = np.where(np.arange(60) == 0, "rare", np.where(y > 1, "high", "low"))
    model = sp.StackingClassifier(cv=3, random_state=0).fit(table, labels)
    assert list(model.named_estimators_)[-2:] == ["svm", "bayes"] and model.score(table, labels) > 0.8
    again = loads(dumps(model))
    assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    two = np.where(np.arange(60) == 0, "rare", "low")  # a fold has one class only
    assert set(sp.StackingClassifier(cv=3, random_state=0).fit(table, two).predict(table)) <= {"rare", "low"}
