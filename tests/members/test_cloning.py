"""A member is an unfitted copy; its random states are numbers that only the seed decides."""

import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

import spinney as sp
from spinney.members.cloning import make_member


def test_a_copy_is_unfitted_and_has_the_parameters_asked_for():
    pattern = sp.DecisionTreeClassifier(max_depth=2, random_state=5).fit([[0.0], [1.0]], [0, 1])
    member = make_member(pattern, max_leaf_nodes=3)
    assert (member.max_depth, member.max_leaf_nodes, member.random_state) == (2, 3, 5)
    assert not hasattr(member, "tree_")
    assert pattern.max_leaf_nodes is None


def test_every_nested_random_state_is_a_number_of_its_own():
    pattern = make_pipeline(PCA(), SGDClassifier())
    member = make_member(pattern, seed=7)
    states = [member["pca"].random_state, member["sgdclassifier"].random_state]
    assert all(type(state) is int and 0 <= state < 2**31 for state in states)
    assert len(set(states)) == 2
    assert pattern["pca"].random_state is None
    again = make_member(pattern, seed=7)
    assert [again["pca"].random_state, again["sgdclassifier"].random_state] == states
    assert make_member(pattern, seed=8)["pca"].random_state != states[0]


def test_a_random_state_asked_for_by_name_is_kept():
    assert make_member(sp.DecisionTreeClassifier(), seed=1, random_state=3).random_state == 3
    free = make_member(make_pipeline(PCA(), SGDClassifier()), seed=1)
    partly = make_member(make_pipeline(PCA(), SGDClassifier()), seed=1, pca__random_state=4)
    assert partly["pca"].random_state == 4
    assert partly["sgdclassifier"].random_state == free["sgdclassifier"].random_state


def test_what_is_no_estimator_is_refused():
    with pytest.raises(TypeError, match="estimator"):
        make_member(3)
