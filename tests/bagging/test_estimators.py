"""Bagging as its users meet it: votes and means, warm starts, random hyper-parameters, any kind of member."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import spinney as sp
from contracts.learners import mixed_data
from spinney.core.errors import InputError
from spinney.io import UnsavableValue, dumps, loads


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    return X, np.array(["no", "so", "yes"])[np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.6, 0.6])]


# ---- votes and means ----


def test_soft_voting_is_the_mean_of_probabilities(table):
    X, y = table
    model = sp.BaggingClassifier(LogisticRegression(), 5, max_features=3, random_state=0).fit(X, y)
    parts = zip(model.estimators_, model.estimators_features_, strict=True)
    expected = np.mean([member.predict_proba(X[:, columns]) for member, columns in parts], axis=0)
    assert_allclose(model.predict_proba(X), expected)
    assert_array_equal(model.predict(X), model.classes_[expected.argmax(axis=1)])
    assert_allclose(model.predict_log_proba(X), np.log(expected))


def test_hard_voting_counts_votes(table):
    X, y = table
    model = sp.BaggingClassifier(LogisticRegression(), 4, voting="hard", max_samples=9, random_state=0).fit(
        X, y
    )
    votes = np.array([member.predict(X) for member in model])
    shares = (votes[:, :, None] == model.classes_).mean(axis=0)
    assert_allclose(model.predict_proba(X), shares)
    ties = np.flatnonzero((shares == shares.max(axis=1, keepdims=True)).sum(axis=1) > 1)
    assert len(ties)
    for row in ties:
        first = next(label for label, share in zip(model.classes_, shares[row], strict=True) if share == 0.5)
        assert model.predict(X)[row] == first


def test_voting_changes_predictions_and_not_members(table):
    X, y = table
    soft = sp.BaggingClassifier(sp.DecisionTreeClassifier(max_depth=1), 10, random_state=0).fit(X, y)
    hard = sp.BaggingClassifier(
        sp.DecisionTreeClassifier(max_depth=1), 10, voting="hard", random_state=0
    ).fit(X, y)
    assert (soft.predict_proba(X) != hard.predict_proba(X)).any()
    assert [dumps(tree) for tree in soft] == [dumps(tree) for tree in hard]


def test_regression_is_the_mean(table):
    X, _ = table
    y = X @ np.arange(5.0)
    model = sp.BaggingRegressor(Ridge(), 4, max_features=0.8, random_state=0).fit(
        X, np.stack([y, -y], axis=1)
    )
    parts = zip(model.estimators_, model.estimators_features_, strict=True)
    assert_allclose(model.predict(X), np.mean([m.predict(X[:, c]) for m, c in parts], axis=0))


def test_decision_function_is_there_when_members_have_it(table):
    X, y = table
    assert not hasattr(sp.BaggingClassifier(), "decision_function")
    for member in (LinearSVC(), SVC()):
        model = sp.BaggingClassifier(member, 3, random_state=0).fit(X, y)
        assert_allclose(model.decision_function(X), np.mean([m.decision_function(X) for m in model], axis=0))
    two = sp.BaggingClassifier(LinearSVC(), 3, random_state=0).fit(X, y == "yes")
    assert two.decision_function(X).shape == (120,)
    # Votes, because these members know no probabilities.
    assert_allclose(two.predict_proba(X)[:, 1], np.mean([m.predict(X) for m in two], axis=0))


def test_members_may_miss_a_class(table):
    X, y = table
    rare = np.where(np.arange(120) == 7, "rare", y)
    model = sp.BaggingClassifier(KNeighborsClassifier(1), 8, random_state=0).fit(X, rare)
    missed = [member for member in model if "rare" not in member.classes_]
    assert 0 < len(missed) < 8
    share = model.predict_proba(X[[7]])[0, model.classes_.tolist().index("rare")]
    assert share == pytest.approx(1 - len(missed) / 8)


# ---- pasting, subspaces, patches ----


@pytest.mark.parametrize(
    "more, rows, columns",
    [
        ({}, 120, 5),
        ({"bootstrap": False, "max_samples": 0.5}, 60, 5),
        ({"bootstrap": False, "max_features": 0.5}, 120, 2),
        ({"max_samples": 30, "max_features": 3}, 30, 3),
        ({"bootstrap_features": True}, 120, 5),
    ],
    ids=["bagging", "pasting", "subspaces", "patches", "features twice"],
)
def test_each_variant_draws_what_its_name_says(table, more, rows, columns):
    X, y = table
    model = sp.BaggingClassifier(random_state=0, **more).fit(X, y)
    assert len(model) == 10
    for member, drawn, chosen in zip(
        model, model.estimators_samples_, model.estimators_features_, strict=True
    ):
        assert (len(drawn), len(chosen)) == (rows, columns)
        distinct = not more.get("bootstrap", True)
        assert (len(set(drawn.tolist())) == rows) == distinct
        if not more.get("bootstrap_features"):
            assert len(set(chosen.tolist())) == columns
        assert member.n_features_in_ == columns
    assert len({dumps(member) for member in model}) == 10


def test_a_single_member_with_everything_is_the_estimator_itself(table):
    X, y = table
    model = sp.BaggingClassifier(n_estimators=1, bootstrap=False).fit(X, y)
    alone = sp.DecisionTreeClassifier(random_state=model[0].random_state).fit(X, y)
    assert dumps(alone) == dumps(model[0])
    assert_array_equal(model.predict_proba(X), alone.predict_proba(X))


# ---- weights ----


def test_shuffled_rows_give_the_same_ensemble():
    X, y, weights = mixed_data("regressor", 200)
    shuffle = np.random.default_rng(0).permutation(200)
    there = sp.BaggingRegressor(random_state=0).fit(X, y, weights)
    here = sp.BaggingRegressor(random_state=0).fit(X.iloc[shuffle], y[shuffle], weights[shuffle])
    assert_allclose(there.predict(X), here.predict(X), rtol=1e-12)


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("estimator", [None, KNeighborsClassifier(1), RidgeClassifier()])
def test_a_weight_of_k_is_a_row_k_times(bootstrap, estimator):
    X, y, _ = mixed_data("classifier", 80)
    X = X[["b", "noise"]]
    weights = np.random.default_rng(1).integers(0, 4, 80)
    copies = np.repeat(np.arange(80), weights)
    settings = {"bootstrap": bootstrap, "max_samples": 0.8, "random_state": 0}
    weighted = sp.BaggingClassifier(estimator, **settings).fit(X, y, weights)
    repeated = sp.BaggingClassifier(estimator, **settings).fit(X.iloc[copies], y[copies])
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-12)


def test_samples_keep_the_weights_they_were_drawn_by(table):
    X, y = table
    weights = np.linspace(0.1, 1.0, 120)
    model = sp.BaggingClassifier(random_state=0).fit(X, y, weights)
    before = model.estimators_samples_
    weights[:] = 1.0
    for rows, again in zip(before, model.estimators_samples_, strict=True):
        assert_array_equal(rows, again)


# ---- warm start ----


@pytest.mark.parametrize("random_state", [3, None])
def test_a_warm_start_is_the_same_as_one_fit(table, random_state):
    X, y = table
    model = sp.BaggingClassifier(
        n_estimators=4, warm_start=True, oob_score=True, random_state=random_state, max_features=3
    ).fit(X, y)
    first = list(model.estimators_)
    model.set_params(n_estimators=9).fit(X, y)
    assert all(new is old for new, old in zip(model, first, strict=False))
    if random_state is not None:
        at_once = sp.BaggingClassifier(n_estimators=9, oob_score=True, random_state=3, max_features=3).fit(
            X, y
        )
        assert dumps(model.set_params(warm_start=False)) == dumps(at_once)
    model.set_params(warm_start=True).fit(X, y)
    assert len(model) == 9


def test_a_warm_start_adds_members_fitted_to_other_rows(table):
    X, y = table
    model = sp.BaggingClassifier(n_estimators=4, warm_start=True, oob_score=True, random_state=0).fit(X, y)
    first = list(model.estimators_)
    model.set_params(n_estimators=12, max_samples=0.5).fit(X[:100], y[:100])
    assert all(new is old for new, old in zip(model, first, strict=False))
    assert [len(rows) for rows in model.estimators_samples_] == [0] * 4 + [50] * 8
    assert len(model.oob_decision_function_) == 100
    again = loads(dumps(model))
    for one in (model, again):  # the same rows once more
        one.set_params(n_estimators=14).fit(X[:100], y[:100])
        assert [len(rows) for rows in one.estimators_samples_] == [0] * 4 + [50] * 10
    assert dumps(again) == dumps(model)


def test_a_warm_start_asks_for_the_same_columns_and_classes(table):
    X, y = table
    model = sp.BaggingClassifier(n_estimators=4, warm_start=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=6)
    with pytest.raises(InputError, match="y has others than in the first fit"):
        model.fit(X, np.where(y == "no", "new", y))
    with pytest.raises(InputError, match="columns, max_features or bootstrap_features has changed"):
        model.fit(X[:, :2] if isinstance(X, np.ndarray) else X.iloc[:, :2], y)
    with pytest.raises(InputError, match="columns, max_features or bootstrap_features has changed"):
        model.set_params(max_features=1).fit(X, y)
    with pytest.raises(InputError, match="n_estimators can only grow"):
        model.set_params(n_estimators=3, max_features=1.0).fit(X, y)
    assert len(model.set_params(n_estimators=6).fit(X, y)) == 6


def test_a_warm_start_asks_for_the_same_names():
    frame = pd.DataFrame({"a": [0.0, 1.0] * 9, "b": [1.0, 2.0, 3.0] * 6})
    model = sp.BaggingRegressor(n_estimators=2, warm_start=True).fit(frame, frame["a"])
    with pytest.raises(InputError, match="X has others: 'b', 'a' instead of 'a', 'b'"):
        model.set_params(n_estimators=3).fit(frame[["b", "a"]], frame["a"])


# ---- random hyper-parameters ----


def test_random_hyper_parameters(table):
    from scipy.stats import randint

    X, y = table
    drawn = {
        "max_depth": randint(1, 6),
        "criterion": ["gini", "entropy"],
        "ccp_alpha": lambda rng: rng.random(),
    }
    model = sp.BaggingClassifier(n_estimators=30, parameter_distributions=drawn, random_state=0).fit(X, y)
    assert {tree.max_depth for tree in model} == {1, 2, 3, 4, 5}
    assert {tree.criterion for tree in model} == {"gini", "entropy"}
    assert len({tree.ccp_alpha for tree in model}) == 30
    assert all(tree.get_depth() <= tree.max_depth for tree in model)
    plain = sp.BaggingClassifier(n_estimators=30, random_state=0).fit(X, y)
    for one, other in zip(model.estimators_samples_, plain.estimators_samples_, strict=True):
        assert_array_equal(one, other)


def test_nested_hyper_parameters(table):
    X, y = table
    pattern = make_pipeline(StandardScaler(), LogisticRegression())
    drawn = {"logisticregression__C": [0.01, 10.0]}
    model = sp.BaggingClassifier(pattern, 12, parameter_distributions=drawn, random_state=0).fit(X, y)
    assert {member[-1].C for member in model} == {0.01, 10.0}


# ---- any kind of member and table ----


def test_texts_without_columns():
    X, y = ["good fine day", "bad awful day", "fine good", "awful bad"] * 8, [1, 0, 1, 0] * 8
    pattern = make_pipeline(TfidfVectorizer(), LogisticRegression())
    model = sp.BaggingClassifier(pattern, oob_score=True, random_state=0).fit(X, y)
    assert model.oob_score_ == 1.0
    assert model.predict(["a fine day"]).tolist() == [1]
    with pytest.raises(InputError, match="no columns"):
        model.set_params(max_features=0.5).fit(X, y)


def test_tables_that_only_the_members_can_read():
    X = pd.DataFrame({"when": pd.date_range("2024", periods=40), "x": np.arange(40.0)})
    model = sp.BaggingRegressor(FromDates(), 5, oob_score=True, random_state=0).fit(X, np.arange(40.0))
    assert_allclose(model.predict(X), np.arange(40.0), atol=1e-6)
    assert len(set(map(tuple, model.estimators_samples_))) == 5


class FromDates(Ridge):
    """Learn from dates."""

    def __init__(self, alpha=1e-9):
        super().__init__(alpha)

    def fit(self, X, y, sample_weight=None):
        return super().fit(X[["when"]].apply(lambda column: column.dt.day_of_year), y, sample_weight)

    def predict(self, X):
        return super().predict(X[["when"]].apply(lambda column: column.dt.day_of_year))


def test_members_keep_labels_and_names():
    X, y, _ = mixed_data("classifier")
    labels = np.array(["low", "middle", "high"])[y]
    model = sp.BaggingClassifier(
        sp.DecisionTreeClassifier(class_weight={"low": 2.0, "middle": 1.0, "high": 1.0}), 3, max_features=3
    ).fit(X, labels)
    assert model.classes_.tolist() == ["high", "low", "middle"]
    for tree, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        assert tree.feature_names_in_.tolist() == X.columns[columns].tolist()
        assert set(tree.predict(X.iloc[:, columns])) <= set(labels)
    assert "high" in sp.export_text(model[0])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["b", "a", "color", "noise"]])


def test_the_wrong_kind_of_member_is_refused(table):
    X, y = table
    with pytest.raises(InputError, match="BaggingClassifier cannot be a Ridge"):
        sp.BaggingClassifier(Ridge()).fit(X, y)
    with pytest.raises(InputError, match="BaggingRegressor cannot be a C45Classifier"):
        sp.BaggingRegressor(sp.C45Classifier()).fit(X, X[:, 0])
    with pytest.raises(InputError, match="max_features is 6, but X has 5"):
        sp.BaggingClassifier(max_features=6).fit(X, y)


def test_other_members_pickle_but_fit_in_no_file(table):
    import pickle

    X, y = table
    model = sp.BaggingClassifier(LogisticRegression(), 3, random_state=0, n_jobs=2).fit(X, y)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    with pytest.raises(UnsavableValue, match="LogisticRegression"):
        dumps(model)


def test_ensembles_of_ensembles_and_searches(table):
    X, y = table
    inner = sp.BaggingClassifier(n_estimators=2)
    model = sp.BaggingClassifier(inner, 3, max_features=4, random_state=0).fit(X, y)
    assert len({member.random_state for member in model}) == 3
    assert_array_equal(loads(dumps(model)).predict(X), model.predict(X))
    search = GridSearchCV(
        sp.BaggingClassifier(sp.DecisionTreeClassifier()), {"estimator__max_depth": [1, 3]}, cv=2
    )
    assert search.fit(X, y).best_params_ == {"estimator__max_depth": 3}


def test_tags_are_those_of_the_members():
    own = sp.BaggingClassifier().__sklearn_tags__()
    assert own.input_tags.allow_nan and own.input_tags.sparse and own.input_tags.string
    assert own.target_tags.multi_output and own.classifier_tags.multi_label
    lines = sp.BaggingClassifier(LogisticRegression()).__sklearn_tags__()
    assert not lines.input_tags.allow_nan and not lines.target_tags.multi_output
    assert lines.estimator_type == "classifier"
    assert sp.BaggingRegressor(Ridge()).__sklearn_tags__().target_tags.multi_output


def test_progress_is_shown_only_when_asked_for(table, capsys):
    X, y = table
    sp.BaggingClassifier(n_estimators=2).fit(X, y)
    assert capsys.readouterr() == ("", "")
    sp.BaggingClassifier(n_estimators=2, verbose=1, n_jobs=2).fit(X, y)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "BaggingClassifier" in printed.err


@pytest.mark.parametrize(
    "distributions, words", [({"max_depth": 3}, "max_depth"), ({"no_such": [1]}, "no_such")]
)
def test_wrong_distributions_are_refused_by_the_name_of_the_parameter(distributions, words):
    with pytest.raises(ValueError, match=words):
        sp.BaggingClassifier(parameter_distributions=distributions).fit([[0.0], [1.0]], [0, 1])
