import numpy as np
import pytest
from hypothesis import given

from diversity.tables import problems, random_votes
from oracles import naive_diversity as naive
from spinney.core.errors import InputError
from spinney.diversity import (
    coincident_failure,
    correlation,
    difficulty,
    disagreement,
    entropy,
    generalized_diversity,
    interrater,
    kohavi_wolpert,
    non_pairwise,
    pair_mean,
)

OF_RIGHT = {
    entropy: naive.entropy,
    kohavi_wolpert: naive.kohavi_wolpert,
    difficulty: naive.difficulty,
    generalized_diversity: naive.generalized_diversity,
    coincident_failure: naive.coincident_failure,
}


@given(problems(min_members=2))
def test_right_and_wrong_agree_with_the_definitions(problem):
    rows, y, weights = problem
    for measure, by_definition in OF_RIGHT.items():
        found = measure(rows, y, sample_weight=weights)
        assert found == pytest.approx(by_definition(rows, y, weights), abs=1e-12), measure
        assert 0 <= found <= 1
    judged = [[answer == truth for answer in row] for row, truth in zip(rows, y, strict=True)]
    found = interrater(rows, y, sample_weight=weights)
    assert found == pytest.approx(naive.fleiss(judged, weights), abs=1e-12)
    assert -1 - 1e-12 <= found <= 1 + 1e-12


@given(problems(min_members=2))
def test_labels_agree_with_the_definitions(problem):
    rows, _, weights = problem
    assert interrater(rows, sample_weight=weights) == pytest.approx(naive.fleiss(rows, weights), abs=1e-12)
    found = entropy(rows, sample_weight=weights)
    assert found == pytest.approx(naive.entropy_of_labels(rows, weights), abs=1e-12)


@given(problems(max_classes=2))
def test_for_two_classes_the_variance_is_the_same_with_and_without_y(problem):
    rows, y, weights = problem
    of_labels = kohavi_wolpert(rows, sample_weight=weights)
    assert of_labels == pytest.approx(kohavi_wolpert(rows, y, sample_weight=weights), abs=1e-12)


@given(problems(min_members=2))
def test_the_variance_is_a_multiple_of_the_mean_disagreement(problem):
    """KW = (T − 1) / (2T) · mean disagreement: Kuncheva and Whitaker, 2003."""
    rows, y, weights = problem
    T = len(rows[0])
    for truth in (None, y):
        mean = pair_mean(disagreement(rows, truth, sample_weight=weights))
        found = kohavi_wolpert(rows, truth, sample_weight=weights)
        assert found == pytest.approx((T - 1) / (2 * T) * mean, abs=1e-12)


def test_blocks_do_not_change_the_measures(monkeypatch):
    predictions, y = random_votes(100, 7, 12)
    measures = [*OF_RIGHT, interrater]
    expected = [measure(predictions, y) for measure in measures]
    labels = [measure(predictions) for measure in (entropy, kohavi_wolpert, interrater)]
    monkeypatch.setattr(non_pairwise, "_BLOCK", 50)
    np.testing.assert_allclose([measure(predictions, y) for measure in measures], expected, rtol=1e-13)
    np.testing.assert_allclose(
        [measure(predictions) for measure in (entropy, kohavi_wolpert, interrater)], labels, rtol=1e-13
    )


def test_a_weight_is_a_repetition():
    predictions, y = random_votes(60, 5, 3)
    weights = np.random.default_rng(2).integers(0, 4, 60)
    repeated, repeated_y = np.repeat(predictions, weights, axis=0), np.repeat(y, weights)
    for measure in (*OF_RIGHT, interrater):
        weighted = measure(predictions, y, sample_weight=weights)
        assert weighted == pytest.approx(measure(repeated, repeated_y), abs=1e-14), measure


def test_members_that_are_all_alike_are_not_diverse():
    predictions, y = random_votes(200, 1, 3)
    alike = np.repeat(predictions, 6, axis=1)
    assert entropy(alike, y) == entropy(alike) == 0
    assert kohavi_wolpert(alike, y) == generalized_diversity(alike, y) == coincident_failure(alike, y) == 0
    assert interrater(alike) == interrater(alike, y) == 1
    accuracy = np.mean(predictions[:, 0] == y)
    assert difficulty(alike, y) == pytest.approx(accuracy * (1 - accuracy))


def test_independent_members_agree_by_chance_only():
    """κ and ρ of independent members are 0 but for chance; a third of 3 standard errors is far from 0.1."""
    draw = np.random.default_rng(0)
    predictions, y = draw.random((20_000, 5)) < 0.3, np.ones(20_000, dtype=bool)
    assert abs(interrater(predictions, y)) < 0.02
    assert abs(pair_mean(correlation(predictions, y))) < 0.02
    assert generalized_diversity(predictions, y) == pytest.approx(0.3, abs=0.02)
    # The variance of the mean of 5 independent draws.
    assert difficulty(predictions, y) == pytest.approx(0.21 / 5, rel=0.05)


def test_zero_denominators_have_a_defined_value():
    right, y = [["a", "a"], ["b", "b"]], ["a", "b"]
    with np.errstate(all="raise"):
        assert generalized_diversity(right, y) == coincident_failure(right, y) == 0
        assert interrater(right, y) == 1  # always right
        assert interrater([["a", "a"]] * 3) == 1
        assert interrater([["a", "a"]] * 3, sample_weight=[0.1, 0.2, 0.7]) == 1
        assert entropy([["a"], ["b"]], ["a", "a"]) == 0  # one member
        assert str(entropy([["a", "a"]])) == "0.0"


def test_says_what_is_missing():
    for measure in (difficulty, generalized_diversity, coincident_failure):
        with pytest.raises(InputError, match="y is None"):
            measure([["a", "b"]], None)
    for measure in (interrater, generalized_diversity, coincident_failure):
        with pytest.raises(InputError, match="at least 2 members"):
            measure([["a"], ["b"]], ["a", "b"])
