"""The members of a forest as a list: other lists, changes in place, what is kept and what is forgotten."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_classification

import spinney as sp
from spinney.core.errors import InputError
from spinney.io import dumps, loads

X, Y = make_classification(150, random_state=0)


def forest(n=6, **more):
    return sp.RandomForestClassifier(n, **{"random_state": 0} | more).fit(X, Y)


def mean_of(members):
    return np.mean([member.predict_proba(X) for member in members], axis=0)


def test_fewer_members_are_the_forest_of_these():
    model, members = forest(oob_score=True), None
    members = model.estimators_
    model.estimators_ = members[:3]
    assert len(model) == len(model.estimators_) == len(model.estimators_samples_) == 3
    assert all(new is old for new, old in zip(model.estimators_, members, strict=False))
    assert model[0] is members[0] and model[1:] == members[1:3]
    assert_array_equal(model.predict_proba(X), forest(3).predict_proba(X))
    assert dumps(model.set_params(n_estimators=3, oob_score=False)) == dumps(forest(3))
    assert not hasattr(model, "oob_score_")


def test_any_of_the_members_keep_their_rows_and_a_warm_start_adds_others():
    model = forest()
    rows = model.estimators_samples_
    model.estimators_ = [model.estimators_[t] for t in (4, 1)]
    assert [one.tolist() for one in model.estimators_samples_] == [rows[4].tolist(), rows[1].tolist()]
    model.set_params(n_estimators=5, warm_start=True).fit(X, Y)
    assert len({tuple(one) for one in model.estimators_samples_}) == 5
    again = loads(dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.estimators_[1].random_state == forest().estimators_[1].random_state


@pytest.mark.parametrize(
    "change, kept",
    [
        (lambda members: members.pop(), [0, 1, 2, 3, 4]),
        (lambda members: members.remove(members[0]), [1, 2, 3, 4, 5]),
        (lambda members: members.reverse(), [5, 4, 3, 2, 1, 0]),
        (lambda members: members.__delitem__(slice(2, None)), [0, 1]),
        (lambda members: members.__setitem__(0, members[5]), [5, 1, 2, 3, 4, 5]),
        (lambda members: members.insert(0, members[3]), [3, 0, 1, 2, 3, 4, 5]),
        (lambda members: members.extend(members[:1]), [0, 1, 2, 3, 4, 5, 0]),
    ],
)
def test_changes_of_the_list_are_changes_of_the_forest(change, kept):
    model = forest()
    members, before = model.estimators_, list(model.estimators_)
    change(members)
    assert model.estimators_ is members
    assert all(one is before[t] for one, t in zip(members, kept, strict=True))
    assert_array_equal(model.predict_proba(X), mean_of(before[t] for t in kept))


def test_forests_are_joined():
    one, other = forest(3), forest(2, random_state=5)
    expected = mean_of([*one.estimators_, *other.estimators_])
    one.estimators_ += other.estimators_
    assert_array_equal(one.predict_proba(X), expected)
    assert [len(rows) for rows in one.estimators_samples_] == [150] * 3 + [0] * 2
    assert_array_equal(loads(dumps(one)).predict_proba(X), expected)


def test_trees_of_other_columns_or_classes_are_refused():
    model = forest(3)
    before, members = dumps(model), model.estimators_
    wrong = [
        ([], "is empty"),
        ([sp.DecisionTreeClassifier()], r"estimators_\[0\] is not one of Spinney's trees"),
        ([members[0], sp.DecisionTreeClassifier().fit(X[:, :3], Y)], r"estimators_\[1\] is not one"),
        ([sp.DecisionTreeClassifier().fit(X, Y + 1)], "other classes"),
        ([sp.DecisionTreeRegressor().fit(X, Y)], "another target"),
    ]
    for given, message in wrong:
        with pytest.raises(InputError, match=message):
            model.estimators_ = given
    with pytest.raises(InputError, match="is empty"):
        members.clear()
    assert len(members) == 3 and dumps(model) == before


def test_lists_are_copied_as_plain_lists_and_outlive_the_forest():
    model = forest(2)
    members = model.estimators_
    for other in (pickle.loads(pickle.dumps(members)), copy.deepcopy(members)):
        assert type(other) is list and len(other) == 2
    assert len(pickle.loads(pickle.dumps(model))) == 2
    del model
    members.pop()
    assert len(members) == 1


@pytest.mark.parametrize("learner", [sp.RandomForestRegressor, sp.IsolationForest])
def test_a_warm_start_keeps_the_made_members(learner):
    model = learner(n_estimators=2, warm_start=True, random_state=0).fit(X, Y)
    first = model.estimators_[0]
    assert model.estimators_[0] is first
    more = model.set_params(n_estimators=4).fit(X, Y)
    assert len(more.estimators_) == 4 and more.estimators_[0] is first
    again = loads(dumps(more))
    assert again.estimators_[3].random_state == more.estimators_[3].random_state
    assert model.set_params(warm_start=False).fit(X, Y).estimators_[0] is not first


def test_the_members_of_an_embedding_are_only_read():
    model = sp.RandomTreesEmbedding(3, random_state=0).fit(X)
    model.estimators_.pop()
    assert len(model.estimators_) == 3
