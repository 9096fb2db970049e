"""Any member: the rows it is fitted to, the methods it overrides, and what its ``fit`` returns."""

from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.ensemble import StackingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import spinney as sp
from spinney.io import dumps

RNG = np.random.default_rng(0)


class Rows(sp.DecisionTreeClassifier):
    """Counts the rows that each of its fits sees."""

    seen: ClassVar[list[int]] = []

    def fit(self, X, y, sample_weight=None):
        Rows.seen.append(len(np.unique(X[:, 0])))
        return super().fit(X, y, sample_weight)


class Silent(sp.DecisionTreeRegressor):
    """Its fit returns nothing."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)


class Opposite(sp.DecisionTreeClassifier):
    """Predicts the other class."""

    def predict(self, X):
        return 1 - super().predict(X)

    def predict_proba(self, X):
        return super().predict_proba(X)[:, ::-1]


def test_the_early_steps_of_a_pipeline_do_not_see_rows_out_of_bag():
    X, y = RNG.normal(size=(60, 2000)), np.arange(60) % 2  # noise
    model = make_pipeline(SelectKBest(k=5), sp.DecisionTreeClassifier())
    bagging = sp.BaggingClassifier(model, 20, oob_score=True, random_state=0).fit(X, y)
    assert bagging.oob_score_ < 0.65  # above 0.8 if features are selected on all rows
    first = bagging.estimators_[0]
    rows = bagging.estimators_samples_[0]
    expected = SelectKBest(k=5).fit(X[rows], y[rows]).get_support()
    assert_array_equal(first[0].get_support(), expected)


def test_a_search_in_bagging_gets_the_rows_of_the_bag():
    X, y = RNG.normal(size=(40, 2)), np.arange(40) % 2
    Rows.seen.clear()
    search = GridSearchCV(Rows(), {"max_depth": [1, 2]}, cv=2)
    bagging = sp.BaggingClassifier(search, 2, random_state=0).fit(X, y)
    drawn = [len(np.unique(rows)) for rows in bagging.estimators_samples_]
    assert max(Rows.seen) == max(drawn) < 40


@pytest.mark.parametrize("ensemble", [sp.BaggingRegressor, sp.AdaBoostRegressor])
def test_what_fit_returns_need_not_be_the_member(ensemble):
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    model = ensemble(Silent(max_depth=2), n_estimators=3, random_state=0).fit(X, y)
    assert all(isinstance(member, Silent) for member in model.estimators_)
    assert model.predict(X).shape == (20,)


@pytest.mark.parametrize(
    "ensemble",
    [
        lambda e: sp.BaggingClassifier(e, 3, random_state=0),
        lambda e: sp.AdaBoostClassifier(e, n_estimators=3),
    ],
    ids=["bagging", "adaboost"],
)
def test_overridden_methods_are_called(ensemble):
    X = RNG.normal(size=(50, 2))
    y = (X[:, 0] > 0).astype(int)
    Rows.seen.clear()
    ensemble(Rows(max_depth=1)).fit(X, y)
    assert len(Rows.seen) >= 1
    opposite = sp.BaggingClassifier(Opposite(), 3, random_state=0).fit(X, y)
    plain = sp.BaggingClassifier(sp.DecisionTreeClassifier(), 3, random_state=0).fit(X, y)
    assert np.mean(opposite.predict(X) == 1 - plain.predict(X)) > 0.9


def test_overridden_predictions_count_in_adaboost():
    X = np.arange(20.0)[:, None]
    y = (X[:, 0] > 9).astype(int)
    model = sp.AdaBoostClassifier(Opposite(max_depth=1), n_estimators=3).fit(X, y)
    assert model.estimator_errors_.tolist() == [1.0]
    right = sp.AdaBoostClassifier(Opposite(max_depth=1), n_estimators=3).fit(X, 1 - y)
    assert right.estimator_errors_.tolist() == [1.0]


def test_a_subclass_without_methods_of_its_own_keeps_the_fast_path():
    class Named(sp.DecisionTreeClassifier):
        """Only a name."""

    X, y = RNG.normal(size=(50, 2)), np.arange(50) % 2
    model = sp.BaggingClassifier(Named(), 3, random_state=0).fit(X, y)
    plain = sp.BaggingClassifier(sp.DecisionTreeClassifier(), 3, random_state=0).fit(X, y)
    assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_duplicate_entries_of_a_sparse_matrix_change_no_draw():
    plain = sparse.random(80, 4, 0.5, format="csr", random_state=0)
    doubled = sparse.csr_matrix(
        (np.repeat(plain.data / 2, 2), np.repeat(plain.indices, 2), plain.indptr * 2), shape=plain.shape
    )
    y = np.arange(80) % 2
    files = {dumps(sp.BaggingClassifier(random_state=0).fit(X, y)) for X in (plain, doubled)}
    assert len(files) == 1
    assert doubled.nnz == 2 * plain.nnz  # not summed in place


@pytest.mark.parametrize(
    "learner",
    [
        sp.DecisionTreeClassifier(random_state=0),
        sp.RandomForestClassifier(5, random_state=0),
        sp.BaggingClassifier(random_state=0),
        sp.AdaBoostClassifier(random_state=0, n_estimators=5),
        sp.LogisticRegression(),
        sp.GaussianNB(),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_float32_and_float64_of_the_same_values_give_the_same_file(learner):
    X = RNG.normal(size=(60, 3)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    assert dumps(learner.fit(X, y)) == dumps(learner.fit(X.astype(np.float64), y))


class Selecting(sp.DecisionTreeClassifier):
    """Selects features in its fit, before it calls the inherited one, without regard to weights."""

    def fit(self, X, y, sample_weight=None):
        self.selection_ = SelectKBest(k=5).fit(X, y)
        return super().fit(self.selection_.transform(X), y, sample_weight)

    def predict_proba(self, X):
        return super().predict_proba(self.selection_.transform(X))


class SelectingLogistic(ClassifierMixin, BaseEstimator):
    """The same within an estimator of a user."""

    def fit(self, X, y, sample_weight=None):
        model = make_pipeline(SelectKBest(k=5), sp.LogisticRegression())
        self.model_ = model.fit(X, y, logisticregression__sample_weight=sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


@pytest.mark.parametrize("member", [Selecting(max_depth=3), SelectingLogistic()], ids=["subclass", "own"])
def test_classes_of_users_get_the_rows_of_the_bag(member):
    X, y = np.random.default_rng(1).normal(size=(60, 1000)), np.arange(60) % 2  # noise
    bagging = sp.BaggingClassifier(member, 15, oob_score=True, random_state=0).fit(X, y)
    assert bagging.oob_score_ < 0.65  # above 0.75 if features are selected on all rows


def test_out_of_bag_early_stopping_gives_classes_of_users_the_rows_of_the_bag():
    seen = []

    class Counting(sp.GradientBoostingClassifier):
        def fit(self, X, y, sample_weight=None, eval_set=None):
            seen.append((len(X), len(eval_set[0])))
            return super().fit(X, y, sample_weight, eval_set=eval_set)

    X, y = RNG.normal(size=(50, 2)), np.arange(50) % 2
    model = sp.BaggingClassifier(
        Counting(n_estimators=3), 2, oob_early_stopping=True, max_samples=30, bootstrap=False, random_state=0
    ).fit(X, y)
    assert seen == [(30, 20)] * 2
    assert all(len(rows) == 30 for rows in model.estimators_samples_)


def test_members_may_have_predict_only_when_they_are_fitted():
    X, y = load_iris(return_X_y=True)
    stacking = StackingClassifier([("nb", GaussianNB())], cv=2)
    assert not hasattr(stacking, "predict")
    for ensemble in (
        sp.BaggingClassifier(stacking, n_estimators=2, random_state=0),
        sp.VotingClassifier([("stacking", stacking)]),
    ):
        assert ensemble.fit(X, y).score(X, y) > 0.9
