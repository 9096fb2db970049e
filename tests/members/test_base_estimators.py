"""Base estimators: allowed objects, copies with seeds of their own, and random hyper-parameters."""

import numpy as np
import pytest
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import spinney as sp
from spinney.members.base_estimators import AnyEstimator, draw_parameters, make_member


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


def draws(given, n=400):
    return [draw_parameters({"x": given}, seed)["x"] for seed in range(n)]


def test_each_entry_of_a_list_is_equally_likely():
    counts = np.bincount(draws(range(4), 2000), minlength=4)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_frozen_distributions_are_drawn_from():
    assert stats.kstest(draws(stats.loguniform(1e-3, 1.0)), stats.loguniform(1e-3, 1.0).cdf).pvalue > 1e-3
    assert set(draws(stats.randint(2, 5))) == {2, 3, 4}


def test_functions_of_a_generator_are_called():
    assert stats.kstest(draws(lambda rng: rng.normal(2.0, 3.0)), stats.norm(2.0, 3.0).cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    "given", [stats.randint(2, 5), stats.uniform(), np.array([1, 2]), lambda rng: rng.random()]
)
def test_numbers_are_pythons_own(given):
    assert type(draws(given, 1)[0]) in (int, float)


def test_any_object_may_stand_in_a_list():
    options = [None, "sqrt", {"a": 1.0}, sp.C45Classifier(), [1, 2]]
    assert {id(value) for value in draws(options, 100)} == set(map(id, options))


def test_a_draw_depends_on_the_seed_and_its_own_name_alone():
    both = {"max_depth": range(1000), "tree__max_depth": range(1000)}
    first = draw_parameters(both, 5)
    assert first == draw_parameters(both, 5) != draw_parameters(both, 6)
    assert first["max_depth"] != first["tree__max_depth"]
    assert draw_parameters({"tree__max_depth": range(1000)}, 5)["tree__max_depth"] == first["tree__max_depth"]
    assert list(draw_parameters(dict(reversed(both.items())), 5)) == ["tree__max_depth", "max_depth"]


def test_draws_can_be_set():
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(sp.DecisionTreeClassifier())
    drawn = draw_parameters({"decisiontreeclassifier__max_depth": [7]}, 0)
    assert model.set_params(**drawn)[0].max_depth == 7


@pytest.mark.parametrize(
    "given, words",
    [
        ({"x": 3}, r"'x' is 3.*write \[3\]"),
        ({"x": "sqrt"}, r"'x' is 'sqrt'.*write \['sqrt'\]"),
        ({"x": []}, "'x' is empty"),
        ({"x": np.array(3)}, "'x' is empty"),
        ({5: [1]}, "the key 5; keys are parameter names"),
        ([("x", [1])], "must be a dict"),
    ],
)
def test_what_is_no_distribution_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        draw_parameters(given, 0)


@pytest.mark.parametrize(
    "value", [sp.C45Classifier(), LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())]
)
def test_estimators_and_pipelines_are_allowed(value):
    assert AnyEstimator().allows(value)


@pytest.mark.parametrize("value", [sp.C45Classifier, StandardScaler(), "tree", None, 3])
def test_whatever_else_is_not(value):
    assert not AnyEstimator().allows(value)


@pytest.mark.parametrize("kind", [sp.BaggingClassifier, sp.AdaBoostRegressor, sp.OutputSmearingRegressor])
def test_only_fit_refuses_an_object_that_is_no_estimator(kind):
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 2]
    model = kind(n_estimators=2, random_state=0).fit(X, y)
    before = model.predict(X).tolist()
    assert model.set_params(estimator="oak").predict(X).tolist() == before
    with pytest.raises(ValueError, match="estimator"):
        model.fit(X, y)


@pytest.mark.parametrize(
    "wrap",
    [
        sp.BaggingClassifier,
        lambda inner: sp.VotingClassifier([("a", inner)]),
        lambda inner: sp.StackingClassifier([("a", inner)], final_estimator=sp.C45Classifier()),
    ],
)
def test_the_tags_of_nested_ensembles_take_time_linear_in_the_depth(wrap):
    asked = 0

    class Counting(sp.C45Classifier):
        def __sklearn_tags__(self):
            nonlocal asked
            asked += 1
            return super().__sklearn_tags__()

    model = Counting()
    for _ in range(9):
        model = wrap(model)
    get_tags(model)
    assert 0 < asked < 10
