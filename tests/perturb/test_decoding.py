import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import softmax

from spinney.perturb.codes import (
    LOSSES,
    by_hamming,
    by_loss,
    couple,
    one_vs_one,
    one_vs_rest,
    random_code,
)

RNG = np.random.default_rng(0)
CODES = {
    "pairs": one_vs_one(4),
    "rest": one_vs_rest(4),
    "sparse": random_code(5, True, None, 10, np.random.default_rng(0)),
}
each_code = pytest.mark.parametrize("code", CODES.values(), ids=CODES)
FORMULAE = {
    "hinge": lambda z: max(0.0, 1.0 - z),
    "exponential": lambda z: np.exp(-z),
    "logistic": lambda z: np.log(1 + np.exp(-z)),
}


def test_every_loss_has_its_formula():
    assert set(LOSSES) == set(FORMULAE)


@each_code
@pytest.mark.parametrize("loss", FORMULAE)
def test_the_loss_is_that_of_every_entry_added_up(code, loss):
    margins = RNG.normal(size=(20, code.shape[1]))
    expected = [
        [-sum(FORMULAE[loss](m * f) for m, f in zip(row, x, strict=True)) for row in code] for x in margins
    ]
    assert_allclose(by_loss(code, margins, loss), expected, atol=1e-4)


@each_code
def test_the_hamming_distance_counts_signs_and_half_of_zeros(code):
    margins = np.sign(RNG.normal(size=(50, code.shape[1])))
    expected = np.array(
        [
            [sum((1 - np.sign(m * f)) / 2 for m, f in zip(row, x, strict=True)) for row in code]
            for x in margins
        ]
    )
    found = -by_hamming(code, margins)
    assert np.abs(found - expected).max() < 0.25
    assert_array_equal(np.round(found * 2) / 2, expected)


def test_equal_hamming_distances_are_decided_by_the_margins():
    # A circle of three: each class beats one other, so that votes say nothing.
    margins = np.array([[0.2, -0.3, 0.9], [0.9, -0.3, 0.2]])
    assert by_hamming(one_vs_one(3), margins).argmax(axis=1).tolist() == [1, 0]


@pytest.mark.parametrize("decode", [by_hamming, lambda c, m: by_loss(c, m, "logistic")])
def test_ties_are_exact_whatever_the_order_of_columns_and_rows(decode):
    code = random_code(8, False, None, 50, np.random.default_rng(1))
    margins = np.round(RNG.normal(size=(300, code.shape[1])), 1)
    order = RNG.permutation(code.shape[1])
    assert_array_equal(decode(code, margins), decode(code[:, order], margins[:, order]))
    assert_array_equal(decode(code, margins)[:7], decode(code, margins[:7]))


def test_margins_of_any_size_give_finite_scores():
    margins = np.array([[1e300, -1e300, 0.0], [-1e4, 1e4, 1e4]])
    for loss in LOSSES:
        assert np.isfinite(by_loss(one_vs_one(3), margins, loss)).all()
    assert np.isfinite(by_hamming(one_vs_one(3), margins)).all()


def test_softmax_of_large_scores():
    assert_allclose(softmax(np.array([[1e4, 1e4 - np.log(3)]]), axis=1), [[0.75, 0.25]])


@each_code
def test_coupling_finds_probabilities_that_the_sides_come_from(code):
    truth = RNG.dirichlet(np.ones(len(code)), size=30)
    plus, minus = truth @ (code == 1), truth @ (code == -1)
    assert_allclose(couple(code, plus / (plus + minus)), truth, atol=1e-4)


@each_code
def test_coupling_maximizes_the_likelihood(code):
    sides = RNG.uniform(0.05, 0.95, size=(3, code.shape[1]))

    def loss(logits, r):
        p = softmax(logits[None])[0]
        plus, minus = p @ (code == 1), p @ (code == -1)
        return -(r * np.log(plus / (plus + minus)) + (1 - r) * np.log(minus / (plus + minus))).sum()

    for found, r in zip(couple(code, sides), sides, strict=True):
        best = minimize(loss, np.zeros(len(code)), args=(r,), tol=1e-12)
        assert_allclose(found, softmax(best.x[None])[0], atol=1e-4)


def test_coupled_rows_do_not_depend_on_one_another():
    sides = RNG.uniform(size=(40, 6))
    assert_allclose(couple(one_vs_one(4), sides)[:5], couple(one_vs_one(4), sides[:5]), atol=1e-7)


def test_members_that_are_sure_do_not_break_the_coupling():
    found = couple(one_vs_one(3), np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    assert np.isfinite(found).all() and found[0].argmax() == 0
    assert_allclose(found[1], 1 / 3, atol=1e-3)
