"""Members in a file: trees of one table side by side, all others as they are, and nothing unsound."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import spinney as sp
from contracts.learners import mixed_data
from spinney.adaboost.members import pack_members, unpack_members
from spinney.io import ModelFileError, dumps, loads


def fitted(n_estimators=5, **settings):
    X, y, weights = mixed_data("classifier")
    return sp.AdaBoostClassifier(n_estimators=n_estimators, **settings).fit(X, y, weights)


def test_trees_come_back_as_they_were():
    model = fitted(estimator=sp.DecisionTreeClassifier(max_depth=2), random_state=3)
    again = unpack_members(pack_members(model.estimators_))
    assert [one.get_params() for one in again] == [one.get_params() for one in model]
    for one, other in zip(again, model, strict=True):
        assert one.max_features_ == other.max_features_ and one.schema_ == other.schema_
        expected = other.tree_.to_state()
        for name, array in one.tree_.to_state().items():
            assert_array_equal(array, expected[name])
    assert len({id(one.schema_) for one in again}) == 1


def test_a_file_grows_by_little_with_each_stump():
    per_stump = (len(dumps(fitted(60))) - len(dumps(fitted(10)))) / 50
    assert per_stump < 400


def test_members_that_differ_are_kept_one_by_one():
    model = fitted()
    other = sp.DecisionTreeClassifier(max_depth=1, max_bins=7)
    assert pack_members([model[0], other.fit(*mixed_data("classifier")[:2])]) is None
    logit = fitted(algorithm="logit")
    assert type(logit._get_state()["fitted"]["estimators_"]) is list
    again = loads(dumps(logit))
    assert [len(members) for members in again.estimators_] == [3] * 5


@pytest.mark.parametrize(
    "part, value",
    [
        ("template", 3),
        ("random_states", [1]),
        ("schema", {}),
        ("trees", [1, 2]),
        ("classes", np.array([0, 0, 1])),
        ("classes", None),
        ("classes", np.arange(4)),
        ("max_features", 0),
        ("another", 1),
    ],
)
def test_a_description_that_does_not_agree_is_refused(part, value):
    with pytest.raises(ModelFileError):
        unpack_members({**pack_members(fitted().estimators_), part: value})
