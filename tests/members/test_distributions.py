import numpy as np
import pytest
from scipy import stats

import spinney as sp
from spinney.members.distributions import draw_parameters


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
        ({5: [1]}, "5 has no parameter"),
        ([("x", [1])], "must be a dict"),
    ],
)
def test_what_is_no_distribution_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        draw_parameters(given, 0)
