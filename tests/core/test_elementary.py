"""Exponentials and logarithms beside those of NumPy and SciPy, over the whole range of doubles."""

import numpy as np
import pytest
from scipy import special

from spinney.core import elementary

RNG = np.random.default_rng(5)
EDGES = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1e-310, 709.7, 709.8, -708.5, -744.4, -746.0]
NEAR = np.concatenate([EDGES, RNG.normal(size=2001), RNG.normal(size=501) * 1e-9])
FAR = np.concatenate([NEAR, RNG.uniform(-745.0, 709.0, 2003)])
POSITIVE = np.concatenate(
    [np.abs(NEAR), np.exp(RNG.uniform(-740.0, 700.0, 2003)), 1.0 + RNG.normal(size=99) * 1e-7]
)


@pytest.mark.parametrize(
    ("name", "reference", "values"),
    [
        ("exp", np.exp, FAR),
        ("log", np.log, np.concatenate([POSITIVE, [-1.0, -np.inf]])),
        ("log1p", np.log1p, np.concatenate([POSITIVE, [-0.5, -1.0, -2.0, -1e-12]])),
        ("expit", special.expit, FAR),
        ("logit", special.logit, RNG.uniform(size=999)),
    ],
)
def test_functions_are_those_of_numpy(name, reference, values):
    with np.errstate(all="ignore"):
        expected = reference(values)
    found = getattr(elementary, name)(values)
    # Subnormal numbers have fewer bits, and SciPy's expit has none.
    np.testing.assert_allclose(found, expected, rtol=1e-15 if name != "logit" else 1e-13, atol=1e-307)


def test_functions_of_several_scores_are_those_of_scipy():
    scores = RNG.normal(size=(300, 5)) * 10.0 ** RNG.integers(-3, 3, (300, 1))
    for name in ("softmax", "log_softmax"):
        expected = getattr(special, name)(scores, axis=1)
        np.testing.assert_allclose(getattr(elementary, name)(scores), expected, rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(elementary.logsumexp(scores), special.logsumexp(scores, axis=1), rtol=1e-14)
    first, second = scores[:, 0], scores[:, 1]
    np.testing.assert_allclose(elementary.logaddexp(first, second), np.logaddexp(first, second), atol=1e-13)


def test_shapes_are_kept_and_numbers_stay_numbers():
    assert elementary.exp(np.zeros((2, 0, 3))).shape == (2, 0, 3)
    assert elementary.exp(np.ones((2, 3)).T[::2]).shape == (2, 2)
    assert isinstance(elementary.log(2.0), float) and elementary.exp(np.arange(3)).dtype == np.float64
