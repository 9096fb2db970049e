"""Members are fitted to the rows and columns of their sample, as weights or as rows, of any kind of table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin

import spinney as sp
from spinney.bagging.fitting import fit_members, make_members, take_features
from spinney.bagging.sampling import BootstrapSamples
from spinney.core.errors import InputError


class Witness(ClassifierMixin, BaseEstimator):
    """Remember what it was fitted to; takes no weights."""

    def __init__(self, random_state=None, note=None):
        self.random_state = random_state
        self.note = note

    def fit(self, X, y):
        self.X_, self.y_, self.weight_ = X, y, None
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class WeighedWitness(Witness):
    """Remember also the weights; counts as one of scikit-learn's, whose weights are as good as rows."""

    __module__ = "sklearn.witness"

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y)
        self.weight_ = sample_weight
        return self


X = np.arange(24.0).reshape(8, 3)
Y = np.array(list("aabbccdd"))


class UserWitness(WeighedWitness):
    """Takes weights, but who knows what it does with them."""

    __module__ = __name__


@pytest.mark.parametrize("witness", [Witness, UserWitness])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_without_weights_the_rows_themselves_are_taken(bootstrap, witness):
    model = sp.BaggingClassifier(witness(), bootstrap=bootstrap, max_samples=5, random_state=0).fit(X, Y)
    for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        assert len(rows) == 5
        assert_array_equal(member.X_, X[rows])
        assert_array_equal(member.y_, Y[rows])
        assert member.weight_ is None
    assert len({tuple(rows) for rows in model.estimators_samples_}) > 1


@pytest.mark.parametrize("bootstrap", [True, False])
def test_with_weights_the_table_is_left_whole(bootstrap):
    model = sp.BaggingClassifier(WeighedWitness(), bootstrap=bootstrap, max_samples=5, random_state=0).fit(
        X, Y
    )
    for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        assert member.X_ is X
        assert_array_equal(member.weight_, np.bincount(rows, minlength=8))


def test_a_bag_of_every_row_needs_no_weights():
    for witness in (Witness(), WeighedWitness()):
        model = sp.BaggingClassifier(witness, 2, bootstrap=False).fit(X, Y)
        assert all(member.X_ is X and member.weight_ is None for member in model)


def test_weights_without_replacement_are_handed_on():
    weights = np.linspace(0.5, 1.2, 8)
    model = sp.BaggingClassifier(WeighedWitness(), bootstrap=False, max_samples=0.5, random_state=0)
    for member, rows in zip(model.fit(X, Y, weights), model.estimators_samples_, strict=True):
        assert_array_equal(member.weight_, np.where(np.isin(np.arange(8), rows), weights, 0.0))
    model = sp.BaggingClassifier(UserWitness(), bootstrap=False, max_samples=0.5, random_state=0)
    for member, rows in zip(model.fit(X, Y, weights), model.estimators_samples_, strict=True):
        assert_array_equal(member.X_, X[rows])
        assert_array_equal(member.weight_, weights[rows])
    with pytest.raises(InputError, match="Witness does not support sample weights"):
        sp.BaggingClassifier(Witness(), bootstrap=False).fit(X, Y, weights)
    # Integer weights are counts, which rows can show.
    counts = np.array([2.0, 0, 1, 1, 1, 1, 3, 1])
    (member,) = sp.BaggingClassifier(Witness(), 1, bootstrap=False).fit(X, Y, counts)
    assert_array_equal(member.X_, np.repeat(X, counts.astype(int), axis=0))


@pytest.mark.parametrize(
    "table",
    [
        X,
        X.tolist(),
        sparse.csr_array(X),
        pd.DataFrame(X, columns=list("abc")),
        pl.DataFrame(X, schema=list("abc")),
    ],
    ids=["array", "list", "sparse", "pandas", "polars"],
)
def test_columns_of_any_table(table):
    model = sp.BaggingClassifier(Witness(), max_features=2, random_state=0).fit(table, Y)
    assert len({tuple(columns) for columns in model.estimators_features_}) > 1
    for member, rows, columns in zip(
        model, model.estimators_samples_, model.estimators_features_, strict=True
    ):
        assert type(member.X_) is type(table)
        found = member.X_.toarray() if sparse.issparse(member.X_) else np.asarray(member.X_)
        assert_array_equal(found, X[rows][:, columns])


def test_all_columns_are_the_table_itself():
    assert take_features(X, np.arange(3), 3) is X
    assert take_features(["text", "more text"], np.arange(0), 0) == ["text", "more text"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda data: pl.DataFrame(data).to_arrow()])
def test_a_column_drawn_twice_has_two_names(make):
    frame = make({"a": [1, 2], "b": ["x", "y"]})
    taken = take_features(frame, np.array([0, 1, 1]), 2)
    assert type(taken) is type(frame)
    names = getattr(taken, "column_names", None) or list(taken.columns)
    assert names == ["a", "b", "b (2)"]
    if not hasattr(taken, "column_names"):
        assert list(taken["b (2)"]) == ["x", "y"]


def test_every_member_has_seeds_of_its_own():
    samples = BootstrapSamples(0, 8, 8, True, 3, 3)
    members = make_members([Witness(random_state=5)], {"note": ["x", "y"]}, samples, range(20))
    assert len({member.random_state for member in members}) == 20
    assert {member.note for member in members} == {"x", "y"}
    again = make_members([Witness()], {"note": ["x", "y"]}, samples, range(10, 12))
    assert [member.get_params() for member in again] == [member.get_params() for member in members[10:12]]


def test_bags_by_number():
    samples = BootstrapSamples(0, 8, 8, True, 3, 3)
    members = fit_members([WeighedWitness(), WeighedWitness()], [7, 3], X, Y, samples, None)
    assert_array_equal(members[0].weight_, samples.member_weights(7))
    assert_array_equal(members[1].weight_, samples.counts(3))
