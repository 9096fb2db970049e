import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import cohen_kappa_score, matthews_corrcoef

from diversity.tables import problems, random_votes
from oracles import naive_diversity as naive
from spinney.core.errors import InputError
from spinney.diversity import correlation, disagreement, double_fault, kappa, pair_mean, q_statistic

# 8 rows where both say yes, 3 where the first does, 2 where the second does, 7 where neither.
CELLS = (8, 3, 2, 7)
SPEC = np.repeat([["yes", "yes"], ["yes", "no"], ["no", "yes"], ["no", "no"]], CELLS, axis=0)


def columns(rows):
    return list(zip(*rows, strict=True))


def close(matrix, measure, members):
    expected = [[float(measure(first, second)) for second in members] for first in members]
    np.testing.assert_allclose(matrix, expected, rtol=0, atol=1e-12)


def test_the_formulas_of_the_pair_table():
    a, b, c, d = CELLS
    m = sum(CELLS)
    p1, p2 = (a + d) / m, ((a + b) * (a + c) + (c + d) * (b + d)) / m**2
    expected = {
        disagreement: (b + c) / m,
        correlation: (a * d - b * c) / np.sqrt((a + b) * (a + c) * (c + d) * (b + d)),
        q_statistic: (a * d - b * c) / (a * d + b * c),
        kappa: (p1 - p2) / (1 - p2),
    }
    for measure, value in expected.items():
        assert measure(SPEC)[0, 1] == pytest.approx(value, abs=1e-15)
        # The same table when "+" is to be right: where the truth is always yes, yes is right.
        assert measure(SPEC, ["yes"] * m)[0, 1] == pytest.approx(value, abs=1e-15)
    np.testing.assert_allclose(double_fault(SPEC, ["yes"] * m), [[9 / m, d / m], [d / m, 10 / m]])


@given(problems())
def test_labels_agree_with_the_definitions(problem):
    rows, _, weights = problem
    members = columns(rows)
    close(disagreement(rows, sample_weight=weights), lambda i, j: naive.disagreement(i, j, weights), members)
    close(kappa(rows, sample_weight=weights), lambda i, j: naive.kappa(i, j, weights), members)


@given(problems(max_classes=2))
def test_two_labels_agree_with_the_definitions(problem):
    rows, _, weights = problem
    members, positive = columns(rows), [rows[0][0]] * len(rows)
    for measure in (correlation, q_statistic):
        close(
            measure(rows, sample_weight=weights),
            lambda i, j: getattr(naive, measure.__name__)(*naive.table(i, j, positive, weights)),  # noqa: B023
            members,
        )


@given(problems())
def test_right_and_wrong_agree_with_the_definitions(problem):
    rows, y, weights = problem
    members = columns(rows)

    def of_table(measure):
        return lambda i, j: measure(*naive.table(i, j, y, weights))

    close(correlation(rows, y, sample_weight=weights), of_table(naive.correlation), members)
    close(q_statistic(rows, y, sample_weight=weights), of_table(naive.q_statistic), members)
    close(
        double_fault(rows, y, sample_weight=weights),
        of_table(lambda a, b, c, d: d / (a + b + c + d)),
        members,
    )
    judged = [[answer == truth for answer in row] for row, truth in zip(rows, y, strict=True)]
    np.testing.assert_array_equal(kappa(rows, y, sample_weight=weights), kappa(judged, sample_weight=weights))
    np.testing.assert_array_equal(
        disagreement(rows, y, sample_weight=weights), disagreement(judged, sample_weight=weights)
    )


@given(problems())
def test_symmetry_bounds_and_q_is_at_least_rho(problem):
    rows, y, weights = problem
    q, rho = q_statistic(rows, y, sample_weight=weights), correlation(rows, y, sample_weight=weights)
    assert (np.abs(q) >= np.abs(rho) - 1e-12).all()
    assert (q * rho >= 0).all()
    # (measure, y, least, greatest, diagonal)
    for measure, truth, least, diagonal in (
        (disagreement, None, 0, 0),
        (kappa, None, -1, 1),
        (correlation, y, -1, 1),
        (q_statistic, y, -1, 1),
        (double_fault, y, 0, None),
    ):
        found = measure(rows, truth, sample_weight=weights)
        assert np.array_equal(found, found.T), measure
        assert (found >= least - 1e-12).all() and (found <= 1 + 1e-12).all(), measure
        if diagonal is not None:
            np.testing.assert_allclose(np.diagonal(found), diagonal, atol=1e-12)


@given(problems(max_classes=2))
def test_neither_of_two_classes_is_special(problem):
    rows, _, weights = problem
    renamed = [["z" if answer == rows[0][0] else "a" for answer in row] for row in rows]
    swapped = [["a" if answer == rows[0][0] else "z" for answer in row] for row in rows]
    for measure in (disagreement, kappa, correlation, q_statistic):
        np.testing.assert_allclose(
            measure(renamed, sample_weight=weights), measure(swapped, sample_weight=weights), atol=1e-15
        )


@pytest.mark.parametrize(
    ("first", "second", "rho", "k"),
    [
        ("aaa", "aaa", 1.0, 1.0),  # both constant and alike
        ("aaa", "bbb", -1.0, 0.0),  # both constant and never alike
        ("aaa", "aab", 0.0, 0.0),  # one of them constant
    ],
)
def test_zero_denominators_have_a_defined_value(first, second, rho, k):
    rows = np.array([list(first), list(second)]).T
    with np.errstate(all="raise"):
        assert correlation(rows)[0, 1] == rho
        assert q_statistic(rows)[0, 1] == rho
        assert kappa(rows)[0, 1] == k
        weighted = {"sample_weight": [0.1, 0.2, 0.7]}  # no rounding may hide that they are constant
        assert correlation(rows, **weighted)[0, 1] == q_statistic(rows, **weighted)[0, 1] == rho
        assert kappa(rows, **weighted)[0, 1] == pytest.approx(k, abs=1e-15)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_agrees_with_scikit_learn(n_classes):
    predictions, y = random_votes(300, 4, n_classes)
    weights = np.random.default_rng(1).random(300)
    for sample_weight in (None, weights):
        found = kappa(predictions, sample_weight=sample_weight)
        rho = correlation(predictions, y, sample_weight=sample_weight)
        for i in range(4):
            for j in range(4):
                pair = predictions[:, i], predictions[:, j]
                right = pair[0] == y, pair[1] == y
                assert found[i, j] == pytest.approx(cohen_kappa_score(*pair, sample_weight=sample_weight))
                assert rho[i, j] == pytest.approx(matthews_corrcoef(*right, sample_weight=sample_weight))


def test_a_weight_is_a_repetition_to_the_last_bit():
    predictions, y = random_votes(60, 5, 3)
    weights = np.random.default_rng(2).integers(0, 4, 60)
    repeated, repeated_y = np.repeat(predictions, weights, axis=0), np.repeat(y, weights)
    for measure in (disagreement, kappa, correlation, q_statistic, double_fault):
        weighted = measure(predictions, y, sample_weight=weights)
        assert np.array_equal(weighted, measure(repeated, repeated_y)), measure


def test_the_mean_is_over_pairs_of_different_members():
    assert pair_mean([[9.0, 1.0, 2.0], [1.0, 9.0, 6.0], [2.0, 6.0, 9.0]]) == 3.0
    with pytest.raises(InputError, match="fewer than two"):
        pair_mean([[1.0]])
    with pytest.raises(InputError, match="square"):
        pair_mean([1.0, 2.0])


def test_says_what_is_missing():
    three = [["a", "b"], ["c", "b"]]
    for measure in (correlation, q_statistic):
        with pytest.raises(InputError, match=r"3 labels: 'a', 'b', 'c'\. Give the true labels as y"):
            measure(three)
    with pytest.raises(InputError, match="y is None"):
        double_fault(three, None)
